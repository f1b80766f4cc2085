"""Comparisons and aggregates of many units: in closed form, and the same as drawn but for Monte-Carlo error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from evaltools.core.resampling import Method, Resampling
from evaltools.stats import bootstrap, measured
from evaltools.stats.arrays import LARGE
from evaltools.stats.compare import compare
from evaltools.stats.seeds import aggregate
from evaltools.stats.sign_flips import normal_p, sign_flip
from tests.stats.comparing import ERRORS, TABLE, Runs, two

R = Resampling(n_resamples=2000)
N = LARGE + 300
DRAWN = ["p_value", "p_samples", "p_adjusted", "ci_low", "ci_high"]


def rounded(runs: Runs) -> Runs:
    """Values of which many units have the same (but for the mean, which stays as it is in seed 456)."""
    return {s: f if s == 456 else f.assign(y=f["y"].round(1)) for s, f in runs.items()}


def case(name: str, n: int = N) -> tuple[Runs, Runs]:
    if name == "one seed each":
        a, b = two(n, seeds=(1,), shift=0.003)
    elif name == "no seed in common":
        a, b = two(n, seeds=(1, 2))[0], two(n, seeds=(3, 4, 456))[1]
    elif name == "one against three":
        a, b = two(n, seeds=(1,))[0], two(n, seeds=(3, 4, 5))[1]
    else:
        a, b = two(n)
        if name == "incomplete":
            b = {s: f.iloc[s % 7 :: 1 + s % 2] for s, f in b.items()}  # type: ignore[operator]
    return rounded(a), rounded(b)


CASES = ["one seed each", "three seeds", "no seed in common", "one against three", "incomplete"]


@contextmanager
def limit(n: int) -> Iterator[None]:
    """Above n units nothing is drawn, and metrics go one at a time."""
    with pytest.MonkeyPatch.context() as patch, one_at_a_time(n):
        patch.setattr(bootstrap, "LARGE", n)
        yield


@contextmanager
def one_at_a_time(n: int) -> Iterator[None]:
    """Above n units metrics go one at a time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measured, "LARGE", n)
        patch.setattr(measured, "AT_ONCE", 1)
        yield


def of(a: Runs, b: Runs, resampling: Resampling = R) -> pd.DataFrame:
    c = compare(a, b, TABLE, "id", resampling, ("mean", "errors"), n_permutations=4000)
    return c.table.set_index("metric")


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("method", ["bca", "percentile"])
def test_closed_forms_and_draws_agree(name: str, method: Method) -> None:
    a, b = case(name, 700)
    with limit(100):
        closed = of(a, b, Resampling(method=method, n_resamples=20_000))
    drawn = of(a, b, Resampling(method=method, n_resamples=20_000))
    apart = [*DRAWN, "verdict", "ci_method"]
    pd.testing.assert_frame_equal(closed.drop(columns=apart), drawn.drop(columns=apart))
    names = {"bca": "abc"}
    assert closed["ci_method"].tolist() == [names.get(m, m) for m in drawn["ci_method"]]
    width = (drawn["ci_high"] - drawn["ci_low"]).dropna()
    assert len(width) == 4
    for bound in ("ci_low", "ci_high"):
        # a bound of 20,000 resamples has a standard error of about 0.005 widths (percentile) and 0.009 (BCa)
        assert ((closed[bound] - drawn[bound]).abs()[width.index] / width).max() < 0.03
    # p of 4,000 patterns has a standard error of at most 0.008
    assert (closed["p_samples"] - drawn["p_samples"]).abs().max() < 0.03


def test_the_path_changes_above_the_limit_only() -> None:
    a, b = case("one seed each", LARGE + 1)
    for n, same in ((LARGE, True), (LARGE + 1, False)):
        one, other = ({s: f.iloc[:n] for s, f in side.items()} for side in (a, b))
        got = of(one, other)
        with limit(n):
            drawn = of(one, other)
        assert got["ci_low"].equals(drawn["ci_low"]) == same


@pytest.mark.parametrize("name", CASES)
def test_swapping_negates_and_keeps_every_bit(name: str) -> None:
    a, b = case(name)
    x, y = of(a, b), of(b, a)
    for one, other in (("delta", "delta"), ("ci_low", "ci_high"), ("ci_high", "ci_low")):
        pd.testing.assert_series_equal(x[one], -y[other], check_exact=True, check_names=False)
    for same in (
        "p_value",
        "p_adjusted",
        "p_samples",
        "mde",
        "n_units",
        "n_seeds",
        "ci_method",
        "claim",
    ):
        pd.testing.assert_series_equal(x[same], y[same], check_exact=True)


@pytest.mark.parametrize("name", CASES)
def test_order_of_rows_and_seeds_changes_no_bit(name: str) -> None:
    a, b = case(name)

    def shuffled(runs: Runs) -> Runs:
        return {s: f.sample(frac=1, random_state=1) for s, f in reversed(runs.items())}

    pd.testing.assert_frame_equal(of(a, b), of(shuffled(a), shuffled(b)), check_exact=True)


