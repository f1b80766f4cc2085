"""Aspect filtering: the worked examples of seed cr_hallucination_rate."""

import unicodedata
from pathlib import Path

import pytest

from evaltools import evaluate
from evaltools.suites.cr.read import CrOptions
from evaltools.suites.cr.sample import drop_reason
from evaltools.suites.cr.schema import Aspect
from tests.files import write_lines
from tests.suites.cr.cards import output, run, scorecard

TEXT = "배송은 빠른데 앱이 자꾸 꺼져요 ㅋㅋ 뷰는 좋아요"


def aspect(term: str, start: int, end: int) -> Aspect:
    return Aspect.model_validate({"term": term, "span": {"start": start, "end": end}})


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (aspect("배송", 0, 2), None),  # the text under [0, 2) is 배송, two characters, no stop term
        (aspect("앱", 8, 9), None),  # one character, but on the allowlist
        (aspect("배송", 1, 3), "span_mismatch"),  # the text has 배송, the span holds 송은
        (aspect("포장", 0, 2), "out_of_text"),  # 포장 is nowhere in the text
        (aspect("ㅋㅋ", 18, 20), "invalid_target"),  # rightly placed, but a stop term
        (aspect("꺼", 14, 15), "invalid_target"),  # rightly placed, but one character
        (Aspect(term="배송"), "span_mismatch"),  # no span at all
        (aspect("배송", -2, 2), "span_mismatch"),
    ],
)
def test_why_an_aspect_is_dropped(found: Aspect, reason: str | None) -> None:
    assert drop_reason(TEXT, found, CrOptions()) == reason
    assert drop_reason(TEXT, aspect("ㅋㅋ", 18, 20), CrOptions(allowlist=("ㅋㅋ",))) is None


def test_a_span_is_taken_in_the_text_as_it_came() -> None:
    # decomposed, a syllable is two or three characters, and 배송 no longer stands under [0, 2)
    text = unicodedata.normalize("NFD", TEXT)
    length = len(unicodedata.normalize("NFD", "배송"))
    assert drop_reason(text, aspect("배송", 0, length), CrOptions()) is None
    assert drop_reason(text, aspect(text[:length], 0, length), CrOptions()) is None
    # counted in the composed text, the span holds something else
    assert drop_reason(text, aspect("배송", 0, 2), CrOptions()) == "span_mismatch"
    # the term alone decomposed
    assert drop_reason(TEXT, aspect(text[:length], 0, 2), CrOptions()) is None


def test_rates_count_samples_and_split_by_reason(tmp_path: Path) -> None:
    # sample a: one kept, one out of text; b: span mismatch and invalid target; c: nothing dropped
    # aspect_hallucination_rate = 2/3, each of the three reasons 1/3
    aspects = {
        "a": [("배송", 0, 2), ("포장", 0, 2)],
        "b": [("배송", 1, 3), ("ㅋㅋ", 18, 20)],
        "c": [("배송", 0, 2)],
    }
    rows = [
        output(
            i,
            TEXT,
            stage1_ate={
                "aspects": [{"term": t, "span": {"start": s, "end": e}} for t, s, e in found]
            },
        )
        for i, found in aspects.items()
    ]
    result = evaluate("cr", run(tmp_path / "r", rows))
    assert result.value("aspect_hallucination_rate") == pytest.approx(2 / 3)
    for reason in ("out_of_text", "span_mismatch", "invalid_target"):
        assert result.value(f"hallucination_{reason}_rate") == pytest.approx(1 / 3)


def test_either_source_of_section_2_counts(tmp_path: Path) -> None:
    """A stored reason counts where it is one of ours."""
    reasons = ("other_not_target", "span_mismatch")
    dropped = {"term": "포장", "span": {"start": 0, "end": 2}, "action": "drop"}
    filtered = [{**dropped, "drop_reason": reason} for reason in reasons]
    found = [
        {"ate": {"hallucination_flag": True}},
        {"ate_score": {"hallucination_flag": True}},
        {"inputs": {"ate_debug": {"filtered": filtered}}},
        {"inputs": {"ate_debug": {"filtered": []}}},
    ]
    cards = [{"meta": {"text_id": i, "input_text": TEXT}, **card} for i, card in zip("abcd", found)]
    result = evaluate("cr", write_lines(tmp_path / "r" / "scorecards.jsonl", cards))
    assert result.value("aspect_hallucination_rate") == 3 / 4
    for reason in ("out_of_text", "span_mismatch"):
        assert result.value(f"hallucination_{reason}_rate") == 1 / 4
    without = evaluate("cr", write_lines(tmp_path / "n" / "scorecards.jsonl", cards[3:]))
    found = [run["aspect_hallucination_rate"]["blocked"] for run in (result, without)]
    assert found == [None, "no-ate"]


def test_scorecard_carries_what_was_filtered_and_what_it_was_before() -> None:
    found = {"term": "포장", "span": {"start": 0, "end": 2}}
    card = scorecard(output("a", TEXT, stage1_ate={"aspects": [found]}))
    assert card["ate"]["hallucination_flag"] is True
    assert card["inputs"]["ate_debug"]["dropped_terms"] == ["포장"]
    assert scorecard(output("a", TEXT))["ate"] == {"hallucination_flag": False}
    assert card["inputs"]["ate_debug"]["raw"] == [found]
    assert card["inputs"]["ate_debug"]["filtered"] == [
        {**found, "action": "drop", "drop_reason": "out_of_text"}
    ]
