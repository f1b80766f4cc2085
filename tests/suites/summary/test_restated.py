"""Values told roughly, or one step away from the source's (D33), and figures compared as they are written."""

from __future__ import annotations

import pytest

from evaltools.suites.summary.scoring import score


def accuracy(summary: str, source: str) -> tuple[float, bool]:
    """The score, and whether something is to be looked at."""
    found = score(summary, [source])["summary_accuracy"]
    return found.score, "look" in found.evidence


@pytest.mark.parametrize(
    ("summary", "source", "expected"),
    [
        ("환급금 약 3천만원", "환급금 29,870,000원", 1.0),  # to ten millions: 30,000,000
        ("환급금 3천만원 정도", "환급금 29,870,000원", 1.0),
        ("환급금 3천만원", "환급금 29,870,000원", 0.0),  # no approximation
        ("환급금 약 2,900만원", "환급금 29,870,000원", 0.0),  # to millions it is 30,000,000
        ("약 60% 인하", "59.7% 인하", 1.0),
        ("약 60% 인하", "57% 인하", 0.0),
        ("약 3주 소요", "20일 소요", 1.0),  # 2.86 weeks
        ("약 3주 소요", "17일 소요", 0.0),
    ],
)
def test_an_approximation_is_supported_by_what_rounds_to_it(
    summary: str, source: str, expected: float
) -> None:
    assert accuracy(summary, source) == (expected, False)


@pytest.mark.parametrize(
    ("summary", "source", "is_one_step"),
    [
        ("80% 보상", "자기부담 20%", True),
        ("70% 보상", "자기부담 20%", False),
        ("여섯 달 이내", "180일 이내", True),
        ("1년 이내", "365일 이내", True),
        ("1개월 이내", "31일 이내", False),
        ("90일 이내", "6개월 이내", False),
    ],
)
def test_what_follows_by_one_step_is_looked_at_and_not_wrong(
    summary: str, source: str, is_one_step: bool
) -> None:
    assert accuracy(summary, source) == ((1.0, True) if is_one_step else (0.0, False))


@pytest.mark.parametrize(
    ("summary", "source", "unread"),
    [
        ("정규 18홀에서 200만원", "정규 18홀, 200만원", []),
        ("정규 9홀에서 200만원", "정규 18홀, 200만원", ["9홀에서"]),
        ("대인2와 2억원", "대인2, 2억원", []),
        ("대인1과 2억원", "대인2, 2억원", ["1과"]),
        ("F51 제외, 20만원", "불면증(F51) 제외, 20만원", []),
    ],
)
def test_a_figure_that_is_no_value_is_compared_by_its_number(
    summary: str, source: str, unread: list[str]
) -> None:
    assert score(summary, [source])["summary_accuracy"].evidence.get("unread", []) == unread


def test_a_share_of_a_sum_and_a_difference_of_two_are_one_step_away() -> None:
    halved = "1년 미만에 진단되면 가입금액 3,000만원의 50%를 지급합니다."
    assert accuracy("1년 안에는 1,500만원", halved) == (1.0, True)  # 3,000만 x 50%
    assert accuracy("1년 안에는 1,600만원", halved)[0] < 1
    two = "일반암은 A사 4,000만원, B사 5,000만원입니다."
    assert accuracy("일반암은 B사가 1천만원 더 많음", two) == (1.0, True)  # 5,000만 - 4,000만
    assert accuracy("일반암 진단비 1천만원", two)[0] < 1  # no word of a difference


@pytest.mark.parametrize(
    ("summary", "source", "supported"),
    [
        ("181일째 되는 날부터 보장", "180일이 지난 날의 다음 날부터 보장", True),
        ("3일 초과 입원 시 지급", "4일째부터 지급", True),
        ("65세까지 가입", "66세 이상은 가입 불가", True),
        ("182일째 되는 날부터 보장", "180일이 지난 날의 다음 날부터 보장", False),
        ("64세까지 가입", "65세까지 가입", False),
    ],
)
def test_the_next_whole_number_under_the_opposite_bound_is_looked_at(
    summary: str, source: str, supported: bool
) -> None:
    accuracy = score(summary, [source])["summary_accuracy"]
    assert (accuracy.score == 1.0) is supported
    assert ("look" in accuracy.evidence) is supported
