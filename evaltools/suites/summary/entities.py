"""Figures and condition words of a text, as values that compare equal however they are written.

    text --normalise--> dates, amounts, percentages, durations, ages, counts, fixed expressions, condition words

The text is passed over from left to right and every reader looks ahead a bounded distance, so the time is
linear in its length. Source: specification D16; the words come from the rule file.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache

from . import numerals
from .dates import CLOCK, DATE, clock_values, date_values, until, with_years
from .numerals import Number, Value, tidy, written
from .phrases import Phrases, Spans, find_all
from .rules import CompiledRules, Unit
from .text import NOTATION, Text, any_of, normalise, pattern


@dataclass(frozen=True, slots=True)
class Entity:
    """Something that a summary may get wrong.

    kind: amount, percent, duration, age, count, date, condition, document, or what the rule file names.
    base: unit of the value (KRW, %, month, ...). value: normalised. text, start, end: as in the original.
    support_only: it may support an entity of the other text, but is not itself one to be supported
    (월 15만원 supports "1개월", but says no duration).
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
        return f"{self.kind}:{self.base}:{self.value}"

    @property
    def shown(self) -> str:
        """The normalised value for a reader."""
        return f"{self.value} {self.base}".strip()


@dataclass(frozen=True, slots=True)
class _Quantity:
    """A number in the base of its unit, in places of the normalised text."""

    unit: Unit
    value: Value
    start: int
    end: int
    support_only: bool = False


def _quantity(
    unit: Unit, value: Value, start: int, end: int, support_only: bool = False
) -> _Quantity:
    return _Quantity(unit, value * Decimal(str(unit.factor)), start, end, support_only)


