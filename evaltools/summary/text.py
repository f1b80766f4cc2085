"""Text as the rules compare it, with the way back to the positions of the original.

Source: specification D1 (Unicode NFC), D15 and D16 (full-width forms).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

_WIDE = {0xFF01 + i: chr(0x21 + i) for i in range(94)}
_SPACES = dict.fromkeys(
    [0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000, 0x0B, 0x0C, 0x85, 0x2028, 0x2029], " "
)
_DASHES = dict.fromkeys([*range(0x2010, 0x2016), 0x2212, 0xFE58, 0xFE63], "-")
_OTHER = {
    0xFFE6: "₩", 0xFFE5: "¥", 0xFFE1: "£", 0xFFE0: "¢", 0xFE6A: "%", 0x066A: "%", 0xFE69: "$",
    0x301C: "~", 0x223C: "~", 0x2018: "'", 0x2019: "'", 0x201C: '"', 0x201D: '"',
    0x3001: ",", 0x3002: ".", 0x30FB: "·", 0x318D: "·", 0x2027: "·",
}  # fmt: skip
FOLD = {**_WIDE, **_SPACES, **_DASHES, **_OTHER}
"""One character for one: full-width forms, and the many blanks, dashes and quotes, to their plain form."""

_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")


@dataclass(frozen=True, slots=True)
class Text:
    """`norm`: what is matched. `at[i]`: the place in the original of norm[i] (None: the same place)."""

    norm: str
    at: Sequence[int] | None

    def span(self, start: int, end: int) -> list[int]:
        """[start, end) of the original, in characters, for the same of `norm`."""
        return [start, end] if self.at is None else [self.at[start], self.at[end]]


def normalise(raw: str, fold: bool = True) -> Text:
    """NFC and lower case; with `fold` also full-width and look-alike characters, and invisible ones left out."""
    if raw.isascii():
        return Text(raw.lower(), None)
    text, at = raw, None
    if not unicodedata.is_normalized("NFC", raw) or (fold and _INVISIBLE.search(raw)):
        text, at = _compose(raw, fold)
    if fold:
        text = text.translate(FOLD)
    lower = text.lower()
    if len(lower) != len(text):
        lower = "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
    return Text(lower, at)


def _compose(raw: str, fold: bool) -> tuple[str, list[int]]:
    """NFC cluster by cluster (a character and what may combine with it), so that each part keeps its place."""
    out: list[str] = []
    at: list[int] = []
    start = 0
    for i in range(1, len(raw) + 1):
        if i < len(raw) and (unicodedata.combining(raw[i]) or "\u1160" <= raw[i] <= "\u11ff"):
            continue
        cluster = unicodedata.normalize("NFC", raw[start:i])
        if fold:
            cluster = _INVISIBLE.sub("", cluster)
        out.append(cluster)
        at.extend([start] * len(cluster))
        start = i
    at.append(len(raw))
    return "".join(out), at
