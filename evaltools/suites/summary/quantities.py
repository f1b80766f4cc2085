"""Numbers with their units: 3천만원, 90일, 20~50만원, 1년 6개월, thirty (30) days.

A text is read from left to right; every reader looks ahead a bounded distance. Source:
specification D16.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

from .numerals import (
    ENGLISH,
    ENGLISH_SCALE,
    NATIVE,
    ONES,
    TEN_THOUSAND,
    Number,
    Value,
    hangul_value,
    read_number,
    spoken_sum,
)
from .rules import Unit
from .text import any_of
from .unit_words import AROUND, NamedUnit, UnitWords

_ENGLISH_SCALE = re.compile(rf"\s?({any_of(ENGLISH_SCALE)})(?![a-z0-9])")
_AMOUNT_ENDS = re.compile(
    rf"(?![0-9a-z가-힣])|(?:{AROUND['particles']})(?![a-z])|{AROUND['words']}"
)
_JOINT = re.compile(rf"\s?(?:{AROUND['joints']})\s?(?:최대|최고)?\s?")
_HALF = re.compile(r"\s?반(?![가-힣])|\s?반(?=(?:이|을|은|만|요|까지|부터|정도|동안)(?![가-힣]))")
_SCALES = re.compile("[십백천만억조]")
_LATIN = re.compile("[a-z]")
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


class QuantityReader:
    """Reads the quantities of one text, from left to right.

    Each `read_` method reads what begins with a match, adds it to `quantities` where it is one, and
    gives the place to go on from.
    """

    def __init__(
        self,
        text: str,
        words: UnitWords,
    ):
        self.text = text
        self.words = words
        self.quantities: list[Quantity] = []
        self._bare: list[Number] = []  # a later figure may lend them its unit

    def read_figure(self, match: re.Match[str]) -> int:
        """100원, and $ 100: a sign that stands before its figure."""
        return self._figure(match.end(), match["figure"])

    def _figure(
        self,
        start: int,
        sign: str = "",
    ) -> int:
        """The figure at `start`, behind its sign, with its unit."""
        number = read_number(self.text, start)
        if number is None:
            digits = _DIGIT_RUN.match(self.text, start)
            return digits.end() if digits else start + 1
        begin = start - len(sign)
        scale, end = self._english_scale(number.end, after_sign=bool(sign))
        value = number.value * scale
        unit = self.words.of_prefix.get(sign.strip())
        named = self.words.behind(self.text, end)
        if named and (unit is None or named.unit.kind == unit.kind):
            end = named.end
            unit = unit or named.unit
            if named.unit.base != unit.base:  # 영업일 기준 2일 may be told as 2일
                self._add(named.unit, number.value, start, end, support_only=True)
        is_code = _LATIN.match(self.text[max(start - 1, 0) : start])  # I66만 is no amount
        if unit is None and number.big > 1 and not is_code and self._is_amount(end):
            unit = self.words.of_kind.get("amount")
        if unit is None:
            self._bare.append(number)
            return end
        self._lend(unit, number, scale, begin)
        self._add(unit, value, begin, end)
        return end

    def read_hangul(self, match: re.Match[str]) -> int:
        """삼천만원, 구십 일: the longest numeral of the run that a unit follows."""
        start, stop = match.span("hangul")
        if not _SCALES.search(self.text, start, stop):
            stop = start + 1
        for end in range(stop, start, -1):
            named = self.words.behind(self.text, end)
            if named is None or not self.words.ends.match(self.text, named.end):
                continue
            run = self.text[start:end]
            if run[0] == "만" and run[1:2].isspace():
                run = run[2:]
            is_sure = _is_numeral(run, named)
            # one syllable before a unit of time: 팔 주, but also 이 주 (this week)
            is_short = len(run) == 1 and run not in "영공만억조" and named.unit.kind == "duration"
            value = hangul_value(run) if is_sure or is_short else None
            if value is not None:
                self._add(named.unit, value, end - len(run), named.end, support_only=not is_sure)
                return named.end
        won = self.words.of_kind.get("amount")
        for end in range(stop, start, -1):
            # what ends with 이 ends with a particle: 삼억이 한도
            is_whole = self.text[end - 1] not in "이 " and _AMOUNT_ENDS.match(self.text, end)
            value = spoken_sum(self.text[start:end]) if is_whole else None
            if value is not None and won:
                self._add(won, value, start, end, support_only=True)
                return end
        blank = _BLANK.search(self.text, start, stop)
        return blank.start() if blank else stop

    def read_native(self, match: re.Match[str]) -> int:
        """두 달, 스무 명."""
        return self._numeral(NATIVE[match["native"]], *match.span("native"))

    def read_english(self, match: re.Match[str]) -> int:
        """thirty days, thirty (30) days."""
        return self._numeral(ENGLISH[match["english"]], *match.span())

    def _numeral(
        self,
        value: int,
        start: int,
        end: int,
    ) -> int:
        """A numeral in words with its unit. One of a countable (한 번, one case) says no count."""
        named = self.words.behind(self.text, end)
        if named is None:
            return end
        says_nothing = value == 1 and named.unit.kind == "count"
        self._add(named.unit, value, start, named.end, says_nothing)
        return named.end

    def read_ratio(self, match: re.Match[str]) -> int:
        """7:3, 8대 2: two shares of a whole; other figures with a colon are read one by one."""
        shares = int(match["one"]), int(match["other"])
        percent = self.words.of_kind.get("percent")
        has_unit = self.words.behind(self.text, match.end())
        if percent is None or sum(shares) not in (10, 100) or has_unit:
            return self._figure(match.start())
        for share, group in zip(shares, ("one", "other")):
            start, end = match.span(group)
            self._add(percent, share * 100 // sum(shares), start, end)
        return match.end()

    def read_fraction(self, match: re.Match[str]) -> int:
        """3분의 1, 3분의 1/2 as a percentage."""
        parts = int(match["parts"] or match["parts2"])
        share = int(match["share"] or match["share2"])
        percent = self.words.of_kind.get("percent")
        if percent and parts:
            self._add(percent, Decimal(100 * share) / parts, *match.span())
        return match.end()

    def _add(
        self,
        unit: Unit,
        value: Value,
        start: int,
        end: int,
        support_only: bool = False,
    ) -> None:
        """Add a quantity; a duration with its half (1년 반), and to one right before that it goes on (1년 6개월)."""
        factor = Decimal(str(unit.factor))
        in_base = value * factor
        if unit.kind == "duration":
            half = _HALF.match(self.text, end)
            if half:
                in_base += factor / 2
                end = half.end()
            if self.quantities and self._goes_on(self.quantities[-1], unit, start):
                first = self.quantities.pop()
                in_base += first.value
                unit, start, support_only = first.unit, first.start, first.support_only
        self.quantities.append(Quantity(unit, in_base, start, end, support_only))

    def _goes_on(
        self,
        first: Quantity,
        smaller: Unit,
        start: int,
    ) -> bool:
        """Whether a duration goes on with a smaller unit right behind it."""
        larger = first.unit
        if (larger.kind, larger.base) != (smaller.kind, smaller.base):
            return False
        is_behind = first.end <= start and not self.text[first.end : start].strip()
        return is_behind and larger.factor > smaller.factor

    def _english_scale(
        self,
        end: int,
        after_sign: bool,
    ) -> tuple[int, int]:
        """(scale, end) of thousand, million, ... behind a number; (1, end) without one.

        A bare k or m is a scale behind a currency sign only: $100k, but 100 m.
        """
        match = _ENGLISH_SCALE.match(self.text, end)
        if match is None:
            return 1, end
        word = match[1]
        if len(word) <= 2 and not after_sign:
            return 1, end
        return ENGLISH_SCALE[word], match.end()

    def _is_amount(self, end: int) -> bool:
        """Whether a number with a large scale that ends here is an amount without its currency."""
        if not _AMOUNT_ENDS.match(self.text, end):
            return False
        # of a list of figures of one sort (20만~50만 명) the unit comes at the end
        joint = _JOINT.match(self.text, end)
        if joint is None:
            return True
        following = read_number(self.text, joint.end())
        return following is None or following.big == 1

    def _lend(
        self,
        unit: Unit,
        number: Number,
        scale: int,
        start: int,
    ) -> None:
        """Add the bare figures right before a quantity, with its unit and scale.

        20~50만원; 3, 6, 12개월; 5-10%.
        """
        end = start
        for plain in reversed(self._bare):
            joint = _JOINT.fullmatch(self.text, plain.end, end)
            if joint is None:
                break
            if plain.big > 1 and number.big == 1:
                break
            if "," in joint[0] and plain.value > 10 * number.value:
                break
            value = _in_scale_of(number, plain) * scale
            self._add(unit, value, plain.start, plain.end)
            end = plain.start
        self._bare.clear()


def _in_scale_of(number: Number, plain: Number) -> Value:
    """A bare figure in the scale of the number that follows: the 2 of 2~3천만원 is 20 million."""
    if plain.small == 1000 and number.value > 1000 * plain.value:
        return plain.value * TEN_THOUSAND  # 5천에서 1,900만원
    if plain.big > 1 or not number.lead:
        return plain.value
    if plain.small == 1 and plain.value < number.lead:
        return plain.value * number.small * number.big
    if plain.value < number.lead * number.small:
        return plain.value * number.big
    return plain.value


def _is_numeral(run: str, named: NamedUnit) -> bool:
    """Whether Hangul before a unit is a numeral: 삼천만원 is, 조건 (조 + 건) and 만일 are not."""
    if not run or run[-1].isspace():
        return False
    syllables = "".join(run.split())
    kind = named.unit.kind
    if kind == "clause" or syllables[0] in "영공":
        return False
    if "조" in syllables and kind != "amount":
        return False
    if all(syllable in ONES for syllable in syllables):
        return len(syllables) == 1 and named.word in _UNITS_OF_ONE_SYLLABLE
    if len(syllables) > 1 or named.word in _UNITS_OF_ANY_SCALE:
        return True
    return syllables in "십백천" and named.word in _UNITS_OF_ONE_SCALE
