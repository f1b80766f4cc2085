"""Paired comparisons: exact symmetries, planted and absent differences, and everything that does not pair."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evaltools.core.metric import Difference, Mean, Metric, MetricTable
from evaltools.core.resampling import Resampling
from evaltools.stats.compare import (
    CLAIM_SYSTEMS,
    CLAIM_THESE_SEEDS,
    CONTRACT,
    Comparison,
    compare,
    holm,
    power_statement,
    sign_flip,
    unit_changes,
)
from evaltools.stats.seeds import CLAIM_BOTH, TWO_SEEDS

MEAN = Metric(name="mean", numerator="y", denominator="n", group="g", better="higher", title="Mean")
ERRORS = Metric(
    name="errors", numerator="bad", denominator="n", group="g", better="lower", title="Errors", proportion=True
)
MICRO = Metric(name="micro", numerator="2*tp", denominator="2*tp + fp", group="g", better="higher", title="Micro")
SHARE = Metric(name="share", numerator="tp", denominator="n", group="g", better="none", title="Share")
COUNT = Metric(name="count", numerator="tp", denominator="", group="g", better="higher", title="Count")
TABLE: MetricTable = [
    MEAN,
    ERRORS,
    MICRO,
    SHARE,
    COUNT,
    Difference(name="d", minuend="mean", subtrahend="micro", group="g", better="higher", title="D"),
]
R = Resampling(n_resamples=500)
Runs = dict[object, pd.DataFrame]


def run(rng: np.random.Generator, sample: np.ndarray, shift: float = 0.0) -> pd.DataFrame:
    n = len(sample)
    return pd.DataFrame(
        {
            "id": [f"s{i:03d}" for i in range(n)],
            "y": sample + shift + rng.normal(0, 0.1, n),
            "bad": rng.random(n) < 0.3,
            "n": 1,
            "tp": rng.integers(0, 4, n),
            "fp": rng.integers(0, 3, n),
        }
    )


def two(
    n: int = 40, seeds: tuple[object, ...] = (42, 123, 456), shift: float = 0.0, key: int = 0
) -> tuple[Runs, Runs]:
    rng = np.random.default_rng([n, key])
    sample = rng.normal(0.5, 0.2, n)
    a = {s: run(rng, sample + rng.normal(0, 0.01)) for s in seeds}
    b = {s: run(rng, sample + rng.normal(0, 0.01), shift) for s in seeds}
    return a, b


def of(a: Runs, b: Runs, headline: tuple[str, ...] = ("mean", "errors"), **options: object) -> Comparison:
    return compare(a, b, TABLE, "id", R, headline, n_permutations=999, **options)  # type: ignore[arg-type]


def rows(c: Comparison) -> pd.DataFrame:
    return c.table.set_index("metric")


CASES = {
    "one seed each": two(seeds=(1,)),
    "three seeds": two(),
    "no seed in common": (two(seeds=(1, 2))[0], two(seeds=(3, 4, 5))[1]),
    "one against three": (two(seeds=(1,))[0], two(seeds=(3, 4, 5))[1]),
    "incomplete": (two()[0], {s: f.iloc[s % 7 :] for s, f in two()[1].items()}),  # type: ignore[operator]
    "few": tuple({s: f.iloc[:7] for s, f in side.items()} for side in two()),
    "one sample": tuple({s: f.iloc[:1] for s, f in side.items()} for side in two()),
}


def test_contract_columns_and_what_has_no_direction() -> None:
    c = of(*two(), names=("m0", "m1"))
    assert tuple(c.table.columns[:13]) == CONTRACT
    assert set(c.table["metric"]) == {"mean", "errors", "micro", "d"}
    assert set(c.descriptive["metric"]) == {"share", "count"}
    assert "verdict" not in c.descriptive
    assert set(c.table["baseline"]) == {"m0"}
    count = c.descriptive.set_index("metric").loc["count"]
    assert np.isnan(count["p_value"])
    assert count["delta"] == count["value_candidate"] - count["value_baseline"]


@pytest.mark.parametrize("case", CASES)
def test_equal_contents_are_tied_with_a_delta_of_exactly_zero(case: str) -> None:
    a = CASES[case][0]
    c = of(a, {s: f.copy() for s, f in a.items()})
    assert (c.table["delta"] == 0.0).all()
    assert (c.table["verdict"] == "tied").all()
    assert (c.table["p_value"] == 1.0).all()
    assert c.table["ci_low"].isna().all()  # [0, 0] would claim certainty
    assert not any(c.unpaired.values())


@pytest.mark.parametrize("case", CASES)
def test_swapping_negates_and_keeps_every_bit(case: str) -> None:
    a, b = CASES[case]
    x, y = rows(of(a, b)), rows(of(b, a))
    for one, other in (("delta", "delta"), ("ci_low", "ci_high"), ("ci_high", "ci_low")):
        pd.testing.assert_series_equal(x[one], -y[other], check_exact=True, check_names=False)
    for same in ("p_value", "p_adjusted", "p_samples", "mde", "n_units", "n_seeds", "ci_method", "claim"):
        pd.testing.assert_series_equal(x[same], y[same], check_exact=True)
    turned = y["verdict"].replace({"better": "worse", "worse": "better"})
    assert x["verdict"].tolist() == turned.tolist()


@pytest.mark.parametrize("case", CASES)
def test_order_of_rows_and_seeds_changes_no_bit(case: str) -> None:
    a, b = CASES[case]

    def shuffled(runs: Runs) -> Runs:
        return {s: f.sample(frac=1, random_state=1) for s, f in reversed(runs.items())}

    x, y = of(a, b), of(shuffled(a), shuffled(b))
    pd.testing.assert_frame_equal(x.table, y.table, check_exact=True)
    assert (x.notes, x.unpaired) == (y.notes, y.unpaired)


@pytest.mark.parametrize("case", CASES)
def test_delta_is_the_difference_of_the_values_shown(case: str) -> None:
    t = of(*CASES[case]).table
    assert (t["delta"] == t["value_candidate"] - t["value_baseline"]).all()
    known = t[t["ci_low"].notna()]
    assert (known["ci_low"] < known["delta"]).all()
    assert (known["delta"] < known["ci_high"]).all()
    assert (known["mde"] > 0).all()


@pytest.mark.parametrize("seeds", [(1,), (42, 123, 456)])
def test_a_planted_improvement_is_found(seeds: tuple[object, ...]) -> None:
    c = rows(of(*two(shift=0.15, seeds=seeds)))
    assert c.loc["mean", "verdict"] == "better"
    assert c.loc["mean", "delta"] == pytest.approx(0.15, abs=0.05)
    assert c.loc["errors", "verdict"] == "tied"
    worse = rows(of(*reversed(two(shift=0.15, seeds=seeds))))
    assert worse.loc["mean", "verdict"] == "worse"


@pytest.mark.parametrize("seeds", [(1,), (1, 2, 3)])
def test_the_same_gain_on_every_unit_is_found_though_nothing_varies(seeds: tuple[object, ...]) -> None:
    a, _ = two(seeds=seeds)
    a = {s: f.assign(y=np.arange(40) % 4 / 4) for s, f in a.items()}
    row = rows(of(a, {s: f.assign(y=f["y"] + 0.25) for s, f in a.items()})).loc["mean"]
    assert (row["delta"], row["verdict"], row["ci_method"]) == (0.25, "better", "none")


def test_fewer_errors_are_better() -> None:
    a, b = two(n=200)
    b = {s: f.assign(bad=f["bad"] & (np.arange(200) % 2 == 0)) for s, f in b.items()}
    row = rows(of(a, b)).loc["errors"]
    assert row["delta"] < 0
    assert row["verdict"] == "better"


def test_a_gain_of_one_lucky_seed_does_not_speak_for_new_seeds() -> None:
    """By the samples alone it would: p_samples is small, p_value is not."""
    a, _ = two(n=200)
    b = {s: f.assign(y=f["y"] + (0.3 if s == 42 else 0.0)) for s, f in a.items()}
    row = rows(of(a, b)).loc["mean"]
    assert row["p_samples"] < 0.01
    assert row["p_value"] > 0.05
    assert row["verdict"] == "tied"


def test_one_run_each_is_a_paired_bootstrap_of_scipy() -> None:
    a, b = two(seeds=(1,))
    x, y = a[1]["y"].to_numpy(), b[1]["y"].to_numpy()
    row = rows(of(a, b)).loc["mean"]
    expected = stats.bootstrap(
        (x, y),
        lambda x, y, axis=-1: y.mean(axis) - x.mean(axis),
        paired=True,
        vectorized=True,
        n_resamples=500,
        rng=np.random.default_rng(0),
        batch=128,
    ).confidence_interval
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert row["claim"] == CLAIM_SYSTEMS
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
        half = max(stats.t.ppf(0.975, df) * np.sqrt(variance), stats.t.ppf(0.975, k - 1) * np.sqrt(ms_seed / (n * k)))
    row = rows(of(a, b)).loc["mean"]
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((d.mean() - half, d.mean() + half))
    assert row["claim"] == CLAIM_BOTH


def test_sign_flips_by_hand() -> None:
    """Differences 1, 1, 2: |sum| = 4 is reached by + + + and - - - of 8 patterns; 1, 1, 0: by 2 of 4."""
    d = np.array([[1.0, 1.0], [1.0, 1.0], [2.0, 0.0]])
    assert sign_flip(d, 100, 0).tolist() == [2 / 8, 2 / 4]
    assert sign_flip(np.zeros((5, 1)), 100, 0).tolist() == [1.0]
    assert sign_flip(np.zeros((0, 1)), 100, 0).tolist() == [1.0]


def test_exact_and_random_sign_flips_agree_with_scipy() -> None:
    rng = np.random.default_rng(1)
    d = rng.normal(0.3, 1, (12, 3))
    expected = [
        stats.permutation_test(
            (x,), lambda x, axis=-1: x.mean(axis), permutation_type="samples", vectorized=True, n_resamples=np.inf
        ).pvalue
        for x in d.T
    ]
    assert sign_flip(d, 5000, 0) == pytest.approx(expected)
    assert sign_flip(np.vstack([d, np.zeros((300, 3))]), 5000, 0) == pytest.approx(expected)
    assert sign_flip(d, 4000, 0) == pytest.approx(expected, abs=0.03)


def test_random_sign_flips_never_give_zero() -> None:
    assert sign_flip(np.ones((50, 1)), 99, 0).tolist() == [1 / 100]


def test_holm_by_hand() -> None:
    """Sorted .01, .02, .04 times 3, 2, 1: .03, .04, .04."""
    assert holm(np.array([0.04, 0.01, np.nan, 0.02])) == pytest.approx([0.04, 0.03, np.nan, 0.04], nan_ok=True)
    assert holm(np.array([0.5, 0.9])).tolist() == [1.0, 1.0]
    assert holm(np.array([])).tolist() == []


def test_holm_equals_statsmodels() -> None:
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    for p in np.random.default_rng(0).random((20, 6)) ** 3:
        assert holm(p) == pytest.approx(multitest.multipletests(p, method="holm")[1])


def test_only_headline_metrics_are_adjusted() -> None:
    c = rows(of(*two(shift=0.03), headline=("mean", "errors")))
    assert c["p_adjusted"].notna().tolist() == c["headline"].tolist() == [True, True, False, False]
    assert (c["p_adjusted"].dropna() >= c["p_value"][c["headline"]]).all()
    with pytest.raises(ValueError, match=r"the table lacks: \['zzz'\]"):
        of(*two(), headline=("zzz",))


def test_fewer_than_ten_pairs_have_no_verdict_but_numbers() -> None:
    a, b = (({s: f.iloc[:9] for s, f in side.items()}) for side in two(seeds=(1,), shift=5.0))
    c = of(a, b)
    row = rows(c).loc["mean"]
    assert row["delta"] > 4
    assert row["p_value"] == 2 / 2**9
    assert np.isnan(row["p_adjusted"])
    assert row["verdict"] == "tied"
    assert any("Fewer than 10 paired units" in note for note in c.notes)


def test_what_does_not_pair_is_counted_and_unused() -> None:
    a, b = two()
    b[456] = b[456].iloc[:33]
    b[7] = b[42]
    b[42] = pd.concat([b[42], b[42].assign(id=b[42]["id"] + "x")])
    c = of(a, b)
    assert c.unpaired == {
        "cells_baseline": 7,
        "units_baseline": 0,
        "seeds_baseline": 0,
        "cells_candidate": 80,
        "units_candidate": 40,
        "seeds_candidate": 1,
    }
    kept = {42: b[42].iloc[:40], 123: b[123], 456: b[456]}
    pd.testing.assert_frame_equal(c.table, of({**a, 456: a[456].iloc[:33]}, kept).table, check_exact=True)
    assert sum("have no counterpart" in note for note in c.notes) == 2


def test_seeds_without_a_common_label_pair_by_sample() -> None:
    a, b = CASES["no seed in common"]
    c = of(a, b)
    assert c.paired_by == "sample"
    assert rows(c).loc["mean", "claim"] == CLAIM_BOTH
    assert rows(c).loc["mean", "n_seeds"] == 2
    assert any("No seed in common (baseline: 1/2; candidate: 3/4/5)" in note for note in c.notes)


def test_one_seed_on_a_side_speaks_for_samples_only() -> None:
    a, b = CASES["one against three"]
    c = of(a, b)
    assert rows(c).loc["mean", "claim"] == CLAIM_THESE_SEEDS
    assert rows(c).loc["mean", "ci_method"] == "bca"
    assert any("not for other seeds" in note for note in c.notes)
    anonymous = of({None: a[1]}, {None: b[3]})
    assert anonymous.paired_by == "sample and seed"
    assert rows(anonymous).loc["mean", "claim"] == CLAIM_SYSTEMS


def test_labels_pair_where_they_are_equal_whatever_their_type() -> None:
    a, b = ({s: f.assign(id=range(len(f))) for s, f in side.items()} for side in two())
    expected = of(a, b).table
    for kind in (object, float, "Int64"):
        one = {s: f.astype({"id": kind}) for s, f in a.items()}
        mixed = {s: f.astype({"id": kind if s == 42 else int}) for s, f in b.items()}
        for side in (b, mixed):
            pd.testing.assert_frame_equal(of(one, side).table, expected, check_exact=True)


def test_nothing_in_common() -> None:
    a, b = two()
    c = of(a, {s: f.assign(id=f["id"] + "x") for s, f in b.items()})
    assert (c.table["verdict"] == "not measured").all()
    assert c.table["delta"].isna().all()
    assert any("nothing can be compared" in note for note in c.notes)
    assert c.unpaired["cells_baseline"] == 120


def test_a_metric_that_a_side_lacks_in_some_seeds_or_all() -> None:
    a, b = two()
    b[42] = b[42].assign(n=0, y=0.0, bad=0)
    c = of(a, b)
    row = rows(c).loc["mean"]
    assert row["n_seeds"] == 2
    without = rows(of({s: a[s] for s in (123, 456)}, {s: b[s] for s in (123, 456)})).loc["mean"]
    assert row[["delta", "ci_low", "ci_high"]].tolist() == pytest.approx(
        without[["delta", "ci_low", "ci_high"]].tolist()
    )
    assert any(note.startswith("Measured on both sides in some of the seeds only: mean") for note in c.notes)
    nowhere = of(a, {s: f.assign(n=0, y=0.0, bad=0) for s, f in b.items()})
    row = rows(nowhere).loc["mean"]
    assert row["verdict"] == "not measured"
    assert np.isnan(row["p_value"])
    assert rows(nowhere).loc["micro", "verdict"] == "tied"
    assert any(note.startswith("Not measured on both sides: mean, errors, d") for note in nowhere.notes)


def test_power_statement_says_what_could_have_been_seen() -> None:
    c = of(*two())
    text = power_statement(rows(c).reset_index().iloc[0])
    assert "40 paired units under 3 seeds (80% power)" in text
    same = of(two()[0], two()[0])
    assert "no variation" in power_statement(same.table.iloc[0])


def test_unit_changes_are_the_pairs() -> None:
    a, b = two()
    b[456] = b[456].iloc[1:]
    got = unit_changes(a, b, TABLE, "id", "mean")
    assert got["id"].tolist() == sorted(a[42]["id"])
    assert got["baseline"].iloc[1] == pytest.approx(np.mean([a[s]["y"].iloc[1] for s in a]))
    assert got["baseline"].iloc[0] == pytest.approx(np.mean([a[s]["y"].iloc[0] for s in (42, 123)]))
    assert got["change"].tolist() == (got["candidate"] - got["baseline"]).tolist()
    assert len(unit_changes(a, b, TABLE, "id", "micro")) <= 40
    with pytest.raises(ValueError, match="no metric 'zzz'"):
        unit_changes(a, b, TABLE, "id", "zzz")


@settings(max_examples=20)
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
    x, y = of(*sides), of(*sides[::-1])
    assert set(x.table["verdict"]) <= {"better", "worse", "tied", "not measured"}
    pd.testing.assert_series_equal(x.table["p_value"], y.table["p_value"], check_exact=True)
    pd.testing.assert_series_equal(x.table["ci_low"], -y.table["ci_high"], check_exact=True, check_names=False)
    assert x.table["p_value"].dropna().between(0, 1).all()


@pytest.mark.reference
def test_reference_conditions_pair_by_sample_and_seed(reference: Path) -> None:
    from evaltools import evaluate
    from evaltools.core.suite import get_suite

    suite = get_suite("cr")
    options = suite.options()
    m0, m1 = (
        {
            s: evaluate("cr", reference / "cr" / f"cr_n50_{m}__seed{s}_proposed", resampling=R).units
            for s in (42, 123, 456)
        }
        for m in ("m0", "m1")
    )
    c = compare(m0, m1, suite.metrics(options), suite.unit, R, suite.headline(options), 999, ("m0", "m1"))
    assert c.unpaired["cells_baseline"] == 17  # seed 456 of m1 has 33 of 50 samples
    assert c.unpaired["cells_candidate"] == 0
    row = c.table.set_index("metric").loc["tuple_f1_s2_otepol"]
    deltas = [
        m1[s].set_index("text_id")["f1_s2_otepol"].sub(m0[s].set_index("text_id")["f1_s2_otepol"]).mean()
        for s in (42, 123, 456)
    ]
    assert row["delta"] == pytest.approx(np.mean(deltas), abs=1e-9)
    assert row["n_units"] == 50


ONE_SEED = "One seed on a side: the comparison speaks for new samples, not for other seeds."
COMPLETE = {
    "three seeds": (two(), []),
    "two seeds": (two(seeds=(1, 2)), [TWO_SEEDS]),
    "one seed": (
        two(seeds=(1,)),
        ["One seed on a side: the comparison speaks for new samples, not for other seeds."],
    ),
    "one run each": (two(seeds=(None,)), []),
}


@pytest.mark.parametrize("case", COMPLETE)
def test_notes_say_what_holds_and_nothing_else(case: str) -> None:
    sides, expected = COMPLETE[case]
    assert of(*sides).notes == expected


def test_each_gap_has_its_own_note_only() -> None:
    a, b = two()
    assert of(a, {s: f.iloc[3:] if s == 42 else f for s, f in b.items()}).notes == [
        "baseline: 3 of 120 (sample, seed) cells have no counterpart and take no part "
        "(0 whole samples, 0 whole seeds)."
    ]
    one: Runs = {None: a[42]}
    other: Runs = {None: b[42]}
    assert of(one, {None: other[None].iloc[3:]}).notes == [
        "baseline: 3 of 40 units have no counterpart and take no part."
    ]
    few = of({None: a[42].iloc[:9]}, {None: b[42].iloc[:9]})
    assert few.notes == ["Fewer than 10 paired units, no verdict: mean, errors, micro, d."]
    lacking = of(a, {s: f.assign(n=f["n"] * (s != 42), y=f["y"] * (s != 42), bad=0) for s, f in b.items()})
    assert lacking.notes == ["Measured on both sides in some of the seeds only: mean, errors, d."]
    nowhere = of(a, {s: f.assign(n=0, y=0.0, bad=0) for s, f in b.items()})
    assert nowhere.notes == ["Not measured on both sides: mean, errors, d."]


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
    of_one = {name: unit_changes(a, b, MACRO, "id", name).set_index("id")["change"] for name in got.index}
    macro_change = (of_one["first"] + of_one["mean"] + of_one["errors"]) / 3
    assert of_one["macro"].to_numpy() == pytest.approx(macro_change.to_numpy(), abs=1e-12)
    assert of_one["lead"].to_numpy() == pytest.approx((macro_change - of_one["first"]).to_numpy(), abs=1e-12)


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
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((expected.low, expected.high), abs=1e-12)
