"""Text as the rules compare it, with the way back to the positions of the original.

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

FOLD = {0xFF01 + i: chr(0x21 + i) for i in range(94)}
FOLD |= {ord(c): plain for plain, alike in NOTATION["fold"].items() for c in alike}
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


def any_of(words: Iterable[str]) -> str:
    """A regular expression of words, the longest first."""
    return "|".join(sorted(words, key=len, reverse=True))


def pattern(kind: str, form: str = "forms", **parts: str) -> str:
    """The pattern of a notation, of bounded length: its forms, or that `form`, with what its {PARTS} stand for."""
    given = NOTATION[kind][form]
    out = given if isinstance(given, str) else "|".join(given)
    for name, part in {**NOTATION[kind].get("parts", {}), **parts}.items():
        out = out.replace(f"{{{name}}}", part)
    return out


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
