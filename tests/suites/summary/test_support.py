"""What a source says of a value: the nearest passage, the opposite, another item, a denial."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evaltools.suites.summary.compare import ITEM, OPPOSITE_BOUND, OPPOSITE_PAYMENT
from evaltools.suites.summary.judge import trigger
from evaltools.suites.summary.scoring import score
from evaltools.suites.summary.states import metric_state

RATES = (
    "입원 일당은 3만원을 지급합니다. 통원 치료비는 1만원을 지급합니다. 수술비는 100만원 한도입니다."
)


def evidence(summary: str, *contexts: str) -> dict[str, Any]:
    return score(summary, contexts)["summary_accuracy"].evidence


def state(summary: str, *contexts: str) -> str:
    found = score(summary, contexts)["summary_accuracy"]
    passed = found.score >= 0.9
    return metric_state("summary_accuracy", found.evidence, measured=found.measured, passed=passed)


def whys(summary: str, *contexts: str) -> list[str]:
    return [point["why"] for point in evidence(summary, *contexts).get("look", [])]


@pytest.mark.parametrize(
    ("summary", "source"),
    [
        ("가입 연령은 만 26세 미만", "가입 연령은 만 26세 이상입니다."),
        ("통원 일수는 30일 초과", "통원 일수는 30일 이하입니다."),
        (
            "신규 회원은 만 40세 미만만 신청할 수 있다고 차분히 안내.",
            "신청 자격: 회원, 만 40세 이상. 보험료는 연 30만원.",
        ),
        ("자기부담금은 최대 20만원", "자기부담금은 최소 20만원입니다."),
        ("보험료가 5% 인하됨", "보험료가 5% 인상됩니다."),
        ("진단비 3천만원 지급되지 않음", "진단비 3천만원을 지급합니다."),
    ],
)
def test_the_opposite_of_a_source_is_no_support(summary: str, source: str) -> None:
    found = score(summary, [source])["summary_accuracy"]
    (contradicted,) = found.evidence["contradicted"]
    start, end = contradicted["context_at"]
    assert source[start:end] in source and contradicted["why"]
    assert contradicted in found.evidence["unsupported"]
    assert found.score < 0.9 and state(summary, source) == "fail"


@pytest.mark.parametrize(
    ("summary", "source"),
    [
        ("가입 연령은 만 26세 이상", "가입 연령은 만 26세 이상입니다."),
        ("가입 연령은 만 26세부터", "가입 연령은 만 26세 이상입니다."),
        ("자기부담금은 최소 20만원", "자기부담금 20만원 이상입니다."),
        # two opposites are the same again
        ("2년 초과 시 감액 없이 지급", "2년 이내에는 50%만 지급합니다."),
        ("면책기간 90일이 지나면 보장됨", "90일 이내에는 보장하지 않습니다."),
    ],
)
def test_what_says_the_same_is_supported(summary: str, source: str) -> None:
    found = score(summary, [source])["summary_accuracy"]
    assert "contradicted" not in found.evidence and not found.evidence["unsupported"]


def test_the_passage_is_that_of_the_same_item_and_not_the_first_of_the_value() -> None:
    source = "통원 의료비는 1만원을 공제합니다. 처방조제비는 1만원을 공제합니다."
    (figure,) = evidence("처방조제비 1만원", source)["supported"]
    assert figure["context_at"][0] == source.rindex("1만원")
    (figure,) = evidence("통원의료비 1만원", source)["supported"]
    assert figure["context_at"][0] == source.index("1만원")


def test_a_wrong_figure_stands_beside_that_of_the_source() -> None:
    (figure,) = evidence("통원 치료비 2만원", RATES)["unsupported"]
    start, end = figure["context_at"]
    assert figure["instead"] == RATES[start:end] == "1만원"
    (figure,) = evidence("가입 시기는 2만원", RATES)["unsupported"]
    assert "instead" not in figure


def test_values_that_changed_places_are_to_be_looked_at_and_change_no_score() -> None:
    swapped = "입원 일당 1만원, 통원 치료비 3만원"
    found = score(swapped, [RATES])["summary_accuracy"]
    assert found.score == 1.0
    assert whys(swapped, RATES) == ["the source says it of another item"] * 2
    assert state(swapped, RATES) == "look"
    assert whys("입원 일당 3만원, 통원 치료비 1만원", RATES) == []


def test_an_item_that_the_source_gives_a_value_cannot_be_denied() -> None:
    source = "암 진단비 3천만원. 면책기간은 90일입니다."
    found = score("암 진단비 3천만원, 면책기간 없음", [source])["summary_accuracy"]
    (denial,) = found.evidence["contradicted"]
    assert denial["text"] == "면책기간 없음" and denial["instead"] == "면책기간은 90일입니다"
    assert state("암 진단비 3천만원, 면책기간 없음", source) == "fail"


def test_a_denial_that_a_source_says_too_or_says_of_nothing_stands() -> None:
    both = "질병 면책기간은 90일입니다. 상해는 면책기간이 없습니다."
    assert "contradicted" not in evidence("면책기간 없음", both)
    assert "contradicted" not in evidence("진단비 100만원, 자기부담금 없음", "진단비 100만원")


def test_a_denial_for_something_named_contradicts_nothing_that_is_said_of_all() -> None:
    source = "진단비 100만원. 면책기간은 90일입니다."
    assert "contradicted" not in evidence("진단비 100만원, 상해 사고는 면책기간 없음", source)


def test_the_literal_rules_compare_values_only() -> None:
    found = score("만 26세 미만", ["만 26세 이상"], rules="seed")["summary_accuracy"]
    assert "contradicted" not in found.evidence and "look" not in found.evidence


@pytest.mark.parametrize(
    ("summary", "tag", "expected"),
    [
        ("한도 문의함", "limit", 0.0),
        ("한도 500만원으로 안내함", "limit", 1.0),
        ("서류 관련 문의", "documents_required", 0.0),
        ("조사 결과를 제출해야 함", "documents_required", 1.0),
        ("대기 기간 질문", "waiting_period", 0.0),
        ("가입 91일째 되는 날부터 보장", "waiting_period", 1.0),
        ("그 상태가 90일 넘게 지속돼야만 나옵니다", "condition", 1.0),
    ],
)
def test_a_noun_that_is_only_asked_about_covers_no_tag(
    summary: str, tag: str, expected: float
) -> None:
    assert score(summary, ["상담 기록"], [tag])["summary_risk_coverage"].score == expected


def test_the_judge_is_asked_where_a_source_may_say_otherwise() -> None:
    case = {"n_entities": 4, "tags": "[]", "ambiguous_followup": False}
    for metric in ("summary_accuracy", "summary_non_definitive"):
        case |= {metric: 1.0, f"{metric}_measured": True}
    contested = {"contradicted": [{"text": "90일"}]}
    assert trigger("summary_accuracy", case, {}) is None
    assert trigger("summary_accuracy", case, contested) == "a source may say otherwise"
    assert trigger("summary_non_definitive", case, contested) is None


@pytest.mark.parametrize(
    ("summary", "source"),
    [
        # said at the end of a list, or behind another figure
        (
            "경증 300만원, 중증 3천만원을 1회 부지급",
            "경증 300만원, 중증 3천만원을 1회에 한해 지급합니다.",
        ),
        ("사망 시 1억원까지 보장되지 않습니다", "사망 시 1억원, 부상 시 3천만원까지 보장합니다."),
        # with the same bound a period is paid for, or not
        ("보존치료는 90일이 지나야 보장되지 않음", "보존치료는 90일이 지난 다음 날부터 보장"),
    ],
)
def test_the_opposite_of_payment_is_noticed_in_lists(summary: str, source: str) -> None:
    found = evidence(summary, source)
    points = [*found.get("look", []), *found.get("contradicted", [])]
    assert "the source says the opposite of payment" in [point["why"] for point in points]


@pytest.mark.parametrize(
    ("summary", "source"),
    [
        ("입원일당은 최대 120일", "입원일당은 120일을 넘을 수 없습니다."),
        ("2년 이내 수술", "2년 안에 수술하면 됩니다."),
        ("10년 이하 1.0%, 10년 초과 0.5%", "5년 초과 10년 이하 1.0%, 10년 초과 0.5%."),
    ],
)
def test_bounds_in_other_words_agree(summary: str, source: str) -> None:
    assert state(summary, source) == "ok"


@pytest.mark.parametrize(
    ("summary", "source"),
    [
        ("2년 초과 수술", "2년 안에 수술하면 됩니다."),
        ("한도 최소 25일", "한도 25일까지 인정합니다."),
        ("입원일당은 최소 120일", "입원일당은 120일을 넘을 수 없습니다."),
    ],
)
def test_bounds_of_speech_are_read(summary: str, source: str) -> None:
    assert state(summary, source) != "ok"


def test_a_reckoned_value_and_one_that_changes_are_of_no_single_item() -> None:
    source = "일당 3만원. 수술비 50만원. 입원 42일 x 3만원 = 126만원. 보험료 5만원 -> 4만원."
    assert state("일당 3만원 x 42일 = 126만원", source) == "ok"
    assert state("보험료 5만원 → 4만원", source) == "ok"


@pytest.mark.parametrize(
    ("summary", "source"),
    [
        ("영업일 3일 소요", "3영업일 이내"),
        ("3영업일 소요", "영업일 3일이면 됩니다"),
        ("연 3개 한도", "1년에 3개요"),
        ("절반 지급", "반만 드려요"),
        ("1/2만 지급", "50% 지급"),
        ("보험료 41,200원에서 58,900원으로", "보험료 41,200 -> 58,900원"),
        ("갑상선암 제외", "갑상선암은 대상에서 뺍니다. 1회"),
    ],
)
def test_other_notations_of_one_value(summary: str, source: str) -> None:
    assert evidence(summary, source)["unsupported"] == []


def test_an_item_is_denied_under_each_of_its_names() -> None:
    assert state("자기부담금 없음", "500만원 한도(자기부담 50만원)") == "fail"
    assert state("공제금 없이 20만원", "20만원까지, 1만원 공제 없음") == "ok"
    assert state("면책기간 없음, 5천만원", "5천만원(90일 면책 없음)") == "ok"


def test_a_value_of_quite_another_thing_is_looked_at() -> None:
    """No word around 28,640원 is the premium's; 식비 and 실비 stand around the 20만원."""
    source = "항공기 지연 시 식비 등 실비 20만원 한도입니다. 월 보험료는 28,640원입니다."
    assert state("항공기가 늦으면 식비 실비 28,640원", source) == "look"
    assert state("항공기가 늦으면 식비 실비 20만원", source) == "ok"
    assert state("보험료 28,640원", source) == "ok"


