"""Rows of ragas: JSONL or CSV, a column a metric."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict

from ..core.csv_files import csv_rows
from .directions import higher_is_better
from .rows import Row, Score, Scored, Unfit, number
from .source import Records, Source


class Line(Row):
    """What describes a sample; every other column is a metric, or a text."""

    model_config = ConfigDict(extra="allow")
    id: Any = None
    user_input: Any
    response: Any = None
    reference: Any = None


def read(source: Source) -> Records:
    """The other columns are metrics where they hold numbers; one that holds texts is none.

    Empty is not measured.
    """
    metrics = _metrics(source)

    def scored(count: int, line: Line) -> Scored:
        columns = line.model_extra or {}
        further = {"output": line.response, "target": line.reference}
        for name, value in columns.items():
            if not name or name in metrics:
                continue
            if isinstance(value, int | float):
                expected = "expected a text as in the rows before"
                raise Unfit(name, expected, got=value)
            further[name] = value
        scores = []
        for name in metrics:
            value = columns.get(name)
            if value == "":
                value = None
            if isinstance(value, str | list | dict):
                expected = "expected a number as in the rows before"
                raise Unfit(name, expected, got=value)
            # factual_correctness(mode=f1)
            is_higher = higher_is_better("ragas", name.partition("(")[0])
            scores.append(Score(name, number(value, name), is_higher))
        return Scored(
            id=str(count),
            scores=scores,
            text=line.user_input if isinstance(line.user_input, str) else None,
            further=further,
        )

    return source.rows(_lines(source), scored)


def _metrics(source: Source) -> list[str]:
    """The columns whose first value is a number."""
    is_number: dict[str, bool] = {}
    for line in source.first_look(_lines):
        for name, value in (line.model_extra or {}).items():
            if name and value is not None and value != "":
                is_number.setdefault(name, not isinstance(value, str | list | dict))
    metrics = []
    for name, is_metric in is_number.items():
        if is_metric:
            metrics.append(name)
    return metrics


def _lines(source: Source) -> Records:
    if source.path.suffix.lower() == ".csv":
        return _read_csv(source)
    return source.json_lines(Line)


def _read_csv(source: Source) -> Records:
    rows = csv_rows(source.path, source.problems)
    _, header = next(rows)
    if "user_input" not in header:
        raise source.fatal("wrong-format", "expected a column user_input", line=1)
    for name in header:
        if name and header.count(name) > 1:
            raise source.fatal(
                "wrong-columns",
                "expected the column {column} once",
                column=name[:80],
                line=1,
            )
    for line, cells in rows:
        values = [_value(cell) for cell in cells]
        record = dict(zip(header, values))
        yield line, Line(**record)


def _value(cell: str) -> float | str:
    try:
        return float(cell)
    except ValueError:
        return cell
