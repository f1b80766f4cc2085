"""ASTE triplets, ASQP and ACOS quadruples: text files with a sentence and its tuples on each line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ..core.errors import Problems
from .rows import (
    POLARITIES,
    Opinion,
    Place,
    Sample,
    Unfit,
    chosen,
    literals,
    made,
    read_lines,
    tokens,
)

NAMES = {"POS": "positive", "NEG": "negative", "NEU": "neutral"}
"""Of ASTE."""

QUAD = re.compile(r"(-?\d{1,9}),(-?\d{1,9}) (.+) ([012]) (-?\d{1,9}),(-?\d{1,9})\s*")
SENTIMENTS = ("negative", "neutral", "positive")
"""Of ACOS."""


def aste(path: Path, problems: Problems) -> Iterator[tuple[Place, Sample]]:
    """sentence####[([aspect tokens], [opinion tokens], 'POS'), ...] as tuples of aspect and polarity."""
    return _read(path, problems, "triplets", literals, _triplet)


def asqp(path: Path, problems: Problems) -> Iterator[tuple[Place, Sample]]:
    """sentence####[['aspect', 'category', 'polarity', 'opinion'], ...]; the opinion's words are left out.

    Tuples of category, aspect and polarity; NULL is implicit.
    """
    return _read(path, problems, "quadruples", literals, _quadruple)


def acos(path: Path, problems: Problems) -> Iterator[tuple[Place, Sample]]:
    """The sentence, then a tab and `a0,a1 CATEGORY s o0,o1` for each tuple of category, aspect and polarity.

    Token spans are half open, -1,-1 is implicit.
    """
    return _read(path, problems, "quadruples", _tabbed, _spans)


def _read(
    path: Path,
    problems: Problems,
    field: str,
    parts: Callable[[str, str], tuple[str, list[Any]]],
    opinion: Callable[[str, Any, str], Opinion],
) -> Iterator[tuple[Place, Sample]]:
    def sample(number: int, line: str) -> Iterator[Sample]:
        text, items = parts(line, field)
        yield Sample(
            str(number), text, tuple(opinion(text, x, f"{field}.{i}") for i, x in enumerate(items))
        )

    return made(read_lines(path, problems), sample, path, problems)


def _triplet(text: str, triplet: Any, field: str) -> Opinion:
    match triplet:
        case ([_, *_] as aspect, [*_], polarity):
            term, span = tokens(text, aspect, field)
            return Opinion("", term, chosen(polarity, NAMES, field), span)
    raise Unfit(field, f"expected ([aspect], [opinion], 'POS'), got {str(triplet)[:80]}")


def _quadruple(_: str, quad: Any, field: str) -> Opinion:
    match quad:
        case [str(aspect), str(category), polarity, str()]:
            return Opinion(
                category, "" if aspect == "NULL" else aspect, chosen(polarity, POLARITIES, field)
            )
    raise Unfit(
        field, f"expected ['aspect', 'category', 'polarity', 'opinion'], got {str(quad)[:80]}"
    )


def _tabbed(line: str, _: str) -> tuple[str, list[str]]:
    text, *quads = line.split("\t")
    if not quads:
        raise Unfit("", f"expected text, then a tab and quadruples, got {line[:80]!r}")
    return text, [q for q in quads if q.strip()]


def _spans(text: str, quad: str, field: str) -> Opinion:
    found = QUAD.fullmatch(quad)
    if not found:
        raise Unfit(field, f"expected 'a0,a1 CATEGORY s o0,o1' with s 0, 1 or 2, got {quad[:80]!r}")
    start, end = int(found[1]), int(found[2])
    implicit = (start, end) == (-1, -1)
    if not implicit and not start < end <= len(text):  # before a range of that length is made
        raise Unfit(field, f"expected a half open span of tokens, got {start},{end}")
    term, span = ("", None) if implicit else tokens(text, range(start, end), field)
    return Opinion(found[3], term, SENTIMENTS[int(found[4])], span)
