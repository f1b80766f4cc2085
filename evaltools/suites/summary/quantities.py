"""Numbers with their units: 3천만원, 90일, 20~50만원, 1년 6개월, 두 달.

A text is read from left to right; every reader looks ahead a bounded distance. Source:
specification D16; the units come from the rule file.
"""

import re
from dataclasses import dataclass, field
from decimal import Decimal
from typing import NamedTuple

from .dates import CLOCK, DATE
from .rules import Rules, Unit
from .text import (
    BIG,
    HANGUL,
    NATIVE,
    NOTATION,
    SMALL,
    TEN_THOUSAND,
    Match,
    Number,
    Value,
    any_of,
    number_value,
    read_number,
)

# words that stand around a number, as alternatives
AROUND = {name: "|".join(words.split()) for name, words in NOTATION["unit"].items()}

_ENGLISH_SCALE = re.compile(r"(?:[km]|\s?(?:thousand|[mb]n|[mbtr]+illion))(?![a-z0-9])")
_AMOUNT_ENDS = re.compile(
    rf"(?![0-9a-z가-힣])|(?:{AROUND['particles']})(?![a-z])|{AROUND['words']}"
)
_JOINT = re.compile(rf"\s?(?:{AROUND['joints']})\s?(?:최대|최고)?\s?")
_HALF = re.compile(
    r"\s?반(?![가-힣])|\s?반(?=(?:이|을|은|만|요|까지|부터|정도|동안)(?![가-힣])|입니다|이에요|예요|인데|이고|이며|이지만|이라|이었)"
)
_DIGIT_RUN = re.compile(r"[0-9][0-9,.]*")
# what may follow a unit though it begins as a longer word does: 6회신데, but not 회신
_POLITE_END = "(?!신데|신가요)"

# unit -> the syllables that are numerals alone before it: 삼 년, but not 일원
_ALONE = NOTATION["alone"]

# units of figures without one (3천만, 7:3)
WON = Unit(kind="amount", base="KRW", words=("원",))
PERCENT = Unit(kind="percent", base="%", words=("%",))

# a share with figures of one digit; 6/3 is a day
PROPER_FRACTION = "(?:1/[2-9]|2/[3-9]|3/[4-9]|4/[5-9]|5/[6-9]|6/[7-9]|7/[89]|8/9)"


class NamedUnit(NamedTuple):
    """A unit in a text: the word that names it, and where that ends."""

    word: str
    unit: Unit
    end: int


class Quantity(NamedTuple):
    """A number in the base of its unit; start, end: its place in the normalised text. support_only: as of an entity."""

    unit: Unit
    value: Value
    start: int
    end: int
    support_only: bool