@pytest.mark.parametrize(
    ("summary", "source"),
    [
        ("1년 안에 진단되면 500만원 지급", "뇌혈관은 1천만 원이고 1년 안에 걸리면 500."),
        ("과실 20:80으로 협의 중", "3년 유예. 우리측 20 상대측 80으로 협의 중입니다."),
    ],
)
def test_a_figure_without_its_unit_supports_the_same_figure_with_one(
    summary: str, source: str
) -> None:
    assert state(summary, source) == "ok"
    assert state(summary.replace("500만", "700만").replace("20:80", "30:70"), source) == "fail"


def test_a_single_digit_without_unit_supports_nothing() -> None:
    assert evidence("특약 5만원", "특약은 5, 한도는 30만원")["unsupported"]


def test_a_value_that_is_told_twice_is_held_more_strictly_against_its_items() -> None:
    source = "운송 중 손해 1사고당 1억원 / 냉동기 고장 손해 1사고당 3,000만원 / 상하차 2,000만원"
    assert whys("운송 중 사고당 1억, 냉동기 고장 1억", source) == [ITEM]
    assert whys("운송 중 사고당 1억, 냉동기 고장 3천만", source) == []


def test_a_condition_word_is_supported_by_a_sign_of_its_tag() -> None:
    assert not evidence("유사암 제외", "3천만원이고 유사암은 안 들어가 있어요.")["unsupported"]
    (word,) = evidence("유사암 제외", "3천만원이고 유사암도 들어가 있어요.")["unsupported"]
    assert word["text"] == "제외"


