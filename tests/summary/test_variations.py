"""What real summaries write, in some 800 own cases: the default rules give the score of a careful reader."""

from __future__ import annotations

import unicodedata
from typing import Any

import pytest

from evaltools.summary.rules import load_rules
from evaltools.summary.schema import split_tags
from evaltools.summary.score import score_case

from . import variations

RULES = load_rules("ko-insurance")


def score(metric: str, answer: str, contexts: list[str], tags: Any = None) -> float:
    return score_case(answer, contexts, split_tags(tags), RULES).verdicts[metric].score


@pytest.mark.parametrize(("answer", "context", "expected"), variations.ACCURACY)
def test_accuracy(answer: str, context: str, expected: float) -> None:
    assert score("summary_accuracy", answer, [context]) == pytest.approx(expected)


@pytest.mark.parametrize(("answer", "tags", "expected"), variations.COVERAGE)
def test_risk_coverage(answer: str, tags: Any, expected: float) -> None:
    assert score("summary_risk_coverage", answer, [], tags) == pytest.approx(expected)


@pytest.mark.parametrize(("answer", "expected"), variations.NON_DEFINITIVE)
def test_non_definitive(answer: str, expected: float) -> None:
    assert score("summary_non_definitive", answer, []) == expected


@pytest.mark.parametrize(("answer", "tags", "expected"), variations.FOLLOWUP)
def test_needs_followup(answer: str, tags: Any, expected: float) -> None:
    assert score("summary_needs_followup", answer, [], tags) == expected


@pytest.mark.parametrize(("answer", "contexts", "expected"), variations.RECALL)
def test_entity_recall(answer: str, contexts: list[str], expected: float) -> None:
    assert score("entity_recall", answer, contexts) == pytest.approx(expected)


def test_decomposed_and_composed_text_score_the_same() -> None:
    def nfd(text: str) -> str:
        return unicodedata.normalize("NFD", text)

    for answer, context, expected in variations.ACCURACY:
        assert score("summary_accuracy", nfd(answer), [context]) == pytest.approx(expected), answer
    for answer, expected in variations.NON_DEFINITIVE:
        assert score("summary_non_definitive", nfd(answer), []) == expected, answer
    for answer, tags, expected in variations.COVERAGE:
        assert score("summary_risk_coverage", nfd(answer), [], tags) == pytest.approx(expected), answer


def test_full_width_digits_and_signs_score_the_same() -> None:
    wide = {ord(c): chr(ord(c) + 0xFEE0) for c in "0123456789%,.$"}
    for answer, context, expected in variations.ACCURACY:
        assert score("summary_accuracy", answer.translate(wide), [context]) == pytest.approx(expected), answer
