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
from .survey import survey

if TYPE_CHECKING:
    from .options import TableOptions

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
