"""What stands around a place of a text, for a reader."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .wording import REACH, SENTENCE_END

SHOWN = 40
"""Characters of a sentence that are shown on either side of a place in it."""

_PART_END = re.compile(r"[,;:!?()\[\]/\n·→]|\.\s")
_FIGURE = re.compile(r"[0-9]\S*\s")


def around(text: str, place: Sequence[int]) -> str:
    """The sentence around a place [start, end), cut with … beyond SHOWN characters on either side.

    >>> around("A. The limit is 5 million won. B.", (16, 29))
    'The limit is 5 million won'
    """
    before, words, after = _cut(text, place, REACH)
    before = SENTENCE_END.split(before)[-1].lstrip()
    after = SENTENCE_END.split(after, maxsplit=1)[0].rstrip()
    if len(before) > SHOWN:
        before = "…" + before[-SHOWN:]
    if len(after) > SHOWN:
        after = after[:SHOWN] + "…"
    return before + words + after


def item(text: str, place: Sequence[int]) -> str:
    """What a figure at a place is said of: the words before it in its part of a sentence, or after.

    >>> item("암 진단비 3천만원, 90일 면책", (6, 10)), item("암 진단비 3천만원, 90일 면책", (12, 15))
    ('암 진단비', '면책')
    """
    before, _, after = _cut(text, place, SHOWN)
    before = _PART_END.split(before)[-1]
    after = _PART_END.split(after, maxsplit=1)[0]
    nearest_first = _FIGURE.split(before)
    nearest_first.reverse()
    nearest_first.append(after)
    for words in nearest_first:
        words = words.strip()
        if words:
            return words
    return ""


def _cut(
    text: str,
    place: Sequence[int],
    reach: int,
) -> tuple[str, str, str]:
    """The text before a place, at it and after it, at most `reach` characters on either side."""
    start, end = place
    first = max(0, start - reach)
    last = end + reach
    return text[first:start], text[start:end], text[end:last]
