"""When the checks of dialogue measures must appear, and when they must not."""

from pathlib import Path
from typing import Any

import pytest

import evaltools as et
from tests.suites.checks import found

from .memfin_traces import dialog, turn, write

REPLIES = [f"回答{i}" for i in range(20)]


def scored(folder: Path, replies: list[str], **parts: Any) -> et.Run:
    """A run of dialogues of one turn each, with these replies; the user says 问题N, N from 0."""
    labels = parts.pop("labels", ["compliant", "minor_violation"] * len(replies))
    turns = [
        {**turn(1, r, label=label, **parts), "user_text": f"问题 {i}"}
        for i, (r, label) in enumerate(zip(replies, labels))
    ]
    trace = write(folder, *(dialog(f"d{i}", [t], raw_turns=None) for i, t in enumerate(turns)))
    return et.evaluate("memfin", trace, n_resamples=100)


def echo(n: int) -> list[str]:
    return [*(f" 问题  {i}\n" for i in range(n)), *REPLIES[n:]]


def test_an_assistant_that_echoes_its_user_takes_the_headline_away(tmp_path: Path) -> None:
    run = scored(tmp_path, echo(10))
    check = found(run, "echo-replies")
    assert check is not None and check.level == "blocking" and (check.n, check.of) == (10, 20)
    assert check.message.startswith("10 of 20 replies are the user's own text: on these turns")
    of_replies = {"m3_risk_coverage", "m4_compliance_label_acc", "m5_rubric_hit_rate"}
    assert of_replies | {"m1_contradiction_rate"} <= run.blocked
    # memory, and counts, do not rest on replies
    assert not {"m1_key_coverage", "m4_eligible_n", "turn_failure_rate"} & run.blocked
    assert run.headline == ("m2_profile_score", "m1_key_coverage")
    assert run.primary == "m2_profile_score"


@pytest.mark.parametrize(
    ("replies", "code", "n"),
    [
        (echo(9), "echo-replies", 9),
        (echo(1), "echo-replies", None),
        (["", "  ", *REPLIES[2:]], "empty-replies", 2),
        (["", *REPLIES[1:]], "empty-replies", None),
        (["好的。", "好的。 ", *REPLIES[2:]], "duplicate-replies", 2),
        (["a", "a", "b", "b", "b", *REPLIES[5:]], "duplicate-replies", 5),
        (["", "", *REPLIES[2:]], "duplicate-replies", None),  # they have a check of their own
    ],
)
def test_replies_that_are_none_are_a_warning(
    replies: list[str], code: str, n: int | None, tmp_path: Path
) -> None:
    run = scored(tmp_path, replies)
    check = found(run, code)
    assert (check and check.n) == n and not run.blocked
    assert check is None or (check.level, check.of) == ("warning", 20)


def test_the_profile_is_blocked_where_replies_have_filled_it(tmp_path: Path) -> None:
    of_replies = [f"问题 {i}" for i in range(19)] + ["我属于稳健型，不使用杠杆。"]
    run = scored(tmp_path / "said", of_replies)
    assert "m2_profile_score" in run.blocked and run.primary == "m1_key_coverage"
    snapshot = {"risk_level": "稳健", "forbidden_assets": ["股票"]}
    of_snapshots = scored(tmp_path / "snapshot", echo(20), snapshot=snapshot)
    assert "m2_profile_score" not in of_snapshots.blocked


def test_turns_without_an_answer_are_a_caution(tmp_path: Path) -> None:
    turns = [turn(1), turn(2), turn(3, None, status="timeout"), turn(4, None, status="error")]
    run = et.evaluate("memfin", write(tmp_path, dialog("d", turns)), n_resamples=100)
    check = found(run, "unanswered-turns")
    assert check is not None and check.level == "warning" and (check.n, check.of) == (2, 4)
    assert check.message.startswith("2 of 4 turns have no answer, as they timed out or failed:")
    assert found(scored(tmp_path / "all", REPLIES), "unanswered-turns") is None


def test_a_truth_of_one_class(tmp_path: Path) -> None:
    replies = [*REPLIES[:19], "稳赚不赔"]
    check = found(scored(tmp_path / "one", replies, labels=["compliant"] * 20), "one-class-truth")
    assert check is not None and check.level == "warning"
    assert "the same on all 20 answered turns" in check.message
    assert found(scored(tmp_path / "two", replies), "one-class-truth") is None


def test_dialogues_of_one_text_are_no_independent_samples(tmp_path: Path) -> None:
    # the same opening, then something else
    apart = [
        [{**turn(1), "user_text": "你好"}, {**turn(2), "user_text": f"问题{i}"}] for i in range(3)
    ]
    for name, n, all_turns in (("a", None, apart), ("b", 2, [*apart, apart[0]])):
        dialogs = [dialog(f"d{i}", turns, raw_turns=None) for i, turns in enumerate(all_turns)]
        run = et.evaluate("memfin", write(tmp_path / name, *dialogs), n_resamples=100)
        check = found(run, "duplicate-texts")
        assert (check and check.n) == n
