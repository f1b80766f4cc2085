"""Classes of language: the default rules read each as a careful reader does.

tests/data/summary_language.toml holds them as grids of form and words; summary_blind.jsonl holds mixed cases, written
before the rules.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evaltools.suites.summary.rules import load_rules
from evaltools.suites.summary.schema import split_tags
from evaltools.suites.summary.scoring import CaseScores, score_case

RULES = load_rules("ko-insurance")
DATA = Path(__file__).parents[2] / "data"
GRIDS = tomllib.loads((DATA / "summary_language.toml").read_text(encoding="utf-8"))
TAGS = sorted({grid["expected"] for grid in GRIDS["covers"]} - {""})
CONTEXT = "진단비 30만원, 사고는 2월 28일"


def scored(answer: str, *contexts: str, tags: Any = ()) -> CaseScores:
    return score_case(answer, contexts, split_tags([*tags]), RULES)


def follow_up(answer: str) -> bool:
    return bool(scored(answer, tags=["needs_followup"]).scores["summary_needs_followup"].score)


def promise(answer: str) -> bool:
    return not scored(answer).scores["summary_non_definitive"].score


def values(answer: str) -> list[str]:
    evidence = scored(answer, "1원").scores["summary_accuracy"].evidence
    return [e["value"] for e in evidence.get("unsupported", [])]


def unread(answer: str) -> bool:
    """Whether a figure is listed as unread, and takes no part in the ratio."""
    found = scored(answer, CONTEXT)
    return bool(found.unread_figures) and found.scores["summary_accuracy"].score == 1.0


def covers(answer: str, tag: str) -> bool:
    return bool(scored(answer, tags=[tag]).scores["summary_risk_coverage"].score)


READERS: dict[str, Callable[[str], Any]] = {
    "follow_up": follow_up, "promise": promise, "values": values, "unread": unread,
}  # fmt: skip


def sentences(kind: str) -> list[Any]:
    return [
        pytest.param(
            form.format(words), grid["expected"], id=f"{grid['about']}-{form.format(words)}"
        )
        for grid in GRIDS[kind]
        for form in grid["forms"]
        for words in grid["words"]
    ]


@pytest.mark.parametrize(("kind", "answer", "expected"), [
    pytest.param(kind, *case.values, id=f"{kind}-{case.id}") for kind in READERS for case in sentences(kind)
])  # fmt: skip
def test_a_sentence_is_read_as_meant(kind: str, answer: str, expected: Any) -> None:
    assert READERS[kind](answer) == expected


@pytest.mark.parametrize(("answer", "tag"), sentences("covers"))
def test_a_risk_item_is_seen_in_the_words_of_people(answer: str, tag: str) -> None:
    found = [t for t in TAGS if covers(answer, t)]
    assert tag in found if tag else not found


@pytest.mark.parametrize(
    "case", GRIDS["support"], ids=lambda case: f"{case['summary']}-{case['context']}"
)
def test_a_value_in_two_notations(case: dict[str, Any]) -> None:
    assert (
        scored(case["summary"], case["context"]).scores["summary_accuracy"].score
        == case["expected"]
    )


def test_the_mixed_corpus_is_read_right_in_all_but_few_cases() -> None:
    cases = [
        json.loads(line)
        for line in (DATA / "summary_blind.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    wrong = []
    for case in cases:
        found = scored(case["answer"], *case.get("contexts", []), tags=case.get("tags", ()))
        got = found.scores[case["metric"]].score
        low, high = (
            case["expected"] if isinstance(case["expected"], list) else (case["expected"],) * 2
        )
        if not low - 1e-3 <= got <= high + 1e-3:
            wrong.append((case["answer"], got))
    assert len(cases) >= 60 and len(wrong) <= 0.02 * len(cases), wrong


@pytest.mark.parametrize("grid", GRIDS["matrix"], ids=lambda grid: grid["about"])
def test_every_form_with_every_word_is_read_right_but_for_few(grid: dict[str, Any]) -> None:
    metric = f"summary_{grid['metric']}"
    tags = [] if metric == "summary_non_definitive" else [grid["metric"]]
    metric = metric if metric in RULES.thresholds else "summary_risk_coverage"
    answers = [form.format(word) for form in grid["forms"] for word in grid["words"]]
    wrong = [
        answer
        for answer in answers
        if scored(answer, tags=tags).scores[metric].score != grid["score"]
    ]
    assert len(answers) >= 20 and len(wrong) <= 0.03 * len(answers), wrong
