"""A judge, or rules, held against labels that people gave: how right it is, and the mean that people would give.

    scores of N cases + labels of n of them --PPI++--> corrected mean --t-Wilson--> interval

The corrected mean is that of the labels, moved by what the scores of the other cases add: mean(label - w score) over
the labelled cases plus w mean(score) over the others. It is right on average whatever the scores are worth, because w
only weighs how much they are listened to; the w of least variance makes it surer than the labels alone.

Claim of the intervals: new cases, this system, this judge. Labels must be drawn at random, or at random by stratum.

References: Angelopoulos, Duchi, Zrnic, "PPI++: Efficient prediction-powered inference", arXiv 2311.01453 (2023);
Fisch et al., "Stratified prediction-powered inference", NeurIPS 2024; Korn and Graubard, Survey Methodology 24, 1998.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, create_model

from ..core.errors import InputError, Problem, Problems
from ..core.records import read_rows
from .agreement import reviewer_agreement
from .score_intervals import DOUBT, t_quantile, t_wilson, wilson

LEAST = 30
"""Labels of a metric below which nothing is estimated."""

HIDDEN = 0.25
"""Cases on which judge and people differ wholly that are added to those seen: few labels may hold none by chance.

Within each of several strata DOUBT of them, also without a judge.
"""

PASS = 0.5
"""A score from here on agrees with a label of 1."""

FAR = 4.0
"""Standard errors by which the scores of cases drawn at random do not lie away from those of all (p < .0001)."""

NEXT = 20
"""Cases of a metric that are proposed to be labelled next."""

PRIOR = 2
"""Labels that the spread of all strata counts for in the spread of one."""

COLUMNS = (
    "metric", "n", "n_labelled", "raters", "rater_kappa", "judge_kappa", "tpr", "tpr_low", "tpr_high", "tnr",
    "tnr_low", "tnr_high", "judge_mean", "labels_mean", "labels_low", "labels_high", "corrected_mean",
    "corrected_low", "corrected_high",
)  # fmt: skip
"""Of calibration.csv."""

Unit = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class _Row(BaseModel):
    model_config = ConfigDict(extra="ignore", coerce_numbers_to_str=True, frozen=True)
    case_id: str = Field(min_length=1)
    metric: str = Field(min_length=1)
    stratum: str | None = None


class Scored(_Row):
    """A row of SCORES; without a score the case takes no part."""

    score: Unit | None
    threshold: Unit | None = None


class Label(_Row):
    """A row of LABELS; without a label it counts as not labelled yet."""

    label: Unit | None
    rater: str | None = None


def read_scores(path: Path, problems: Problems, score: str = "score") -> pd.DataFrame:
    """case_id, metric, stratum (null: none), score (0..1), threshold of a file of scores; `score` names its column.

    Reports what is wrong by line, a case that has two scores of a metric too. summary_scores.csv is such a file.
    """
    row: Any = create_model(
        "Scored", __base__=Scored, score=(Unit | None, Field(validation_alias=score))
    )
    kept, seen = [], dict[tuple[str, str], int]()
    for line, r in read_rows(path, row, problems, "case_id"):
        if (first := seen.setdefault((r.case_id, r.metric), line)) != line:
            message = f"a second score of {r.metric}; the first is on line {first}"
            problems.error(
                "duplicate-id", message, file=str(path), line=line, field="case_id", id=r.case_id
            )
        elif r.score is not None:
            kept.append((r.case_id, r.metric, r.stratum, r.score, r.threshold))
    frame = pd.DataFrame(kept, columns=["case_id", "metric", "stratum", "score", "threshold"])
    return frame.astype({"score": float, "threshold": float})


def read_labels(path: Path, scores: pd.DataFrame | None, problems: Problems) -> pd.DataFrame:
    """case_id, metric, stratum, label (0..1), rater ("" where none is named) of a file of labels.

    Reports by line what is wrong: a case that has no score (where scores are given), a second label of one rater.
    """
    known = None if scores is None else set(zip(scores["case_id"], scores["metric"]))
    kept, seen = [], dict[tuple[str, str, str], int]()
    for line, r in read_rows(path, Label, problems, "case_id"):
        where = {"file": str(path), "line": line, "field": "case_id", "id": r.case_id}
        key = (r.case_id, r.metric, r.rater or "")
        if r.label is None:
            continue
        if known is not None and key[:2] not in known:
            problems.error("unknown-case", f"the scores have no {r.metric} of this case", **where)
        elif (first := seen.setdefault(key, line)) != line:
            by = f" by {r.rater}" if r.rater else ""
            problems.error(
                "duplicate-id",
                f"a second label of {r.metric}{by}; the first is on line {first}",
                **where,
            )
        else:
            kept.append((r.case_id, r.metric, r.stratum, r.label, r.rater or ""))
    return pd.DataFrame(kept, columns=["case_id", "metric", "stratum", "label", "rater"]).astype(
        {"label": float}
    )


@dataclass(frozen=True)
class Mean:
    """A mean in 0..1 with its interval, the weight of the scores in it, and the labels it rests on."""

    value: float
    low: float
    high: float
    weight: float
    n_labelled: int


def _within(
    x: np.ndarray, at: np.ndarray, k: int, y: np.ndarray | None = None
) -> tuple[np.ndarray, ...]:
    """(number, mean of x, variance of x or covariance with y) in each of k strata; that of all for a single value."""
    y = x if y is None else y
    n = np.bincount(at, minlength=k)
    mean_x, mean_y = (np.bincount(at, v, k) / np.maximum(n, 1) for v in (x, y))
    squares = np.bincount(at, (x - mean_x[at]) * (y - mean_y[at]), k)
    pooled = squares.sum() / max((n - 1).clip(0).sum(), 1)
    return n, mean_x, np.where(n > 1, squares / np.maximum(n - 1, 1), pooled)


def corrected_mean(
    score: np.ndarray,
    label: np.ndarray,
    stratum: np.ndarray | None = None,
    confidence: float = 0.95,
    weight: float | None = None,
) -> Mean:
    """The mean label of all cases, by PPI++ with a t-Wilson interval.

    score, label: (cases,) in 0..1, label nan where nobody gave one. stratum: (cases,) numbers from 0, where labels
    were drawn by stratum; strata then count by their cases, and each needs a label. `weight` of scores: by default
    that of least variance, in 0..1; 0 is the labels alone. The t has as many degrees of freedom as effective labels,
    1 / sum(share^2 / labels), less the strata.

    >>> score, label = np.array([1, 1, 0, 0, 1, 1, 1, 0.0]), np.array([1, 1, 0, 1] + 4 * [np.nan])
    >>> round(corrected_mean(score, label, weight=1).value, 4)  # .75 + (.75 - .5)
    1.0
    """
    at = np.zeros(len(score), dtype=int) if stratum is None else stratum
    k, given = int(at.max()) + 1, ~np.isnan(label)
    left = np.bincount(at[~given], minlength=k)
    share = np.bincount(at, minlength=k) / len(at)
    # a stratum that is labelled whole has nothing to learn from scores
    f, y, here = np.where(left[at] > 0, score, 0.0), label[given], at[given]
    n, _, both = _within(f[given], here, k, y)
    spread, left = _within(f, at, k)[2], np.maximum(left, 1)
    if weight is None:
        total = (share**2 * spread * (1 / n + 1 / left)).sum()
        weight = float(np.clip((share**2 * both / n).sum() / total, 0, 1)) if total > 0 else 0.0
    _, rest, variance = _within(y - weight * f[given], here, k)
    means = rest + weight * _within(f[~given], at[~given], k)[1]
    value = float(share @ means)
    variance = variance + (HIDDEN * weight if k == 1 else DOUBT) / n
    # new cases fall into the strata by chance, too
    error = (share**2 * (variance / n + weight**2 * spread / left)).sum() + share @ (
        means - value
    ) ** 2 / len(at)
    trials, limits = 1 / (share**2 / n).sum(), np.array([[0.0], [1.0]])
    p = min(max(round(value, 12), 0.0), 1.0)
    # beside 0 and 1 a correction leaves fewer trials than there are labels: half of them stand
    error = min(error, 2 * p * (1 - p) / trials)
    critical = t_quantile(np.array([trials - k]), confidence)
    low, high = t_wilson(np.array([p]), np.array([error]), np.array([trials]), critical, limits)
    return Mean(p, float(low[0]), float(high[0]), weight, int(given.sum()))


def contributions(cases: pd.DataFrame) -> np.ndarray:
    """What each case of `together` brings into the corrected mean, which is the mean of them all."""
    at, score, label = _arrays(cases)
    weight, given = corrected_mean(score, label, at).weight, ~np.isnan(label)
    n, labelled = np.bincount(at), np.bincount(at[given], minlength=at.max() + 1)
    left = n - labelled
    moved = np.where(left[at] > 0, weight * score, 0.0)
    of_label = (n / labelled)[at] * (label - moved)
    return np.where(given, of_label, (n / np.maximum(left, 1))[at] * moved)


def _arrays(cases: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(strata as numbers, scores, labels) of the cases of `together`."""
    at = pd.factorize(cases["stratum"], sort=True, use_na_sentinel=False)[0]
    return at, cases["score"].to_numpy(), cases["label"].to_numpy()


