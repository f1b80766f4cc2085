"""A judge, or rules, held against labels of people: how right it is, and the mean they would give.

Scores and labels are read of CSV, JSON Lines, or the workbook that people wrote labels into.

    scores of N cases + labels of n of them --PPI++--> corrected mean --t-Wilson--> interval

The corrected mean is that of the labels, moved by what the scores of the other cases add:
mean(label - w score) over the labelled cases plus w mean(score) over the others. Whatever the scores
are worth, w only weighs how much they are listened to; the w of least variance makes it surer than the
labels alone. As w comes from the same labels, the mean leans to the scores where labels are few.

Claim of the intervals: new cases, this system, this judge. Labels must be drawn at random.

References: Angelopoulos, Duchi, Zrnic, "PPI++: Efficient prediction-powered inference", arXiv
2311.01453 (2023); Cohen, Educational and Psychological Measurement 20 (1960); Fleiss, Psychological
Bulletin 76 (1971).
"""

from functools import partial
from typing import Annotated, Any
from unicodedata import normalize

import numpy as np
import pandas as pd
from pandas import DataFrame
from pydantic import BaseModel, BeforeValidator, Field, create_model
from scipy.special import ndtri

from ..core.files import Fields, ending, from_csv_cell
from ..core.records import File
from ..core.results import UNITS
from ..core.tables import read_table
from .formulas import Array, p_random, score_t, t_quantile, wilson
from .multiple import NOT_RANDOM

# labels of a metric below which no mean is corrected: the plain counts and the agreement stand
MIN_LABELS = 30

# A score from here on agrees with a label of 1
PASS = 0.5

# cases on which judge and people differ wholly that are added to those seen: few labels may hold none by chance
HIDDEN = 0.25

# the columns of calibration.csv, in order
COLUMNS = (
    "metric", "n", "n_labelled", "raters", "n_twice", "rater_kappa", "n_clear", "judge_kappa", "tpr", "tpr_low",
    "tpr_high", "tnr", "tnr_low", "tnr_high", "judge_mean", "labels_mean", "labels_low", "labels_high", "corrected_mean",
    "corrected_low", "corrected_high",
)  # fmt: skip


def calibrate(
    scores: DataFrame, labels: DataFrame, confidence: float = 0.95
) -> tuple[DataFrame, list[str]]:
    """How scores (`read_scores`) agree with labels (`read_labels`), and the mean that people would give: (frame, notes).

    The frame has COLUMNS, a row a metric that has labels; null: not measured. Notes are a sentence for each metric with
    labels of cases that were not measured or not drawn at random, or with fewer than MIN_LABELS. Several
    raters of a case count as their mean: `rater_kappa` is of the `n_twice` cases with at least two labels, judge_kappa,
    tpr and tnr of the `n_clear` that not as many raters call good as bad. What was not `measured` takes no part. A score
    passes from its `threshold` on, from 0.5 where it has none.

    >>> cases = [f"c{i}" for i in range(60)]
    >>> scores = pd.DataFrame({"case_id": cases, "metric": "m", "score": [0.0, 1.0] * 30})
    >>> labels = scores[:40].assign(label=[0.0, 1.0, 1.0, 1.0] * 10, rater="")
    >>> frame, notes = calibrate(scores.assign(threshold=np.nan, measured=True), labels)
    >>> frame[["metric", "n", "n_labelled", "judge_mean", "corrected_mean"]].round(3)
      metric   n  n_labelled  judge_mean  corrected_mean
    0      m  60          40         0.5            0.75
    """
    scores = scores[scores["measured"]]
    rows, notes = [], []
    for metric, votes in labels.groupby("metric", sort=False):
        cases = scores[scores["metric"] == metric]
        is_used = votes["case_id"].isin(cases["case_id"])
        if n_left := (~is_used).sum():
            notes.append(
                f"{metric}: {n_left} of {len(votes)} labels are of cases that were not measured, and take no part"
            )
        votes = votes[is_used]
        of_cases = votes.groupby("case_id")["label"].mean()
        if not (n := len(of_cases)):
            continue
        label = cases["case_id"].map(of_cases)
        passed = cases["score"] >= cases["threshold"].fillna(PASS)
        cases = cases.assign(label=label, passed=passed, good=label > PASS)
        labelled = cases.dropna(subset="label")
        # cases that as many raters call good as bad have no label to agree with
        clear = labelled[labelled["label"] != PASS]
        score, label = cases[["score", "label"]].to_numpy().T
        others = score[np.isnan(label)]
        if p_random(others, labelled["score"].to_numpy()) <= NOT_RANDOM:
            notes.append(
                f"{metric}: labelled cases score {labelled['score'].mean():.3f}, the others {others.mean():.3f}: labels "
                "not drawn at random say nothing of the others"
            )
        row = {
            "metric": metric,
            "n": len(cases),
            "n_labelled": n,
            "judge_mean": score.mean(),
            "labels_mean": labelled["label"].mean(),
            **_agreement(clear, votes, confidence),
        }
        if n < MIN_LABELS:
            n_alike = (clear["passed"] == clear["good"]).sum()
            notes.append(
                f"{metric}: fewer than {MIN_LABELS} labels correct no mean; score and label agree in {n_alike} of "
                f"{len(clear)} cases"
            )
        else:
            for name, weight in (("labels", 0.0), ("corrected", None)):
                found = corrected_mean(score, label, confidence, weight)
                row |= dict(zip((f"{name}_mean", f"{name}_low", f"{name}_high"), found))
        rows.append(row)
    return DataFrame(rows, columns=list(COLUMNS)), notes


