"""Intervals of differences: bootstrap, variance components, and score intervals of both sides."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evaltools.core.metric import Difference, Mean, Metric, MetricTable
from evaltools.core.resampling import Resampling
from evaltools.stats.claims import NEW_SEEDS, THESE_SYSTEMS
from evaltools.stats.compare import compare
from evaltools.stats.intervals import estimate
from evaltools.stats.unit_changes import unit_changes
from tests.stats.comparing import ERRORS, MEAN, TABLE, R, Runs, compared, rows, two


def test_one_run_each_is_a_paired_bootstrap_of_scipy() -> None:
    a, b = two(seeds=(1,))
    x, y = a[1]["y"].to_numpy(), b[1]["y"].to_numpy()
    row = rows(compared(a, b)).loc["mean"]
    expected = stats.bootstrap(
        (x, y),
        lambda x, y, axis=-1: y.mean(axis) - x.mean(axis),
        paired=True,
        vectorized=True,
        n_resamples=500,
        rng=np.random.default_rng(0),
        batch=128,
    ).confidence_interval
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(
        (expected.low, expected.high), abs=1e-12
    )
    assert row["claim"] == THESE_SYSTEMS
    assert row["ci_method"] == "bca"


def test_several_seeds_are_variance_components_of_the_paired_differences() -> None:
    a, b = two(n=30)
    d = np.stack([b[s]["y"].to_numpy() - a[s]["y"].to_numpy() for s in (42, 123, 456)])
    k, n = d.shape
    ms_seed, ms_sample = n * d.mean(axis=1).var(ddof=1), k * d.mean(axis=0).var(ddof=1)
    rest = d - d.mean(axis=1, keepdims=True) - d.mean(axis=0) + d.mean()
    ms_rest = (rest**2).sum() / ((k - 1) * (n - 1))
    seed_part = max(0.0, ms_seed - ms_rest)
    variance = (ms_sample + seed_part) / (n * k)
    df = n - 1
    half = stats.t.ppf(0.975, df) * np.sqrt(variance)
    if seed_part:
        weights = [ms_sample**2 / (n - 1), ms_seed**2 / (k - 1), ms_rest**2 / ((k - 1) * (n - 1))]
        df = max((variance * n * k) ** 2 / sum(weights), k - 1)
        half = max(
            stats.t.ppf(0.975, df) * np.sqrt(variance),
            stats.t.ppf(0.975, k - 1) * np.sqrt(ms_seed / (n * k)),
        )
    row = (
        compare(a, b, TABLE, "id", R.model_copy(update={"method": "bca"}), n_permutations=999)
        .table.set_index("metric")
        .loc["mean"]
    )
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((d.mean() - half, d.mean() + half))
    assert row["claim"] == NEW_SEEDS


MACRO: MetricTable = [
    Metric(name="first", numerator="2*tp", denominator="2*tp + fp", better="higher", empty=0.0),
    MEAN,
    ERRORS,
    Mean(name="macro", of=("first", "mean", "errors"), better="higher"),
    Difference(name="lead", minuend="macro", subtrahend="first", better="higher"),
]


@pytest.mark.parametrize("seeds", [(1,), (1, 2, 3)])
def test_a_mean_of_metrics_and_a_difference_of_one(seeds: tuple[object, ...]) -> None:
    """macro = (first + mean + errors) / 3, and lead = macro - first, in values, deltas and changes of units."""
    a, b = two(seeds=seeds, shift=0.1)
    got = compare(a, b, MACRO, "id", R, n_permutations=999).table.set_index("metric")
    for side in ("value_baseline", "value_candidate", "delta"):
        parts = got[side]
        macro = (parts["first"] + parts["mean"] + parts["errors"]) / 3
        assert parts["macro"] == pytest.approx(macro, abs=1e-12)
        assert parts["lead"] == pytest.approx(macro - parts["first"], abs=1e-12)
    assert (got["ci_low"] < got["delta"]).all()
    assert got["p_value"].between(0, 1).all()
    of_one = {
        name: unit_changes(a, b, MACRO, "id", name).set_index("id")["change"] for name in got.index
    }
    macro_change = (of_one["first"] + of_one["mean"] + of_one["errors"]) / 3
    assert of_one["macro"].to_numpy() == pytest.approx(macro_change.to_numpy(), abs=1e-12)
    assert of_one["lead"].to_numpy() == pytest.approx(
        (macro_change - of_one["first"]).to_numpy(), abs=1e-12
    )


def test_a_paired_macro_mean_is_a_bootstrap_of_scipy() -> None:
    a, b = two(seeds=(1,))
    columns = [side[1][c].to_numpy(float) for side in (a, b) for c in ("tp", "fp", "y", "bad")]

    def macro(columns: Sequence[np.ndarray], axis: int) -> np.ndarray:
        tp, fp, y, bad = columns
        f1 = 2 * tp.sum(axis) / (2 * tp.sum(axis) + fp.sum(axis))
        return (f1 + y.mean(axis) + bad.mean(axis)) / 3

    expected = stats.bootstrap(
        columns,
        lambda *c, axis=-1: macro(c[4:], axis) - macro(c[:4], axis),
        paired=True,
        vectorized=True,
        n_resamples=500,
        rng=np.random.default_rng(0),
        batch=128,
    ).confidence_interval
    row = compare(a, b, MACRO, "id", R).table.set_index("metric").loc["macro"]
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(
        (expected.low, expected.high), abs=1e-12
    )


def one_each(before: list[float], after: list[float], resampling: Resampling = R) -> pd.Series:
    metric = Metric(name="f1", numerator="y", denominator="n", better="higher", bounds=(0, 1))
    sides = [{None: pd.DataFrame({"id": range(len(y)), "y": y, "n": 1})} for y in (before, after)]
    return compare(*sides, [metric], "id", resampling).table.iloc[0]


def test_a_delta_that_few_units_decide_is_made_of_its_sides() -> None:
    before, after = [1.0] * 16 + [0.5] * 4, [1.0] * 18 + [0.5] * 2
    row = one_each(before, after)
    metric = Metric(name="f1", numerator="y", denominator="n", better="higher", bounds=(0, 1))
    sides = [
        estimate(pd.DataFrame({"id": range(20), "y": y, "n": 1}), [metric], "id", R).iloc[0]
        for y in (before, after)
    ]
    (a, la, ua), (b, lb, ub) = (s[["value", "ci_low", "ci_high"]].astype(float) for s in sides)
    r = np.corrcoef(before, after)[0, 1]
    low = b - a - np.sqrt((b - lb) ** 2 + (ua - a) ** 2 - 2 * r * (b - lb) * (ua - a))
    high = b - a + np.sqrt((ub - b) ** 2 + (a - la) ** 2 - 2 * r * (ub - b) * (a - la))
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((low, high))
    assert row["ci_method"] == "mover"
    assert one_each(before, after, R.model_copy(update={"method": "bca"}))["ci_method"] == "bca"
    assert one_each(before, before)["ci_method"] == "none"


@given(st.lists(st.tuples(*[st.sampled_from([0.0, 0.3, 1.0])] * 2), min_size=10, max_size=40))
@settings(max_examples=60, deadline=None)
def test_swapping_the_sides_mirrors_a_delta_of_score_intervals(
    pairs: list[tuple[float, float]],
) -> None:
    before, after = map(list, zip(*pairs))
    one, other = one_each(before, after), one_each(after, before)
    if one["ci_method"] != "none":
        assert (one["delta"], one["ci_low"], one["ci_high"]) == (
            -other["delta"],
            -other["ci_high"],
            -other["ci_low"],
        )
        assert -1 <= one["ci_low"] <= one["delta"] <= one["ci_high"] <= 1


def seeded(
    rng: np.random.Generator, shift: np.ndarray, sample: np.ndarray, rest: np.ndarray
) -> Runs:
    values = sample + shift[:, None] + rest
    return {k: pd.DataFrame({"id": range(40), "y": y, "n": 1}) for k, y in enumerate(values)}


def test_seeds_that_mean_the_same_on_both_sides_pair_and_others_are_pooled() -> None:
    rng = np.random.default_rng(5)
    sample, shift = rng.normal(0.5, 0.1, 40), np.array([-0.1, 0.02, 0.08])
    rest = rng.normal(0, 0.05, (2, 3, 40))
    a = seeded(rng, shift, sample, rest[0])
    apart = rows(compare(a, seeded(rng, shift[::-1], sample, rest[1]), [MEAN], "id", R)).loc["mean"]
    like = rows(
        compare(a, seeded(rng, shift, sample, rest[0] + 0.1 * rest[1]), [MEAN], "id", R)
    ).loc["mean"]
    assert apart["df"] == pytest.approx(4, abs=0.5)
    assert like["ci_high"] - like["ci_low"] < 0.2 * (apart["ci_high"] - apart["ci_low"])
