"""Intervals of many units: drawn in cells, and the same as those of the plain bootstrap but for Monte-Carlo error."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evaltools.core.metric import Difference, Metric, MetricTable
from evaltools.stats import intervals as bootstrap
from evaltools.stats.cells import LARGE, MAX_CELLS, Cells, UnitColumns, resample_cells
from evaltools.stats.intervals import Method, Resampling, estimate

MEAN = Metric("mean", "f1", "n", "g", "higher", "mean", "test")
RATIO = Metric("ratio", "2*tp", "2*tp + fp", "g", "higher", "ratio", "test")
SLOW = Metric("slow", "ms", "timed", "g", "lower", "ms", "test")
TABLE: MetricTable = [
    MEAN,
    RATIO,
    SLOW,
    Metric("share", "hit", "n", "g", "higher", "share", "test", proportion=True),
    Metric("never", "none", "n", "g", "lower", "never", "test", proportion=True),
    Metric("same", "f1", "n", "g", "higher", "mean under another name", "test"),
    Metric("count", "tp", "", "g", "none", "count", "test"),
    Metric("unmeasured", "hit", "none", "g", "none", "unmeasured", "test"),
    Difference("difference", "ratio", "mean", "g", "higher", "difference", "test"),
    Difference("slower", "slow", "mean", "g", "higher", "difference of a grouped metric", "test"),
]


def units(n: int, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"tp": rng.integers(0, 4, n), "fp": rng.integers(0, 3, n), "hit": rng.random(n) < 0.3})
    f1 = np.round(rng.beta(2, 1, n) * 6) / 6
    ms = np.where(rng.random(n) < 0.9, rng.lognormal(9, 1, n), np.nan)
    return frame.assign(id=np.arange(n), n=1, none=False, f1=f1, ms=ms, timed=~np.isnan(ms))


def of(frame: pd.DataFrame, resampling: Resampling | None = None, table: MetricTable = TABLE) -> pd.DataFrame:
    return estimate(frame, table, "id", resampling or Resampling(n_resamples=4000)).set_index("name")


@pytest.mark.parametrize("method", ["bca", "percentile"])
def test_cells_and_the_plain_bootstrap_agree(method: Method, monkeypatch: pytest.MonkeyPatch) -> None:
    frame, resampling = units(900), Resampling(method, 20_000)
    plain = of(frame, resampling)
    monkeypatch.setattr(bootstrap, "LARGE", 100)
    cells = of(frame, Resampling(method, 20_000, seed=1))
    exact = ["value", "numerator", "denominator"]
    pd.testing.assert_frame_equal(cells[exact], plain[exact], rtol=1e-12)
    same = ["ci_method", "n_units", "group", "better"]
    pd.testing.assert_frame_equal(cells[same], plain[same])
    width = (plain["ci_high"] - plain["ci_low"]).drop(["count", "unmeasured"])
    for bound in ("ci_low", "ci_high"):
        # a bound of 20,000 resamples has a standard error of about 0.005 widths
        assert ((cells[bound] - plain[bound]).abs().loc[width.index] / width).max() < 0.04


def test_the_path_changes_above_the_limit_only() -> None:
    frame = units(LARGE + 1)
    for n, path in ((LARGE, "plain"), (LARGE + 1, "cells")):
        tp, fp = (frame[c][:n].to_numpy(float) for c in ("tp", "fp"))

        def ratio(tp: np.ndarray, fp: np.ndarray, axis: int = -1) -> np.ndarray:
            return 2 * tp.sum(axis) / (2 * tp.sum(axis) + fp.sum(axis))

        expected = stats.bootstrap(
            (tp, fp),
            ratio,
            paired=True,
            n_resamples=300,
            method="BCa",
            rng=np.random.default_rng(0),
            batch=bootstrap.CHUNK,
        ).confidence_interval
        got = of(frame[:n], Resampling(n_resamples=300), [RATIO]).loc["ratio"]
        assert (got["ci_low"] == pytest.approx(expected.low, abs=1e-12)) == (path == "plain")
        assert got["ci_low"] == pytest.approx(expected.low, abs=0.01)


def test_a_share_of_many_is_binomial() -> None:
    n, k = 40_000, 12_000
    frame = pd.DataFrame({"id": np.arange(n), "hit": np.arange(n) < k, "n": 1})
    got = of(frame, Resampling("percentile", 50_000), [TABLE[3]]).loc["share"]
    low, high = stats.binom.ppf([0.025, 0.975], n, k / n) / n
    assert (got["ci_low"], got["ci_high"]) == pytest.approx((low, high), abs=2e-4)


def test_the_mean_of_many_different_values_has_the_bounds_of_its_normal_limit() -> None:
    frame = units(50_000)
    ms = frame["ms"].dropna()
    got = of(frame, Resampling(n_resamples=20_000)).loc["slow"]
    half = 1.96 * ms.std(ddof=0) / np.sqrt(len(ms))
    assert got["value"] == pytest.approx(ms.mean(), rel=1e-12)
    assert got["ci_low"] == pytest.approx(ms.mean() - half, abs=0.06 * half)
    assert got["ci_high"] == pytest.approx(ms.mean() + half, abs=0.06 * half)


def test_grouped_sums_keep_mean_covariance_and_skewness() -> None:
    rng = np.random.default_rng(3)
    n = 5000
    x = rng.lognormal(0, 1.2, n)
    rows = np.column_stack([x, x * rng.random(n), np.ones(n)])
    assert n > MAX_CELLS
    drawn = resample_cells(Cells(rows, np.ones(n)), x, 40_000, rng) / np.sqrt(n)
    # of n independent draws: mean n * mean, covariance n * covariance, skewness that of one draw / sqrt(n)
    assert drawn.mean(axis=0) == pytest.approx(rows.mean(axis=0) * np.sqrt(n), rel=2e-3)
    assert np.cov(drawn.T)[:2, :2] == pytest.approx(np.cov(rows.T)[:2, :2], rel=0.05)
    assert drawn[:, 2] == pytest.approx(np.sqrt(n), rel=1e-9)
    assert stats.skew(drawn[:, 0]) == pytest.approx(stats.skew(x) / np.sqrt(n), abs=0.04)


def test_the_same_sums_have_the_same_interval_whatever_else_is_in_the_table() -> None:
    frame = units(LARGE + 500)
    whole, alone = of(frame), of(frame, table=[MEAN])
    bounds = ["value", "ci_low", "ci_high"]
    assert whole.loc["mean", bounds].tolist() == whole.loc["same", bounds].tolist()
    assert whole.loc["mean", bounds].tolist() == alone.loc["mean", bounds].tolist()


def test_deterministic_and_independent_of_the_order_of_units() -> None:
    frame = units(LARGE + 500)
    again, shuffled = of(frame), of(frame.sample(frac=1, random_state=1))
    pd.testing.assert_frame_equal(again, of(frame), check_exact=True)
    pd.testing.assert_frame_equal(again, shuffled, rtol=1e-9)
    assert (again["ci_low"] != of(frame, Resampling(n_resamples=4000, seed=1))["ci_low"]).any()


def test_zero_of_many_gets_wilson_and_no_measurement_no_interval() -> None:
    got = of(units(LARGE + 1))
    assert got.loc["never", "ci_method"] == "wilson"
    # 0 of n: z^2 / (n + z^2)
    assert got.loc["never", "ci_high"] == pytest.approx(3.8415 / (LARGE + 1 + 3.8415), rel=1e-4)
    assert got.loc[["count", "unmeasured"], "ci_low"].isna().all()
    assert got.loc["slow", "n_units"] == units(LARGE + 1)["timed"].sum()


def test_clusters_are_drawn_whole() -> None:
    rng = np.random.default_rng(5)
    m = LARGE + 100
    size = rng.integers(1, 4, m)
    q = np.repeat(rng.beta(1, 1, m), size)
    rows = pd.DataFrame({"id": np.repeat(np.arange(m), size), "hit": rng.random(len(q)) < q, "n": 1})
    summed = rows.groupby("id", as_index=False).sum()
    a, b = (of(f, table=[TABLE[3]]).loc["share"] for f in (rows, summed))
    assert a["n_units"] == b["n_units"] == m
    assert (a["ci_low"], a["ci_high"]) == (b["ci_low"], b["ci_high"])


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(-2, 3), st.integers(0, 2), st.floats(0, 1)), min_size=1, max_size=60))
def test_cells_are_the_distinct_rows_and_their_counts(rows: list[tuple[int, int, float]]) -> None:
    frame = pd.DataFrame(rows, columns=["a", "b", "c"]).assign(id=range(len(rows)))
    cells = UnitColumns(frame, "id").cells(["a", "b", "c"])
    expected, counts = np.unique(frame[["a", "b", "c"]].to_numpy(float), axis=0, return_counts=True)
    assert cells.rows.tolist() == expected.tolist()
    assert cells.counts.tolist() == counts.tolist()
