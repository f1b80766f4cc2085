"""Figures that are part of no value: those of a summary are compared with nothing, those of a source lend support.

Source: specification D20.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from .entities import Entity, ReadText
from .numerals import NATIVE, hangul_value
from .text import any_of

_FIGURE = re.compile(
    r"(?P<mark>(?m:^)(?:[^\S\n]|[(\[])*\d{1,2}[.)\]](?!\d))|(?P<digits>\d(?:[\d,.:/-]*\d)?천?)"
    r"(?P<word>(?:\s?[a-zA-Z㎡]{1,5}|[가-힣]{1,2}?)(?=[을를이가]?\s?(?:이상|초과|이하|미만|이내))"
    r"|[^\W\d_]{0,8})"
)
"""A figure with the word at its end; `mark`: the number of an item of a list, which is none."""

PARTICLES = (
    "으로|로|은|는|이|을|를|의|과|와|에|만|이면|이라|이라고|까지|정도|"
    "이며|이고|고|이에요|예요|이세요|이시고|입니다"
)
"""What may stand behind a figure and is no part of it."""

FEWEST_YEARS = 20
"""The first age that is told by its numeral alone; smaller ones count things."""

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_ONLY_PARTICLE = re.compile(rf"(?:{PARTICLES})?")

_SPOKEN = re.compile(
    rf"(?<![가-힣0-9])([일이삼사오육칠팔구]?[천백십](?:[일이삼사오육칠팔구]?[백십])*[일이삼사오육칠팔구]?)"
    rf"(?:{PARTICLES}|이(?:고요|네요|요|었고|었어요|었는데)?|인데요?)?(?![가-힣])"
)
"""Tens, hundreds and thousands in Hangul without a unit: 사백오십 들었어요."""


_STANDING_ALONE = {"한": "하나", "두": "둘", "세": "셋", "네": "넷"}
"""Numerals before a noun -> without one."""

_AGES = {
    word[:-1] + _STANDING_ALONE.get(word[-1], word[-1]): value
    for word, value in NATIVE.items()
    if value >= FEWEST_YEARS
}

_AGE = re.compile(
    rf"(?<![가-힣])({any_of(_AGES)})"
    r"(?:예요|요|입니다|인데|이(?=[가-힣]))"
)
"""A numeral in words that ends a sentence without a unit, as an age does: 스물여섯이에요."""


def bare_figures(raw: str, entities: Iterable[Entity]) -> Iterator[Entity]:
    """The figures of a text that begin in none of its values, in order, with the word at their end."""
    inside: set[int] = set()
    for entity in entities:
        inside.update(range(entity.start, entity.end))
    for match in _FIGURE.finditer(raw):
        start, end = match.span()
        if start not in inside and not match["mark"]:
            word = match["word"]
            is_bare = _ONLY_PARTICLE.fullmatch(word)
            base = "" if is_bare else word.strip()
            yield Entity("figure", base, match["digits"], match[0], start, end)
    for match in _SPOKEN.finditer(raw):
        start, end = match.span(1)
        value = hangul_value(match[1])
        if start not in inside and value is not None:
            yield Entity("figure", "", str(value), match[1], start, end)
    for match in _AGE.finditer(raw):
        start, end = match.span(1)
        value = _AGES[match[1]]
        yield Entity("figure", "", str(value), match[1], start, end)


def unread_figures(summary: ReadText, sources: Sequence[ReadText]) -> tuple[str, ...]:
    """The figures of a summary that are read as no value, and of which a number stands in no source."""
    known = {figure.value for source in sources for figure in source.figures}
    for source in sources:
        known.update(month_and_day(date, ".") for date in source.entities if date.kind == "date")
        known.update(_numbers(source.text.norm))
    unread = []
    for figure in summary.figures:
        is_spoken = not figure.text[0].isdigit()
        is_no_date = figure.base.startswith(("년", "월", "일"))  # 2월 30일
        is_said = any(figure.text in source.raw for source in sources)
        numbers = _numbers(figure.value)
        if not is_spoken and not (is_said if is_no_date else known.issuperset(numbers)):
            unread.append(figure.text)
    return tuple(unread)


def month_and_day(date: Entity, sign: str) -> str:
    """A date without its year, as figures write it: 2.11 of 2026-02-11."""
    return date.value[-5:].lstrip("0").replace("-0", "-").replace("-", sign)


def _numbers(text: str) -> list[str]:
    return [number.replace(",", "") for number in _NUMBER.findall(text)]
