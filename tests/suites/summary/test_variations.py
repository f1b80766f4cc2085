"""What real summaries write, in some 900 own cases: the default rules give the score of a careful reader.

A line of the data file is a summary with its contexts or tags, and the score expected of one metric.
"""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest

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


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['metric']}-{case['answer'][:30]}")
def test_variation(case: dict[str, Any]) -> None:
    assert score(case) == case["expected"]


def test_decomposed_and_composed_text_score_the_same() -> None:
    for case in CASES:
        if case["metric"] in (
            "summary_accuracy",
            "summary_non_definitive",
            "summary_risk_coverage",
        ):
            assert score(case, unicodedata.normalize("NFD", case["answer"])) == pytest.approx(
                case["expected"]
            ), case


def test_full_width_digits_and_signs_score_the_same() -> None:
    wide = {ord(c): chr(ord(c) + 0xFEE0) for c in "0123456789%,.$"}
    for case in CASES:
        if case["metric"] == "summary_accuracy":
            assert score(case, case["answer"].translate(wide)) == pytest.approx(case["expected"]), (
                case
            )
