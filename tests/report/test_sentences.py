"""What statistics say in words: verdicts, p and notes, each only where it holds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import evaltools as et
from evaltools.report.markdown import number
from evaltools.report.sentences import (
    mde_text,
    p_equation,
    p_text,
    verdict_parts,
    verdict_text,
    whole_sentence,
)
from tests.stats.comparing import CASES, compared, differing, rows, two


def verdict_sentence(row: Any) -> str:
    """What a row says, whole."""
    return whole_sentence(*verdict_parts(row, et.Resampling()))


def test_sentences_say_what_holds() -> None:
    tied = rows(compared(*two())).loc["mean"]
    text = verdict_sentence(tied)
    assert text.startswith("candidate is not shown to differ from baseline on “Mean”: ")
    c = rows(compared(*two(shift=0.15), headline=("errors",), names=("m0", "m1")))
    assert verdict_text(c.loc["mean"]) == "better (exploratory)"
    led = rows(compared(*two(shift=0.15))).loc["mean"]
    assert "xploratory" not in verdict_sentence(led) + verdict_text(
        led
    ) and "adjusted" not in verdict_sentence(led)
    second = rows(compared(*two(shift=0.15), headline=("errors", "mean"))).loc["mean"]
    assert "xploratory" not in verdict_sentence(second) + verdict_text(second)
    assert verdict_text(c.loc["errors"]) == "not shown to differ"
    same = rows(compared(*differing(6))).loc["errors"]
    assert verdict_text(same) == "too few: 40 pairs, 0 differ"
    assert "0 of 40 paired units differ, too few for a verdict" in verdict_sentence(same)


def test_a_side_without_values_is_not_called_identical_and_what_it_lacks_is_said() -> None:
    text = repr(et.compare([1.0] * 40, [None] * 40))
    assert "identical" not in text
    assert "candidate cannot be compared with baseline on “value”: it is not measured" in text
    assert "40 of 40 values are on one side only (baseline lacks 0, candidate lacks 40)" in text
    half = [0.5, None] * 20
    assert "20 of 40 values are on one side only" in repr(et.compare([0.1] * 40, half))
    assert "on one side only" not in repr(et.compare([0.1] * 40, [0.5] * 40))


@pytest.mark.parametrize("seeds", [(1,), (1, 2, 3)])
def test_words_of_equivalence(seeds: tuple[object, ...]) -> None:
    a, b = two(seeds=seeds)
    same = rows(compared(a, b, margin={"mean": 0.5, "micro": 9.0}))
    text = verdict_sentence(same.loc["mean"])
    assert text.startswith("candidate is equivalent to baseline on “Mean” within ±0.5: ")
    low, high = same.loc["mean", ["equivalence_low", "equivalence_high"]]
    assert f"90% interval [{number(low, signed=True)}, {number(high, signed=True)}]" in text
    assert verdict_text(same.loc["mean"]) == "equivalent (±0.5)"
    assert verdict_text(same.loc["micro"]) == "equivalent (±9) (exploratory)"
    a, b = two(seeds=seeds, shift=0.15)
    both = rows(compared(a, b, margin={"mean": 0.5})).loc["mean"]
    assert (both["verdict"], verdict_text(both)) == ("better", "better")
    plain = rows(compared(*two(seeds=seeds))).loc["mean"]
    assert "±" not in verdict_sentence(plain) and "equivalent" not in verdict_sentence(plain)


@pytest.mark.parametrize("case", CASES)
def test_no_sentence_claims_what_was_not_found(case: str) -> None:
    """No difference is never concluded, 0.0000 never shown for a p, and no id stands where a title is."""
    a, b = CASES[case]
    for c in (compared(a, b), compared(a, {s: f.copy() for s, f in a.items()})):
        said = [verdict_sentence(r) + verdict_text(r) for r in c.table.to_dict("records")]
        for wrong in ("no difference", "no verdict", "no variation", "0.0000", "nan", "micro,"):
            assert not any(wrong in text for text in said), (wrong, said)


def test_p_values_have_three_digits_and_are_never_zero() -> None:
    shown = [p_text(p) for p in (0.0, 0.00099, 0.001, 0.0496, 1.0)]
    assert shown == ["< 0.001", "< 0.001", "0.001", "0.050", "1.000"]
    assert [p_equation(p) for p in (0.0, 0.0496)] == ["p < 0.001", "p = 0.050"]
    assert p_text(np.nan) == ""


def test_what_has_no_counterpart_is_said_and_nothing_else() -> None:
    scores = pd.Series(np.arange(40) % 5, index=[f"s{i}" for i in range(40)], dtype=float)
    assert "one side only" not in repr(et.compare(scores, scores[::-1] + 1))
    shorter = repr(et.compare(scores, scores.iloc[3:] + 1))
    assert "3 of 40 values are on one side only (baseline lacks 0, candidate lacks 3)" in shorter
    half = repr(et.compare(scores, scores.iloc[3:] + 1, bounds=(0, np.inf)))
    assert "nobody can say what they would change" in half and "nan" not in half


def test_what_the_primary_metric_lacks_is_said_first() -> None:
    frame = pd.DataFrame({"id": range(40), "m": [0, 1, 1, 0] * 10, "k": [1, 0, 1, 0] * 10})
    sides = []
    for name, lacking in (("a", 0), ("b", 3)):
        scores = frame.melt("id", ["m", "k"], "metric", "value")
        sides.append(et.evaluate("table", scores[scores["id"] >= lacking], name=name))
    (check,) = [c for c in et.compare(*sides, primary="k").checks if c.code == "one-sided-missing"]
    assert "“k”: 3 of 40 values are on one side only" in check.message
    assert "(so in 1 more metrics)" in check.message


@pytest.mark.parametrize(("m", "few"), [(5, True), (6, False)])
def test_too_few_units_that_differ_are_counted(m: int, few: bool) -> None:
    row = rows(compared(*differing(m), headline=("mean",))).loc["mean"]
    why = "5 of 40 paired units differ, too few for a verdict."
    assert (why in verdict_sentence(row)) == few
    lead = "Too few units differ to tell candidate from baseline on “Mean”: "
    assert verdict_sentence(row).startswith(lead) == few


def test_few_pairs_and_a_metric_that_a_side_lacks() -> None:
    a, b = (({s: f.iloc[:9] for s, f in side.items()}) for side in two(seeds=(1,), shift=5.0))
    row = rows(compared(a, b)).loc["mean"]
    assert verdict_text(row) == "too few: 9 pairs, 9 differ"
    assert verdict_sentence(row).startswith("Too few units to judge candidate against baseline")
    a, b = two()
    nowhere = compared(a, {s: f.assign(n=0, y=0.0, bad=0) for s, f in b.items()})
    assert verdict_sentence(rows(nowhere).loc["mean"]).endswith(
        "cannot be compared with baseline on “Mean”: it is not measured on both sides."
    )


@pytest.mark.parametrize(("seeds", "digits"), [((1, 2), 1), ((1,), 2)])
def test_the_mde_is_shown_with_the_digits_that_are_known(
    seeds: tuple[object, ...], digits: int
) -> None:
    for row in compared(*two(seeds=seeds)).table.to_dict("records"):
        shown = mde_text(row)
        assert float(shown) == row["mde"] and len(shown.replace(".", "").lstrip("0")) == digits
    assert mde_text({"mde": np.nan, "df": 9}) == ""
    assert mde_text({"mde": 1200.0, "df": 39}) == "1200"
