"""The units in which two runs differ, with what both made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from ..core.estimates import is_null
from ..stats.unit_changes import differing, unit_changes

if TYPE_CHECKING:
    from .run import Run


def diff_runs(
    run: Run,
    other: Run,
    metric: str,
) -> pd.DataFrame:
    """The units whose value of a metric differs between two runs; `Run.diff` says more."""
    unit = run.suite.unit
    changes = unit_changes(
        {"": run.data},
        {"": other.data},
        run.metrics,
        unit,
        run.metric(metric).name,
    )
    differences = differing(changes)
    ids = differences[unit]
    units = run.units.drop_duplicates(unit).set_index(unit).reindex(ids)
    others = other.units.drop_duplicates(unit).set_index(unit).reindex(ids)
    for column in units.columns:
        if column not in others or pd.api.types.is_numeric_dtype(units[column]):
            continue
        mine, theirs = units[column].tolist(), others[column].tolist()
        differences[column] = mine
        if not all(_is_same(a, b) for a, b in zip(mine, theirs)):
            differences[f"{column} (other)"] = theirs
    return differences


def _is_same(a: Any, b: Any) -> bool:
    """Whether two cells are equal, or both empty."""
    if is_null(a) or is_null(b):
        return is_null(a) and is_null(b)
    return bool(a == b)
