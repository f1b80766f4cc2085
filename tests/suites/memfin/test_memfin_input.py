"""Bad traces: what stops a run, what is counted, and what the message says."""

import json
from pathlib import Path
from typing import Any

import pytest

from evaltools import InputError, Resampling, Run, evaluate
from tests.suites.memfin.memfin_traces import PROFILE, dialog, turn, write

QUICK = Resampling(n_resamples=100)


def run(path: Path, **options: Any) -> Run:
    return evaluate("memfin", path, resampling=QUICK, **options)


def test_which_trace_and_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "agent"
    trace = write(folder, dialog(), name="dialog_trace_mem0.jsonl")
    assert run(folder).name == run(trace).name == "agent"
    assert run(folder, name="other").name == "other"
    monkeypatch.chdir(folder)
    assert run(Path("dialog_trace_mem0.jsonl")).name == "agent"
    write(folder, dialog(), name="dialog_trace.jsonl")
    with pytest.raises(InputError, match=r"expected one.*trace\.jsonl, dialog_trace_mem0\.jsonl"):
        run(folder)
    assert run(trace).name == "dialog_trace_mem0"
    (tmp_path / "empty").mkdir()
    for nowhere in (tmp_path / "nowhere", tmp_path / "empty"):
        with pytest.raises(InputError, match="missing-file"):
            run(nowhere)


def test_nothing_valid(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no valid dialogue in this trace"):
        run(write(tmp_path, dialog(valid_dialog=False)))


NO_VALIDITY = {k: v for k, v in dialog("bad").items() if k != "valid_dialog"}
ERRORS = {
    "unknown status": (
        dialog("bad", [turn(1), turn(2, status="stalled")]),
        "bad-field",
        r"turns\.1\.turn_status: .*'ok', 'timeout' or 'error', got 'stalled'",
    ),
    "doubled turn": (
        dialog("bad", [turn(4), turn(4)]),
        "bad-field",
        "turns: turn_pair_id is not unique in this dialogue",
    ),
    "text for a number": (
        dialog("bad", [{**turn(1), "turn_pair_id": "1"}]),
        "bad-field",
        r"turns\.0\.turn_pair_id: .*got '1'",
    ),
    "no validity": (NO_VALIDITY, "bad-field", "valid_dialog: Field required"),
    "a list for an object": (
        dialog("bad", [{**turn(1), "recall": []}]),
        "not-an-object",
        r"turns\.0\.recall",
    ),
    "doubled dialogue": (
        dialog("good", [turn(1)]),
        "duplicate-id",
        "good: a second record of this dialog_id; the first is on line 1 ",
    ),
    "no JSON": ("nonsense", "bad-json", ""),
    "half a character": (json.dumps(dialog("bad", [turn(1, "\ud800")])), "bad-json", ""),
    "cut off": (json.dumps(dialog("bad"))[:60], "bad-json", ""),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(tmp_path: Path, case: str) -> None:
    bad, code, message = ERRORS[case]
    path = write(tmp_path, dialog("good", [turn(1), turn(2)]))
    line = bad if isinstance(bad, str) else json.dumps(bad, ensure_ascii=False)
    path.write_text(path.read_text(encoding="utf-8") + line + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=rf"dialog_trace\.jsonl:2: {message}.*\[{code}\]"):
        run(path)
    result = run(path, on_error="skip")
    assert result.units[["dialog_id", "turn_pair_id"]].to_numpy().tolist() == [
        ["good", 1],
        ["good", 2],
    ]
    assert [(p.severity, p.code, p.count) for p in result.manifest.problems] == [("error", code, 1)]


BARE = {**turn(3), "gt_turn_tags": None}
KEYS = ["profile_gt.constraints_gt", "history_turn_index:9", "profile_gt.risk_level_gt"]
WARNINGS = {
    "no tags": (
        dialog("d", [turn(1), BARE, {"turn_pair_id": 4, "turn_status": "ok"}]),
        {"unknown-label": 2},
        "d: turn 3: compliance_label_gt None is none of compliant",
    ),
    "label": (
        dialog("d", [turn(1, label="fine")]),
        {"unknown-label": 1},
        "d: turn 1: compliance_label_gt 'fine' is none of compliant",
    ),
    "keys": (
        dialog("d", [turn(1), turn(2, keys=KEYS)]),
        {"unresolvable-key": 2},
        "d: turn 2: the memory key 'profile_gt.constraints_gt' points at nothing",
    ),
    "truth": (
        dialog("d", profile_gt={**PROFILE, "risk_level_gt": "very brave", "horizon_gt": None}),
        {"unknown-truth": 2},
        'the true value "very brave" is none',
    ),
    "no turns": (dialog("d", turns=[]) | {"turns": None}, {}, ""),
    "nothing": (
        dialog("d", [turn(1), turn(2, None, "timeout"), turn(3, "")], profile_gt=None),
        {},
        "",
    ),
}


@pytest.mark.parametrize("case", WARNINGS)
def test_warnings_name_dialogue_and_turn(tmp_path: Path, case: str) -> None:
    """A byte-order mark and unknown keys are no problem."""
    given, codes, message = WARNINGS[case]
    path = write(tmp_path, {**given, "model": {"name": "x"}})
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    problems = run(path).manifest.problems
    assert {p.code: p.count for p in problems} == codes
    assert message in "".join(p.examples[0] for p in problems)
    assert {p.severity for p in problems} <= {"warning"}


def test_failed_turns_may_lack_everything(tmp_path: Path) -> None:
    failed = {"turn_pair_id": 2, "turn_status": "error", "error": {"kind": "http", "code": 500}}
    failed |= {"gt_turn_tags": turn()["gt_turn_tags"], "recall": None, "compliance": None}
    units = run(write(tmp_path, dialog("d", [turn(1), failed]))).units
    assert units["error"].tolist()[1] == '{"kind": "http", "code": 500}'
    assert units["eligible_m4"].tolist() == [True, False]


def test_a_dialogue_without_turns_stands_beside_others(tmp_path: Path) -> None:
    trace = write(tmp_path, dialog("a", [turn(1), turn(2)]), dialog("b", turns=[]))
    profiles = run(trace)["m2_profile_score"]
    assert (profiles.numerator, profiles.denominator) == (2 * profiles.value, 2)
