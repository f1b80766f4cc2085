"""Agreement of raters on a subject, worked by hand and against scikit-learn and statsmodels, and of seeds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from evaltools.core.resampling import Resampling
from evaltools.stats.agreement import (
    Measure,
    fleiss_kappa,
    kappa_of,
    reviewer_agreement,
    seed_agreement,
)


def test_seeds_agree_by_the_samples_of_which_two_say_something() -> None:
    """Of four samples one seed alone has the last: (1 + 0 + 1) / 3."""
    samples = pd.DataFrame(
        {"id": range(4), "n_seeds": [3, 3, 2, 1], "same": [1.0, 0.0, 1.0, np.nan]}
    )
    same = Measure("same_label", "same", "Same label", exact=True)
    row = seed_agreement(samples, [same], "id", 3, Resampling()).iloc[0]
    assert row["value"] == pytest.approx(2 / 3)
    assert (row["n_samples"], row["n_incomplete"], row["ci_method"]) == (3, 1, "mid-p")


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


@pytest.mark.parametrize("raters", [2, 3, 5])
def test_kappas_equal_statsmodels_to_the_last_bit(raters: int) -> None:
    theirs = pytest.importorskip("statsmodels.stats.inter_rater")
    rng = np.random.default_rng(raters)
    for categories in (2, 3, 7):
        said = rng.integers(categories, size=(50, raters))
        counts, _ = theirs.aggregate_raters(said)
        assert fleiss_kappa(counts) == theirs.fleiss_kappa(counts)
        table = theirs.to_table(said[:, :2])[0]
        mine = kappa_of(pd.DataFrame(said[:, :2]))
        assert mine == pytest.approx(theirs.cohens_kappa(table, return_results=False), abs=1e-14)


def test_subjects_that_not_everyone_rated() -> None:
    got = reviewer_agreement(votes({"A": "KKDD.", "B": "KDDDK", "C": "KK..D"})).set_index(
        ["measure", "raters"]
    )
    assert got.loc[("fleiss_kappa", "A, B, C"), "n_subjects"] == 2
    assert got.loc[("perfect_agreement", "A, B, C"), "value"] == 1 / 2
    assert got.loc[("majority_agreement", "A, B, C"), "value"] == 1.0
    assert got.loc[("cohen_kappa", "A, B"), "n_subjects"] == 4
    assert got.loc[("cohen_kappa", "B, C"), "n_subjects"] == 3


def test_kappa_without_variance_is_null() -> None:
    got = reviewer_agreement(votes({"A": "KKK", "B": "KKK"})).set_index("measure")["value"]
    assert got[["fleiss_kappa", "cohen_kappa"]].isna().all()
    assert got["perfect_agreement"] == 1.0


@pytest.mark.parametrize("table", [{"A": "KKD"}, {"A": "KK..", "B": "..KK"}, {}])
def test_nobody_to_agree_with(table: dict[str, str]) -> None:
    assert reviewer_agreement(votes(table))["value"].isna().all()


def test_two_actions_of_one_rater_are_one_vote() -> None:
    twice = pd.concat([votes({"A": "KD", "B": "KD"}), votes({"A": "F."})])
    got = reviewer_agreement(twice).set_index("measure")
    assert got.loc["perfect_agreement", "value"] == 1 / 2  # "F+K" is not "K"
