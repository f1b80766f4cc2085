"""Predictions of any system, which no review has seen (D25), against gold of other tools' files."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import evaltools as et
from evaltools.formats.convert import convert
from evaltools.report.run import Run
from tests.app.calling import FAST, call
from tests.files import read_json, read_lines

from .cards import gold, output, run, tup


def scored(folder: Path, gold_text: str, predicted: str, form: str = "asqp", **options: Any) -> Run:
    """The result of predictions and gold in one format."""
    for name, text, kind in (("gold", gold_text, "gold"), ("outputs", predicted, "predictions")):
        path = folder / f"{name}.txt"
        path.write_text(text, encoding="utf-8")
        convert(form, [path], folder / f"{name}.jsonl", et.Problems(), as_=kind)
    return et.evaluate("cr", folder, resampling=FAST, **options)


A, B = "['pizza', 'food', 'positive', 'x']", "['staff', 'service', 'negative', 'y']"

# in the names of what compares with a stage before review, or counts what a review did
OF_REVIEW = (
    "_s1|delta_|fix_|break_|net_gain|change|review|arb_|validator|risk|negation|aspect_halluc"
)


def test_nothing_of_a_review_is_measured_and_the_page_leads_with_what_is(tmp_path: Path) -> None:
    found = scored(tmp_path, f"t####[{A}, {B}]\n" * 12, f"t####[{A}]\n" * 12)
    of_review = found.frame[found.frame["name"].str.contains(OF_REVIEW)]
    assert len(of_review) > 35 and of_review["value"].dropna().tolist() == [
        0
    ]  # stage_delta_mismatch_n
    assert found.value("tuple_f1_s2_refpol") == pytest.approx(
        2 / 3
    )  # 1 of 1 is right, 1 of 2 is found
    assert found.value("final_aspect_out_of_text_rate") == 1.0
    assert not found.units["stage1"].map(list).any()
    assert found.units["outcome_refpol"].isna().all() and found.units["change_type"].isna().all()
    assert found.primary == "tuple_f1_s2_refpol"
    assert found.headline == (
        "tuple_f1_s2_refpol",
        "tuple_f1_s2_explicit_only_refpol",
        "tuple_f1_s2_otepol",
        "polarity_conflict_rate",
        "implicit_invalid_pred_rate",
        "final_aspect_out_of_text_rate",
    )
    (check,) = [c for c in found.checks if c.code == "predictions-only"]
    assert (check.level, check.n) == ("info", 12)
    assert "empty-stage1" not in [c.code for c in found.checks]
    assert "Tuple F1 after" in found.table().html


def test_a_run_of_the_protocol_keeps_its_fallback(tmp_path: Path) -> None:
    right = tup("a#b", "향")
    # the second has a stage 1, and the third nothing that could stand for it
    outputs = [output(final=[right]), output("b", stage1=[right], final=[right]), output("c")]
    found = et.evaluate("cr", run(tmp_path, outputs, [gold("a", right)]), resampling=FAST)
    assert (
        found.value("tuple_f1_s1_refpol") == 1.0
    )  # no stage 1 is given: the final tuples stand in
    assert found.value("guided_by_review_rate") == 0.0  # nothing changed
    assert found.value("validator_clear_rate") == 0.0  # no validator ran
    assert "predictions-only" not in [c.code for c in found.checks]
    (check,) = [c for c in found.checks if c.code == "empty-stage1"]
    assert (check.level, check.n, check.of) == ("info", 1, 3)


def test_predictions_beside_rows_of_a_run_are_missing_in_what_is_of_review() -> None:
    folder = et.example("cr/with_memory__seed1_proposed")
    outputs = read_lines(folder / "outputs.jsonl")
    for each in outputs[::3]:
        each["meta"]["protocol_mode"] = "predictions"
    mixed = et.evaluate("cr", outputs, gold=folder / "gold.jsonl", resampling=FAST)
    found = et.compare(folder, mixed).frame.set_index("metric")
    lacking = found.loc[["net_gain_refpol", "fix_rate_otepol", "tuple_f1_s1_refpol"]]
    assert lacking["missing_candidate"].min() > 9 and lacking["delta"].tolist() == [0, 0, 0]
    assert "20 of 60 samples are predictions" in str(mixed.checks)


def test_a_row_that_failed_without_its_gold_is_missing_and_no_other_question() -> None:
    right = [tup("a#b", "향")]
    rows = [output(str(i), final=right, gold_tuples=right) for i in range(20)]
    failed = [*rows[:15], *(output(str(i)) for i in range(15, 20))]
    found = et.compare(*(et.evaluate("cr", of, resampling=FAST) for of in (rows, failed)))
    for metric in ("tuple_f1_s2_refpol", "net_gain_refpol"):
        assert found[metric]["missing_candidate"] == 5


def test_scorecards_of_predictions_say_nothing_of_a_change(tmp_path: Path) -> None:
    scored(tmp_path, f"t####[{A}]\n", f"t####[{A}]\n")
    call("scorecards", tmp_path, "--gold", tmp_path / "gold.jsonl", "-o", tmp_path / "cards.jsonl")
    assert set(read_json(tmp_path / "cards.jsonl")["stage_delta"].values()) == {None}
    again = et.evaluate("cr", tmp_path / "cards.jsonl", name="again", resampling=FAST)
    assert pd.isna(again.value("fix_rate_refpol")) and again.value("tuple_f1_s2_refpol") == 1.0
