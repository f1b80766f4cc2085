"""Agreement of raters on a subject, worked by hand and against statsmodels."""

import numpy as np
import pandas as pd
import pytest

from evaltools.stats.calibration import kappa_of


def kappa(**letters: str) -> float:
    """Of raters with a letter a subject; "." for no vote."""
    sheet = pd.DataFrame({rater: list(said) for rater, said in letters.items()})
    return kappa_of(sheet.mask(sheet == "."))


def test_kappas_by_hand() -> None:
    # A KKDD against B KDDD: agreement 3/4, by chance (2*1 + 2*3) / 16 = 1/2
    assert kappa(A="KKDD", B="KDDD") == pytest.approx(0.5)
    # a subject with one vote takes no part, nor does a rater who is alone everywhere
    assert kappa(A="KKDD.K.", B="KDDDK..", C="......K") == pytest.approx(0.5)
    # of more raters two suffice: agreed (1 + 0 + 1/3) / 3, by chance K (1 + 1/2 + 2/3) / 3, D the rest
    assert kappa(A="KK.", B="K.K", C=".DK", D="..D") == pytest.approx(
        (4 / 9 - (13**2 + 5**2) / 18**2) / (1 - (13**2 + 5**2) / 18**2)
    )
    # Fleiss: K 4/9, D 5/9; agreed (1 + 1/3 + 1) / 3 = 7/9, by chance 41/81
    assert kappa(A="KKD", B="KDD", C="KDD") == pytest.approx((7 / 9 - 41 / 81) / (1 - 41 / 81))


@pytest.mark.parametrize(
    "letters", [{"A": "KKD"}, {"A": "KK..", "B": "..KK"}, {"A": "KKK", "B": "KKK"}]
)
def test_nobody_to_agree_with_and_no_variance(letters: dict[str, str]) -> None:
    assert np.isnan(kappa(**letters))


@pytest.mark.parametrize("raters", [2, 3, 5])
def test_kappas_equal_statsmodels(raters: int) -> None:
    theirs = pytest.importorskip("statsmodels.stats.inter_rater")
    rng = np.random.default_rng(raters)
    for categories in (2, 3, 7):
        said = rng.integers(categories, size=(50, raters))
        counts, _ = theirs.aggregate_raters(said)
        if raters > 2:
            expected = pytest.approx(theirs.fleiss_kappa(counts), abs=1e-14)
            assert kappa_of(pd.DataFrame(said)) == expected
        table = theirs.to_table(said[:, :2])[0]
        mine = kappa_of(pd.DataFrame(said[:, :2]))
        assert mine == pytest.approx(theirs.cohens_kappa(table, return_results=False), abs=1e-14)
