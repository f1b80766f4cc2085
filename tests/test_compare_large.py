"""Comparisons and aggregates of many units: from cells of units that are alike, and the same as from the units."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from evaltools.stats import compare as compare_module
from evaltools.stats import crossed, seeds
from evaltools.stats.cells import LARGE, MAX_CELLS, flip_cells
from evaltools.stats.compare import compare, sign_flip
from evaltools.stats.crossed import Alike, grid
from evaltools.stats.intervals import Method, Resampling
from evaltools.stats.seeds import aggregate, completeness, seed_values
from tests.test_compare import ERRORS, TABLE, Runs, two

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
    """Above n units, cells are drawn."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (compare_module, crossed, seeds):
            patch.setattr(module, "LARGE", n)
        yield


def of(a: Runs, b: Runs, resampling: Resampling = R) -> pd.DataFrame:
    c = compare(a, b, TABLE, "id", resampling, ("mean", "errors"), n_permutations=4000)
    return pd.concat([c.table, c.descriptive]).set_index("metric")


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("method", ["bca", "percentile"])
def test_cells_and_units_agree(name: str, method: Method) -> None:
    a, b = case(name, 700)
    with limit(100):
        cells = of(a, b, Resampling(method, 20_000, seed=1))
    units = of(a, b, Resampling(method, 20_000))
    pd.testing.assert_frame_equal(cells.drop(columns=[*DRAWN, "verdict"]), units.drop(columns=[*DRAWN, "verdict"]))
    width = (units["ci_high"] - units["ci_low"]).dropna()
    assert len(width) == 5
    for bound in ("ci_low", "ci_high"):
        # a bound of 20,000 resamples has a standard error of about 0.005 widths
        assert ((cells[bound] - units[bound]).abs()[width.index] / width).max() < 0.04
    # p of 4,000 patterns has a standard error of at most 0.008
    assert (cells["p_samples"] - units["p_samples"]).abs().max() < 0.04


def test_the_path_changes_above_the_limit_only() -> None:
    a, b = case("one seed each", LARGE + 1)
    for n, same in ((LARGE, True), (LARGE + 1, False)):
        one, other = ({s: f.iloc[:n] for s, f in side.items()} for side in (a, b))
        got = of(one, other)
        with limit(n):
            units = of(one, other)
        assert got.equals(units) == same


@pytest.mark.parametrize("name", CASES)
def test_swapping_negates_and_keeps_every_bit(name: str) -> None:
    a, b = case(name)
    x, y = of(a, b), of(b, a)
    for one, other in (("delta", "delta"), ("ci_low", "ci_high"), ("ci_high", "ci_low")):
        pd.testing.assert_series_equal(x[one], -y[other], check_exact=True, check_names=False)
    for same in ("p_value", "p_adjusted", "p_samples", "mde", "n_units", "n_seeds", "ci_method", "claim"):
        pd.testing.assert_series_equal(x[same], y[same], check_exact=True)


@pytest.mark.parametrize("name", CASES)
def test_order_of_rows_and_seeds_changes_no_bit(name: str) -> None:
    a, b = case(name)

    def shuffled(runs: Runs) -> Runs:
        return {s: f.sample(frac=1, random_state=1) for s, f in reversed(runs.items())}

    pd.testing.assert_frame_equal(of(a, b), of(shuffled(a), shuffled(b)), check_exact=True)


def test_equal_contents_are_tied_with_a_delta_of_exactly_zero() -> None:
    a, _ = case("three seeds")
    found = of(a, {s: f.copy() for s, f in a.items()}).drop(["share", "count"])
    assert (found["delta"] == 0.0).all()
    assert (found["p_value"] == 1.0).all()
    assert found["ci_low"].isna().all()


def test_the_same_metric_has_the_same_draws_whatever_else_is_in_the_table() -> None:
    a, b = case("one seed each")
    alone = compare(a, b, [ERRORS], "id", R, n_permutations=4000).table.set_index("metric")
    columns = ["delta", "ci_low", "ci_high", "p_value"]
    assert of(a, b).loc["errors", columns].tolist() == alone.loc["errors", columns].tolist()


