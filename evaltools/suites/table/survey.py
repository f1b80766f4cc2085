"""What a long file holds: its runs and its metrics, found in one pass over its rows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ...core.errors import InputError, Problems
from ...core.files import state
from ...core.language import Message
from ...core.metric import Better, Metric
from ...core.text_files import require_file
from .read import blocks, columns

MOST = 1_000
"""More metrics or runs than this: a column was taken for another."""

ONE_A_METRIC = ["higher_is_better", "low", "high"]
"""Columns that say the same in all rows of a metric, or nothing; a direction is 1 or 0."""

TOO_MANY = "more than {most} {what}; expected one metric on one sample, a row"
TWO_VALUES = "both {least} and {greatest} for {metric}; expected one a metric"
SAME_NAME = "{one} and {other} (condition, seed) would both be named {name}"


@dataclass(frozen=True)
class Survey:
    """What a file holds.

    `runs`: the names of its runs. `rows`: those that can be used, as `read.blocks` has them; `run_of_row`: the index of
    the run of each. `metrics`: its metrics. `problems`: what is wrong with its rows.
    """

    runs: list[str]
    rows: pd.DataFrame
    run_of_row: np.ndarray
    metrics: tuple[Metric, ...]
    problems: Problems

    def rows_of(self, run: str) -> pd.DataFrame:
        """The rows of a run; a file of one run may be given another name."""
        if len(self.runs) == 1:
            return self.rows
        return self.rows[self.run_of_row == self.runs.index(run)]


def survey(path: Path, problems: Problems) -> Survey:
    """What a file holds. It is read once for as long as it stays as it is.

    InputError for a file that is not in the long form.
    """
    require_file(path, problems)
    try:
        return _survey(path, state(path))
    except InputError as error:
        for problem in error.problems:
            problems.add(problem)
        raise


@lru_cache(maxsize=2)  # the two sides of a comparison
def _survey(path: Path, state: tuple[int, int, int]) -> Survey:
    problems = Problems("skip")
    parts = [rows for rows in blocks(path, problems) if not rows.empty]
    if not parts:
        raise problems.fatal("no-rows", "no row of the file can be used", file=path)
    rows = pd.concat(parts)
    by_run = rows.groupby(["condition", "seed"], sort=False, dropna=False)
    keys = rows[["condition", "seed"]].drop_duplicates()
    facts = _facts(rows).groupby("metric", sort=False)
    least, greatest = facts.min(), facts.max()
    counts = {"metrics": len(least), "runs": len(keys)}
    for what, n in counts.items():
        if n > MOST:
            values = {"most": f"{MOST:,}", "what": Message(what)}
            raise problems.fatal("wrong-columns", TOO_MANY, **values, file=path)
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
        rows=rows.drop(columns=["condition", "seed", *ONE_A_METRIC]),
        run_of_row=by_run.ngroup().to_numpy(),
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
    keys: pd.DataFrame,
    path: Path,
    problems: Problems,
) -> list[str]:
    """The runs of each condition and seed: `<condition>__seed<seed>_<stem>`, without what the file does not say."""
    names = []
    first_keys: dict[str, Any] = {}
    for condition, seed in keys.itertuples(index=False):
        parts = []
        if pd.notna(condition):
            parts.append(_as_file_name(condition))
        if pd.notna(seed):
            parts.append("seed" + _as_file_name(seed).replace("_", "-"))
        name = path.stem
        if parts:
            name = f"{'__'.join(parts)}_{path.stem}"
        key = none_for_null(condition), none_for_null(seed)
        first = first_keys.setdefault(name.casefold(), key)
        if first != key:
            raise problems.fatal(
                "same-name",
                SAME_NAME,
                one=str(first),
                other=str(key),
                name=repr(name),
                file=path,
            )
        names.append(name)
    return names


def _as_file_name(text: str) -> str:
    """A text as part of the name of a folder."""
    name = re.sub(r'[/\\:*?"<>|\x00-\x1f]+', "-", text.strip())
    return name.lstrip(".") or "-"