def test_what_is_free_up_to_a_figure_may_be_told_as_none() -> None:
    assert whys("수수료 없음(연 4회까지)", "수수료는 4회까지 없어요.") == []
    assert state("가입 시 수수료 없음(연 4회까지)", "수수료는 4회까지 500원") == "fail"


@pytest.mark.parametrize(
    ("summary", "source"),
    [
        ("서류 3종 제출", "서류는 세 장이요."),
        ("2차분 지급", "두 번째 것도 나가요."),
    ],
)
def test_papers_are_counted_in_any_word_and_ordinals_in_two(summary: str, source: str) -> None:
    assert not evidence(summary, source)["unsupported"]
    assert evidence(summary.replace("3", "5").replace("2", "4"), source)["unsupported"]


@pytest.mark.parametrize(
    ("summary", "source", "wrong"),
    [
        ("21년 4월 손가락 골절", "2021년 4월에 다친 건입니다.", "22년 4월 손가락 골절"),
        ("6시간 30분 지연", "6시간 반요", "6시간 40분 지연"),
        ("1일 이내 연락", "24시간 안에 1일 이내로", "2일 이내 연락"),
    ],
)
def test_dates_and_hours_in_other_notations_are_equal(
    summary: str, source: str, wrong: str
) -> None:
    assert not evidence(summary, source)["unsupported"]
    assert evidence(wrong, source)["unsupported"]


