"""The units of a run of a long file, in memory that grows with the units alone."""

from __future__ import annotations

from dataclasses import dataclass
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
from .survey import none_for_null, survey

if TYPE_CHECKING:
    from .options import TableOptions

TAKEN = ("item", "line")
"""Columns that the units have besides those of the file."""


@dataclass(frozen=True)
class RunRows:
    """The rows of one run, whose index is the line. unit, metric: the index of the unit and of the metric of each."""

    path: Path
    rows: pd.DataFrame
    unit: np.ndarray
    metric: np.ndarray


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
    run = _read_run(source, options)
    is_used = _check_values(run, options.found, problems)
    problems.raise_if_failed()
    units = _unit_columns(run, problems)

    unit = run.unit[is_used]
    metric = run.metric[is_used]
    used_rows = run.rows[is_used]
    nowhere = np.full((len(units), len(options.found)), np.nan)
    num = nowhere.copy()
    den = nowhere.copy()
    num[unit, metric] = used_rows["num"]
    den[unit, metric] = used_rows["den"]
    sums = {}
    for index, entry in enumerate(options.found):
        sums[entry.numerator] = num[:, index]
        sums[entry.denominator] = den[:, index]
    units = pd.concat([units, pd.DataFrame(sums)], axis=1)
    units.attrs["rows"] = {"scores": int(is_used.sum())}
    return units


def _read_run(source: Source, options: TableOptions) -> RunRows:
    """The rows of a run that can be used; what is wrong with the others was said when the file was surveyed."""
    path = source.files["scores"]
    rows = survey(path, Problems()).rows_of(source.name)
    metric_index = {metric.name: index for index, metric in enumerate(options.found)}
    return RunRows(
        path=path,
        rows=rows,
        unit=_unit_index(rows),
        metric=rows["metric"].map(metric_index).to_numpy(dtype=int),
    )


def _unit_index(rows: pd.DataFrame) -> np.ndarray:
    """The index of the unit of each row, in the order in which the units appear."""
    if rows["trial"].isna().all():
        codes, _ = pd.factorize(rows["id"])
        return codes
    by_unit = rows.groupby(["id", "trial"], sort=False, dropna=False)
    return by_unit.ngroup().to_numpy()


def _check_values(
    run: RunRows,
    metrics: tuple[Metric, ...],
    problems: Problems,
) -> np.ndarray:
    """Whether each row is used; what is wrong with the others is reported.

    A row is used if it is the first of its metric on its unit, with a value within the limits.
    """
    low_of_metric = []
    high_of_metric = []
    for metric in metrics:
        low, high = metric.bounds or (-np.inf, np.inf)
        low_of_metric.append(low)
        high_of_metric.append(high)
    lows = np.array(low_of_metric)[run.metric]
    highs = np.array(high_of_metric)[run.metric]
    ratios = run.rows["num"] / run.rows["den"]
    ratio = ratios.to_numpy()
    cell = pd.Series(run.unit * len(metrics) + run.metric)
    is_second = cell.duplicated().to_numpy()
    is_outside = (ratio < lows) | (ratio > highs)
    is_wrong = is_second | is_outside
    for row in np.flatnonzero(is_wrong):
        name = run.rows["metric"].iloc[row]
        where: dict[str, Any] = {
            "file": run.path,
            "line": int(run.rows.index[row]),
            "id": run.rows["id"].iloc[row],
        }
        if is_second[row]:
            text = "a second row of {metric}"
            problems.error("duplicate-id", text, metric=name, **where)
            continue
        values = {
            "value": f"{ratio[row]:g}",
            "low": f"{lows[row]:g}",
            "high": f"{highs[row]:g}",
        }
        text = "{value} is not within {low} and {high}"
        problems.error(
            "out-of-bounds",
            text,
            **values,
            field=name,
            **where,
        )
    return ~is_wrong


def _unit_columns(run: RunRows, problems: Problems) -> pd.DataFrame:
    """The columns of the units that are no sums: the first value of a unit that is not null."""
    rows = run.rows
    by_unit = rows.groupby(run.unit)
    is_first = ~pd.Series(run.unit).duplicated()
    units = pd.DataFrame(
        {
            "id": rows["id"].array[is_first],
            "line": rows.index[is_first],
        }
    )
    if rows["trial"].notna().any():
        units.insert(1, "trial", by_unit["trial"].first())
    if rows["cluster"].notna().any():
        cluster = by_unit["cluster"].first()
        units.insert(1, "item", units["id"])
        units["id"] = cluster.fillna(units["id"])
    if rows["text"].notna().any():
        units["text"] = by_unit["text"].first()
    further = [name for name in rows if name not in COLUMNS]
    for name in further:
        if name in TAKEN or name.startswith(("num_", "den_")):
            text = "the column {column} is left out: the units have a column of this name"
            problems.warn(
                "column-taken",
                text,
                column=name,
                file=run.path,
                field=name,
            )
            continue
        values = by_unit[name].first()
        if run.path.suffix.lower() == ".csv":
            units[name] = _numbers_of_texts(values)
        else:
            units[name] = _of_one_kind(values)
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
    texts = [none_for_null(value) for value in values]
    return pd.Series(texts, dtype="str")
