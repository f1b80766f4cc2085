"""Text as the rules compare it, character for character, and the numbers in it.

Numbers are those of Korean and English texts: 1,500,000, 1.5억, 3천5백만, 삼천만, 서른. Every reader of them takes a
normalised text (lower case, half width) and a place in it, and looks ahead a bounded number of characters beyond the
number itself. Source: specification D1 (Unicode NFC), D15 and D16 (full-width forms).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal

from ...core.files import toml_beside

NOTATION = toml_beside(__file__, "notation.toml")
"""Characters that are read as others, and the words of numbers and of what stands around them."""

_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")
_WORD = re.compile(r"\S{1,200}")
"""What is composed at once: putting n marks in order takes n² steps."""


FOLD = {0xFF01 + offset: chr(0x21 + offset) for offset in range(94)}
"""Code of a character -> the plain one that it is read as."""
for _plain, _look_alikes in NOTATION["fold"].items():
    FOLD |= dict.fromkeys(map(ord, _look_alikes), _plain)


def composed(text: str) -> str:
    """The text in NFC and without invisible characters: what is scored, shown, and counted in by every place.

    >>> composed("３천만\u200b원")
    '３천만원'
    """
    visible = _INVISIBLE.sub("", text)
    return _WORD.sub(lambda word: unicodedata.normalize("NFC", word[0]), visible)


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

Value = int | Decimal
"""Exact: 2221.3005억 is 222130050000."""


def _words(table: str) -> dict[str, int]:
    """The words of a table of notation.toml -> their numbers."""
    return {word: int(n) for n, of_n in NOTATION[table].items() for word in of_n.split()}


ONES = _words("hangul")
SMALL = _words("small")
BIG = _words("big")
SCALES = SMALL | BIG
HANGUL = "".join([*ONES, *SCALES])
"""All syllables of numbers in Hangul."""

NATIVE = _words("native")
for _ten, _n in [*NATIVE.items()]:
    if _n >= 10:
        NATIVE |= {_ten + one: _n + n for one, n in NATIVE.items() if n < 10}
"""Tens and ones stand together: 열한."""

TEN_THOUSAND = BIG["만"]
HUNDRED_MILLION = BIG["억"]

MOST_DIGITS = 16
"""Longer runs of digits are no quantity, and would cost time as an integer."""

LONGEST = 80
"""Characters of one number."""

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
    if len(digits) > MOST_DIGITS:
        return None
    return Decimal(digits) if "." in digits else int(digits)


def written(value: Value) -> str:
    """The value in figures, with at most 6 decimals: 1500000, 3.5."""
    return f"{Decimal(value):.6f}".rstrip("0").rstrip(".")


@dataclass(slots=True)
class _Sum:
    """A number while it is read: 1억 2천3백만 is closed section by section, each part by a scale."""

    figure: Value | None = None  # what has no scale yet
    section: Value = 0  # the parts of this section that 십, 백 or 천 closed
    total: Value = 0  # the sections that 만, 억 or 조 closed
    small: int = 1  # the last scales
    big: int = 1
    below: int = TEN_THOUSAND  # the next small scale must be smaller than this

    @property
    def value(self) -> Value:
        return self.total + self.section + (self.figure or 0)

    @property
    def spoken(self) -> Value:
        """The value as speech has it: hundreds of millions, then thousands (1억 2천) are 120 million."""
        in_short = self.big == HUNDRED_MILLION and self.below == 1000 and not self.figure
        return self.total + self.section * TEN_THOUSAND if in_short else self.value

    def close(self, scale: int) -> bool:
        """Close what is open by a scale, which must be smaller than those before it; False where it is not."""
        if scale < TEN_THOUSAND:
            if scale >= self.below:
                return False
            self.section += (1 if self.figure is None else self.figure) * scale
            self.small = self.below = scale
        else:
            if scale >= self.big > 1:
                return False
            self.total += (self.section + (self.figure or 0) or 1) * scale
            self.section, self.big, self.below = 0, scale, TEN_THOUSAND
        self.figure = None
        return True


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
    while (part := _PART.match(text, end)) and end - start < LONGEST:
        if part["digits"]:
            figure = plain(part["digits"])
            if reading.figure is not None or figure is None:
                break
            end = part.end()
            reading.figure = figure
            if part["currency"] is None:
                continue
        elif not reading.close(SCALES[part["scale"]]):
            break
        end = part.end()
        is_one_figure = reading.value == lead * reading.small * reading.big
        of_one = lead if is_one_figure and not part["digits"] else 0
        best = Number(
            reading.value,
            start,
            end,
            of_one,
            reading.small,
            reading.big,
        )
    if best.end == end and _NO_CURRENCY.match(text, end):
        return replace(best, value=reading.spoken)
    return best


def hangul_value(run: str, spoken: bool = False) -> Value | None:
    """The value of a numeral in Hangul (삼천만, 일억 이천, 십이); None where it is none. spoken: as speech has sums.

    >>> hangul_value("일억 이천만"), hangul_value("삼천"), hangul_value("일억 오천", spoken=True)
    (120000000, 3000, 150000000)
    >>> print(hangul_value("이사"), hangul_value("조사"))
    None None
    """
    reading = _Sum()
    for syllable in "".join(run.split()):
        if syllable in ONES:
            if reading.figure is not None:
                return None
            reading.figure = ONES[syllable]
        elif (syllable == "조" and not reading.section and not reading.figure) or not reading.close(
            SCALES[syllable]
        ):
            return None
    return reading.spoken if spoken else reading.value
