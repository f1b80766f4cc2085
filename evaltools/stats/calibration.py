"""A judge, or rules, held against labels of people: how right it is, and the mean they would give.

Scores and labels come from files (`labels`); the corrected mean is that of `corrected`. TPR and TNR
have Wilson's interval at the effective number of labels; kappas are those of `agreement`.

Reference: Korn and Graubard, Survey Methodology 24 (1998), for shares of weighted cases.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
import pandas as pd

from ..core.errors import Problems
from ..core.language import Message
from .agreement import ballot, cohen_kappa, kappa_of
from .arrays import Array
from .corrected import corrected_mean
from .score_intervals import wilson

LEAST = 30
"""Labels of a metric below which nothing is estimated."""

PASS = 0.5
"""A score from here on agrees with a label of 1."""

FAR = 4.0
"""Standard errors by which the scores of cases drawn at random do not lie away from those of all (p
< .0001).
"""

NEXT = 20
"""Cases of a metric that are proposed to be labelled next."""

PRIOR = 2
"""Labels that the spread of all strata counts for in the spread of one."""

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
    reader must know of its labels. `next`: case_id, metric, stratum of the cases to label next.
    """

    frame: pd.DataFrame
    notes: dict[str, Drawn]
    next: pd.DataFrame


def calibrate(
    scores: pd.DataFrame,
    labels: pd.DataFrame,
    confidence: float = 0.95,
    file: str = "",
) -> Calibration:
    """Hold scores (`labels.read_scores`) against labels (`labels.read_labels`).

    Several raters of a case count as their mean. InputError, which names `file`, for labels that
    are too few (LEAST a metric, 2 a stratum) or do not fit.

    >>> cases = [f"c{i}" for i in range(60)]
    >>> scores = pd.DataFrame({"case_id": cases, "metric": "m", "stratum": None, "score": [0.0, 1.0] * 30})
    >>> labels = scores[:40].assign(label=[0.0, 1.0, 1.0, 1.0] * 10, rater="")
    >>> frame = calibrate(scores.assign(threshold=np.nan), labels).frame
    >>> frame[["metric", "n", "n_labelled", "judge_mean", "corrected_mean"]].round(3)
      metric   n  n_labelled  judge_mean  corrected_mean
    0      m  60          40         0.5            0.75
    """
    cases = {}
    for metric in labels["metric"].unique():
        cases[metric] = together(scores, labels, metric)
    _require_labels(cases, labels, file)
    rows, notes, proposed = [], {}, []
    for metric, of_metric in cases.items():
        labels_of_metric = labels[labels["metric"] == metric]
        row, weight = _row(of_metric, labels_of_metric, confidence)
        rows.append({"metric": metric, **row})
        proposed.append(next_cases(of_metric, weight))
        note = drawn(of_metric)
        if note is not None:
            notes[metric] = note
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    return Calibration(frame, notes, pd.concat(proposed, ignore_index=True))


def _row(
    cases: pd.DataFrame,
    labels: pd.DataFrame,
    confidence: float,
) -> tuple[dict[str, Any], float]:
    """(COLUMNS of one metric, the weight of the scores in its corrected mean)."""
    stratum, score, label = _arrays(cases)
    corrected = corrected_mean(score, label, stratum, confidence)
    alone = corrected_mean(
        score,
        label,
        stratum,
        confidence,
        weight=0.0,
    )
    row: dict[str, Any] = {
        "n": len(cases),
        "n_labelled": corrected.n_labelled,
        "judge_mean": score.mean(),
        **_agreement(cases, labels, confidence),
    }
    for name, mean in (("labels", alone), ("corrected", corrected)):
        row[f"{name}_mean"] = mean.value
        row[f"{name}_low"] = mean.low
        row[f"{name}_high"] = mean.high
    return row, corrected.weight


