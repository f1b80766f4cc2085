"""Intervals of many units: in closed form, and those of the bootstrap but for its Monte-Carlo error."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from evaltools.core.metric import Difference, Mean, Metric, MetricTable
from evaltools.core.resampling import Method, Resampling
from evaltools.stats import bootstrap, measured
from evaltools.stats.arrays import LARGE
from evaltools.stats.bootstrap import closed_bounds
from evaltools.stats.intervals import estimate

MEAN = Metric(name="mean", numerator="f1", denominator="n", group="g", better="higher")
RATIO = Metric(name="ratio", numerator="2*tp", denominator="2*tp + fp", group="g", better="higher")
SLOW = Metric(
    name="slow", numerator="ms", denominator="timed", group="g", better="lower", title="ms"
)
TABLE: MetricTable = [
    MEAN,
    RATIO,
    SLOW,
    Metric(
        name="share", numerator="hit", denominator="n", group="g", better="higher", proportion=True
    ),
    Metric(
        name="never", numerator="none", denominator="n", group="g", better="lower", proportion=True
    ),
    Metric(
        name="same",
        numerator="f1",
        denominator="n",
        group="g",
        better="higher",
        title="mean under another name",
    ),
    Metric(name="count", numerator="tp", denominator="", group="g", better="none"),
    Metric(name="unmeasured", numerator="hit", denominator="none", group="g", better="none"),
    Difference(name="difference", minuend="ratio", subtrahend="mean", group="g", better="higher"),
    Difference(
        name="slower",
        minuend="slow",
        subtrahend="mean",
        group="g",
        better="higher",
        title="difference of a grouped metric",
    ),
    Mean(name="overall", of=("mean", "ratio", "share"), group="g", better="higher"),
]


def units(n: int, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {"tp": rng.integers(0, 4, n), "fp": rng.integers(0, 3, n), "hit": rng.random(n) < 0.3}
    )
    f1 = np.round(rng.beta(2, 1, n) * 6) / 6
    ms = np.where(rng.random(n) < 0.9, rng.lognormal(9, 1, n), np.nan)
    return frame.assign(id=np.arange(n), n=1, none=False, f1=f1, ms=ms, timed=~np.isnan(ms))


def of(
    frame: pd.DataFrame, resampling: Resampling | None = None, table: MetricTable = TABLE
) -> pd.DataFrame:
    return estimate(frame, table, "id", resampling or Resampling(n_resamples=4000)).set_index(
        "name"
    )


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("method", ["bca", "percentile"])
def test_closed_form_and_bootstrap_agree(
    method: Method, clustered: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame, resampling = units(1800), Resampling(method=method, n_resamples=20_000)
    if clustered:
        frame["id"] = np.arange(1800) // 3
    drawn = of(frame, resampling)
    for module in (bootstrap, measured):
        monkeypatch.setattr(module, "LARGE", 100)
    closed = of(frame, resampling)
    exact = ["value", "numerator", "denominator"]
    pd.testing.assert_frame_equal(closed[exact], drawn[exact], rtol=1e-12)
    same = ["title", "n_units", "group", "better"]
    pd.testing.assert_frame_equal(closed[same], drawn[same])
    name = {"bca": "abc"}
    assert closed["ci_method"].tolist() == [name.get(m, m) for m in drawn["ci_method"]]
    width = (drawn["ci_high"] - drawn["ci_low"]).drop(["count", "unmeasured"])
    for bound in ("ci_low", "ci_high"):
        # a bound of 20,000 resamples has a standard error of about 0.005 widths (percentile) and 0.009 (BCa)
        assert ((closed[bound] - drawn[bound]).abs().loc[width.index] / width).max() < 0.03


def test_the_interval_of_a_textbook() -> None:
    """Variance of 26 spatial tests (Efron and Tibshirani 1993, table 14.2): 171.5, ABC 90% from 116.7 to 260.9."""
    a = np.array(
        [
            48,
            36,
            20,
            29,
            42,
            42,
            20,
            42,
            22,
            41,
            45,
            14,
            6,
            0,
            33,
            28,
            34,
            4,
            32,
            24,
            47,
            41,
            24,
            26,
            30,
            41.0,
        ]
    )
    n = len(a)
    influence = (a - a.mean()) ** 2 - a.var()
    errors = influence[:, None] / n

    def variance(step: np.ndarray) -> np.ndarray:
        w = (1 + step * errors[:, 0]) / (1 + step * errors[:, 0]).sum()
        return np.array([w @ a**2 - (w @ a) ** 2])

    # second derivative in the direction of unit i: -2 (a_i - mean)^2
    bias = np.array([np.sum(-2 * (a - a.mean()) ** 2) / (2 * n**2)])
    low, high = closed_bounds(errors, bias, variance, Resampling(confidence=0.9))
    assert variance(np.zeros(1))[0] == pytest.approx(171.5, abs=0.05)
    assert (low[0], high[0]) == pytest.approx((116.7, 260.9), abs=0.5)


@pytest.mark.parametrize("at_once", [1, 5 * (LARGE + 1)])
def test_some_metrics_at_a_time_make_no_difference(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = units(LARGE + 1)
    whole = of(frame)
    monkeypatch.setattr(measured, "AT_ONCE", at_once)
    pd.testing.assert_frame_equal(of(frame), whole, rtol=1e-12)
    with pytest.raises(ValueError, match="doubled metric"):
        of(frame, table=[MEAN, RATIO, MEAN])


def test_bounds_of_a_rare_event_end_at_its_limits() -> None:
    n = LARGE + 1
    got = of(
        pd.DataFrame({"id": np.arange(n), "hit": np.arange(n) < 2, "n": 1}),
        table=[TABLE[3]],
        resampling=Resampling(method="bca"),
    ).loc["share"]
    assert got["ci_method"] == "abc"
    assert 0.0 <= got["ci_low"] < 2 / n < got["ci_high"] < 10 / n


def test_the_path_changes_above_the_limit_only() -> None:
    frame = units(LARGE + 1)
    for n, path in ((LARGE, "drawn"), (LARGE + 1, "closed")):
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
        got = of(frame[:n], Resampling(method="bca", n_resamples=300), [RATIO]).loc["ratio"]
        assert (got["ci_low"] == pytest.approx(expected.low, abs=1e-12)) == (path == "drawn")
        assert got["ci_low"] == pytest.approx(expected.low, abs=0.01)


def test_a_share_of_many_is_binomial() -> None:
    n, k = 40_000, 12_000
    frame = pd.DataFrame({"id": np.arange(n), "hit": np.arange(n) < k, "n": 1})
    got = of(frame, Resampling(method="percentile", n_resamples=50_000), [TABLE[3]]).loc["share"]
    low, high = stats.binom.ppf([0.025, 0.975], n, k / n) / n
    assert (got["ci_low"], got["ci_high"]) == pytest.approx((low, high), abs=2e-4)


def test_the_mean_of_many_different_values_has_the_bounds_of_its_normal_limit() -> None:
    frame = units(50_000)
    ms = frame["ms"].dropna()
    got = of(frame, Resampling(n_resamples=20_000)).loc["slow"]
    half = 1.96 * ms.std(ddof=0) / np.sqrt(len(ms))
    assert got["value"] == pytest.approx(ms.mean(), rel=1e-12)
    assert got["ci_low"] == pytest.approx(ms.mean() - half, abs=0.03 * half)
    assert got["ci_high"] == pytest.approx(ms.mean() + half, abs=0.03 * half)


def test_the_same_sums_have_the_same_interval_whatever_else_is_in_the_table() -> None:
    frame = units(LARGE + 500)
    whole, alone = of(frame), of(frame, table=[MEAN])
    bounds = ["value", "ci_low", "ci_high"]
    assert whole.loc["mean", bounds].tolist() == whole.loc["same", bounds].tolist()
    assert whole.loc["mean", bounds].tolist() == pytest.approx(
        alone.loc["mean", bounds].tolist(), rel=1e-12
    )


def test_nothing_is_drawn_and_the_order_of_units_does_not_matter() -> None:
    frame = units(LARGE + 500)
    again, shuffled = of(frame), of(frame.sample(frac=1, random_state=1))
    pd.testing.assert_frame_equal(again, of(frame), check_exact=True)
    pd.testing.assert_frame_equal(again, shuffled, rtol=1e-9)
    pd.testing.assert_frame_equal(
        again, of(frame, Resampling(n_resamples=100, seed=1)), check_exact=True
    )


def test_zero_of_many_gets_mid_p_and_no_measurement_no_interval() -> None:
    got = of(units(LARGE + 1))
    assert got.loc["never", "ci_method"] == "mid-p"
    # 0 of n: half of (1 - p)^n is 2.5%
    assert got.loc["never", "ci_high"] == pytest.approx(1 - 0.05 ** (1 / (LARGE + 1)), rel=1e-6)
    assert got.loc[["count", "unmeasured"], "ci_low"].isna().all()
    assert got.loc["slow", "n_units"] == units(LARGE + 1)["timed"].sum()


def test_clusters_are_summed_first() -> None:
    rng = np.random.default_rng(5)
    m = LARGE + 100
    size = rng.integers(1, 4, m)
    q = np.repeat(rng.beta(1, 1, m), size)
    rows = pd.DataFrame(
        {"id": np.repeat(np.arange(m), size), "hit": rng.random(len(q)) < q, "n": 1}
    )
    summed = rows.groupby("id", as_index=False).sum()
    a, b = (of(f, table=[TABLE[3]]).loc["share"] for f in (rows, summed))
    assert a["n_units"] == b["n_units"] == m
    assert (a["ci_low"], a["ci_high"]) == (b["ci_low"], b["ci_high"])
