"""The numbers of two results, held against each other."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pydantic import BaseModel

from ..core.errors import Problems
from ..core.records import read_model

ROUNDING = 1e-9
"""Relative difference up to which two numbers are the same; other processors sum in another order."""

NUMBERS = ["value", "ci_low", "ci_high", "ci_method", "numerator", "denominator", "n_units"]
"""What is compared of each metric of a metrics.json."""

TABLES = ("aggregated_mean_std.csv", "comparison.csv", "agreement.csv")
"""The files of an aggregate whose cells are compared."""

KEYS = ("condition", "baseline", "candidate", "metric")
"""The columns of these files that name a row."""


@dataclass(frozen=True)
class NumbersCompared:
    """`differences`: a line for each number that differs. `largest`: the largest relative difference of the others."""

    differences: tuple[str, ...]
    n_compared: int
    largest: float


class _Metrics(BaseModel):
    metrics: list[dict[str, Any]]


def result_numbers(folder: Path) -> pd.Series:
    """Every number of a result, by a label: those of metrics.json, or every cell of an aggregate's tables.

    InputError for files that cannot be read.
    """
    tables = []
    for name in TABLES:
        path = folder / name
        if path.is_file():
            tables.append(_table_cells(path))
    if not tables:
        tables.append(_metric_cells(folder / "metrics.json"))
    cells = pd.concat(tables)
    is_doubled = cells.index.duplicated(keep="last")
    return cells[~is_doubled]


def _metric_cells(path: Path) -> pd.Series:
    """The numbers of every metric of a metrics.json."""
    rows = read_model(path, _Metrics).metrics
    frame = pd.DataFrame(rows, columns=["name", *NUMBERS])
    names = frame["name"].astype(str).tolist()
    return _cells(frame[NUMBERS], names)


def _table_cells(path: Path) -> pd.Series:
    """The cells of a table of an aggregate."""
    try:
        frame = pd.read_csv(path)
    except ValueError as error:
        text = "cannot be read: {reason}"
        raise Problems().fatal("bad-manifest", text, reason=str(error), file=path) from error
    keys = [column for column in KEYS if column in frame]
    labels = []
    for row in frame[keys].astype(str).to_numpy():
        label = " ".join([path.name, *row])
        labels.append(label)
    return _cells(frame, labels)


def _cells(frame: pd.DataFrame, labels: list[str]) -> pd.Series:
    """The cells of a frame, each under the label of its row and the name of its column."""
    cells = frame.astype(object).set_axis(labels).stack(future_stack=True)
    cells.index = cells.index.map(" ".join)
    return cells


def compare_numbers(
    then: pd.Series,
    now: pd.Series,
) -> NumbersCompared:
    """What differs between the numbers of two results; null is a value like any other.

    >>> then = pd.Series({"f1 value": 0.5, "f1 n_units": 40}, dtype=object)
    >>> compare_numbers(then, then.replace(40, 39)).differences
    ('f1 n_units: 39.0, was 40.0',)
    """
    labels = then.index.union(now.index, sort=False)
    then_values = then.reindex(labels)
    now_values = now.reindex(labels)
    then_numbers = _as_floats(then_values)
    now_numbers = _as_floats(now_values)
    is_close = np.isclose(then_numbers, now_numbers, rtol=ROUNDING, atol=0)
    both_null = then_values.isna() & now_values.isna()
    is_same = is_close | both_null | (then_values == now_values)
    differences = []
    for label in labels[~is_same]:
        value = _shown(now_values[label])
        previous = _shown(then_values[label])
        differences.append(f"{label}: {value}, was {previous}")

    is_rounding = is_close & (then_numbers != now_numbers)
    distance = (then_numbers - now_numbers).abs()
    size = np.maximum(then_numbers.abs(), now_numbers.abs())
    relative = (distance / size)[is_rounding]
    return NumbersCompared(
        differences=tuple(differences),
        n_compared=len(then),
        largest=float(relative.max()) if len(relative) else 0.0,
    )


def _as_floats(values: pd.Series) -> pd.Series:
    """Numbers as floats; nan for all else."""
    return pd.to_numeric(values, errors="coerce").astype(float)


def _shown(value: Any) -> Any:
    """A number as a float and anything else as it is; None for null."""
    if pd.isna(value):
        return None
    if isinstance(value, str | bool | np.bool_):
        return value
    return float(value)
