"""Verdicts: what is tested alone and what together, what is too few, and what is equivalent."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from evaltools.core.errors import UsageError
from evaltools.core.metric_matrix import compile_table
from evaltools.core.resampling import Resampling
from evaltools.stats.compare import compare, verdicts
from evaltools.stats.design import grid
from evaltools.stats.differences import decide
from evaltools.stats.influence import Paired, cell_sums
from tests.stats.comparing import ERRORS, MEAN, TABLE, R, compared, differing, rows, two


def test_only_headline_metrics_are_adjusted() -> None:
    c = rows(compared(*two(shift=0.03), headline=("mean", "errors")))
    assert c["p_adjusted"].notna().tolist() == c["headline"].tolist() == [True, True, False, False]
    assert (c["p_adjusted"].dropna() >= c["p_value"][c["headline"]]).all()
    with pytest.raises(ValueError, match=r"the table lacks: \['zzz'\]"):
        compared(*two(), headline=("zzz",))


def test_the_primary_metric_is_tested_alone_whatever_else_is_in_the_family() -> None:
    a, b = two(shift=0.03)
    alone = rows(compared(a, b, headline=("mean",))).loc["mean"]
    first = rows(compared(a, b, headline=("mean", "errors", "micro", "d")))
    named = rows(compared(a, b, headline=("errors", "micro", "d"), primary="mean"))
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
    found = rows(compared(*two(), headline=("share", "errors")))
    assert found.index[found["primary"]].tolist() == ["errors"]
    assert not rows(compared(*two(), headline=()))["primary"].any()


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
        compared(*two(), **options)
    with pytest.raises(UsageError, match="a margin needs intervals of more than 50%, not 40%"):
        compare(*two(), TABLE, "id", Resampling(confidence=0.4), margin={"mean": 0.1})


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
        ({"ci_low": np.nan, "ci_high": np.nan}, "tied"),
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


def test_fewer_than_ten_pairs_are_too_few_but_have_numbers() -> None:
    a, b = (({s: f.iloc[:9] for s, f in side.items()}) for side in two(seeds=(1,), shift=5.0))
    c = compared(a, b)
    row = rows(c).loc["mean"]
    assert row["delta"] > 4
    assert row["p_value"] == 2 / 2**9
    assert row["p_adjusted"] == row["p_value"]
    assert row["verdict"] == "too few"  # though every pair differs, and in one direction


@pytest.mark.parametrize(("m", "verdict"), [(5, "too few"), (6, "better")])
def test_too_few_units_that_differ_for_any_p_within_the_level(m: int, verdict: str) -> None:
    """All one way, m units have p = 2 / 2^m: 0.0625 for 5, which 5% excludes whatever the signs, 0.03125 for 6."""
    c = compared(*differing(m), headline=("mean",))
    row = rows(c).loc["mean"]
    assert (row["n_differ"], row["p_value"], row["verdict"]) == (m, 2 / 2**m, verdict)


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
    outside = compare(a, b, table, "id", R, ("errors",)).table.set_index("metric")
    assert outside["verdict"].tolist() == ["better", "better", "too few"]
    assert outside["family"].tolist() == [False, False, True]


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


def test_decide_is_the_verdict_of_a_primary_metric() -> None:
    compiled = compile_table(TABLE)
    for shift in (0.0, 0.15):
        a, b = (grid(side, "id") for side in two(shift=shift))
        paired = Paired(cell_sums(a, compiled), cell_sums(b, compiled), by_seed=True)
        decisions = dict(zip(compiled.names, decide(paired, R, 999)))
        assert decisions["mean"] == (shift > 0)
        for name in ("mean", "errors", "micro", "d"):
            row = rows(compared(*two(shift=shift), headline=(name,))).loc[name]
            sign = -1 if row["better"] == "lower" else 1
            expected = {"better": sign, "worse": -sign}.get(row["verdict"], 0)
            assert decisions[name] == expected


@pytest.mark.parametrize(("seeds", "digits"), [((1, 2), 1), ((1,), 2)])
def test_the_mde_has_as_many_digits_as_are_known(seeds: tuple[object, ...], digits: int) -> None:
    """Two seeds have one degree of freedom, 40 samples 39."""
    for row in compared(*two(seeds=seeds)).table.to_dict("records"):
        assert (row["df"] < 5) == (digits == 1)
        assert float(f"{row['mde']:.{digits - 1}e}") == row["mde"] > 0


def test_equivalence_is_two_one_sided_t_tests_where_seeds_say_the_same() -> None:
    """At the bound of the 90% interval that lies farther out, both one-sided tests have 5%."""
    tost = pytest.importorskip("statsmodels.stats.weightstats").ttost_paired
    a, b = two(seeds=(1,), n=60)
    a, b = (dict.fromkeys((1, 2, 3), side[1]) for side in (a, b))
    row = rows(compared(a, b, margin={"mean": 1.0})).loc["mean"]
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
        found = rows(compared(a, b, margin={"mean": x})).loc["mean"]
        assert (found["verdict"], found["margin"]) == (verdict, x)
    assert (
        rows(compared(a, b))
        .loc["mean", ["margin", "equivalence_low", "equivalence_high"]]
        .isna()
        .all()
    )


def test_swapping_mirrors_the_interval_of_equivalence() -> None:
    for a, b in (two(), two(seeds=(1,))):
        x, y = (
            rows(compared(*sides, margin={"mean": 0.1})).loc["mean"] for sides in ((a, b), (b, a))
        )
        assert (x["equivalence_low"], x["equivalence_high"]) == (
            -y["equivalence_high"],
            -y["equivalence_low"],
        )
