"""When the checks of dialogue measures must appear, and when they must not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import evaltools as et
from evaltools.core.check import Check, checks_of_runs

from .memfin_traces import dialog, turn, write

REPLIES = [f"回答{i}" for i in range(20)]


def scored(folder: Path, replies: list[str | None], **parts: Any) -> et.Run:
    """A run of dialogues of one turn each, with these replies; the user says 问题N, N from 0."""
    labels = parts.pop("labels", ["compliant", "minor_violation"] * len(replies))
    turns = [
        {**turn(1, r, label=label, **parts), "user_text": f"问题 {i}"}
        for i, (r, label) in enumerate(zip(replies, labels))
    ]
    trace = write(folder, *(dialog(f"d{i}", [t], raw_turns=None) for i, t in enumerate(turns)))
    return et.evaluate("memfin", trace)


def found(run: et.Run, code: str) -> Check | None:
    return next((c for c in run.checks if c.code == code), None)


def echo(n: int) -> list[str | None]:
    return [*(f" 问题  {i}\n" for i in range(n)), *REPLIES[n:]]


def test_an_assistant_that_echoes_its_user_takes_the_headline_away(tmp_path: Path) -> None:
    run = scored(tmp_path, echo(10))
    check = found(run, "echo-replies")
    assert check is not None and check.level == "blocking" and (check.n, check.of) == (10, 20)
    assert check.message.startswith("10 of 20 replies are the user's own text: on these turns")
    assert {
        "m3_risk_coverage",
        "m4_compliance_label_acc",
        "m5_rubric_hit_rate",
        "m1_contradiction_rate",
    } <= run.blocked
    # memory, and counts, do not rest on replies
    assert not {"m1_key_coverage", "m4_eligible_n", "turn_failure_rate"} & run.blocked
    assert (
        run.headline == ("m1_key_coverage", "m2_profile_score")
        and run.primary == "m2_profile_score"
    )


def test_some_echoes_are_a_warning_and_one_is_nothing(tmp_path: Path) -> None:
    run = scored(tmp_path / "some", echo(9))
    check = found(run, "echo-replies")
    assert check is not None and check.level == "warning" and not run.blocked
    assert run.headline[2] == "m3_risk_coverage"
    assert found(scored(tmp_path / "one", echo(1)), "echo-replies") is None


def test_the_profile_is_blocked_where_replies_have_filled_it(tmp_path: Path) -> None:
    of_replies = [f"问题 {i}" for i in range(19)] + ["我属于稳健型，不使用杠杆。"]
    run = scored(tmp_path / "said", list(of_replies))
    assert "m2_profile_score" in run.blocked
    assert run.headline == ("m1_key_coverage",) and run.primary == "m1_key_coverage"
    snapshot = {"risk_level": "稳健", "forbidden_assets": ["股票"]}
    assert (
        "m2_profile_score" not in scored(tmp_path / "snapshot", echo(20), snapshot=snapshot).blocked
    )


def test_empty_replies(tmp_path: Path) -> None:
    check = found(scored(tmp_path / "two", ["", "  ", *REPLIES[2:]]), "empty-replies")
    assert check is not None and check.level == "warning" and (check.n, check.of) == (2, 20)
    one = scored(tmp_path / "one", ["", *REPLIES[1:]])
    assert found(one, "empty-replies") is None and found(one, "echo-replies") is None


def test_turns_without_an_answer_are_a_caution(tmp_path: Path) -> None:
    turns = [turn(n) for n in range(3)]
    turns += [turn(3, None, status="timeout"), turn(4, None, status="error")]
    run = et.evaluate("memfin", write(tmp_path, dialog("d", turns)))
    check = found(run, "unanswered-turns")
    assert check is not None and check.level == "warning" and (check.n, check.of) == (2, 5)
    assert check.message.startswith(
        "2 of 5 turns have no answer, as they timed out or failed: they"
    )
    several = checks_of_runs([[check], [replace(check, n=1, of=4)]])
    assert several[0].message.startswith("2 of 5 turns have no answer, as they timed out or failed")
    assert (several[0].n, several[0].of) == (3, 9)
    assert found(scored(tmp_path / "all", [*REPLIES]), "unanswered-turns") is None


def test_duplicate_replies(tmp_path: Path) -> None:
    check = found(
        scored(tmp_path / "same", ["好的。", "好的。 ", *REPLIES[2:]]), "duplicate-replies"
    )
    assert check is not None and (check.n, check.of) == (2, 20)
    two = found(
        scored(tmp_path / "two", ["a", "a", "b", "b", "b", *REPLIES[5:]]), "duplicate-replies"
    )
    assert two is not None and two.n == 5
    assert found(scored(tmp_path / "fine", list(REPLIES)), "duplicate-replies") is None
    # empty ones have a check of their own
    assert found(scored(tmp_path / "empty", ["", "", *REPLIES[2:]]), "duplicate-replies") is None


def test_a_truth_of_one_class(tmp_path: Path) -> None:
    replies = [*REPLIES[:19], "稳赚不赔"]
    run = scored(tmp_path / "one", list(replies), labels=["compliant"] * 20)
    check = found(run, "one-class-truth")
    assert check is not None and check.level == "warning"
    assert "“compliant” on all 20 answered turns" in check.message
    assert "would score 1.000 on compliance accuracy, this run has 0.950" in check.message
    assert run.value("m4_compliance_label_acc") == 0.95
    assert found(scored(tmp_path / "two", list(replies)), "one-class-truth") is None


def test_dialogues_of_one_text_are_no_independent_samples(tmp_path: Path) -> None:
    # the same opening, then something else
    apart = [
        [{**turn(1), "user_text": "你好"}, {**turn(2), "user_text": f"问题{i}"}] for i in range(3)
    ]
    run = et.evaluate(
        "memfin",
        write(tmp_path / "a", *(dialog(f"d{i}", t, raw_turns=None) for i, t in enumerate(apart))),
    )
    assert found(run, "duplicate-texts") is None
    alike = [*apart, apart[0]]
    run = et.evaluate(
        "memfin",
        write(tmp_path / "b", *(dialog(f"d{i}", t, raw_turns=None) for i, t in enumerate(alike))),
    )
    check = found(run, "duplicate-texts")
    assert check is not None and (check.n, check.of) == (2, 4)