@pytest.mark.parametrize("denial", ["발생하지 않습니다", "부과되지 않습니다", "없습니다"])
def test_a_fee_is_none_in_the_words_of_any_verb(denial: str) -> None:
    source = f"7년이 지나 이전수수료는 {denial}(7년 이내였다면 5만원)."
    assert whys("7년 경과로 이전수수료는 없음", source) == []


def test_a_contact_that_was_agreed_is_owed_still() -> None:
    tags = ["needs_followup"]
    for told in ("모레까지 연락하기로 하였다.", "조사 담당자가 내일 연락하여 일정을 잡을 예정."):
        assert score(told, ["연락드리겠습니다."], tags)["summary_needs_followup"].score == 1.0
    assert score("모레 연락하였다.", ["연락."], tags)["summary_needs_followup"].score == 0.0


def test_evidence_does_not_depend_on_the_order_of_sets() -> None:
    """Of passages that are equally like, the first counts, whatever seed Python hashes texts with."""
    path = Path(__file__).resolve().parents[2] / "data" / "summary_pairs.jsonl"
    code = """
import json, sys
from evaltools.suites.summary.scoring import score
for line in open(sys.argv[1], encoding="utf-8"):
    case = json.loads(line)
    if case["id"][0] == "k":
        print(score(case["right"], case["contexts"])["summary_accuracy"].evidence)
"""
    printed = set()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", code, str(path)],
            env=environment,
            capture_output=True,
            check=True,
        )
        printed.add(done.stdout)
    assert len(printed) == 1


