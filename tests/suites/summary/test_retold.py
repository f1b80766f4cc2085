"""Risk items told in words too weak to cover them alone, in a clause that tells a clause of the sources again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import evaltools as et
from evaltools.suites.summary.rules import load_rules
from evaltools.suites.summary.scoring import score_case

DATA = Path(__file__).resolve().parents[2] / "data" / "summary_pairs.jsonl"


def coverage(summary: str, source: str, tag: str) -> Any:
    return et.summary.score(summary, [source], [tag])["summary_risk_coverage"]


RETOLD = [
    ("exclusion", "렌터카 대차는 이 상품에 안 들어가 있어요.", "렌터카 대차는 미포함."),
    ("condition", "자녀할인은 등본을 보내시면 적용돼요.", "자녀할인은 등본을 보낼 때 적용."),
    ("limit", "홀인원 축하금은 계약하신 동안 딱 한 번.", "홀인원 축하금은 계약기간 중 1회."),
    ("deductible", "유리막 비용 중 3만 원은 고객님 몫이에요.", "유리막 비용은 3만원 몫."),
    ("waiting_period", "뇌졸중은 91일째 되어야 나와요.", "뇌졸중은 91일째 보장."),
]


@pytest.mark.parametrize(("tag", "source", "summary"), RETOLD)
def test_a_weak_word_covers_what_a_clause_of_the_source_says_too(
    tag: str, source: str, summary: str
) -> None:
    score = coverage(summary, source, tag)
    assert score.score == 1.0
    (sign,) = score.evidence["covered"][tag]
    start, end = sign["at"]
    assert summary[start:end] == sign["text"]
    assert sign["context"] == 0
    assert source[slice(*sign["context_at"])]


@pytest.mark.parametrize(("tag", "source", "summary"), RETOLD)
def test_it_covers_nothing_that_the_sources_do_not_say(tag: str, source: str, summary: str) -> None:
    """The same words about another thing: no word but the sign stands in both."""
    other = "보험료 미납 안내를 드립니다."
    assert coverage(summary, other, tag).score == 0.0


LEFT_OUT = [
    ("exclusion", "렌터카 대차는 이 상품에 안 들어가 있어요.", "렌터카 문의에 답변함."),
    ("condition", "자녀할인은 등본을 보내시면 적용돼요.", "할인이 적용됨을 안내."),
    ("limit", "홀인원 축하금은 계약하신 동안 딱 한 번.", "축하금이 지급됨."),
]


def test_a_bare_word_of_a_tag_counts_where_a_source_says_what_is_to_be_done() -> None:
    """초본 alone is no requirement; a clause of the source asks for it."""
    answer = "주민등록초본과 진단서를 붙여 청구할 수 있어요."
    source = "주민등록초본과 진단서를 첨부해 보험사에 직접 청구합니다."
    assert coverage(answer, source, "documents_required").score == 1.0
    assert coverage(answer, "보험료는 시가 부담합니다.", "documents_required").score == 0.0


@pytest.mark.parametrize(("tag", "source", "summary"), LEFT_OUT)
def test_a_clause_of_the_source_without_the_risk_covers_nothing(
    tag: str, source: str, summary: str
) -> None:
    score = coverage(summary, source, tag)
    assert (score.score, list(score.evidence["missing"])) == (0.0, [tag])


def test_where_a_source_names_the_risk_its_own_clause_must_be_told() -> None:
    """보상하지 않습니다 is a wording of the exclusion; the summary denies something else of the source."""
    source = "스케일링은 보상하지 않습니다. 주차는 무료가 아닙니다."
    assert coverage("주차는 무료가 아님.", source, "exclusion").score == 0.0
    assert coverage("스케일링은 안 들어감.", source, "exclusion").score == 1.0


def test_rules_of_a_company_have_signs_of_their_own(tmp_path: Path) -> None:
    rules = {
        "schema_version": 1,
        "name": "acme",
        "version": "1",
        "extends": "ko-insurance",
        "tags": {"철회": {"phrases": ["청약 철회"], "signs": ["무르", "취소"]}},
    }
    path = tmp_path / "acme.json"
    path.write_text(json.dumps(rules, ensure_ascii=False), encoding="utf-8")
    source = "증권을 받고 15일 안에는 계약을 무르실 수 있어요."
    told = et.summary.score("증권을 받고 15일 안에 취소 가능.", [source], ["철회"], path)
    other = et.summary.score("자동이체 취소 가능.", [source], ["철회"], path)
    assert told["summary_risk_coverage"].score == 1.0
    assert other["summary_risk_coverage"].score == 0.0


def test_fresh_summaries_pass_where_they_tell_the_risk_and_fail_where_they_leave_it_out() -> None:
    rules = load_rules("ko-insurance")
    alarms = []
    missed = []
    for line in DATA.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        contexts, tags = case["contexts"], case["summary_tags"]
        scores = score_case(case["right"], contexts, tags, rules).scores
        if scores["summary_risk_coverage"].score < 0.9:
            alarms.append(case["id"])
        for wrong in case["wrong"]:
            if wrong["metric"] != "summary_risk_coverage":
                continue
            scores = score_case(wrong["answer"], contexts, tags, rules).scores
            if scores["summary_risk_coverage"].score >= 0.9:
                missed.append(case["id"])
    assert len(missed) <= 22
    assert len(alarms) <= 9


def test_a_clause_that_restates_most_of_the_sources_words_covers_its_tag() -> None:
    source = "예금자보호는 최저보증 보험금과 특약에만 적용됩니다."
    told = et.summary.score("최저보증 보험금, 특약은 예금자보호 대상.", [source], ["condition"])
    other = et.summary.score("예금자 제도를 안내함.", [source], ["condition"])
    assert told["summary_risk_coverage"].score == 1.0
    assert other["summary_risk_coverage"].score == 0.0


@pytest.mark.parametrize(
    ("answer", "source"),
    [
        (
            "블랙박스 원본을 확인한 뒤 과실이 확정됩니다.",
            "과실은 블랙박스 영상 원본 확인 후 확정됩니다.",
        ),
        (
            "보류된 2회는 소견서를 내시면 다시 심사합니다.",
            "보류분 2회는 소견서를 제출하시면 재심사합니다.",
        ),
        (
            "점검표를 5월 16일까지 보내지 않으면 견적이 무효",
            "점검표를 5월 16일까지 제출 바라며 미제출 시 견적은 무효",
        ),
        (
            "보상액은 손해사정 후 결정.",
            "보상액은 손해사정을 거쳐 정해져서 지금은 확답을 드릴 수 없어요.",
        ),
        (
            "초음파 판독지를 올려 주시면 심사 후 안내드립니다.",
            "초음파 판독지를 올려 주시면 심사해서 알려드릴게요.",
        ),
    ],
)
def test_a_follow_up_is_told_in_weak_words_where_a_source_says_it(answer: str, source: str) -> None:
    told = et.summary.score(answer, [source], ["needs_followup"])
    other = et.summary.score(answer, ["입원일당은 3만원입니다."], ["needs_followup"])
    assert told["summary_needs_followup"].score == 1.0
    assert other["summary_needs_followup"].score == 0.0


def test_a_rule_of_the_product_is_no_follow_up() -> None:
    """Where none is due only what somebody will check, or be told, counts."""
    rules = (
        "야간 비행은 승인서가 있어야 보상됩니다.",
        "사고를 안 뒤 72시간 안에 통지해 주셔야 합니다.",
    )
    for answer in rules:
        assert et.summary.score(answer, [answer], [])["summary_needs_followup"].score == 1.0
    named = "야간 비행은 보상됩니다. 지점에 추가 확인이 필요합니다."
    assert et.summary.score(named, [rules[0]], [])["summary_needs_followup"].score == 0.0


def test_a_rate_in_full_that_a_source_states_is_no_promise() -> None:
    answer = "상해 치료는 가입 즉시 전액 보장됩니다."
    stated = et.summary.score(answer, ["상해로 인한 치료는 가입 즉시 전액 보장됩니다."])
    other = et.summary.score(answer, ["상해로 인한 치료를 보장합니다."])
    assert stated["summary_non_definitive"].score == 1.0
    assert other["summary_non_definitive"].score == 0.0


@pytest.mark.parametrize(
    ("tag", "answer", "source"),
    [
        (
            "reduction",
            "1년 미만 진단 시 50%.",
            "1년 미만 진단 확정 시 가입금액의 50%를 지급합니다.",
        ),
        ("limit", "대인 1인당 1억·사고당 3억 원.", "특약: 대인 1인당 1억원·1사고당 3억원"),
        (
            "needs_followup",
            "검사 결과지를 올려 주시면 심사 후 안내드립니다.",
            "검사 결과지를 올려주시면 심사해서 알려드릴게요.",
        ),
    ],
)
def test_a_risk_is_told_by_its_figures_and_a_promise_by_its_ending(
    tag: str, answer: str, source: str
) -> None:
    metric = "summary_needs_followup" if tag == "needs_followup" else "summary_risk_coverage"
    assert et.summary.score(answer, [source], [tag])[metric].score == 1.0
    assert et.summary.score(answer, ["보험료 안내"], [tag])[metric].score == 0.0


def test_words_in_an_aside_take_no_promise_back() -> None:
    answer = "골절은 진단서만 내면 무조건 지급(인대 손상이면 통원의료비만 검토)."
    score = et.summary.score(answer, ["골절 진단이 확인되면 대상이 될 수 있어요."])
    assert score["summary_non_definitive"].score == 0.0


def test_what_took_place_is_no_follow_up_of_the_source() -> None:
    source = ["조직검사 결과를 보고 다시 연락하기로 함."]
    for answer, due in (("조직검사 결과 통보 완료.", 0.0), ("조직검사 결과 보고 연락", 1.0)):
        scores = et.summary.score(answer, source, ["needs_followup"])
        assert scores["summary_needs_followup"].score == due
