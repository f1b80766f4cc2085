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
    start, end = place
    before = SENTENCE_END.split(text[max(0, start - REACH) : start])[-1].lstrip()
    after = SENTENCE_END.split(text[end : end + REACH], maxsplit=1)[0].rstrip()
    if len(before) > SHOWN:
        before = "…" + before[-SHOWN:]
    if len(after) > SHOWN:
        after = after[:SHOWN] + "…"
    return before + text[start:end] + after


def item(text: str, place: Sequence[int]) -> str:
    """What a figure at a place is said of: the words before it in its part of the sentence, or after.

    >>> item("암 진단비 3천만원, 90일 면책", (6, 10)), item("암 진단비 3천만원, 90일 면책", (12, 15))
    ('암 진단비', '면책')
    """
    start, end = place
    before = _PART_END.split(text[max(0, start - SHOWN) : start])[-1]
    after = _PART_END.split(text[end : end + SHOWN], maxsplit=1)[0]
    nearest_first = [*reversed(_FIGURE.split(before)), after]
    for words in nearest_first:
        if words.strip():
            return words.strip()
    return ""
