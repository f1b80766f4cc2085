"""Rows of ragas: JSONL or CSV, a column a metric."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import ConfigDict

from ..core.errors import Problems
from ..core.jsonl import read_jsonl, require_file
from .rows import LITERAL_BYTES, Place, Row, Score, Unfit, made, number


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
                raise Unfit(name, f"expected {wanted} as in the rows before, got {str(value)[:80]!r}")
            if kind is float:
                yield Score(id=str(count), metric=name, value=number(value, name), text=text)

    lines = _csv(path, problems) if path.suffix.lower() == ".csv" else read_jsonl(path, Line, problems)
    return made(lines, rows, path, problems)


def _csv(path: Path, problems: Problems) -> Iterator[tuple[Place, Line]]:
    csv.field_size_limit(LITERAL_BYTES)
    with path.open(encoding="utf-8-sig", newline="") as f:
        table = csv.DictReader(iter(partial(f.readline, LITERAL_BYTES), ""), strict=True)
        try:
            if "user_input" not in (table.fieldnames or ()):
                raise problems.fatal("wrong-format", "expected a column user_input", file=str(path), line=1)
            for cells in table:
                if None in cells or None in cells.values():
                    message = f"expected {len(table.fieldnames or ())} cells, as the header has"
                    problems.error("bad-row", message, file=str(path), line=table.line_num)
                else:
                    yield table.line_num, Line(**{k: _cell(v) for k, v in cells.items()})
        except (csv.Error, UnicodeDecodeError) as e:
            raise problems.fatal("bad-csv", f"not CSV: {e}", file=str(path), line=table.line_num + 1) from None


def _cell(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text
