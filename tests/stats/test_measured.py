"""What is measured: a null is a row left out, what one side lacks is counted, and units differ by their own values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaltools.core.common_checks import one_sided_missing
from evaltools.core.metric import Difference, Mean, Metric, MetricTable
from evaltools.core.metric_matrix import compile_table
from evaltools.core.resampling import Resampling
from evaltools.stats.compare import Comparison, compare
from evaltools.stats.design import grid, pair
from evaltools.stats.influence import Paired, cell_sums, seen
from evaltools.stats.intervals import estimate
from evaltools.stats.max_t import joint_tests
from evaltools.stats.pilot import pilot
from evaltools.stats.seeds import aggregate
from evaltools.stats.unit_changes import unit_changes

JUDGE = Metric(
    name="judge", numerator="score", denominator="scored", better="higher", bounds=(0, 1)
)
RATE = Metric(name="rate", numerator="hit", denominator="tries", better="lower", proportion=True)
TABLE: MetricTable = [
    JUDGE,
    RATE,
    Difference(name="gap", minuend="judge", subtrahend="rate", better="higher"),
    Mean(name="both", of=("judge", "rate"), better="higher"),
]
R = Resampling(n_resamples=200)
Runs = dict[object, pd.DataFrame]


def units(n: int = 40, key: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng([n, key])
    return pd.DataFrame(
        {
            "id": [f"u{i:02d}" for i in range(n)],
            "score": rng.random(n).round(3),
            "scored": 1.0,
            "hit": (rng.random(n) < 0.4).astype(float),
            "tries": 1.0,
        }
    )


def silent(frame: pd.DataFrame, where: list[int]) -> pd.DataFrame:
    """The judge gives these units no score."""
    frame = frame.copy()
    frame.loc[where, ["score", "scored"]] = None
    return frame


def compared(a: Runs, b: Runs, table: MetricTable = TABLE, **options: object) -> Comparison:
    headline = [metric.name for metric in table if isinstance(metric, Metric)]
    return compare(a, b, table, "id", R, headline, n_permutations=499, **options)  # type: ignore[arg-type]


def row(c: Comparison, metric: str = "judge") -> pd.Series:
    return c.table.set_index("metric").loc[metric]


def without(frame: pd.DataFrame, where: list[int]) -> pd.DataFrame:
    return frame.drop(index=where)


LACKING = [3, 8, 9, 20, 31]


def one(change: Callable[..., pd.DataFrame], key: int) -> Runs:
    return {"": change(units(key=key), LACKING)}


def three(change: Callable[..., pd.DataFrame], key: int) -> Runs:
    """Three seeds; another unit is lacking under each of them."""
    return {s: change(units(key=key + s), LACKING[s:]) for s in (0, 1, 2)}


@pytest.mark.parametrize("sides", ["baseline", "candidate", "both"])
@pytest.mark.parametrize("seeds", [1, 3])
def test_a_null_is_a_row_left_out(seeds: int, sides: str) -> None:
    """In values, intervals, p and counts of a comparison."""
    make = one if seeds == 1 else three
    tables = []
    for change in (silent, without):
        a = make(change if sides != "candidate" else lambda f, _: f, 0)
        b = make(change if sides != "baseline" else lambda f, _: f, 10)
        tables.append(compared(a, b, [JUDGE]).table)
    pd.testing.assert_frame_equal(*tables, check_exact=True)


@pytest.mark.parametrize("seeds", [1, 3])
def test_a_null_is_a_row_left_out_in_estimates_ranks_and_plans(seeds: int) -> None:
    make = one if seeds == 1 else three
    results = []
    for change in (silent, without):
        conditions = {name: make(change, 10 * k) for k, name in enumerate("abc")}
        judge = {name: pd.concat(runs.values()) for name, runs in conditions.items()}
        results.append(
            [
                estimate(judge["a"], [JUDGE], "id", R),
                aggregate({"a": conditions["a"]}, [JUDGE], "id", R)["a"],
                joint_tests(conditions, [JUDGE], "id", "judge", R, 499).pairs,
                unit_changes(conditions["a"], conditions["b"], [JUDGE], "id", "judge"),
            ]
        )
        planned = pilot([conditions["a"], conditions["b"]], [JUDGE], "id", "judge", R)
        results[-1].append(pd.DataFrame(planned.cells).assign(n=planned.n, value=planned.value))
    for with_nulls, left_out in zip(*results):
        pd.testing.assert_frame_equal(with_nulls, left_out, check_exact=True)


def test_a_silent_judge_wins_nothing() -> None:
    """It gives no score to the 18 lowest units of the candidate; the 42 others are the same.

    The mean of what the candidate has is far higher. The difference over what both have is 0; if
    the 18 were all 0, it would be the candidate's sum over 60 less the baseline's mean.
    """
    a = units(60)
    hardest = a["score"].sort_values().index[:18].tolist()
    b = silent(a, hardest)
    c = row(compared({"": a}, {"": b}))
    assert b["score"].mean() - a["score"].mean() > 0.1
    assert (c["delta"], c["n_units"], c["n_differ"], c["verdict"]) == (0, 42, 0, "too few")
    assert (c["missing_baseline"], c["missing_candidate"]) == (0, 18)
    assert c["delta_worst"] == pytest.approx(b["score"].sum() / 60 - a["score"].mean())
    assert c["delta_best"] == pytest.approx((b["score"].sum() + 18) / 60 - a["score"].mean())
    assert row(compared({"": a}, {"": b}), "rate")["missing_candidate"] == 0


@pytest.mark.parametrize(("seeds", "n_cells"), [(("1", "2", "3"), 120), (("",), 40)])
def test_what_one_side_lacks_is_counted_among_the_cells_of_all_seeds(
    seeds: tuple[str, ...], n_cells: int
) -> None:
    """40 units under each seed; the candidate lacks 6 of them under the last one."""
    a = {seed: units(40, key) for key, seed in enumerate(seeds)}
    b = {**a, seeds[-1]: silent(a[seeds[-1]], list(range(6)))}
    c = compared(dict(a), dict(b))
    assert (row(c)["missing_candidate"], row(c)["n_cells"]) == (6, n_cells)
    (check,) = one_sided_missing(c.table[c.table["metric"] == "judge"])
    assert (check.n, check.of) == (6, n_cells)
    assert f"6 of {n_cells} values of" in check.message


def test_ends_turn_with_the_direction_and_need_limits() -> None:
    a, b = {"": units(20)}, {"": units(20, 1).iloc[:15]}
    lower = Metric(**{**vars(JUDGE), "better": "lower"})
    unlimited = Metric(**{**vars(JUDGE), "bounds": None})
    up, down, none = (row(compared(a, b, [m, RATE])) for m in (JUDGE, lower, unlimited))
    assert (up["delta_worst"], up["delta_best"]) == (down["delta_best"], down["delta_worst"])
    assert up["delta_worst"] < up["delta"] < up["delta_best"]
    assert np.isnan(none["delta_worst"]) and np.isnan(none["delta_best"])
    full = row(compared(a, {"": units(20, 1)}))
    assert full["delta_worst"] == full["delta"] == full["delta_best"]


@given(st.lists(st.integers(0, 39), max_size=25), st.lists(st.integers(0, 39), max_size=25))
@settings(max_examples=25, deadline=None)
def test_the_ends_hold_whatever_was_not_measured(lack_a: list[int], lack_b: list[int]) -> None:
    """Of cells that one side alone lacks, no value within the limits leads out of the ends."""
    a, b = units(), units(key=1)
    both = sorted(set(lack_a) & set(lack_b))
    c = row(compared({"": silent(a, lack_a)}, {"": silent(b, lack_b)}))
    kept = np.setdiff1d(np.arange(40), both)
    delta = b["score"][kept].mean() - a["score"][kept].mean()
    assert c["delta_worst"] - 1e-12 <= delta <= c["delta_best"] + 1e-12


def test_a_moving_denominator_makes_one_unit_differ() -> None:
    """3 of 30 against 3 of 31: one unit enters the denominator, no other unit differs."""
    broke = [1.0] * 3 + [0.0] * 37
    tries = [1.0] * 30 + [0.0] * 10
    a = units().assign(hit=broke, tries=tries)
    b = a.assign(tries=[1.0] * 31 + [0.0] * 9)
    c = row(compared({"": a}, {"": b}, margin={"rate": 0.01}), "rate")
    assert c["delta"] == pytest.approx(3 / 31 - 3 / 30)
    assert (c["n_differ"], c["verdict"]) == (1, "too few")
    assert c["each"] == pytest.approx(abs(c["delta"]))


@pytest.mark.parametrize("seeds", [("",), (1, 2, 3)])
def test_differences_of_units_sum_to_the_difference(seeds: tuple[object, ...]) -> None:
    """Of a ratio whose denominators differ too; a unit with equal sums differs by exactly 0."""
    rng = np.random.default_rng(5)
    sides = []
    for _ in range(2):
        runs: Runs = {}
        for seed in seeds:
            frame = units(key=7)
            tries = np.where(np.arange(40) < 12, rng.integers(0, 4, 40), 2.0)
            hit = np.where(np.arange(40) < 12, rng.integers(0, 2, 40) * (tries > 0), frame["hit"])
            runs[seed] = frame.assign(tries=tries, hit=hit)
        sides.append(grid(runs, "id"))
    compiled = compile_table([RATE])
    pairing = pair(*sides)
    paired = Paired(
        cell_sums(pairing.baseline, compiled),
        cell_sums(pairing.candidate, compiled),
        pairing.by_seed,
    )
    assert paired.null_errors.sum() == pytest.approx(paired.delta[0], abs=1e-12)
    assert (paired.null_errors[12:] == 0).all()


def test_a_null_numerator_that_counts_is_an_error_still() -> None:
    wrong = units().assign(score=np.nan)
    with pytest.raises(ValueError, match="score is null where scored counts the row"):
        compared({"": units()}, {"": wrong})


def test_a_metric_of_which_nothing_pairs_is_not_measured() -> None:
    """The others keep their numbers."""
    a, b = silent(units(), list(range(20))), silent(units(key=1), list(range(20, 40)))
    c = compared({"": a}, {"": b})
    assert row(c)["verdict"] == "not measured" and np.isnan(row(c)["delta"])
    assert (row(c)["missing_baseline"], row(c)["missing_candidate"]) == (20, 20)
    alone = compared({"": units()}, {"": units(key=1)})
    pd.testing.assert_series_equal(row(c, "rate"), row(alone, "rate"))


def test_a_unit_is_seen_where_it_is_present_in_a_seed_that_measures_the_metric() -> None:
    """The first metric is measured in seed 0 alone, where only unit 0 is; the second in both seeds."""
    present = np.array([[True, False], [True, True]])
    measured = np.array([[True, True], [False, True]])
    assert seen(present, measured).tolist() == [[True, True], [False, True]]


# --- what one side lacks within a unit


RIGHT = Metric(name="right", numerator="right", denominator="n", better="higher", bounds=(0, 1))


def rows_within(label: str) -> pd.DataFrame:
    """40 units of 5 rows each; a third of the rows fail."""
    rows = []
    for unit in range(40):
        for row in range(5):
            rows.append({"id": unit, label: row, "right": float((unit + row) % 3 > 0), "n": 1.0})
    return pd.DataFrame(rows)


@pytest.mark.parametrize("label", ["item", "turn_pair_id", "trial"])
@pytest.mark.parametrize("left_out", [False, True])
def test_rows_of_a_unit_that_one_side_lacks_take_no_part(label: str, left_out: bool) -> None:
    """The candidate has the same rows but for 53 that fail: it is not better, and the 53 are counted."""
    whole = rows_within(label)
    is_lost = (whole["right"] == 0) & (whole[label] > 0)
    lacking = whole.assign(n=whole["n"].mask(is_lost), right=whole["right"].mask(is_lost))
    candidate = lacking[~is_lost] if left_out else lacking
    row = compare({"": whole}, {"": candidate}, [RIGHT], "id", Resampling(), ["right"]).table.iloc[
        0
    ]
    assert (row["delta"], row["n_differ"]) == (0, 0)
    assert (row["missing_baseline"], row["missing_candidate"], row["n_cells"]) == (0, 53, 200)
    assert row["value_candidate"] == pytest.approx(133 / 147)
    # if all that is lacking failed, as it does on the other side, both have 133 of 200
    assert row["delta_worst"] == pytest.approx(0)
    runs = {"whole": {"": whole}, "lacking": {"": candidate}, "copy": {"": whole}}
    pairs = joint_tests(runs, [RIGHT], "id", "right", Resampling()).pairs
    assert pairs["delta"].tolist() == [0, 0, 0]


def test_trials_that_are_numbered_otherwise_are_draws_of_their_own() -> None:
    whole = rows_within("trial")
    first = whole[whole["trial"] == 0]
    row = compare({"": whole}, {"": first}, [RIGHT], "id", Resampling(), ["right"]).table.iloc[0]
    assert row["missing_candidate"] == 0
    assert row["value_baseline"] == pytest.approx(whole["right"].mean())


def test_the_value_of_a_dialogue_pairs_in_whichever_of_its_turns_it_stands() -> None:
    whole = rows_within("turn_pair_id")
    is_first = whole["turn_pair_id"] == 0
    of_dialogue = whole.assign(n=whole["n"].where(is_first), right=whole["right"].where(is_first))
    later = of_dialogue.assign(turn_pair_id=of_dialogue["turn_pair_id"] + 1)
    sides = {"": of_dialogue}, {"": later}
    row = compare(*sides, [RIGHT], "id", Resampling(), ["right"]).table.iloc[0]
    assert (row["n_units"], row["delta"], row["missing_candidate"]) == (40, 0, 0)


def test_cells_that_a_side_lacks_under_seeds_of_its_own_are_counted() -> None:
    """5 seeds against 4: 40 failing cells of the candidate are lost, of 5 * 40 + 4 * 40."""
    rng = np.random.default_rng(0)
    runs = {}
    for seed in range(5):
        right = (rng.random(40) < 0.6).astype(float)
        runs[seed] = pd.DataFrame({"id": range(40), "right": right, "n": 1.0})
    fewer = {}
    lost = 0
    for seed in range(4):
        frame = runs[seed]
        is_lost = (frame["right"] == 0) & (frame.index < 20)
        fewer[seed] = frame[~is_lost]
        lost += int(is_lost.sum())
    row = compare(runs, fewer, [RIGHT], "id", Resampling(), ["right"]).table.iloc[0]
    assert (row["missing_baseline"], row["missing_candidate"]) == (0, lost)
    assert row["n_cells"] == 9 * 40
    assert row["delta_worst"] < row["delta"] < row["delta_best"]
