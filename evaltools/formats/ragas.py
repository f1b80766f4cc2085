"""Rows of ragas: JSONL or CSV, a column a metric."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import ConfigDict

from ..core.records import csv_rows
from .rows import Row, Score, Unfit, number
from .source import Records, Source


class Line(Row):
    """What describes a sample; every other column is a metric, or a text."""

    model_config = ConfigDict(extra="allow")
    id: Any = None
    user_input: Any = None
    response: Any = None
    reference: Any = None
    persona_name: Any = None
    query_style: Any = None
    query_length: Any = None
    synthesizer_name: Any = None


def read(source: Source) -> Records:
    """The other columns are metrics where they hold numbers; one that holds texts is none.

    Empty is not measured.
    """
    holds_text: dict[str, bool] = {}

    def scores(count: int, line: Line) -> Iterator[Score]:
        text = line.user_input if isinstance(line.user_input, str) else None
        for name, value in (line.model_extra or {}).items():
            if not name or value is None or value == "":
                continue
            is_text = isinstance(value, str | list | dict)
            if holds_text.setdefault(name, is_text) != is_text:
                wanted = "a number" if is_text else "a text"
                message = f"expected {wanted} as in the rows before, got {str(value)[:80]!r}"
                raise Unfit(name, message)
            if not is_text:
                yield Score(
                    id=str(count),
                    metric=name,
                    value=number(value, name),
                    text=text,
                )

    is_csv = source.path.suffix.lower() == ".csv"
    lines = _read_csv(source) if is_csv else source.json_lines(Line)
    return source.rows(lines, scores)


def _read_csv(source: Source) -> Records:
    rows = csv_rows(source.path, source.problems)
    _, header = next(rows)
    if "user_input" not in header:
        raise source.fatal("wrong-format", "expected a column user_input", line=1)
    for name in header:
        if name and header.count(name) > 1:
            raise source.fatal("wrong-columns", f"expected the column {name[:80]} once", line=1)
    for line, cells in rows:
        values = [_value(cell) for cell in cells]
        yield line, Line(**dict(zip(header, values)))


def _value(cell: str) -> float | str:
    try:
        return float(cell)
    except ValueError:
        return cell
