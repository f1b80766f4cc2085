"""Text as the rules compare it, character for character, and the numbers in it.

Numbers are those of Korean and English texts: 1,500,000, 1.5억, 3천5백만, 삼천만, 서른. Every reader of them takes a
normalised text (lower case, half width) and a place in it, and looks ahead a bounded number of characters beyond the
number itself. Source: specification D1 (Unicode NFC), D15 and D16 (full-width forms).
"""

import re
import unicodedata
from collections.abc import Iterable
from decimal import Decimal
from operator import itemgetter
from typing import NamedTuple

from ...core.files import toml_of_package

# characters that are read as others, and the words of numbers and of what stands around them
NOTATION = toml_of_package("suites/summary/notation.toml")

# characters that nobody sees
INVISIBLE = "[\u00ad\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]"

# code of a character -> the plain one that it is read as
FOLD = {0xFF01 + offset: chr(0x21 + offset) for offset in range(94)}
for _plain, _look_alikes in NOTATION["fold"].items():
    FOLD |= dict.fromkeys(map(ord, _look_alikes), _plain)


def composed(text: str) -> str:
    """The text in NFC and without invisible characters: what is scored, shown, and counted in by every place.

    >>> composed("３천만\u200b원")
    '３천만원'
    """
    text = re.sub(INVISIBLE, "", text)
    # a word at once: putting n marks in order takes n² steps
    return re.sub(r"\S{1,200}", lambda word: unicodedata.normalize("NFC", word[0]), text)


def normalise(text: str, fold: bool = True) -> str:
    """A composed text in lower case, as long as it was; with `fold` also plain characters for look-alikes.

    >>> normalise("３천만원 KRW")
    '3천만원 krw'
    """
    if fold:
        text = text.translate(FOLD)
    return text.replace("İ", "i").lower()  # the one letter whose lower case is longer


def any_of(words: Iterable[str]) -> str:
    """A regular expression of words, the longest first."""
    return "|".join(sorted(words, key=len, reverse=True))


Match = re.Match[str]

# exact: 2221.3005억 is 222130050000
Value = int | Decimal


def _words(table: str) -> dict[str, int]:
    """The words of a table of notation.toml -> their numbers."""
    return {word: int(n) for n, of_n in NOTATION[table].items() for word in of_n.split()}


ONES = _words("hangul")
SMALL = _words("small")
BIG = _words("big")
SCALES = SMALL | BIG
# all syllables of numbers in Hangul
HANGUL = "".join(ONES | SCALES)

NATIVE = _words("native")
for _ten, _n in [*NATIVE.items()]:
    if _n >= 10:
        # tens and ones stand together: 열한
        NATIVE |= {_ten + one: _n + n for one, n in NATIVE.items() if n < 10}

TEN_THOUSAND = BIG["만"]

# longer runs of digits are no quantity, and would cost time as an integer
MOST_DIGITS = 16

# characters of one number
LONGEST = 80

# atomic groups: a possessive group that fails half-way keeps what it had matched in Python before 3.11.5
DIGITS = r"[0-9]++(?>(?:,[0-9]{3}(?![0-9]))*)(?>(?:\.[0-9]++)?)"
_CURRENCY = r"\s?(?:원|won|krw|달러|불)"
_SCALE = rf"(?:[십백천만억]|조(?={_CURRENCY}|\s?[0-9][0-9,.]*\s?(?:[십백천만억]|원|달러)))"  # 제3조 is no scale
_FIGURE = re.compile(DIGITS)
_PART = re.compile(
    rf"\s?(?P<digits>{DIGITS})(?P<currency>(?={_CURRENCY}))?"
    # a scale that stands apart (3,000 만 원) must not begin a word (90 만기)
    rf"|(?:여|\s(?=여?[십백천만억조](?:[십백천만억]?(?![가-힣])|[십백천만억]*\s?[원명건회달불]|\s?[0-9]))여?)?(?P<scale>{_SCALE})"
)
_NO_CURRENCY = re.compile(f"(?!{_CURRENCY})")


class Number(NamedTuple):
    """A number at [start, end).

    lead: the figure of one with scales (the 3 of 3천만): it tells what a bare figure before the number means, as in
    2~3천만원. 0 for a number of several figures.
    """

    value: Value
    start: int
    end: int
    lead: Value


def plain(digits: str) -> Value | None:
    """The value of digits with commas and a point; None where they are too many."""
    digits = digits.replace(",", "")
    if len(digits) > MOST_DIGITS:
        return None
    return Decimal(digits) if "." in digits else int(digits)


def written(value: Value) -> str:
    """The value in figures, with at most 6 decimals: 1500000, 3.5."""
    return f"{Decimal(value):.6f}".rstrip("0").rstrip(".")


_FALLING = sorted(SCALES.items(), key=itemgetter(1), reverse=True)


def number_value(text: str, spoken: bool = False) -> Value | None:
    """The value of a number with scales; None where it is none, or they do not fall. spoken: as speech has sums.

    >>> number_value("일억 이천만"), number_value("3천5백"), number_value("일억 오천", spoken=True)
    (120000000, 3500, 150000000)
    >>> print(number_value("이사"), number_value("조사"), number_value("3만 5만"))
    None None None
    """
    text = text.strip()
    # hundreds of millions, then thousands: speech leaves 만 out (1억 2천 is 120 million)
    if spoken and re.search("억[^만조]*천$", text):
        text += "만"
    for word, scale in _FALLING:
        head, is_there, rest = text.partition(word)
        if is_there:
            times = number_value(head) if head or word == "조" else 1
            more = number_value(rest) if rest else 0
            smaller = SMALL if word in BIG else {}
            falls = smaller.keys() >= SCALES.keys() & set(head)
            if times is None or more is None or more >= scale or not falls:
                return None
            return times * scale + more
    return ONES.get(text, plain(text) if _FIGURE.fullmatch(text) else None)


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
    while (part := _PART.match(text, end)) and end - start < LONGEST:
        end = part.end()
        if part["digits"] and part["currency"] is None:
            continue
        is_spoken = _NO_CURRENCY.match(text, end) and not _PART.match(text, end)
        value = number_value(text[start:end].replace("여", ""), spoken=bool(is_spoken))
        if value is None:
            break
        best = Number(value, start, end, 0 if _FIGURE.search(text, first.end(), end) else lead)
    return best
