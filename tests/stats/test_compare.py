"""Paired comparisons: exact symmetries, planted and absent differences, and everything that does not pair."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from evaltools.stats.compare import CONTRACT
from evaltools.stats.effects import NothingPaired
from evaltools.stats.formulas import NEW_SEEDS, THESE_RUNS, THESE_TWO_RUNS
from tests.stats.comparing import CASES, MEAN, SHARE, R, Runs, compare, compared, run, two


def test_contract_columns_and_what_has_no_direction() -> None:
    c = compared(*two())
    assert set(c["metric"]) == {"mean", "errors", "micro", "d"}
    assert tuple(c.columns[:22]) == CONTRACT and compare(*two(), [SHARE], R).empty


@pytest.mark.parametrize("case", CASES)
def test_equal_contents_are_identical_with_a_delta_of_exactly_zero(case: str) -> None:
    a = CASES[case][0]
    c = compared(a, {s: f.copy() for s, f in a.items()})
    assert (c["delta"] == 0.0).all()
    assert (c["verdict"] == "too few").all()  # nothing differs, so that no test can say anything
    assert (c["n_differ"] == 0).all()
    assert (c["p_value"] == 1.0).all()
    # [0, 0] would claim certainty: without limits there is none, within limits what 40 units did not show
    assert c.loc[["mean", "micro", "d"], "ci_low"].isna().all()
    if len(next(iter(a.values()))) == 40:
        unseen = 1 - 0.05 ** (1 / 40)
        assert c.loc["errors", "ci_low"] == pytest.approx(-unseen)


@pytest.mark.parametrize("case", CASES)
def test_order_of_rows_and_seeds_changes_no_bit(case: str) -> None:
    a, b = CASES[case]

    def shuffled(runs: Runs) -> Runs:
        return {s: f.sample(frac=1, random_state=1) for s, f in reversed(runs.items())}

    x, y = compared(a, b), compared(shuffled(a), shuffled(b))
    pd.testing.assert_frame_equal(x, y, check_exact=True)


@pytest.mark.parametrize("seeds", [(1,), (1, 2, 3)])
def test_the_same_gain_on_every_unit_is_found_though_nothing_varies(
    seeds: tuple[object, ...],
) -> None:
    a, _ = two(seeds=seeds)
    a = {s: f.assign(y=np.arange(40) % 4 / 4) for s, f in a.items()}
    b = {s: f.assign(y=f["y"] + 0.03125) for s, f in a.items()}
    limited = replace(MEAN, bounds=(0, 1))
    row = compare(a, b, [limited], R).loc["mean"]
    assert (row["delta"], row["verdict"], row["ci_method"]) == (0.03125, "better", "t")
    assert row["ci_low"] == pytest.approx(0.03125 * (1 - stats.t.isf(0.025, 39) / 40))
    unlimited = compared(a, b).loc["mean"]
    assert (unlimited["verdict"], unlimited["ci_method"]) == ("better", "none")


def test_a_gain_of_one_lucky_seed_does_not_speak_for_new_seeds() -> None:
    a, _ = two(n=200)
    b = {s: f.assign(y=f["y"] + (0.3 if s == 42 else 0.0)) for s, f in a.items()}
    row = compared(a, b).loc["mean"]
    assert row["p_value"] > 0.05
    assert row["verdict"] == "tied"


def test_each_side_is_linearised_by_its_own_denominator() -> None:
    """One side has twice the other's: the t interval of (num - ratio den) / D of each."""
    rng = np.random.default_rng(5)
    sides = []
    for mean in (1.5, 3.0):
        n = rng.poisson(mean, 40).astype(float)
        sides.append(
            pd.DataFrame({"id": range(40), "tp": rng.binomial(n.astype(int), 0.7), "n": n})
        )
    metric = replace(SHARE, better="higher", bounds=(0.0, 1.0))
    found = compare({"": sides[0]}, {"": sides[1]}, [metric], R).iloc[0]
    errors, shares = (np.zeros(40) for _ in range(2))
    for sign, side in zip((-1, 1), sides):
        size = side["n"].sum()
        errors += sign * (side["tp"] - side["tp"].sum() / size * side["n"]) / size
        shares += side["n"] / size / 2
    effective = 1 / (shares**2).sum()
    half = stats.t.ppf(0.975, effective - 1) * np.sqrt(
        (errors**2).sum() * effective / (effective - 1)
    )
    assert found["ci_high"] - found["delta"] == pytest.approx(half)
    # of a side of fewer than half as many: both sides' own intervals
    few = sides[0].where(sides[0]["id"] < 12, 0.0).assign(id=range(40))
    uneven = compare({"": few}, {"": sides[1]}, [metric], R).iloc[0]
    assert uneven["ci_method"] == "mover" and uneven["ci_high"] - uneven["ci_low"] > 2 * half