class Extractor:
    """Finds the entities of a text under the units, words and concepts of a rule set."""

    def __init__(self, rules: CompiledRules):
        self.rules = rules
        units = rules.units
        self.unit_of: dict[str, Unit] = {_unit_name(w): u for u in units for w in u.words}
        self.prefix_of: dict[str, Unit] = {p.lower(): u for u in units for p in u.before}
        self.won = next((u for u in units if u.kind == "amount"), None)
        self.percent = next((u for u in units if u.kind == "percent"), None)
        # what words mean, the words, and what these may not stand in
        self.words: list[tuple[Entity, Phrases, Phrases]] = []
        for e in rules.expressions:
            means = Entity(e.kind, e.base, written(Decimal(str(e.value))), "", 0, 0, e.support_only)
            self.words.append((means, e.phrases, ()))
        for c in rules.concepts:
            for phrases, support_only in ((c.words, False), (c.support, True)):
                self.words.append(
                    (Entity(c.kind, "", c.name, "", 0, 0, support_only), phrases, c.not_within)
                )
        # most words occur in no text: what they need is looked for in all of them at once
        self.anchors = {
            (anchor, n) for n, (_, phrases, _) in enumerate(self.words) for anchor, _ in phrases
        }
        unit, hangul_unit = _unit_pattern(units), _unit_pattern(units, hangul_only=True)
        self.unit = re.compile(rf"여?(?:\s{{0,2}}|\s?\)\s?){unit}")
        self.latin_unit = re.compile(rf"[\s-]?(?:\([0-9]{{1,4}}\)\s?)?{unit}")
        self.hangul_unit = re.compile(rf"\s?{hangul_unit}")
        after = rf"(?:{rules.particle_words}|{_AROUND['after']})"
        self.after_numeral = re.compile(rf"(?![가-힣])|{after}")
        prefix = any_of(map(re.escape, self.prefix_of)) or "(?!)"
        words = {
            "NATIVE": any_of(numerals.NATIVE),
            "HANGUL": numerals.HANGUL,
            "ENGLISH": numerals.ENGLISH_NUMBER,
        }
        units_of = {
            "PREFIX": prefix,
            "UNIT": hangul_unit,
            "JOINED": _AROUND["joined"],
            "AFTER": after,
        }
        self.start = re.compile(pattern("figure", CLOCK=CLOCK, DATE=DATE, **words, **units_of))

    def entities(self, raw: str, text: Text | None = None) -> list[Entity]:
        """The entities of a text, given its normal form where that is made already, in order.

        Equal ones stand each with their place.
        """
        text = text or normalise(raw, self.rules.fold)
        out = []
        for e in (*self._figures(text.norm), *self._words(text.norm)):
            start, end = text.span(e.start, e.end)
            out.append(replace(e, text=raw[start:end], start=start, end=end))
        return sorted(out, key=lambda e: (e.start, e.end))

    def _figures(self, t: str) -> Iterable[Entity]:
        found: list[_Quantity] = []
        bare: list[
            tuple[Number, int]
        ] = []  # figures without a unit, in case a later one lends it to them
        dates: list[tuple[list[str], int, int]] = []
        at = 0
        while m := self.start.search(t, at):
            at = m.end()
            match next(g for g in _GROUPS if m[g] is not None):
                case "date":
                    values = date_values(m)
                    start = m.start()
                    while values:
                        dates.append((values, start, at))
                        values, at, start = *until(values[0], t, at), at
                case "clock":
                    yield from _alternatives("time of day", clock_values(m), m.start(), at)
                case "ratio":
                    shares = int(m["one"]), int(m["other"])
                    if self.percent and sum(shares) in (10, 100) and not self.unit.match(t, at):
                        for part, group in zip(shares, ("one", "other")):
                            found.append(
                                _quantity(self.percent, part * 100 // sum(shares), *m.span(group))
                            )
                    else:
                        at = self._digit(t, m.start(), None, found, bare)
                case "prefix":
                    at = self._digit(t, m.end(), m, found, bare)
                case "fraction" if self.percent and int(m["parts"] or m["parts2"]):
                    share = Decimal(100 * int(m["of"] or m["of2"])) / int(m["parts"] or m["parts2"])
                    found.append(_quantity(self.percent, share, m.start(), m.end()))
                case "digit":
                    at = self._digit(t, m.start(), None, found, bare)
                case "hangul":
                    at = self._hangul(t, m, found)
                case "native":
                    at = self._named(
                        t,
                        m.start(),
                        m.end("native"),
                        numerals.NATIVE[m["native"]],
                        self.unit,
                        found,
                    )
                case "english" if (number := numerals.english_value(m["english"])) is not None:
                    if thousands := _ENGLISH_SCALE.match(t, at):
                        number, at = (
                            int(number * numerals.ENGLISH_SCALE[thousands[1]]),
                            thousands.end(),
                        )
                    at = self._named(t, m.start(), at, number, self.latin_unit, found)
        for values, (_, start, end) in zip(with_years([values for values, *_ in dates]), dates):
            yield from _alternatives("date", values, start, end)
        for q in _merge([self._and_a_half(q, t) for q in found], t):
            yield Entity(
                q.unit.kind, q.unit.base, written(q.value), "", q.start, q.end, q.support_only
            )

    def _and_a_half(self, q: _Quantity, t: str) -> _Quantity:
        """1년 반: 18 months."""
        m = _HALF.match(t, q.end) if q.unit.kind == "duration" else None
        if m is None or not self.after_numeral.match(t, m.end()):
            return q
        return replace(q, value=q.value + Decimal(str(q.unit.factor)) / 2, end=m.end())

    def _digit(
        self,
        t: str,
        at: int,
        prefix: re.Match[str] | None,
        found: list[_Quantity],
        bare: list[tuple[Number, int]],
    ) -> int:
        """Read the figure at `at` with its unit; returns where to go on."""
        number = numerals.read_number(t, at)
        if number is None:
            m = _DIGIT_RUN.match(t, at)
            return m.end() if m else at + 1
        start, end = (prefix.start() if prefix else at), number.end
        scale = 1
        # a bare k or m is a scale behind a currency sign only ($100k, but 100 m)
        if (m := _ENGLISH_SCALE.match(t, end)) and (prefix or len(m[1]) > 2):
            scale, end = numerals.ENGLISH_SCALE[m[1]], m.end()
        unit = self.prefix_of[prefix[0].strip()] if prefix else None
        if m := self.unit.match(t, end) or self.latin_unit.match(t, end):
            named = self.unit_of[_unit_name(m["unit"])]
            if unit is None or named.kind == unit.kind:
                if unit and named.base != unit.base:  # 영업일 기준 2일 may be told as 2일
                    found.append(_quantity(named, number.value, at, m.end(), support_only=True))
                unit, end = unit or named, m.end()
        if (
            unit is None
            and number.big > 1
            and self.won
            and _ENDS.match(t, end)
            and not _another_follows(t, end)
        ):
            unit = self.won
        if unit is None:
            bare.append((number, at))
            return end
        for value, place in _lend(bare, number, scale, start, t):
            found.append(_quantity(unit, value, *place))
        bare.clear()
        found.append(_quantity(unit, number.value * scale, start, end))
        return end

    def _hangul(self, t: str, m: re.Match[str], found: list[_Quantity]) -> int:
        """삼천만원, 구십 일: the longest numeral of the run that a unit follows."""
        start, stop = m.span("hangul")
        if not _SCALES.search(t, start, stop):
            stop = start + 1
        for end in range(stop, start, -1):
            run = t[start:end].removeprefix("만 ")
            unit = self.unit.match(t, end)
            if unit is None or run[-1:] == " " or not self.after_numeral.match(t, unit.end()):
                continue
            named = self.unit_of[_unit_name(unit["unit"])]
            if (
                _believable(run, named, unit["unit"])
                and (value := numerals.hangul_value(run)) is not None
            ):
                found.append(_quantity(named, value, end - len(run), unit.end()))
                return unit.end()
        space = t.find(" ", start, stop)
        return space if space > 0 else stop

    def _named(
        self,
        t: str,
        start: int,
        end: int,
        value: int,
        pattern: re.Pattern[str],
        found: list[_Quantity],
    ) -> int:
        """두 달, thirty days, thirty (30) days. One of a countable (한 번, one case) says no count."""
        m = pattern.match(t, end)
        if m is None:
            return end
        unit = self.unit_of[_unit_name(m["unit"])]
        found.append(
            _quantity(unit, value, start, m.end(), support_only=value == 1 and unit.kind == "count")
        )
        return m.end()

    def _words(self, t: str) -> Iterable[Entity]:
        """Fixed expressions, condition words and documents."""
        for number in sorted({number for anchor, number in self.anchors if anchor in t}):
            entity, phrases, not_within = self.words[number]
            for start, end in outside(find_all(phrases, t), not_within, t):
                yield replace(entity, start=start, end=end)


def _alternatives(kind: str, values: Sequence[str], start: int, end: int) -> Iterable[Entity]:
    """One entity that may be read as several values: the first is what the text says, the others only support."""
    for i, value in enumerate(values):
        yield Entity(kind, "", value, "", start, end, support_only=i > 0)


def outside(spans: Spans, not_within: Phrases, text: str) -> Spans:
    """The spans that do not touch a word of `not_within` (단서 in 진단서)."""
    inside = find_all(not_within, text) if spans and not_within else []
    if not inside:
        return spans
    ends = [b for _, b in inside]
    after = [
        bisect_right(ends, s) for s, _ in spans
    ]  # the first word that ends beyond the span's start
    return [(s, e) for (s, e), i in zip(spans, after) if i == len(inside) or inside[i][0] >= e]


_GROUPS = ("clock", "date", "ratio", "prefix", "fraction", "digit", "hangul", "native", "english")
_ENGLISH_SCALE = re.compile(rf"\s?({any_of(numerals.ENGLISH_SCALE)})(?![a-z0-9])")
_AROUND = {name: "|".join(words.split()) for name, words in NOTATION["unit"].items()}
_ENDS = re.compile(rf"(?![0-9a-z가-힣])|(?:{_AROUND['particles']})(?![a-z])|{_AROUND['words']}")
_LIST = re.compile(rf"\s?(?:{_AROUND['joints']})\s?(?:최대|최고)?\s?")
_HALF = re.compile(r"\s?반")
_SCALES = re.compile("[십백천만억조]")
_DIGIT_RUN = re.compile(r"[0-9][0-9,.]*")


def _another_follows(t: str, end: int) -> bool:
    """Whether a list goes on with a figure of the same sort (20만~50만 명): the unit then comes at its end."""
    m = _LIST.match(t, end)
    following = (
        numerals.read_number(t, m.end()) if m and t[m.end() : m.end() + 1].isdigit() else None
    )
    return following is not None and following.big > 1


def _lend(
    bare: list[tuple[Number, int]], number: Number, scale: int, start: int, t: str
) -> Iterable[tuple[Value, tuple[int, int]]]:
    """The bare figures right before a quantity, with its scale: 20~50만원, 3, 6, 12개월, 5-10%."""
    end = start
    for other, at in reversed(bare):
        joint = _LIST.fullmatch(t, other.end, end)
        if (
            not joint
            or (other.big > 1 and number.big == 1)
            or ("," in joint[0] and other.value > 10 * number.value)
        ):
            return
        value = other.value
        if other.big == 1 and number.lead:
            if other.small == 1 and value < number.lead:
                value *= number.small * number.big
            elif value < number.lead * number.small:
                value *= number.big
        yield tidy(value * scale), (at, other.end)
        end = at


def _merge(found: list[_Quantity], t: str) -> list[_Quantity]:
    """Years and months that follow each other are one duration: 1년 6개월 is 18개월."""
    out: list[_Quantity] = []
    for q in found:
        last = out[-1] if out else q
        durations = last.unit.kind == q.unit.kind == "duration" and last.unit.base == q.unit.base
        apart = last.end > q.start or t[last.end : q.start].strip()
        if durations and last.unit.factor > q.unit.factor and not apart:
            out[-1] = replace(last, value=last.value + q.value, end=q.end)
        else:
            out.append(q)
    return out


def _believable(run: str, unit: Unit, word: str) -> bool:
    """Whether Hangul syllables before a unit are a numeral: 삼천만원 is, 조건 (조 + 건) and 만일 are not."""
    digits = run.replace(" ", "")
    if unit.kind == "clause" or digits[0] in "영공" or ("조" in digits and unit.kind != "amount"):
        return False
    if all(c in numerals.ONES for c in digits):
        return len(digits) == 1 and word in _UNITS_OF_ONE_SYLLABLE
    return (
        len(digits) > 1
        or word in ("원", "명", "달러")
        or (digits in "십백천" and word in _UNITS_OF_ONE_SCALE)
    )


_UNITS_OF_ONE_SYLLABLE = ("년", "개월", "주일", "퍼센트")
_UNITS_OF_ONE_SCALE = ("년", "개월", "퍼센트", "%")


def _unit_name(word: str) -> str:
    """A unit word however it is joined: `_unit_pattern` finds "business-day" for "business day" as well."""
    return re.sub(r"[\s-]+", " ", word.lower())


def _unit_pattern(units: Iterable[Unit], hangul_only: bool = False) -> str:
    """One group `unit` of all unit words, the longest first; a Latin one ends at its last letter."""
    out: dict[str, str] = {}
    for u in units:
        for word in u.words:
            w = word.lower()
            if hangul_only and not "가" <= w[0] <= "힣":
                continue
            out[w] = r"[\s-]".join(map(re.escape, w.split()))
            if w[-1].isascii() and w[-1].isalpha():
                out[w] += "(?![a-z])"
            if not_before := u.not_before.get(word):
                out[w] += f"(?!{'|'.join(map(re.escape, not_before))})"
    longest_first = [out[w] for w in sorted(out, key=lambda w: (-len(w), w))]
    return f"({'?:' if hangul_only else '?P<unit>'}{'|'.join(longest_first)})"


@lru_cache(maxsize=8)
def extractor(rules: CompiledRules) -> Extractor:
    return Extractor(rules)


def by_key(entities: Iterable[Entity]) -> Mapping[str, Entity]:
    """The entities as a set: the first of each value, one that counts before one that only supports."""
    out: dict[str, Entity] = {}
    for e in entities:
        known = out.get(e.key)
        if known is None or (known.support_only and not e.support_only):
            out[e.key] = e
    return out
