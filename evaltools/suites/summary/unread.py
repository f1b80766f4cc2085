"""Figures that are part of no value: those of a summary are compared with nothing, those of a source lend support.

Source: specification D20.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from .entities import ReadText

_FIGURE = re.compile(
    r"(?P<mark>(?m:^)(?:[^\S\n]|[(\[])*\d{1,2}[.)\]](?!\d))|\d(?:[\d,.:/-]*\d)?[^\W\d_]{0,8}"
)
"""A figure with the word at its end; `mark`: the number of an item of a list, which is none."""

_DIGITS = re.compile(r"\d(?:[\d,.:/-]*\d)?")

PARTICLES = "으로|로|은|는|이|을|를|의|과|와|에|만|이며|이고|고|이에요|예요|이세요|이시고|입니다"
"""What may stand behind a figure and is no part of it."""

_IN_KOREAN = {"kg": "킬로|키로", "km": "킬로|키로", "cm": "센티|센치", "mm": "밀리", "l": "리터"}
"""Units in Latin letters -> the same as speech has them."""

_LATIN = re.compile("[a-zA-Z]+")
_WITH_PARTICLE = re.compile(rf"[0-9][0-9,.]+(?:{PARTICLES})")


def bare_figures(read: ReadText) -> Iterator[re.Match[str]]:
    """The figures of a text that begin in none of its values, in order, with the word at their end."""
    for figure in outside_values(_FIGURE, read):
        if not figure["mark"]:
            yield figure


def outside_values(pattern: re.Pattern[str], read: ReadText) -> Iterator[re.Match[str]]:
    """The matches in a text that begin in none of its values, in order."""
    inside: set[int] = set()
    for entity in read.entities:
        inside.update(range(entity.start, entity.end))
    for match in pattern.finditer(read.raw):
        if match.start() not in inside:
            yield match


def unread_figures(summary: ReadText, contexts: Sequence[str]) -> tuple[str, ...]:
    """The figures of a summary that are read as no value and stand in no context as they are written."""
    unread = []
    for figure in bare_figures(summary):
        if not _stands_as_written(summary.raw, figure, contexts):
            unread.append(figure[0])
    return tuple(unread)


def _stands_as_written(
    answer: str,
    figure: re.Match[str],
    contexts: Sequence[str],
) -> bool:
    """Whether a context has the digits of a figure with the letter before or behind them."""
    start = figure.start()
    digits = _DIGITS.match(answer, start)
    assert digits is not None
    before = answer[max(start - 1, 0) : start]
    behind = answer[digits.end() : digits.end() + 1]
    with_letter = []
    if before.isalpha():
        with_letter.append(rf"{re.escape(before)}{re.escape(digits[0])}(?![0-9])")
    if behind.isalpha() and not _WITH_PARTICLE.fullmatch(figure[0]):
        with_letter.append(rf"(?<![0-9]){re.escape(digits[0])}{re.escape(behind)}")
    unit = _LATIN.match(answer, digits.end())
    spoken = _IN_KOREAN.get(unit[0].lower()) if unit else None
    if spoken:
        with_letter.append(rf"(?<![0-9.]){re.escape(digits[0])}\s?(?:{spoken})")
    if not with_letter:
        with_letter.append(rf"(?<![0-9]){re.escape(digits[0])}(?![0-9])")
    pattern = re.compile("|".join(with_letter))
    return any(pattern.search(context) for context in contexts)
