"""A judge, or rules, held against labels of people: how right it is, and the mean they would give.

    scores of N cases + labels of n of them --PPI++--> corrected mean --t-Wilson--> interval

The corrected mean is that of the labels, moved by what the scores of the other cases add:
mean(label - w score) over the labelled cases plus w mean(score) over the others. It is right on
average whatever the scores are worth, because w only weighs how much they are listened to; the w of
least variance makes it surer than the labels alone.

Claim of the intervals: new cases, this system, this judge. Labels must be drawn at random.

Reference: Angelopoulos, Duchi, Zrnic, "PPI++: Efficient prediction-powered inference", arXiv
2311.01453 (2023).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from ..core.errors import InputError, Problem
from ..core.language import Message
from .agreement import ballot, cohen_kappa, kappa_of
from .arrays import Array
from .score_intervals import t_quantile, t_wilson, wilson

LEAST = 30
"""Labels of a metric below which nothing is estimated."""

TOO_FEW = "{n} labelled cases; expected {least} or more"

PASS = 0.5
"""A score from here on agrees with a label of 1."""

FAR = 4.0
"""Standard errors by which the scores of cases drawn at random do not lie away from those of all (p
< .0001).
"""

HIDDEN = 0.25
"""Cases on which judge and people differ wholly that are added to those seen: few labels may hold
none by chance."""

COLUMNS = (
    "metric", "n", "n_labelled", "raters", "rater_kappa", "judge_kappa", "tpr", "tpr_low", "tpr_high", "tnr",
    "tnr_low", "tnr_high", "judge_mean", "labels_mean", "labels_low", "labels_high", "corrected_mean",
    "corrected_low", "corrected_high",
)  # fmt: skip
"""The columns of calibration.csv, in order."""


@dataclass(frozen=True)
class Drawn:
    """How the labelled cases were picked, where not at random: the mean score of them and of all cases.

    `code`: "labels-of-passes", "labels-of-failures", "labels-of-low" or "labels-of-high" scores.
    """

    code: str
    mean: float
    mean_of_all: float


@dataclass(frozen=True)
class Calibration:
    """A judge held against labels.

    `frame`: COLUMNS, a row a metric that has labels; null: not measured. `notes`: metric -> what a
    reader must know of its labels. `left_out`: metric -> its labelled cases, fewer than LEAST.
    """

    frame: pd.DataFrame
    notes: dict[str, Drawn]
    left_out: dict[str, int]


def calibrate(
    scores: pd.DataFrame,
    labels: pd.DataFrame,
    confidence: float = 0.95,
    file: str = "",
) -> Calibration:
    """Hold scores (`labels.read_scores`) against labels (`labels.read_labels`).

    Several raters of a case count as their mean. A metric of fewer than LEAST labelled cases is left out. InputError,
    which names `file`, where that leaves none.

    >>> cases = [f"c{i}" for i in range(60)]
    >>> scores = pd.DataFrame({"case_id": cases, "metric": "m", "score": [0.0, 1.0] * 30})
    >>> labels = scores[:40].assign(label=[0.0, 1.0, 1.0, 1.0] * 10, rater="")
    >>> frame = calibrate(scores.assign(threshold=np.nan), labels).frame
    >>> frame[["metric", "n", "n_labelled", "judge_mean", "corrected_mean"]].round(3)
      metric   n  n_labelled  judge_mean  corrected_mean
    0      m  60          40         0.5            0.75
    """
    rows = []
    notes = {}
    left_out = {}
    for metric, votes in labels.groupby("metric", sort=False):
        cases = labelled_cases(scores, votes, metric)
        n = int(cases["label"].notna().sum())
        if n < LEAST:
            left_out[metric] = n
            continue
        rows.append(
            {
                "metric": metric,
                "n": len(cases),
                "n_labelled": n,
                **_means(cases, confidence),
                **_agreement(cases, votes, confidence),
            }
        )
        note = drawn(cases)
        if note is not None:
            notes[metric] = note
    if not rows:
        raise InputError(_too_few(left_out, file))
    return Calibration(pd.DataFrame(rows, columns=list(COLUMNS)), notes, left_out)


def require_labels(labels: pd.DataFrame, file: str) -> None:
    """InputError, which names `file`, for labels of a metric (`labels.read_labels`) that are fewer than LEAST."""
    n_cases = labels.groupby("metric", sort=False)["case_id"].nunique()
    few = n_cases[n_cases < LEAST].to_dict()
    if few or labels.empty:
        raise InputError(_too_few(few, file))


def _too_few(left_out: Mapping[str, int], file: str) -> list[Problem]:
    """What is wrong with labels of metrics (metric -> their cases), or with none at all."""
    problems = []
    for metric, n in left_out.items():
        message = Message(TOO_FEW, {"n": n, "least": LEAST})
        problems.append(Problem("error", "few-labels", message, file=file, field=metric))
    return problems or [Problem("error", "few-labels", "no label", file=file)]


def labelled_cases(
    scores: pd.DataFrame,
    labels: pd.DataFrame,
    metric: str,
) -> pd.DataFrame:
    """The scored cases of a metric: case_id, score, threshold, label (mean of the raters, or nan)."""
    scored = scores[scores["metric"] == metric]
    of_metric = labels[labels["metric"] == metric]
    means = of_metric.groupby("case_id")["label"].mean()
    return scored.assign(label=scored["case_id"].map(means))


def _means(cases: pd.DataFrame, confidence: float) -> dict[str, float]:
    """The means of scores and of labels, and the corrected mean, with intervals."""
    score, label = cases["score"].to_numpy(), cases["label"].to_numpy()
    means = {
        "labels": corrected_mean(score, label, confidence, weight=0.0),
        "corrected": corrected_mean(score, label, confidence),
    }
    row = {"judge_mean": score.mean()}
    for name, mean in means.items():
        row[f"{name}_mean"] = mean.value
        row[f"{name}_low"] = mean.low
        row[f"{name}_high"] = mean.high
    return row


@dataclass(frozen=True)
class Mean:
    """A mean in 0..1 with its interval, and the weight of the scores in it.

    `contributions` (cases,): what each case brings into the mean, which is the mean of them all.
    """

    value: float
    low: float
    high: float
    weight: float
    contributions: Array = field(compare=False)


def corrected_mean(
    score: Array,
    label: Array,
    confidence: float = 0.95,
    weight: float | None = None,
) -> Mean:
    """The mean label of all cases, by PPI++ with a t-Wilson interval.

    `score`, `label`: (cases,) in 0..1, label nan where nobody gave one. `weight` of the scores: by
    default that of least variance, in 0..1; 0 is the labels alone. Where all cases are labelled
    scores have nothing to add.

    >>> score, label = np.array([1, 1, 0, 0, 1, 1, 1, 0.0]), np.array([1, 1, 0, 1] + 4 * [np.nan])
    >>> round(corrected_mean(score, label, weight=1).value, 4)  # .75 + (.75 - .5)
    1.0
    """
    labelled = ~np.isnan(label)
    n = int(labelled.sum())
    n_open = len(score) - n
    variance = score.var(ddof=1)
    if n_open == 0:
        weight, n_open = 0.0, 1
    if weight is None:
        covariance = np.cov(score[labelled], label[labelled])[0, 1]
        cost = variance * (1 / n + 1 / n_open)
        weight = float(np.clip(covariance / n / cost, 0, 1)) if cost > 0 else 0.0
    moved = weight * score
    rest = label[labelled] - moved[labelled]
    value = float(rest.mean() + moved[~labelled].sum() / n_open)
    value = min(max(round(value, 12), 0.0), 1.0)

    error = (rest.var(ddof=1) + HIDDEN * weight / n) / n + weight**2 * variance / n_open
    # beside 0 and 1 a correction leaves fewer trials than there are labels: half of them stand
    error = min(error, 2 * value * (1 - value) / n)
    (low,), (high,) = t_wilson(
        np.array([value]),
        np.array([error]),
        np.array([float(n)]),
        t_quantile(np.array([n - 1.0]), confidence),
        np.array([[0.0], [1.0]]),
    )
    of_labelled = len(score) / n * (label - moved)
    of_open = len(score) / n_open * moved
    return Mean(
        value=value,
        low=float(low),
        high=float(high),
        weight=weight,
        contributions=np.where(labelled, of_labelled, of_open),
    )


def drawn(cases: pd.DataFrame) -> Drawn | None:
    """How the labelled cases were picked by their scores; None where that can be at random."""
    labelled = cases["label"].notna()
    n = int(labelled.sum())
    score = cases["score"]
    mean, mean_of_all = score[labelled].mean(), score.mean()
    unlabelled = 1 - n / len(score)
    error = np.sqrt(score.var() / n * unlabelled)
    away = (mean - mean_of_all) / error if error > 0 else 0.0
    if abs(away) < FAR:
        return None
    passes = score >= cases["threshold"].fillna(PASS) - 1e-12
    of_labelled = passes[labelled]
    one_kind = of_labelled.nunique() == 1 and passes.nunique() > 1
    if one_kind:
        code = "labels-of-passes" if of_labelled.all() else "labels-of-failures"
    else:
        code = "labels-of-low" if away < 0 else "labels-of-high"
    return Drawn(code, float(mean), float(mean_of_all))


def _agreement(
    cases: pd.DataFrame,
    votes: pd.DataFrame,
    confidence: float,
) -> dict[str, Any]:
    """raters, kappas, TPR and TNR with Wilson's intervals; the raters alone unless every label is 0 or 1.

    Cases on which as many raters say 0 as 1 take no part in TPR, TNR and the judge's kappa.
    """
    row: dict[str, Any] = {"raters": votes["rater"].nunique()}
    if not votes["label"].isin([0, 1]).all():
        return row
    clear = cases[cases["label"].notna() & (cases["label"] != 0.5)]
    good = clear["label"] > 0.5
    passed = clear["score"] >= PASS
    for name, truth in (("tpr", good), ("tnr", ~good)):
        right = (passed == good)[truth]
        if len(right):
            row[name] = right.mean()
            bounds = wilson(right.sum(), len(right), confidence)
            row[f"{name}_low"], row[f"{name}_high"] = bounds
    row["judge_kappa"] = cohen_kappa(good, passed)
    sheet = votes.assign(category=votes["label"].astype(str))
    row["rater_kappa"] = kappa_of(ballot(sheet, ["case_id"]))
    return row
