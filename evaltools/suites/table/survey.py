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
from .read import RunKey, blocks, has_direction_column

MOST = 1_000
"""More metrics or runs than this: a column was taken for another."""

TOO_MANY = "more than {most} {what}; expected one metric on one sample, a row"
TWO_DIRECTIONS = "both true and false for {metric}; expected one direction a metric"
TWO_LIMITS = "both {least} and {greatest} for {metric}; expected one a metric"
SAME_NAME = "{one} and {other} (condition, seed) would both be named {name}"


@dataclass(frozen=True)
class Survey:
    """What a file holds: its runs by name, its metrics, how many usable rows, and what is wrong with its rows."""

    runs: dict[str, RunKey]
    metrics: tuple[Metric, ...]
    n_rows: int
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
    facts = pd.DataFrame()
    n_rows = 0
    for rows in blocks(path, problems):
        n_rows += len(rows)
        pairs = rows[["condition", "seed"]].drop_duplicates()
        for condition, seed in pairs.itertuples(index=False):
            keys[none_for_null(condition), none_for_null(seed)] = None
        facts = _merged(pd.concat([facts, _facts(rows)]))
        for what, n in (("metrics", len(facts)), ("runs", len(keys))):
            if n > MOST:
                values = {"most": f"{MOST:,}", "what": Message(what)}
                raise problems.fatal("wrong-columns", TOO_MANY, **values, file=path)
    if facts.empty:
        raise problems.fatal("no-rows", "no row of the file can be used", file=path)
    _refuse_contradictions(facts, path, problems)
    is_said = facts["is_higher_better"].any() or facts["is_lower_better"].any()
    has_directions = is_said or has_direction_column(path, problems)
    return Survey(
        runs=_run_names(keys, path, problems),
        metrics=_metrics(facts, has_directions),
        n_rows=n_rows,
        problems=problems,
    )


def none_for_null(value: Any) -> str | None:
    return None if pd.isna(value) else str(value)


def _facts(rows: pd.DataFrame) -> pd.DataFrame:
    """What each row says of its metric."""
    is_measured = rows["den"] > 0
    is_zero_or_one = rows["num"].isin([0, 1]) & (rows["den"] == 1)
    direction = rows["higher_is_better"]
    return pd.DataFrame(
        {
            "metric": rows["metric"],
            "is_binary": ~is_measured | is_zero_or_one,
            "is_higher_better": direction.eq(True),
            "is_lower_better": direction.eq(False),
            "least_low": rows["low"],
            "greatest_low": rows["low"],
            "least_high": rows["high"],
            "greatest_high": rows["high"],
        }
    )


def _merged(facts: pd.DataFrame) -> pd.DataFrame:
    """One row a metric, in the order in which they appear."""
    by_metric = facts.groupby("metric", sort=False, as_index=False)
    return by_metric.agg(
        {
            "is_binary": "all",
            "is_higher_better": "any",
            "is_lower_better": "any",
            "least_low": "min",
            "greatest_low": "max",
            "least_high": "min",
            "greatest_high": "max",
        }
    )


def _refuse_contradictions(
    facts: pd.DataFrame,
    path: Path,
    problems: Problems,
) -> None:
    """Report the metrics of which rows say different things."""
    for row in facts.itertuples():
        name = repr(str(row.metric)[:80])
        if row.is_higher_better and row.is_lower_better:
            field = "higher_is_better"
            problems.error("bad-field", TWO_DIRECTIONS, metric=name, file=path, field=field)
        for field, least, greatest in (
            ("low", row.least_low, row.greatest_low),
            ("high", row.least_high, row.greatest_high),
        ):
            if least < greatest:
                values = {"least": f"{least:g}", "greatest": f"{greatest:g}", "metric": name}
                problems.error("bad-field", TWO_LIMITS, **values, file=path, field=field)


def _metrics(facts: pd.DataFrame, has_directions: bool) -> tuple[Metric, ...]:
    """The metrics of a file: the columns num_KEY and den_KEY of the units.

    A metric whose values are all 0 or 1 is a proportion; others have the limits that the file says,
    and none if it says none. Without the column of directions higher is better for all; with it a
    metric whose cells are empty has no direction.
    """
    default: Better = "none" if has_directions else "higher"
    keys: set[str] = set()
    metrics = []
    for row in facts.itertuples():
        name = str(row.metric)
        key = _free_key(re.sub(r"\W", "_", name), keys)
        keys.add(key)
        better = default
        if row.is_higher_better:
            better = "higher"
        elif row.is_lower_better:
            better = "lower"
        has_limits = pd.notna(row.least_low)
        metrics.append(
            Metric(
                name=name,
                description=(
                    "Sum of the numerators (values) over the sum of the denominators (1 each)."
                ),
                numerator=f"num_{key}",
                denominator=f"den_{key}",
                group="Scores",
                better=better,
                proportion=bool(row.is_binary) and not has_limits,
                bounds=(float(row.least_low), float(row.least_high)) if has_limits else None,
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
        name = f"{'__'.join(parts)}_{path.stem}" if parts else path.stem
        first = by_folded_name.setdefault(name.casefold(), (condition, seed))
        if first != (condition, seed):
            pair = {"one": str(first), "other": str((condition, seed)), "name": repr(name)}
            raise problems.fatal("same-name", SAME_NAME, **pair, file=path)
        runs[name] = (condition, seed)
    return runs


def _as_file_name(text: str) -> str:
    """A text as part of the name of a folder."""
    name = re.sub(r'[/\\:*?"<>|\x00-\x1f]+', "-", text.strip())
    return name.lstrip(".") or "-"
