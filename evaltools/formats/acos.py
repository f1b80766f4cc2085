"""ACOS quadruples: text, then a tab and `a0,a1 CATEGORY s o0,o1` for each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ..core.errors import Problems
from .rows import Opinion, Place, Sample, Unfit, made, read_lines, tokens

QUAD = re.compile(r"(-?\d{1,9}),(-?\d{1,9}) (.+) ([012]) (-?\d{1,9}),(-?\d{1,9})\s*")
SENTIMENTS = ("negative", "neutral", "positive")


def read(path: Path, problems: Problems) -> Iterator[tuple[Place, Sample]]:
    """Tuples of category, aspect and polarity; token spans are half open, -1,-1 is implicit."""
    return made(read_lines(path, problems), _sample, path, problems)


def _sample(number: int, line: str) -> Iterator[Sample]:
    text, *quads = line.split("\t")
    if not quads:
        raise Unfit("", f"expected text, then a tab and quadruples, got {line[:80]!r}")
    yield Sample(str(number), text, tuple(_opinion(text, i, q) for i, q in enumerate(quads) if q.strip()))


def _opinion(text: str, place: int, quad: str) -> Opinion:
    field = f"quadruples.{place}"
    found = QUAD.fullmatch(quad)
    if not found:
        raise Unfit(field, f"expected 'a0,a1 CATEGORY s o0,o1' with s 0, 1 or 2, got {quad[:80]!r}")
    start, end = int(found[1]), int(found[2])
    if start > end or end > len(text):  # before a range of that length is made
        raise Unfit(field, f"expected a half open span of tokens, got {start},{end}")
    term, span = ("", None) if (start, end) == (-1, -1) else tokens(text, range(start, end), field)
    return Opinion(found[3], term, SENTIMENTS[int(found[4])], span)
