"""Whether a file of summaries passes: one verdict a metric, the same on every page, in Excel and in the terminal.

Source: specification D22, D24.
"""

from __future__ import annotations

import pandas as pd

from ..core.results import Result
from .options import rules_in_force
from .rules import METRICS

COLUMNS = {
    "metric": "metric",
    "verdict": "verdict",
    "mean_measured": "mean of measured",
    "measured": "measured",
    "failing": "failing",
    "threshold": "threshold",
    "not_measured": "not measured",
    "mean": "with imputed",
}
"""What the columns of `verdicts` are called, in the order in which they are read: what was measured leads."""


def verdict(units: pd.DataFrame, metric: str) -> str:
    """The verdict of a metric.

    "fail" where a measured case lies below the threshold, "pass" where none does, "not measured" where no case was
    measured, "no threshold" where the metric has none.
    """
    if not units[f"{metric}_measured"].any():
        return "not measured"
    failing = fails(units)
    if metric not in failing:
        return "no threshold"
    return "fail" if failing[metric].any() else "pass"


def fails(units: pd.DataFrame) -> pd.DataFrame:
    """Whether each case was measured and lies below the threshold: a column a metric that has one."""
    limited = [m for m in METRICS if f"{m}_passed" in units]
    return pd.DataFrame({m: units[f"{m}_measured"] & ~units[f"{m}_passed"] for m in limited}, index=units.index)


def verdicts(result: Result) -> pd.DataFrame:
    """One row a metric: verdict, mean and number of the measured cases, how many of them fail, and what remains.

    `mean` is over all cases, with the source document's number for each that could not be measured.
    """
    thresholds, units, failing = rules_in_force(result.options).thresholds, result.data, fails(result.data)
    measured = {m: int(units[f"{m}_measured"].sum()) for m in METRICS}
    rows = [
        {
            "metric": m,
            "verdict": verdict(units, m),
            "mean_measured": result.value(f"{m}_measured"),
            "measured": measured[m],
            "failing": int(failing[m].sum()) if m in failing else None,
            "threshold": thresholds.get(m),
            "not_measured": len(units) - measured[m],
            "mean": result.value(m),
        }
        for m in METRICS
    ]
    return pd.DataFrame(rows)
