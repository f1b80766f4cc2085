"""Sign flips alone and together: by hand over all patterns, against other libraries, and what must always hold."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import gamma

from evaltools.core.metric import Metric
from evaltools.core.resampling import Resampling
from evaltools.stats.arrays import LARGE
from evaltools.stats.compare import compare
from evaltools.stats.detectable import smallest_difference, units_needed
from evaltools.stats.multiplicity import shared_seeds, step_down
from evaltools.stats.sign_flips import flipped_p, sign_flip

HAND = np.array([[1.0, 1.0, 2.0], [2.0, 1.0, 1.0], [4.0, -1.0, 1.0]])
"""Three units (rows), three metrics A, B, C.

The signs of the units, and the size of the sum under them (those of the opposite signs are the same):
        A                  B                  C
  +++   |1+2+4| = 7        |1+1-1| = 1        |2+1+1| = 4
  ++-   |1+2-4| = 1        |1+1+1| = 3        |2+1-1| = 2
  +-+   |1-2+4| = 3        |1-1-1| = 1        |2-1+1| = 2
  +--   |1-2-4| = 5        |1-1+1| = 1        |2-1-1| = 0
The p of each is the share of patterns with a sum that is as large:
        A      B      C      the smallest    of B and C
  +++   1/4    4/4    1/4    1/4             1/4
  ++-   4/4    1/4    3/4    1/4             1/4
  +-+   3/4    4/4    3/4    3/4             3/4
  +--   2/4    4/4    4/4    2/4             4/4