def score_strata(score: np.ndarray) -> np.ndarray:
    """The names of the strata of scores: 0, below PASS, from PASS on, and 1."""
    names = ["score 0", f"score below {PASS}", f"score from {PASS}"]
    return np.select([score <= 0, score < PASS, score < 1], names, "score 1").astype(object)


def together(scores: pd.DataFrame, labels: pd.DataFrame, metric: str) -> pd.DataFrame:
    """The scored cases of a metric: case_id, score, threshold, stratum, label (mean of the raters, nan for none).

    `stratum` is null where neither file has strata; where the scores have none it is that of the score, which
    labels drawn by `next_cases` name.
    """
    own, given = scores[scores["metric"] == metric], labels[labels["metric"] == metric]
    out = own.assign(label=own["case_id"].map(given.groupby("case_id")["label"].mean()))
    if given["stratum"].notna().any() and own["stratum"].isna().all():
        out["stratum"] = score_strata(own["score"].to_numpy())
    return out


def refused(cases: pd.DataFrame, labels: pd.DataFrame, metric: str) -> str:
    """Why the labels of a metric do not give a mean; "" where they do."""
    n = int(cases["label"].notna().sum())
    if n < LEAST:
        return f"{n} labelled cases; expected {LEAST} or more"
    if cases["stratum"].isna().all():
        return ""
    if cases["stratum"].isna().any():
        return "some scores name a stratum and some do not"
    said = labels[(labels["metric"] == metric) & labels["stratum"].notna()]
    other = said[said["stratum"] != said["case_id"].map(cases.set_index("case_id")["stratum"])]
    if len(other):
        return f"the case {other['case_id'].iloc[0]!r} is of another stratum in the scores than in the labels"
    by = cases.groupby("stratum")["label"].agg(["size", "count"])
    few = by[by["count"] < by["size"].clip(upper=2)]
    listed = ", ".join(
        f"{name!r} {row['count']} of {row['size']} cases" for name, row in few.iterrows()
    )
    return f"strata with fewer than 2 labels: {listed}" if listed else ""


