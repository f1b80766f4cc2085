"""Plans: components by hand, what is drawn from a pilot, samples by seeds, and what cannot be planned."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evaltools.core.errors import UsageError
from evaltools.core.metric import Metric
from evaltools.core.metric_matrix import compile_table
from evaltools.core.resampling import Resampling
from evaltools.stats.design import grid, pair
from evaltools.stats.differences import evidence
from evaltools.stats.influence import Paired, cell_sums
from evaltools.stats.intervals import MIN_UNITS
from evaltools.stats.pilot import Pilot, pilot
from evaltools.stats.power import (
    CONTRACT,
    MOST,
    Goal,
    approximate,
    likely,
    needed,
    plan,
)
from evaltools.stats.seed_variance import take
from evaltools.stats.simulation import simulated_power
from evaltools.stats.variance import Components, Spread
from evaltools.stats.within_units import CLUSTER_SIZE, TRIALS, within_units
from tests.app.calling import few_studies

F1 = Metric(
    name="f1", numerator="y", denominator="n", better="higher", title="F1", bounds=(0.0, 1.0)
)
LOSS = Metric(name="loss", numerator="y", denominator="n", better="lower", title="Loss")
HIT = Metric(name="hit", numerator="y", denominator="n", better="higher", proportion=True)
SHARE = Metric(name="share", numerator="y", denominator="n", better="none")
COUNT = Metric(name="count", numerator="y", denominator="", better="higher")
R = Resampling()
Runs = dict[str, pd.DataFrame]


def frame(values: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame({"id": [f"s{i:03d}" for i in range(len(values))], "y": values, "n": 1})


def two(
    n: int = 50, seeds: int = 3, seed_sd: float = 0.0, shift: float = 0.03, key: int = 0
) -> list[Runs]:
    rng = np.random.default_rng([n, seeds, key])
    sample = rng.normal(0.5, 0.1, n)
    return [
        {
            str(s): frame(sample + own + by + rng.normal(0, seed_sd) + rng.normal(0, 0.1, n))
            for s in range(seeds)
        }
        for own, by in ((np.zeros(n), 0.0), (rng.normal(0, 0.1, n), shift))
    ]  # fmt: skip


def components(runs: list[Runs]) -> Spread:
    a, b, by_seed, _ = pair(*(grid(r, "id") for r in runs))
    compiled = compile_table([F1])
    return evidence(
        Paired(cell_sums(a, compiled), cell_sums(b, compiled), by_seed),
        100,
        Resampling(method="bca"),
    ).spread


# --- components


def test_components_of_a_table_by_hand_and_back() -> None:
    """seed .03/3 + sample .2/50 + residual .6/150 of a mean are .03, .2 and .6 of a cell."""
    s = Spread(*map(np.array, (0.018, 5.0, 0.0, 1.0, 0.01, 0.004, 0.004, False)))
    c = Components.from_spread(s, 50, 3)
    assert (c.seed, c.sample, c.residual) == pytest.approx((0.03, 0.2, 0.6))
    assert c.spread(50, 3).variance == pytest.approx(0.018)
    assert c.spread(100, 3).variance == pytest.approx(0.01 + 0.002 + 0.002)
    assert c.spread(50, 6).variance == pytest.approx(0.005 + 0.004 + 0.002)
    assert c.spread(50, 1).variance == pytest.approx(
        0.004 + 0.012
    )  # one seed knows nothing of the others


@pytest.mark.parametrize("seed_sd", [0.0, 0.1])
def test_the_expected_spread_of_a_study_of_the_pilots_size_is_the_pilots(seed_sd: float) -> None:
    s = take(components(two(seed_sd=seed_sd)), 0)
    # seeds that differ, and not alike on both sides, are pooled over both: their degrees of freedom add up
    again = Components.from_spread(s, 50, 3).spread(50, 3)
    for mine, theirs in zip(again.widest(0.95), s.widest(0.95)):
        assert mine == pytest.approx(theirs, rel=0.01)


def test_approximate_power_is_that_of_the_t_test() -> None:
    """Without a seed component, difference .05, cell variance .04, n = 100: t(99) noncentral at .05 / .02."""
    c = Components(0.0, 0.04, 0.0)
    exact = 1 - stats.nct.cdf(stats.t.ppf(0.975, 99), 99, 2.5)
    assert approximate(c, Goal(0.05), 100, 3) == pytest.approx(exact, abs=1e-6)
    assert approximate(c, Goal(0.05), 100, 1) == pytest.approx(exact, abs=0.01)


@settings(max_examples=40, deadline=None)
@given(
    st.floats(0, 0.001), st.floats(0.001, 0.2), st.floats(0, 0.2), st.floats(0.02, 0.2), st.integers(1, 6),
)  # fmt: skip
def test_needed_is_the_least_number(
    seed: float, sample: float, residual: float, difference: float, k: int
) -> None:
    c = Components(seed, sample, residual)
    goal = Goal(difference)
    n = float(needed(c, goal, k))
    if n == np.inf:
        assert approximate(c, goal, MOST, k) < 0.8
    else:
        assert approximate(c, goal, n, k) >= 0.8 - 1e-3
        assert n == 10 or approximate(c, goal, n - 1.5, k) < 0.8


def test_one_seed_is_bounded_by_the_differences_between_seeds() -> None:
    """A true .05 with seeds that move it by sd .1: at most Phi(.5) = 69% however many samples."""
    c = Components(0.01, 0.04, 0.04)
    assert approximate(c, Goal(0.05), 1e9, 1) == pytest.approx(stats.norm.cdf(0.5), abs=1e-3)
    assert needed(c, Goal(0.05), 1) == np.inf


def test_likely_components_have_the_pilots_in_their_middle() -> None:
    cells = np.random.default_rng(1).normal(size=(5, 200))
    of_five = Pilot(F1, 0.5, cells, Components(0.01, 0.04, 0.06), 200, 5, 4.0)
    found = likely(of_five, 0)
    assert np.quantile(found.sample, 0.3) < 0.04 < np.quantile(found.sample, 0.7)
    assert np.quantile(found.seed, 0.2) < 0.01 < np.quantile(found.seed, 0.6)
    assert found.seed.std() / found.seed.mean() > 5 * found.residual.std() / found.residual.mean()
    of_one = Pilot(F1, 0.5, cells[:1], Components(0.01, 0.04, 0.0), 200, 1, 0.0)
    assert (likely(of_one, 0).seed == 0).all()


def test_a_pilot_whose_sides_have_different_numbers_of_seeds_is_of_those_that_both_have() -> None:
    a, b = two(seeds=3)
    of_both = pilot([{seed: a[seed] for seed in ("0", "1")}, b], [F1], "id", "f1", R)
    fewer = pilot(
        [{seed: side[seed] for seed in ("0", "1")} for side in (a, b)], [F1], "id", "f1", R
    )
    assert of_both.seeds == 2
    assert of_both.components == fewer.components
    assert pilot([{"2": a["2"]}, b], [F1], "id", "f1", R).seeds == 1


# --- what the doubt of a pilot costs


def test_units_tilted_to_a_difference_vary_less_by_the_shortfall() -> None:
    """Differences with the tails of a t(7), 20 units: two degrees of freedom are lost, not one."""
    rng = np.random.default_rng(0)
    variances = []
    for _ in range(3_000):
        differences = 0.1 + 0.2 * rng.standard_t(7, (1, 20))
        one = Pilot(F1, 0.5, differences, Components(0.0, 0.04, 0.0), 20, 1, 0.0)
        squares = (differences[0] - 0.1) ** 2
        variances.append(20 / 18 * one.weights(0.1) @ squares)
    assert np.mean(variances) == pytest.approx(0.04 * 7 / 5, rel=0.025)


def test_a_pilot_in_which_few_units_differ_is_doubted_as_much_as_the_power_asks_for() -> None:
    """Three of 40 units differ: the variance is known as by 7 units, and 90% power takes 1.5 times as many."""
    hits = np.array([0.0] * 24 + [1.0] * 16)
    better = hits.copy()
    better[:3] = 1.0
    runs = [{"": frame(hits)}, {"": frame(better)}]
    planned = plan(runs, [HIT], "id", "hit", 0.1, power=0.9, seeds=[1], resampling=R).iloc[0]
    p = pilot(runs, [HIT], "id", "hit", R)
    others = likely(p, 0)
    assert approximate(others, Goal(0.1, 0.9), planned["samples"], 1).mean() >= 0.9


# --- what a pilot is


def test_a_pilot_of_two_runs_by_hand() -> None:
    """Ten units, six alike, +.4 four times: mean .16, baseline .5."""
    base = np.full(10, 0.5)
    up = base + np.array([0.4] * 4 + [0.0] * 6)
    p = pilot([{"": frame(base)}, {"": frame(up)}], [F1], "id", "f1", R)
    assert (p.value, p.n, p.seeds, p.keep) == (0.5, 10, 1, 1.0)
    assert p.cells[0] == pytest.approx([0.4] * 4 + [0.0] * 6)
    assert p.components.sample == pytest.approx(
        0.16 * 0.24 * 10 / 9
    )  # .4^2 times 4/10 times 6/10, ddof 1
    w = p.weights(0.2)  # .4 times the weight of the four = .2
    assert w == pytest.approx([0.125] * 4 + [0.5 / 6] * 6)


def test_seeds_count_for_both_sides_where_they_are_pooled() -> None:
    """Seeds that move each side by itself count together; one seed, or seeds that move both sides alike, do not."""
    apart, single = two(seed_sd=0.1), two(seeds=1)
    assert [pilot(runs, [F1], "id", "f1", R).components.sides for runs in (apart, single)] == [2, 1]
    like = [
        {s: frame(f["y"].to_numpy() + shift) for s, f in apart[0].items()} for shift in (0.0, 0.02)
    ]
    noise = np.random.default_rng(0)
    like[1] = {s: f.assign(y=f["y"] + noise.normal(0, 0.001, 50)) for s, f in like[1].items()}
    assert pilot(like, [F1], "id", "f1", R).components.sides == 1


def of_clusters(values: np.ndarray) -> pd.DataFrame:
    """Values (clusters, items) as rows whose unit is the cluster."""
    clusters, items = values.shape
    names = np.repeat([f"k{c:02d}" for c in range(clusters)], items)
    return pd.DataFrame({"id": names, "y": values.ravel(), "n": 1})


def test_clusters_count_by_what_their_items_add() -> None:
    """Differences of 20 clusters: +.3 and -.1 in turn, variance .04 * 20 / 19.

    Four items that are alike bring nothing more than one: the same variance, a design effect of 4.
    Of four items +.3, -.1, +.3, -.1 every cluster has the mean .1: no variance is left but between
    clusters, half of which stand .05 higher, half .05 lower: .0025 * 20 / 19.
    """
    one = np.tile([0.3, -0.1], 10)[:, None]
    alike = np.repeat(one, 4, axis=1)
    mixed = np.tile([0.3, -0.1, 0.3, -0.1], (20, 1)) + np.tile([0.05, -0.05], 10)[:, None]
    expected = {"one": 0.04, "alike": 0.04, "mixed": 0.0025}
    for name, differences in (("one", one), ("alike", alike), ("mixed", mixed)):
        base = np.full_like(differences, 0.5)
        runs = [{"": of_clusters(base)}, {"": of_clusters(base + differences)}]
        found = pilot(runs, [F1], "id", "f1", R)
        assert found.n == 20
        assert found.components.sample == pytest.approx(expected[name] * 20 / 19)


def test_where_lower_is_better_a_pilot_is_turned() -> None:
    base, up = frame(np.full(10, 0.5)), frame(np.linspace(0.2, 0.6, 10))
    higher, lower = (pilot([{"": base}, {"": up}], [m], "id", m.name, R) for m in (F1, LOSS))
    assert lower.cells == pytest.approx(-higher.cells)


def test_seeds_without_a_common_label_pair_in_their_order() -> None:
    a, b = two(seed_sd=0.05)
    other = {f"x{s}": f for s, f in b.items()}
    one, two_ = (pilot([a, side], [F1], "id", "f1", R) for side in (b, other))
    assert one.cells == pytest.approx(two_.cells)
    assert one.components == two_.components


def test_the_seeds_of_one_condition_stand_for_pairs() -> None:
    """Differences of two seeds have twice their variances, and nothing of the samples that they share."""
    (a, _) = two(n=400, seeds=4, seed_sd=0.05, key=3)
    p = pilot([a], [F1], "id", "f1", R)
    assert p.components.sample == 0 and p.keep == 0
    assert p.components.residual == pytest.approx(2 * 0.01, rel=0.15)
    assert p.cells.mean() == pytest.approx(0, abs=1e-12)
    assert p.cells.var() == pytest.approx(2 * 0.01, rel=0.15)


def test_drawn_cells_vary_as_the_components_say() -> None:
    a, b = two(n=300, seeds=3, key=5)
    p = pilot([a, b], [F1], "id", "f1", R)
    total = p.components.sample + p.components.residual
    assert p.cells.var() == pytest.approx(total, rel=0.05)
    assert 0 < p.keep < 1
    assert p.keep**2 * p.cells.mean(axis=0).var() == pytest.approx(p.components.sample, rel=0.1)


def test_planned_studies_pool_the_seeds_of_both_sides_where_the_pilot_does() -> None:
    """Seeds that go apart alike on both sides: 4 degrees of freedom instead of 2, so that fewer studies miss."""
    runs = two(n=120, seed_sd=0.02, key=2)
    pooled, alone = (pilot(runs, [F1], "id", "f1", Resampling(method=m)) for m in ("auto", "bca"))
    assert (pooled.components.sides, alone.components.sides) == (2, 1)
    assert (pooled.df_seeds, alone.df_seeds) == (4.0, 2.0)
    same = replace(alone, components=replace(pooled.components, sides=1))
    shared, own = (simulated_power(p, 0.05, 120, 3, R) for p in (pooled, same))
    assert shared > own + 0.05
    # seeds that mean the same on both sides are paired
    shared = [{s: f.assign(y=f["y"] + 0.2 * np.sin(range(len(f)) * np.array(int(s) + 2))) for s, f in c.items()}
              for c in runs]  # fmt: skip
    assert pilot(shared, [F1], "id", "f1", R).components.sides == 1


@pytest.mark.parametrize(
    ("runs", "metric", "difference", "said"),
    [
        (two(seeds=1)[:1], F1, 0.05, "one run shows no difference to plan from"),
        (two(n=9), F1, 0.05, "9 units .id. in common: a plan needs 10"),
        (
            [two()[0]] * 2,
            F1,
            0.05,
            "f1 does not differ between these runs in any id: nothing to plan from",
        ),
        (two(), SHARE, 0.05, "share can be neither better nor worse"),
        (two(), COUNT, 0.05, "count can be neither better nor worse"),
        (
            two(),
            F1,
            0.9,
            "a difference of 0.9 in f1 cannot be planned from these runs: it stands at 0",
        ),
        (
            two(),
            LOSS,
            0.9,
            r"a difference of 0.9 in loss cannot be planned .* single units \(id\) differ by",
        ),
        (
            [
                {"": frame(np.arange(40) / 100)},
                {"": frame(np.arange(40) / 100 + 0.1 + np.arange(40) % 3 / 10)},
            ],
            F1,
            0.05,
            r"cannot be planned from these runs: .* single units \(id\) differ by",
        ),
        (two(), F1, -0.05, "a difference above 0.* got -0.05, 0.8"),
        (two(), F1, float("nan"), "a difference above 0.* got nan, 0.8"),
    ],
)
def test_what_cannot_be_planned(
    runs: list[Runs], metric: Any, difference: float, said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        plan(runs, [metric], "id", metric.name, difference)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"power": 0.04}, "a power between 0.05 and 1.* got 0.05, 0.04"),
        ({"power": 1.0}, "a power between 0.05 and 1.* got 0.05, 1,"),
        ({"seeds": []}, "numbers of seeds .and trials.* from 1 on"),
        ({"seeds": [0]}, "numbers of seeds .and trials.* from 1 on"),
    ],
)
def test_settings_out_of_range(how: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        plan(two(), [F1], "id", "f1", 0.05, **how)


# --- plans


@pytest.fixture(name="few_studies")
def _few_studies() -> Iterator[None]:
    with few_studies():
        yield


@pytest.fixture(scope="module")
def planned() -> pd.DataFrame:
    with few_studies():
        return plan(two(n=60), [F1], "id", "f1", 0.04, seeds=[1, 3, 6, 3])


def test_a_plan(planned: pd.DataFrame) -> None:
    assert tuple(planned) == CONTRACT
    assert planned["seeds"].tolist() == [1, 3, 6]
    assert planned["power"].between(0.8, 0.9).all()
    assert (planned["calls"] == planned["seeds"] * planned["samples"]).all()
    assert (planned["samples_low"] <= planned["samples"]).all()
    assert (planned["samples"] <= planned["samples_high"].fillna(MOST)).all()
    assert planned["samples"].iloc[-1] < planned["samples"].iloc[0]


@pytest.mark.usefixtures("few_studies")
def test_a_plan_is_the_same_again_and_depends_on_the_seed_alone(planned: pd.DataFrame) -> None:
    again = plan(two(n=60), [F1], "id", "f1", 0.04, seeds=[6, 1, 3])
    pd.testing.assert_frame_equal(again.sort_values("seeds", ignore_index=True), planned)
    other = plan(two(n=60), [F1], "id", "f1", 0.04, seeds=[1], resampling=Resampling(seed=1))
    assert other["samples"][0] == pytest.approx(planned["samples"][0], rel=0.1)


@pytest.mark.usefixtures("few_studies")
def test_a_smaller_difference_and_more_power_need_more() -> None:
    runs = two(n=60)
    base, small, sure = (
        int(plan(runs, [F1], "id", "f1", x, power=p, seeds=[1])["samples"][0])
        for x, p in ((0.06, 0.8), (0.03, 0.8), (0.06, 0.95))
    )
    assert small > 3 * base and sure > 1.4 * base


@pytest.mark.usefixtures("few_studies")
def test_no_plan_has_fewer_samples_than_a_verdict_needs() -> None:
    gain = np.linspace(-0.2, 0.3, 10)
    runs = [{"": frame(np.full(10, 0.4))}, {"": frame(0.4 + gain)}]
    row = plan(runs, [F1], "id", "f1", 0.25, seeds=[1]).iloc[0]
    assert row["samples"] >= MIN_UNITS
    assert row["power"] >= 0.8


def test_a_proportion_needs_what_mcnemar_needs() -> None:
    """10% turn right, 2% wrong (difference .08): 145 pairs have 80% power by McNemar's test (Miettinen's formula)."""
    right = np.arange(100) % 2.0
    turned = right.copy()
    turned[:20:2] = 1.0  # ten wrong ones become right
    turned[1:5:2] = 0.0  # and two right ones wrong
    runs = [{"": frame(right)}, {"": frame(turned)}]
    found = plan(runs, [HIT], "id", "hit", 0.08, seeds=[1])
    assert 120 < found["samples"][0] < 175


@pytest.mark.usefixtures("few_studies")
def test_a_pilot_of_one_seed_says_nothing_of_more() -> None:
    found = plan(two(seeds=1), [F1], "id", "f1", 0.08, seeds=[1, 3, 5])
    assert found["samples"].notna().tolist() == [True, False, False]
    assert found.loc[found["samples"].isna(), "power"].isna().all()


@pytest.mark.usefixtures("few_studies")
def test_seeds_that_differ_more_than_what_is_looked_for() -> None:
    found = plan(two(seed_sd=0.2, key=1), [F1], "id", "f1", 0.02, seeds=[1, 3])
    assert found["samples"].isna().all() and found["samples_high"].isna().all()
    assert (found["power"] < 0.8).all()


def test_simulated_power_of_no_difference_is_the_level() -> None:
    p = pilot(two(n=60, seeds=1), [F1], "id", "f1", R)
    assert simulated_power(p, 1e-9, 60, 1, R) == pytest.approx(0.025, abs=0.02)


# --- trials of a sample, samples of a cluster


def repeated(n: int, m: int, within: float, key: int = 0, column: str = "trial") -> list[Runs]:
    """Two conditions; differences vary by .02 between units and by 2 * within^2 between the rows of a unit."""
    rng = np.random.default_rng([n, m, key])
    ease = rng.normal(0.5, 0.3, n)
    conditions = []
    for bonus in (0.0, 0.1):
        of_unit = ease + bonus + rng.normal(0, 0.1, n)
        y = of_unit[:, None] + rng.normal(0, within, (n, m))
        names = np.repeat([f"s{i:03d}" for i in range(n)], m)
        rows = pd.DataFrame({"id": names, column: np.tile(range(m), n), "y": y.ravel(), "n": 1})
        conditions.append({"": rows})
    return conditions


def test_what_trials_bring_by_hand() -> None:
    """Differences of two trials of 20 samples: +.5 and +.1 or -.1 and -.5 in turn, which are .3 -.3 and +-.2.

    A trial varies about its sample by .2^2 * 2 / 1 = .08, a sample's mean by .3^2 * 20/19 = .0947, of which .08 / 2
    comes from its trials. So of one trial .0547 + .08 is left, of four .0547 + .02.
    """
    up = np.array([[0.5, 0.1], [-0.1, -0.5]] * 10)
    runs: list[Runs] = []
    for y in (np.full_like(up, 0.5), 0.5 + up):
        names = np.repeat(range(20), 2)
        runs.append({"": pd.DataFrame({"id": names, "trial": [0, 1] * 20, "y": y.ravel(), "n": 1})})
    here = within_units(runs, compile_table([F1]), "id", TRIALS)
    assert (here.sample, here.residual) == pytest.approx((0.08, 0.0))
    assert (here.df, here.rows, here.size) == (20.0, 2.0, 2.0)
    p = pilot(runs, [F1], "id", "f1", R)
    assert p.components.sample == pytest.approx(0.09 * 20 / 19)
    between = 0.09 * 20 / 19 - 0.04
    one, four = (here.planned(p.components, size) for size in (1, 4))
    assert one.sample == pytest.approx(between + 0.08)
    assert four.sample == pytest.approx(between + 0.02)
    # the units of the pilot vary as the planned ones do, about the same mean
    varying = p.varying(one)
    assert varying.cells.var() * 20 / 19 == pytest.approx(between + 0.08)
    assert varying.cells.mean() == pytest.approx(p.cells.mean())


def test_trials_under_several_seeds_add_to_what_is_another_one_under_each() -> None:
    """Trials are drawn anew under each seed: their variance, 2 * .4^2, is all of the interaction's kind."""
    seeds = [repeated(200, 3, 0.4, key) for key in (1, 2, 3)]
    runs = [{str(k): side[c][""] for k, side in enumerate(seeds)} for c in (0, 1)]
    here = within_units(runs, compile_table([F1]), "id", TRIALS)
    assert here.residual == pytest.approx(0.32, rel=0.1)
    assert here.sample == pytest.approx(0.0, abs=0.03)


