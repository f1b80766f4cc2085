"""The units in which two runs differ, with what both made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

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
    for column in units.columns.intersection(others.columns):
        if pd.api.types.is_numeric_dtype(units[column]):
            continue
        mine, theirs = units[column].map(str).tolist(), others[column].map(str).tolist()
        differences[column] = units[column].tolist()
        if mine != theirs:
            differences[f"{column} (other)"] = others[column].tolist()
    return differences
