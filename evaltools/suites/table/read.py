"""A long file (CSV, JSON Lines, parquet) in blocks of rows: a row is one metric on one sample."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import BaseModel, ConfigDict

from ...core.csv_files import csv_rows, written_list
from ...core.errors import Problems
from ...core.json_files import read_jsonl
from ...core.score_rows import COLUMNS
from ...core.text_files import first_line, require_file
from .parquet import BLOCK, parquet_blocks, parquet_schema
from .rows import usable_rows

MOST_COLUMNS = 10_000
"""A file with more columns is not long, but wide."""


class Line(BaseModel):
    """A line of the JSON Lines form; other keys are further columns.

    What its cells must be is judged with those of the other forms (`usable_rows`).
    """

    model_config = ConfigDict(strict=True, extra="allow")

    id: str | int | float
    metric: str
    value: float | bool | None = None
    num: float | None = None
    den: float | None = None
    condition: str | int | float | None = None
    seed: str | int | float | None = None
    trial: str | int | float | None = None
    cluster: str | int | float | None = None
    text: str | None = None
    low: float | None = None
    high: float | None = None
    higher_is_better: bool | float | str | None = None


def blocks(
    path: Path,
    problems: Problems,
) -> Iterator[pd.DataFrame]:
    """The rows that can be used.

    Columns: those of `rows.usable_rows`, and the columns of the file that have no meaning here, as
    they are. The index is the line (in parquet: the number of the row). What is wrong with a row is
    reported.
    """
    columns(path, problems)  # says what is wrong with them
    readers = {".parquet": parquet_blocks, ".csv": _csv_blocks}
    read = readers.get(path.suffix.lower(), _json_blocks)
    for block in read(path, problems):
        missing = [column for column in COLUMNS if column not in block]
        frame = block.reindex(columns=[*block.columns, *missing])
        further = frame.columns.difference(COLUMNS, sort=False)
        yield usable_rows(frame, path, problems).join(frame[further])


def columns(
    path: Path,
    problems: Problems,
) -> list[str]:
    """The columns of COLUMNS that a file has; of JSON Lines those of its first line.

    InputError where the file is damaged or not in the long form.
    """
    require_file(path, problems)
    if path.suffix.lower() in (".jsonl", ".ndjson"):
        try:
            line = Line.model_validate_json(first_line(path))
        except ValueError:  # reported when all lines are read
            return []
        return [column for column in COLUMNS if column in line.model_fields_set]
    if path.suffix.lower() == ".parquet":
        header = parquet_schema(path, problems).names
    else:
        _, header = next(csv_rows(path, problems))
    if len(header) > MOST_COLUMNS:
        raise problems.fatal(
            "wrong-columns",
            f"{len(header):,} columns; expected the long form: one metric on one sample, a row",
            file=path,
        )
    present = [column for column in COLUMNS if column in header]
    for column in present:
        if header.count(column) > 1:
            raise problems.fatal("wrong-columns", f"two columns are named {column}", file=path)
    has_score = "value" in present or {"num", "den"} <= set(present)
    if not has_score or not {"id", "metric"} <= set(present):
        names = ", ".join([*header[:20], "..."] if len(header) > 20 else header)
        raise problems.fatal(
            "wrong-columns",
            f"expected the columns id, metric and value (or num and den), got {names}",
            file=path,
        )
    return present


def _csv_blocks(
    path: Path,
    problems: Problems,
) -> Iterator[pd.DataFrame]:
    rows = csv_rows(path, problems)
    _, header = next(rows)
    names = [name for name in dict.fromkeys(header) if name]
    indices = [header.index(name) for name in names]
    while block := list(islice(rows, BLOCK)):
        lines = []
        cells = []
        for line, row in block:
            lines.append(line)
            cells.append([_cell(name, row[i]) for name, i in zip(names, indices)])
        yield pd.DataFrame(cells, index=lines, columns=names)


def _cell(name: str, text: str) -> str | None:
    """The text of a cell; a list in a further column is left out, as in JSON Lines."""
    is_list = name not in COLUMNS and written_list(text) is not None
    return None if is_list else text or None


def _json_blocks(
    path: Path,
    problems: Problems,
) -> Iterator[pd.DataFrame]:
    lines = read_jsonl(
        path,
        Line,
        problems,
        id_field="id",
    )
    while block := dict(islice(lines, BLOCK)):
        rows = [_flat_cells(line) for line in block.values()]
        yield pd.DataFrame(rows, index=list(block))


def _flat_cells(line: Line) -> dict[str, Any]:
    """The texts, numbers and truth values of a line; lists and objects are left out."""
    cells = {}
    for name, value in line.model_dump().items():
        if isinstance(value, str | int | float):
            cells[name] = value
    return cells