def test_the_samples_of_a_cluster_may_have_trials() -> None:
    """Clusters of 2 samples of 3 trials: sizes are those of the level that is asked for."""
    runs = repeated(15, 6, 0.2)
    for side in runs:
        side[""]["item"] = side[""]["trial"] // 3
    of_trials = within_units(runs, compile_table([F1]), "id", TRIALS)
    of_clusters = within_units(runs, compile_table([F1]), "id", CLUSTER_SIZE)
    assert (of_trials.df, of_trials.rows, of_trials.size) == (60.0, 6.0, 3.0)
    assert (of_clusters.df, of_clusters.rows, of_clusters.size) == (15.0, 2.0, 2.0)


@pytest.mark.usefixtures("few_studies")
def test_more_trials_need_fewer_samples_as_far_as_samples_let_them() -> None:
    """Normal: (1.96 + .84)^2 times the variance of a sample's difference over .1^2, and a little for the pilot's doubt."""
    runs = repeated(120, 4, 0.4)
    p = pilot(runs, [F1], "id", "f1", R)
    here = within_units(runs, compile_table([F1]), "id", TRIALS)
    found = plan(runs, [F1], "id", "f1", 0.1, seeds=[1], trials=[1, 4, 10])
    assert found["trials"].tolist() == [1, 4, 10]
    assert found["cluster_size"].isna().all()
    assert found["rows_per_sample"].tolist() == [1.0, 4.0, 10.0]
    assert (found["calls"] == found["samples"] * found["trials"]).all()
    samples = found["samples"].astype(float)
    variances = np.array([here.planned(p.components, m).sample for m in (1, 4, 10)])
    assert (samples / (2.8**2 * variances / 0.01)).between(0.95, 1.3).all()
    as_here = plan(runs, [F1], "id", "f1", 0.1, seeds=[1])
    assert as_here["trials"].isna().all() and as_here["rows_per_sample"][0] == 4.0
    assert samples[1] == pytest.approx(float(as_here["samples"][0]), rel=0.05)


