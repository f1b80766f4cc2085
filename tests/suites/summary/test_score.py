"""The five scores: worked examples, what is not measured, evidence with places, and what must not matter."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaltools import evaluate
from evaltools.core.messages import InputError
from evaltools.core.workers import Workers
from evaltools.suites.summary import suite
from evaltools.suites.summary.read import Case
from evaltools.suites.summary.scoring import Score, score, score_case
from evaltools.suites.summary.states import SummaryOptions, rules_in_force, verdicts
from evaltools.suites.summary.suite import finish, score_chunk
from tests.files import write_lines

OPTIONS = SummaryOptions()
RULES = rules_in_force(OPTIONS)


def scores(
    answer: str | None, contexts: list[str], tags: list[str] | None = None
) -> dict[str, Score]:
    return dict(score_case(answer, contexts, tags, RULES))


def test_a_case_by_hand() -> None:
    answer = "암 진단비 3천만원, 수술비 100만원. 90일 면책."
    v = scores(
        answer, ["암 진단 시 3,000만원", "면책기간 90일, 자기부담 20%"], ["exclusion", "deductible"]
    )
    # 30,000,000원, 90 days and the exclusion are supported, 1,000,000원 is not: 3 of 4
    assert (v["summary_accuracy"].numerator, v["summary_accuracy"].denominator) == (3, 4)
    # of 30,000,000원, 90 days, exclusion, deductible and 20%, the summary keeps the first three
    assert v["entity_recall"].score == pytest.approx(3 / 5)
    assert v["summary_risk_coverage"].score == pytest.approx(1 / 2)
    unsupported = v["summary_accuracy"].evidence["unsupported"]
    assert unsupported == [
        {"kind": "amount", "text": "100만원", "value": "1000000 KRW", "at": [16, 21]}
    ]
    assert answer[16:21] == "100만원"
    supported = v["summary_accuracy"].evidence["supported"][0]
    assert (supported["text"], supported["context"], supported["context_at"]) == (
        "3천만원",
        0,
        [7, 14],
    )
    assert v["summary_risk_coverage"].evidence["covered"] == {
        "exclusion": [{"text": "면책", "at": [27, 29]}]
    }
    assert v["summary_risk_coverage"].evidence["missing"] == {"deductible": []}


@pytest.mark.parametrize(
    ("answer", "contexts", "tags", "metric", "score", "measured", "reason"),
    [
        ("90일", ["안내"], [], "summary_accuracy", 0.0, False, "no context entities"),
        (None, ["90일"], [], "summary_accuracy", 0.0, True, "empty summary"),
        ("안내", [], [], "summary_risk_coverage", 1.0, False, "no tags"),
        ("안내", [], ["surrender_value"], "summary_risk_coverage", 1.0, False, "no known tags"),
        ("", [], [], "summary_non_definitive", 1.0, False, "empty summary"),
        ("안내", [], None, "summary_needs_followup", 1.0, False, "no tags"),
        ("추가 확인 필요", [], ["needs_followup"], "summary_risk_coverage", 1.0, False, "no tags"),
        ("", [], ["limit"], "summary_needs_followup", 1.0, False, "empty summary"),
        ("90일", ["안내"], [], "entity_recall", 0.0, False, "no context entities"),
        # a case that gives tags says whether a follow-up is due
        ("안내", [], ["needs_followup"], "summary_needs_followup", 0.0, True, None),
        ("추가 확인 필요", [], [], "summary_needs_followup", 0.0, True, None),
        ("안내", [], [], "summary_needs_followup", 1.0, True, None),
    ],
)  # fmt: skip
def test_what_is_measured_and_the_number_of_the_source_document_where_nothing_is(
    answer: str | None,
    contexts: list[str],
    tags: list[str] | None,
    metric: str,
    score: float,
    measured: bool,
    reason: str | None,
) -> None:
    v = scores(answer, contexts, tags)[metric]
    assert (v.score, v.measured, v.evidence.get("reason")) == (score, measured, reason)


@pytest.mark.parametrize(
    ("answer", "context", "metric", "score"),
    [
        ("원금 100% 보장됩니다.", "공시이율 2.9%", "summary_non_definitive", 0.0),
        ("면책기간 90일", "90일 경과 후 보장이 시작됩니다.", "summary_accuracy", 1.0),
        ("5월 3일까지 미납이면 실효", "5월 3일까지 안 내시면", "summary_risk_coverage", 1.0),
        ("80세 만기", "80세가 아니라 100세 만기입니다.", "summary_accuracy", 0.0),
        ("2번째 사고부터 할증", "2회 사고부터 할증됩니다.", "summary_accuracy", 1.0),
        ("진단서 확인 후 확정", "진단서를 봐야 확정됩니다.", "summary_risk_coverage", 1.0),
        ("심사 결과 회신 완료", "심사 결과는 회신드리겠습니다.", "summary_needs_followup", 0.0),
        (
            "변호사비용 5천만원 한도(자기부담금 없음).",
            "변호사비용은 5천만원 한도고 자기부담 50%가 있지만 고객님은 자기부담금 없이 나갑니다.",
            "summary_accuracy",
            1.0,
        ),
    ],
)
def test_what_a_source_says(answer: str, context: str, metric: str, score: float) -> None:
    assert scores(answer, [context], ["condition", "needs_followup"])[metric].score == score


def test_why_a_phrase_was_let_off_stands_in_the_evidence() -> None:
    e = scores("무조건 지급되는 것은 아닙니다.", [])["summary_non_definitive"].evidence
    assert e["definitive"] == []
    assert e["let_off"] == [
        {"text": "무조건", "at": [0, 3], "let_off": "denies that it is so", "by": "것은 아닙"}
    ]


def test_an_unknown_tag_is_reported_and_expected_of_nobody() -> None:
    case = {"id": "a", "answer": "면책", "summary_tags": ["exclusion", "exclusoin"]}
    run = evaluate("summary", [case])
    units, (problem,) = run.data, run.manifest.problems
    assert units.loc[0, "summary_risk_coverage"] == 1.0
    assert json.loads(units.loc[0, "summary_risk_coverage_evidence"])["unknown_tags"] == [
        "exclusoin"
    ]
    assert json.loads(units.loc[0, "unknown_tags"]) == ["exclusoin"]
    assert (problem.code, problem.count) == ("unknown-tag", 1)
    assert "did you mean exclusion?" in problem.examples[0]


texts = st.lists(
    st.sampled_from(
        [
            "90일",
            "3천만원",
            "면책",
            "무조건 지급",
            "확인 필요",
            "20%",
            "한도",
            "안내",
            "2026.1.1",
            "하루",
            " ",
        ]
    ),
    max_size=5,
).map(" ".join)


@given(texts, texts)
def test_a_summary_that_repeats_its_context_is_supported(answer: str, more: str) -> None:
    v = scores(answer, [f"{more} {answer}"])["summary_accuracy"]
    assert v.score == 1.0 or not v.numerator


def test_the_number_of_processes_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite, "CHUNK", 7)
    path = "example:summary/cases.jsonl"
    one, two = evaluate("summary", path), evaluate("summary", path, workers=Workers(2))
    pd.testing.assert_frame_equal(one.units, two.units)


def test_averages_over_all_and_over_measured_cases(tmp_path: Path) -> None:
    lines: list[dict[str, Any]] = [
        {"id": "a", "answer": "90일", "contexts": ["90일"]},  # 1
        {"id": "b", "answer": "60일", "contexts": ["90일"]},  # 0
        {"id": "c", "answer": "안내", "contexts": ["90일"]},  # 0.5, not measured
        {"id": "d", "answer": "안내", "contexts": []},  # 0.0, not measured
    ]
    r = evaluate("summary", write_lines(tmp_path / "four.jsonl", lines))
    assert r.value("summary_accuracy") == pytest.approx((1 + 0 + 0.5 + 0) / 4)
    assert r.value("summary_accuracy_measured") == pytest.approx(1 / 2)
    assert r.value("summary_accuracy_pass_rate") == pytest.approx(1 / 4)  # only `a` reaches 0.9
    assert r.name == "four"


def test_rules_stand_in_policy_and_signature(tmp_path: Path) -> None:
    r = evaluate("summary", "example:summary/cases.jsonl")
    assert r.policy["rules"] == RULES.identity
    assert not any(k.startswith("judge_") for k in r.policy)
    assert f"rules:{RULES.identity}" in r.signature
    own = tmp_path / "own.json"
    own.write_text(
        '{"schema_version": 1, "name": "own", "version": "2", "extends": "seed"}', encoding="utf-8"
    )
    other = evaluate("summary", "example:summary/cases.jsonl", rules=str(own))
    assert other.policy["rules"].startswith("own@") and other.policy["rules_version"] == "2"
    assert [i.role for i in other.manifest.inputs] == ["cases", "rules"]


def test_rules_that_changed_since_are_not_used_silently(tmp_path: Path) -> None:
    own = tmp_path / "own.json"
    text = '{"schema_version": 1, "name": "own", "version": "1", "required": {"*": ["limit"]}, "extends": "seed"}'
    own.write_text(text, encoding="utf-8")
    due = score("추가 확인이 필요합니다.", "", rules=own)
    measured = [due[f"summary_{name}"].measured for name in ("risk_coverage", "needs_followup")]
    assert measured == [True, False], "what the rules require says nothing of a follow-up"
    r = evaluate("summary", "example:summary/cases.jsonl", rules=str(own))
    own.write_text(text.replace('"seed"', '"ko-insurance"'), encoding="utf-8")
    with pytest.raises(InputError, match="rules-changed"):
        verdicts(r)


@pytest.mark.parametrize(
    ("score", "passes"), [(0.9, True), (0.9 - 1e-13, True), (0.9 - 1e-9, False), (1.0, True)]
)
def test_a_score_on_its_threshold_passes(score: float, passes: bool) -> None:
    units = score_chunk([Case(id="a", answer="90일")], OPTIONS)
    units["summary_accuracy"] = score
    done = finish(units.assign(summary_accuracy_measured=True), RULES)
    assert done["summary_accuracy_passed"].tolist() == [passes]
    assert "entity_recall_passed" not in done  # it has no threshold
