"""Whether a sentence tells a risk item or only names it: a limit its sum, documents that they are asked for."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from evaltools.suites.summary.rules import load_rules
from evaltools.suites.summary.scoring import score_case

RULES = load_rules("ko-insurance")
DATA = Path(__file__).parents[2] / "data" / "summary_tag_sentences.toml"
SENTENCES = tomllib.loads(DATA.read_text(encoding="utf-8"))


def is_told(sentence: str, tag: str) -> bool:
    coverage = score_case(sentence, [], [tag], RULES).scores["summary_risk_coverage"]
    return coverage.score == 1 and "look" not in coverage.evidence


@pytest.mark.parametrize("tag", SENTENCES)
def test_what_tells_an_item_covers_its_tag_and_what_only_names_it_does_not(tag: str) -> None:
    missed = [text for text in SENTENCES[tag]["told"] if not is_told(text, tag)]
    wrong = [text for text in SENTENCES[tag]["named"] if is_told(text, tag)]
    assert (missed, wrong) == ([], [])


def test_an_item_that_was_told_without_its_content_covers_and_is_looked_at() -> None:
    coverage = score_case("한도를 안내함", [], ["limit"], RULES).scores["summary_risk_coverage"]
    assert coverage.score == 1.0
    (point,) = coverage.evidence["look"]
    assert (point["tag"], point["text"]) == ("limit", "한도")
