"""Blocks of rows of a parquet file, whose types are known before it is read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...core.errors import Problems
from ...core.score_rows import COLUMNS
from ...core.text_files import FILE_BYTES

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK = 1 << 17
"""Rows that are held at once."""

CELL_BYTES = 8
"""A cell takes so many bytes in memory, besides a text."""

MOST_TIMES = 50
"""What is decoded to so many times its file, and to more than FILE_BYTES, holds hardly anything."""


def parquet_schema(
    path: Path,
    problems: Problems,
) -> pa.Schema:
    """The columns of a parquet file and their types.

    InputError for what is no parquet, and where a column that has a meaning holds neither a text
    nor a number a row.
    """
    import pyarrow as pa
    from pyarrow.parquet import read_schema

    try:
        schema = read_schema(path)
    except (pa.ArrowException, OSError) as error:
        text = f"not parquet, or not whole: {error}"
        raise problems.fatal("bad-parquet", text, file=path) from None
    for column in schema:
        is_number = column.name in ("value", "num", "den", "low", "high")
        is_time = pa.types.is_temporal(_value_type(column.type))
        if column.name in COLUMNS and (not _is_flat(column.type) or (is_time and is_number)):
            text = f"expected a text or a number a row, got {str(column.type)[:80]}"
            raise problems.fatal("wrong-columns", text, file=path, field=column.name)
    return schema


def _value_type(kind: Any) -> Any:
    """The type of the values of a column, also of one that is stored as categories."""
    return getattr(kind, "value_type", kind)


def _is_flat(kind: Any) -> bool:
    """Whether a column has one text, number or time a row."""
    import pyarrow as pa

    return not pa.types.is_nested(kind) and "binary" not in str(_value_type(kind))


def parquet_blocks(
    path: Path,
    problems: Problems,
) -> Iterator[pd.DataFrame]:
    """The flat columns in blocks of rows; the index is the number of the row, from 1.

    InputError for a file that takes far more memory than disk.
    """
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

    schema = parquet_schema(path, problems)
    flat = [column for column in schema if _is_flat(column.type)]
    names = list(dict.fromkeys(column.name for column in flat))
    texts = [column.name for column in flat if "string" in str(column.type)]
    row = 1
    try:
        # a text that comes again and again stays one text until its length is known
        file = ParquetFile(path, read_dictionary=texts)
        groups = map(file.metadata.row_group, range(file.metadata.num_row_groups))
        decoded = sum(group.total_byte_size for group in groups)
        _refuse_swollen(decoded, path, problems)
        for batch in file.iter_batches(BLOCK, columns=names):
            decoded += len(batch) * len(names) * CELL_BYTES + sum(map(_text_bytes, batch.columns))
            _refuse_swollen(decoded, path, problems)
            columns = [_decoded(column) for column in batch.columns]
            frame = pa.RecordBatch.from_arrays(columns, names=batch.schema.names).to_pandas()
            frame.index = frame.index + row
            yield frame
            row += len(batch)
    except (pa.ArrowException, OSError) as error:
        text = f"cannot be read: {error}"
        raise problems.fatal("bad-parquet", text, file=path, line=row) from None


def _refuse_swollen(
    decoded: int,
    path: Path,
    problems: Problems,
) -> None:
    if decoded > FILE_BYTES and decoded > MOST_TIMES * path.stat().st_size:
        text = (
            f"more than {FILE_BYTES >> 20} MB once it is decoded, over {MOST_TIMES} times the file"
        )
        raise problems.fatal("file-too-large", text, file=path)


def _decoded(column: Any) -> Any:
    """A column with its texts as such, which were read as numbers of a dictionary."""
    return column.dictionary_decode() if hasattr(column, "dictionary") else column


def _text_bytes(column: Any) -> int:
    """How many bytes the texts of a column take, each counted as often as it comes."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not hasattr(column, "dictionary"):
        return 0
    lengths = pc.binary_length(column.dictionary.cast(pa.large_string()))
    return int(pc.sum(lengths.take(column.indices)).as_py() or 0)
