"""Episodes by hand: the structure of a text, what is retrieved for it, and how much of that a prompt holds."""

import json
from typing import Any

import pytest

from evaltools.suites.cr.inference.protocol import LETTERS, Episode, as_text, retrieved, shape

TEXT = "보습은 좋지만 향이 안 좋아요"  # Korean, short, with a negation and a contrast


def episode(
    source: str, language: str = "ko", negation: bool = True, contrast: bool = True, **more: Any
) -> Episode:
    fields = {
        "source": source,
        "language": language,
        "negation": negation,
        "contrast": contrast,
        "length": "short",
    }
    return Episode(**fields | more)


def sources(*episodes: Episode) -> list[str]:
    return [e.source for e in retrieved(episodes, TEXT)]


@pytest.mark.parametrize(
    ("text", "language", "negation", "contrast", "length"),
    [
        (TEXT, "ko", True, True, "short"),
        ("가" * 30, "ko", False, False, "short"),
        ("가" * 31, "ko", False, False, "medium"),
        ("가" * 79, "ko", False, False, "medium"),
        ("가" * 80, "ko", False, False, "long"),
        ("향이 없어요", "ko", True, False, "short"),
        ("안경이 예뻐요", "ko", False, False, "short"),  # 안 begins a word, it is none
        ("The smell is not good but the price is.", "en", True, True, "medium"),
        ("A button, nothing more.", "en", False, False, "short"),
        ("不贵，但是味道大", "zh", True, True, "short"),
    ],
)
def test_the_structure_of_a_text(
    text: str, language: str, negation: bool, contrast: bool, length: str
) -> None:
    assert shape(text) == {
        "language": language,
        "negation": negation,
        "contrast": contrast,
        "length": length,
    }


def test_most_shared_first_then_the_latest_and_three_at_most() -> None:
    whole = [episode(f"whole{i}") for i in range(5)]
    assert sources(*whole) == ["whole4", "whole3", "whole2"]
    half = episode("half", contrast=False)
    third = episode("third", contrast=False, length="long")
    assert sources(whole[0], half, third) == ["whole0", "half", "third"]
    assert sources(third, half) == ["half", "third"]


def test_another_language_and_another_structure_are_not_retrieved() -> None:
    assert sources(episode("en", language="en")) == []
    assert sources(episode("none", negation=False, contrast=False, length="long")) == []
    assert sources() == []


def test_a_prompt_holds_whole_episodes_up_to_its_letters_and_no_source() -> None:
    lines = as_text([episode("secret"), episode("other")]).splitlines()
    assert [json.loads(line)["language"] for line in lines] == ["ko", "ko"]
    assert "secret" not in as_text([episode("secret")])
    long = episode("a", stage1={"가" * 500: []})
    assert as_text([long, long]) == as_text([long]) and len(as_text([long])) > 500
    assert as_text([episode("a", stage1={"가" * LETTERS: []})]) == ""
