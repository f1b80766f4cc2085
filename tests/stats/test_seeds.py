"""Means over seeds: the two-way variance by hand and by the textbook, and what is missing in a seed."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from evaltools.core.metric import MetricTable
from evaltools.stats.formulas import NEW_SEEDS, seed_part
from evaltools.stats.intervals import aggregate
from tests.stats.comparing import COUNT, MEAN, MICRO, R, Runs, compare, labelled, minus, ratio, run

RATE = ratio("rate", "hit", proportion=True)
TABLE: MetricTable = [
    MEAN,
    RATE,
    MICRO,
    COUNT,
    minus("d", "mean", "micro"),
]


def condition(
    n: int = 40, seeds: tuple[object, ...] = (42, 123, 456), spread: float = 0.05
) -> Runs:
    rng = np.random.default_rng(3)
    sample = rng.normal(0.5, 0.2, n)
    runs = {}
    for seed in seeds:
        frame = run(rng, sample, rng.normal(0, spread))
        runs[seed] = frame.assign(hit=frame["y"] > 0.5)
    return runs


def of(runs: Runs, table: MetricTable = TABLE) -> pd.DataFrame:
    return aggregate(labelled(table, runs), R).set_index("metric")


def test_variance_components_by_hand() -> None:
    """y = [[0, 2, 4], [3, 3, 6]] (2 seeds, 3 samples).

    Seed means 2 and 4, sample means 1.5, 2.5, 5, grand mean 3.
    SS_seed = 3 * ((2-3)^2 + (4-3)^2) = 6, df 1; SS_sample = 2 * (1.5^2 + 0.5^2 + 2^2) = 13, df 2;
    SS_total = 20, so SS_residual = 1, df 2, MS 0.5.
    Seed part of Var(mean) = (6 - 0.5) / 6 = 11/12; residual part 0.5 / 6 = 1/12.
    """
    runs = {
        1: pd.DataFrame({"id": list("abc"), "y": [0.0, 2, 4], "n": 1}),
        2: pd.DataFrame({"id": list("abc"), "y": [3.0, 3, 6], "n": 1}),
    }
    (condition,) = labelled([MEAN], runs)
    c = condition.cells("mean").per_unit()
    part = seed_part(c.value, c.errors, c.present, c.takes_part)
    assert part.own == pytest.approx(11 / 12)
    assert part.residual == pytest.approx(1 / 12)
    # the seeds' values 2 and 4 alone: variance of their mean 2 / 2 = 1
    assert (part.plain, part.df) == (1.0, 1)
    assert np.isnan(of(runs, [MEAN]).loc["mean", "ci_low"])  # three samples carry no interval


def test_complete_interval_equals_the_textbook_formula() -> None:
    runs = condition(n=30)
    y = np.stack([f["y"].to_numpy() for f in runs.values()])
    k, n = y.shape
    ms_seed, ms_sample = n * y.mean(axis=1).var(ddof=1), k * y.mean(axis=0).var(ddof=1)
    rest = y - y.mean(axis=1, keepdims=True) - y.mean(axis=0) + y.mean()
    ms_rest = (rest**2).sum() / ((k - 1) * (n - 1))
    assert ms_seed > ms_rest
    variance = (ms_sample + ms_seed - ms_rest) / (n * k)
    weights = [ms_sample**2 / (n - 1), ms_seed**2 / (k - 1), ms_rest**2 / ((k - 1) * (n - 1))]
    df = max((ms_sample + ms_seed - ms_rest) ** 2 / sum(weights), k - 1)
    half = max(
        stats.t.ppf(0.975, df) * np.sqrt(variance),
        stats.t.ppf(0.975, k - 1) * y.mean(axis=1).std(ddof=1) / np.sqrt(k),
    )
    row = of(runs).loc["mean"]
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((y.mean() - half, y.mean() + half))
    assert (row["claim"], row["ci_method"]) == (NEW_SEEDS, "components")


def test_within_limits_an_interval_stays_there_and_needs_no_variation() -> None:
    rare = {s: f.assign(hit=np.arange(40) == i) for i, (s, f) in enumerate(condition().items())}
    row = of(rare).loc["rate"]
    assert 0 < row["ci_low"] < row["value"] < row["ci_high"] < 1 and row["ci_method"] == "score-t"
    never = of({s: f.assign(hit=0) for s, f in condition().items()}).loc["rate"]
    # Wilson of 0 of 40 at t(39): t^2 / (40 + t^2)
    t2 = stats.t.ppf(0.975, 39) ** 2
    assert (never["ci_low"], never["ci_high"]) == pytest.approx((0, t2 / (40 + t2)))


def test_a_difference_within_a_run_that_no_unit_makes_is_what_none_of_them_showed() -> None:
    """Row 8 over seeds too: 40 units without a gain or a loss, each 1 - .05^(1/40) at most, by MOVER."""
    gain = minus("gain", "again", "rate")
    table = [RATE, replace(RATE, name="again"), gain]
    row = of({seed: frame.assign(hit=1) for seed, frame in condition().items()}, table).loc["gain"]
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(
        (-(1 - 0.05 ** (1 / 40)), 1 - 0.05 ** (1 / 40))
    )


def test_copies_of_a_run_make_two_groups_of_few_units_no_surer() -> None:
    """3 of 3 against 1 of 6 in each of three seeds: the score-t intervals of both groups, joined by MOVER, hold 0."""
    first = np.arange(9) < 3
    frame = pd.DataFrame({"id": range(9), "hit": np.arange(9) < 4, "a": first, "b": ~first})
    hits = frame.assign(of_a=frame["hit"] & first, of_b=frame["hit"] & ~first)
    a, b = (replace(RATE, name=x, numerator=f"of_{x}", denominator=x) for x in "ab")
    gain = minus("gain", "a", "b")
    rows = of(dict.fromkeys((1, 2, 3), hits), [a, b, gain])
    below = np.hypot(1 - rows["ci_low"]["a"], rows["ci_high"]["b"] - 1 / 6)
    assert rows["ci_low"]["gain"] == pytest.approx(5 / 6 - below)
    assert rows["ci_low"]["gain"] < 0 and rows["ci_method"]["gain"] == "mover"


def test_few_changes_over_seeds_take_each_end_from_the_row_that_reaches_further() -> None:
    """2 of 40 are lost in one seed of three: t over -.05, 0, 0 below; above row 8, as no gain was drawn."""
    old = {seed: frame.assign(hit=1) for seed, frame in condition().items()}
    new = old | {42: old[42].assign(hit=np.arange(40) > 1)}
    row = compare(old, new, [RATE], R, ["rate"], margin={"rate": 0.1}).iloc[0]
    assert row["ci_low"] == pytest.approx(-(1 + stats.t.ppf(0.975, 2)) / 60)
    assert 1 - 0.05 ** (1 / 40) - 1 / 60 < row["equivalence_high"] < row["ci_high"]


def test_no_sample_shared_falls_back_to_the_seeds() -> None:
    runs = {s: f.assign(id=f["id"] + str(s)) for s, f in condition().items()}
    values = [f["y"].mean() for f in runs.values()]
    half = stats.t.ppf(0.975, 2) * np.std(values, ddof=1) / np.sqrt(3)
    row = of(runs).loc["mean"]
    assert row["ci_high"] - row["value"] == pytest.approx(half)
    assert row["n_units"] == 120


def test_a_metric_not_measured_in_some_seeds_rests_on_the_others() -> None:
    runs = condition()
    runs[456] = runs[456].assign(n=0)  # a row of nothing counts nothing, whatever its numerator
    row = of(runs).loc["mean"]
    two = of({s: runs[s] for s in (42, 123)}).loc["mean"]
    assert row["n_seeds"] == 2
    assert row[["value", "std", "ci_low", "ci_high"]].tolist() == pytest.approx(
        two[["value", "std", "ci_low", "ci_high"]].tolist()
    )
    nothing = of({s: f.assign(n=0) for s, f in runs.items()}).loc["mean"]
    assert np.isnan(nothing["value"]) and nothing["n_seeds"] == 0 and nothing["ci_method"] == "none"


@pytest.mark.parametrize("seeds", [(1, 2), (1, 2, 3)])
def test_few_units_over_seeds_have_an_interval_within_limits_alone(seeds: tuple[int, ...]) -> None:
    """Rows 1 and 6: fewer than 10 units are too few where there are no limits; a verdict needs ten."""
    runs = condition(8, seeds, 0.3)
    assert of(runs)["ci_method"].reindex(["rate", "mean"]).tolist() == ["score-t", "none"]
    table = compare(runs, condition(8, seeds), TABLE, R, ["rate"])
    assert table.loc[["rate", "mean"], "ci_method"].tolist() == ["components", "none"]
    assert set(table["verdict"]) == {"too few"}
