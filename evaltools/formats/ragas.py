"""Rows of ragas: JSONL or CSV, a column a metric."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict

from ..core.csv_files import csv_rows
from .directions import higher_is_better
from .rows import Row, Score, Scored, number
from .source import Records, Source


class Line(Row):
    """What describes a sample; every other column is a metric, or a text."""

    model_config = ConfigDict(extra="allow")
    id: Any = None
    user_input: Any
    response: Any = None
    reference: Any = None

    @property
    def columns(self) -> dict[str, Any]:
        """The other columns that hold something."""
        columns = self.model_extra or {}
        return {name: value for name, value in columns.items() if name and value not in (None, "")}


def read(source: Source) -> Records:
    """The other columns are metrics where any of their values is a number; empty is not measured."""
    metrics: dict[str, None] = {}
    for line in source.first_look(_lines):
        for name, value in line.columns.items():
            if isinstance(value, int | float):
                metrics[name] = None

    def scored(
        count: int,
        line: Line,
    ) -> Scored:
        columns = line.columns
        scores = []
        for name in metrics:
            # factual_correctness(mode=f1)
            is_higher = higher_is_better("ragas", name.partition("(")[0])
            scores.append(Score(name, number(columns.pop(name, None), name), is_higher))
        return Scored(
            id=str(count),
            scores=scores,
            text=line.user_input if isinstance(line.user_input, str) else None,
            further={"output": line.response, "target": line.reference, **columns},
        )

    return source.rows(_lines(source), scored)


def _lines(source: Source) -> Records:
    if source.path.suffix.lower() != ".csv":
        yield from source.json_lines(Line)
        return
    rows = csv_rows(source.path, source.problems)
    _, header = next(rows)
    if "user_input" not in header:
        raise source.fatal("wrong-format", "expected a column user_input", line=1)
    for line, cells in rows:
        values: dict[str, Any] = {}
        for name, cell in zip(header, cells):
            # an answer of "007" is no number
            values[name] = cell if name in Line.model_fields else _value(cell)
        yield line, Line(**values)


def _value(cell: str) -> float | str:
    try:
        return float(cell)
    except ValueError:
        return cell
