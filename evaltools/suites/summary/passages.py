"""What stands around a place of a text, for a reader."""

from __future__ import annotations

from collections.abc import Sequence

from .wording import REACH, SENTENCE_END


def around(
    text: str,
    place: Sequence[int],
    shown: int = 40,
) -> str:
    """The sentence around a place [start, end), cut with … beyond `shown` characters on either side.

    >>> around("A. The limit is 5 million won. B.", (16, 29))
    'The limit is 5 million won'
    >>> around("A. The limit is 5 million won. B.", (16, 29), shown=3)
    '…is 5 million won'
    """
    start, end = place
    before = SENTENCE_END.split(text[max(0, start - REACH) : start])[-1].lstrip()
    after = SENTENCE_END.split(text[end : end + REACH], maxsplit=1)[0].rstrip()
    if len(before) > shown:
        before = "…" + before[-shown:]
    if len(after) > shown:
        after = after[:shown] + "…"
    return before + text[start:end] + after
