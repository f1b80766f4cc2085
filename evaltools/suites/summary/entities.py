"""Figures and condition words of a text, as values that compare equal however they are written.

    text --normalise--> dates, times, quantities, fixed expressions, condition words --> entities
                    --> figures that are part of none of them

The text is passed over from left to right and every reader looks ahead a bounded distance, so the
time is linear in its length. Source: specification D16, D20; the words come from the rule file.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter

from .dates import StatedDay, clock_values, date_values, read_date
from .quantities import QuantityReader, UnitWords
from .rules import Rules
from .text import normalise, number_value, written


@dataclass(frozen=True, slots=True)
class Entity:
    """Something that a summary may get wrong.

    kind: amount, percent, duration, age, count, date, condition, document, or what the rule file
    names; `figure` of what is part of none. base: unit of the value (KRW, %, month, ...); of a figure
    the word behind it. value: normalised. text, start, end: as in the composed text. support_only: it may
    support an entity of the other text, but is not itself one to be supported (월 15만원 supports
    "1개월", but says no duration).
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


@dataclass(frozen=True, slots=True, eq=False)
class ReadText:
    """A composed text, the same in normal form, with its values, and the figures that are part of none."""

    raw: str
    norm: str
    entities: Sequence[Entity]
    figures: Sequence[Entity] = ()


Texts = Sequence[ReadText]

_unit_words = lru_cache(maxsize=8)(UnitWords)


def _stated(
    text: str,
    rules: Rules,
) -> Iterator[tuple[str, str, str, int, int, bool]]:
    """Times, dates, quantities, fixed expressions, condition words and documents of a normalised text.

    Each as kind, base, value, start, end, support_only.
    """
    days: list[StatedDay] = []
    words = _unit_words(rules)
    reader = QuantityReader(text, words)
    position = 0
    while match := words.beginning.search(text, position):
        start, position = match.span()
        if match.lastgroup == "clock":
            for number, value in enumerate(clock_values(match)):
                yield "time of day", "", value, start, position, number > 0
        elif match.lastgroup == "date":
            if "~" in match[0] and start not in (end for *_, end in days[-1:]):
                position = start + 1
            elif day := read_date(match):
                days.append((day, start, position))
        else:
            position = getattr(reader, match.lastgroup or "")(match)
    for of_day in date_values(days):
        yield "date", "", *of_day
    for unit, amount, start, end, support_only in reader.quantities:
        yield unit.kind, unit.base, written(amount), start, end, support_only
    for named in rules.values:
        value = named.value if isinstance(named.value, str) else f"{named.value:g}"
        for number, phrases in enumerate((named.phrases, named.support)):
            for start, end in rules.find(phrases, text, named.not_within):
                yield named.kind, named.base, value, start, end, number > 0


@lru_cache(maxsize=4096)
def read_text(rules: Rules, raw: str) -> ReadText:
    """A composed text with its values in order, equal ones each. A context often stands in several cases."""
    norm = normalise(raw, rules.fold)
    entities = [
        Entity(kind, base, value, raw[start:end], start, end, support_only)
        for kind, base, value, start, end, support_only in _stated(norm, rules)
    ]
    entities.sort(key=attrgetter("start", "end"))
    return ReadText(raw, norm, entities, [*bare_figures(raw, entities)])


# A figure with the word at its end; `mark`: the number of an item of a list, which is none
_FIGURE = re.compile(
    r"(?P<mark>(?m:^)(?:[^\S\n]|[(\[])*\d{1,2}[.)\]](?!\d))|(?P<digits>\d(?:[\d,.:/-]*\d)?천?)"
    r"(?P<word>(?:\s?[a-zA-Z㎡]{1,5}|[가-힣]{1,2}?)(?=[을를이가]?\s?(?:이상|초과|이하|미만|이내))"
    r"|[^\W\d_]{0,8})"
)

# what may stand behind a figure and is no part of it
PARTICLES = (
    "으로|로|은|는|이|을|를|의|과|와|에|만|이면|이라|이라고|까지|정도|"
    "이며|이고|고|이에요|예요|이세요|이시고|입니다"
)

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_ONLY_PARTICLE = re.compile(rf"(?:{PARTICLES})?")
_ONE = "[일이삼사오육칠팔구]"
# what speech leaves without a unit: tens, hundreds and thousands (사백오십 들었어요); smaller numerals count things
_SPOKEN = re.compile(
    rf"(?<![가-힣0-9])({_ONE}?[천백십](?:{_ONE}*[백십])*{_ONE}?)"
    rf"(?:{PARTICLES}|이(?:고요|네요|요|었고|었어요|었는데)?|인데요?)?(?![가-힣])"
)


def bare_figures(
    raw: str,
    entities: Iterable[Entity],
) -> Iterator[Entity]:
    """The figures of a text that begin in none of its values, in order, with the word at their end."""
    inside = {place for entity in entities for place in range(entity.start, entity.end)}
    for match in _FIGURE.finditer(raw):
        if match.start() not in inside and not match["mark"]:
            base = "" if _ONLY_PARTICLE.fullmatch(match["word"]) else match["word"].strip()
            yield Entity("figure", base, match["digits"], match[0], *match.span())
    for match in _SPOKEN.finditer(raw):
        value = number_value(match[1])
        if match.start() not in inside and value is not None:
            yield Entity("figure", "", str(value), match[1], *match.span(1))


def unread_figures(
    summary: ReadText,
    sources: Texts,
) -> list[str]:
    """The figures of a summary that are read as no value, and of which a number stands in no source (D20).

    A figure before 년, 월 or 일 is a date that there is not (2월 30일): it must stand in a source as it is.
    """
    known = {figure.value for source in sources for figure in source.figures}
    known.update(*(_numbers(source.norm) for source in sources))
    unread = []
    for figure in summary.figures:
        is_said = known.issuperset(_numbers(figure.value))
        if figure.base.startswith(("년", "월", "일")):
            is_said = any(figure.text in source.raw for source in sources)
        if figure.text[0].isdigit() and not is_said:
            unread.append(figure.text)
    return unread


def _numbers(text: str) -> list[str]:
    return [number.replace(",", "") for number in _NUMBER.findall(text)]
