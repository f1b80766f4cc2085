"""Figures and condition words of a text, as values that compare equal however they are written.

    text --normalise--> dates, times, quantities, fixed expressions, condition words --> entities

The text is passed over from left to right and every reader looks ahead a bounded distance, so the
time is linear in its length. Source: specification D16; the words come from the rule file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from . import numerals
from .clock import CLOCK, clock_values
from .compiled import CompiledRules, ValueWords
from .dates import DATE, date_values, days_alone, last_day, with_years
from .numerals import written
from .phrases import find_outside
from .quantities import QuantityReader
from .text import Text, any_of, normalise
from .unit_words import AROUND, UnitWords

PROPER = "(?:1/[2-9]|2/[3-9]|3/[4-9]|4/[5-9]|5/[6-9]|6/[7-9]|7/[89]|8/9)"
"""A share of one digit; 6/3 is a day."""


@dataclass(frozen=True, slots=True)
class Entity:
    """Something that a summary may get wrong.

    kind: amount, percent, duration, age, count, date, condition, document, or what the rule file
    names. base: unit of the value (KRW, %, month, ...). value: normalised. text, start, end: as in
    the original. support_only: it may support an entity of the other text, but is not itself one to
    be supported (월 15만원 supports "1개월", but says no duration).
    """

    kind: str
    base: str
    value: str
    text: str
    start: int
    end: int
    support_only: bool = False

    @property
    def key(self) -> str:
        """Equal for entities of the same value."""
        return f"{self.kind}:{self.base}:{self.value}"

    @property
    def shown(self) -> str:
        """The normalised value for a reader."""
        return f"{self.value} {self.base}".strip()


@dataclass(frozen=True, slots=True)
class ReadText:
    """A text as it came and in normal form, with its values, and the figures that are part of none."""

    raw: str
    text: Text
    entities: Sequence[Entity]
    figures: Sequence[Entity] = ()


def _beginning(words: UnitWords) -> re.Pattern[str]:
    """How anything begins that may be a value; of several sorts the first counts."""
    native, hangul = any_of(numerals.NATIVE), numerals.HANGUL
    unit, after = words.hangul, words.after
    sorts = (
        # 3분의 1, 3분의 1/2
        r"(?P<fraction>(?<![0-9])(?P<parts>[0-9]{1,3})\s?분의\s?(?P<share>[0-9]{1,3})"
        rf"|(?:(?<=의\s)|(?<![0-9./])(?={PROPER}\s?(?:만|을|를|로|지급)(?![0-9])))"
        r"(?P<share2>[0-9])/(?P<parts2>[1-9][0-9]?)(?![0-9/]))",
        f"(?P<clock>{CLOCK})",
        f"(?P<date>{DATE})",
        # 7:3, 8대 2; 상대 80, 고객 20
        r"(?P<ratio>(?<![0-9.,:])(?P<one>[0-9]{1,2})"
        r"(?:\s?(?::|대)\s?|(?<=[0-9]{2}),?\s[가-힣]{1,6}\s(?=[0-9]{2}))(?P<other>[0-9]{1,2})(?![0-9:%]))",
        # a figure, behind the sign that may stand before it ($)
        rf"(?P<figure>(?:(?<![a-z])(?:{words.prefix})\s?)?)(?=[0-9])",
        # 두 달, 두달
        rf"(?<![가-힣])(?P<native>{native})"
        rf"(?:\s(?={unit})|(?=(?:{AROUND['joined']})(?:(?![가-힣])|{after})))",
        # 삼천만원, 일억 이천만원, 오만 팔천 팔백원
        r"(?<![가-힣0-9])(?:일금|금|약|총|최대|최고|각)?"
        rf"(?P<hangul>[{hangul}]{{1,24}}(?:(?:(?<=[천만억조])\s|\s(?=[만억]))[{hangul}]{{1,16}}){{0,2}})",
        rf"(?<![a-z])(?<!hundred )(?<!and )(?P<english>{any_of(numerals.ENGLISH)})(?![a-z])",
    )
    return re.compile("|".join(sorts))


Stated = tuple[str, str, str, int, int, bool]
"""A value in a place of the normalised text: kind, base, value, start, end, support_only."""


class Extractor:
    """Finds the entities of a text under the units, words and concepts of a rule set."""

    def __init__(self, rules: CompiledRules):
        self.fold = rules.fold
        self.unit_words = UnitWords(rules)
        self.beginning = _beginning(self.unit_words)
        self.value_words: Sequence[ValueWords] = rules.value_words
        # most words occur in no text: what they need is looked for in all of them at once
        self.anchors: dict[str, set[int]] = {}
        for number, words in enumerate(self.value_words):
            for anchor, _ in words.phrases:
                self.anchors.setdefault(anchor, set()).add(number)

    def entities(
        self,
        raw: str,
        text: Text | None = None,
    ) -> list[Entity]:
        """The entities of a text in order; equal ones stand each with their place.

        text: the normal form of `raw`, where that is known already.
        """
        text = text or normalise(raw, self.fold)
        entities = []
        for kind, base, value, first, last, support_only in self._stated(text.norm):
            start, end = text.span(first, last)
            entities.append(Entity(kind, base, value, raw[start:end], start, end, support_only))
        return sorted(entities, key=lambda entity: (entity.start, entity.end))

    def _stated(self, text: str) -> list[Stated]:
        """Times, dates, quantities, fixed expressions, condition words and documents."""
        stated: list[Stated] = []
        dates: list[tuple[list[str], int, int]] = []
        reader = QuantityReader(text, self.unit_words)
        position = 0
        while match := self.beginning.search(text, position):
            start, position = match.span()
            if match.lastgroup == "clock":
                stated += _readings("time of day", clock_values(match), start, position)
            elif match.lastgroup == "date":
                position = _read_dates(match, text, dates)
            else:
                position = getattr(reader, f"read_{match.lastgroup}")(match)
        all_values = with_years([values for values, _, _ in dates])
        for values, (_, start, end) in zip(all_values, dates):
            stated += _readings("date", values, start, end)
        for values, start, end in days_alone(text, dates):
            for value in values:
                stated.append(("date", "", value, start, end, True))
        for quantity in reader.quantities:
            unit = quantity.unit
            value, start, end = written(quantity.value), quantity.start, quantity.end
            stated.append((unit.kind, unit.base, value, start, end, quantity.support_only))
        return [*stated, *self._words(text)]

    def _words(self, text: str) -> Iterable[Stated]:
        numbers: set[int] = set()
        for anchor, of_anchor in self.anchors.items():
            if anchor in text:
                numbers |= of_anchor
        for number in sorted(numbers):
            words = self.value_words[number]
            for start, end in find_outside(words.phrases, words.not_within, text):
                yield words.kind, words.base, words.value, start, end, words.support_only


def _readings(
    kind: str,
    values: Sequence[str],
    start: int,
    end: int,
) -> Iterable[Stated]:
    """Several values of one text: the first is what it says, the others only support."""
    for number, value in enumerate(values):
        yield kind, "", value, start, end, number > 0


def _read_dates(
    match: re.Match[str],
    text: str,
    dates: list[tuple[list[str], int, int]],
) -> int:
    """Add the date of a match, and the days up to which it goes on; gives where to go on."""
    start, end = match.span()
    values = date_values(match)
    while values:
        dates.append((values, start, end))
        start = end
        values, end = last_day(values[0], text, end)
    return end


@lru_cache(maxsize=8)
def extractor(rules: CompiledRules) -> Extractor:
    """The extractor of a rule set, made once."""
    return Extractor(rules)


def by_key(entities: Iterable[Entity]) -> Mapping[str, Entity]:
    """The first entity of each value, one that counts before one that only supports."""
    first: dict[str, Entity] = {}
    for entity in entities:
        known = first.get(entity.key)
        if known is None or (known.support_only and not entity.support_only):
            first[entity.key] = entity
    return first
