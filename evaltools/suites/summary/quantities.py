"""Numbers with their units: 3천만원, 90일, 20~50만원, 1년 6개월, thirty (30) days.

A text is read from left to right; every reader looks ahead a bounded distance. Source: specification
D16; the units come from the rule file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal

from . import numerals
from .compiled import CompiledRules
from .numerals import Number, Value, tidy
from .rules import Unit
from .text import NOTATION, any_of

AROUND = {name: "|".join(words.split()) for name, words in NOTATION["unit"].items()}
"""Words that stand around a number, as alternatives."""

_ENGLISH_SCALE = re.compile(rf"\s?({any_of(numerals.ENGLISH_SCALE)})(?![a-z0-9])")
_AMOUNT_ENDS = re.compile(
    rf"(?![0-9a-z가-힣])|(?:{AROUND['particles']})(?![a-z])|{AROUND['words']}"
)
_JOINT = re.compile(rf"\s?(?:{AROUND['joints']})\s?(?:최대|최고)?\s?")
_HALF = re.compile(r"\s?반")
_SCALES = re.compile("[십백천만억조]")
_BLANK = re.compile(r"\s")
_DIGIT_RUN = re.compile(r"[0-9][0-9,.]*")

_UNITS_OF_ONE_SYLLABLE = ("년", "개월", "주일", "퍼센트")
"""Units before which one digit in Hangul is a number: 삼 년, but not 일원."""

_UNITS_OF_ONE_SCALE = ("년", "개월", "퍼센트", "%")
_UNITS_OF_ANY_SCALE = ("원", "명", "달러")


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number in the base of its unit; start, end: in the normalised text.

    support_only: as of an entity.
    """

    unit: Unit
    value: Value
    start: int
    end: int
    support_only: bool = False


class UnitWords:
    """The unit words of a rule set, as patterns and by name."""

    def __init__(self, rules: CompiledRules):
        self.of_word: dict[str, Unit] = {}
        self.of_prefix: dict[str, Unit] = {}
        self.won: Unit | None = None
        self.percent: Unit | None = None
        for unit in rules.units:
            for word in unit.words:
                self.of_word[_unit_name(word)] = unit
            for prefix in unit.before:
                self.of_prefix[prefix.lower()] = unit
            if unit.kind == "amount":
                self.won = self.won or unit
            if unit.kind == "percent":
                self.percent = self.percent or unit
        any_unit = f"(?P<unit>{_alternatives(rules.units)})"
        self.hangul = f"(?:{_alternatives(rules.units, hangul_only=True)})"
        self.prefix = any_of(map(re.escape, self.of_prefix)) or "(?!)"
        self.after = rf"(?:{rules.particle_words}|{AROUND['after']})"
        self.behind_figure = re.compile(rf"여?(?:\s{{0,2}}|\s?\)\s?){any_unit}")
        self.behind_latin = re.compile(rf"[\s-]?(?:\([0-9]{{1,4}}\)\s?)?{any_unit}")
        self.ends = re.compile(rf"(?![가-힣])|{self.after}")

    def named(self, match: re.Match[str]) -> Unit:
        """The unit whose word a match of `behind_figure` or `behind_latin` holds."""
        return self.of_word[_unit_name(match["unit"])]


def _unit_name(word: str) -> str:
    """A unit word however it is joined: "business-day" is "business day"."""
    return re.sub(r"[\s-]+", " ", word.lower())


def _alternatives(units: Iterable[Unit], hangul_only: bool = False) -> str:
    """The unit words as alternatives, the longest first; a Latin one ends at its last letter."""
    patterns: dict[str, str] = {}
    for unit in units:
        for word in unit.words:
            lower = word.lower()
            if hangul_only and not "가" <= lower[0] <= "힣":
                continue
            pattern = r"[\s-]".join(re.escape(part) for part in lower.split())
            if lower[-1].isascii() and lower[-1].isalpha():
                pattern += "(?![a-z])"
            not_before = unit.not_before.get(word)
            if not_before:
                pattern += f"(?!{'|'.join(re.escape(text) for text in not_before)})"
            patterns[lower] = pattern
    longest_first = sorted(patterns, key=lambda word: (-len(word), word))
    return "|".join(patterns[word] for word in longest_first)


