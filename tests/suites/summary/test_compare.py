"""What a source says of a value: the nearest passage, the opposite, another item, a denial."""

from typing import Any

import pytest

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
        (
            "신규 회원은 만 40세 미만만 신청할 수 있다고 차분히 안내.",
            "신청 자격: 회원, 만 40세 이상. 보험료는 연 30만원.",
        ),
        ("자기부담금은 최대 20만원", "자기부담금은 최소 20만원입니다."),
        ("보험료가 82만 원으로 인하됨", "보험료가 82만 원으로 오릅니다."),
        ("진단비 3천만원 지급 처리되지 않음", "진단비 3천만원을 지급합니다."),
        (
            "도수치료비 48만원 지급 완료 안내",
            "도수치료비는 48만원이고요, 이번 건은 지급되지 않습니다.",
        ),
        ("청약 철회는 30일이 지나도 가능", "청약 철회는 30일이 지나면 안 됩니다."),
        ("중도 해지 가능", "이 특약은 중도 해지가 불가능합니다."),
        (
            "자기부담금 없이 보장, 사고당 100만원",
            "자기부담금은 20%입니다. 사고당 100만원까지 보장합니다.",
        ),
        ("만 65세부터 가입", "만 65세까지 가입하실 수 있어요."),
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
        ("월납 5만원, 진단서 없이 청구 가능", "월 보험료는 5만원입니다. 진단서는 필요 없습니다."),
        # two opposites are the same again
        (
            "자기부담금 0원. 만 70세 미만 가입 가능",
            "자기부담금은 없습니다. 만 70세 이상은 가입할 수 없습니다.",
        ),
        ("1년 안의 사고가 아니면 보상 안 됨", "1년 안의 사고만 보상합니다."),
        ("2년 초과 시 감액 없이 지급", "2년 이내에는 50%만 지급합니다."),
        ("3일 내 고지 위반 시 지급 거절될 수 있음", "3일 내 고지 위반이면 지급이 안 될 수 있어요."),
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
    start, end = denial["context_at"]
    assert denial["text"] == "면책기간 없음" and source[start:end] == "면책기간은 90일입니다"
    assert state("암 진단비 3천만원, 면책기간 없음", source) == "fail"


def test_the_literal_rules_compare_values_only() -> None:
    found = score("만 26세 미만", ["만 26세 이상"], rules="seed")["summary_accuracy"]
    assert "contradicted" not in found.evidence and "look" not in found.evidence


def test_of_passages_as_near_the_value_that_is_written_most_alike_is_shown() -> None:
    source = "보험료는 2025년 8월 7일, 2026년 1월 3일에 냈고 보험료는 2026년 5월 12일에 또 냅니다."
    # of those that the summary does not state itself
    (wrong,) = score("보험료 2026년 1월 3일, 보험료 2026년 1월 15일", [source])[
        "summary_accuracy"
    ].evidence["unsupported"]
    assert wrong["instead"] == "2026년 5월 12일"