def test_a_difference_of_shares_is_a_sign_test() -> None:
    """m units differ, k of them one way: p is that of the binomial test, k of m at 1/2."""
    n, m, k = 50_000, 3_000, 1_560
    a = pd.DataFrame({"id": np.arange(n), "n": 1, "bad": np.arange(n) < k})
    b = a.assign(bad=(np.arange(n) >= k) & (np.arange(n) < m))
    row = compare({1: a}, {1: b}, [ERRORS], "id", Resampling(), n_permutations=100_000).table.iloc[0]
    expected = stats.binomtest(k, m).pvalue
    assert row["p_value"] == pytest.approx(expected, abs=4 * np.sqrt(expected / 100_000))
    half = stats.norm.ppf(0.975) * np.sqrt(m / n - ((2 * k - m) / n) ** 2) / np.sqrt(n)
    assert row["ci_high"] - row["delta"] == pytest.approx(half, rel=0.05)


def test_signs_of_units_that_differ_alike() -> None:
    rng = np.random.default_rng(3)
    sizes, counts = rng.normal(0.1, 1, 6), np.array([1.0, 3, 2, 1, 1, 2])
    whole = np.repeat(sizes, counts.astype(int))[:, None]
    for permutations in (2000, 400):  # all 2 ** 10 patterns, and some of them
        assert sign_flip(sizes[:, None], permutations, 0, counts) == pytest.approx(sign_flip(whole, permutations, 0))
    counts *= 1000
    p = sign_flip(np.array([[1.0], [-1.0], [0.5]]), 50_000, 0, np.array([1520.0, 1480, 10]))
    # the sum is 45; of 3,010 signs it has variance 3000 + 10 / 4
    assert p == pytest.approx([2 * stats.norm.sf((45 - 0.25) / np.sqrt(3002.5))], abs=0.01)


def test_grouped_sizes_keep_the_moments_and_the_p_of_single_flips() -> None:
    rng = np.random.default_rng(5)
    n = 4000
    sizes = rng.lognormal(0, 1.5, n) * rng.choice([-1, 1], n)
    assert n > MAX_CELLS
    drawn = flip_cells(sizes, np.ones(n), 100_000, rng)
    signs = rng.choice([-1.0, 1.0], (4000, n)) @ sizes
    assert drawn.mean() == pytest.approx(0, abs=4 * drawn.std() / np.sqrt(100_000))
    assert drawn.var() == pytest.approx((sizes**2).sum(), rel=0.02)
    # excess kurtosis of a sum of signs: -2 * sum d^4 / (sum d^2)^2
    assert stats.kurtosis(drawn) == pytest.approx(-2 * (sizes**4).sum() / (sizes**2).sum() ** 2, abs=0.05)
    assert stats.ks_2samp(drawn, signs).pvalue > 0.001


def test_cells_of_both_sides_are_the_distinct_rows() -> None:
    a, b = (grid(side, "id") for side in case("incomplete", 300))
    units = a.units.intersection(b.units)
    a, b = a.take(a.seeds, units), b.take(b.seeds, units)
    found = Alike([a, b]).cross(("tp", "n"), (0, 1))
    rows = np.concatenate([g.sums(("tp", "n")) for g in (a, b)])
    present = np.concatenate([a.present, b.present]).T
    whole = np.hstack([rows.transpose(1, 0, 2).reshape(len(units), -1), present])
    expected, counts = np.unique(whole, axis=0, return_counts=True)
    sums = np.concatenate([c.sums for c in found]).transpose(1, 0, 2).reshape(len(expected), -1)
    got = np.hstack([sums, np.concatenate([c.present for c in found]).T])
    assert got.tolist() == expected.tolist()
    assert found[0].counts.tolist() == counts.tolist()


@pytest.mark.parametrize("name", CASES)
def test_aggregates_from_cells_and_from_units_agree(name: str) -> None:
    for runs in case(name, 700):
        with limit(100):
            cells = aggregate(runs, TABLE, "id", R), seed_values(runs, TABLE, "id"), completeness(runs, TABLE, "id")
        pd.testing.assert_frame_equal(cells[0], aggregate(runs, TABLE, "id", R), rtol=1e-9)
        pd.testing.assert_frame_equal(cells[1], seed_values(runs, TABLE, "id"), rtol=1e-12)
        assert cells[2] == completeness(runs, TABLE, "id")


def test_clusters_are_summed_first() -> None:
    a, b = case("one seed each", 3 * N)
    names = [f"d{i // 3:05d}" for i in range(3 * N)]
    # sixteenths add without rounding
    rows = [{1: f[1].assign(id=names, y=(f[1]["y"] * 16).round() / 16)} for f in (a, b)]
    summed = [{1: f[1].groupby("id", as_index=False).sum()} for f in rows]
    x, y = of(*rows), of(*summed)
    assert (x["n_units"] <= N).all()
    pd.testing.assert_frame_equal(x, y, rtol=1e-9)
