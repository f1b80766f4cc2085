"""ASQP quadruples: sentence####[['aspect', 'category', 'polarity', 'opinion'], ...]."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..core.errors import Problems
from .rows import POLARITIES, Opinion, Place, Sample, Unfit, chosen, literals, made, read_lines


def read(path: Path, problems: Problems) -> Iterator[tuple[Place, Sample]]:
    """Tuples of category, aspect and polarity; the opinion's words are no part of them. NULL is implicit."""
    return made(read_lines(path, problems), _sample, path, problems)


def _sample(number: int, line: str) -> Iterator[Sample]:
    text, quads = literals(line, "quadruples")
    yield Sample(str(number), text, tuple(_opinion(i, q) for i, q in enumerate(quads)))


def _opinion(place: int, quad: Any) -> Opinion:
    field = f"quadruples.{place}"
    match quad:
        case [str(aspect), str(category), polarity, str()]:
            return Opinion(category, "" if aspect == "NULL" else aspect, chosen(polarity, POLARITIES, field))
    raise Unfit(field, f"expected ['aspect', 'category', 'polarity', 'opinion'], got {str(quad)[:80]}")