class QuantityReader:
    """Reads the quantities of one text, from left to right.

    Each `read_` method reads what begins at a place, keeps it where it is a quantity, and gives the
    place to go on from.
    """

    def __init__(self, text: str, words: UnitWords):
        self.text = text
        self.words = words
        self._quantities: list[Quantity] = []
        # figures without a unit, and where they begin, in case a later one lends them its own
        self._bare: list[tuple[Number, int]] = []

    def quantities(self) -> list[Quantity]:
        """What was read; years and months that follow each other are one: 1년 6개월 is 18개월."""
        merged: list[Quantity] = []
        for quantity in self._quantities:
            quantity = self._and_a_half(quantity)
            if merged and self._goes_on(merged[-1], quantity):
                last = merged.pop()
                quantity = replace(last, value=last.value + quantity.value, end=quantity.end)
            merged.append(quantity)
        return merged

    def read_figure(self, start: int, prefix: re.Match[str] | None = None) -> int:
        """The figure at `start` with its unit, before which a prefix ($) may stand."""
        number = numerals.read_number(self.text, start)
        if number is None:
            run = _DIGIT_RUN.match(self.text, start)
            return run.end() if run else start + 1
        end = number.end
        scale = 1
        thousands = _ENGLISH_SCALE.match(self.text, end)
        # a bare k or m is a scale behind a currency sign only ($100k, but 100 m)
        if thousands and (prefix or len(thousands[1]) > 2):
            scale = numerals.ENGLISH_SCALE[thousands[1]]
            end = thousands.end()
        unit = self.words.of_prefix[prefix[0].strip()] if prefix else None
        word = self._unit_word(end)
        if word:
            named = self.words.named(word)
            if unit is None or named.kind == unit.kind:
                if unit and named.base != unit.base:  # 영업일 기준 2일 may be told as 2일
                    self._keep(named, number.value, start, word.end(), support_only=True)
                unit = unit or named
                end = word.end()
        if unit is None and number.big > 1 and self._is_amount(end):
            unit = self.words.won
        if unit is None:
            self._bare.append((number, start))
            return end
        begin = prefix.start() if prefix else start
        self._lend(unit, number, scale, begin)
        self._keep(unit, number.value * scale, begin, end)
        return end

    def read_hangul(self, start: int, stop: int) -> int:
        """삼천만원, 구십 일: the longest numeral of the run that a unit follows."""
        if not _SCALES.search(self.text, start, stop):
            stop = start + 1
        for end in range(stop, start, -1):
            word = self.words.behind_figure.match(self.text, end)
            run = self.text[start:end]
            if run[:1] == "만" and run[1:2].isspace():
                run = run[2:]
            if word is None or not run or run[-1].isspace():
                continue
            if not self.words.ends.match(self.text, word.end()):
                continue
            unit = self.words.named(word)
            if not _is_numeral(run, unit, word["unit"]):
                continue
            value = numerals.hangul_value(run)
            if value is not None:
                self._keep(unit, value, end - len(run), word.end())
                return word.end()
        blank = _BLANK.search(self.text, start, stop)
        return blank.start() if blank else stop

    def read_native(self, start: int, end: int) -> int:
        """두 달, 스무 명."""
        value = numerals.NATIVE[self.text[start:end]]
        return self._with_unit(start, end, value, self.words.behind_figure)

    def read_english(self, start: int, end: int) -> int:
        """thirty days, thirty (30) days, two thousand won."""
        value = numerals.english_value(self.text[start:end])
        if value is None:
            return end
        thousands = _ENGLISH_SCALE.match(self.text, end)
        if thousands:
            value = value * numerals.ENGLISH_SCALE[thousands[1]]
            end = thousands.end()
        return self._with_unit(start, end, value, self.words.behind_latin)

    def read_ratio(self, match: re.Match[str]) -> int:
        """7:3, 8대 2: two shares of a whole; other figures with a colon between are read one by one."""
        one, other = int(match["one"]), int(match["other"])
        whole = one + other
        percent = self.words.percent
        is_ratio = percent and whole in (10, 100)
        if not is_ratio or self.words.behind_figure.match(self.text, match.end()):
            return self.read_figure(match.start())
        self._keep(percent, one * 100 // whole, *match.span("one"))
        self._keep(percent, other * 100 // whole, *match.span("other"))
        return match.end()

    def read_fraction(self, match: re.Match[str]) -> int:
        """3분의 1, 3분의 1/2 as a percentage."""
        parts = int(match["parts"] or match["parts2"])
        share = int(match["share"] or match["share2"])
        if self.words.percent and parts:
            self._keep(self.words.percent, Decimal(100 * share) / parts, *match.span())
        return match.end()

    def _keep(
        self, unit: Unit | None, value: Value, start: int, end: int, support_only: bool = False
    ) -> None:
        assert unit is not None
        in_base = value * Decimal(str(unit.factor))
        self._quantities.append(Quantity(unit, in_base, start, end, support_only))

    def _with_unit(self, start: int, end: int, value: int, pattern: re.Pattern[str]) -> int:
        """A numeral with its unit. One of a countable (한 번, one case) says no count."""
        word = pattern.match(self.text, end)
        if word is None:
            return end
        unit = self.words.named(word)
        self._keep(unit, value, start, word.end(), support_only=value == 1 and unit.kind == "count")
        return word.end()

    def _unit_word(self, end: int) -> re.Match[str] | None:
        behind = self.words.behind_figure.match(self.text, end)
        return behind or self.words.behind_latin.match(self.text, end)

    def _is_amount(self, end: int) -> bool:
        """Whether a number with a large scale that ends here is an amount without its currency."""
        if self.words.won is None or not _AMOUNT_ENDS.match(self.text, end):
            return False
        # of a list of figures of one sort (20만~50만 명) the unit comes at the end
        joint = _JOINT.match(self.text, end)
        if joint is None or not self.text[joint.end() : joint.end() + 1].isdigit():
            return True
        following = numerals.read_number(self.text, joint.end())
        return following is None or following.big == 1

    def _lend(self, unit: Unit, number: Number, scale: int, start: int) -> None:
        """Keep the bare figures right before a quantity, with its unit and scale.

        20~50만원; 3, 6, 12개월; 5-10%.
        """
        end = start
        for bare, bare_start in reversed(self._bare):
            joint = _JOINT.fullmatch(self.text, bare.end, end)
            if not joint or (bare.big > 1 and number.big == 1):
                break
            if "," in joint[0] and bare.value > 10 * number.value:
                break
            value = _in_scale_of(number, bare)
            self._keep(unit, tidy(value * scale), bare_start, bare.end)
            end = bare_start
        self._bare.clear()

    def _and_a_half(self, quantity: Quantity) -> Quantity:
        """1년 반: 18 months."""
        if quantity.unit.kind != "duration":
            return quantity
        half = _HALF.match(self.text, quantity.end)
        if half is None or not self.words.ends.match(self.text, half.end()):
            return quantity
        more = Decimal(str(quantity.unit.factor)) / 2
        return replace(quantity, value=quantity.value + more, end=half.end())

    def _goes_on(self, first: Quantity, second: Quantity) -> bool:
        """Whether a duration goes on with smaller units right behind it."""
        if first.unit.kind != "duration" or second.unit.kind != "duration":
            return False
        if first.unit.base != second.unit.base or first.unit.factor <= second.unit.factor:
            return False
        between = self.text[first.end : second.start]
        return first.end <= second.start and not between.strip()


def _in_scale_of(number: Number, bare: Number) -> Value:
    """A bare figure in the scale of the number that follows: the 2 of 2~3천만원 is 20 million."""
    if bare.big > 1 or not number.lead:
        return bare.value
    if bare.small == 1 and bare.value < number.lead:
        return bare.value * number.small * number.big
    if bare.value < number.lead * number.small:
        return bare.value * number.big
    return bare.value


def _is_numeral(run: str, unit: Unit, word: str) -> bool:
    """Whether Hangul before a unit is a numeral: 삼천만원 is, 조건 (조 + 건) and 만일 are not."""
    syllables = "".join(run.split())
    if unit.kind == "clause" or syllables[0] in "영공":
        return False
    if "조" in syllables and unit.kind != "amount":
        return False
    if all(syllable in numerals.ONES for syllable in syllables):
        return len(syllables) == 1 and word in _UNITS_OF_ONE_SYLLABLE
    if len(syllables) > 1 or word in _UNITS_OF_ANY_SCALE:
        return True
    return syllables in "십백천" and word in _UNITS_OF_ONE_SCALE
