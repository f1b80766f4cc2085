"""Whether a file of summaries passes: one verdict a metric, the same on every page, in Excel and in the terminal.

Source: specification D22, D24.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from .options import rules_in_force
from .rules import METRICS

if TYPE_CHECKING:
    from ...report.run import Run

WORDS: dict[str, Any] = tomllib.loads(
    Path(__file__).with_name("views.toml").read_text(encoding="utf-8")
)
"""Of pages and workbooks."""

COLUMNS: dict[str, str] = WORDS["table"]["verdicts"]["columns"]
"""What the columns of `verdicts` that people read are called, in their order: what was measured leads."""


def verdict(units: pd.DataFrame, metric: str) -> str:
    """The verdict of a metric.

    "no threshold" where the metric has none, else "fail" where a measured case lies below it, "pass" where none does,
    and "not measured" where no case was measured.
    """
    failing = fails(units)
    if metric not in failing:
        return "no threshold"
    if not units[f"{metric}_measured"].any():
        return "not measured"
    return "fail" if failing[metric].any() else "pass"


def fails(units: pd.DataFrame) -> pd.DataFrame:
    """Whether each case was measured and lies below the threshold: a column a metric that has one."""
    limited = [m for m in METRICS if f"{m}_passed" in units]
    return pd.DataFrame(
        {m: units[f"{m}_measured"] & ~units[f"{m}_passed"] for m in limited}, index=units.index
    )


def verdicts(result: Run) -> pd.DataFrame:
    """One row a metric: verdict, mean and number of the measured cases, how many of them fail, and what remains.

    `mean` is over all cases, with the source document's number for each that could not be measured.
    """
    thresholds, units = rules_in_force(result.options).thresholds, result.data
    failing, titles = fails(units).sum().to_dict(), result.frame.set_index("name")["title"]
    measured = {m: int(units[f"{m}_measured"].sum()) for m in METRICS}
    rows = [
        {
            "metric": m,
            "title": titles[m],
            "verdict": verdict(units, m),
            "said": _said(measured[m], failing[m], thresholds[m]) if m in failing else "",
            "mean_measured": result.value(f"{m}_measured"),
            "measured": measured[m],
            "failing": failing.get(m),
            "threshold": thresholds.get(m),
            "not_measured": len(units) - measured[m],
            "mean": result.value(m),
        }
        for m in METRICS
    ]
    return pd.DataFrame(rows)


def _said(measured: int, failing: int, threshold: float) -> str:
    """What the verdict of a metric with a threshold rests on, half a sentence; "" where nothing was measured."""
    if not measured:
        return ""
    what = "measured case lies" if measured == 1 else "measured cases lie"
    return f"{failing or 'none'} of {measured} {what} below {threshold:g}"