"""


def test_min_p_by_hand() -> None:
    """A and C have p 1/4, and in 2 of 4 patterns the smallest p is 1/4 or less, with A or without; B has p 1."""
    p = sign_flip(HAND, 100, 0)
    assert p.tolist() == [1 / 4, 1, 1 / 4]
    flipped = flipped_p(HAND, 100, 0)
    rows = {tuple(row) for row in flipped.tolist()}
    assert flipped.shape == (8, 3)
    assert rows == {(1 / 4, 1, 1 / 4), (1, 1 / 4, 3 / 4), (3 / 4, 1, 3 / 4), (2 / 4, 1, 1)}
    assert step_down(p, flipped, 0.05).p.tolist() == [2 / 4, 1, 2 / 4]
    # at 50% p may be anything below 2/4, which 4 of 8 patterns have; A and C pass, and B alone may have less than 1
    assert step_down(p, flipped, 0.5).level == pytest.approx([0.5, 0.5, 0.5])
    # at 49% not even 1/4 is small enough
    assert step_down(p, flipped, 0.49).level == pytest.approx([0.25] * 3)
    assert (step_down(p, flipped, 0.49).level < 0.25).all()


def test_sign_flips_by_hand() -> None:
    """Differences 1, 1, 2: |sum| = 4 is reached by + + + and - - - of 8 patterns; 1, 1, 0: by 2 of 4. Mid-p: half."""
    d = np.array([[1.0, 1.0], [1.0, 1.0], [2.0, 0.0]])
    assert sign_flip(d, 100, 0).tolist() == [2 / 8, 2 / 4]
    assert sign_flip(d, 100, 0, np.array([True, False])).tolist() == [1 / 8, 2 / 4]
    for nothing in (np.zeros((5, 1)), np.zeros((0, 1))):
        assert (
            sign_flip(nothing, 100, 0, True).tolist()
            == sign_flip(nothing, 100, 0).tolist()
            == [1.0]
        )


def test_exact_and_random_sign_flips_agree_with_scipy() -> None:
    rng = np.random.default_rng(1)
    d = rng.normal(0.3, 1, (12, 3))
    expected = [
        stats.permutation_test(
            (x,),
            lambda x, axis=-1: x.mean(axis),
            permutation_type="samples",
            vectorized=True,
            n_resamples=np.inf,
        ).pvalue
        for x in d.T
    ]
    assert sign_flip(d, 5000, 0) == pytest.approx(expected)
    assert sign_flip(np.vstack([d, np.zeros((300, 3))]), 5000, 0) == pytest.approx(expected)
    assert sign_flip(d, 4000, 0) == pytest.approx(expected, abs=0.03)


def test_random_sign_flips_never_give_zero() -> None:
    assert sign_flip(np.arange(1.0, 51)[:, None], 99, 0) == pytest.approx([1 / 100])
    assert sign_flip(np.arange(1.0, 51)[:, None], 99, 0, True) == pytest.approx([0.5 / 100])


@settings(max_examples=40)
@given(st.integers(0, 40), st.integers(0, 400))
def test_events_are_mcnemar_exact_and_mid_p(b: int, c: int) -> None:
    mcnemar = pytest.importorskip("statsmodels.stats.contingency_tables").mcnemar
    if b == c:
        return
    d = np.repeat([0.01, -0.01, 0.0], [b, c, 30])[:, None]
    exact = mcnemar([[9, b], [c, 9]], exact=True).pvalue
    assert sign_flip(d, 10_000, 0) == pytest.approx([exact], rel=1e-9)
    mid = exact - stats.binom.pmf(min(b, c), b + c, 0.5)
    assert sign_flip(d, 10_000, 0, True) == pytest.approx([mid], rel=1e-9)


def test_the_level_of_metrics_with_equal_p_does_not_depend_on_their_order() -> None:
    """Both have p = .2; the smaller p of the four patterns are .2, .22, .6 and .7, of which one may lie below."""
    flipped = np.array([[0.2, 0.9], [0.9, 0.22], [0.6, 0.8], [0.7, 0.7]])
    for order in ([0, 1], [1, 0]):
        steps = step_down(np.array([0.2, 0.2]), flipped[:, order], 0.25)
        assert steps.p.tolist() == [0.25, 0.25]
        assert steps.level == pytest.approx([0.22, 0.22])


columns = st.tuples(st.integers(1, 40), st.integers(1, 6), st.integers(0, 10_000))


@settings(max_examples=60)
@given(columns, st.booleans())
def test_what_always_holds(shape: tuple[int, int, int], whole: bool) -> None:
    """Adjusted is at least p and follows its order; the order of metrics and the direction change nothing."""
    n, k, key = shape
    rng = np.random.default_rng(key)
    d = rng.normal(0.2, 1, (n, 1)) + rng.normal(0, 1, (n, k))
    d = np.round(d) if whole else d
    mid = rng.random(k) < 0.5
    p, flipped = sign_flip(d, 300, 1, mid), flipped_p(d, 300, 1, mid)
    found = step_down(p, flipped, 0.05)
    assert (found.p >= p).all() and (found.p <= 1).all()
    assert (np.diff(found.p[np.argsort(p)]) >= 0).all()
    # the level of a step is what p must keep
    assert ((p <= found.level) == (found.p <= 0.05))[p > 0].all()
    order = rng.permutation(k)
    other = step_down(p[order], flipped_p(d[:, order], 300, 1, mid[order]), 0.05)
    assert (
        other.p.tolist() == found.p[order].tolist()
        and other.level.tolist() == found.level[order].tolist()
    )
    assert sign_flip(-d, 300, 1, mid).tolist() == p.tolist()
    assert flipped_p(-d, 300, 1, mid).tolist() == flipped.tolist()


@pytest.mark.parametrize("n", [12, 200, LARGE + 1])
def test_metrics_that_say_the_same_cost_nothing_and_others_as_much_as_they_are(n: int) -> None:
    """Three copies of one metric are adjusted to its own p; two without anything in common as Sidak says."""
    rng = np.random.default_rng(n)
    d = rng.normal(0, 1, (n, 1)) + 2 / np.sqrt(n)
    p = sign_flip(d, 10_000, 0)
    same = step_down(np.repeat(p, 3), flipped_p(np.repeat(d, 3, axis=1), 10_000, 0), 0.05)
    assert same.p == pytest.approx(np.repeat(p, 3), abs=0.008)
    apart = np.zeros((2 * n, 2))
    apart[:n, 0] = apart[n:, 1] = d[:, 0]
    two = step_down(np.repeat(p, 2), flipped_p(apart, 10_000, 0), 0.05)
    assert two.p == pytest.approx(np.repeat(1 - (1 - p) ** 2, 2), abs=0.012)


@pytest.mark.parametrize("level", [0.05, 0.01, 2**-5, np.nextafter(2**-5, 0), 1e-9])
def test_needed_is_the_least_number_that_can_have_a_p_within_the_level(level: float) -> None:
    for mid in (False, True):
        m = int(units_needed(np.array([level]), np.array([mid]))[0])
        ones = np.ones((m, 1))
        assert (
            sign_flip(ones, 10_000, 0, mid)[0] <= level < (sign_flip(ones[1:], 10_000, 0, mid)[0])
        )


@pytest.mark.parametrize("n", [4, 20, 150])
def test_smallest_is_the_effect_of_a_t_test_with_80_percent_power_over_c4(n: int) -> None:
    power = pytest.importorskip("statsmodels.stats.power").TTestPower()
    effect = power.solve_power(nobs=n, alpha=0.05, power=0.8)
    one, nothing = np.ones(1), np.zeros(1)
    found = smallest_difference(
        one / np.sqrt(n), one * (n - 1), one * 0.05, nothing, one * 6, nothing * np.nan
    )
    c4 = (
        np.sqrt(2 / (n - 1)) * gamma(n / 2) / gamma((n - 1) / 2)
    )  # the mean of a standard deviation of n, of 1
    assert found * c4 == pytest.approx([effect], rel=0.01)


def test_smallest_has_enough_units_that_differ_and_counts_their_errors() -> None:
    one = np.ones(1)
    # nothing differs yet: 6 units of .01 differ with a probability of 80% where 7.9 are expected
    floor = smallest_difference(0 * one, 50 * one, 0.05 * one, 0.01 * one, 6 * one, np.nan * one)
    assert stats.poisson.sf(5, floor / 0.01) == pytest.approx(0.8)
    # an error that grows by each unit: difference^2 = away^2 (error^2 + .01 (difference - difference^2))
    plain = smallest_difference(0.03 * one, 50 * one, 0.05 * one, 0.01 * one, one, np.nan * one)
    grown = smallest_difference(0.03 * one, 50 * one, 0.05 * one, 0.01 * one, one, one)
    assert grown**2 == pytest.approx((plain / 0.03) ** 2 * (0.03**2 + 0.01 * (grown - grown**2)))
    assert grown > plain


def test_a_metric_without_a_seed_part_by_chance_is_lent_the_median_one() -> None:
    """Shares of the seeds 0, 1/4 and 1/2: to the first metric's 3 of samples come 3 * (1/4) / (3/4) = 1.

    Its variance is 4, its degrees of freedom 4^2 / (3^2 / 9 + 1^2 / 2) = 10.67; the others have the median or more.
    """
    samples, seeds, df = np.array([3.0, 3.0, 1.0]), np.array([0.0, 1.0, 1.0]), np.full(3, 2.0)
    n = np.full(3, 10.0)
    error, of = shared_seeds(samples, seeds, n, df)
    assert error == pytest.approx([2.0, 2.0, np.sqrt(2)])
    assert of == pytest.approx([16 / 1.5, 16 / 1.5, 4 / (1 / 9 + 1 / 2)])
    # one seed (null), or seeds that show nothing anywhere: nothing is lent
    assert np.isnan(shared_seeds(samples, seeds * np.nan, n, df * 0)[0]).all()
    assert shared_seeds(samples, seeds * 0, n, df)[0] == pytest.approx(np.sqrt(samples))


def test_p_and_smallest_difference_of_the_family_stand_at_the_lent_variance() -> None:
    """Three metrics over three seeds, the seeds of the first equal by chance: it is judged as if they were not."""
    rng = np.random.default_rng(1)
    sides: list[dict[int, pd.DataFrame]] = [{}, {}]
    names = ["lead", "flat", "moved", "other"]
    sample = {m: rng.normal(0, 0.3, (2, 40)) for m in names}
    moves = {m: rng.normal(0, 0.1, (2, 3)) for m in names} | {"flat": np.zeros((2, 3))}
    for s, side in enumerate(sides):
        for k in range(3):
            noise = {m: rng.normal(0, 0.05, 40) for m in names}
            cells = {
                m: 0.2 * s + sample[m][s] + moves[m][s, k] + noise[m] - noise[m].mean()
                for m in names
            }
            side[k] = pd.DataFrame({"id": range(40), "n": 1, **cells})
    table = [Metric(name=m, numerator=m, denominator="n", better="higher") for m in names]
    family, alone = (
        compare(*sides, table, "id", Resampling(), headline).table.set_index("metric").loc["flat"]
        for headline in (names, ["flat"])
    )
    assert alone["var_seed"] == family["var_seed"] == 0
    assert family["p_value"] == alone["p_value"] < 0.05
    assert family["p_adjusted"] > 3 * family["p_value"]
    assert family["mde"] > 1.3 * alone["mde"]
