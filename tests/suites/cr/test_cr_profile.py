"""The profile filter, the override gate and the files of a run: what the source documents ask of them."""

import csv
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evaltools import InputError, evaluate
from tests.files import read_lines, write_lines
from tests.suites.cr.cards import tup

A, B = tup("a#x", "cream"), tup("b#y", "scent")


def row(text_id: str, final: list[dict[str, Any]], profile: str | None) -> dict[str, Any]:
    return {
        "meta": {"text_id": text_id, "input_text": "cream and scent", "profile": profile},
        "final_result": {"final_tuples": final},
        "gold_tuples": [A],
    }


ROWS = [row("s1", [A], "old"), row("s2", [B], "old"), row("s3", [A], "new"), row("s4", [A], None)]


def folder(path: Path, rows: list[dict[str, Any]], override: dict[str, Any] | None = None) -> Path:
    write_lines(path / "outputs.jsonl", rows)
    if override is not None:
        write_lines(path / "override_gate_debug_summary.json", [override])
    return path


def test_only_rows_of_the_profiles_count(tmp_path: Path) -> None:
    run = folder(tmp_path / "r", ROWS)
    everything = evaluate("cr", run)
    assert everything["tuple_f1_s2_refpol"]["value"] == pytest.approx(3 / 4)
    assert everything.units["profile"].fillna("").tolist() == ["old", "old", "new", ""]
    old = evaluate("cr", run, profile=["old"], out=tmp_path / "out")
    assert old["n"]["value"] == 2
    assert old["tuple_f1_s2_refpol"]["value"] == pytest.approx(1 / 2)
    assert "|profile:old|" in old.signature and "profile:" not in everything.signature
    assert old.policy["eval_policy_hash"] != everything.policy["eval_policy_hash"]
    kept = read_lines(tmp_path / "out/results/r/scorecards.jsonl")
    assert [card["meta"]["text_id"] for card in kept] == ["s1", "s2"]
    assert evaluate("cr", run, profile=["old", "new"])["n"]["value"] == 3


def test_problems_of_rows_that_are_left_out_are_not_shown(tmp_path: Path) -> None:
    odd = row("s5", [{**A, "polarity": "great"}], "new")
    run = folder(tmp_path / "r", [*ROWS, odd, {**odd, "gold_tuples": []}])
    write_lines(
        run / "gold.jsonl", [{"uid": None, "id": f"s{i}", "gold_tuples": [A]} for i in (1, 2, 3, 4)]
    )
    with pytest.raises(InputError, match="row with this text_id"):
        evaluate("cr", run, profile=["new"])
    assert not evaluate("cr", run, profile=["old"]).manifest.problems


def test_a_profile_that_no_row_has_is_named(tmp_path: Path) -> None:
    run = folder(tmp_path / "r", ROWS)
    with pytest.raises(InputError, match="no row has the profile 'odl'"):
        evaluate("cr", run, profile=["odl"])
    some = evaluate("cr", run, profile=["old", "odl"])
    assert [problem.code for problem in some.manifest.problems] == ["unknown-profile"]


def test_numbers_of_the_override_gate_are_metrics_where_the_file_is(tmp_path: Path) -> None:
    without = evaluate("cr", folder(tmp_path / "a", ROWS))
    assert without.to_dict()["override_applied_rate"] is None
    assert without.to_dict()["override_candidate_n"] is None
    values = evaluate(
        "cr", folder(tmp_path / "b", ROWS, {"candidate_n": 12, "applied_n": 3, "seconds": 1.5})
    ).to_dict()
    assert values["override_candidate_n"] == 12 and values["override_applied_n"] == 3
    assert values["override_applied_rate"] == pytest.approx(3 / 12)
    values = evaluate(
        "cr", folder(tmp_path / "c", ROWS, {"candidate_n": 0, "applied_n": 0})
    ).to_dict()
    assert values["override_applied_n"] == 0 and values["override_applied_rate"] is None
    with pytest.raises(InputError, match=r"override_gate_debug_summary\.json"):
        evaluate("cr", folder(tmp_path / "d", ROWS, {"applied_n": "3"}))


def test_the_csv_lists_what_is_blocked_and_a_run_without_gold_has_no_pairs_to_count(
    tmp_path: Path,
) -> None:
    """D47, D49."""
    rows = [{**row("s1", [A], None), "gold_tuples": []}]
    rows[0]["meta"]["protocol_mode"] = "predictions"
    run = evaluate("cr", folder(tmp_path / "r", rows), out=tmp_path / "out")
    assert run["N_gold"]["value"] == 0
    for name in ("N_gold_total_pairs", "N_gold_explicit", "N_gold_implicit"):
        assert pd.isna(run[name]["value"])
    path = tmp_path / "out/results/r/derived/metrics/structural_metrics.csv"
    (stored,) = csv.DictReader(path.open(encoding="utf-8"))
    assert set(stored["blocked"].split(";")) == run.blocked and "delta_f1" in run.blocked