def test_what_does_not_pair_is_counted_and_unused() -> None:
    a, b = two()
    b[456] = b[456].iloc[:33]
    b[42] = pd.concat([b[42], b[42].assign(id=b[42]["id"] + "x")])
    c = compared(a, b)
    kept = {42: b[42].iloc[:40], 123: b[123], 456: b[456]}
    alone = compared({42: a[42], 123: a[123], 456: a[456].iloc[:33]}, kept)
    same = ["delta", "ci_low", "ci_high", "p_value", "n_units", "n_seeds"]
    mean, of_alone = (each.loc["mean", same] for each in (c, alone))
    assert mean.tolist() == pytest.approx(of_alone.tolist())
    assert c["missing_baseline"].eq(40).all() and c["missing_candidate"].eq(7).all()


def test_one_seed_on_a_side_speaks_for_samples_only() -> None:
    a, b = CASES["one against three"]
    row = compared(a, b).loc["mean"]
    assert (row["claim"], row["ci_method"]) == (THESE_RUNS, "bca-t")
    c = compared(*CASES["no seed in common"])
    assert c.loc["mean", ["claim", "n_seeds"]].tolist() == [NEW_SEEDS, 2]
    anonymous = compared({None: a[1]}, {None: b[3]})
    assert anonymous.loc["mean", "claim"] == THESE_TWO_RUNS


def test_labels_pair_where_they_are_equal_whatever_their_type() -> None:
    a, b = ({s: f.assign(id=range(len(f))) for s, f in side.items()} for side in two())
    expected = compared(a, b)
    for kind in (object, float, "Int64"):
        one = {s: f.astype({"id": kind}) for s, f in a.items()}
        mixed = {s: f.astype({"id": kind if s == 42 else int}) for s, f in b.items()}
        for side in (b, mixed):
            pd.testing.assert_frame_equal(compared(one, side), expected, check_exact=True)


def test_nothing_in_common_is_an_error_that_names_the_sides() -> None:
    a, b = two()
    other: Runs = {s: f.iloc[:7].assign(id=f["id"] + "x") for s, f in b.items()}
    with pytest.raises(NothingPaired, match=r"baseline \(40 units\) and candidate \(7 units\)"):
        compared(a, other)


def test_a_metric_that_a_side_lacks_in_some_seeds_or_all() -> None:
    a, b = two()
    b[42] = b[42].assign(n=0, y=0.0, bad=0)
    c = compared(a, b)
    row = c.loc["mean"]
    assert row["n_seeds"] == 2
    without = compared(*({s: side[s] for s in (123, 456)} for side in (a, b)))
    same = ["delta", "ci_low", "ci_high"]
    assert row[same].tolist() == pytest.approx(without.loc["mean", same].tolist())
    nowhere = compared(a, {s: f.assign(n=0, y=0.0, bad=0) for s, f in b.items()})
    row = nowhere.loc["mean"]
    assert row["verdict"] == "not measured"
    assert np.isnan(row["p_value"])
    assert nowhere.loc["micro", "verdict"] == "tied"


@settings(max_examples=20)
@example(k=1, j=1, n=15, key=0)
@given(st.integers(1, 3), st.integers(1, 3), st.integers(0, 15), st.integers(0, 1000))
def test_anything_incomplete_is_defined(k: int, j: int, n: int, key: int) -> None:
    rng = np.random.default_rng(key)
    sides = []
    for m in (k, j):
        runs: Runs = {}
        for s in range(m):
            frame = run(rng, rng.integers(0, 3, n) / 2)
            runs[s + int(rng.integers(0, 2))] = frame[rng.random(n) < 0.7]
        sides.append(runs)
    try:
        x, y = compared(*sides), compared(*sides[::-1])
    except NothingPaired:
        return
    assert set(x["verdict"]) <= {"better", "worse", "tied", "too few", "not measured"}
    for same in ("p_value", "p_adjusted", "n_units", "n_seeds", "n_differ", "ci_method", "claim"):
        pd.testing.assert_series_equal(x[same], y[same])
    # sums and quantiles are rounded differently from the other side
    lows, highs = x["ci_low"], -y["ci_high"]
    pd.testing.assert_series_equal(lows, highs, rtol=1e-12, atol=1e-12, check_names=False)
    t = x[x["ci_low"].notna()]
    assert (t["ci_low"] <= t["delta"]).all() and (t["delta"] <= t["ci_high"]).all()
    turned = y["verdict"].replace({"better": "worse", "worse": "better"})
    assert x["verdict"].tolist() == turned.tolist()
    assert x["p_value"].dropna().between(0, 1).all()