def drawn(cases: pd.DataFrame) -> str:
    """How the labelled cases were picked by their scores, where they cannot have been drawn at random; else ""."""
    if cases["stratum"].notna().any():
        return ""
    given = cases["label"].notna()
    n, score = int(given.sum()), cases["score"]
    passes = score >= cases["threshold"].fillna(PASS) - 1e-12
    error = np.sqrt(score.var() / n * (1 - n / len(score)))
    away = (score[given].mean() - score.mean()) / error if error > 0 else 0.0
    if abs(away) < FAR:
        return ""
    among, kind = passes[given], "low" if away < 0 else "high"
    means = f"mean score {score[given].mean():.2f}, of all cases {score.mean():.2f}"
    if among.nunique() == 1 and passes.nunique() > 1:
        return f"labels are of {'passes' if among.all() else 'failures'} only ({means}): they say nothing of the others"
    return f"labels are rather of cases with {kind} scores ({means}): they were not drawn at random"


def _rate(agree: np.ndarray, weight: np.ndarray, confidence: float) -> tuple[float, float, float]:
    """A share of weighted cases and Wilson's interval at their effective number; nan without a case."""
    if not weight.sum():
        return np.nan, np.nan, np.nan
    value = float(weight @ agree / weight.sum())
    trials = float(weight.sum() ** 2 / (weight @ weight))
    return (value, *wilson(value * trials, trials, confidence))


def _kappa(votes: pd.DataFrame) -> float:
    """Cohen's kappa of two raters, Fleiss' of more, over the cases that all of them have; null without one."""
    found = reviewer_agreement(votes.astype({"category": str}), subject=["case_id"])
    measure = "cohen_kappa" if votes["rater"].nunique() == 2 else "fleiss_kappa"
    return float(found.set_index("measure")["value"].get(measure, np.nan))


