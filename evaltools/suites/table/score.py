"""The units of a run of a long file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from ...core.errors import Problems
from ...core.metric import Metric
from ...core.score_rows import COLUMNS
from ...core.suite import Scored, Source
from ...core.workers import Workers

if TYPE_CHECKING:
    from .suite import TableOptions


import re
from dataclasses import dataclass
from functools import lru_cache

from ...core.errors import InputError
from ...core.files import state
from ...core.metric import Better
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


def _require_seeds(
    rows: pd.DataFrame,
    path: Path,
    problems: Problems,
) -> None:
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
    lowest, greatest = by_metric.min(), by_metric.max()
    for field in ONE_A_METRIC:
        for name in lowest.index[lowest[field] < greatest[field]]:
            both = f"both {lowest[field][name]:g} and {greatest[field][name]:g}"
            message = f"{both} for {str(name)[:80]!r}; expected one a metric"
            problems.error("bad-field", message, file=path, field=field)
    directions: dict[float, Better] = {1.0: "higher", 0.0: "lower"}
    default: Better = "none" if has_directions else "higher"
    keys: list[str] = []
    metrics = []
    for name, row in lowest.iterrows():
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
            message = f"two runs (condition, seed) would both be named {name!r}"
            raise problems.fatal("same-name", message, file=path)
        names[name.casefold()] = name
    return list(names.values())


def _as_file_name(text: str) -> str:
    """A text as part of the name of a folder."""
    name = re.sub(r'[/\\:*?"<>|\x00-\x1f]+', "-", text.strip())
    return name.lstrip(".") or "-"


# columns that the units have besides those of the file
TAKEN = ("item", "line")


def score(
    source: Source,
    options: TableOptions,
    problems: Problems,
    workers: Workers,
    aside: Path | None,
) -> Scored:
    """The units of a run: one row an id, or an id and trial.

    Columns: id; item, the sample, where `id` is its cluster; trial, line and text where the file
    has them; its further columns; num_KEY and den_KEY of every metric, null where it was not
    measured. A second row of a metric on an id and trial, and a value outside the limits of its
    metric, are problems of the input, with their line.
    """
    path = source.files["scores"]
    # what is wrong with other rows was said when the file was surveyed
    content = survey(path, Problems())
    rows = content.rows
    if len(content.runs) > 1:  # the only run of a file may be given another name
        rows = rows[rows["run"] == source.name]
    unit = rows.groupby(["id", "trial"], sort=False, dropna=False).ngroup().to_numpy()
    metric = pd.Index([entry.name for entry in options.found]).get_indexer(rows["metric"])
    is_used = _check_values(rows, unit, options.found, path, problems)
    problems.raise_if_failed()

    units = _unit_columns(rows, unit, path, problems)
    num = np.full((len(units), len(options.found)), np.nan)
    den = num.copy()
    num[unit[is_used], metric[is_used]] = rows["num"][is_used]
    den[unit[is_used], metric[is_used]] = rows["den"][is_used]
    sums = {}
    for index, entry in enumerate(options.found):
        sums[entry.numerator] = num[:, index]
        sums[entry.denominator] = den[:, index]
    units = pd.concat([units, pd.DataFrame(sums)], axis=1)
    return Scored(units, {"scores": int(is_used.sum())})


def _check_values(
    rows: pd.DataFrame,
    unit: np.ndarray,
    metrics: tuple[Metric, ...],
    path: Path,
    problems: Problems,
) -> np.ndarray:
    """Whether each row is used: the first of its metric on its unit, within the limits; the others are reported."""
    is_second = rows.assign(unit=unit).duplicated(["unit", "metric"]).to_numpy()
    bounds = {metric.name: metric.bounds or (-np.inf, np.inf) for metric in metrics}
    limits = pd.DataFrame(bounds, index=["low", "high"]).T
    lows, highs = (rows["metric"].map(limits[column]) for column in limits)
    ratios = rows["num"] / rows["den"]
    is_outside = ((ratios < lows) | (ratios > highs)).to_numpy()
    for row in np.flatnonzero(is_second | is_outside):
        name, id_ = rows["metric"].iloc[row], rows["id"].iloc[row]
        where: dict[str, Any] = {"file": path, "line": int(rows.index[row]), "id": id_}
        if is_second[row]:
            message = f"a second row of {name}: id is one sample, cluster what samples belong to"
            problems.error("duplicate-id", message, **where)
            continue
        value, low, high = (column.iloc[row] for column in (ratios, lows, highs))
        message = f"{value:g} is not within {low:g} and {high:g}"
        if value == -1:
            message += "; where -1 says that a judge gave no score, leave the cell empty"
        problems.error("out-of-bounds", message, field=name, **where)
    return ~(is_second | is_outside)


def _unit_columns(
    rows: pd.DataFrame,
    unit: np.ndarray,
    path: Path,
    problems: Problems,
) -> pd.DataFrame:
    """The columns of the units that are no sums: the first value of a unit that is not null."""
    first = rows.groupby(unit).first()
    is_first = ~pd.Series(unit).duplicated()
    units = pd.DataFrame({"id": first["id"], "line": rows.index[is_first]})
    if first["trial"].notna().any():
        units.insert(1, "trial", first["trial"])
    if first["cluster"].notna().any():
        units.insert(1, "item", units["id"])
        units["id"] = first["cluster"].fillna(units["id"])
    if first["text"].notna().any():
        units["text"] = first["text"]
    is_csv = path.suffix.lower() == ".csv"
    for name in first.columns.difference([*COLUMNS, "run"], sort=False):
        if name in TAKEN or name.startswith(("num_", "den_")):
            message = f"the column {name} is left out: the units have a column of this name"
            problems.warn("column-taken", message, file=path, field=name)
        else:
            units[name] = _of_one_kind(first[name], is_csv)
    return units


def _of_one_kind(values: pd.Series, is_csv: bool) -> pd.Series:
    """Numbers or truth values as they are; all else, and what is mixed, as text.

    A CSV file has texts only: there texts that are all numbers are numbers.
    """
    if is_bool_dtype(values) or is_numeric_dtype(values):
        return values
    if is_csv or {type(value) for value in values.dropna()} <= {int, float}:
        numbers = pd.to_numeric(values, errors="coerce")
        if numbers.notna().equals(values.notna()):
            return numbers
    return values.map(str, na_action="ignore").astype("str")
