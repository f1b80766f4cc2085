"""The units of a run of a long file, in memory that grows with the units alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...core.errors import Problems
from ...core.metric import Metric
from ...core.suite import Source, Workers
from .read import COLUMNS, blocks
from .survey import survey

if TYPE_CHECKING:
    from .options import TableOptions

OF_UNITS = ("item", "line")
"""Columns of the units that the suite adds."""


def score(
    source: Source,
    options: TableOptions,
    problems: Problems,
    workers: Workers,
    aside: Path | None,
) -> pd.DataFrame:
    """The units of a run: one row an id, or an id and trial.

    Columns: id; item, the sample, where `id` is its cluster; trial, line and text where the file
    has them; its further columns; num_KEY and den_KEY of every metric, null where it was not
    measured. A second row of a metric on an id and trial, and a value outside the limits of its
    metric, are problems of the input, with their line.
    """
    path = source.files["scores"]
    runs = survey(path, problems).runs
    only = runs[source.name] if len(runs) > 1 else None
    # what is wrong with single rows was reported when the file was surveyed
    rows = pd.concat(list(blocks(path, Problems("skip"), only, further=True)))
    lines = rows.index.to_numpy()
    rows = rows.reset_index(drop=True)
    metrics = options.found
    metric_index = _metric_index(rows["metric"], metrics)
    unit_index = _unit_index(rows)
    is_used = _check_values(rows, lines, unit_index, metric_index, metrics, path, problems)
    problems.raise_if_failed()

    units = _unit_columns(rows, lines, unit_index, path, problems)
    sums = np.full((len(units), len(metrics), 2), np.nan)
    sums[unit_index[is_used], metric_index[is_used]] = rows.loc[is_used, ["num", "den"]]
    names = []
    for metric in metrics:
        names += [metric.numerator, metric.denominator]
    values = pd.DataFrame(sums.reshape(len(units), -1), columns=names)
    units = pd.concat([units, values], axis=1)
    units.attrs["rows"] = {"scores": int(is_used.sum())}
    return units


def _metric_index(names: pd.Series, metrics: tuple[Metric, ...]) -> np.ndarray:
    """The index of the metric of each row."""
    index_of = {metric.name: index for index, metric in enumerate(metrics)}
    return names.map(index_of).to_numpy(dtype=int)


def _unit_index(rows: pd.DataFrame) -> np.ndarray:
    """The index of the unit of each row, in the order in which the units appear."""
    if rows["trial"].isna().all():
        return pd.factorize(rows["id"])[0]
    by_unit = rows.groupby(["id", "trial"], sort=False, dropna=False)
    return by_unit.ngroup().to_numpy()


def _check_values(
    rows: pd.DataFrame,
    lines: np.ndarray,
    unit_index: np.ndarray,
    metric_index: np.ndarray,
    metrics: tuple[Metric, ...],
    path: Path,
    problems: Problems,
) -> np.ndarray:
    """Whether each row is used: the first of its metric on a unit, with a value within the limits."""
    limits = np.array([metric.bounds or (-np.inf, np.inf) for metric in metrics])
    low = limits[metric_index, 0]
    high = limits[metric_index, 1]
    ratio = (rows["num"] / rows["den"]).to_numpy()
    cell = pd.Series(unit_index * len(metrics) + metric_index)
    is_second = cell.duplicated().to_numpy()
    is_outside = (ratio < low) | (ratio > high)
    is_wrong = is_second | is_outside
    for row in np.flatnonzero(is_wrong):
        name = rows["metric"].iloc[row]
        where: dict[str, Any] = {
            "file": str(path),
            "line": int(lines[row]),
            "id": rows["id"].iloc[row],
        }
        if is_second[row]:
            problems.error("duplicate-id", f"a second row of {name}", **where)
        else:
            message = f"{ratio[row]:g} is not within {low[row]:g} and {high[row]:g}"
            problems.error("out-of-bounds", message, field=name, **where)
    return ~is_wrong


def _unit_columns(
    rows: pd.DataFrame, lines: np.ndarray, unit_index: np.ndarray, path: Path, problems: Problems
) -> pd.DataFrame:
    """The columns of the units that are no sums: the first value of a unit that is not null."""
    is_first = ~pd.Series(unit_index).duplicated().to_numpy()
    units = pd.DataFrame({"id": rows["id"].array[is_first], "line": lines[is_first]})
    by_unit = rows.groupby(unit_index)
    if rows["trial"].notna().any():
        units.insert(1, "trial", by_unit["trial"].first())
    if rows["cluster"].notna().any():
        units.insert(1, "item", units["id"])
        units["id"] = by_unit["cluster"].first().fillna(units["id"])
    if rows["text"].notna().any():
        units["text"] = by_unit["text"].first()
    for name in rows:
        if name in COLUMNS:
            continue
        if name in OF_UNITS or name.startswith(("num_", "den_")):
            message = f"the column {name} is left out: the units have a column of this name"
            problems.warn("column-taken", message, file=str(path), field=name)
            continue
        units[name] = _further_column(by_unit[name].first(), path)
    return units


def _further_column(values: pd.Series, path: Path) -> pd.Series:
    """A column to slice by: numbers, truth values or text. A CSV has text only, also of numbers."""
    if path.suffix.lower() == ".csv":
        numbers = pd.to_numeric(values, errors="coerce")
        if numbers.notna().equals(values.notna()):
            return numbers
    if pd.api.types.is_bool_dtype(values) or pd.api.types.is_numeric_dtype(values):
        return values
    kinds = {type(value) for value in values.dropna()}
    if kinds <= {int, float}:
        return pd.to_numeric(values)
    texts = [None if pd.isna(value) else str(value) for value in values]
    return pd.Series(texts, dtype="str")