def _agreement(cases: pd.DataFrame, votes: pd.DataFrame, confidence: float) -> dict[str, Any]:
    """Kappas, TPR and TNR of labels that are 0 or 1; cases on which as many raters say 0 as 1 take no part."""
    out: dict[str, Any] = {"raters": votes["rater"].nunique()}
    if not votes["label"].isin([0, 1]).all():
        return out
    strata = cases["stratum"].fillna("")
    stands = strata.map(strata.value_counts() / strata[cases["label"].notna()].value_counts())
    clear = cases["label"].notna() & (cases["label"] != 0.5)
    good, said = cases["label"][clear] > 0.5, cases["score"][clear] >= PASS
    for name, of in (("tpr", good), ("tnr", ~good)):
        found = _rate(
            (said == good)[of].to_numpy(float), stands[clear][of].to_numpy(float), confidence
        )
        out |= dict(zip((name, f"{name}_low", f"{name}_high"), found))
    sides = [
        pd.DataFrame({"case_id": good.index, "rater": who, "category": x})
        for who, x in (("", good), ("j", said))
    ]
    out["judge_kappa"] = _kappa(pd.concat(sides))
    out["rater_kappa"] = (
        _kappa(votes.rename(columns={"label": "category"})) if out["raters"] > 1 else np.nan
    )
    return out


@dataclass(frozen=True)
class Calibration:
    """`frame`: COLUMNS, a row a metric that has labels; null: not measured. `notes`: metric -> what to know of it.

    `next`: case_id, metric, stratum of the cases to label next.
    """

    frame: pd.DataFrame
    notes: dict[str, str]
    next: pd.DataFrame


def calibrate(
    scores: pd.DataFrame, labels: pd.DataFrame, confidence: float = 0.95, file: str = ""
) -> Calibration:
    """Hold scores (`read_scores`) against labels (`read_labels`); several raters of a case count as their mean.

    InputError, which names `file`, for labels that are too few (LEAST a metric, 2 a stratum) or do not fit.
    """
    metrics = list(dict.fromkeys(labels["metric"]))
    cases = {m: together(scores, labels, m) for m in metrics}
    wrong = {m: refused(cases[m], labels, m) for m in metrics} if metrics else {"": "no label"}
    if any(wrong.values()):
        raise InputError(
            Problem("error", "few-labels", why, file=file, field=m)
            for m, why in wrong.items()
            if why
        )
    rows, proposed = [], []
    for m, of in cases.items():
        at, score, label = _arrays(of)
        found, alone = (
            corrected_mean(score, label, at, confidence, weight) for weight in (None, 0.0)
        )
        row = {
            "metric": m,
            "n": len(of),
            "n_labelled": found.n_labelled,
            "judge_mean": score.mean(),
        }
        row |= _agreement(of, labels[labels["metric"] == m], confidence)
        for name, mean in (("labels", alone), ("corrected", found)):
            row |= {f"{name}_mean": mean.value, f"{name}_low": mean.low, f"{name}_high": mean.high}
        rows.append(row)
        proposed.append(next_cases(of, found.weight))
    notes = {m: note for m, of in cases.items() if (note := drawn(of))}
    return Calibration(
        pd.DataFrame(rows, columns=list(COLUMNS)), notes, pd.concat(proposed, ignore_index=True)
    )


def next_cases(cases: pd.DataFrame, weight: float, n: int = NEXT) -> pd.DataFrame:
    """The cases whose labels bring the interval down most: case_id, metric, stratum; drawn at random in each stratum.

    Labels are best spread over strata by size times spread of what the scores leave open (Neyman); those that a
    stratum lacks come first. The labels that follow must name the stratum, because they are no random sample of all.
    """
    named = (
        cases["stratum"]
        if cases["stratum"].notna().all()
        else score_strata(cases["score"].to_numpy())
    )
    cases = cases.assign(stratum=named, left=cases["label"] - weight * cases["score"])
    by = cases.groupby("stratum")["left"].agg(["size", "count", "var"]).fillna({"var": 0.0})
    freedom = (by["count"] - 1).clip(lower=0)
    pooled = (freedom @ by["var"]) / max(freedom.sum(), 1)
    spread = np.sqrt((freedom * by["var"] + PRIOR * pooled) / (freedom + PRIOR)) * by["size"]
    best = spread / (spread.sum() or 1.0) * (by["count"].sum() + n)
    open_ = cases[cases["label"].isna()].copy()
    if open_.empty:
        return open_[["case_id", "metric", "stratum"]]
    open_["turn"] = [
        sha256(f"{m}\0{c}".encode()).hexdigest() for c, m in zip(open_["case_id"], open_["metric"])
    ]
    open_ = open_.sort_values("turn")
    place = open_.groupby("stratum").cumcount() + open_["stratum"].map(by["count"]) + 1
    # two of each stratum first, without which there is no mean; then where most is lacking
    due = np.where(place <= 2, -1.0, place / open_["stratum"].map(best).clip(lower=1e-9))
    return open_.iloc[np.argsort(due, kind="stable")[:n]][
        ["case_id", "metric", "stratum"]
    ].reset_index(drop=True)