@pytest.mark.parametrize(
    ("summary", "source"),
    [
        (
            "가입 2년이 되기 전의 자해는 부지급",
            "계약일부터 2년이 지나기 전에 자신을 해친 경우 부지급",
        ),
        ("신청은 만기 후 두 달 안에 해야 함", "만기 후 2개월이 지나면 신청은 안 됩니다."),
        ("시설급여 월 50만원이 10년 동안 나온다.", "시설급여 월 50만원을 최장 10년 지급하며"),
        ("납입 중 해지하면 해약환급금이 없다.", "납입 중 해지 시 해약환급금 0원."),
        ("깁스치료비 10만원은 나오지 않음", "깁스치료비 10만원은 부목(splint) 처치라 부지급."),
        ("휴업하면 사흘을 기다린 뒤 하루 200만원", "- 휴업손해: 1일 200만원, 최대 60일, 대기 3일"),
        ("16번 치아는 지급됨", "크라운 #16은 지급하였습니다."),
        ("2.5kg 미만 저체중아에게 지급", "2.5kg 미만 저체중아에게 지급합니다."),
    ],
)
def test_what_a_right_summary_says_in_its_own_way_is_not_stopped(summary: str, source: str) -> None:
    told = evidence(summary, source)
    assert told.get("unsupported", []) == []
    assert told.get("look", []) == []


@pytest.mark.parametrize("other", ["이상", "초과"])
def test_the_opposite_bound_of_a_figure_of_any_unit_is_looked_at(other: str) -> None:
    source = "출생 체중 2.5kg 미만 저체중아에게 하루 5만원을 지급합니다."
    assert whys(f"2.5kg {other}으로 태어나면 하루 5만원", source) == [OPPOSITE_BOUND]


def test_a_sum_paid_each_month_supports_no_period_that_must_pass() -> None:
    source = "매월 100만원을 지급하며, 계약일부터 1년이 지난 날의 다음날부터 보장합니다."
    (period,) = evidence("가입 후 1개월이 지나야 보장됩니다.", source)["unsupported"]
    assert (period["kind"], period["text"]) == ("duration", "1개월")


def test_what_is_said_at_the_end_of_a_list_is_said_of_all_its_items() -> None:
    source = "입원일당 3만원입니다. 전문등반, 글라이더 조종 중의 사고는 면책입니다."
    (denial,) = evidence("입원일당 3만원. 전문등반 중의 사고도 보장함", source)["contradicted"]
    assert denial["why"] == OPPOSITE_PAYMENT
    assert state("입원일당 3만원. 전문등반 중의 사고는 면책", source) == "ok"


def test_a_value_is_of_another_item_only_where_its_whole_item_stands_there() -> None:
    source = "입원 수술 특약은 300만원, 통원 치료 특약은 20만원 한도입니다."
    assert whys("통원 치료 특약 300만원", source) == [ITEM]
    assert whys("입원 특약 300만원", source) == []


@pytest.mark.parametrize(
    ("summary", "source"),
    [
        ("신청은 만기 후 두 달 안에 해야 함", "만기 후 2개월이 지나면 신청이 안 됩니다."),
        (
            "피해일부터 3년이 지나기 전에 청구해야 함",
            "피해일부터 3년이 지나면 청구권이 소멸합니다.",
        ),
        ("통원일당은 한 해 8회로 줄어듦", "통원일당은 연 10회에서 연 8회로 줄어듭니다."),
        ("사진은 두 번 올림, 30만원", "사진을 가입과 만기에 각각 올리시면 30만원입니다."),
        ("수술은 3월 14일, 30만원", "2024.3.12 골절, 3.14 수술, 30만원"),
        ("임신 9주 고객, 30만원", "고객은 임신 9주차, 30만원"),
        ("6/3 지급 완료, 30만원", "30만원은 6월 3일 지급되었습니다."),
        ("비상급유 3L가 제공됨, 30만원", "비상급유 3리터를 제공하고 30만원을 보장합니다."),
        ("90일 면책 없이 300만원", "300만원을 지급하며 90일의 면책기간은 적용하지 아니합니다."),
        (
            "1년 이내 사망은 50% 지급, 2년 이내 자살은 면책",
            "1년 이내 사망은 50%를 지급합니다. 자살은 2년 이내 면책.",
        ),
        (
            "배관 수리비 85만원은 지급되지 않음",
            "배관 수리비 85만원은 손해가 아니므로 지급되지 않았습니다.",
        ),
    ],
)
def test_the_same_in_another_form_is_right(summary: str, source: str) -> None:
    assert state(summary, source) == "ok"


