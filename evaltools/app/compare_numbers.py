"""The numbers of two results, held against each other."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pydantic import BaseModel

from ..core.errors import InputError, Problem
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
    tables = [_table_cells(folder / name) for name in TABLES if (folder / name).is_file()]
    if not tables:
        rows = read_model(folder / "metrics.json", _Metrics).metrics
        metrics = pd.DataFrame(rows, columns=["name", *NUMBERS])
        tables = [_cells(metrics[NUMBERS], metrics["name"].astype(str).tolist())]
    cells = pd.concat(tables)
    return cells[~cells.index.duplicated(keep="last")]


def _table_cells(path: Path) -> pd.Series:
    try:
        frame = pd.read_csv(path)
    except ValueError as e:
        problem = Problem("error", "bad-manifest", f"cannot be read: {e}", file=str(path))
        raise InputError([problem]) from e
    keys = [column for column in KEYS if column in frame]
    labels = []
    for row in frame[keys].astype(str).to_numpy():
        labels.append(" ".join([path.name, *row]))
    return _cells(frame, labels)


def _cells(frame: pd.DataFrame, labels: list[str]) -> pd.Series:
    """The cells of a frame, each under the label of its row and the name of its column."""
    cells = {}
    for label, row in zip(labels, frame.astype(object).to_numpy()):
        for column, value in zip(frame.columns, row):
            cells[f"{label} {column}"] = value
    return pd.Series(cells, dtype=object)


def compare_numbers(then: pd.Series, now: pd.Series) -> NumbersCompared:
    """What differs between the numbers of two results; null is a value like any other.

    >>> then = pd.Series({"f1 value": 0.5, "f1 n_units": 40}, dtype=object)
    >>> compare_numbers(then, then.replace(40, 39)).differences
    ('f1 n_units: 39.0, was 40.0',)
    """
    labels = then.index.union(now.index, sort=False)
    then_values, now_values = then.reindex(labels), now.reindex(labels)
    a = pd.to_numeric(then_values, errors="coerce").astype(float)
    b = pd.to_numeric(now_values, errors="coerce").astype(float)
    is_close = np.isclose(a, b, rtol=ROUNDING, atol=0)
    is_same = is_close | (then_values == now_values) | (then_values.isna() & now_values.isna())
    differences = []
    for label in labels[~is_same]:
        differences.append(
            f"{label}: {_shown(now_values[label])}, was {_shown(then_values[label])}"
        )
    relative = (a - b).abs() / np.maximum(a.abs(), b.abs())
    largest = float(relative[is_close & (a != b)].max()) if (is_close & (a != b)).any() else 0.0
    return NumbersCompared(tuple(differences), len(then), largest)


def _shown(value: Any) -> Any:
    """A number as a float and anything else as it is; None for null."""
    if pd.isna(value):
        return None
    return value if isinstance(value, str | bool | np.bool_) else float(value)
