"""Sign flips and families, against scipy and statsmodels and by hand; ranks; plans by their formula."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from evaltools.core.messages import UsageError
from evaltools.stats.compare import compare_all, ranks
from evaltools.stats.multiple import holm, max_t, sign_flip
from evaltools.stats.plan import plan
from tests.stats.comparing import SCORE, R, compare, frame, labelled

FREE = replace(SCORE, bounds=None)


@pytest.mark.parametrize("key", range(10))
def test_exact_sign_flips_are_those_of_scipy(key: int) -> None:
    d = np.random.default_rng(key).normal(0.3, 1, 11).round(1)
    expected = stats.permutation_test(
        (d,), np.sum, permutation_type="samples", n_resamples=np.inf, alternative="two-sided"
    )
    assert sign_flip(d[:, None], 10_000, 0)[0] == pytest.approx(expected.pvalue, abs=1e-12)


def test_differences_of_one_size_are_binomial_and_mid_p_counts_ties_half() -> None:
    """15 of 20 units rise by 1: twice P(X >= 15); mid-p takes half of P(X = 15) off on either side."""
    d = np.repeat([1.0, -1.0], [15, 5])[:, None]
    exact = stats.binomtest(15, 20).pvalue
    assert sign_flip(d, 10_000, 0)[0] == pytest.approx(exact)
    mid = exact - stats.binom.pmf(15, 20, 0.5)
    assert sign_flip(d, 10_000, 0, np.array([True]))[0] == pytest.approx(mid)


def test_many_units_have_the_normal_limit_which_drawn_flips_agree_with() -> None:
    d = np.random.default_rng(0).normal(0.025, 1, (5_001, 1))
    drawn = sign_flip(d[:5_000], 10_000, 0)[0]
    assert sign_flip(d, 10_000, 0)[0] == pytest.approx(drawn, abs=0.02)


def test_holm_is_that_of_statsmodels() -> None:
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    p = np.random.default_rng(0).random(20) ** 3
    assert holm(pd.Series(p)).to_numpy() == pytest.approx(
        multitest.multipletests(p, method="holm")[1]
    )


def test_max_t_of_copies_is_one_test_and_of_others_no_more_than_holm() -> None:
    rng = np.random.default_rng(1)
    one = rng.normal(0.5, 1, (12, 1))
    p = sign_flip(one, 10_000, 0)
    copies, alike = max_t(np.repeat(one, 5, axis=1), 10_000, 0, 0.05)
    assert copies.tolist() == pytest.approx([p[0]] * 5) and np.ptp(alike) == 0
    several = rng.normal([0.9, 0.4, 0.0], 1, (12, 3))
    joint, critical = max_t(several, 10_000, 0, 0.05)
    alone = sign_flip(several, 10_000, 0)
    assert (joint <= 3 * alone + 1e-12).all()
    assert 2.0 < np.nanmax(critical) < np.sqrt(12)
    # five gains beside a hopeless test: no more than their own mid-p, which is added where p is made
    hopeless = np.column_stack([np.arange(30) < 5, -np.ones(30)])
    assert max_t(hopeless, 10_000, 0, mid=True)[0].max() < 1e-3


def test_ranks_hold_what_is_shown() -> None:
    rng = np.random.default_rng(3)
    base = rng.uniform(0.2, 0.5, 60)
    shifts = {"a": 0.0, "b": 0.003, "c": 0.3}
    sides = {
        name: {"": frame(np.clip(base + shift + rng.normal(0, 0.05, 60), 0, 1))}
        for name, shift in shifts.items()
    }
    sides["d"] = {"": frame(base).assign(y=0.0, n=0)}
    found = ranks(labelled([SCORE], *sides.values()), "score", R).set_index("condition")
    assert found.loc["c"].tolist() == [1, 1]
    assert found.loc[["a", "b"]].to_numpy().tolist() == [[2, 3], [2, 3]]
    assert found.loc["d"].isna().all()


def test_a_plan_by_its_formula() -> None:
    """s^2 of the pilot's differences: n = (1.96 + .8416)^2 s^2 / d^2 * 30 / 28, range by chi-square of 29 df."""
    rng = np.random.default_rng(4)
    a, b = rng.normal(size=30), rng.normal(size=30)
    z2 = (stats.norm.ppf(0.975) + stats.norm.ppf(0.8)) ** 2

    def planned(change: Callable[[np.ndarray], pd.DataFrame]) -> pd.Series:
        """The pilot's rows are made of the values of each side."""
        pilot = labelled([FREE], {"": change(a)}, {"": change(b)})
        return plan(pilot, "score", 0.5, seeds=[1]).iloc[0]

    row = planned(frame)
    n = z2 * (b - a).var(ddof=1) / 0.5**2 * 30 / 28
    low, high = 29 / stats.chi2.ppf([0.975, 0.025], 29)
    assert row[["samples", "samples_low", "samples_high"]].tolist() == [
        np.ceil(n), np.ceil(n * low), np.ceil(n * high)
    ]  # fmt: skip
    # 30 more units that are not counted, or null: as many of the next study will not be
    more = frame(np.zeros(30)).assign(id=range(30, 60), n=[0, None] * 15)
    assert planned(lambda y: pd.concat([frame(y), more]))["samples"] == np.ceil(2 * n)
    # clusters of two samples that are alike are as sure as one sample
    row = planned(lambda y: pd.concat([frame(y).assign(item=i) for i in (0, 1)], ignore_index=True))
    assert row["samples"] == np.ceil(2 * n)