def test_equal_contents_are_identical_with_a_delta_of_exactly_zero() -> None:
    a, _ = case("three seeds")
    found = of(a, {s: f.copy() for s, f in a.items()})
    assert (found["delta"] == 0.0).all()
    assert (found["p_value"] == 1.0).all()
    assert found["ci_low"].isna().all()


def test_the_same_metric_has_the_same_numbers_whatever_else_is_in_the_table() -> None:
    a, b = case("one seed each")
    alone = compare(a, b, [ERRORS], "id", R, n_permutations=4000).table.set_index("metric")
    columns = ["delta", "ci_low", "ci_high", "p_value"]
    found = of(a, b).loc["errors", columns].tolist()
    assert found == pytest.approx(alone.loc["errors", columns].tolist(), rel=1e-9)


def test_a_difference_of_shares_is_a_sign_test() -> None:
    """m units differ, k of them one way: p is that of the binomial test, k of m at 1/2, mid-p."""
    n, m, k = 50_000, 3_000, 1_560
    a = pd.DataFrame({"id": np.arange(n), "n": 1, "bad": np.arange(n) < k})
    b = a.assign(bad=(np.arange(n) >= k) & (np.arange(n) < m))
    row = compare({1: a}, {1: b}, [ERRORS], "id", Resampling(), n_permutations=100_000).table.iloc[
        0
    ]
    expected = stats.binomtest(k, m).pvalue - stats.binom.pmf(k, m, 0.5)
    assert row["p_value"] == pytest.approx(expected, rel=1e-9)
    half = stats.norm.ppf(0.975) * np.sqrt(m / n - ((2 * k - m) / n) ** 2) / np.sqrt(n)
    assert row["ci_high"] - row["delta"] == pytest.approx(half, rel=0.05)


def normal_flips(d: np.ndarray) -> np.ndarray:
    """The p of every column of differences by the normal limit."""
    return np.array([normal_p(column.sum(), np.abs(column[column != 0])) for column in d.T])


@pytest.mark.parametrize(("k", "m"), [(16, 20), (40, 60), (520, 1000), (500, 1000)])
def test_normal_flips_of_one_size_are_the_binomial_test(k: int, m: int) -> None:
    d = np.repeat([0.1, -0.1, 0.0], [k, m - k, 5000])[:, None]
    assert normal_flips(d) == pytest.approx([stats.binomtest(k, m).pvalue], rel=0.03, abs=0.003)


def test_normal_flips_are_the_limit_of_random_ones() -> None:
    rng = np.random.default_rng(3)
    d = rng.lognormal(0, 1, (1500, 4)) * rng.choice([-1, 1], (1500, 4)) + np.array(
        [0, 0.05, 0.1, 0.2]
    )
    assert normal_flips(d) == pytest.approx(sign_flip(d, 20_000, 0), abs=0.012)
    assert sign_flip(np.zeros((LARGE + 1, 2)), 1000, 0).tolist() == [1.0, 1.0]
    assert normal_flips(-d).tolist() == normal_flips(d).tolist()


def test_normal_flips_of_multiples_of_one_size_are_exact_but_for_the_limit() -> None:
    """Thirds: 24 units by 1, 30 by 1/3; the distribution of the sum by convolution."""
    m = np.repeat([3, 1], [24, 30])
    pmf = np.ones(1)
    for step in m:
        pmf = np.convolve(pmf, [0.5, *np.zeros(2 * step - 1), 0.5])
    sums = np.arange(len(pmf)) - m.sum()
    signs = np.where(np.arange(54) % 3 > 0, 1, -1)
    expected = pmf[np.abs(sums) >= abs((m * signs).sum())].sum()
    assert normal_flips((m * signs / 3)[:, None]) == pytest.approx([expected], abs=0.003)


def test_few_units_that_differ_are_enumerated_however_many_do_not() -> None:
    few = np.array([[1.0], [1.0], [2.0], [1.5]])
    whole = np.vstack([few, np.zeros((LARGE, 1))])
    assert sign_flip(whole, 1000, 0).tolist() == sign_flip(few, 1000, 0).tolist() == [2 / 16]


@pytest.mark.parametrize("name", CASES)
def test_aggregates_of_some_metrics_at_a_time_are_the_same(name: str) -> None:
    for runs in case(name, 700):
        with one_at_a_time(100):
            apart = aggregate({"": runs}, TABLE, "id", R)[""]
        pd.testing.assert_frame_equal(apart, aggregate({"": runs}, TABLE, "id", R)[""], rtol=1e-9)


def test_clusters_are_summed_first() -> None:
    a, b = case("one seed each", 3 * N)
    names = [f"d{i // 3:05d}" for i in range(3 * N)]
    # sixteenths add without rounding
    rows = [{1: f[1].assign(id=names, y=(f[1]["y"] * 16).round() / 16)} for f in (a, b)]
    summed = [{1: f[1].groupby("id", as_index=False).sum()} for f in rows]
    x, y = of(*rows), of(*summed)
    assert (x["n_units"] <= N).all()
    pd.testing.assert_frame_equal(x, y, rtol=1e-9)