def together(
    scores: pd.DataFrame,
    labels: pd.DataFrame,
    metric: str,
) -> pd.DataFrame:
    """The scored cases of a metric: case_id, score, threshold, stratum, label.

    `label` is the mean of the raters, nan for none. `stratum` is null where neither file has
    strata; where the scores have none it is that of the score, which labels drawn by `next_cases`
    name.
    """
    scored = scores[scores["metric"] == metric]
    labelled = labels[labels["metric"] == metric]
    means = labelled.groupby("case_id")["label"].mean()
    cases = scored.assign(label=scored["case_id"].map(means))
    labels_name_strata = labelled["stratum"].notna().any()
    if labels_name_strata and scored["stratum"].isna().all():
        cases["stratum"] = score_strata(scored["score"].to_numpy())
    return cases


def _arrays(cases: pd.DataFrame) -> tuple[Array, Array, Array]:
    """(strata as numbers, scores, labels) of the cases of `together`."""
    stratum, _ = pd.factorize(
        cases["stratum"],
        sort=True,
        use_na_sentinel=False,
    )
    return stratum, cases["score"].to_numpy(), cases["label"].to_numpy()


def contributions(cases: pd.DataFrame) -> Array:
    """What each case of `together` brings into the corrected mean, which is the mean of them all."""
    stratum, score, label = _arrays(cases)
    return corrected_mean(score, label, stratum).contributions


def score_strata(score: Array) -> Array:
    """The names of the strata of scores: 0, below PASS, from PASS on, and 1.

    >>> score_strata(np.array([0.0, 0.2, 1.0])).tolist()
    ['score 0', 'score below 0.5', 'score 1']
    """
    strata = {
        "score 0": score <= 0,
        f"score below {PASS}": score < PASS,
        f"score from {PASS}": score < 1,
    }
    names = np.select(list(strata.values()), list(strata), "score 1")
    return names.astype(object)


def _require_labels(
    cases: dict[str, pd.DataFrame],
    labels: pd.DataFrame,
    file: str,
) -> None:
    """InputError unless there are labels, and those of every metric give a mean."""
    problems = Problems()
    if not cases:
        problems.error("few-labels", "no label", file=file)
    for metric, of_metric in cases.items():
        why = refused(of_metric, labels, metric)
        if why:
            problems.error("few-labels", why, file=file, field=metric)
    problems.raise_if_failed()


def refused(
    cases: pd.DataFrame,
    labels: pd.DataFrame,
    metric: str,
) -> Message | None:
    """Why the labels of a metric do not give a mean; None where they do."""
    n = int(cases["label"].notna().sum())
    if n < LEAST:
        return Message("{n} labelled cases; expected {least} or more", {"n": n, "least": LEAST})
    if cases["stratum"].isna().all():
        return None
    if cases["stratum"].isna().any():
        return Message("some scores name a stratum and some do not")
    named = labels[labels["metric"] == metric].dropna(subset=["stratum"])
    stratum_of = cases.set_index("case_id")["stratum"]
    of_scores = named["case_id"].map(stratum_of)
    other = named[named["stratum"] != of_scores]
    if len(other):
        case = repr(other["case_id"].iloc[0])
        return Message(
            "the case {case} is of another stratum in the scores than in the labels", {"case": case}
        )
    counts = cases.groupby("stratum")["label"].agg(["size", "count"])
    least = counts["size"].clip(upper=2)
    few = counts[counts["count"] < least]
    if few.empty:
        return None
    strata = []
    for name, row in few.iterrows():
        values = {
            "name": repr(name),
            "n": int(row["count"]),
            "of": int(row["size"]),
        }
        strata.append(Message("{name} {n} of {of} cases", values))
    return Message("strata with fewer than 2 labels: {strata}", {"strata": tuple(strata)})


