"""The units of a run of a long file, in memory that grows with the units alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from ...core.errors import Problems
from ...core.metric import Metric
from ...core.score_rows import COLUMNS
from ...core.suite import Source
from ...core.workers import Workers
from .survey import survey

if TYPE_CHECKING:
    from .options import TableOptions

TAKEN = ("item", "line")
"""Columns that the units have besides those of the file."""


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
    # what is wrong with other rows was said when the file was surveyed
    rows = survey(path, Problems()).rows_of(source.name)
    names = [metric.name for metric in options.found]
    unit = _unit_index(rows)
    metric = pd.Index(names).get_indexer(rows["metric"])
    is_second = pd.Series(unit * len(names) + metric).duplicated().to_numpy()
    is_used = _check_values(
        rows,
        is_second,
        options.found,
        path,
        problems,
    )
    problems.raise_if_failed()

    units = _unit_columns(
        rows,
        unit,
        path,
        problems,
    )
    nowhere = np.full((len(units), len(names)), np.nan)
    num = nowhere.copy()
    den = nowhere.copy()
    num[unit[is_used], metric[is_used]] = rows["num"][is_used]
    den[unit[is_used], metric[is_used]] = rows["den"][is_used]
    sums = {}
    for index, entry in enumerate(options.found):
        sums[entry.numerator] = num[:, index]
        sums[entry.denominator] = den[:, index]
    units = pd.concat([units, pd.DataFrame(sums)], axis=1)
    units.attrs["rows"] = {"scores": int(is_used.sum())}
    return units


def _unit_index(rows: pd.DataFrame) -> np.ndarray:
    """The index of the unit of each row, in the order in which the units appear."""
    if rows["trial"].isna().all():
        codes, _ = pd.factorize(rows["id"])
        return codes
    by_unit = rows.groupby(["id", "trial"], sort=False, dropna=False)
    return by_unit.ngroup().to_numpy()


def _check_values(
    rows: pd.DataFrame,
    is_second: np.ndarray,
    metrics: tuple[Metric, ...],
    path: Path,
    problems: Problems,
) -> np.ndarray:
    """Whether each row is used; what is wrong with the others is reported.

    A row is used if it is the first of its metric on its unit, with a value within the limits.
    """
    bounds = {metric.name: metric.bounds or (-np.inf, np.inf) for metric in metrics}
    limits = pd.DataFrame(bounds, index=["low", "high"]).T
    lows, highs = (rows["metric"].map(limits[column]) for column in limits)
    ratios = rows["num"] / rows["den"]
    is_outside = ((ratios < lows) | (ratios > highs)).to_numpy()
    for row in np.flatnonzero(is_second | is_outside):
        name = rows["metric"].iloc[row]
        where: dict[str, Any] = {
            "file": path,
            "line": int(rows.index[row]),
            "id": rows["id"].iloc[row],
        }
        if is_second[row]:
            message = f"a second row of {name}: id is one sample, cluster what samples belong to"
            problems.error("duplicate-id", message, **where)
            continue
        value, low, high = (column.iloc[row] for column in (ratios, lows, highs))
        text = f"{value:g} is not within {low:g} and {high:g}"
        if value == -1:
            text += "; where -1 says that a judge gave no score, leave the cell empty"
        problems.error("out-of-bounds", text, field=name, **where)
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
    for name in first.columns.difference([*COLUMNS, "run"], sort=False):
        if name in TAKEN or name.startswith(("num_", "den_")):
            text = f"the column {name} is left out: the units have a column of this name"
            problems.warn("column-taken", text, file=path, field=name)
        elif path.suffix.lower() == ".csv":
            units[name] = _numbers_of_texts(first[name])
        else:
            units[name] = _of_one_kind(first[name])
    return units


def _numbers_of_texts(values: pd.Series) -> pd.Series:
    """Numbers, if all texts are numbers: a CSV file has texts only."""
    numbers = pd.to_numeric(values, errors="coerce")
    if numbers.notna().equals(values.notna()):
        return numbers
    return values


def _of_one_kind(values: pd.Series) -> pd.Series:
    """Numbers or truth values as they are; all else, and what is mixed, as text."""
    if is_bool_dtype(values) or is_numeric_dtype(values):
        return values
    kinds = {type(value) for value in values.dropna()}
    if kinds <= {int, float}:
        return pd.to_numeric(values)
    return values.map(str, na_action="ignore").astype("str")
