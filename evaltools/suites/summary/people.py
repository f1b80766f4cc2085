"""What people said of some cases, and what the judge said of those of which the rules were sure.

The same estimates as `evaltools calibrate` makes of summary_scores.csv and the file of labels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict

from ...core.check import Check
from ...core.errors import InputError, Problem, Problems
from ...core.language import Message
from ...core.resampling import Resampling
from ...stats.calibration import (
    LEAST,
    PASS,
    Calibration,
    calibrate,
    contributions,
    read_labels,
    refused,
    together,
)
from ...stats.score_intervals import wilson
from .judge_zones import AUDIT
from .options import SummaryOptions, rules_in_force
from .rules import METRICS
from .units import by_metric

if TYPE_CHECKING:
    from ...report.run import Run

METHOD = "ppi++ t-wilson"

BINS = (0.0, 0.5, 0.7, 0.8, 0.9, 1.0)
"""Of the confidence that the judge states; the last one is whole."""


class Wanted(BaseModel):
    """A row of the cases to label, as `evaltools calibrate --next` writes them."""

    model_config = ConfigDict(extra="ignore", coerce_numbers_to_str=True)
    case_id: str
    metric: str
    stratum: str | None = None


def labelled(path: Path) -> tuple[str, ...]:
    """The metrics of which a file holds enough labels; what is wrong with it is said when it is read whole."""
    n = read_labels(path, None, Problems("skip")).groupby("metric")["case_id"].nunique()
    return tuple(m for m in METRICS if n.get(m, 0) >= LEAST)


def _scores(units: pd.DataFrame, thresholds: Mapping[str, float]) -> pd.DataFrame:
    found = by_metric(units, score="").reset_index(drop=True)
    return found.assign(stratum=None, threshold=found["metric"].map(thresholds))


def with_labels(
    units: pd.DataFrame, path: Path, options: SummaryOptions, problems: Problems
) -> pd.DataFrame:
    """The units with what people said: `_label` (mean of the raters) and `_stratum` of each metric.

    `_corrected`, of those that have enough labels, is what the case brings into the corrected mean.
    InputError for labels that do not fit the cases.
    """
    scores = _scores(units, rules_in_force(options).thresholds)
    labels = read_labels(path, scores, problems)
    problems.raise_if_failed()
    added: dict[str, Any] = {}
    for m, given in labels.groupby("metric"):
        by_case = given.groupby("case_id").agg({"label": "mean", "stratum": "first"})
        cases = together(scores, labels, str(m))
        added |= {
            f"{m}_label": cases["label"].to_numpy(),
            f"{m}_stratum": units["case_id"].map(by_case["stratum"]),
        }
        if m not in options.labelled:
            n = len(by_case)
            problems.warn(
                "few-labels",
                f"{n} labelled cases, {LEAST} are needed",
                file=str(path),
                field=str(m),
            )
        elif why := refused(cases, labels, str(m)):
            raise InputError([Problem("error", "few-labels", why, file=str(path), field=str(m))])
        else:
            added[f"{m}_corrected"] = contributions(cases)
    return units.assign(**added)


def calibration(units: pd.DataFrame, options: SummaryOptions, confidence: float) -> Calibration:
    """The metrics with enough labels, calibrated; the raters of a case count as one."""
    labels = by_metric(units, options.labelled, label="_label", stratum="_stratum").assign(rater="")
    return calibrate(
        _scores(units, rules_in_force(options).thresholds),
        labels.dropna(subset="label"),
        confidence,
    )


def intervals(
    frame: pd.DataFrame, units: pd.DataFrame, options: SummaryOptions, resampling: Resampling
) -> pd.DataFrame:
    """The estimates with the intervals of the corrected means; their n is that of the labelled cases."""
    if not options.labelled:
        return frame
    found = calibration(units, options, resampling.confidence).frame
    found = found.set_index(found["metric"] + "_corrected")
    out = frame.set_index("metric", drop=False)
    copied = {
        "value": "corrected_mean",
        "ci_low": "corrected_low",
        "ci_high": "corrected_high",
        "n_units": "n_labelled",
    }
    for column, source in copied.items():
        out.loc[found.index, column] = found[source]
    out.loc[found.index, "ci_method"] = METHOD
    return out.reset_index(drop=True)


def checks(data: pd.DataFrame, options: SummaryOptions) -> Iterator[Check]:
    """Labels that were not drawn at random."""
    if options.labelled:
        for m, note in calibration(data, options, 0.95).notes.items():
            n = int(data[f"{m}_label"].notna().sum())
            values = {"metric": m, "note": Message(note)}
            yield Check("labels-not-random", "warning", "{metric}: {note}", values, n, len(data))


def corrected(result: Run) -> pd.DataFrame:
    """Against labels of people, a row a metric: labelled cases, corrected mean, labels alone, score, TPR and TNR."""
    if not result.options.labelled:
        return pd.DataFrame()
    found = calibration(result.data, result.options, result.resampling.confidence).frame
    titles = result.frame.set_index("name")["title"]
    return found.assign(title=found["metric"].map(titles)).rename(columns={"judge_mean": "score"})


def audit(result: Run) -> pd.DataFrame:
    """How often the judge contradicts rules that were sure: title, sure, asked, wrong, share, ci_low, ci_high.

    `wrong`: cases on the other side of the threshold. Wilson's interval, for the cases of which the rules are sure.
    """
    thresholds, titles = (
        rules_in_force(result.options).thresholds,
        result.frame.set_index("name")["title"],
    )
    rows = []
    for m in METRICS:
        trigger, judge = (result.data[f"{m}_{c}"] for c in ("trigger", "llm"))
        asked = (trigger == AUDIT) & judge.notna()
        if n := int(asked.sum()):
            limit = thresholds.get(m, PASS) - 1e-12
            wrong = int(((judge >= limit) != (result.data[f"{m}_rule"] >= limit))[asked].sum())
            sure = int((trigger.isna() | (trigger == AUDIT)).sum())
            rows.append(
                (
                    titles[m],
                    sure,
                    n,
                    wrong,
                    wrong / n,
                    *wilson(wrong, n, result.resampling.confidence),
                )
            )
    return pd.DataFrame(
        rows, columns=["title", "sure", "asked", "wrong", "share", "ci_low", "ci_high"]
    )


def reliability(result: Run) -> pd.DataFrame:
    """How often the judge is right by the confidence that it states: confidence, n, against, agree, ci_low, ci_high.

    Against labels, where cases that it was asked about have any, else against the rules; right is the same side of
    PASS. Wilson's interval.
    """
    data = result.data
    said = by_metric(data, judge="_llm", confidence="_confidence", rules="_rule", labels="_label")
    said = said.dropna(subset="judge")
    against = "labels" if said["labels"].notna().any() else "rules"
    said = said[said[against].notna() & (said[against] != PASS)]
    bins = pd.cut(
        said["confidence"],
        [*BINS[:-1], np.inf],
        right=False,
        labels=list(map("{:g}–{:g}".format, BINS, BINS[1:])),
    )
    agree = (said["judge"] >= PASS) == (said[against] >= PASS)
    rows = [
        (
            name,
            len(group),
            against,
            group.mean(),
            *wilson(group.sum(), len(group), result.resampling.confidence),
        )
        for name, group in agree.groupby(bins, observed=True)
    ]
    return pd.DataFrame(rows, columns=["confidence", "n", "against", "agree", "ci_low", "ci_high"])