class UnitWords:
    """The unit words of a rule set, as patterns around a number.

    units: of each word, the longest first. of_prefix: of each sign before a figure. ends: what may follow a unit, a
    particle or no further letter. beginning: how each sort of quantity, a time and a date begin; a group has the name
    of the method of QuantityReader that reads it.
    """

    def __init__(self, rules: Rules):
        named = [(word, unit) for unit in rules.units for word in unit.words]
        self.units = sorted(named, key=lambda pair: len(pair[0]), reverse=True)
        self.of_prefix = {sign.lower(): unit for unit in rules.units for sign in unit.before}
        patterns = [_word_pattern(word, unit) for word, unit in self.units]
        joint = r"여?(?:\s{0,2}|\s?\)\s?)|[\s-]?(?:\([0-9]{1,4}\)\s?)?"
        self._behind = re.compile(f"(?:{joint})(?:({')|('.join(patterns)}))")
        after = rf"(?:{any_of(rules.particles or ('의',))}|{AROUND['after']})"
        self.ends = re.compile(rf"(?![가-힣])|{after}")
        signs = any_of(map(re.escape, self.of_prefix)) or "(?!)"
        korean = "|".join(pattern for pattern in patterns if "가" <= pattern[0] <= "힣")
        forms = (
            # 3분의 1, 3분의 1/2
            r"(?P<fraction>(?<![0-9])(?P<parts>[0-9]{1,3})\s?분의\s?(?P<share>[0-9]{1,3})"
            rf"|(?:(?<=의\s)|(?<![0-9./])(?={PROPER_FRACTION}\s?(?:만|을|를|로|지급)(?![0-9])))"
            r"(?P<share2>[0-9])/(?P<parts2>[1-9][0-9]?)(?![0-9/]))",
            f"(?P<clock>{CLOCK})",
            f"(?P<date>{DATE})",
            # 7:3, 8대 2; 상대 80, 고객 20
            r"(?P<ratio>(?<![0-9.,:])(?P<one>[0-9]{1,2})"
            r"(?:\s?(?::|대)\s?|(?<=[0-9]{2}),?\s[가-힣]{1,6}\s(?=[0-9]{2}))(?P<other>[0-9]{1,2})(?![0-9:%]))",
            # a figure, behind the sign that may stand before it ($)
            rf"(?P<figure>(?:(?<![a-z])(?:{signs})\s?)?)(?=[0-9])",
            # 두 달, 두달
            rf"(?P<numeral>(?<![가-힣])(?:{any_of(NATIVE)})(?=\s(?:{korean})|(?:{AROUND['joined']})(?:(?![가-힣])|{after})))",
            # 삼천만원, 일억 이천만원, 오만 팔천 팔백원; not the 칠 of 이 점 칠
            rf"(?<![가-힣0-9])(?<![{HANGUL}][점쩜] )(?<![{HANGUL}] [점쩜] )(?:일금|금|약|총|최대|최고|각)?"
            rf"(?P<hangul>[{HANGUL}]{{1,24}}(?:(?:(?<=[천만억조])\s|\s(?=[만억]))[{HANGUL}]{{1,16}}){{0,2}})",
        )
        self.beginning = re.compile("|".join(forms))  # of several sorts the first counts

    def behind(
        self,
        text: str,
        end: int,
    ) -> NamedUnit | None:
        """The unit behind a number that ends at `end`: 90일, 90 일, (90)일, 구십 (90)일, 90-day."""
        match = self._behind.match(text, end)
        return NamedUnit(*self.units[(match.lastindex or 0) - 1], match.end()) if match else None


def _word_pattern(word: str, unit: Unit) -> str:
    """The pattern of a unit word; a Latin one ends at its last letter."""
    pattern = r"[\s-]".join(map(re.escape, word.lower().split()))
    if word[-1].isascii():
        pattern += "(?![a-z])"
    forbidden = any_of(map(re.escape, unit.not_before.get(word, ())))
    return f"{pattern}(?!{_POLITE_END}(?:{forbidden}))" if forbidden else pattern