def corrected_mean(
    score: Array,
    label: Array,
    confidence: float = 0.95,
    weight: float | None = None,
) -> tuple[float, float, float]:
    """The mean label of all cases, by PPI++, and its t-Wilson interval: (mean, low, high).

    `score`, `label`: (cases,) in 0..1, label nan where nobody gave one. `weight` of the scores: by
    default that of least variance, in 0..1; 0 is the labels alone. Where all cases are labelled
    scores have nothing to add.

    >>> score, label = np.array([1, 1, 0, 0, 1, 1, 1, 0.0]), np.array([1, 1, 0, 1] + 4 * [np.nan])
    >>> float(round(corrected_mean(score, label, weight=1)[0], 4))  # .75 + (.75 - .5)
    1.0
    """
    labelled = ~np.isnan(label)
    n = labelled.sum()
    n_open = len(score) - n
    variance = score.var(ddof=1)
    if n_open == 0:
        weight, n_open = 0.0, 1
    if weight is None:
        covariance = np.cov(score[labelled], label[labelled])[0, 1]
        cost = variance * (1 / n + 1 / n_open)
        weight = np.clip(covariance / n / cost, 0, 1) if cost > 0 else 0.0
    moved = weight * score
    rest = label[labelled] - moved[labelled]
    value = rest.mean() + moved[~labelled].sum() / n_open
    value = np.clip(round(value, 12), 0, 1)

    error = (rest.var(ddof=1) + HIDDEN * weight / n) / n + weight**2 * variance / n_open
    # beside 0 and 1 a correction leaves fewer trials than there are labels: half of them stand
    error = min(error, 2 * value * (1 - value) / n)
    return value, *score_t(value, error, n, t_quantile(n - 1, 1 - confidence), (0.0, 1.0))


