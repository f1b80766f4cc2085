"""What people said of some cases, and what the judge said of those of which the rules were sure.

The same estimates as `evaltools calibrate` makes of summary_scores.csv and the file of labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...core.errors import Problems
from ...core.language import Message
from ...core.resampling import Resampling
from ...stats.calibration import (
    LEAST,
    PASS,
    Calibration,
    calibrate,
    corrected_mean,
    labelled_cases,
)
from ...stats.labels import only_measured, read_labels
from ...stats.score_intervals import wilson
from .judge_zones import AUDIT
from .options import SummaryOptions, rules_in_force
from .rules import METRICS
from .units import by_metric

if TYPE_CHECKING:
    from ...report.run import Run

METHOD = "ppi++"

BINS = (0.0, 0.5, 0.7, 0.8, 0.9, 1.0)
"""Of the confidence that the judge states; the last one is whole."""

RELIABILITY_COLUMNS = ["confidence", "n", "against", "agree", "ci_low", "ci_high"]
AUDIT_COLUMNS = ["title", "sure", "asked", "wrong", "share", "ci_low", "ci_high"]


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


def audit(run: Run) -> pd.DataFrame:
    """How often the judge contradicts rules that were sure: a row a metric with AUDIT_COLUMNS.

    wrong: cases on the other side of the threshold. Wilson's interval, for the cases of which the
    rules are sure.
    """
    thresholds = rules_in_force(run.options).thresholds
    titles = run.frame.set_index("name")["title"]
    rows = []
    for metric in METRICS:
        trigger = run.data[f"{metric}_trigger"]
        judge = run.data[f"{metric}_llm"]
        asked = (trigger == AUDIT) & judge.notna()
        n = int(asked.sum())
        if n == 0:
            continue
        limit = thresholds.get(metric, PASS) - 1e-12
        contradicted = (judge >= limit) != (run.data[f"{metric}_rule"] >= limit)
        wrong = int(contradicted[asked].sum())
        sure = int((trigger.isna() | (trigger == AUDIT)).sum())
        low, high = wilson(wrong, n, run.resampling.confidence)
        rows.append((titles[metric], sure, n, wrong, wrong / n, low, high))
    return pd.DataFrame(rows, columns=AUDIT_COLUMNS)


def reliability(run: Run) -> pd.DataFrame:
    """How often the judge is right by the confidence that it states: RELIABILITY_COLUMNS.

    Against labels, where cases that it was asked about have any, else against the rules; right is
    the same side of PASS. Wilson's interval.
    """
    replies = by_metric(
        run.data,
        judge="_llm",
        confidence="_confidence",
        rules="_rule",
        labels="_label",
    )
    replies = replies.dropna(subset="judge")
    against = "labels" if replies["labels"].notna().any() else "rules"
    clear = replies[against].notna() & (replies[against] != PASS)
    replies = replies[clear]
    names = [f"{low:g}–{high:g}" for low, high in pairwise(BINS)]
    edges = [*BINS[:-1], np.inf]
    confidence = pd.cut(replies["confidence"], edges, right=False, labels=names)
    agree = (replies["judge"] >= PASS) == (replies[against] >= PASS)
    rows = []
    for name, group in agree.groupby(confidence, observed=True):
        low, high = wilson(group.sum(), len(group), run.resampling.confidence)
        rows.append((name, len(group), against, group.mean(), low, high))
    return pd.DataFrame(rows, columns=RELIABILITY_COLUMNS)
