"""What is said to be paid, or not, against a source that says the opposite of the same thing (D34)."""

from __future__ import annotations

from typing import Any

import pytest

from evaltools.suites.summary.scoring import score

SOURCE = (
    "예방접종, 중성화, 스케일링은 보상 안 합니다. 슬개골 탈구는 보상됩니다. "
    "급여 추나요법은 보상되는데 첩약은 지급하지 않습니다."
)


def opposites(summary: str, *sources: str) -> list[dict[str, Any]]:
    """The clauses of a summary of which the sources say the opposite; a figure makes it comparable."""
    sources = ("보험료 5만원", *sources)
    evidence = score(f"보험료 5만원. {summary}", sources)["summary_accuracy"].evidence
    points = [*evidence.get("contradicted", []), *evidence.get("look", [])]
    return [point for point in points if point["kind"] == "payment"]


@pytest.mark.parametrize(
    ("summary", "text"),
    [
        ("예방접종·중성화·스케일링도 보상됨.", "예방접종·중성화·스케일링도 보상됨"),
        ("슬개골 탈구는 제외.", "슬개골 탈구는 제외"),
        ("급여 추나요법은 보상되지 않음.", "급여 추나요법은 보상되지 않음"),
    ],
)
def test_the_opposite_is_found_with_the_passage_of_the_source(summary: str, text: str) -> None:
    (claim,) = opposites(summary, SOURCE)
    start, end = claim["at"]
    assert f"보험료 5만원. {summary}"[start:end] == claim["text"] == text
    assert claim["context"] == 1


@pytest.mark.parametrize(
    "summary",
    [
        "예방접종·스케일링은 제외, 슬개골 탈구는 보상.",
        "첩약은 지급 제외.",
        "도수치료는 보상됨.",  # of another thing
        "보상 기준을 안내함.",  # of nothing
        "슬개골 탈구 3만원은 제외.",  # a value carries its payment by itself
        "",
    ],
)
def test_what_agrees_or_speaks_of_another_thing_is_no_opposite(summary: str) -> None:
    assert opposites(summary, SOURCE) == []


def test_a_source_that_says_both_settles_nothing() -> None:
    both = "입원비는 지급합니다. 음주 사고의 입원비는 지급하지 않습니다."
    assert opposites("입원비는 지급됨.", both) == []


def test_an_item_of_nothing_may_be_told_as_none() -> None:
    source = "1세대는 자기부담 0%, 4세대는 자기부담 30%입니다."
    found = score("1세대 실손은 자기부담 없음, 4세대는 30%", [source])["summary_accuracy"]
    assert found.evidence.get("look", []) == []


@pytest.mark.parametrize(
    ("right", "wrong", "source"),
    [
        (  # what is not so in a condition is not what is paid or not
            "추가 치료 없으면 이후 보장.",
            "추가 치료 없어도 이후 보장 불가.",
            "추가 치료를 받지 않으신 경우 이후에는 보장합니다.",
        ),
        (  # an aside is part of the clause
            "제품 손해와 리콜 비용은 보상되지 않음.",
            "제품 손해와 리콜 비용도 보상됨.",
            "제품의 손해와 리콜(회수) 비용은 보상하지 않습니다.",
        ),
        (
            "등기 전에 전출하면 보상이 안 됩니다.",
            "등기 전에 전출하셔도 보상이 됩니다.",
            "등기가 되기 전에 전출하시면 보상이 안 됩니다.",
        ),
    ],
)
def test_what_is_paid_is_told_by_the_end_of_a_clause(right: str, wrong: str, source: str) -> None:
    assert opposites(right, source) == []
    assert opposites(wrong, source)


def test_a_denied_exclusion_is_no_exclusion() -> None:
    source = "헬멧 미착용은 면책은 아니고요, 음주 운전은 면책입니다."
    assert opposites("헬멧 미착용은 면책 아님.", source) == []


def test_there_is_none_of_what_the_source_has() -> None:
    (claim,) = opposites("면책기간 없음.", "이 특약의 면책기간은 90일입니다.")
    assert claim["why"] == "one says that there is none, the other that there is"


@pytest.mark.parametrize(
    ("summary", "source"),
    [
        ("면책기간은 없으며 바로 보장됩니다.", "계약일부터 90일간은 보장하지 않습니다."),
        (
            "감액 기간은 없습니다.",
            "계약일부터 1년 미만에 진단 확정된 때에는 보험금의 50%를 지급합니다.",
        ),
        ("자기부담금은 없습니다.", "환자가 20%를 부담합니다."),
        ("한도는 따로 없음", "연간 3회까지만 지급합니다."),
    ],
)
def test_an_item_told_as_not_there_of_which_a_source_has_a_figure(
    summary: str, source: str
) -> None:
    accuracy = score(summary, [source])["summary_accuracy"]
    assert accuracy.measured
    assert accuracy.score == 0
    assert not accuracy.evidence["supported"]
    assert len(accuracy.evidence["contradicted"]) == 1


@pytest.mark.parametrize(
    ("summary", "source"),
    [
        ("유사암은 90일 면책 없이 지급", "유사암은 90일 면책을 적용하지 않습니다. 암은 90일 면책."),
        ("1년 내 절반만 지급되나 이번 건은 감액 없음", "1년 이내에는 보험금의 50%를 지급합니다."),
        ("감액 없음", "감액하지 않습니다. 보험금의 50%를 먼저 지급합니다. 감액 없음."),
        ("면책기간이 지나지 않은 경우 보장 없음", "계약일부터 90일간은 보장하지 않습니다."),
    ],
)
def test_what_the_source_or_the_summary_tells_besides_is_no_contradiction(
    summary: str, source: str
) -> None:
    assert "contradicted" not in score(summary, [source])["summary_accuracy"].evidence


def test_an_item_denied_of_another_thing_is_looked_at() -> None:
    evidence = score("보철치료는 면책기간 없음", ["1년간은 보장하지 않습니다."])
    (item,) = evidence["summary_accuracy"].evidence["look"]
    assert item["text"] == "면책기간"


@pytest.mark.parametrize(
    ("summary", "source"),
    [
        (
            "대인배상Ⅰ은 보상됩니다.",
            "한정 운전자 외의 사고는 대인배상Ⅰ을 제외하고 보상하지 않습니다.",
        ),
        (
            "그 밖의 운전자는 대인배상Ⅰ만 보상",
            "운전자 외의 사고는 대인배상Ⅰ을 제외하고 보상하지 않음",
        ),
        (
            "교통사고만 보장되고 그 외 상해는 보장되지 않습니다.",
            "이 특약은 교통상해 이외의 사고는 보장하지 않습니다.",
        ),
    ],
)
def test_what_is_excepted_from_a_denial_is_paid(summary: str, source: str) -> None:
    assert opposites(summary, source) == []


def test_a_contradiction_is_measured_where_no_text_has_a_figure() -> None:
    accuracy = score("수술비는 지급되지 않음", ["수술비는 지급합니다."])["summary_accuracy"]
    assert (accuracy.score, accuracy.measured) == (0.0, True)
