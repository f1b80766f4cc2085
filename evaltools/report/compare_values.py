"""Two lists of numbers, paired, as two runs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from pydantic import BaseModel

from ..core.errors import UsageError
from ..core.jsonl_suite import jsonl_suite
from ..core.metric import Metric
from ..core.resampling import Resampling
from ..core.suite import Suite
from .evaluate import evaluate
from .run import Run


class _Value(BaseModel):
    id: str
    value: float | None = None


def is_values(side: Any) -> bool:
    """Whether a side of a comparison is a Series, an array or a list of numbers."""
    if isinstance(side, pd.Series | np.ndarray):
        return True
    if not isinstance(side, list | tuple):
        return False
    return all(value is None or isinstance(value, Real) for value in side)


def compare_values(
    baseline: Any,
    candidate: Any,
    bounds: tuple[float, float] | None,
    better: str,
    resampling: Resampling | None,
    settings: Mapping[str, Any],
) -> tuple[Run, Run]:
    """The two sides as runs with the one metric "value". Series pair by their index, all else by position.

    `settings`: further ones of `evaluate`. A null takes no part.

    UsageError for lists that are empty or of different lengths, a doubled index, what is no number, a value outside
    of `bounds`, and a direction that is none.
    """
    if better not in ("higher", "lower"):
        raise UsageError("better: expected 'higher' or 'lower', got {better}", better=repr(better))
    by_index = isinstance(baseline, pd.Series) and isinstance(candidate, pd.Series)
    if not by_index and len(baseline) != len(candidate):
        raise UsageError(
            "lists of different lengths pair by no position: {baseline} and {candidate} numbers",
            baseline=len(baseline),
            candidate=len(candidate),
        )
    if len(baseline) == 0 or len(candidate) == 0:
        raise UsageError("no numbers: expected two lists of numbers that pair")
    sides = []
    values: set[float] = set()
    for name, side in (("baseline", baseline), ("candidate", candidate)):
        numbers = _numbers(name, side if by_index else pd.Series(list(side), dtype=object), bounds)
        values.update(numbers.dropna())
        or_null = numbers.astype(object).where(numbers.notna(), None)
        sides.append([{"id": str(key), "value": value} for key, value in or_null.items()])
    suite = _suite(bounds, better, proportion=bounds is None and values <= {0.0, 1.0})
    first = evaluate(suite, sides[0], name="baseline", resampling=resampling, **settings)
    second = evaluate(suite, sides[1], name="candidate", resampling=resampling, **settings)
    return first, second


FAULTS = {
    "double": "{side}: the index {key} comes twice",
    "other": "{side}: {value} at {key} is no number",
    "outside": "{side}: {value} at {key} lies outside of {low} to {high}",
}
"""What may be wrong with a value."""


def _numbers(
    side: str,
    values: pd.Series,
    bounds: tuple[float, float] | None,
) -> pd.Series:
    """The values as numbers, nan for a null. UsageError for the first that cannot be used."""
    is_number = values.map(lambda value: isinstance(value, Real | np.bool_)).astype(bool)
    numbers = values.where(is_number, np.nan).astype(float)
    low, high = bounds or (-math.inf, math.inf)
    wrong = {
        "double": values.index.astype(str).duplicated(),
        "other": ~is_number & values.notna(),
        "outside": (numbers < low) | (numbers > high),
    }
    for fault, places in wrong.items():
        for key, value in values[places].items():
            raise UsageError(FAULTS[fault], side=side, key=key, value=value, low=low, high=high)
    return numbers


def _suite(
    bounds: tuple[float, float] | None,
    better: Any,
    proportion: bool,
) -> Suite:
    metric = Metric(
        name="value",
        title="value",
        numerator="value",
        denominator="n",
        better=better,
        bounds=bounds,
        proportion=proportion,
    )
    return jsonl_suite(
        "values",
        title="Values",
        record=_Value,
        unit="id",
        columns=lambda record: {"n": None if record.value is None else 1, "value": record.value},
        metrics=[metric],
        headline=["value"],
    )
