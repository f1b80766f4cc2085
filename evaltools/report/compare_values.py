"""Two lists of numbers, paired, as two runs."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from pydantic import Field, create_model

from ..core.errors import UsageError
from ..core.jsonl_suite import jsonl_suite
from ..core.metric import Metric
from .evaluate import evaluate
from .run import Run


def is_values(side: Any) -> bool:
    """Whether a side of a comparison is a Series, an array or a list of numbers."""
    if isinstance(side, list | tuple):
        return all(value is None or isinstance(value, Real) for value in side)
    return isinstance(side, pd.Series | np.ndarray)


def compare_values(
    baseline: Any,
    candidate: Any,
    bounds: tuple[float, float] | None,
    better: Any,
    settings: Mapping[str, Any],
) -> list[Run]:
    """The two sides as runs with the one metric "value". Series pair by their index, all else by position.

    `settings`: those of `evaluate`. A null takes no part.

    UsageError for lists of different lengths, and a direction that is none; InputError for a list that is empty, a
    doubled index, what is no number, and a value outside of `bounds`.
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
    sides = {}
    for name, side in (("baseline", baseline), ("candidate", candidate)):
        values = side if by_index else pd.Series(list(side))
        sides[name] = pd.DataFrame({"id": values.index.astype(str), "value": values.tolist()})
    numbers = pd.concat(sides.values())["value"].dropna()
    metric = Metric(
        name="value",
        title="value",
        numerator="value",
        denominator="n",
        better=better,
        bounds=bounds,
        proportion=bounds is None and bool(numbers.isin([0, 1]).all()),
    )
    low, high = bounds or (None, None)
    suite = jsonl_suite(
        "values",
        title="Values",
        record=create_model("Value", id=str, value=(float | None, Field(None, ge=low, le=high))),
        unit="id",
        columns=lambda record: {"n": None if record.value is None else 1, "value": record.value},
        metrics=[metric],
        headline=["value"],
    )
    return [evaluate(suite, frame, name=name, **settings) for name, frame in sides.items()]
