"""Bad traces: what stops a run, what is counted, and what the message says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evaltools import InputError, Resampling, Run, UsageError, evaluate
from tests.suites.memfin.memfin_traces import PROFILE, dialog, turn, write

QUICK = Resampling(n_resamples=100)


def run(path: Path, **options: Any) -> Run:
    return evaluate("memfin", path, resampling=QUICK, **options)


def warnings(path: Path) -> dict[str, tuple[int, str]]:
    """code -> (count, first message)"""
    problems = run(path).manifest.problems
    assert all(p.severity == "warning" for p in problems)
    return {p.code: (p.count, p.examples[0]) for p in problems}


# --- which trace


def test_a_folder_with_one_trace_whatever_its_suffix(tmp_path: Path) -> None:
    write(tmp_path / "agent", dialog(), name="dialog_trace_mem0.jsonl")
    (tmp_path / "agent" / "turn_eval.jsonl").write_text("{}\n")
    assert run(tmp_path / "agent").name == "agent"
    assert run(tmp_path / "agent" / "dialog_trace_mem0.jsonl").name == "agent"
    assert run(tmp_path / "agent", name="other").name == "other"


def test_the_name_of_a_bare_file_is_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "agent", dialog())
    monkeypatch.chdir(tmp_path / "agent")
    assert run(Path("dialog_trace.jsonl")).name == "agent"


def test_several_traces_are_listed(tmp_path: Path) -> None:
    write(tmp_path, dialog(), name="dialog_trace.jsonl")
    write(tmp_path, dialog(), name="dialog_trace_llm.jsonl")
    with pytest.raises(
        UsageError, match=r"several traces.*dialog_trace\.jsonl.*dialog_trace_llm\.jsonl"
    ):
        run(tmp_path)


@pytest.mark.parametrize(("name", "code"), [("nowhere", "missing-file"), (".", "missing-file")])
def test_no_trace(tmp_path: Path, name: str, code: str) -> None:
    with pytest.raises(InputError, match=code):
        run(tmp_path / name)


def test_nothing_valid(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no valid dialogue"):
        run(write(tmp_path, dialog(valid_dialog=False)))


# --- errors: they stop the run, or leave the dialogue out under on_error="skip"

NO_VALIDITY = {k: v for k, v in dialog("bad").items() if k != "valid_dialog"}
ERRORS = {
    "unknown status": (
        dialog("bad", [turn(1), turn(2, status="stalled")]),
        "bad-field",
        r"bad: turns\.1\.turn_status: .*'ok', 'timeout' or 'error', got 'stalled'",
    ),
    "doubled turn": (
        dialog("bad", [turn(4), turn(4)]),
        "bad-field",
        "bad: turns: turn_pair_id is not unique in this dialogue",
    ),
    "text for a number": (
        dialog("bad", [{**turn(1), "turn_pair_id": "1"}]),
        "bad-field",
        r"bad: turns\.0\.turn_pair_id: .*got '1'",
    ),
    "no validity": (NO_VALIDITY, "bad-field", "bad: valid_dialog: Field required"),
    "text for a list": (
        dialog("bad", [{**turn(1), "gt_turn_tags": {"risk_disclosure_required_gt": "波动"}}]),
        "bad-field",
        r"bad: turns\.0\.gt_turn_tags\.risk_disclosure_required_gt",
    ),
    "doubled dialogue": (
        dialog("good", [turn(1)]),
        "duplicate-id",
        "good: a second record of this dialog_id; the first is on line 1 ",
    ),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(tmp_path: Path, case: str) -> None:
    bad, code, message = ERRORS[case]
    path = write(tmp_path, dialog("good", [turn(1), turn(2)]), bad)
    with pytest.raises(InputError, match=rf"dialog_trace\.jsonl:2: {message}.*\[{code}\]"):
        run(path)
    result = run(path, on_error="skip")
    assert result.units[["dialog_id", "turn_pair_id"]].to_numpy().tolist() == [
        ["good", 1],
        ["good", 2],
    ]
    assert [(p.severity, p.code, p.count) for p in result.manifest.problems] == [("error", code, 1)]


@pytest.mark.parametrize("back", [40, 41, 42, 43])
def test_cut_off_in_the_last_line(tmp_path: Path, back: int) -> None:
    """Wherever the cut falls, also within a character, the message is that of a run still going."""
    path = write(tmp_path, dialog("whole"), dialog("half", [turn(1, "回复" * 40)]))
    raw = path.read_bytes()
    text_ends = raw.rindex("回复".encode()) + 6
    path.write_bytes(raw[: text_ends - back])
    with pytest.raises(InputError, match=r":2: half: .*still being written\? \[cut-off-line\]"):
        run(path)
    result = run(path, on_error="skip")
    assert result.units["dialog_id"].tolist() == ["whole"]
    assert result.manifest.problems[0].code == "cut-off-line"


def test_not_json_and_not_an_object(tmp_path: Path) -> None:
    path = write(tmp_path, dialog("good"))
    path.write_text(path.read_text(encoding="utf-8") + "nonsense\n[1]\n", encoding="utf-8")
    with pytest.raises(InputError) as e:
        run(path)
    assert [(p.line, p.code) for p in e.value.problems] == [(2, "bad-json"), (3, "not-an-object")]


# --- warnings: counted, with dialogue and turn


def test_a_turn_without_tags(tmp_path: Path) -> None:
    bare = {**turn(3), "gt_turn_tags": None}
    missing = {k: v for k, v in turn(4).items() if k != "gt_turn_tags"}
    path = write(tmp_path, dialog("d", [turn(1), turn(2), bare, missing]))
    count, message = warnings(path)["unknown-label"]
    assert count == 2 and ":1: d: turn 3: compliance_label_gt None is none of" in message
    units = run(path).units
    assert units["eligible_m4"].tolist() == [True] * 4
    assert units["gt_compliance_label"].tolist() == ["compliant"] * 4


def test_keys(tmp_path: Path) -> None:
    keys = ["profile_gt.constraints_gt", "history_turn_index:9", "profile_gt.risk_level_gt"]
    path = write(tmp_path, dialog("d", [turn(1), turn(2, keys=keys)]))
    found = warnings(path)
    count, message = found["unresolvable-key"]
    assert count == 2
    assert "d: turn 2: the memory key 'profile_gt.constraints_gt' points at nothing" in message
    assert run(path)["m1_key_coverage"]["denominator"] == 1  # out of the denominator
    assert run(path, ignore_memory_keys=True).manifest.problems == []


def test_labels_and_statuses(tmp_path: Path) -> None:
    path = write(tmp_path, dialog("d", [turn(1, label="fine")], dialog_status="paused"))
    found = warnings(path)
    assert "d: turn 1: compliance_label_gt 'fine' is none of compliant" in found["unknown-label"][1]


def test_missing_replies_profile_and_turns(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        dialog("a", [turn(1, None), turn(2, "", "timeout")], profile_gt=None),
        dialog("b", []),
    )
    units = run(path).units
    assert units["turn_pair_id"].isna().tolist() == [False, False, True]


def test_failed_turns_may_lack_everything(tmp_path: Path) -> None:
    failed = {"turn_pair_id": 2, "turn_status": "error", "error": {"kind": "http", "code": 500}}
    failed |= {"gt_turn_tags": turn()["gt_turn_tags"], "recall": None, "compliance": None}
    path = write(tmp_path, dialog("d", [turn(1), failed]))
    units = run(path).units
    assert units["error"].tolist()[1] == '{"kind": "http", "code": 500}'
    assert warnings(path) == {}


def test_a_byte_order_mark_and_unknown_keys(tmp_path: Path) -> None:
    path = write(tmp_path, dialog("d", model={"name": "x"}))
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert run(path).units["dialog_id"].tolist() == ["d"]


def test_problems_of_one_code_are_all_counted(tmp_path: Path) -> None:
    path = write(tmp_path, *(dialog(f"d{i}", [turn(1, label="fine")]) for i in range(30)))
    assert warnings(path)["unknown-label"][0] == 30


def test_lone_surrogates_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path, dialog("good"))
    line = json.dumps(dialog("bad", [turn(1, "\ud800")]))
    path.write_text(path.read_text(encoding="utf-8") + line + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=":2: bad"):
        run(path)


def test_a_dialogue_without_turns_and_unknown_truths_are_told(tmp_path: Path) -> None:
    truth = {**PROFILE, "risk_level_gt": "very brave", "horizon_gt": None}
    trace = write(
        tmp_path, dialog("a", profile_gt=truth), dialog("b", turns=None) | {"turns": None}
    )
    found = warnings(trace)
    assert {code: n for code, (n, _) in found.items()} == {"unknown-truth": 2, "no-turns": 1}
    assert 'the true value "very brave" is none' in found["unknown-truth"][1]
