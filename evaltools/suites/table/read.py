"""A long file (CSV, JSON Lines, parquet) in blocks of rows: a row is one metric on one sample."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import BaseModel, ConfigDict

from ...core.csv_files import csv_rows
from ...core.errors import Problems
from ...core.jsonl import read_jsonl
from ...core.language import Message
from ...core.score_rows import COLUMNS
from ...core.text_files import FILE_BYTES, first_line, require_file
from .rows import usable_rows

BLOCK = 1 << 17
"""Rows that are held at once."""

CELL_BYTES = 8
"""A cell takes so many bytes in memory, besides a text."""

MOST_TIMES = 50
"""What is decoded to so many times its file, and to more than FILE_BYTES, holds hardly anything."""

MOST_COLUMNS = 10_000
"""A file with more columns is not long, but wide."""

WIDE = "{n:,} columns; expected the long form: one metric on one sample, a row"
OTHER_COLUMNS = "expected the columns id, metric and value (or num and den), got {columns}"
SWOLLEN = (
    "more than {size} MB once it is decoded, over {times} times the file: does it hold the same "
    "texts again and again?"
)


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
    raw_blocks = _json_blocks
    if path.suffix.lower() == ".parquet":
        raw_blocks = _parquet_blocks
    elif path.suffix.lower() == ".csv":
        raw_blocks = _csv_blocks
    for block in raw_blocks(path, problems):
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
        header = _parquet_file(path, problems).schema_arrow.names
    else:
        _, header = next(csv_rows(path, problems))
    message = _wrong_header(header)
    if message:
        raise problems.fatal("wrong-columns", message, file=path)
    return [column for column in COLUMNS if column in header]


def _wrong_header(header: list[str]) -> Message | None:
    """What is wrong with the columns of a file; None for nothing."""
    if len(header) > MOST_COLUMNS:
        return Message(WIDE, {"n": len(header)})
    for column in COLUMNS:
        if header.count(column) > 1:
            return Message("two columns are named {column}", {"column": column})
    has_score = "value" in header or ("num" in header and "den" in header)
    if "id" in header and "metric" in header and has_score:
        return None
    names = ", ".join(header[:20])
    if len(header) > 20:
        names += ", ..."
    return Message(OTHER_COLUMNS, {"columns": names})


def _parquet_file(
    path: Path,
    problems: Problems,
) -> Any:
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

    try:
        texts = [
            column.name
            for column in ParquetFile(path).schema_arrow
            if pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        ]
        # a text that comes again and again stays one text until its length is known
        file = ParquetFile(path, read_dictionary=texts)
    except (pa.ArrowException, OSError) as error:
        text = "not parquet, or not whole: {reason}"
        raise problems.fatal("bad-parquet", text, reason=str(error), file=path) from None
    for column in file.schema_arrow:
        if column.name not in COLUMNS:
            continue
        is_time = pa.types.is_temporal(_value_type(column.type))
        is_number = column.name in ("value", "num", "den", "low", "high")
        if not _is_flat(column.type) or (is_time and is_number):
            text = "expected a text or a number a row, got {kind}"
            kind = str(column.type)[:80]
            raise problems.fatal(
                "wrong-columns",
                text,
                kind=kind,
                file=path,
                field=column.name,
            )
    return file


def _value_type(kind: Any) -> Any:
    """The type of the values of a parquet column, also of one that is stored as categories."""
    return getattr(kind, "value_type", kind)


def _is_flat(kind: Any) -> bool:
    """Whether a parquet column has one text, number or time a row."""
    import pyarrow as pa

    return not pa.types.is_nested(kind) and "binary" not in str(_value_type(kind))


def _parquet_blocks(
    path: Path,
    problems: Problems,
) -> Iterator[pd.DataFrame]:
    import pyarrow as pa

    file = _parquet_file(path, problems)
    flat = [column.name for column in file.schema_arrow if _is_flat(column.type)]
    names = list(dict.fromkeys(flat))
    row = 1
    n_cells = len(names) * file.metadata.num_rows
    decoded = CELL_BYTES * n_cells
    _refuse_swollen(max(decoded, _declared_bytes(file.metadata)), path, problems)
    try:
        for batch in file.iter_batches(BLOCK, columns=names):
            decoded += sum(_text_bytes(column) for column in batch.columns)
            _refuse_swollen(decoded, path, problems)
            frame = _decoded(batch).to_pandas()
            frame.index = frame.index + row
            yield frame
            row += len(batch)
    except (pa.ArrowException, OSError) as error:
        text = "cannot be read: {reason}"
        raise problems.fatal(
            "bad-parquet",
            text,
            reason=str(error),
            file=path,
            line=row,
        ) from None


def _refuse_swollen(
    decoded: int,
    path: Path,
    problems: Problems,
) -> None:
    """InputError for a parquet file that takes far more memory than disk."""
    if decoded > FILE_BYTES and decoded > MOST_TIMES * path.stat().st_size:
        size = FILE_BYTES >> 20
        raise problems.fatal(
            "file-too-large",
            SWOLLEN,
            size=size,
            times=MOST_TIMES,
            file=path,
        )


def _declared_bytes(metadata: Any) -> int:
    """The size of the pages of a parquet file before their compression, as it says itself."""
    groups = [metadata.row_group(index) for index in range(metadata.num_row_groups)]
    return sum(group.total_byte_size for group in groups)


def _text_bytes(column: Any) -> int:
    """How many bytes the texts of a parquet column take, each counted as often as it comes."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_dictionary(column.type):
        return 0
    lengths = pc.binary_length(column.dictionary.cast(pa.large_string()))
    return int(pc.sum(lengths.take(column.indices)).as_py() or 0)


def _decoded(batch: Any) -> Any:
    """A batch with its texts as such, which were read as numbers of a dictionary."""
    import pyarrow as pa

    columns = []
    for column in batch.columns:
        is_coded = pa.types.is_dictionary(column.type)
        columns.append(column.dictionary_decode() if is_coded else column)
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


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
            cells.append([row[i] or None for i in indices])
        yield pd.DataFrame(cells, index=lines, columns=names)


def _json_blocks(
    path: Path,
    problems: Problems,
) -> Iterator[pd.DataFrame]:
    lines = read_jsonl(path, Line, problems, id_field="id")
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