def _agreement(
    clear: DataFrame,
    votes: DataFrame,
    confidence: float,
) -> Fields:
    """raters, kappas, TPR and TNR with Wilson's intervals, of how many; raters alone unless every label is 0 or 1."""
    row: Fields = {"raters": votes["rater"].nunique()}
    if not votes["label"].isin([0, 1]).all():
        return row
    good, passed = clear["good"], clear["passed"]
    for name, truth in (("tpr", good), ("tnr", ~good)):
        right = (passed == good)[truth]
        if len(right):
            row[name] = right.mean()
            row[f"{name}_low"], row[f"{name}_high"] = wilson(
                right.mean(), len(right), ndtri(0.5 + confidence / 2)
            )
    sheet = votes.pivot_table("label", "case_id", "rater")
    return row | {
        "judge_kappa": kappa_of(DataFrame({"people": good, "judge": passed})),
        "n_clear": len(clear),
        "rater_kappa": kappa_of(sheet),
        "n_twice": (sheet.count(axis=1) > 1).sum(),
    }


def kappa_of(sheet: DataFrame) -> float:
    """Cohen's kappa of two raters, Fleiss' of more, over the subjects that have at least two votes.

    `sheet`: a row a subject, a column a rater; null where a rater did not vote. Of more raters those may be any: a
    subject's share of pairs that agree, and of each category, is of its own votes (Gwet, "Handbook of inter-rater
    reliability", 2014).

    nan without such a subject, and where one category is all that was chosen.

    >>> sheet = pd.DataFrame({"a": ["x", "x", "y"], "b": ["x", "y", "y"]})
    >>> float(round(kappa_of(sheet), 3))
    0.4
    """
    sheet = sheet[sheet.count(axis=1) > 1].dropna(axis=1, how="all")
    if sheet.empty:
        return np.nan
    # (subjects, raters, categories): 1 for what was chosen
    votes = np.stack([sheet == category for category in pd.unique(sheet.stack())], axis=-1)
    counts = votes.sum(axis=1)
    n = counts.sum(axis=1, keepdims=True)
    agreed = (counts * (counts - 1) / (n * (n - 1))).sum(axis=1).mean()
    if len(sheet.columns) == 2:
        by_chance = votes.mean(axis=0).prod(axis=0).sum()
    else:
        by_chance = ((counts / n).mean(axis=0) ** 2).sum()
    return (agreed - by_chance) / (1 - by_chance) if by_chance < 1 else np.nan


# --- files of scores and of labels

Share = Annotated[float, Field(ge=0, le=1)]

YES = ("yes", "y", "pass", "true", "ok", "합격", "예", "네", "적합", "o", "○")
NO = ("no", "n", "fail", "false", "불합격", "아니요", "아니오", "부적합", "x", "×")

# heads of the workbook of summaries in its languages -> columns
HEADS = {
    "case": "case_id",
    "사례": "case_id",
    "점수": "score",
    "기준값": "threshold",
    "사람 판정": "label",
    "평가자": "rater",
    "요약": "answer",
}


class Row(BaseModel, coerce_numbers_to_str=True, str_strip_whitespace=True, frozen=True):
    """A row of a file of scores or of labels."""

    case_id: str = Field(min_length=1, description="case, 사례")
    metric: str = Field(min_length=1)
    label: Any = None


class Scored(Row):
    """A row of a file of scores; without a score, or not `measured`, the case takes no part."""

    score: Share | None = Field(description="점수")
    threshold: Share | None = None
    measured: Annotated[bool, BeforeValidator(lambda value: value is None or value)] = True


class Label(Row):
    """A row of a file of labels; without a label it counts as not labelled yet."""

    label: Share | None
    answer: Any = None
    rater: Annotated[str, BeforeValidator(lambda name: name or "")] = ""


def label_value(value: Any, scale: tuple[float, float] = (0, 1)) -> Any:
    """A label from 0 to 1, as people write them: a number of the scale, yes or no, pass or fail, 합격 or 불합격.

    None for an empty one. ValueError, which says what was expected, for any other.

    >>> label_value("합격"), label_value(" No "), label_value("4", scale=(1, 5)), label_value("")
    (1.0, 0.0, 0.75, None)
    """
    text = "" if value is None else normalize("NFKC", str(value)).casefold()
    text = "".join(text.split()).removesuffix(".")
    if not text:
        return None
    if text in YES or text in NO:
        return float(text in YES)
    low, high = scale
    try:
        share = (float(text) - low) / (high - low)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise ValueError(
            f"expected {low:g} to {high:g} (another scale is given as --scale, as in --scale 1-5), yes/no, pass/fail, "
            "합격/불합격 or 예/아니요"
        )
    return share


