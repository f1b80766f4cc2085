"""Numbers as Korean and English texts write them: 1,500,000, 1.5억, 3천5백만, 삼천만, thirty.

Every reader takes a normalised text (lower case, half width) and a place in it, and looks ahead a bounded
number of characters beyond the number itself. Source: specification D16.
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
    return {
        word: int(number) for number, words in NOTATION[table].items() for word in words.split()
    }


ONES, SMALL, BIG = _words("hangul"), _words("small"), _words("big")
HANGUL = "".join([*ONES, *SMALL, *BIG])
NATIVE, ENGLISH, ENGLISH_SCALE = _words("native"), _words("english"), _words("english_scale")
NATIVE |= {
    ten + one: a + b for ten, a in NATIVE.items() for one, b in NATIVE.items() if b < 10 <= a
}
_EN_WORD = any_of([*ENGLISH, "hundred"])
ENGLISH_NUMBER = rf"(?:{_EN_WORD})(?:(?:\s|-)(?:and\s)?(?:{_EN_WORD})){{0,4}}"

_MAX_DIGITS = 15
"""Longer runs of digits are no quantity, and would cost time as an integer."""

_MAX_TOKENS = 14
_TOKEN = re.compile(rf"(?P<space>\s?)(?:(?P<digits>{DIGITS})|여?(?P<scale>[십백천만억조]))")
_NOTHING = re.compile(r"(?![0-9a-z가-힣,.])|[.,](?![0-9])")
_CURRENCY = re.compile(r"\s?(?:원|won|krw|달러|불)")
_GOES_ON = re.compile(r"\s?[0-9][0-9,.]*\s?(?:[십백천만억]|원|달러)")
# a scale that stands apart from its figure (3,000 만 원) must not be the first syllable of a word (90 만기)
_APART = re.compile(r"[십백천만억]?(?![가-힣])|[십백천만억]*\s?[원명건회달불]|\s?[0-9]")


@dataclass(frozen=True, slots=True)
class Number:
    """A number and where it ends.

    For one figure with scales (3천만), `lead` is the figure (3), `small` and `big` its scales (1000, 10,000):
    they tell what a bare figure before it means, as in 2~3천만원. For a compound number `lead` is 0.
    """

    value: Value
    end: int
    lead: Value
    small: int = 1
    big: int = 1


def plain(digits: str) -> Value | None:
    """The value of digits with commas and a point; None where they are too many to be a quantity."""
    digits = digits.replace(",", "")
    if len(digits) > _MAX_DIGITS + 1:
        return None
    return Decimal(digits) if "." in digits else int(digits)


def tidy(value: Value) -> Value:
    """A whole number as an int, any other rounded to 6 decimals without trailing zeros."""
    if isinstance(value, int):
        return value
    rounded = round(value, 6)
    return int(rounded) if rounded == int(rounded) else rounded.normalize()


def written(value: Value) -> str:
    """The value in figures: 1500000, 3.5."""
    value = tidy(value)
    return str(value) if isinstance(value, int) else f"{value:f}"


def read_number(t: str, start: int) -> Number | None:
    """The number that begins with the digit at `start`; None where it is too long to be one.

    Scales must fall from left to right: 1억 2천만 is one number, 3만 5만 are two. A further figure belongs to
    the number only where a scale or a currency follows it: 3만 5천원, but not 3만 90일.
    """
    first = _TOKEN.match(t, start)
    value = plain(first["digits"]) if first and first["digits"] else None
    if first is None or value is None:
        return None
    lead, small, big = value, 1, 1
    total: Value = 0
    section: Value = 0
    figure: Value = value
    last_small, last_big = 10**4, 10**16
    best = Number(value, first.end(), value)
    at = first.end()
    # waiting: a further figure has been read, but not yet what makes it part of the number
    compound = waiting = False
    for _ in range(_MAX_TOKENS):
        m = _TOKEN.match(t, at)
        if m is None:
            break
        if m["digits"]:
            value = plain(m["digits"])
            if waiting or figure or value is None:
                break
            if (
                last_big == BIG["억"]
                and not m["space"]
                and 1000 <= value < 10**4
                and _NOTHING.match(t, m.end())
            ):
                return Number(
                    tidy(total + value * BIG["만"]), m.end(), 0, small, big
                )  # 1억5000, in short
            figure, waiting, compound, at = value, True, True, m.end()
            if _CURRENCY.match(t, at) and last_small > 1:
                best = Number(tidy(total + section + figure), at, 0, small, big)
            continue
        c = m["scale"]
        if m["space"] and not _APART.match(t, m.end()) and not waiting:
            break
        if c in SMALL:
            if SMALL[c] >= last_small:
                break
            compound = compound or bool(total) or bool(section)
            last_small = SMALL[c]
            section, figure = section + (figure or 1) * last_small, 0
            small = last_small
        else:
            if BIG[c] >= last_big or (c == "조" and not _is_trillion(t, start, m.end())):
                break
            compound = compound or bool(total)
            total, section, figure = total + (section + figure or 1) * BIG[c], 0, 0
            last_big, last_small = BIG[c], 10**4
            big = BIG[c]
        at, waiting = m.end(), False
        best = Number(tidy(total + section), at, 0 if compound else lead, small, big)
    if (
        last_big == BIG["억"]
        and last_small == 1000
        and best.end == at
        and not figure
        and not _CURRENCY.match(t, at)
    ):
        return Number(
            tidy(total + section * BIG["만"]), at, 0, small, big
        )  # in speech, 1억 2천 is 120 million
    return best


def _is_trillion(t: str, start: int, end: int) -> bool:
    """조 after a figure is also the article of a law (제3조): it is a scale where an amount goes on."""
    return t[start - 1 : start] != "제" and bool(_CURRENCY.match(t, end) or _GOES_ON.match(t, end))


def hangul_value(run: str) -> int | None:
    """The value of a numeral in Hangul (삼천만, 일억 이천, 십이); None where it is none.

    >>> hangul_value("일억 이천만"), hangul_value("삼천"), hangul_value("이사"), hangul_value("조사")
    (120000000, 3000, None, None)
    """
    total = section = 0
    digit: int | None = None
    last_big, last_small = 10**16, 10**4
    for c in run.replace(" ", ""):
        if c in ONES:
            if digit is not None:
                return None
            digit = ONES[c]
        elif c in SMALL:
            if SMALL[c] >= last_small:
                return None
            last_small = SMALL[c]
            section += (1 if digit is None else digit) * last_small
            digit = None
        else:
            if BIG[c] >= last_big or (c == "조" and not section and not digit):
                return None
            last_big, last_small = BIG[c], 10**4
            total += (section + (digit or 0) or 1) * last_big
            section, digit = 0, None
    return total + section + (digit or 0)


def english_value(words: str) -> int | None:
    """The value of an English numeral below a thousand; None where the words do not make one.

    >>> english_value("twenty-four"), english_value("one hundred and eighty"), english_value("two three")
    (24, 180, None)
    """
    total, last = 0, 10**4
    for w in re.split(r"[\s-]+", words):
        if w == "and":
            continue
        if w == "hundred":
            if not 0 < total < 10:
                return None
            total, last = total * 100, 100
            continue
        value = ENGLISH[w]
        rank = 10 if value < 20 else 100
        if last < rank or (last == 10):
            return None
        total, last = total + value, 10 if value < 20 else 20
    return total
