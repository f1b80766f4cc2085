"""Ranks of conditions: letters and rank intervals by hand, properties, and every pair tested together."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from evaltools.core.metric import Metric
from evaltools.core.resampling import Resampling
from evaltools.stats.compare import compare
from evaltools.stats.max_t import joint_tests
from evaltools.stats.ranks import CONTRACT, letters, ranks

F1 = Metric(name="f1", numerator="y", denominator="n", better="higher", title="F1")
LOSS = Metric(name="loss", numerator="y", denominator="n", better="lower", title="Loss")
R = Resampling(n_resamples=200)


def frame(values: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame({"id": [f"s{i:03d}" for i in range(len(values))], "y": values, "n": 1})


def conditions(
    shifts: list[float], n: int = 60, seeds: int = 1, key: int = 0
) -> dict[str, dict[str, pd.DataFrame]]:
    rng = np.random.default_rng([n, seeds, key])
    sample = rng.normal(0.5, 0.2, n)
    return {
        f"c{c}": {str(s): frame(sample + shift + rng.normal(0, 0.1, n)) for s in range(seeds)}
        for c, shift in enumerate(shifts)
    }


def estimates(**values: float) -> pd.DataFrame:
    rows = [(c, v, v - 0.1, v + 0.1) for c, v in values.items()]
    return pd.DataFrame(rows, columns=["condition", "value", "ci_low", "ci_high"])


def table(*rows: tuple[str, str, float, float]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["baseline", "candidate", "delta", "p_adjusted"])


# --- by hand


def test_letters_of_a_chain_of_five() -> None:
    """v best ... z worst; neighbours and next neighbours are tied, all else differs: v w x | w x y | x y z."""
    differ = [("v", "y"), ("v", "z"), ("w", "z")]
    assert letters("vwxyz", differ) == {"v": "a", "w": "ab", "x": "abc", "y": "bc", "z": "c"}


@pytest.mark.parametrize(
    ("differ", "expected"),
    [
        ([], {"x": "a", "y": "a", "z": "a"}),
        (list(combinations("xyz", 2)), {"x": "a", "y": "b", "z": "c"}),
    ],
)
def test_letters_of_none_and_of_all(
    differ: list[tuple[str, str]], expected: dict[str, str]
) -> None:
    assert letters("xyz", differ) == expected


def test_letters_go_on_after_z() -> None:
    names = [f"c{i:02d}" for i in range(30)]
    found = letters(names, list(combinations(names, 2)))
    assert [found[n] for n in ("c00", "c25", "c26", "c29")] == ["a", "z", "a2", "d2"]


def test_rank_intervals_by_hand() -> None:
    """Of four, only b over d and a over d are shown: d may be 3rd or 4th, the others 1st to 3rd, and c 1st to 4th."""
    found = table(
        ("a", "b", -0.1, 0.5), ("a", "c", -0.2, 0.2), ("a", "d", -0.4, 0.01),
        ("b", "c", -0.1, 0.4), ("b", "d", -0.3, 0.05), ("c", "d", -0.1, 0.3),
    )  # fmt: skip
    got = ranks(estimates(d=0.4, c=0.6, a=0.8, b=0.7), found, F1, 0.05)
    assert tuple(got) == CONTRACT
    assert got[["condition", "rank_low", "rank_high", "group"]].to_numpy().tolist() == [
        ["a", 1, 3, "a"],
        ["b", 1, 3, "a"],
        ["c", 1, 4, "ab"],
        ["d", 3, 4, "b"],
    ]
    turned = ranks(estimates(d=0.4, c=0.6, a=0.8, b=0.7), found, LOSS, 0.05).set_index("condition")
    assert turned.index.tolist() == ["d", "c", "b", "a"]  # the lowest loss is best
    assert turned.loc["d", ["rank_low", "rank_high"]].tolist() == [1, 2]


def test_what_is_not_measured_has_no_rank_and_takes_none() -> None:
    found = table(("a", "b", -0.1, 0.01), ("a", "x", np.nan, np.nan), ("b", "x", np.nan, np.nan))
    got = ranks(estimates(x=np.nan, b=0.7, a=0.8), found, F1, 0.05).set_index("condition")
    assert got.loc["a", ["rank_low", "rank_high"]].tolist() == [1, 1]
    assert got.loc["b", ["rank_low", "rank_high"]].tolist() == [2, 2]
    assert got.index[-1] == "x" and got.loc["x"].isna().all()


# --- properties


@given(
    st.integers(2, 7).flatmap(
        lambda k: st.tuples(st.just(k), st.sets(st.sampled_from(pairs_of(k))))
    )
)
def test_letters_are_shared_by_those_that_do_not_differ_alone(
    drawn: tuple[int, set[tuple[str, str]]],
) -> None:
    k, differ = drawn
    names = [f"c{i}" for i in range(k)]
    found = letters(names, sorted(differ))
    for a, b in combinations(names, 2):
        assert bool(set(found[a]) & set(found[b])) == ((a, b) not in differ)


def pairs_of(k: int) -> list[tuple[str, str]]:
    return list(combinations([f"c{i}" for i in range(k)], 2))


@settings(max_examples=25)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_rank_intervals_hold_a_ranking_and_do_not_depend_on_the_order(
    values: list[float], rng: object
) -> None:
    names = [f"c{i}" for i in range(len(values))]
    of = dict(zip(names, values))
    found = table(
        *(
            (a, b, of[b] - of[a], 0.0 if abs(of[b] - of[a]) > 0.3 else 1.0)
            for a, b in combinations(names, 2)
        )
    )
    got = ranks(estimates(**of), found, F1, 0.05)
    placed = got["rank_low"].to_numpy(int), got["rank_high"].to_numpy(int)
    at = np.arange(1, len(values) + 1)
    assert (placed[0] <= at).all() and (
        at <= placed[1]
    ).all()  # the order of the values is one of the rankings
    assert placed[0].min() == 1 and placed[1].max() == len(values)
    shuffled = list(of.items())
    rng.shuffle(shuffled)  # type: ignore[attr-defined]
    again = ranks(estimates(**dict(shuffled)), found.iloc[::-1], F1, 0.05)
    columns = ["condition", "rank_low", "rank_high"]
    key = {"by": "condition", "ignore_index": True}
    pd.testing.assert_frame_equal(
        got[columns].sort_values(**key), again[columns].sort_values(**key)
    )


# --- every pair


def pairs(runs: dict[str, dict[str, pd.DataFrame]], n_permutations: int = 10_000) -> pd.DataFrame:
    return joint_tests(runs, [F1], "id", "f1", R, n_permutations).pairs


def p_of(tested: pd.DataFrame) -> dict[frozenset[str], float]:
    return {frozenset((row.baseline, row.candidate)): row.p_adjusted for row in tested.itertuples()}


def test_max_t_by_hand_over_all_sign_patterns() -> None:
    """Twelve units. y is x and 1 more everywhere: T = 12 / root 12, which 2 of 4,096 patterns reach.

    z is x, 1 more in six units and 1 less in the others: T = 0, which every pattern reaches.
    """
    x = np.arange(12.0)
    z = x + np.array([1.0, -1.0] * 6)
    found = pairs({"x": {"": frame(x)}, "y": {"": frame(x + 1)}, "z": {"": frame(z)}})
    p = p_of(found)
    assert p[frozenset("xy")] >= 2 / 2**12
    assert p[frozenset("xy")] < 0.01
    assert p[frozenset("xz")] == 1
    assert found["delta"].tolist() == pytest.approx([1.0, 0.0, -1.0])


@pytest.mark.parametrize("seeds", [1, 3])
def test_p_over_all_pairs_is_no_smaller_than_that_of_a_pair_alone(seeds: int) -> None:
    runs = conditions([0.0, 0.02, 0.04], seeds=seeds)
    found = pairs(runs)
    assert list(zip(found["baseline"], found["candidate"])) == [
        ("c0", "c1"),
        ("c0", "c2"),
        ("c1", "c2"),
    ]
    for row in found.itertuples():
        both = {name: runs[name] for name in (row.baseline, row.candidate)}
        assert row.p_adjusted >= p_of(pairs(both))[frozenset(both)]
        alone = compare(both[row.baseline], both[row.candidate], [F1], "id", R, ["f1"])
        assert row.delta == pytest.approx(alone.table["delta"][0])


def test_a_single_pair_has_the_p_of_compare() -> None:
    runs = conditions([0.0, 0.02])
    alone = compare(runs["c0"], runs["c1"], [F1], "id", R, ["f1"]).table["p_value"][0]
    assert pairs(runs)["p_adjusted"][0] == pytest.approx(alone, abs=0.01)


def test_far_conditions_are_told_apart_and_seeds_that_scatter_hide_them() -> None:
    assert (pairs(conditions([0.0, 0.3, 0.6], seeds=3))["p_adjusted"] < 0.05).all()
    scattered = {}
    for name, of_seed in conditions([0.0, 0.3, 0.6], seeds=3).items():
        scattered[name] = {
            seed: units.assign(y=units["y"] + shift)
            for (seed, units), shift in zip(of_seed.items(), (-1.0, 0.0, 1.0))
        }
    assert (pairs(scattered)["p_adjusted"] > 0.3).all()


def test_a_hopeless_condition_changes_nobody_elses_p() -> None:
    runs = conditions([0.0, 0.03, 0.06, 0.03])
    before = p_of(pairs(runs, n_permutations=999))
    hopeless = {"": frame(runs["c0"]["0"]["y"].to_numpy() - 50.0)}
    after = p_of(pairs({**runs, "hopeless": hopeless}, n_permutations=999))
    assert {both: after[both] for both in before} == before
    assert all(p < 0.01 for both, p in after.items() if "hopeless" in both)


def test_the_order_of_conditions_changes_nothing() -> None:
    runs = conditions([0.0, 0.03, 0.06, 0.03], seeds=3)
    found = p_of(pairs(runs, n_permutations=999))
    turned = p_of(pairs(dict(reversed(runs.items())), n_permutations=999))
    assert turned == pytest.approx(found)


def test_equal_conditions_and_those_that_share_too_few_units_are_not_told_apart() -> None:
    runs = conditions([0.0, 0.5])
    runs["same"] = runs["c0"]
    runs["few"] = {"0": frame(np.ones(9) * 9)}
    runs["alien"] = {"0": frame(np.ones(20)).assign(id=[f"t{i}" for i in range(20)])}
    found = pairs(runs).set_index(["baseline", "candidate"])
    assert found.loc[("c0", "same"), "p_adjusted"] == 1
    assert found.loc[("c0", "c1"), "p_adjusted"] < 0.05
    assert found.loc[("c0", "few"), ["n_units"]].tolist() == [9]
    assert found.loc[("c0", "alien"), ["n_units"]].tolist() == [0]
    assert found.loc[[("c0", "few"), ("c0", "alien")], "p_adjusted"].isna().all()


def test_many_units_are_added_up_in_blocks_and_keep_their_p() -> None:
    """Of 6,000 units the p is that of the normal limit, 2 * (1 - Phi(z))."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=6_000)
    y = x + rng.normal(0.02, 1.0, 6_000)
    difference = y - x
    z = difference.mean() / (difference.std(ddof=1) / np.sqrt(6_000))
    found = pairs({"x": {"": frame(x)}, "y": {"": frame(y)}})
    assert found["p_adjusted"][0] == pytest.approx(2 * norm.sf(abs(z)), abs=0.02)
