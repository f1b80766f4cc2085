"""The units in which two runs differ, with what both made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from ..stats.unit_changes import differing, unit_changes

if TYPE_CHECKING:
    from .run import Run


def diff_runs(run: Run, other: Run, metric: str) -> pd.DataFrame:
    """The units whose value of a metric differs between two runs; `Run.diff` says more."""
    name = run.metric(metric).name
    unit = run.suite.unit
    changes = unit_changes({"": run.data}, {"": other.data}, run.metrics, unit, name)
    differences = differing(changes)
    units = run.units.drop_duplicates(unit).set_index(unit)
    others = other.units.drop_duplicates(unit).set_index(unit)
    for column in units.columns:
        if column not in others or pd.api.types.is_numeric_dtype(units[column]):
            continue
        mine = units[column].reindex(differences[unit]).tolist()
        theirs = others[column].reindex(differences[unit]).tolist()
        differences[column] = mine
        if not all(_same(a, b) for a, b in zip(mine, theirs)):
            differences[f"{column} (other)"] = theirs
    return differences


def _same(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if isinstance(a, list | dict) or isinstance(b, list | dict):
        return bool(a == b)
    return bool((pd.isna(a) and pd.isna(b)) or a == b)
