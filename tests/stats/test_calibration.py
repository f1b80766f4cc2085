"""Scores against labels: the corrected mean by hand, agreement, and what is refused or warned of."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtri

from evaltools.core.messages import InputError, Problems
from evaltools.core.records import File
from evaltools.stats import calibration as c
from evaltools.stats.calibration import corrected_mean, read_labels, read_scores
from evaltools.stats.formulas import score_t, t_quantile, wilson

NAN = np.nan


def frames(score: Any, label: Any, **more: Any) -> tuple[pd.DataFrame, pd.DataFrame]:
    """SCORES and LABELS of one metric and rater; label nan where none was given."""
    score, label = np.asarray(score, float), np.asarray(label, float)
    ids = [f"c{i}" for i in range(len(score))]
    scores = pd.DataFrame(
        {"case_id": ids, "metric": "m", "score": score, "threshold": NAN, "measured": True, **more}
    )
    labels = pd.DataFrame({"case_id": ids, "metric": "m", "label": label, "rater": ""})
    return scores, labels[labels["label"].notna()]


def judged(n: int = 200, labelled: int = 60, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A judge that is right nine times in ten, labels of the first cases."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(n) < 0.7).astype(float)
    score = np.where(rng.random(n) < 0.9, truth, 1 - truth)
    return frames(score, np.where(np.arange(n) < labelled, truth, NAN))


# --- the corrected mean

SCORE = np.array([1, 1, 0, 0, 1, 1, 1, 0.0])
LABEL = np.array([1, 1, 0, 1, NAN, NAN, NAN, NAN])


def test_the_corrected_mean_by_hand() -> None:
    # labelled: mean label 3/4, mean score 2/4; the others: mean score 3/4
    assert corrected_mean(SCORE, LABEL, weight=0)[0] == 3 / 4
    assert corrected_mean(SCORE, LABEL, weight=1)[0] == 3 / 4 - 2 / 4 + 3 / 4
    # products of deviations .5*.25 + .5*.25 + -.5*-.75 + -.5*.25 = .5, covariance .5/3
    # variance of all scores 8 * 5/8 * 3/8 / 7 = 15/56
    weight = (0.5 / 3 / 4) / (15 / 56 * (1 / 4 + 1 / 4))
    value, low, high = corrected_mean(SCORE, LABEL)
    assert value == pytest.approx(3 / 4 + weight * (3 / 4 - 2 / 4))
    # var(label - w score) = 1/4 - 2 w / 6 + w^2 / 3
    # and a quarter of a case on which both differ: w / 4 / 4
    variance = (1 / 4 - 2 * weight / 6 + weight**2 / 3 + weight / 16) / 4 + weight**2 * 15 / 56 / 4
    expected = score_t(value, variance, 4, t_quantile(3, 0.05), (0, 1))
    assert (low, high) == pytest.approx(expected)


# --- a table of it


def test_agreement_by_hand() -> None:
    # of 20 labelled 1 the judge says 1 to 18; of 15 labelled 0 it says 0 to 12; 65 are not labelled
    score = [1] * 18 + [0] * 2 + [0] * 12 + [1] * 3 + [1] * 45 + [0] * 20
    row = c.calibrate(*frames(score, [1] * 20 + [0] * 15 + [NAN] * 65))[0].iloc[0]
    assert (row["n"], row["n_labelled"], row["raters"]) == (100, 35, 1)
    assert (row["tpr"], row["tnr"]) == pytest.approx((18 / 20, 12 / 15))
    assert (row["tpr_low"], row["tpr_high"]) == pytest.approx(
        [float(b) for b in wilson(0.9, 20, ndtri(0.975))]
    )
    # agreement 30/35; by chance (20 * 21 + 15 * 14) / 35^2
    chance = (20 * 21 + 15 * 14) / 35**2
    assert row["judge_kappa"] == pytest.approx((30 / 35 - chance) / (1 - chance))
    assert pd.isna(row["rater_kappa"])
    assert row["judge_mean"] == pytest.approx(0.66) and row["labels_mean"] == pytest.approx(20 / 35)


def test_a_score_passes_from_its_threshold_on() -> None:
    """A score of one half is no pass where 0.9 is asked for, and is one where nothing is."""
    scores, labels = frames([1.0] * 20 + [0.5] * 20, [1] * 20 + [0] * 20)
    tnr = [c.calibrate(scores.assign(threshold=t), labels)[0]["tnr"].iloc[0] for t in (0.9, NAN)]
    assert tnr == [1.0, 0.0]


def two_raters(differ: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    scores, labels = frames([1] * 20 + [0] * 80, [1] * 20 + [0] * 20 + [NAN] * 60)
    other = labels.assign(rater="b", label=np.where(np.arange(40) < differ, 0.0, labels["label"]))
    return scores, pd.concat([labels.assign(rater="a"), other])


def test_raters_count_as_their_mean_and_their_kappa() -> None:
    frame, (note,) = c.calibrate(*two_raters(4))
    row = frame.iloc[0]
    assert "m: labelled cases score 0.500, the others 0.000: labels not drawn at random" in note
    # 4 cases of 40 have a label of one half
    assert row["raters"] == 2 and row["labels_mean"] == pytest.approx((16 + 4 * 0.5) / 40)
    chance = (20 * 16 + 20 * 24) / 40**2
    assert row["rater_kappa"] == pytest.approx((36 / 40 - chance) / (1 - chance))
    assert (row["n_twice"], row["n_clear"]) == (40, 36)
    assert row["tpr"] == 1.0 and row["tpr_low"] == pytest.approx(
        float(wilson(1.0, 16, ndtri(0.975))[0])
    )  # halves take no part


def test_labels_that_are_no_verdicts_have_a_mean_and_no_rates() -> None:
    scores, labels = judged()
    labels = labels.assign(label=np.where(np.arange(len(labels)) == 0, 0.25, labels["label"]))
    row = c.calibrate(scores, labels)[0].iloc[0]
    assert row[["tpr", "tpr_low", "tnr", "judge_kappa", "rater_kappa"]].isna().all()
    assert row["corrected_low"] < row["corrected_mean"] < row["corrected_high"]


# --- what is said


def test_few_labels_give_counts_and_no_corrected_mean() -> None:
    scores, labels = judged()
    unmeasured = scores.assign(metric="none", measured=False)
    both = pd.concat(
        [labels.head(28), labels[28:29].assign(label=0.5), labels.assign(metric="none")]
    )
    frame, (note, _) = c.calibrate(pd.concat([scores, unmeasured]), both)
    row = frame.iloc[0]
    assert (row["n_labelled"], pd.isna(row["corrected_mean"])) == (29, True)
    assert row["labels_mean"] == both.head(29)["label"].mean()
    # a label of one half agrees with nothing
    assert "fewer than 30 labels correct no mean" in note and "of 28 cases" in note


# --- files

SCORES = 'case_id,metric,score,evidence\na,m,0.5,"{""x"": 1}"\nb,m,,\nc,m,1,\n'


def read(
    tmp_path: Path, labels: str, scores: str = SCORES, name: str = "l.csv"
) -> tuple[pd.DataFrame, list[str]]:
    (tmp_path / "s.csv").write_text(scores, encoding="utf-8")
    (tmp_path / name).write_text(labels, encoding="utf-8")
    problems = Problems()
    found = read_labels(
        File(tmp_path / name, problems), read_scores(File(tmp_path / "s.csv", problems))
    )
    return found, [str(p).replace(str(tmp_path), "") for p in problems.kept]


def test_scores_and_labels_of_csv_and_jsonl_are_the_same(tmp_path: Path) -> None:
    """In CSV alone an apostrophe stands before what Excel would take for a formula."""
    scores = f"{SCORES}'=a,m,1,\n''=a,m,1,\n"
    labels = "case_id,metric,label,rater\n'=a,m,1,kim\nc,m,,kim\n''=a,m,0,lee\n"
    csv, none = read(tmp_path, labels, scores)
    line = '{"case_id": "%s", "metric": "m", "label": %d, "rater": "%s"}\n'
    lines = line % ("=a", 1, "kim") + line % ("'=a", 0, "lee")
    jsonl, nothing = read(tmp_path, lines, scores, "l.jsonl")
    assert none == nothing == []
    pd.testing.assert_frame_equal(csv, jsonl)
    assert csv["label"].tolist() == [1, 0]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (
            "case_id,metric,label\nz,m,1\n",
            "/l.csv:2: z: case_id: the scores have no m of this case [unknown-case]",
        ),
        (
            "case_id,metric,label\na,m,1\na,m,1\n",
            "/l.csv:3: a: m: a second label; the first is on line 2",
        ),
        (
            "case_id,metric,label\na,m,1.5\n",
            "/l.csv:2: a: label: expected 0 to 1 (another scale is given as --scale, as in --scale 1-5), yes/no",
        ),
        ("case_id,metric,label\n,m,1\n", "/l.csv:2: case_id: expected a valid string"),
    ],
)
def test_what_is_wrong_with_labels_is_said_by_line(
    tmp_path: Path, labels: str, message: str
) -> None:
    found = read(tmp_path, labels)[1]
    assert len(found) == 1 and message in found[0]


def test_a_doubled_score_and_a_lacking_column(tmp_path: Path) -> None:
    twice = "case_id,metric,score\na,m,1\na,m,0\n"
    said = read(tmp_path, "{}", twice, "l.jsonl")[1][0]
    assert "/s.csv:3: a: m: a second score; the first is on line 2" in said
    with pytest.raises(InputError, match=r"s\.csv: no row of this file has a score"):
        read(tmp_path, "{}", "case_id,metric,score\na,m,\n")
    with pytest.raises(InputError, match=r"metric, label \(사람 판정\), got case_id, label"):
        read(tmp_path, "case_id,label\na,1\n")
