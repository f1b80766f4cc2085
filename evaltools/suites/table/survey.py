"""What a long file holds: its runs and its metrics, found in one pass over its rows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd

from ...core.errors import InputError, Problems
from ...core.language import Message
from ...core.metric import Better, Metric
from ...core.text_files import require_file
from .read import RunKey, blocks, columns

MOST = 1_000
"""More metrics or runs than this: a column was taken for another."""

ONE_A_METRIC = ["higher_is_better", "low", "high"]
"""Columns that say the same in all rows of a metric, or nothing; a direction is 1 or 0."""

TOO_MANY = "more than {most} {what}; expected one metric on one sample, a row"
TWO_VALUES = "both {least} and {greatest} for {metric}; expected one a metric"
SAME_NAME = "{one} and {other} (condition, seed) would both be named {name}"


@dataclass(frozen=True)
class Survey:
    """What a file holds: its runs by name, its metrics, and what is wrong with its rows."""

    runs: dict[str, RunKey]
    metrics: tuple[Metric, ...]
    problems: Problems


def survey(path: Path, problems: Problems) -> Survey:
    """What a file holds. It is read once for as long as it stays as it is.

    InputError for a file that is not in the long form.
    """
    require_file(path, problems)
    stat = path.stat()
    try:
        return _survey(path, stat.st_mtime_ns, stat.st_size)
    except InputError as error:
        for problem in error.problems:
            problems.add(problem)
        raise


@lru_cache(maxsize=8)
def _survey(
    path: Path,
    _changed: int,
    _size: int,
) -> Survey:
    problems = Problems("skip")
    keys: dict[RunKey, None] = {}
    least = greatest = pd.DataFrame()
    for rows in blocks(path, problems):
        pairs = rows[["condition", "seed"]].drop_duplicates()
        for condition, seed in pairs.itertuples(index=False):
            keys[none_for_null(condition), none_for_null(seed)] = None
        facts = _facts(rows).groupby("metric", sort=False)
        least = pd.concat([least, facts.min()]).groupby(level=0, sort=False).min()
        greatest = pd.concat([greatest, facts.max()]).groupby(level=0, sort=False).max()
        counts = {"metrics": len(least), "runs": len(keys)}
        for what, n in counts.items():
            if n > MOST:
                values = {"most": f"{MOST:,}", "what": Message(what)}
                raise problems.fatal("wrong-columns", TOO_MANY, **values, file=path)
    if least.empty:
        raise problems.fatal("no-rows", "no row of the file can be used", file=path)
    for field in ONE_A_METRIC:
        differs = least[field] < greatest[field]
        for name in least.index[differs]:
            problems.error(
                "bad-field",
                TWO_VALUES,
                least=f"{least[field][name]:g}",
                greatest=f"{greatest[field][name]:g}",
                metric=repr(str(name)[:80]),
                file=path,
                field=field,
            )
    is_said = least["higher_is_better"].notna().any()
    has_directions = is_said or "higher_is_better" in columns(path, problems)
    return Survey(
        runs=_run_names(keys, path, problems),
        metrics=_metrics(least, greatest, has_directions),
        problems=problems,
    )


def none_for_null(value: Any) -> str | None:
    """The value as text; None for a null."""
    if pd.isna(value):
        return None
    return str(value)


def _facts(rows: pd.DataFrame) -> pd.DataFrame:
    """What each row says of its metric, as numbers; null where it says nothing."""
    is_measured = rows["den"] > 0
    is_zero_or_one = rows["num"].isin([0, 1]) & (rows["den"] == 1)
    facts = rows[["metric", *ONE_A_METRIC]].astype(dict.fromkeys(ONE_A_METRIC, float))
    return facts.assign(is_binary=~is_measured | is_zero_or_one)


def _metrics(
    least: pd.DataFrame,
    greatest: pd.DataFrame,
    has_directions: bool,
) -> tuple[Metric, ...]:
    """The metrics of a file, from the least and the greatest that its rows say: num_KEY and den_KEY of the units.

    A metric whose values are all 0 or 1 is a proportion; others have the limits that the file says,
    and none if it says none. Without the column of directions higher is better for all; with it a
    metric whose cells are empty has no direction.
    """
    directions: dict[float, Better] = {1.0: "higher", 0.0: "lower"}
    default: Better = "none" if has_directions else "higher"
    keys: set[str] = set()
    metrics = []
    for index, row in least.iterrows():
        name = str(index)
        key = _free_key(re.sub(r"\W", "_", name), keys)
        keys.add(key)
        bounds = None
        if pd.notna(row["low"]):
            bounds = float(row["low"]), float(row["high"])
        metrics.append(
            Metric(
                name=name,
                description=(
                    "Sum of the numerators (values) over the sum of the denominators (1 each)."
                ),
                numerator=f"num_{key}",
                denominator=f"den_{key}",
                group="Scores",
                better=directions.get(row["higher_is_better"], default),
                proportion=bool(row["is_binary"]) and bounds is None,
                bounds=bounds,
            )
        )
    return tuple(metrics)


def _free_key(key: str, taken: set[str]) -> str:
    """The key, or the first of KEY_2_, KEY_3_, ... that is not taken."""
    free = key
    number = 1
    while free in taken:
        number += 1
        free = f"{key}_{number}_"
    return free


def _run_names(
    keys: dict[RunKey, None],
    path: Path,
    problems: Problems,
) -> dict[str, RunKey]:
    """The runs by the name `<condition>__seed<seed>_<stem>`, without what the file does not say."""
    runs: dict[str, RunKey] = {}
    by_folded_name: dict[str, RunKey] = {}
    for condition, seed in keys:
        parts = []
        if condition is not None:
            parts.append(_as_file_name(condition))
        if seed is not None:
            parts.append("seed" + _as_file_name(seed).replace("_", "-"))
        name = path.stem
        if parts:
            name = f"{'__'.join(parts)}_{path.stem}"
        key = condition, seed
        first = by_folded_name.setdefault(name.casefold(), key)
        if first != key:
            raise problems.fatal(
                "same-name",
                SAME_NAME,
                one=str(first),
                other=str(key),
                name=repr(name),
                file=path,
            )
        runs[name] = key
    return runs


def _as_file_name(text: str) -> str:
    """A text as part of the name of a folder."""
    name = re.sub(r'[/\\:*?"<>|\x00-\x1f]+', "-", text.strip())
    return name.lstrip(".") or "-"
