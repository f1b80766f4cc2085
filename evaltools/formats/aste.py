"""ASTE triplets: sentence####[([aspect tokens], [opinion tokens], 'POS'), ...]."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..core.errors import Problems
from .rows import Opinion, Place, Sample, Unfit, chosen, literals, made, read_lines, tokens

NAMES = {"POS": "positive", "NEG": "negative", "NEU": "neutral"}


def read(path: Path, problems: Problems) -> Iterator[tuple[Place, Sample]]:
    """Tuples of aspect and polarity; what the opinion's words are is no part of them."""
    return made(read_lines(path, problems), _sample, path, problems)


def _sample(number: int, line: str) -> Iterator[Sample]:
    text, triplets = literals(line, "triplets")
    yield Sample(str(number), text, tuple(_opinion(text, i, t) for i, t in enumerate(triplets)))


def _opinion(text: str, place: int, triplet: Any) -> Opinion:
    field = f"triplets.{place}"
    match triplet:
        case ([*aspect], [*_], polarity) if isinstance(triplet, tuple | list):
            term, span = tokens(text, aspect, field)
            return Opinion("", term, chosen(polarity, NAMES, field), span)
    raise Unfit(field, f"expected ([aspect], [opinion], 'POS'), got {str(triplet)[:80]}")
