"""Rows of ragas: JSONL or CSV, a column a metric."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import ConfigDict

from ..core.errors import Problems
from ..core.records import csv_rows, read_jsonl, require_file
from .rows import Place, Row, Score, Unfit, made, number


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


def read(path: Path, problems: Problems) -> Iterator[tuple[Place, Score]]:
    """The other columns are metrics where they hold numbers; one that holds texts is none. Empty is not measured."""
    require_file(path, problems)
    kinds: dict[str, type] = {}

    def rows(count: int, line: Line) -> Iterator[Score]:
        text = line.user_input if isinstance(line.user_input, str) else None
        for name, value in (line.model_extra or {}).items():
            if not name or value is None or value == "":
                continue
            kind = str if isinstance(value, str | list | dict) else float
            if kinds.setdefault(name, kind) is not kind:
                wanted = "a number" if kind is str else "a text"
                raise Unfit(
                    name, f"expected {wanted} as in the rows before, got {str(value)[:80]!r}"
                )
            if kind is float:
                yield Score(id=str(count), metric=name, value=number(value, name), text=text)

    lines = (
        _csv(path, problems) if path.suffix.lower() == ".csv" else read_jsonl(path, Line, problems)
    )
    return made(lines, rows, path, problems)


def _csv(path: Path, problems: Problems) -> Iterator[tuple[Place, Line]]:
    rows = csv_rows(path, problems)
    _, header = next(rows)
    if "user_input" not in header:
        raise problems.fatal("wrong-format", "expected a column user_input", file=str(path), line=1)
    if doubled := [name for name in header if name and header.count(name) > 1]:
        message = f"expected the column {doubled[0][:80]} once"
        raise problems.fatal("wrong-columns", message, file=str(path), line=1)
    for line, cells in rows:
        yield line, Line(**dict(zip(header, map(_cell, cells))))


def _cell(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text