def read_scores(file: File) -> DataFrame:
    """case_id, metric, score (0..1), threshold, measured, label (as it is written) of the rows of a file of scores.

    And `answer`, the summary, where the result that the file is of stands beside it.
    Not `measured` is a row without a score, or with a number that only stands for one; without that column all scores
    are. summary_scores.csv is such a file, summary_scores.xlsx too. Reports what is wrong by line, also a case that has
    two scores of a metric.
    """
    frame = DataFrame(
        _read(file, Scored, "score"),
        columns=["case_id", "metric", "score", "threshold", "measured", "label"],
    )
    frame = frame.astype({"score": float, "threshold": float, "measured": bool})
    if frame["score"].isna().all():
        raise file.fatal("no-scores", "no row of this file has a score")
    frame["measured"] &= frame["score"].notna()
    units = file.path.with_name(UNITS)
    try:
        texts = pd.read_parquet(units) if units.is_file() else {}
    except (OSError, ValueError) as e:
        raise file.fatal("spoilt-result", f"{units.name} beside it cannot be read: {e}") from e
    answers = dict(zip(texts.get("case_id", ()), texts.get("answer", ())))
    return frame.assign(answer=frame["case_id"].map(answers))


def _letters(text: Any) -> str:
    """The first letters and digits of a text, which a sheet holds as it was; "" of none."""
    return "".join(filter(str.isalnum, text))[:1000] if isinstance(text, str) else ""


def read_labels(
    file: File,
    scores: DataFrame,
    scale: tuple[float, float] = (0, 1),
) -> DataFrame:
    """case_id, metric, label (0..1), rater ("" where none is named) of a file of labels.

    A row without a label counts as not labelled yet. scale: what 0 and 1 are written as. Reports by line what is
    wrong: a label of another scale, a case that is not in the `scores`, a second label of one rater; and with a warning
    labels beside another summary (a workbook of an earlier result).
    """
    in_scale = BeforeValidator(partial(label_value, scale=scale))
    field: Any = (Annotated[Share | None, in_scale], Field(description="사람 판정"))
    rows = _read(file, create_model("Label", __base__=Label, label=field), "label")
    known = scores.set_index(["case_id", "metric"])["answer"].to_dict()
    n_other = 0
    for row in rows:
        key = row["case_id"], row["metric"]
        text, answer = map(_letters, (row["answer"], known.get(key)))
        n_other += text != answer and min(text, answer) > ""
        if key not in known:
            file.error(
                "unknown-case",
                f"the scores have no {row['metric']} of this case",
                line=row["line"],
                id=row["case_id"],
                field="case_id",
            )
    if n_other:
        file.warn(
            "other-texts",
            f"{n_other} of {len(rows)} labels are of other summaries than those that were scored, and say nothing of them",
        )
    return DataFrame(rows, columns=["case_id", "metric", "label", "rater"]).astype({"label": float})


def _read(
    file: File,
    model: type[Row],
    what: str,
) -> list[Fields]:
    """The rows of a file of any kind, each case's once a metric and rater, without those that nobody has labelled yet.

    what: a row holds, a score or a label.
    """
    rows = [
        (line, record.model_dump() | {"line": line})
        for line, record in read_table(file, model, lambda head: HEADS.get(head, head))
        if what != "label" or record.label is not None
    ]
    if ending(file.path) == ".csv":
        for _, row in rows:
            row |= {name: from_csv_cell(row[name]) for name in ("case_id", "metric")}
    return [
        row
        for _, row in file.unique(
            rows,
            lambda row: (row["case_id"], row["metric"], row.get("rater", "")),
            what,
        )
    ]
