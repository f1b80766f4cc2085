"""Figures that are part of no value: those of a summary are compared with nothing, those of a source lend support.

Source: specification D20.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from .entities import Entity, ReadText
from .numerals import hangul_value

_FIGURE = re.compile(
    r"(?P<mark>(?m:^)(?:[^\S\n]|[(\[])*\d{1,2}[.)\]](?!\d))|(?P<digits>\d(?:[\d,.:/-]*\d)?천?)"
    r"(?P<word>(?:\s?[a-zA-Z㎡]{1,5}|[가-힣]{1,2}?)(?=[을를이가]?\s?(?:이상|초과|이하|미만|이내))"
    r"|[^\W\d_]{0,8})"
)
"""A figure with the word at its end; `mark`: the number of an item of a list, which is none."""

PARTICLES = "으로|로|은|는|이|을|를|의|과|와|에|만|이며|이고|고|이에요|예요|이세요|이시고|입니다"
"""What may stand behind a figure and is no part of it."""

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_ONLY_PARTICLE = re.compile(rf"(?:{PARTICLES})?")

_SPOKEN = re.compile(
    rf"(?<![가-힣0-9])([일이삼사오육칠팔구]?[천백십](?:[일이삼사오육칠팔구]?[백십])*[일이삼사오육칠팔구]?)"
    rf"(?:{PARTICLES}|이(?:고요|네요|요|었고|었어요|었는데)?|인데요?)?(?![가-힣])"
)
"""Tens, hundreds and thousands in Hangul without a unit: 사백오십 들었어요."""


def bare_figures(raw: str, entities: Iterable[Entity]) -> Iterator[Entity]:
    """The figures of a text that begin in none of its values, in order, with the word at their end."""
    inside: set[int] = set()
    for entity in entities:
        inside.update(range(entity.start, entity.end))
    for match in _FIGURE.finditer(raw):
        start, end = match.span()
        if start not in inside and not match["mark"]:
            base = "" if _ONLY_PARTICLE.fullmatch(match["word"]) else match["word"].strip()
            yield Entity("figure", base, match["digits"], match[0], start, end)
    for match in _SPOKEN.finditer(raw):
        start, end = match.span(1)
        value = hangul_value(match[1])
        if start not in inside and value is not None:
            yield Entity("figure", "", str(value), match[1], start, end)


def unread_figures(summary: ReadText, sources: Sequence[ReadText]) -> tuple[str, ...]:
    """The figures of a summary that are read as no value, and of which a number stands in no source."""
    known = {figure.value for source in sources for figure in source.figures}
    for source in sources:
        known.update(_numbers(source.text.norm))
    unread = []
    for figure in summary.figures:
        is_spoken = not figure.text[0].isdigit()
        is_no_date = figure.base.startswith(("년", "월", "일"))  # 2월 30일
        if not is_spoken and (is_no_date or not known.issuperset(_numbers(figure.value))):
            unread.append(figure.text)
    return tuple(unread)


def _numbers(text: str) -> list[str]:
    return [number.replace(",", "") for number in _NUMBER.findall(text)]
