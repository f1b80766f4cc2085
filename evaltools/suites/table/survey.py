"""What a long file holds: its runs and its metrics, found in one pass over its rows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pandas as pd

from ...core.errors import InputError, Problems
from ...core.files import state
from ...core.metric import Better, Metric
from ...core.text_files import require_file
from .read import blocks, columns

MOST = 1_000
"""More metrics or runs than this: a column was taken for another."""

ONE_A_METRIC = ["higher_is_better", "low", "high"]
"""Columns that say the same in all rows of a metric, or nothing; a direction is 1 or 0."""

DESCRIPTION = "Sum of the numerators (values) over the sum of the denominators (1 each)."


@dataclass(frozen=True)
class Survey:
    """What a file holds.

    `runs`: the names of its runs. `rows`: those that can be used, as `read.blocks` has them, and `run`, the name of
    the run of each. `metrics`: its metrics. `problems`: what is wrong with its rows.
    """

    runs: list[str]
    rows: pd.DataFrame
    metrics: tuple[Metric, ...]
    problems: Problems

    def rows_of(self, run: str) -> pd.DataFrame:
        """The rows of a run; a file of one run may be given another name."""
        if len(self.runs) == 1:
            return self.rows
        return self.rows[self.rows["run"] == run]


def survey(
    path: Path,
    problems: Problems,
) -> Survey:
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
def _survey(
    path: Path,
    state: tuple[int, int, int],
) -> Survey:
    problems = Problems("skip")
    parts = [rows for rows in blocks(path, problems) if not rows.empty]
    if not parts:
        raise problems.fatal("no-rows", "no row of the file can be used", file=path)
    rows = pd.concat(parts)
    by_run = rows.groupby(["condition", "seed"], sort=False, dropna=False)
    keys = rows[["condition", "seed"]].drop_duplicates()
    by_metric = _facts(rows).groupby("metric", sort=False)
    least, greatest = by_metric.min(), by_metric.max()
    if max(len(keys), len(least)) > MOST:
        text = f"more than {MOST:,} metrics or runs; expected one metric on one sample, a row"
        raise problems.fatal("wrong-columns", text, file=path)
    for field in ONE_A_METRIC:
        for name in least.index[least[field] < greatest[field]]:
            values = f"both {least[field][name]:g} and {greatest[field][name]:g}"
            text = f"{values} for {str(name)[:80]!r}; expected one a metric"
            problems.error("bad-field", text, file=path, field=field)
    # a seed that some rows of a condition lack would split it into runs that are none
    has_seed = rows["seed"].notna()
    by_condition = has_seed.groupby(rows["condition"], dropna=False)
    is_partial = ~has_seed & by_condition.transform("any")
    for line in rows.index[is_partial]:
        message = "expected a seed, as other rows of this condition have one, got nothing"
        problems.error("bad-field", message, file=path, line=int(line), field="seed")
    if is_partial.any():
        raise InputError(problems.errors)
    is_said = least["higher_is_better"].notna().any()
    has_directions = is_said or "higher_is_better" in columns(path, problems)
    runs = _run_names(keys, path, problems)
    rows["run"] = pd.Categorical.from_codes(by_run.ngroup(), runs)
    return Survey(
        runs=runs,
        rows=rows.drop(columns=["condition", "seed", *ONE_A_METRIC]),
        metrics=_metrics(least, has_directions),
        problems=problems,
    )


def _facts(rows: pd.DataFrame) -> pd.DataFrame:
    """What each row says of its metric, as numbers; null where it says nothing."""
    is_measured = rows["den"] > 0
    is_zero_or_one = rows["num"].isin([0, 1]) & (rows["den"] == 1)
    facts = rows[["metric", *ONE_A_METRIC]].astype(dict.fromkeys(ONE_A_METRIC, float))
    return facts.assign(is_binary=~is_measured | is_zero_or_one)


def _metrics(
    least: pd.DataFrame,
    has_directions: bool,
) -> tuple[Metric, ...]:
    """The metrics of a file, from the least that its rows say of each: num_KEY and den_KEY of the units.

    A metric whose values are all 0 or 1 is a proportion; others have the limits that the file says,
    and none if it says none. Without the column of directions higher is better for all; with it a
    metric whose cells are empty has no direction.
    """
    directions: dict[float, Better] = {1.0: "higher", 0.0: "lower"}
    default: Better = "none" if has_directions else "higher"
    keys: list[str] = []
    metrics = []
    for name, row in least.iterrows():
        key = re.sub(r"\W", "_", str(name))
        while key in keys:
            key += "_"
        keys.append(key)
        bounds = None
        if pd.notna(row["low"]):
            bounds = float(row["low"]), float(row["high"])
        metric = Metric(
            name=str(name),
            description=DESCRIPTION,
            numerator=f"num_{key}",
            denominator=f"den_{key}",
            group="Scores",
            better=directions.get(row["higher_is_better"], default),
            proportion=bool(row["is_binary"]) and bounds is None,
            bounds=bounds,
        )
        metrics.append(metric)
    return tuple(metrics)


def _run_names(
    keys: pd.DataFrame,
    path: Path,
    problems: Problems,
) -> list[str]:
    """The runs of each condition and seed: `<condition>__seed<seed>_<stem>`, without what the file does not say."""
    names: dict[str, str] = {}
    for condition, seed in keys.itertuples(index=False):
        parts = []
        if pd.notna(condition):
            parts.append(_as_file_name(condition))
        if pd.notna(seed):
            parts.append("seed" + _as_file_name(seed).replace("_", "-"))
        name = "_".join(filter(None, ["__".join(parts), path.stem]))
        if name.casefold() in names:
            text = f"two runs (condition, seed) would both be named {name!r}"
            raise problems.fatal("same-name", text, file=path)
        names[name.casefold()] = name
    return list(names.values())


def _as_file_name(text: str) -> str:
    """A text as part of the name of a folder."""
    name = re.sub(r'[/\\:*?"<>|\x00-\x1f]+', "-", text.strip())
    return name.lstrip(".") or "-"