@dataclass
class QuantityReader:
    """Reads the quantities of one text, from left to right.

    Each method for a sort of `UnitWords.beginning` reads what begins with a match, adds it to
    `quantities` where it is one, and gives the place to go on from.
    """

    text: str
    words: UnitWords
    quantities: list[Quantity] = field(default_factory=list)
    _without_unit: list[Number] = field(default_factory=list)  # a later figure may lend its unit

    def figure(self, match: Match) -> int:
        """100원, and $ 100: a sign that stands before its figure."""
        sign = match["figure"] or ""  # none of what begins as a ratio
        begin = match.start()
        start = begin + len(sign)
        number = read_number(self.text, start)
        if number is None:
            run = _DIGIT_RUN.match(self.text, start)
            return run.end() if run else start + 1
        end = number.end
        if _ENGLISH_SCALE.match(self.text, end):  # $100k is not read, rather than read as $100
            return end
        unit = self.words.of_prefix.get(sign.strip())
        named = self.words.behind(self.text, end)
        if named and (unit is None or named.unit.kind == unit.kind):
            end = named.end
            unit = unit or named.unit
        is_large = BIG.keys() & set(self.text[start:end])
        if unit is None and is_large and _AMOUNT_ENDS.match(self.text, end):
            unit = WON
        if unit is None:
            self._without_unit.append(number)
            return end
        self._lend(unit, number, begin)
        self._add(unit, number.value, begin, end)
        return end

    def hangul(self, match: Match) -> int:
        """삼천만원, 구십 일: the longest numeral of the run with a unit, or a sum as speech has it (일억 오천)."""
        start = match.start("hangul")
        for end in range(match.end(), start, -1):
            part = self.text[start:end]
            named = self.words.behind(self.text, end)
            if named and named.unit.kind != "amount":
                part = part.removeprefix("만 ")
            value = None
            if named and self.words.ends.match(self.text, named.end):
                is_sure = _is_numeral(part, named)
                # one syllable before a unit of time: 팔 주, but also 이 주 (this week)
                is_short = part in _ALONE["년"] and named.unit.kind == "duration"
                value = number_value(part) if is_sure or is_short else None
                unit, stop = named.unit, named.end
            # a numeral without a unit is large enough for a sum; what ends with 이 ends with a particle
            is_large = "억" in part[1:] or ("만" in part and SMALL.keys() & set(part))
            is_sum = is_large and part[-1] not in "이 " and _AMOUNT_ENDS.match(self.text, end)
            if value is None and is_sum:
                value = number_value(part, spoken=True)
                unit, stop, is_sure = WON, end, False
            if value is not None:
                self._add(
                    unit,
                    value,
                    end - len(part),
                    stop,
                    not is_sure,
                )
                return stop
        return start + len(match["hangul"].split()[0])

    def numeral(self, match: Match) -> int:
        """두 달: a numeral in words. One of a countable (한 번) says no count."""
        value = NATIVE[match["numeral"]]
        named = self.words.behind(self.text, match.end())
        if named is None:
            return match.end()
        says_nothing = value == 1 and named.unit.kind == "count"
        self._add(
            named.unit,
            value,
            match.start(),
            named.end,
            says_nothing,
        )
        return named.end

    def ratio(self, match: Match) -> int:
        """7:3, 8대 2: two shares of a whole; other figures with a colon are read one by one."""
        whole = int(match["one"]) + int(match["other"])
        if whole not in (10, 100) or self.words.behind(self.text, match.end()):
            return self.figure(match)
        for name in ("one", "other"):
            self._add(PERCENT, int(match[name]) * 100 // whole, *match.span(name))
        return match.end()

    def fraction(self, match: Match) -> int:
        """3분의 1, 3분의 1/2 as a percentage."""
        parts, share = (int(match[name] or match[name + "2"]) for name in ("parts", "share"))
        if parts:
            self._add(PERCENT, Decimal(100 * share) / parts, *match.span())
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
            if self.quantities:
                first = self.quantities[-1]
                is_behind = first.end <= start and not self.text[first.end : start].strip()
                is_alike = (first.unit.kind, first.unit.base) == (unit.kind, unit.base)
                if is_behind and is_alike and first.unit.factor > unit.factor:
                    self.quantities.pop()
                    in_base += first.value
                    unit, start, support_only = first.unit, first.start, first.support_only
        self.quantities.append(
            Quantity(
                unit,
                in_base,
                start,
                end,
                support_only,
            )
        )

    def _lend(
        self,
        unit: Unit,
        number: Number,
        start: int,
    ) -> None:
        """Add the figures right before a quantity that have no unit, with its unit: 20~50만원; 3, 6, 12개월; 5-10%."""
        end = start
        for figure in reversed(self._without_unit):
            joint = _JOINT.fullmatch(self.text, figure.end, end)
            if not joint or ("," in joint[0] and figure.value > 10 * number.value):
                break
            value = figure.value  # in the scale of the number: the 2 of 2~3천만원 is 20 million
            if value > figure.lead and number.value > 1000 * value:
                value *= TEN_THOUSAND  # 5천에서 1,900만원, 3백~5백만원
            elif value == figure.lead < number.lead:
                value *= number.value // number.lead
            self._add(unit, value, figure.start, figure.end)
            end = figure.start
        self._without_unit.clear()


def _is_numeral(run: str, named: NamedUnit) -> bool:
    """Whether Hangul before a unit is a numeral: 삼천만원 is, 조건 (조 + 건) and 만일 are not."""
    syllables = "".join(run.split())
    kind = named.unit.kind
    may_be_word = kind == "clause" or ("조" in syllables and kind != "amount")
    return not may_be_word and (len(syllables) > 1 or syllables in _ALONE.get(named.word, ""))
