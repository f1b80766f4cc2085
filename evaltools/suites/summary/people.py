"""What people said of some cases.

The same estimates as `evaltools calibrate` makes of summary_scores.csv and the file of labels.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from ...core.errors import Problems
from ...core.language import Message
from ...core.resampling import Resampling
from ...stats.calibration import (
    LEAST,
    Calibration,
    calibrate,
    corrected_mean,
    labelled_cases,
)
from ...stats.labels import only_measured, read_labels
from .options import SummaryOptions, rules_in_force
from .rules import METRICS
from .units import by_metric

METHOD = "ppi++"


def labelled(path: Path) -> tuple[str, ...]:
    """The metrics of which a file holds enough labels.

    What is wrong with the file is said when it is read whole.
    """
    labels = read_labels(path, None, Problems("skip"))
    n_cases = labels.groupby("metric")["case_id"].nunique()
    return tuple(metric for metric in METRICS if n_cases.get(metric, 0) >= LEAST)


def with_labels(
    units: pd.DataFrame,
    path: Path,
    options: SummaryOptions,
    problems: Problems,
) -> pd.DataFrame:
    """The units with what people said: `_label` (mean of the raters) of each metric.

    `_corrected`, of those that have enough labels, is what the case brings into the corrected mean.
    InputError for labels that do not fit the cases.
    """
    scores = _scores(units, options)
    labels = read_labels(path, scores, problems)
    problems.raise_if_failed()
    measured = only_measured(scores, scores)
    columns: dict[str, Any] = {}
    for metric in labels["metric"].unique():
        cases = labelled_cases(measured, labels, metric).set_index("case_id")
        columns[f"{metric}_label"] = units["case_id"].map(cases["label"])
        n = int(cases["label"].notna().sum())
        if metric in options.labelled and n >= LEAST:
            mean = corrected_mean(cases["score"].to_numpy(), cases["label"].to_numpy())
            contributed = pd.Series(mean.contributions, cases.index)
            columns[f"{metric}_corrected"] = units["case_id"].map(contributed)
        else:
            message = Message(
                "{n} labelled cases that were measured, {least} are needed",
                {"n": n, "least": LEAST},
            )
            if metric in options.labelled:
                columns[f"{metric}_corrected"] = float("nan")
            problems.warn("few-labels", message, file=str(path), field=metric)
    return units.assign(**columns)


def _scores(units: pd.DataFrame, options: SummaryOptions) -> pd.DataFrame:
    """One row a metric and case, as `read_scores` has them."""
    scores = by_metric(units, score="", measured="_measured").reset_index(drop=True)
    thresholds = rules_in_force(options).thresholds
    return scores.assign(threshold=scores["metric"].map(thresholds))


def calibration(
    units: pd.DataFrame,
    options: SummaryOptions,
    confidence: float = 0.95,
) -> Calibration:
    """The metrics with enough labels, calibrated; the raters of a case count as one."""
    labels = by_metric(units, options.labelled, label="_label")
    labels = labels.assign(rater="").dropna(subset="label")
    scores = _scores(units, options)
    return calibrate(only_measured(scores, scores), labels, confidence, str(options.labels))


def intervals(
    estimates: pd.DataFrame,
    units: pd.DataFrame,
    options: SummaryOptions,
    resampling: Resampling,
) -> pd.DataFrame:
    """The estimates with the intervals of the corrected means; their n counts labelled cases."""
    if not options.labelled:
        return estimates
    corrected = calibration(units, options, resampling.confidence).frame
    corrected = corrected.set_index(corrected["metric"] + "_corrected")
    rows = corrected.index
    by_name = estimates.set_index("metric", drop=False)
    columns = {
        "value": "corrected_mean",
        "ci_low": "corrected_low",
        "ci_high": "corrected_high",
        "n_units": "n_labelled",
    }
    for column, of_labels in columns.items():
        by_name.loc[rows, column] = corrected[of_labels]
    by_name.loc[rows, "ci_method"] = METHOD
    return by_name.reset_index(drop=True)
