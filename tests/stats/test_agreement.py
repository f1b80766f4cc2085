"""Agreement of seeds on a sample and of reviewers on a subject, worked by hand and against scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evaltools.core.resampling import Resampling
from evaltools.stats.agreement import (
    cohen_kappa,
    fleiss_kappa,
    flip_flops,
    review_votes,
    reviewer_agreement,
    sample_agreement,
    seed_agreement,
)

R = Resampling(n_resamples=200)
A, B, C = (
    ["배터리", "battery", "positive"],
    ["화면", "screen", "negative"],
    ["화면", "panel", "negative"],
)


def run(
    rows: Sequence[tuple[str, list[list[str]] | None, str | None]], outcome: Sequence[Any] = ()
) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "text_id": [r[0] for r in rows],
            "text": [f"text of {r[0]}" for r in rows],
            "final": [None if r[1] is None else [tuple(t) for t in r[1]] for r in rows],
            "label_final": [r[2] for r in rows],
            "outcome": list(outcome) or [None] * len(rows),
        }
    )


RUNS = {
    1: run([("x", [A, B], "pos"), ("y", [], "neg"), ("z", [A], None)], ["fix", "keep", None]),
    2: run(
        [("x", [B, A, A], "pos"), ("y", [], "pos"), ("z", [C], "pos")], ["still", "keep", "fix"]
    ),
    3: run([("x", [A, C], "pos"), ("y", [], "neg"), ("w", [A], "pos")], ["fix", "keep", "fix"]),
}


def test_agreement_by_hand() -> None:
    """x: {A,B}, {A,B}, {A,C}: F1 of the pairs 1, 1/2, 1/2 (mean 2/3); by (ref, polarity) B = C, so 1.
    y: all empty. z: {A}, {C} in two of three seeds: 0. w: one seed only, out."""
    got = sample_agreement(RUNS, "text_id").set_index("text_id")
    assert got["n_seeds"].to_dict() == {"w": 1, "x": 3, "y": 3, "z": 2}
    assert got["tuples_agree"].dropna().to_dict() == {"x": 0.0, "y": 1.0, "z": 0.0}
    assert got["labels_agree"].dropna().to_dict() == {
        "x": 1.0,
        "y": 0.0,
    }  # z has one label, the other is null
    assert got["pairwise_f1"].dropna().to_dict() == pytest.approx({"x": 2 / 3, "y": 1.0, "z": 0.0})
    assert got["pairwise_f1_refpol"].dropna().to_dict() == {"x": 1.0, "y": 1.0, "z": 0.0}
    summary = seed_agreement(RUNS, "text_id", R).set_index("metric")
    assert summary["value"].to_dict() == pytest.approx(
        {
            "tuple_agreement_rate": 1 / 3,
            "self_consistency_exact": 1 / 2,
            "pairwise_f1": (2 / 3 + 1 + 0) / 3,
            "pairwise_f1_refpol": 2 / 3,
            "pairwise_f1_otepol": (2 / 3 + 1 + 0) / 3,
        }
    )
    assert summary["n_samples"].tolist() == [3, 2, 3, 3, 3]
    assert summary["n_incomplete"].tolist() == [1, 0, 1, 1, 1]
    assert summary.loc["tuple_agreement_rate", "ci_method"] == "wilson"
    assert summary.loc["pairwise_f1", "ci_method"] == "none"


def test_one_seed_agrees_with_nobody() -> None:
    summary = seed_agreement({None: RUNS[1]}, "text_id", R)
    assert summary["value"].isna().all()
    assert (summary["n_samples"] == 0).all()
    assert flip_flops({None: RUNS[1]}, "text_id", ["outcome"]).empty


def test_no_rows() -> None:
    empty = {s: f.iloc[:0] for s, f in RUNS.items()}
    assert seed_agreement(empty, "text_id", R)["value"].isna().all()
    assert flip_flops(empty, "text_id", ["outcome"], keep=["text"]).empty


def test_flip_flops_are_listed_with_every_seed() -> None:
    got = flip_flops(RUNS, "text_id", ["outcome", "label_final"], keep=["text"])
    assert got.columns.tolist() == ["text_id", "text", "outcome", "1", "2", "3"]
    assert got.to_dict("records") == [
        {
            "text_id": "x",
            "text": "text of x",
            "outcome": "outcome",
            "1": "fix",
            "2": "still",
            "3": "fix",
        },
        {
            "text_id": "y",
            "text": "text of y",
            "outcome": "label_final",
            "1": "neg",
            "2": "pos",
            "3": "neg",
        },
    ]


def test_votes_of_review_actions() -> None:
    actions = [
        {"action_type": "DROP", "target_tuple_ids": ["t0", "t1"], "actor": "A"},
        {"action_type": "KEEP", "target_tuple_ids": ["t0"], "actor": "B"},
        {"action_type": "KEEP", "target_tuple_ids": [], "actor": "B"},
        {"action_type": "KEEP", "target_tuple_ids": ["t0"]},
    ]
    votes, left_out = review_votes([("s1", actions), ("s2", [])])
    assert votes.to_numpy().tolist() == [
        ["s1", "t0", "A", "DROP"],
        ["s1", "t1", "A", "DROP"],
        ["s1", "t0", "B", "KEEP"],
    ]
    assert left_out == 2


def votes(table: dict[str, str]) -> pd.DataFrame:
    """rater -> one letter a subject ("." for no vote)."""
    rows = [
        (0, str(i), r, c) for r, letters in table.items() for i, c in enumerate(letters) if c != "."
    ]
    return pd.DataFrame(rows, columns=["sample", "tuple", "rater", "category"])


def test_kappas_by_hand() -> None:
    """A KKDD against B KDDD: agreement 3/4, by chance (2*1 + 2*3) / 16 = 1/2, kappa 1/2."""
    got = reviewer_agreement(votes({"A": "KKDD", "B": "KDDD"})).set_index("measure")
    assert got.loc["cohen_kappa", "value"] == pytest.approx(0.5)
    # Fleiss: K 3/8, D 5/8: chance 34/64; (3/4 - 34/64) / (1 - 34/64) = 14/30
    assert got.loc["fleiss_kappa", "value"] == pytest.approx(14 / 30)
    assert got.loc["perfect_agreement", "value"] == 3 / 4
    assert got.loc["majority_agreement", "value"] == 3 / 4


def test_cohen_equals_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(1)
    a, b = ("".join(rng.choice(list("KDM"), 60)) for _ in range(2))
    got = reviewer_agreement(votes({"A": a, "B": b})).set_index("measure")
    assert got.loc["cohen_kappa", "value"] == pytest.approx(
        metrics.cohen_kappa_score(list(a), list(b))
    )


@pytest.mark.parametrize("raters", [2, 3, 5])
def test_kappas_equal_statsmodels_to_the_last_bit(raters: int) -> None:
    theirs = pytest.importorskip("statsmodels.stats.inter_rater")
    rng = np.random.default_rng(raters)
    for categories in (2, 3, 7):
        said = rng.integers(categories, size=(50, raters))
        counts, _ = theirs.aggregate_raters(said)
        assert fleiss_kappa(counts) == theirs.fleiss_kappa(counts)
        table = theirs.to_table(said[:, :2])[0]
        assert cohen_kappa(table) == theirs.cohens_kappa(table, return_results=False)


def test_subjects_that_not_everyone_rated() -> None:
    got = reviewer_agreement(votes({"A": "KKDD.", "B": "KDDDK", "C": "KK..D"})).set_index(
        ["measure", "raters"]
    )
    assert got.loc[("fleiss_kappa", "A, B, C"), "n_subjects"] == 2
    assert got.loc[("perfect_agreement", "A, B, C"), "value"] == 1 / 2
    assert got.loc[("majority_agreement", "A, B, C"), "value"] == 1.0
    assert got.loc[("cohen_kappa", "A, B"), "n_subjects"] == 4
    assert got.loc[("cohen_kappa", "B, C"), "n_subjects"] == 3


def test_kappa_without_variance_is_null_and_says_so() -> None:
    got = reviewer_agreement(votes({"A": "KKK", "B": "KKK"})).set_index("measure")
    for kappa in ("fleiss_kappa", "cohen_kappa"):
        assert np.isnan(got.loc[kappa, "value"])
        assert got.loc[kappa, "reason"] == "no variance"
    assert got.loc["perfect_agreement", "value"] == 1.0


def test_nobody_to_agree_with() -> None:
    assert set(reviewer_agreement(votes({"A": "KKD"}))["reason"]) == {"one rater"}
    apart = reviewer_agreement(votes({"A": "KK..", "B": "..KK"}))
    assert set(apart["reason"]) == {"no subject in common"}
    none = reviewer_agreement(votes({}))
    assert none["value"].isna().all()
    assert set(none["reason"]) == {"one rater"}


def test_two_actions_of_one_rater_are_one_vote() -> None:
    twice = pd.concat([votes({"A": "KD", "B": "KD"}), votes({"A": "F."})])
    got = reviewer_agreement(twice).set_index("measure")
    assert got.loc["perfect_agreement", "value"] == 1 / 2  # "F+K" is not "K"