def drawn(cases: pd.DataFrame) -> Drawn | None:
    """How the labelled cases were picked by their scores; None where that can be at random."""
    if cases["stratum"].notna().any():
        return None
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
    """raters, kappas, TPR and TNR with intervals; the raters alone unless every label is 0 or 1.

    Cases on which as many raters say 0 as 1 take no part in TPR, TNR and the judge's kappa.
    """
    row: dict[str, Any] = {"raters": votes["rater"].nunique()}
    is_vote = votes["label"].isin([0, 1])
    if not is_vote.all():
        return row
    labelled = cases["label"].notna()
    strata = cases["stratum"].fillna("")
    stands_for = strata.value_counts() / strata[labelled].value_counts()
    weight = strata.map(stands_for)

    clear = labelled & (cases["label"] != 0.5)
    good = cases["label"][clear] > 0.5
    passed = cases["score"][clear] >= PASS
    right = (passed == good).astype(float)
    for name, truth in (("tpr", good), ("tnr", ~good)):
        value, low, high = _rate(right[truth], weight[clear][truth], confidence)
        row[name] = value
        row[f"{name}_low"] = low
        row[f"{name}_high"] = high

    row["judge_kappa"] = cohen_kappa(good, passed)
    sheet = votes.assign(category=votes["label"].astype(str))
    row["rater_kappa"] = kappa_of(ballot(sheet, ["case_id"]))
    return row


def _rate(
    right: pd.Series,
    weight: pd.Series,
    confidence: float,
) -> tuple[float, float, float]:
    """(share of right cases by weight, low, high): Wilson's interval; nan without a case."""
    total = weight.sum()
    if not total:
        return np.nan, np.nan, np.nan
    value = float(weight @ right / total)
    trials = float(total**2 / (weight @ weight))
    low, high = wilson(value * trials, trials, confidence)
    return value, low, high


def next_cases(
    cases: pd.DataFrame,
    weight: float,
) -> pd.DataFrame:
    """The cases whose labels bring the interval down most: case_id, metric, stratum.

    They are drawn at random in each stratum. Labels are best spread over strata by size times
    spread of what the scores leave open, label - weight * score (Neyman); those that a stratum
    lacks come first. The labels that follow must name the stratum, because they are no random
    sample of all.
    """
    columns = ["case_id", "metric", "stratum"]
    if cases["stratum"].isna().any():
        cases = cases.assign(stratum=score_strata(cases["score"].to_numpy()))
    open_cases = cases[cases["label"].isna()]
    if open_cases.empty:
        return open_cases[columns]
    left = cases["label"] - weight * cases["score"]
    strata = left.groupby(cases["stratum"]).agg(["size", "count", "var"])
    n_labels = strata["count"]
    best = _best_numbers(n_labels, strata["size"], strata["var"].fillna(0.0))

    pairs = zip(open_cases["metric"], open_cases["case_id"])
    turns = [_turn(metric, case_id) for metric, case_id in pairs]
    open_cases = open_cases.assign(turn=turns).sort_values("turn")
    stratum = open_cases["stratum"]
    place = open_cases.groupby("stratum").cumcount() + 1
    number = place + stratum.map(n_labels)
    share_of_best = number / stratum.map(best).clip(lower=1e-9)
    # two of each stratum first, without which there is no mean; then where most is lacking
    due = np.where(number <= 2, -1.0, share_of_best)
    order = np.argsort(due, kind="stable")
    chosen = open_cases.iloc[order[:NEXT]]
    return chosen[columns].reset_index(drop=True)


def _best_numbers(
    n_labels: pd.Series,
    size: pd.Series,
    variance: pd.Series,
) -> pd.Series:
    """How many labels each stratum should have once NEXT more are there (Neyman)."""
    df = (n_labels - 1).clip(lower=0)
    pooled = (df @ variance) / max(df.sum(), 1)
    shrunk = (df * variance + PRIOR * pooled) / (df + PRIOR)
    need = np.sqrt(shrunk) * size
    share = need / (need.sum() or 1.0)
    return share * (n_labels.sum() + NEXT)


def _turn(
    metric: str,
    case_id: str,
) -> str:
    """Where a case stands in an order that is random, and the same every time."""
    name = f"{metric}\0{case_id}"
    return sha256(name.encode()).hexdigest()
