"""What stands around a place of a text, for a reader."""

from __future__ import annotations

from collections.abc import Sequence

from .wording import REACH, SENTENCE_END

SHOWN = 40
"""Characters of a sentence that are shown on either side of a place in it."""


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
