"""Text as the rules compare it, with the way back to the places of the original.

Source: specification D1 (Unicode NFC), D15 and D16 (full-width forms).
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NOTATION: dict[str, Any] = tomllib.loads(
    Path(__file__).with_name("notation.toml").read_text(encoding="utf-8")
)
"""Characters that are read as others, and the words of numbers and of what stands around them."""

LONGEST_CLUSTER = 32
"""Characters that are composed together: one and the marks on it. No language needs as many."""

_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")


def _fold_table() -> dict[int, str]:
    """Code of a character -> the plain one that it is read as."""
    table = {}
    for offset in range(94):
        table[0xFF01 + offset] = chr(0x21 + offset)
    for plain, look_alikes in NOTATION["fold"].items():
        for character in look_alikes:
            table[ord(character)] = plain
    return table


FOLD = _fold_table()


@dataclass(frozen=True, slots=True)
class Text:
    """A text in normal form.

    norm: what is matched. places[i]: where in the original norm[i] stands; None: at the same place.
    """

    norm: str
    places: Sequence[int] | None

    def span(
        self,
        start: int,
        end: int,
    ) -> list[int]:
        """[start, end) of the original, in characters, for the same of `norm`."""
        if self.places is None:
            return [start, end]
        return [self.places[start], self.places[end]]


def normalise(raw: str, fold: bool = True) -> Text:
    """NFC and lower case; with `fold` also plain characters for look-alikes, and no invisible ones.

    >>> normalise("３천만\u200b원").norm
    '3천만원'
    >>> normalise("３천만\u200b원").span(3, 4)
    [4, 5]
    """
    if raw.isascii():
        return Text(raw.lower(), None)
    text = raw
    places = None
    invisible = fold and _INVISIBLE.search(raw)
    if invisible or not unicodedata.is_normalized("NFC", raw):
        text, places = _compose(raw, fold)
    if fold:
        text = text.translate(FOLD)
    return Text(text.replace("İ", "i").lower(), places)  # the one letter whose lower case is longer


def _compose(raw: str, fold: bool) -> tuple[str, list[int]]:
    """NFC cluster by cluster (a character and what combines with it), so that each keeps its place.

    Clusters are of bounded length: putting n marks in order takes n² steps.
    """
    composed: list[str] = []
    places: list[int] = []
    start = 0
    for end in range(1, len(raw) + 1):
        if end < len(raw) and _combines(raw[end]) and end - start < LONGEST_CLUSTER:
            continue
        cluster = unicodedata.normalize("NFC", raw[start:end])
        if fold:
            cluster = _INVISIBLE.sub("", cluster)
        composed.append(cluster)
        places.extend([start] * len(cluster))
        start = end
    places.append(len(raw))
    return "".join(composed), places


def _combines(character: str) -> bool:
    """Whether a character joins the one before it: a mark, or a vowel or final of Hangul."""
    return unicodedata.combining(character) > 0 or "\u1160" <= character <= "\u11ff"


def any_of(words: Iterable[str]) -> str:
    """A regular expression of words, the longest first."""
    return "|".join(sorted(words, key=len, reverse=True))
