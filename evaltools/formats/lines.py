"""ASTE triplets, ASQP and ACOS quadruples: text files with a sentence and its tuples on each line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from .rows import POLARITIES, Opinion, Sample, Unfit, chosen, literals, tokens
from .source import Place, Source

ASTE_POLARITIES = {"POS": "positive", "NEG": "negative", "NEU": "neutral"}

ACOS_TUPLE = re.compile(r"(-?\d{1,9}),(-?\d{1,9}) (.+) ([012]) (-?\d{1,9}),(-?\d{1,9})\s*")
ACOS_POLARITIES = ("negative", "neutral", "positive")


def aste(source: Source) -> Iterator[tuple[Place, Sample]]:
    """sentence####[([aspect tokens], [opinion tokens], 'POS'), ...] as tuples of aspect and polarity."""
    return _read(source, "triplets", literals, _aste_opinion)


def asqp(source: Source) -> Iterator[tuple[Place, Sample]]:
    """sentence####[['aspect', 'category', 'polarity', 'opinion'], ...]; the opinion's words are left out.

    Tuples of category, aspect and polarity; NULL is implicit.
    """
    return _read(source, "quadruples", literals, _asqp_opinion)


def acos(source: Source) -> Iterator[tuple[Place, Sample]]:
    """The sentence, then a tab and `a0,a1 CATEGORY s o0,o1` for each tuple of category, aspect and polarity.

    Token spans are half open, -1,-1 is implicit.
    """
    return _read(source, "quadruples", _split_at_tabs, _acos_opinion)


def _read(
    source: Source,
    field: str,
    split: Callable[[str, str], tuple[str, list[Any]]],
    opinion_of: Callable[[str, Any, str], Opinion],
) -> Iterator[tuple[Place, Sample]]:
    """Samples of lines that `split` cuts into a sentence and items, of which `opinion_of` makes tuples."""

    def sample(number: int, line: str) -> Iterator[Sample]:
        text, items = split(line, field)
        opinions = []
        for index, item in enumerate(items):
            opinions.append(opinion_of(text, item, f"{field}.{index}"))
        yield Sample(str(number), text, tuple(opinions))

    return source.rows(source.lines(), sample)


def _aste_opinion(text: str, triplet: Any, field: str) -> Opinion:
    match triplet:
        case ([_, *_] as aspect, [*_], polarity):
            term, span = tokens(text, aspect, field)
            return Opinion("", term, chosen(polarity, ASTE_POLARITIES, field), span)
    raise Unfit(field, f"expected ([aspect], [opinion], 'POS'), got {str(triplet)[:80]}")


def _asqp_opinion(_: str, quad: Any, field: str) -> Opinion:
    match quad:
        case [str(aspect), str(category), polarity, str()]:
            term = "" if aspect == "NULL" else aspect
            return Opinion(category, term, chosen(polarity, POLARITIES, field))
    shape = "['aspect', 'category', 'polarity', 'opinion']"
    raise Unfit(field, f"expected {shape}, got {str(quad)[:80]}")


def _split_at_tabs(line: str, _: str) -> tuple[str, list[str]]:
    text, *quads = line.split("\t")
    if not quads:
        raise Unfit("", f"expected text, then a tab and quadruples, got {line[:80]!r}")
    return text, [quad for quad in quads if quad.strip()]


def _acos_opinion(text: str, quad: str, field: str) -> Opinion:
    match = ACOS_TUPLE.fullmatch(quad)
    if match is None:
        raise Unfit(field, f"expected 'a0,a1 CATEGORY s o0,o1' with s 0, 1 or 2, got {quad[:80]!r}")
    start, end = int(match[1]), int(match[2])
    ref, polarity = match[3], ACOS_POLARITIES[int(match[4])]
    if (start, end) == (-1, -1):
        return Opinion(ref, "", polarity)
    if not start < end <= len(text):  # checked before a range of that length is made
        raise Unfit(field, f"expected a half open span of tokens, got {start},{end}")
    term, span = tokens(text, range(start, end), field)
    return Opinion(ref, term, polarity, span)
