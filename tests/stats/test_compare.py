"""Paired comparisons: exact symmetries, planted and absent differences, and everything that does not pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evaltools.core.errors import UsageError
from evaltools.core.metric import Difference, Mean, Metric, MetricTable
from evaltools.core.metric_matrix import compile_table
from evaltools.core.resampling import Resampling
from evaltools.stats.compare import (
    CLAIM_SYSTEMS,
    CLAIM_THESE_SEEDS,
    CONTRACT,
    Comparison,
    NothingPaired,
    compare,
    decide,
    mde_text,
    p_text,
    unit_changes,
    verdict_sentence,
    verdict_text,
    verdicts,
)
from evaltools.stats.design import grid
from evaltools.stats.influence import Paired, cell_sums
from evaltools.stats.intervals import estimate
from evaltools.stats.seeds import CLAIM_BOTH, POOLED, TWO_SEEDS

MEAN = Metric(name="mean", numerator="y", denominator="n", group="g", better="higher", title="Mean")
ERRORS = Metric(
    name="errors",
    numerator="bad",
    denominator="n",
    group="g",
    better="lower",
    title="Errors",
    proportion=True,
)
MICRO = Metric(
    name="micro",
    numerator="2*tp",
    denominator="2*tp + fp",
    group="g",
    better="higher",
    title="Micro",
)
SHARE = Metric(
    name="share", numerator="tp", denominator="n", group="g", better="none", title="Share"
)
COUNT = Metric(
    name="count", numerator="tp", denominator="", group="g", better="higher", title="Count"
)
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


def of(
    a: Runs, b: Runs, headline: tuple[str, ...] = ("mean", "errors"), **options: object
) -> Comparison:
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
    assert tuple(c.table.columns[:18]) == CONTRACT
    assert CONTRACT[-6:] == (
        "verdict",
        "primary",
        "mde",
        "margin",
        "equivalence_low",
        "equivalence_high",
    )
    assert set(c.table["metric"]) == {"mean", "errors", "micro", "d"}
    assert set(c.descriptive["metric"]) == {"share", "count"}
    assert "verdict" not in c.descriptive
    assert set(c.table["baseline"]) == {"m0"}
    count = c.descriptive.set_index("metric").loc["count"]
    assert np.isnan(count["p_value"])
    assert count["delta"] == count["value_candidate"] - count["value_baseline"]


@pytest.mark.parametrize("case", CASES)
def test_equal_contents_are_identical_with_a_delta_of_exactly_zero(case: str) -> None:
    a = CASES[case][0]
    c = of(a, {s: f.copy() for s, f in a.items()})
    assert (c.table["delta"] == 0.0).all()
    assert c.identical and c.notes[0].startswith("The sides are identical: ")
    assert (
        c.table["verdict"] == "too few"
    ).all()  # nothing differs, so that no test can say anything
    assert (c.table["n_differ"] == 0).all()
    assert (c.table["p_value"] == 1.0).all()
    assert c.table["ci_low"].isna().all()  # [0, 0] would claim certainty
    assert not any(c.unpaired.values())


@pytest.mark.parametrize("case", CASES)
def test_swapping_negates_and_keeps_every_bit(case: str) -> None:
    a, b = CASES[case]
    x, y = rows(of(a, b)), rows(of(b, a))
    for one, other in (("delta", "delta"), ("ci_low", "ci_high"), ("ci_high", "ci_low")):
        pd.testing.assert_series_equal(x[one], -y[other], check_exact=True, check_names=False)
    for same in (
        "p_value",
        "p_adjusted",
        "p_samples",
        "mde",
        "n_units",
        "n_seeds",
        "n_differ",
        "ci_method",
        "claim",
    ):
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
def test_the_same_gain_on_every_unit_is_found_though_nothing_varies(
    seeds: tuple[object, ...],
) -> None:
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
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(
        (expected.low, expected.high), abs=1e-12
    )
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
    assert row["claim"] == CLAIM_BOTH


def test_only_headline_metrics_are_adjusted() -> None:
    c = rows(of(*two(shift=0.03), headline=("mean", "errors")))
    assert c["p_adjusted"].notna().tolist() == c["headline"].tolist() == [True, True, False, False]
    assert (c["p_adjusted"].dropna() >= c["p_value"][c["headline"]]).all()
    with pytest.raises(ValueError, match=r"the table lacks: \['zzz'\]"):
        of(*two(), headline=("zzz",))


def test_the_primary_metric_is_tested_alone_whatever_else_is_in_the_family() -> None:
    a, b = two(shift=0.03)
    alone = rows(of(a, b, headline=("mean",))).loc["mean"]
    first = rows(of(a, b, headline=("mean", "errors", "micro", "d")))
    named = rows(of(a, b, headline=("errors", "micro", "d"), primary="mean"))
    columns = ["p_value", "p_adjusted", "verdict", "primary", "mde", "level"]
    for found in (first.loc["mean"], named.loc["mean"]):
        assert found[columns].tolist() == alone[columns].tolist()
    assert alone["p_adjusted"] == alone["p_value"] and alone["level"] == 0.05
    assert first["primary"].tolist() == named["primary"].tolist() == [True, False, False, False]
    assert named["headline"].all() and named["family"].all()
    assert (
        first["level"][1:].between(0, 0.05).all()
        and (first["p_adjusted"] >= first["p_value"]).all()
    )


def test_a_headline_that_starts_without_a_direction_has_another_primary_metric() -> None:
    found = rows(of(*two(), headline=("share", "errors")))
    assert found.index[found["primary"]].tolist() == ["errors"]
    assert not rows(of(*two(), headline=()))["primary"].any()


WRONG: dict[str, tuple[dict[str, object], str]] = {
    "unknown primary": ({"primary": "meen"}, "primary: no metric 'meen'; did you mean mean"),
    "primary without direction": ({"primary": "share"}, "primary: share has no direction"),
    "a count as primary": ({"primary": "count"}, "primary: count has no direction"),
    "unknown margin": ({"margin": {"zz": 1.0}}, "margin: no metric 'zz'; there are mean, errors"),
    "margin without direction": ({"margin": {"share": 0.1}}, "margin: share has no direction"),
    "no margin": (
        {"margin": {"mean": 0.0}},
        "margin of mean: expected a finite number above 0, got 0",
    ),
    "negative": ({"margin": {"mean": -0.1}}, "expected a finite number above 0, got -0.1"),
    "not finite": ({"margin": {"mean": np.inf}}, "expected a finite number above 0, got inf"),
    "not a number": ({"margin": {"mean": np.nan}}, "expected a finite number above 0, got nan"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_declared_is_a_usage_error(case: str) -> None:
    options, message = WRONG[case]
    with pytest.raises(UsageError, match=message):
        of(*two(), **options)
    with pytest.raises(UsageError, match="a margin needs intervals of more than 50%, not 40%"):
        compare(*two(), TABLE, "id", Resampling(confidence=0.4), margin={"mean": 0.1})


def test_equivalence_is_two_one_sided_t_tests_where_seeds_say_the_same() -> None:
    """At the bound of the 90% interval that lies farther out, both one-sided tests have 5%."""
    tost = pytest.importorskip("statsmodels.stats.weightstats").ttost_paired
    a, b = two(seeds=(1,), n=60)
    a, b = (dict.fromkeys((1, 2, 3), side[1]) for side in (a, b))
    row = rows(of(a, b, margin={"mean": 1.0})).loc["mean"]
    bound = max(-row["equivalence_low"], row["equivalence_high"])
    assert tost(b[1]["y"], a[1]["y"], -bound, bound)[0] == pytest.approx(0.05)
    assert (
        row["ci_low"]
        < row["equivalence_low"]
        < row["delta"]
        < row["equivalence_high"]
        < row["ci_high"]
    )
    for x, verdict in ((bound * 1.001, "equivalent"), (bound * 0.999, "tied")):
        found = rows(of(a, b, margin={"mean": x})).loc["mean"]
        assert (found["verdict"], found["margin"]) == (verdict, x)
    assert (
        rows(of(a, b)).loc["mean", ["margin", "equivalence_low", "equivalence_high"]].isna().all()
    )


@pytest.mark.parametrize("seeds", [(1,), (1, 2, 3)])
def test_words_of_equivalence(seeds: tuple[object, ...]) -> None:
    a, b = two(seeds=seeds)
    same = rows(of(a, b, margin={"mean": 0.5, "micro": 9.0}))
    text = verdict_sentence(same.loc["mean"])
    assert (
        text.startswith("candidate is equivalent to baseline on “Mean” within ±0.5: ")
        and "90% interval" in text
    )
    assert verdict_text(same.loc["mean"]) == "equivalent"
    assert verdict_text(same.loc["micro"]) == "equivalent (exploratory)"
    assert "equivalent (exploratory: outside the headline) to baseline" in verdict_sentence(
        same.loc["micro"]
    )
    a, b = two(seeds=seeds, shift=0.15)
    both = rows(of(a, b, margin={"mean": 0.5})).loc["mean"]
    assert (both["verdict"], verdict_text(both)) == ("better", "better, and within the margin")
    assert verdict_sentence(both).endswith(" The difference lies within the margin of ±0.5.")
    neither = rows(of(*two(seeds=seeds), margin={"mean": 1e-6})).loc["mean"]
    assert verdict_sentence(neither).endswith(" Nor is it shown to be equivalent within ±1e-06.")
    plain = rows(of(*two(seeds=seeds))).loc["mean"]
    assert "margin" not in verdict_sentence(plain) and "equivalent" not in verdict_sentence(plain)


def test_swapping_mirrors_the_interval_of_equivalence() -> None:
    for a, b in (two(), two(seeds=(1,))):
        x, y = (rows(of(*sides, margin={"mean": 0.1})).loc["mean"] for sides in ((a, b), (b, a)))
        assert (x["equivalence_low"], x["equivalence_high"]) == (
            -y["equivalence_high"],
            -y["equivalence_low"],
        )


@pytest.mark.parametrize(("seeds", "digits"), [((1, 2), 1), ((1,), 2)])
def test_the_mde_has_as_many_digits_as_are_known(seeds: tuple[object, ...], digits: int) -> None:
    """Two seeds have one degree of freedom, 40 samples 39."""
    for row in of(*two(seeds=seeds)).table.to_dict("records"):
        assert (row["df"] < 5) == (digits == 1)
        assert float(f"{row['mde']:.{digits - 1}e}") == row["mde"] > 0
        shown = mde_text(row)
        assert float(shown) == row["mde"] and len(shown.replace(".", "").lstrip("0")) == digits
    assert mde_text({"mde": np.nan, "df": 9}) == ""
    assert mde_text({"mde": 1200.0, "df": 39}) == "1200"


def test_decide_is_the_verdict_of_a_primary_metric_or_of_a_family() -> None:
    compiled = compile_table(TABLE)
    for shift in (0.0, 0.15):
        a, b = (grid(side, "id") for side in two(shift=shift))
        paired = Paired(cell_sums(a, compiled), cell_sums(b, compiled), by_seed=True)
        table = rows(of(*two(shift=shift), headline=("mean", "errors", "micro", "d")))
        said = table["verdict"].map({"better": 1, "worse": -1}).fillna(0) * np.where(
            table["better"] == "lower", -1, 1
        )
        family = [compiled.names.index(name) for name in ("errors", "micro", "d")]
        found = dict(zip(compiled.names, decide(paired, R, 999, family)))
        assert {name: found[name] for name in table.index} == said.to_dict()
        assert decide(paired, R, 999)[0] == found["mean"] == (shift > 0)


def test_fewer_than_ten_pairs_are_too_few_but_have_numbers() -> None:
    a, b = (({s: f.iloc[:9] for s, f in side.items()}) for side in two(seeds=(1,), shift=5.0))
    c = of(a, b)
    row = rows(c).loc["mean"]
    assert row["delta"] > 4
    assert row["p_value"] == 2 / 2**9
    assert row["p_adjusted"] == row["p_value"]
    assert row["verdict"] == "too few"  # though every pair differs, and in one direction
    assert verdict_text(row) == "too few: 9 pairs"
    assert any("fewer than 10 paired units" in note for note in c.notes)


def differing(m: int, n: int = 40) -> tuple[Runs, Runs]:
    """One seed each; the mean rises by 1 in m of n units, the errors in none."""
    a = run(np.random.default_rng(0), np.zeros(n))
    return {None: a}, {None: a.assign(y=a["y"] + (np.arange(n) < m))}


@pytest.mark.parametrize(("m", "verdict"), [(5, "too few"), (6, "better")])
def test_too_few_units_that_differ_for_any_p_within_the_level(m: int, verdict: str) -> None:
    """All one way, m units have p = 2 / 2^m: 0.0625 for 5, which 5% excludes whatever the signs, 0.03125 for 6."""
    c = of(*differing(m), headline=("mean",))
    row = rows(c).loc["mean"]
    assert (row["n_differ"], row["p_value"], row["verdict"]) == (m, 2 / 2**m, verdict)
    assert (
        "5 of 40 paired units differ, too few to be told from chance." in verdict_sentence(row)
    ) == (m == 5)


@pytest.mark.parametrize(("m", "verdict"), [(6, "too few"), (7, "better")])
def test_the_family_takes_part_in_what_is_too_few(m: int, verdict: str) -> None:
    """Two metrics, each of which rises in m units of its own, after a primary one.

    Of the sign patterns 2 / 2^m have all signs of a metric alike, and (1 - 2 / 2^m)^2 those of neither: adjusted,
    both have 1 - (1 - 1/32)^2 = 0.0615 for m = 6, and 1 - (1 - 1/64)^2 = 0.0310 for m = 7.
    """
    a, b = differing(m)
    at = np.arange(40)
    b = {None: b[None].assign(z=a[None]["y"] + ((at >= m) & (at < 2 * m)))}
    a = {None: a[None].assign(z=a[None]["y"])}
    table = [replace(MEAN, name="one"), replace(MEAN, name="other", numerator="z"), ERRORS]
    c = compare(a, b, table, "id", R, ("errors", "one", "other")).table.set_index("metric")
    assert c.loc[["one", "other"], "verdict"].tolist() == [verdict] * 2
    exact = 1 - (1 - 2 / 2**m) ** 2
    # 10,000 patterns where 12 or 14 units differ
    assert c.loc[["one", "other"], "p_adjusted"].tolist() == pytest.approx([exact] * 2, abs=0.008)
    assert ("once p is adjusted for the headline metrics" in verdict_sentence(c.loc["one"])) == (
        m == 6
    )
    outside = compare(a, b, table, "id", R, ("errors",)).table.set_index("metric")
    assert outside["verdict"].tolist() == ["better", "better", "too few"]
    assert outside["family"].tolist() == [False, False, True]


def test_the_verdict_of_each_case() -> None:
    """What was found -> verdict; the first that holds."""
    whole: dict[str, object] = {
        "delta": 1.0,
        "ci_low": 0.5,
        "ci_high": 1.5,
        "p_value": 0.01,
        "p_adjusted": 0.04,
        "few_differ": False,
        "margin": np.nan,
        "equivalence_low": np.nan,
        "equivalence_high": np.nan,
    }
    whole |= {"n_units": 10, "better": "higher"}
    inside = {"margin": 1.6, "equivalence_low": -1.5, "equivalence_high": 1.5}
    cases: list[tuple[dict[str, object], str]] = [
        ({}, "better"),
        ({"better": "lower"}, "worse"),
        ({"delta": -1.0, "better": "lower", "ci_low": -1.5, "ci_high": -0.5}, "better"),
        ({"delta": -1.0, "ci_low": -1.5, "ci_high": -0.5}, "worse"),
        ({"ci_low": np.nan, "ci_high": np.nan}, "better"),
        ({"ci_low": 0.0}, "tied"),
        ({"p_adjusted": 0.06}, "tied"),
        ({"p_adjusted": np.nan}, "better"),
        ({"p_adjusted": 0.06, "few_differ": True}, "too few"),
        (inside, "better"),
        ({"p_adjusted": 0.06, "few_differ": True, **inside}, "equivalent"),
        ({"p_adjusted": 0.06, **inside, "margin": 1.5}, "tied"),
        ({"n_units": 9, **inside}, "too few"),
        ({"n_units": 9}, "too few"),
        ({"n_units": 9, "delta": np.nan}, "not measured"),
    ]
    found = verdicts(pd.DataFrame([whole | case for case, _ in cases]), 0.05)
    assert found.tolist() == [verdict for _, verdict in cases]


def test_an_alias_has_the_verdict_and_p_of_its_metric() -> None:
    table = [*TABLE, replace(MEAN, name="again", alias_of="mean")]
    a, b = two(shift=0.15)
    c = compare(a, b, table, "id", R, ("mean", "errors"), n_permutations=999).table.set_index(
        "metric"
    )
    columns = ["p_value", "p_samples", "p_adjusted", "verdict", "family", "delta", "ci_low"]
    assert c.loc["again", columns].tolist() == c.loc["mean", columns].tolist()
    assert c.loc["mean", "verdict"] == "better"
    assert c["headline"].sum() == 2
    assert (
        c.loc[c["family"], "p_adjusted"].notna().all()
        and c.loc[~c["family"], "p_adjusted"].isna().all()
    )
    without = compare(a, b, TABLE, "id", R, ("mean", "errors"), n_permutations=999).table.set_index(
        "metric"
    )
    assert (
        c.loc["errors", "p_adjusted"] == without.loc["errors", "p_adjusted"]
    )  # an alias is no further test
    by_alias = compare(
        a, b, table, "id", R, ("again", "errors"), n_permutations=999
    ).table.set_index("metric")
    assert by_alias.loc[["again", "mean"], "family"].all()


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
    pd.testing.assert_frame_equal(
        c.table, of({**a, 456: a[456].iloc[:33]}, kept).table, check_exact=True
    )
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


def test_nothing_in_common_is_an_error_that_names_the_sides() -> None:
    a, b = two()
    other: Runs = {s: f.iloc[:7].assign(id=f["id"] + "x") for s, f in b.items()}
    with pytest.raises(NothingPaired, match=r"m0 \(40 units\) and m1 \(7 units\) share no id"):
        of(a, other, names=("m0", "m1"))
    with pytest.raises(NothingPaired, match="share no id: nothing to compare"):
        of({None: a[42]}, {None: other[42]})
    assert issubclass(NothingPaired, UsageError)


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
    assert any(
        "a value on both sides in some seeds only, which count alone: “Mean”" in note
        for note in c.notes
    )
    nowhere = of(a, {s: f.assign(n=0, y=0.0, bad=0) for s, f in b.items()})
    row = rows(nowhere).loc["mean"]
    assert row["verdict"] == "not measured"
    assert np.isnan(row["p_value"])
    assert rows(nowhere).loc["micro", "verdict"] == "tied"
    assert verdict_sentence(row).endswith(
        "cannot be compared with baseline on “Mean”, which is not measured on both sides."
    )


def test_sentences_say_what_holds() -> None:
    tied = rows(of(*two())).loc["mean"]
    text = verdict_sentence(tied)
    assert text.startswith("candidate is not shown to differ from baseline on “Mean”: ")
    c = rows(of(*two(shift=0.15), headline=("errors",), names=("m0", "m1")))
    text = verdict_sentence(c.loc["mean"])
    assert text.startswith("m1 is better (exploratory: ") and text.endswith(", p = 0.007.")
    assert verdict_text(c.loc["mean"]) == "better (exploratory)"
    led = rows(of(*two(shift=0.15))).loc["mean"]
    assert "xploratory" not in verdict_sentence(led) + verdict_text(
        led
    ) and "adjusted" not in verdict_sentence(led)
    second = rows(of(*two(shift=0.15), headline=("errors", "mean"))).loc["mean"]
    assert "xploratory" not in verdict_sentence(second) + verdict_text(
        second
    ) and "(adjusted)" in verdict_sentence(second)
    assert verdict_text(c.loc["errors"]) == "not shown to differ"
    same = rows(of(*differing(6))).loc["errors"]
    assert verdict_text(same) == "too few: none of 40 differ"
    assert "have the same value on “Errors”" in verdict_sentence(same)


@pytest.mark.parametrize("case", CASES)
def test_no_sentence_claims_what_was_not_found(case: str) -> None:
    """No difference is never concluded, 0.0000 never shown for a p, and no id stands where a title is."""
    a, b = CASES[case]
    for c in (of(a, b), of(a, {s: f.copy() for s, f in a.items()})):
        said = [
            *c.notes,
            *(verdict_sentence(r) + verdict_text(r) for r in c.table.to_dict("records")),
        ]
        for wrong in ("no difference", "no verdict", "no variation", "0.0000", "nan", "micro,"):
            assert not any(wrong in text for text in said), (wrong, said)


def test_p_values_have_three_digits_and_are_never_zero() -> None:
    assert [p_text(p) for p in (0.0, 0.00099, 0.001, 0.0496, 1.0)] == ["< 0.001"] * 2 + [
        "= 0.001",
        "= 0.050",
        "= 1.000",
    ]
    assert p_text(np.nan) == ""


def test_identical_is_said_only_where_every_cell_is_the_same() -> None:
    a, b = differing(1)
    same = of(a, {None: a[None].sample(frac=1, random_state=0)})
    assert same.identical and len(said(same)) == 1, (
        "nothing more is said of metrics that are the same everywhere"
    )
    for c in (of(a, b), of(a, {None: a[None].assign(fp=a[None]["fp"] + 1)})):
        assert not c.identical and not any("identical" in note for note in c.notes)
    longer = of(a, {None: a[None].iloc[3:]})
    assert longer.identical  # what pairs is the same, and what does not is counted
    assert (
        "each of 37 paired units" in longer.notes[0]
        and "3 of 40 units of baseline" in longer.notes[1]
    )


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
    try:
        x, y = of(*sides), of(*sides[::-1])
    except NothingPaired:
        return
    assert set(x.table["verdict"]) <= {"better", "worse", "tied", "too few", "not measured"}
    pd.testing.assert_series_equal(x.table["p_value"], y.table["p_value"], check_exact=True)
    pd.testing.assert_series_equal(
        x.table["ci_low"], -y.table["ci_high"], check_exact=True, check_names=False
    )
    assert x.table["p_value"].dropna().between(0, 1).all()


@pytest.mark.reference
def test_reference_conditions_pair_by_sample_and_seed(reference: Path) -> None:
    from evaltools import evaluate
    from evaltools.core.plugins import get_suite

    suite = get_suite("cr")
    options = suite.options()
    m0, m1 = (
        {
            s: evaluate(
                "cr", reference / "cr" / f"cr_n50_{m}__seed{s}_proposed", resampling=R
            ).units
            for s in (42, 123, 456)
        }
        for m in ("m0", "m1")
    )
    c = compare(
        m0,
        m1,
        suite.metrics(options),
        suite.unit,
        R,
        suite.headline(options, frozenset()),
        n_permutations=999,
        names=("m0", "m1"),
    )
    assert c.unpaired["cells_baseline"] == 17  # seed 456 of m1 has 33 of 50 samples
    assert c.unpaired["cells_candidate"] == 0
    row = c.table.set_index("metric").loc["tuple_f1_s2_otepol"]
    deltas = [
        m1[s]
        .set_index("text_id")["f1_s2_otepol"]
        .sub(m0[s].set_index("text_id")["f1_s2_otepol"])
        .mean()
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


def said(c: Comparison) -> list[str]:
    """The notes but that on the seeds of both sides."""
    return [note for note in c.notes if not note.startswith(POOLED)]


@pytest.mark.parametrize("case", COMPLETE)
def test_notes_say_what_holds_and_nothing_else(case: str) -> None:
    sides, expected = COMPLETE[case]
    found = of(*sides)
    assert said(found) == expected
    assert any(note.startswith(POOLED) for note in found.notes) == (len(sides[0]) > 1)


def test_each_gap_has_its_own_note_only() -> None:
    a, b = two()
    assert said(of(a, {s: f.iloc[3:] if s == 42 else f for s, f in b.items()})) == [
        "3 of 120 cells (a sample under a seed) of baseline have no counterpart on the other side and take no part."
    ]
    assert said(of(a, {s: f.iloc[3:] for s, f in b.items() if s != 42})) == [
        "46 of 120 cells (a sample under a seed) of baseline have no counterpart on the other side and take no part, "
        "among them 3 whole samples and 1 whole seed.",
        TWO_SEEDS,
    ]
    one: Runs = {None: a[42]}
    other: Runs = {None: b[42]}
    assert said(of(one, {None: other[None].iloc[3:]})) == [
        "3 of 40 units of baseline have no counterpart on the other side and take no part."
    ]
    few = of({None: a[42].iloc[:9]}, {None: b[42].iloc[:9]})
    assert said(few) == [
        "All 4 metrics have fewer than 10 paired units, too few for a verdict: “Mean”, “Errors”, “Micro”, “D”."
    ]
    lacking = of(
        a, {s: f.assign(n=f["n"] * (s != 42), y=f["y"] * (s != 42), bad=0) for s, f in b.items()}
    )
    assert said(lacking) == [
        "3 of 4 metrics have a value on both sides in some seeds only, which count alone: “Mean”, “Errors”, “D”."
    ]
    nowhere = of(a, {s: f.assign(n=0, y=0.0, bad=0) for s, f in b.items()})
    assert said(nowhere) == [
        "3 of 4 metrics have no value on both sides, and no verdict: “Mean”, “Errors”, “D”."
    ]
    some = of(*differing(5), headline=("mean",))
    assert said(some) == [
        "2 of 4 metrics have too few units that differ to be told from chance: “Mean”, “D”.",
        "2 of 4 metrics have the same value on both sides in every paired unit: “Errors”, “Micro”.",
    ]


def test_a_note_about_many_metrics_names_five_of_the_headline() -> None:
    many = [replace(MEAN, name=f"m{i}", title=f"M{i}") for i in range(9)]
    many.append(replace(MEAN, name="alias", alias_of="m0"))
    a, b = ({s: f.iloc[:9] for s, f in side.items()} for side in two(seeds=(None,)))
    (note,) = compare(a, b, many, "id", R, [f"m{i}" for i in range(1, 8)], n_permutations=99).notes
    assert note == (
        "All 9 metrics have fewer than 10 paired units, too few for a verdict, "
        "among them “M1”, “M2”, “M3”, “M4”, “M5”."
    )
    (note,) = compare(a, b, many, "id", R, (), n_permutations=99).notes
    assert note == "All 9 metrics have fewer than 10 paired units, too few for a verdict."


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


# --- deltas that a bootstrap does not carry, and seeds of both sides


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
