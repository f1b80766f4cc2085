"""Rows of ragas: JSONL or CSV, a column a metric."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import ConfigDict

from ..core.records import csv_rows
from .directions import higher_is_better
from .rows import Row, Score, Unfit, further_columns, number
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
    metrics = _metrics(source)

    def scores(count: int, line: Line) -> Iterator[Score]:
        text = line.user_input if isinstance(line.user_input, str) else None
        fields = line.model_extra or {}
        of_sample = {
            "output": line.response,
            "target": line.reference,
            "persona_name": line.persona_name,
            "query_style": line.query_style,
            "synthesizer_name": line.synthesizer_name,
        }
        texts = {name: value for name, value in fields.items() if name and name not in metrics}
        for name, value in texts.items():
            if isinstance(value, int | float):
                message = f"expected a text as in the rows before, got {str(value)[:80]!r}"
                raise Unfit(name, message)
        for name in metrics:
            value = fields.get(name)
            if isinstance(value, str | list | dict) and value != "":
                message = f"expected a number as in the rows before, got {str(value)[:80]!r}"
                raise Unfit(name, message)
            yield Score(
                id=str(count),
                metric=name,
                value=None if value == "" else number(value, name),
                text=text,
                # factual_correctness(mode=f1)
                higher_is_better=higher_is_better("ragas", name.partition("(")[0]),
                further=further_columns({**of_sample, **texts}),
            )

    return source.rows(_lines(source), scores)


def _metrics(source: Source) -> list[str]:
    """The columns whose first value is a number."""
    is_number: dict[str, bool] = {}
    # what is wrong with a line is reported when it is read as a sample
    for _, line in _lines(source.unreported):
        for name, value in (line.model_extra or {}).items():
            if name and value is not None and value != "":
                is_number.setdefault(name, not isinstance(value, str | list | dict))
    return [name for name, is_metric in is_number.items() if is_metric]


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
            raise source.fatal("wrong-columns", f"expected the column {name[:80]} once", line=1)
    for line, cells in rows:
        values = [_value(cell) for cell in cells]
        yield line, Line(**dict(zip(header, values)))


def _value(cell: str) -> float | str:
    try:
        return float(cell)
    except ValueError:
        return cell
