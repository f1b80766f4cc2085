"""Numbers as Korean and English texts write them: 1,500,000, 1.5억, 3천5백만, 삼천만, thirty.

Every reader takes a normalised text (lower case, half width) and a place in it, and looks ahead a
bounded number of characters beyond the number itself. Source: specification D16.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

from .text import NOTATION, any_of

Value = int | Decimal
"""Exact: 2221.3005억 is 222130050000."""

DIGITS = r"[0-9]++(?:,[0-9]{3}(?![0-9]))*+(?:\.[0-9]++)?+"


def _words(table: str) -> dict[str, int]:
    """The words of a table of notation.toml -> their numbers."""
    numbers = {}
    for number, words in NOTATION[table].items():
        for word in words.split():
            numbers[word] = int(number)
    return numbers


def _native() -> dict[str, int]:
    """한, 두, ..., 열, 스물, and those put together: 열한, 스물두."""
    words = _words("native")
    tens = {word: value for word, value in words.items() if value >= 10}
    ones = {word: value for word, value in words.items() if value < 10}
    for ten, ten_value in tens.items():
        for one, one_value in ones.items():
            words[ten + one] = ten_value + one_value
    return words


ONES = _words("hangul")
SMALL = _words("small")
BIG = _words("big")
HANGUL = "".join([*ONES, *SMALL, *BIG])
"""All syllables of numbers in Hangul."""

NATIVE = _native()
ENGLISH = _words("english")
ENGLISH_SCALE = _words("english_scale")

_ENGLISH_WORD = any_of([*ENGLISH, "hundred"])
ENGLISH_NUMBER = rf"(?:{_ENGLISH_WORD})(?:(?:\s|-)(?:and\s)?(?:{_ENGLISH_WORD})){{0,4}}"

TEN_THOUSAND = BIG["만"]
HUNDRED_MILLION = BIG["억"]

_MAX_DIGITS = 15
"""Longer runs of digits are no quantity, and would cost time as an integer."""

_MAX_TOKENS = 14
"""Figures and scales of one number."""

_FIGURE = re.compile(DIGITS)
_TOKEN = re.compile(rf"(?P<space>\s?)(?:(?P<digits>{DIGITS})|여?(?P<scale>[십백천만억조]))")
_NUMBER_ENDS = re.compile(r"(?![0-9a-z가-힣,.])|[.,](?![0-9])")
_CURRENCY = re.compile(r"\s?(?:원|won|krw|달러|불)")
_AMOUNT_GOES_ON = re.compile(r"\s?[0-9][0-9,.]*\s?(?:[십백천만억]|원|달러)")

_AFTER_A_SCALE_APART = re.compile(
    r"[십백천만억]?(?![가-힣])|[십백천만억]*\s?[원명건회달불]|\s?[0-9]"
)
"""A scale that stands apart from its figure (3,000 만 원) must not begin a word (90 만기)."""


@dataclass(frozen=True, slots=True)
class Number:
    """A number and where it ends.

    For one figure with scales (3천만), `lead` is the figure (3), `small` and `big` its scales (1000,
    10,000): they tell what a bare figure before it means, as in 2~3천만원. For a compound number
    `lead` is 0.
    """

    value: Value
    end: int
    lead: Value
    small: int = 1
    big: int = 1


def plain(digits: str) -> Value | None:
    """The value of digits with commas and a point; None where they are too many."""
    digits = digits.replace(",", "")
    if len(digits) > _MAX_DIGITS + 1:
        return None
    return Decimal(digits) if "." in digits else int(digits)


def tidy(value: Value) -> Value:
    """A whole number as an int, any other rounded to 6 decimals without trailing zeros."""
    if isinstance(value, int):
        return value
    rounded = round(value, 6)
    if rounded == int(rounded):
        return int(rounded)
    return rounded.normalize()


def written(value: Value) -> str:
    """The value in figures: 1500000, 3.5."""
    value = tidy(value)
    return str(value) if isinstance(value, int) else f"{value:f}"


class _Sum:
    """A number while it is read: 1억 2천3백만 is closed section by section, each part by a scale."""

    def __init__(self, lead: Value):
        self.lead = lead
        self.total: Value = 0  # the sections that 만, 억 or 조 closed
        self.section: Value = 0  # the parts of this section that 십, 백 or 천 closed
        self.figure: Value = lead  # what has no scale yet
        self.small = 1  # the last scales
        self.big = 1
        self.below_small = 10**4  # the next scales must be below these
        self.below_big = 10**16
        self.compound = False
        self.waiting = False  # for what makes the further figure part of the number

    def add_figure(self, value: Value) -> None:
        self.figure = value
        self.waiting = True
        self.compound = True

    def add_small_scale(self, scale: int) -> None:
        if self.total or self.section:
            self.compound = True
        self.section += (self.figure or 1) * scale
        self.figure = 0
        self.small = self.below_small = scale
        self.waiting = False

    def add_big_scale(self, scale: int) -> None:
        if self.total:
            self.compound = True
        self.total += ((self.section + self.figure) or 1) * scale
        self.section = 0
        self.figure = 0
        self.big = self.below_big = scale
        self.below_small = 10**4
        self.waiting = False

    def ends_with_thousands(self) -> bool:
        """Whether it is hundreds of millions, then thousands: 1억 2천."""
        scales = self.below_big == HUNDRED_MILLION and self.below_small == 1000
        return scales and not self.figure

    def number(self, value: Value, end: int) -> Number:
        lead = 0 if self.compound else self.lead
        return Number(tidy(value), end, lead, self.small, self.big)

    def compound_number(self, value: Value, end: int) -> Number:
        return Number(tidy(value), end, 0, self.small, self.big)


def read_number(text: str, start: int) -> Number | None:
    """The number that begins with the digit at `start`; None where it is too long to be one.

    Scales must fall from left to right: 1억 2천만 is one number, 3만 5만 are two. A further figure
    belongs to the number only where a scale or a currency follows it: 3만 5천원, but not 3만 90일.

    >>> read_number("1억 2천만원", 0).value, read_number("3만 90일", 0).value
    (120000000, 30000)
    """
    first = _FIGURE.match(text, start)
    lead = plain(first[0]) if first else None
    if first is None or lead is None:
        return None
    end = first.end()
    best = Number(lead, end, lead)
    reading = _Sum(lead)
    for _ in range(_MAX_TOKENS):
        token = _TOKEN.match(text, end)
        if token is None:
            break
        if token["digits"]:
            value = plain(token["digits"])
            if reading.waiting or reading.figure or value is None:
                break
            end = token.end()
            in_short = reading.below_big == HUNDRED_MILLION and not token["space"]
            if in_short and 1000 <= value < 10**4 and _NUMBER_ENDS.match(text, end):
                # 1억5000 is 150 million
                return reading.compound_number(reading.total + value * TEN_THOUSAND, end)
            reading.add_figure(value)
            if _CURRENCY.match(text, end):
                value = reading.total + reading.section + reading.figure
                best = reading.compound_number(value, end)
            continue
        if not _takes_scale(reading, token, text, start):
            break
        scale = token["scale"]
        if scale in SMALL:
            reading.add_small_scale(SMALL[scale])
        else:
            reading.add_big_scale(BIG[scale])
        end = token.end()
        best = reading.number(reading.total + reading.section, end)
    if best.end == end and reading.ends_with_thousands() and not _CURRENCY.match(text, end):
        # in speech, 1억 2천 is 120 million
        return reading.compound_number(reading.total + reading.section * TEN_THOUSAND, end)
    return best


def _takes_scale(reading: _Sum, token: re.Match[str], text: str, start: int) -> bool:
    """Whether a scale belongs to the number: smaller than those before, and no part of a word."""
    scale, end = token["scale"], token.end()
    if token["space"] and not reading.waiting and not _AFTER_A_SCALE_APART.match(text, end):
        return False
    if scale in SMALL:
        return SMALL[scale] < reading.below_small
    if BIG[scale] >= reading.below_big:
        return False
    return scale != "조" or _is_trillion(text, start, end)


def _is_trillion(text: str, start: int, end: int) -> bool:
    """조 after a figure is also the article of a law (제3조): a scale only where an amount goes on."""
    if text[start - 1 : start] == "제":
        return False
    return bool(_CURRENCY.match(text, end) or _AMOUNT_GOES_ON.match(text, end))


def hangul_value(run: str) -> int | None:
    """The value of a numeral in Hangul (삼천만, 일억 이천, 십이); None where it is none.

    >>> hangul_value("일억 이천만"), hangul_value("삼천")
    (120000000, 3000)
    >>> print(hangul_value("이사"), hangul_value("조사"))
    None None
    """
    total = 0
    section = 0
    digit: int | None = None
    below_big = 10**16
    below_small = 10**4
    for syllable in "".join(run.split()):
        if syllable in ONES:
            if digit is not None:
                return None
            digit = ONES[syllable]
        elif syllable in SMALL:
            scale = SMALL[syllable]
            if scale >= below_small:
                return None
            section += scale if digit is None else digit * scale
            digit = None
            below_small = scale
        else:
            scale = BIG[syllable]
            nothing_before = not section and not digit
            if scale >= below_big or (syllable == "조" and nothing_before):
                return None
            total += (section + (digit or 0) or 1) * scale
            section = 0
            digit = None
            below_big = scale
            below_small = 10**4
    return total + section + (digit or 0)


def english_value(words: str) -> int | None:
    """The value of an English numeral below a thousand; None where the words do not make one.

    >>> english_value("twenty-four"), english_value("one hundred and eighty")
    (24, 180)
    >>> print(english_value("two three"))
    None
    """
    total = 0
    below = 10**4  # the next word must be below this
    for word in re.split(r"[\s-]+", words):
        if word == "and":
            continue
        if word == "hundred":
            if not 0 < total < 10:
                return None
            total *= 100
            below = 100
            continue
        value = ENGLISH[word]
        is_ten = value >= 20
        if below == 10 or below < (100 if is_ten else 10):
            return None
        total += value
        below = 20 if is_ten else 10
    return total