def test_a_larger_difference_of_a_proportion_needs_more_units_that_change() -> None:
    """10 of 100 rise, 10 fall: s^2 = 20/99; where d is true units differ in d - d^2 more."""
    right = replace(FREE, proportion=True)
    a = {"": frame(np.repeat([0.0, 1.0, 1.0], [10, 10, 80]))}
    b = {"": frame(np.repeat([1.0, 0.0, 1.0], [10, 10, 80]))}
    z2 = (stats.norm.ppf(0.975) + stats.norm.ppf(0.8)) ** 2
    n = z2 * (20 / 99 * 100 / 98 + 0.15 - 0.15**2) / 0.15**2
    planned = plan(labelled([right], a, b), "score", 0.15, seeds=[1])
    assert planned["samples"].tolist() == [np.ceil(n)]
    d = compare(a, b, [right], R, ["score"])["mde"].iloc[0]
    t = stats.t.ppf(0.975, 99) + stats.t.ppf(0.8, 99)
    assert t * np.sqrt((20 / 99 + d - d**2) / 100) == pytest.approx(d, abs=0.005)  # two digits


def test_a_plan_of_seeds_has_null_where_no_number_is_enough() -> None:
    rng = np.random.default_rng(5)
    sides = []
    for _ in range(2):
        shifts = rng.normal(0, 0.3, 3)
        sides.append({s: frame(rng.normal(shift, 0.2, 40)) for s, shift in enumerate(shifts)})
    found = plan(labelled([FREE], *sides), "score", 0.2, seeds=[1, 2, 200]).set_index("seeds")[
        "samples"
    ]
    assert np.isnan(found[2]) and found[200] > 0
    one_seed = labelled([FREE], *({0: side[0]} for side in sides))
    assert plan(one_seed, "score", 0.2, seeds=[3])["samples"].isna().all()


def test_a_plan_of_seeds_follows_the_variances_of_seeds_and_samples() -> None:
    """n = (u + 2 e / K) / (d^2 / z^2 - 2 s / K), of variances of units, rows and seeds of a side: .25, .36, .01.

    No fewer than t over the seeds' values asks for, of which u is no part.
    """
    rng = np.random.default_rng(6)
    own = rng.normal(0, 0.5, 400)
    sides = []
    for effect in (0.0, own):
        shifts = rng.normal(0, 0.1, 60)
        sides.append({s: frame(effect + rng.normal(x, 0.6, 400)) for s, x in enumerate(shifts)})
    for k, d in ((8, 0.2), (30, 0.2), (4, 0.4)):
        found = plan(labelled([FREE], *sides), "score", d, seeds=[k])["samples"].iloc[0]
        needed = []
        for reach, u in ((stats.norm.ppf(0.975), 0.25), (stats.t.ppf(0.975, k - 1), 0)):
            room = (d / (reach + stats.norm.ppf(0.8))) ** 2 - 2 * 0.01 / k
            needed.append((u + 2 * 0.36 / k) / room)
        assert found == pytest.approx(max(needed), rel=0.2)


def test_plans_that_cannot_be_made() -> None:
    alike = {"": frame(np.arange(9.0))}
    for conditions, message in (
        ([alike], "the runs of two conditions"),
        ([alike, alike], "some of which differ"),
    ):
        with pytest.raises(UsageError, match=message):
            plan(labelled([FREE], *conditions), "score", 0.5)


def test_intervals_of_a_family_take_the_largest_t_of_what_is_left_to_show() -> None:
    """Three candidates of ten units: all 1,024 patterns of Student's t, by scipy; the last left has its own t."""
    rng = np.random.default_rng(5)
    base = rng.normal(0.5, 0.2, 10)
    shared = rng.normal(0, 0.1, 10)
    gains = np.column_stack([shared + rng.normal(0, 0.1, 10) for _ in range(3)])
    sides = [base, *(base + gains.T)]
    conditions = labelled([SCORE], *({"": frame(side)} for side in sides))
    table = compare_all(conditions, R, ["score"])
    signs = np.array(list(product([1, -1], repeat=10)))
    t = stats.ttest_1samp(signs[:, :, None] * gains, 0, axis=1).statistic
    observed = np.abs(stats.ttest_1samp(gains, 0).statistic)
    critical = np.full(3, stats.t.ppf(0.975, 9))
    left = list(np.argsort(observed))
    while len(left) > 1:
        critical[left] = np.quantile(np.abs(t[:, left]).max(axis=1), 0.95)
        if observed[left[-1]] < critical[left[-1]]:
            break
        left.pop()
    else:
        critical[left] = stats.t.ppf(0.975, 9)
    half = critical * stats.sem(gains)
    assert table["ci_method"].eq("t").all()
    assert table["ci_high"].to_numpy() == pytest.approx(gains.mean(axis=0) + half, abs=1e-3)
    is_out = (table["ci_low"] > 0) | (table["ci_high"] < 0)
    assert (is_out == (table["p_adjusted"] <= 0.05)).all()
