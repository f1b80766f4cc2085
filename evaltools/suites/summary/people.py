"""What people said of some cases.

The same estimates as `evaltools calibrate` makes of summary_scores.csv and the file of labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from ...report.run import Run

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
    scores = _scores(units, rules_in_force(options).thresholds)
    labels = read_labels(path, scores, problems)
    problems.raise_if_failed()
    columns: dict[str, Any] = {}
    for metric, of_metric in labels.groupby("metric"):
        name = str(metric)
        of_metric = only_measured(scores, of_metric)
        cases = labelled_cases(only_measured(scores, scores), of_metric, name)
        cases = cases.set_index("case_id")
        columns[f"{name}_label"] = units["case_id"].map(cases["label"])
        n = int(cases["label"].notna().sum())
        if n < LEAST:
            values = {"n": n, "least": LEAST}
            message = Message("{n} labelled cases, {least} are needed", values)
            report = problems.error if name in options.labelled else problems.warn
            report("few-labels", message, file=str(path), field=name)
            continue
        mean = corrected_mean(cases["score"].to_numpy(), cases["label"].to_numpy())
        contributed = pd.Series(mean.contributions, cases.index)
        columns[f"{name}_corrected"] = units["case_id"].map(contributed)
    problems.raise_if_failed()
    return units.assign(**columns)


def _scores(units: pd.DataFrame, thresholds: Mapping[str, float]) -> pd.DataFrame:
    """One row a metric and case, as `read_scores` has them."""
    scores = by_metric(units, score="", measured="_measured").reset_index(drop=True)
    return scores.assign(threshold=scores["metric"].map(thresholds))


def calibration(
    units: pd.DataFrame,
    options: SummaryOptions,
    confidence: float,
) -> Calibration:
    """The metrics with enough labels, calibrated; the raters of a case count as one."""
    labels = by_metric(units, options.labelled, label="_label")
    labels = labels.assign(rater="").dropna(subset="label")
    scores = _scores(units, rules_in_force(options).thresholds)
    return calibrate(only_measured(scores, scores), labels, confidence)


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
    by_name.loc[rows, "value"] = corrected["corrected_mean"]
    by_name.loc[rows, "ci_low"] = corrected["corrected_low"]
    by_name.loc[rows, "ci_high"] = corrected["corrected_high"]
    by_name.loc[rows, "n_units"] = corrected["n_labelled"]
    by_name.loc[rows, "ci_method"] = METHOD
    return by_name.reset_index(drop=True)


def corrected(run: Run) -> pd.DataFrame:
    """Scores against labels of people, a row a metric.

    Labelled cases, corrected mean, labels alone, score, TPR and TNR.
    """
    if not run.options.labelled:
        return pd.DataFrame()
    frame = calibration(run.data, run.options, run.resampling.confidence).frame
    titles = run.frame.set_index("name")["title"]
    frame = frame.assign(title=frame["metric"].map(titles))
    return frame.rename(columns={"judge_mean": "score"})
