"""Aspect-based sentiment of NIKL (National Institute of Korean Language): JSONL.

Gold, and predictions of the baseline.
"""

from __future__ import annotations

from typing import Any

from .rows import POLARITIES, Row, Sample, Unfit, chosen, opinion
from .source import Records, Source


class Line(Row):
    """A sentence with its tuples."""

    id: str | int | None = None
    sentence_form: str
    annotation: list[Any]


def read(source: Source) -> Records:
    """[category, [term, start, end], polarity], or of predictions [category, polarity].

    A null term is implicit.
    """
    return source.rows(source.json_lines(Line, id_field="id"), _sample)


def _sample(
    number: int,
    line: Line,
) -> Sample:
    opinions = []
    for index, item in enumerate(line.annotation):
        field = f"annotation.{index}"
        opinions.append(_opinion(item, field))
    id_ = number if line.id is None else line.id
    return Sample(str(id_), line.sentence_form, opinions)


def _opinion(
    item: Any,
    field: str,
) -> dict[str, Any]:
    term = ""
    span = None
    match item:
        case [
            str(ref),
            [str(term), int(start), int(end)],
            str(sentiment),
        ]:
            span = (start, end)
        case [str(ref), [None, *_], str(sentiment)] | [str(ref), str(sentiment)]:
            pass
        case _:
            shape = "[category, [term, start, end], polarity] or [category, polarity]"
            raise Unfit(field, f"expected {shape}", got=item)
    polarity = chosen(sentiment, POLARITIES, field)
    return opinion(ref, term, polarity, span)
