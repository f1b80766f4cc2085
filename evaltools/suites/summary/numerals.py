"""Numbers as Korean and English texts write them: 1,500,000, 1.5억, 3천5백만, 삼천만, thirty.

Every reader takes a normalised text (lower case, half width) and a place in it, and looks ahead a
bounded number of characters beyond the number itself. Source: specification D16.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from decimal import Decimal

from .text import NOTATION

Value = int | Decimal
"""Exact: 2221.3005억 is 222130050000."""

# atomic groups: a possessive group that fails half-way keeps what it had matched in Python before 3.11.5
DIGITS = r"[0-9]++(?>(?:,[0-9]{3}(?![0-9]))*)(?>(?:\.[0-9]++)?)"


def _words(table: str) -> dict[str, int]:
    """The words of a table of notation.toml -> their numbers."""
    numbers = {}
    for number, words in NOTATION[table].items():
        for word in words.split():
            numbers[word] = int(number)
    return numbers


def _below_hundred(
    table: str,
    least_ten: int,
    *joints: str,
) -> dict[str, int]:
    """The words of a table, and its tens and ones put together: 열한, 스물두, twenty-four.

    least_ten: the smallest number that ones may follow. joints: what may stand between the two.
    """
    words = _words(table)
    numbers = dict(words)
    for ten, ten_value in words.items():
        for one, one_value in words.items():
            if ten_value >= least_ten and 0 < one_value < 10:
                for joint in joints:
                    numbers[ten + joint + one] = ten_value + one_value
    return numbers


ONES = _words("hangul")
SMALL = _words("small")
BIG = _words("big")
HANGUL = "".join([*ONES, *SMALL, *BIG])
"""All syllables of numbers in Hangul."""

NATIVE = _below_hundred("native", 10, "")
ENGLISH = _below_hundred("english", 20, "-", " ")
ENGLISH_SCALE = _words("english_scale")

SCALES = SMALL | BIG
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
    """A number at [start, end).

    For one figure with scales (3천만), `lead` is the figure (3), `small` and `big` its scales (1000,
    10,000): they tell what a bare figure before it means, as in 2~3천만원. For a compound number
    `lead` is 0.
    """

    value: Value
    start: int
    end: int
    lead: Value = 0
    small: int = 1
    big: int = 1


def plain(digits: str) -> Value | None:
    """The value of digits with commas and a point; None where they are too many."""
    digits = digits.replace(",", "")
    if len(digits) > _MAX_DIGITS + 1:
        return None
    return Decimal(digits) if "." in digits else int(digits)


def written(value: Value) -> str:
    """The value in figures, with at most 6 decimals: 1500000, 3.5."""
    return f"{Decimal(value):.6f}".rstrip("0").rstrip(".")


class _Sum:
    """A number while it is read: 1억 2천3백만 is closed section by section, each part by a scale."""

    def __init__(self, figure: Value | None = None):
        self.total: Value = 0  # the sections that 만, 억 or 조 closed
        self.section: Value = 0  # the parts of this section that 십, 백 or 천 closed
        self.figure = figure  # what has no scale yet
        self.small = 1  # the last scales
        self.big = 1
        self.below_small = TEN_THOUSAND  # the next small scale must be below this

    @property
    def value(self) -> Value:
        return self.total + self.section + (self.figure or 0)

    def takes(self, scale: int) -> bool:
        """Whether a scale may follow: they fall from left to right, and begin anew in a section."""
        if scale < TEN_THOUSAND:
            return scale < self.below_small
        return scale < self.big or self.big == 1

    def add_scale(self, scale: int) -> None:
        if scale < TEN_THOUSAND:
            self.section += (1 if self.figure is None else self.figure) * scale
            self.small = self.below_small = scale
        else:
            self.total += (self.section + (self.figure or 0) or 1) * scale
            self.section = 0
            self.big = scale
            self.below_small = TEN_THOUSAND
        self.figure = None

    @property
    def spoken(self) -> Value:
        """The value as speech has it: hundreds of millions, then thousands (1억 2천) are 120 million."""
        in_short = self.big == HUNDRED_MILLION and self.below_small == 1000 and not self.figure
        return self.total + self.section * TEN_THOUSAND if in_short else self.value


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
    best = Number(lead, start, end, lead)
    reading = _Sum(lead)
    for _ in range(_MAX_TOKENS):
        token = _TOKEN.match(text, end)
        if token is None:
            break
        if token["digits"]:
            value = plain(token["digits"])
            if reading.figure is not None or value is None:
                break
            end = token.end()
            in_short = reading.big == HUNDRED_MILLION and not token["space"]
            if in_short and 1000 <= value < TEN_THOUSAND and _NUMBER_ENDS.match(text, end):
                # 1억5000 is 150 million
                total = reading.total + value * TEN_THOUSAND
                return Number(total, start, end, 0, reading.small, reading.big)
            reading.figure = value
            if _CURRENCY.match(text, end):
                best = Number(reading.value, start, end, 0, reading.small, reading.big)
            continue
        if not _takes_scale(reading, token, text, start):
            break
        reading.add_scale(SCALES[token["scale"]])
        end = token.end()
        is_one_figure = reading.value == lead * reading.small * reading.big
        single = lead if is_one_figure else 0
        best = Number(reading.value, start, end, single, reading.small, reading.big)
    if best.end == end and not _CURRENCY.match(text, end):
        return replace(best, value=reading.spoken)
    return best


def _takes_scale(
    reading: _Sum,
    token: re.Match[str],
    text: str,
    start: int,
) -> bool:
    """Whether a scale belongs to the number: smaller than those before, and no part of a word."""
    scale, end = token["scale"], token.end()
    if token["space"] and not _AFTER_A_SCALE_APART.match(text, end):
        return False
    if not reading.takes(SCALES[scale]):
        return False
    return scale != "조" or _is_trillion(text, start, end)


def _is_trillion(
    text: str,
    start: int,
    end: int,
) -> bool:
    """조 after a figure is also the article of a law (제3조): a scale only where an amount goes on."""
    if text[start - 1 : start] == "제":
        return False
    return bool(_CURRENCY.match(text, end) or _AMOUNT_GOES_ON.match(text, end))


def hangul_value(run: str) -> Value | None:
    """The value of a numeral in Hangul (삼천만, 일억 이천, 십이); None where it is none.

    >>> hangul_value("일억 이천만"), hangul_value("삼천")
    (120000000, 3000)
    >>> print(hangul_value("이사"), hangul_value("조사"))
    None None
    """
    reading = _hangul(run)
    return reading.value if reading else None


def _hangul(run: str) -> _Sum | None:
    reading = _Sum()
    for syllable in "".join(run.split()):
        if syllable in ONES:
            if reading.figure is not None:
                return None
            reading.figure = ONES[syllable]
            continue
        nothing_before = not reading.section and not reading.figure
        if not reading.takes(SCALES[syllable]) or (syllable == "조" and nothing_before):
            return None
        reading.add_scale(SCALES[syllable])
    return reading


def spoken_sum(run: str) -> Value | None:
    """The value of a sum in Hangul without its unit, as speech has it; None where it need be none.

    >>> spoken_sum("오백만"), spoken_sum("일억 오천")
    (5000000, 150000000)
    >>> print(spoken_sum("이만"))
    None
    """
    is_large = "억" in run[1:] or ("만" in run and any(scale in run for scale in SMALL))
    reading = _hangul(run) if is_large else None
    return reading.spoken if reading else None
