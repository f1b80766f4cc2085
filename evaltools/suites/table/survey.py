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
from .read import frames, usable_rows

# more metrics or runs than this: a column was taken for another
MOST = 1_000

# columns that say the same in all rows of a metric, or nothing; a direction is 1 or 0
ONE_A_METRIC = ["higher_is_better", "low", "high"]


@dataclass(frozen=True)
class Survey:
    """What a file holds.

    `runs`: the names of its runs. `rows`: those that can be used, as `read.usable_rows` has them, and `run`, the name
    of the run of each. `metrics`: its metrics. `problems`: what is wrong with its rows.
    """

    runs: list[str]
    rows: pd.DataFrame
    metrics: tuple[Metric, ...]
    problems: Problems


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
    has_directions = False
    parts = []
    for frame in frames(path, problems):
        has_directions |= "higher_is_better" in frame
        parts.append(usable_rows(frame, path, problems))
    rows = pd.concat(parts) if parts else pd.DataFrame()
    if rows.empty:
        raise problems.fatal("no-rows", "no row of the file can be used", file=path)
    keys = rows[["condition", "seed"]].drop_duplicates()
    if max(len(keys), rows["metric"].nunique()) > MOST:
        message = f"more than {MOST:,} metrics or runs; expected one metric on one sample, a row"
        raise problems.fatal("wrong-columns", message, file=path)
    _require_seeds(rows, path, problems)
    runs = _run_names(keys, path, problems)
    by_run = rows.groupby(["condition", "seed"], sort=False, dropna=False)
    rows["run"] = pd.Categorical.from_codes(by_run.ngroup(), runs)
    return Survey(
        runs=runs,
        rows=rows.drop(columns=["condition", "seed", *ONE_A_METRIC]),
        metrics=_metrics(rows, has_directions, path, problems),
        problems=problems,
    )


def _require_seeds(rows: pd.DataFrame, path: Path, problems: Problems) -> None:
    """InputError for rows without a seed in a condition where others have one: they would be a run of their own."""
    has_seed = rows["seed"].notna()
    by_condition = has_seed.groupby(rows["condition"], dropna=False)
    is_partial = ~has_seed & by_condition.transform("any")
    for line in rows.index[is_partial]:
        message = "expected a seed, as other rows of this condition have one, got nothing"
        problems.error("bad-field", message, file=path, line=int(line), field="seed")
    if is_partial.any():
        raise InputError(problems.errors)


def _metrics(
    rows: pd.DataFrame,
    has_directions: bool,
    path: Path,
    problems: Problems,
) -> tuple[Metric, ...]:
    """The metrics of a file: num_KEY and den_KEY of the units.

    A metric whose values are all 0 or 1 is a proportion; others have the limits that the file says,
    and none if it says none. Without the column of directions higher is better for all; with it a
    metric whose cells are empty has no direction. Two limits or directions of a metric are reported.
    """
    is_zero_or_one = rows["num"].isin([0, 1]) & (rows["den"] == 1)
    is_binary = ~(rows["den"] > 0) | is_zero_or_one
    facts = rows[["metric", *ONE_A_METRIC]].assign(is_binary=is_binary)
    by_metric = facts.groupby("metric", sort=False)
    least, greatest = by_metric.min(), by_metric.max()
    for field in ONE_A_METRIC:
        for name in least.index[least[field] < greatest[field]]:
            both = f"both {least[field][name]:g} and {greatest[field][name]:g}"
            message = f"{both} for {str(name)[:80]!r}; expected one a metric"
            problems.error("bad-field", message, file=path, field=field)
    directions: dict[float, Better] = {1.0: "higher", 0.0: "lower"}
    default: Better = "none" if has_directions else "higher"
    keys: list[str] = []
    metrics = []
    for name, row in least.iterrows():
        key = re.sub(r"\W", "_", str(name))
        while key in keys:
            key += "_"
        keys.append(key)
        bounds = (float(row["low"]), float(row["high"])) if pd.notna(row["low"]) else None
        metric = Metric(
            name=str(name),
            description="Sum of the numerators (values) over the sum of the denominators (1 each).",
            numerator=f"num_{key}",
            denominator=f"den_{key}",
            group="Scores",
            better=directions.get(row["higher_is_better"], default),
            proportion=bool(row["is_binary"]) and bounds is None,
            bounds=bounds,
        )
        metrics.append(metric)
    return tuple(metrics)


def _run_names(keys: pd.DataFrame, path: Path, problems: Problems) -> list[str]:
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
            message = f"two runs (condition, seed) would both be named {name!r}"
            raise problems.fatal("same-name", message, file=path)
        names[name.casefold()] = name
    return list(names.values())


def _as_file_name(text: str) -> str:
    """A text as part of the name of a folder."""
    name = re.sub(r'[/\\:*?"<>|\x00-\x1f]+', "-", text.strip())
    return name.lstrip(".") or "-"
