"""What real summaries write, in some 900 own cases: the default rules give the score of a careful reader.

A line of the data file is a summary with its contexts or tags, and the score expected of one metric.
"""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import Any

from evaltools.suites.summary.rules import load_rules
from evaltools.suites.summary.schema import split_tags
from evaltools.suites.summary.scoring import score_case

RULES = load_rules("ko-insurance")
DATA = Path(__file__).parents[2] / "data" / "summary_variations.jsonl"
CASES: list[dict[str, Any]] = [
    json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()
]


def score(case: dict[str, Any], answer: str | None = None) -> float:
    found = score_case(
        answer or case["answer"], case.get("contexts", []), split_tags(case.get("tags")), RULES
    )
    return found.scores[case["metric"]].score


def test_variations() -> None:
    scores = [score(case) for case in CASES]
    wrong = [(case, s) for case, s in zip(CASES, scores) if s != case["expected"]]
    assert wrong == []


def test_decomposed_and_composed_text_score_the_same() -> None:
    wrong = []
    for case in CASES:
        if case["metric"] == "summary_needs_followup":
            continue
        answer = unicodedata.normalize("NFD", case["answer"])
        if score(case, answer) != case["expected"]:
            wrong.append(case)
    assert wrong == []


def test_full_width_digits_and_signs_score_the_same() -> None:
    wide = {ord(c): chr(ord(c) + 0xFEE0) for c in "0123456789%,.$"}
    wrong = []
    for case in CASES:
        if case["metric"] != "summary_accuracy":
            continue
        if score(case, case["answer"].translate(wide)) != case["expected"]:
            wrong.append(case)
    assert wrong == []
