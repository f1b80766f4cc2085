"""Reading a summary takes time in proportion to its length, whatever it is made of."""

from __future__ import annotations

import time

import pytest

import evaltools as et
from evaltools.suites.summary.rules import load_rules
from evaltools.suites.summary.scoring import score_case

RULES = load_rules("ko-insurance")

REPEATED = {
    "blank lines": "\n",
    "blanks": " ",
    "open brackets": "(",
    "lines of brackets": "\n(",
    "combining marks that alternate": "\u0301\u0323",
    "combining marks": "\u0301",
    "open quotes": "‘",
    "vowels of Hangul": "\u1161",
    "invisible characters": "\u200b\u0301",
    "digits": "1",
    "groups of digits": "1,000,",
    "scales": "만",
    "numerals": "이천",
    "months": "1월",
    "ranges": "1~",
    "promises": "무조건 ",
    "follow-ups": "확인 ",
    "points": ".1",
    "days": "6월 1일, 27일까지 내일 ",
}


def seconds(text: str) -> float:
    """The least time of two, of this process alone."""
    times = []
    for _ in range(2):
        begun = time.process_time()
        score_case(text, ["90일", text], ["exclusion"], RULES)
        times.append(time.process_time() - begun)
    return min(times)


def test_eight_times_the_text_takes_no_twentyfold_time() -> None:
    slow = {}
    for name, part in REPEATED.items():
        text = "가" + part * 8_000
        ratio = seconds(text[:8_000]) / (seconds(text[:1_000]) + 0.001)
        if ratio > 20:  # linear is 8, quadratic 64
            slow[name] = ratio
    assert slow == {}


@pytest.mark.parametrize("text", ["삼\n만주", "만 일부", "만\n일 부담", "오백만\n 원"])
def test_numerals_broken_by_a_line_or_a_blank_are_read(text: str) -> None:
    assert et.summary.score(text, [text])["summary_accuracy"].score in (0.0, 0.5, 1.0)


def test_marks_that_alternate_are_composed_as_far_as_a_language_needs() -> None:
    vietnamese = "Tie\u0302\u0301ng Vie\u0323\u0302t 100% 면책"
    scores = et.summary.score(vietnamese, ["100%, 면책"])
    assert scores["summary_accuracy"].score == 1.0
