"""The numbers of two results, held against each other."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import BaseModel

from ..core.errors import Problems
from ..core.estimates import plain_rows
from ..core.json_files import read_model
from ..core.language import say

ROUNDING = 1e-9
"""Relative difference up to which two numbers are the same; other processors sum in another order."""

NUMBERS = ("value", "ci_low", "ci_high", "ci_method", "numerator", "denominator", "n_units")
"""What is compared of each metric of a metrics.json."""

TABLES = ("aggregated_mean_std.csv", "comparison.csv", "agreement.csv")
"""The files of an aggregate whose cells are compared."""

KEYS = ("condition", "baseline", "candidate", "metric")
"""The columns of these files that name a row."""


class _Metrics(BaseModel):
    metrics: list[dict[str, Any]]


def result_numbers(folder: Path) -> dict[str, Any]:
    """Every number of a result, by a label: those of metrics.json, or every cell of an aggregate's tables.

    InputError for files that cannot be read.
    """
    numbers: dict[str, Any] = {}
    for name in TABLES:
        if (folder / name).is_file():
            numbers |= _table_numbers(folder / name)
    return numbers or _metric_numbers(folder / "metrics.json")


def _table_numbers(path: Path) -> dict[str, Any]:
    """The cells of a table of an aggregate."""
    try:
        table = pd.read_csv(path)
    except ValueError as error:
        text = "cannot be read: {reason}"
        raise Problems().fatal("bad-manifest", text, reason=str(error), file=path) from error
    numbers = {}
    for row in plain_rows(table):
        names = [str(row[key]) for key in KEYS if key in row]
        label = " ".join([path.name, *names])
        for column, value in row.items():
            numbers[f"{label} {column}"] = value
    return numbers


def _metric_numbers(path: Path) -> dict[str, Any]:
    """The numbers of every metric of a metrics.json."""
    numbers = {}
    for metric in read_model(path, _Metrics).metrics:
        for field in NUMBERS:
            numbers[f"{metric.get('name')} {field}"] = metric.get(field)
    return numbers


def compare_numbers(then: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[list[str], float]:
    """A line for each number that differs, and the largest relative difference of those that count as the same.

    Null is a value like any other.

    >>> compare_numbers({"f1 value": 0.5, "f1 n_units": 40}, {"f1 value": 0.5, "f1 n_units": 39})
    (['f1 n_units: 39, was 40'], 0.0)
    """
    differences = []
    largest = 0.0
    for label in {**then, **now}:
        before, after = then.get(label), now.get(label)
        distance = relative_difference(before, after)
        if distance <= ROUNDING:
            largest = max(largest, distance)
        else:
            differences.append(change(label, before, after))
    return differences, largest


def relative_difference(a: Any, b: Any) -> float:
    """How far two values are from each other, relative to the larger one; infinite where one is no number.

    >>> relative_difference(40, 39), relative_difference("bca", "bca"), relative_difference(None, 1)
    (0.025, 0.0, inf)
    """
    if a == b:
        return 0.0
    are_numbers = isinstance(a, int | float) and isinstance(b, int | float)
    if not are_numbers:
        return math.inf
    return abs(a - b) / max(abs(a), abs(b))


def change(
    name: str,
    then: Any,
    now: Any,
) -> str:
    """What is said of a value that differs."""
    return say("{name}: {now}, was {then}", name=name, now=str(now), then=str(then))
