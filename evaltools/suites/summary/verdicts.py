"""Whether a file of summaries passes: one verdict a metric, the same wherever it is shown.

Source: specification D22, D24.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ...core.language import stored_text
from .options import rules_in_force
from .rules import METRICS

if TYPE_CHECKING:
    from ...report.run import Run


def verdict(units: pd.DataFrame, metric: str) -> str:
    """The verdict of a metric.

    "no threshold" where the metric has none, else "fail" where a measured case lies below it,
    "pass" where none does, and "not measured" where no case was measured.
    """
    failing = fails(units)
    if metric not in failing:
        return "no threshold"
    if not units[f"{metric}_measured"].any():
        return "not measured"
    return "fail" if failing[metric].any() else "pass"


def fails(units: pd.DataFrame) -> pd.DataFrame:
    """Whether each case was measured and lies below the threshold, by metric that has one."""
    columns = {}
    for metric in METRICS:
        if f"{metric}_passed" in units:
            columns[metric] = units[f"{metric}_measured"] & ~units[f"{metric}_passed"]
    return pd.DataFrame(columns, index=units.index)


def verdicts(run: Run) -> pd.DataFrame:
    """One row a metric: verdict, mean and number of the measured cases, how many fail.

    `mean` is over all cases, with the source document's number for each that could not be measured.
    """
    thresholds = rules_in_force(run.options).thresholds
    titles = run.frame.set_index("name")["title"]
    units = run.data
    failing = fails(units).sum().to_dict()
    rows = []
    for metric in METRICS:
        measured = int(units[f"{metric}_measured"].sum())
        said = ""
        if metric in failing and measured:
            said = _said(measured, failing[metric], thresholds[metric])
        row = {
            "metric": metric,
            "title": titles[metric],
            "verdict": verdict(units, metric),
            "said": said,
            "mean_measured": run.value(f"{metric}_measured"),
            "measured": measured,
            "failing": failing.get(metric),
            "threshold": thresholds.get(metric),
            "not_measured": len(units) - measured,
            "mean": run.value(metric),
        }
        rows.append(row)
    return pd.DataFrame(rows)


def _said(measured: int, failing: int, threshold: float) -> str:
    """What the verdict of a metric with a threshold rests on, half a sentence."""
    template = "{k} of {n} measured cases lie below {threshold}"
    if measured == 1:
        template = "{k} of {n} measured case lies below {threshold}"
    if not failing:
        template = template.replace("{k}", "none")
    return stored_text(template, k=failing, n=measured, threshold=f"{threshold:g}")
