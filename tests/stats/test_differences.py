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
from evaltools.stats.score_intervals import gains_and_losses
from evaltools.stats.unit_changes import unit_changes
from tests.stats.comparing import ERRORS, MEAN, TABLE, R, Runs, rows, two

BCA = R.model_copy(update={"method": "bca"})


def test_one_run_each_is_a_paired_bootstrap_of_scipy() -> None:
    a, b = two(seeds=(1,))
    x, y = a[1]["y"].to_numpy(), b[1]["y"].to_numpy()
    row = compare(a, b, TABLE, "id", BCA).table.set_index("metric").loc["mean"]
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
    row = compare(a, b, MACRO, "id", BCA).table.set_index("metric").loc["macro"]
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(
        (expected.low, expected.high), abs=1e-12
    )


def one_each(before: list[float], after: list[float], resampling: Resampling = R) -> pd.Series:
    metric = Metric(name="f1", numerator="y", denominator="n", better="higher", bounds=(0, 1))
    sides = [{None: pd.DataFrame({"id": range(len(y)), "y": y, "n": 1})} for y in (before, after)]
    return compare(*sides, [metric], "id", resampling).table.iloc[0]


def test_a_delta_that_few_units_decide_has_gains_and_losses_apart() -> None:
    """Of 20 units two gain .5: what is not drawn could lose, so that the interval holds 0."""
    before, after = [1.0] * 16 + [0.5] * 4, [1.0] * 18 + [0.5] * 2
    row = one_each(before, after)
    differences = (np.array(after) - before)[:, None] / 20
    below, above = gains_and_losses(differences, np.full((20, 1), 1 / 20), [1.0], 0.95)
    assert row["ci_method"] == "mover"
    assert row["ci_low"] == pytest.approx(0.05 - below[0])
    assert row["ci_high"] == pytest.approx(0.05 + above[0])
    assert row["ci_low"] < 0 and -row["ci_low"] > 0.1
    assert one_each(before, after, R.model_copy(update={"method": "bca"}))["ci_method"] == "bca"
    assert one_each(before, before)["ci_method"] == "none"


def test_all_of_ten_against_none_is_better_with_an_interval() -> None:
    """Gains and losses of 10 trials: 1 [n / (n + t^2), 1] and 0 [0, t^2 / (n + t^2)]."""
    row = one_each([0.0] * 10, [1.0] * 10)
    t2 = stats.t.ppf(0.975, 9) ** 2
    assert row["ci_low"] == pytest.approx(1 - np.sqrt(2) * t2 / (10 + t2))
    assert (row["ci_high"], row["verdict"], row["ci_method"]) == (1.0, "better", "mover")


def test_no_verdict_without_an_interval() -> None:
    """By the method that is asked for, a bootstrap, units that all differ alike have none."""
    metric = Metric(name="ms", numerator="y", denominator="n", better="higher")
    sides = [{None: pd.DataFrame({"id": range(20), "y": y, "n": 1})} for y in (1.0, 2.0)]
    row = compare(*sides, [metric], "id", R.model_copy(update={"method": "bca"})).table.iloc[0]
    assert (row["ci_method"], row["verdict"]) == ("none", "tied")


def test_units_that_all_differ_alike_without_limits_have_an_interval_without_width() -> None:
    metric = Metric(name="ms", numerator="y", denominator="n", better="higher")
    sides = [{None: pd.DataFrame({"id": range(20), "y": y, "n": 1})} for y in (1.0, 2.0)]
    row = compare(*sides, [metric], "id", R).table.iloc[0]
    # of 2^20 sign flips only two are as far from 0: none turned, and all turned
    assert row["p_value"] == pytest.approx(2 / 2**20)
    assert (row["ci_low"], row["ci_high"], row["verdict"]) == (1, 1, "better")


@pytest.mark.parametrize("seeds", [1, 2])
def test_no_interval_leaves_the_limits_of_a_difference(seeds: int) -> None:
    """Of two seeds the t quantile has one degree of freedom."""
    metric = Metric(name="f1", numerator="y", denominator="n", better="higher", bounds=(0, 1))
    rng = np.random.default_rng(3)
    a, b = (
        {
            seed: pd.DataFrame({"id": range(12), "y": (rng.random(12) < p * seed), "n": 1})
            for seed in range(1, seeds + 1)
        }
        for p in (0.4, 0.1)
    )
    row = compare(a, b, [metric], "id", R).table.iloc[0]
    assert -1 <= row["ci_low"] < row["ci_high"] <= 1


@given(st.lists(st.tuples(*[st.sampled_from([0.0, 0.3, 1.0])] * 2), min_size=10, max_size=40))
@settings(max_examples=30, deadline=None)
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


def test_what_could_be_shown_lies_beyond_what_the_interval_allows() -> None:
    """13 of 50 units gain, none loses: p is small, the interval allows for losses that were not drawn, and so does mde."""
    rng = np.random.default_rng(0)
    before = pd.DataFrame({"id": range(50), "y": rng.choice([0.0, 0.4, 0.5], 50), "n": 1.0})
    after = before.assign(y=before["y"] + np.where(before["id"] < 13, 0.23, 0.0))
    metric = Metric(name="f1", numerator="y", denominator="n", better="higher", bounds=(0, 1))
    row = compare({"": before}, {"": after}, [metric], "id", Resampling(), ["f1"]).table.iloc[0]
    assert (row["p_value"] < 0.001, row["verdict"], row["ci_method"]) == (True, "tied", "mover")
    assert row["ci_low"] < 0 < row["delta"] < row["mde"]
