"""NIKL (National Institute of Korean Language) aspect-based sentiment: JSONL, gold and baseline predictions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..core.errors import Problems
from ..core.records import read_jsonl, require_file
from .rows import POLARITIES, Opinion, Place, Row, Sample, Unfit, chosen, made


class Line(Row):
    id: str | int | None = None
    sentence_form: str
    annotation: list[Any]


def read(path: Path, problems: Problems) -> Iterator[tuple[Place, Sample]]:
    """[category, [term, start, end], polarity], or of predictions [category, polarity]; a null term is implicit."""
    require_file(path, problems)
    return made(read_jsonl(path, Line, problems, id_field="id"), _sample, path, problems)


def _sample(number: int, line: Line) -> Iterator[Sample]:
    opinions = tuple(_opinion(i, item) for i, item in enumerate(line.annotation))
    yield Sample(str(number if line.id is None else line.id), line.sentence_form, opinions)


def _opinion(place: int, item: Any) -> Opinion:
    field = f"annotation.{place}"
    match item:
        case [str(ref), [str(term), int(start), int(end)], str(polarity)]:
            return Opinion(ref, term, chosen(polarity, POLARITIES, field), (start, end))
        case [str(ref), [None, *_], str(polarity)] | [str(ref), str(polarity)]:
            return Opinion(ref, "", chosen(polarity, POLARITIES, field))
    shape = "[category, [term, start, end], polarity] or [category, polarity]"
    raise Unfit(field, f"expected {shape}, got {str(item)[:80]}")
