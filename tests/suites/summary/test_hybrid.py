"""The call of the judge: only cases in the uncertain zones, and its decisions back in the frame."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evaltools import evaluate
from evaltools.llm.client import Answer
from evaltools.llm.messages import Call
from evaltools.suites.summary import judge
from evaltools.suites.summary.cards import why
from evaltools.suites.summary.judge import Question, Reply
from tests.files import read_json, write_lines


def answering(
    monkeypatch: pytest.MonkeyPatch, answer: Callable[[Question], Answer]
) -> list[Question]:
    """A judge that answers so; gives the questions that it is asked."""
    seen: list[Question] = []

    def answers(asked: list[Question], *_: Any) -> list[Answer]:
        seen.extend(asked)
        return [answer(question) for question in asked]

    monkeypatch.setattr(judge, "answers", answers)
    return seen


def replies(**fields: Any) -> Answer:
    return Answer(Reply(reason="왜", **fields), Call(request="", model="judge-2026"))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Question]:
    """A judge that calls everything good with confidence 0.9, but has no answer for the case promise-en."""

    def answer(question: Question) -> Answer:
        case, metric, _ = question
        bad = metric == "summary_non_definitive" or (
            metric == "summary_needs_followup" and case["tags"] == "[]"
        )
        if case["case_id"] == "promise-en":
            return Answer(None, Call(request=""), error="no reply")
        return replies(score=float(not bad), confidence=0.9, tags=["limit"])

    return answering(monkeypatch, answer)


def test_decisions_replace_scores_only_where_the_judge_was_asked(asked: list[Question]) -> None:
    path = "example:summary/cases.jsonl"
    rule = evaluate("summary", path).units.set_index("case_id")
    units = evaluate("summary", path, judge="hybrid", judge_model="m").units.set_index("case_id")
    zones = {(case["case_id"], metric) for case, metric, _ in asked}
    assert ("promise", "summary_non_definitive") in zones
    assert not any(case == "empty-summary" for case, _ in zones)
    assert not any(metric == "entity_recall" for _, metric in zones)
    for case_id, case in units.iterrows():
        for metric in ("summary_accuracy", "summary_risk_coverage", "summary_non_definitive"):
            by_rules = rule.loc[case_id, metric]
            is_judged = (case_id, metric) in zones and case_id != "promise-en"
            assert case[f"{metric}_rule"] == by_rules
            assert case[metric] == (1.0 if is_judged else by_rules)
            assert case[f"{metric}_decided_by"] == ("llm" if is_judged else "rule")
            if is_judged:
                assert case[f"{metric}_measured"] and case[f"{metric}_passed"]
                text, *_ = why(case, metric)
                says_nothing = "the rules measure nothing" in text
                assert says_nothing != rule.loc[case_id, f"{metric}_measured"]
    evidence = units.loc["promise-en", "summary_non_definitive_evidence"]
    assert evidence["judge"]["error"] == "no reply"


def test_the_policy_holds_the_judge_only_where_one_is_asked(asked: list[Question]) -> None:
    path = "example:summary/cases.jsonl"
    r = evaluate("summary", path, judge="hybrid", judge_model="m", judge_cache="/somewhere")
    assert r.policy["judge_model"] == "m" and "judge_cache" not in r.policy
    assert "judge:m/override0.8" in r.signature
    off = evaluate("summary", path, judge_model="m")
    assert off.policy == evaluate("summary", path).policy


SOURCE = "의원 공제는 1만원, 상급종합병원 공제는 2만원입니다. 예방접종은 보상하지 않습니다."


def test_a_confident_judge_settles_what_the_rules_cannot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = answering(monkeypatch, lambda _: replies(score=0.95, confidence=0.9))
    case = {
        "id": "a",
        "answer": "의원 공제 1만원. 예방접종도 보상됨. 한도를 안내함.",
        "contexts": [SOURCE],
        "summary_tags": ["limit"],
    }
    path = write_lines(tmp_path / "cases.jsonl", [case])
    run = evaluate("summary", path, n_resamples=100, out=tmp_path, judge="hybrid", judge_model="m")
    assert {metric: why for _, metric, why in seen} == {
        "summary_accuracy": "a source may say otherwise",
        "summary_risk_coverage": "a risk item is named, and not what it is",
    }
    case = run.units.iloc[0]
    evidence = case["summary_accuracy_evidence"]
    # 0.95 of what it says is supported, so not all
    assert case["summary_accuracy_state"] == "ok" and case["any_unsupported"]
    assert "unsupported" in evidence["rules"] and "unsupported" not in evidence
    (text,) = why(case, "summary_accuracy")
    assert text.startswith("the judge says 0.95 (왜) and decides; the rules say 0.50")
    manifest = read_json(tmp_path / "results/cases/manifest.json")
    assert manifest["answered_by"] == {"judge-2026": 2}
    assert manifest["policy"]["judge_prompt_versions"]["summary_accuracy"] == "3"


@pytest.mark.parametrize(
    ("confidence", "score", "measured", "state"),
    [(0.4, 0.5, False, "look"), (0.9, 1.0, True, "ok")],
)
def test_what_the_rules_did_not_measure_is_never_blended(
    confidence: float,
    score: float,
    measured: bool,
    state: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answering(monkeypatch, lambda _: replies(score=1.0, confidence=confidence))
    row = {"id": "1", "answer": "회신을 안내함", "contexts": ["보험료 5만원 납입 안내"]}
    run = evaluate("summary", [row], judge="hybrid", judge_model="m", n_resamples=100)
    case = run.units.iloc[0]
    found = [case[f"summary_accuracy{end}"] for end in ("", "_measured", "_state")]
    assert [*found, case["any_unsupported"] == 0] == [score, measured, state, measured]
    assert "the judge says 1.00 (왜)" in next(why(case, "summary_accuracy"))
    assert not case["summary_risk_coverage_measured"]  # neither tags nor a judge who names any


def test_a_judge_that_cannot_be_reached_is_a_check() -> None:
    row = {"id": "1", "answer": "회신 안내", "contexts": ["안내"]}
    address = "http://127.0.0.1:9/v1"  # nothing listens there
    run = evaluate("summary", [row], judge="hybrid", judge_model="m", judge_base_url=address)
    (check,) = [check for check in run.checks if check.code == "not-judged"]
    assert "the server cannot be reached" in check.message