@pytest.mark.usefixtures("few_studies")
def test_larger_clusters_need_fewer_clusters() -> None:
    runs = repeated(60, 5, 0.4, column="item")
    found = plan(runs, [F1], "id", "f1", 0.1, seeds=[1], cluster_size=[2, 5, 20])
    assert found["cluster_size"].tolist() == [2, 5, 20]
    assert found["samples"].is_monotonic_decreasing
    assert found["calls"].is_monotonic_increasing


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ({"trials": [3]}, "give a pilot with two trials or more of 10 samples .column trial."),
        ({"cluster_size": [3]}, "give a pilot with two samples or more in 10 clusters"),
        ({"trials": [3], "cluster_size": [3]}, "one of them can be planned for, not both"),
        ({"trials": [0]}, "numbers of seeds .and trials.* from 1 on"),
        ({"cluster_size": []}, "numbers of seeds .and trials.* from 1 on"),
    ],
)
def test_sizes_that_cannot_be_planned(sizes: dict[str, list[int]], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        plan(repeated(30, 1, 0.2), [F1], "id", "f1", 0.05, **sizes)


def test_one_trial_of_each_sample_says_nothing_of_more() -> None:
    few = repeated(30, 2, 0.2)
    for side in few:
        side[""] = side[""].query("trial == 0 or id < 's005'")
    with pytest.raises(UsageError, match="hardly draw a sample twice"):
        plan(few, [F1], "id", "f1", 0.05, trials=[1, 3])