@pytest.mark.parametrize(
    ("summary", "source"),
    [
        ("다섯 번까지 보장, 30만원", "연 4회까지 보장, 30만원"),  # the source counts them, too
        ("50회까지 보장, 30만원", "30만원을 보장합니다."),  # nobody counts so many himself
    ],
)
def test_a_count_that_is_no_count_of_the_summary_itself_has_no_source(
    summary: str, source: str
) -> None:
    assert evidence(summary, source)["unsupported"]


def test_two_values_that_change_places_are_looked_at() -> None:
    source = "입원 일당은 3만원, 통원 치료비는 1만원입니다."
    assert ITEM in whys("입원 일당 1만원, 통원 치료비 3만원", source)
    assert not whys("입원하면 하루 3만원, 통원하면 1만원", source)


BENEFITS = (
    "휴업급여: 4일 이상 입원 시 1일 6만원, 120일 한도. 간병급여: 1일 5만원 범위. "
    "일반병원: 1일당 150,000원. 요양병원: 1일당 50,000원. 통합서비스 병동: 1일당 70,000원."
)


@pytest.mark.parametrize(
    ("right", "wrong", "of_the_item"),
    [
        ("통합서비스 병동은 하루 7만 원", "통합서비스 병동은 하루 15만 원", "70,000원"),
    ],
)
def test_a_figure_whose_item_stands_around_another_one_alone_is_looked_at(
    right: str,
    wrong: str,
    of_the_item: str,
) -> None:
    assert "look" not in score(right, [BENEFITS])["summary_accuracy"].evidence
    (point,) = score(wrong, [BENEFITS])["summary_accuracy"].evidence["look"]
    start, end = point["context_at"]
    assert point["why"] == "the source says it of another item"
    assert BENEFITS[start:end] == of_the_item


@pytest.mark.parametrize(
    ("summary", "source"),
    [
        (
            "입원비 84,000원(공제 20,000원 제외) 지급",
            "입원비 104,000원 중 공제 20,000원 제외 84,000원 지급",
        ),
        ("노트북 30만원은 보상 안 됨", "노트북 30만 원도 없어졌다고 함. 노트북은 대상이 아니에요."),
        ("32세 운전자, 보험료 9만원", "고객: 저는 서른둘이에요. 보험료 9만원이죠."),
        ("고객 90만원 요구", "고객: 그럼 90이면 할게요."),
        ("4.18 파손, 4만원 5/2 송금", "4월 18일 파손. 4만원은 2026-05-02 송금."),
        ("펀드 손실 7.4%", "펀드 수익률은 마이너스 7.4퍼센트입니다."),
    ],
)
def test_the_same_in_other_words_is_not_stopped(summary: str, source: str) -> None:
    assert state(summary, source) == "ok"


@pytest.mark.parametrize(
    ("summary", "source"),
    [
        ("펀드 수익률 7.4%", "펀드 수익률은 마이너스 7.4퍼센트입니다."),
        ("적립금 수익률은 3.1%로 안내", "적립금 수익률 -3.1%"),
    ],
)
def test_a_lost_sign_is_contradicted(summary: str, source: str) -> None:
    assert evidence(summary, source)["contradicted"]


def test_of_passages_as_near_the_value_that_is_written_most_alike_is_shown() -> None:
    source = "보험료는 2026년 1월 3일에 냈고 보험료는 2026년 5월 12일에 또 냅니다."
    (wrong,) = score("보험료 2026년 5월 15일", [source])["summary_accuracy"].evidence["unsupported"]
    assert wrong["instead"] == "2026년 5월 12일"
