"""Intervals of one run: equality with scipy, and what is said where the data carry no bootstrap."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evaltools.core.estimates import Method, Resampling
from evaltools.core.messages import UsageError
from evaltools.core.metric import AnyMetric, Mean, MetricTable
from evaltools.stats.breakdown import breakdown
from evaltools.stats.effects import MIN_UNITS
from evaltools.stats.formulas import gains_and_losses, wilson
from evaltools.stats.intervals import estimate
from tests.stats.comparing import COUNT, MEAN, MICRO, minus, ratio, run

TABLE: MetricTable = [
    MICRO,
    MEAN,
    minus("difference", "micro", "mean"),
]
RATE: MetricTable = [ratio("rate", "x", proportion=True)]


QUICK = Resampling(n_resamples=2000)


def units(n: int) -> pd.DataFrame:
    return run(np.random.default_rng(1), np.zeros(n))


def of(frame: pd.DataFrame, table: MetricTable, resampling: Resampling = QUICK) -> pd.DataFrame:
    return estimate(frame, table, "id", resampling).set_index("name")


def micro(tp: np.ndarray, fp: np.ndarray, y: np.ndarray, axis: int = -1) -> np.ndarray:
    return 2 * tp.sum(axis) / (2 * tp.sum(axis) + fp.sum(axis))


STATISTICS = {
    "micro": micro,
    "mean": lambda tp, fp, y, axis=-1: y.mean(axis),
    "difference": lambda tp, fp, y, axis=-1: micro(tp, fp, y, axis) - y.mean(axis),
}


@pytest.mark.parametrize("method", ["bca", "percentile"])
@pytest.mark.parametrize(("n", "confidence"), [(25, 0.95), (120, 0.9)])
def test_bounds_equal_scipy(method: Method, n: int, confidence: float) -> None:
    frame = units(n)
    columns = [frame[name].to_numpy(float) for name in ("tp", "fp", "y")]
    settings = Resampling(method=method, n_resamples=1500, confidence=confidence, seed=7)
    got = of(frame, TABLE, settings)
    for name, statistic in STATISTICS.items():
        expected = stats.bootstrap(
            columns,
            statistic,
            paired=True,
            vectorized=True,
            n_resamples=1500,
            confidence_level=confidence,
            method="BCa" if method == "bca" else "percentile",
            rng=np.random.default_rng(7),
            batch=128,  # the package draws in blocks of this size from the same stream
        ).confidence_interval
        row = got.loc[name]
        assert row["ci_method"] == method
        assert (row["ci_low"], row["ci_high"]) == pytest.approx(tuple(expected), abs=1e-12)


@pytest.mark.parametrize(("k", "n"), [(0, 9), (9, 9), (0, 50), (3, 9), (50, 50)])
def test_proportions_get_mid_p(k: int, n: int) -> None:
    """At a bound so many or more (or so few or fewer) have 2.5%, the observed number counting half."""
    frame = pd.DataFrame({"id": range(n), "x": [1] * k + [0] * (n - k), "n": 1})
    row = of(frame, RATE).loc["rate"]
    assert row["ci_method"] == "mid-p"
    low, high = row["ci_low"], row["ci_high"]
    if k > 0:
        more, here = stats.binom.sf(k, n, low), stats.binom.pmf(k, n, low)
        assert more + here / 2 == pytest.approx(0.025, abs=1e-9)
    else:
        assert low == 0
    if k < n:
        fewer, here = stats.binom.cdf(k - 1, n, high), stats.binom.pmf(k, n, high)
        assert fewer + here / 2 == pytest.approx(0.025, abs=1e-9)
    else:
        assert high == 1


@given(st.integers(1, 400), st.data(), st.sampled_from([0.8, 0.95, 0.99]))
def test_wilson_equals_scipy(n: int, data: st.DataObject, confidence: float) -> None:
    k = data.draw(st.integers(0, n))
    expected = stats.binomtest(k, n).proportion_ci(confidence, method="wilson")
    low, high = wilson(k / n, n, stats.norm.ppf(0.5 + confidence / 2))
    assert (low, high) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_few_units_have_no_interval_without_limits() -> None:
    assert (of(units(MIN_UNITS - 1), TABLE)["ci_method"] == "none").all()
    assert of(units(MIN_UNITS), TABLE).loc["mean", "ci_method"] == "bca-t"


def test_no_unit() -> None:
    none = of(units(0), [*TABLE, COUNT])
    assert none.loc[["micro", "mean", "difference"], "value"].isna().all()
    assert none.loc["count", "value"] == 0
    assert (none["n_units"] == 0).all()


def test_rows_of_a_cluster_are_resampled_together() -> None:
    """Turn rows and their sums a dialogue are the same data; resampling turns would be narrower."""
    rng = np.random.default_rng(5)
    size = rng.integers(1, 9, 30)
    q = np.repeat(rng.beta(1, 1, 30), size)
    turns = pd.DataFrame(
        {"id": np.repeat(np.arange(30), size), "x": (rng.random(len(q)) < q).astype(int), "n": 1}
    )
    summed = turns.groupby("id", as_index=False).sum()
    a, b = of(turns, RATE).loc["rate"], of(summed, RATE).loc["rate"]
    assert a["n_units"] == b["n_units"] == 30
    assert (a["ci_low"], a["ci_high"]) == (b["ci_low"], b["ci_high"])


CLASSES = ("a", "b", "c")
MACRO: MetricTable = [
    *(ratio(f"f1_{k}", f"2*tp_{k}", f"2*tp_{k} + miss_{k}", empty=0.0) for k in CLASSES),
    Mean(name="macro_f1", title="Macro F1", of=tuple(f"f1_{k}" for k in CLASSES), better="higher"),
    minus("lead", "macro_f1", "f1_a"),
]


def classified(truth: str, said: str) -> pd.DataFrame:
    """One row a unit; miss_k counts false positives and false negatives of class k."""
    rows = [
        {f"tp_{k}": t == s == k for k in CLASSES}
        | {f"miss_{k}": (t == k) != (s == k) for k in CLASSES}
        for t, s in zip(truth, said)
    ]
    return pd.DataFrame(rows).assign(id=range(len(rows)), part=list(truth))


def test_macro_f1_equals_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(2)
    truth = rng.choice(list(CLASSES), 90, p=[0.6, 0.3, 0.1])
    said = np.where(rng.random(90) < 0.6, truth, rng.choice(list(CLASSES), 90))
    row = of(classified("".join(truth), "".join(said)), MACRO).loc["macro_f1"]
    assert row["value"] == pytest.approx(metrics.f1_score(truth, said, average="macro"))
    assert row["n_units"] == 90 and row[["numerator", "denominator"]].isna().all()


def test_breakdown_by_part() -> None:
    frame = classified("aaaaaabbbbc" * 3, "aabbccbbbac" * 3)
    got = breakdown(frame, MACRO, "id", "part", ["macro_f1", "lead"], QUICK)
    parts = got[["part", "n"]].drop_duplicates()
    assert parts.to_numpy().tolist() == [["a", 18], ["b", 12], ["c", 3]]
    of_a = of(frame[frame["part"] == "a"], MACRO)
    pd.testing.assert_series_equal(
        got["value"][:2], of_a.loc[["macro_f1", "lead"], "value"].reset_index(drop=True)
    )
    assert breakdown(frame.iloc[:0], MACRO, "id", "part", ["macro_f1"], QUICK).empty


# --- score intervals: method "auto"

BOUNDED = ratio("f1", "y", bounds=(0, 1))
SHARE = ratio("rate", "hit", proportion=True)
AUTO = Resampling(n_resamples=500)


def one(metric: AnyMetric, resampling: Resampling = AUTO, **columns: object) -> pd.Series:
    frame = pd.DataFrame({"n": 1, **columns})
    frame["id"] = frame.get("id", pd.Series(np.arange(len(frame))))
    return estimate(frame, [metric], "id", resampling).iloc[0]


def test_t_wilson_by_hand() -> None:
    """20 units, 18 of 1 and 2 of .5: p = .95, e^2 = (18 * .05^2 + 2 * .45^2) / 400 = .0011250, V = e^2 * 20 / 19.

    p (1 - p) / V = .0475 / .00118421 = 40.11; with a tenth of a unit of doubt 20 * (20 * .0475 + .1) / (400 V + .1)
    = 21 / .573684 = 36.61, which is less; t(19) = 2.0930, so that z^2 = 4.3807.
    """
    row = one(BOUNDED, y=[1.0] * 18 + [0.5] * 2)
    v = 0.001125 * 20 / 19
    trials = 20 * (20 * 0.0475 + 0.1) / (400 * v + 0.1)
    assert trials == pytest.approx(36.605, abs=1e-3)
    t = stats.t.ppf(0.975, 19)
    centre = (0.95 + t**2 / (2 * trials)) / (1 + t**2 / trials)
    half = t * np.sqrt(0.95 * 0.05 / trials + t**2 / (4 * trials**2)) / (1 + t**2 / trials)
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(
        (centre - half, centre + half), abs=1e-12
    )
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((0.816, 0.988), abs=1e-3)
    assert row["ci_method"] == "score-t"


def test_clusters_count_by_what_they_weigh() -> None:
    """Sizes 40 and 5 times 3, no event: 55^2 / (1600 + 45) = 1.839 trials, t of 0.839 degrees of freedom."""
    sizes = [40, 3, 3, 3, 3, 3]
    row = one(SHARE, id=np.repeat(np.arange(6), sizes), hit=[0] * 55)
    t2 = stats.t.ppf(0.975, 55**2 / 1645 - 1) ** 2
    assert row["ci_high"] == pytest.approx(t2 / (55**2 / 1645 + t2))
    assert row["ci_method"] == "score-t"


def test_what_does_not_vary_has_an_interval_within_limits_only() -> None:
    """1 - .05^(1/25) = .1129 of the units could be at either limit, with a chance of 5% to draw none of them."""
    unseen = 1 - 0.05 ** (1 / 25)
    for method in ("auto", "bca"):
        row = one(BOUNDED, Resampling(method=method, n_resamples=500), y=[0.5] * 25)
        assert (row["ci_low"], row["ci_high"]) == pytest.approx(
            (0.5 - unseen / 2, 0.5 + unseen / 2)
        )
        assert row["ci_method"] == "score-t"
    assert one(replace(BOUNDED, bounds=None), y=[0.5] * 25)["ci_method"] == "none"
    alone = one(BOUNDED, y=[0.5])
    assert (alone["ci_low"], alone["ci_high"]) == pytest.approx((0, 1), abs=1e-6)


def test_gains_and_losses_by_hand() -> None:
    """40 units, 4 gain 1, none loses: gains .1 with 3.6 / 40^2 * 40 / 39 of variance, losses 0 of 40 trials.

    t(39) = 2.0227: losses, of which none was drawn, reach up to 1 - .05^(1/40) = .0722. Both sides vary apart
    (correlation 0): below the difference lies the square root of (.1 - low of gains)^2 + .0722^2.
    """
    low, high = gains_and_losses(
        np.repeat([1 / 40, 0], [4, 36]), np.full(40, 1 / 40), 1, 0.05, 0.05
    )
    t = stats.t.ppf(0.975, 39)
    variance = (4 * 0.9**2 + 36 * 0.1**2) / 40**2 * 40 / 39
    trials = 40 * (40 * 0.09 + 0.03) / (40**2 * variance + 0.03)
    trials = min(trials, 0.09 / variance)
    centre = (0.1 + t**2 / (2 * trials)) / (1 + t**2 / trials)
    half = t * np.sqrt(0.09 / trials + t**2 / (4 * trials**2)) / (1 + t**2 / trials)
    losses = 1 - 0.05 ** (1 / 40)
    assert losses == pytest.approx(0.0722, abs=1e-4)
    assert low == pytest.approx(0.1 - np.hypot(0.1 - (centre - half), losses))
    assert high == pytest.approx(centre + half)


def test_groups_of_a_run_differ_by_their_own_intervals() -> None:
    """Forty units and five others, whose interval is as wide as five allow."""
    first = replace(BOUNDED, name="a")
    second = replace(BOUNDED, name="b", numerator="z", denominator="m")
    gap = minus("gap", "a", "b")
    frame = pd.DataFrame({"id": range(45), "n": [1] * 40 + [0] * 5, "m": [0] * 40 + [1] * 5})
    right = np.arange(45) % 5 > 0
    frame = frame.assign(y=frame["n"] * right, z=frame["m"] * right)
    rows = estimate(frame, [first, second, gap], "id", AUTO).set_index("name")
    a, b, found = (rows.loc[name] for name in ("a", "b", "gap"))
    assert (found["value"], found["ci_method"]) == (0, "mover")
    assert found["ci_low"] == -np.hypot(a["ci_low"] - 0.8, b["ci_high"] - 0.8)


def test_a_macro_mean_has_the_bounds_of_its_classes() -> None:
    """One class of 40 units, one absent: the absent one can be anything, half of which is in the mean."""
    first = replace(BOUNDED, name="a", empty=0.0)
    second = replace(BOUNDED, name="b", numerator="z", denominator="m", empty=0.0)
    mean = Mean(name="macro", of=("a", "b"), better="higher")
    frame = pd.DataFrame({"id": range(40), "y": [1.0] * 37 + [0.5] * 3, "n": 1, "z": 0, "m": 0})
    rows = estimate(frame, [first, second, mean], "id", AUTO).set_index("name")
    macro, alone = rows.loc["macro"], rows.loc["a"]
    assert macro["ci_method"] == "mover"
    assert macro["value"] == pytest.approx(alone["value"] / 2)
    assert macro["ci_low"] == pytest.approx(alone["ci_low"] / 2)
    reach = np.hypot((alone["ci_high"] - alone["value"]) / 2, 1 / 2)
    assert macro["ci_high"] == pytest.approx(min(macro["value"] + reach, 1), abs=1e-6)


def test_without_limits_the_bootstrap_is_joined_with_t() -> None:
    """BCa at the confidence at which z = sqrt(n / (n - 1)) t; the union holds both intervals."""
    y = np.random.default_rng(1).lognormal(0, 1, 15)
    unlimited = replace(BOUNDED, bounds=None)
    row = one(unlimited, y=y)
    t = stats.t.ppf(0.975, 14)
    half = t * y.std(ddof=1) / np.sqrt(15)
    confidence = 2 * stats.norm.cdf(t * np.sqrt(15 / 14)) - 1
    wider = AUTO.model_copy(update={"method": "bca", "confidence": confidence})
    bca = one(unlimited, wider, y=y)
    assert row["ci_low"] == pytest.approx(min(bca["ci_low"], y.mean() - half), abs=1e-12)
    assert row["ci_high"] == pytest.approx(max(bca["ci_high"], y.mean() + half), abs=1e-12)
    assert (row["ci_method"], bca["ci_method"]) == ("bca-t", "bca")
    # one unit weighs as much as the 14 others: t of (14 + 14)^2 / (14 + 14^2) = 3.73 effective units
    weights = np.array([14.0] + [1.0] * 14)
    row = one(replace(unlimited, denominator="w"), y=y * weights, w=weights)
    n, mean = 28**2 / 210, (y * weights).sum() / 28
    half = stats.t.ppf(0.975, n - 1) * np.sqrt(
        (((y - mean) * weights / 28) ** 2).sum() * n / (n - 1)
    )
    assert row["ci_high"] - row["ci_low"] >= 2 * half - 1e-12


def test_a_bootstrap_is_used_from_50_effective_units_10_of_them_off_the_commonest_value() -> None:
    y = np.random.default_rng(0).choice([0, 0.5, 1], 300)
    auto, bca = one(BOUNDED, y=y), one(BOUNDED, Resampling(method="bca", n_resamples=500), y=y)
    assert auto["ci_method"] == "bca" and auto.equals(bca)
    assert [one(BOUNDED, y=y[:n])["ci_method"] for n in (49, 50)] == ["score-t", "bca"]
    for events, method in ((9, "mid-p"), (10, "bca"), (40, "bca"), (41, "mid-p")):
        assert one(SHARE, hit=[i < events for i in range(50)])["ci_method"] == method
    assert one(BOUNDED, y=[1.0] * 51 + [0.5] * 9)["ci_method"] == "score-t"
    # 40 of 60 in one cluster: (59 + 40)^2 / (59 + 1600) is fewer than 50 effective units
    ids = [0] * 40 + list(range(1, 60))
    assert one(BOUNDED, y=y[:99], id=ids)["ci_method"] == "score-t"


def test_trials_are_averaged_within_their_sample() -> None:
    """Sample a: 1, 0, 0; sample b: 1. Samples weigh alike: (1/3 + 1) / 2, and no proportion of single trials any more."""
    row = one(SHARE, id=["a", "a", "a", "b"], trial=[1, 2, 3, 1], hit=[1, 0, 0, 1])
    assert row["value"] == pytest.approx(2 / 3)
    assert (row["n_units"], row["ci_method"]) == (2, "score-t")
    # trials of two items of one cluster: each item first
    row = one(SHARE, id=["c"] * 3, item=["x", "x", "y"], trial=[1, 2, 1], hit=[0, 0, 1])
    assert row["value"] == pytest.approx(1 / 2)


@given(
    st.lists(st.sampled_from([0.0, 0.3, 1.0]), min_size=1, max_size=70),
    st.lists(st.integers(0, 15), max_size=70),
)
@settings(max_examples=60, deadline=None)
def test_every_bounded_metric_has_an_interval_within_its_limits(
    y: list[float], at: list[int]
) -> None:
    ids = (at + list(range(100, 170)))[: len(y)]
    row = one(BOUNDED, y=y, id=ids)
    low, value, high = row[["ci_low", "value", "ci_high"]]
    assert 0 <= low <= value + 1e-12 and value - 1e-12 <= high <= 1


def test_a_null_numerator_that_is_counted_is_an_error_that_names_its_row() -> None:
    with pytest.raises(UsageError, match=r"row 2 \(id b\): y is null where n counts the row"):
        one(BOUNDED, y=[1.0, None, 0.0], id=["a", "b", "c"])
    row = one(BOUNDED, y=[1.0, None, 0.0], n=[1, None, 1])
    assert (row["value"], row["n_units"]) == (0.5, 2)
