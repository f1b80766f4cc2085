"""CSV with a header: its rows, or the same records as JSON Lines hold."""

from __future__ import annotations

import csv
from ast import literal_eval
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO

from pydantic import TypeAdapter, ValidationError

from . import text_files
from .errors import InputError, Problems
from .json_files import read_jsonl
from .records import T, fitted
from .text_files import BOM, not_utf8, pass_line, require_file

TEXTS = TypeAdapter(list[str | None])


def read_rows(
    path: Path,
    model: type[T],
    problems: Problems,
    id_field: str,
) -> Iterator[tuple[int, T]]:
    """Yield (line, record) of a CSV file with a header, or of JSON Lines; see `read_csv` and `read_jsonl`."""
    require_file(path, problems)
    read = read_csv if path.suffix.lower() == ".csv" else read_jsonl
    return read(path, model, problems, id_field=id_field)


def read_csv(
    path: Path,
    model: type[T],
    problems: Problems,
    *,
    id_field: str,
) -> Iterator[tuple[int, T]]:
    """Yield (line, record) of a CSV file with a header; an empty cell is null.

    The line is that on which the record ends. InputError where a column is lacking that the model requires.
    """
    rows = csv_rows(path, problems)
    _, header = next(rows)
    index_of = {}
    for field, info in model.model_fields.items():
        name = str(info.validation_alias or field)
        if info.is_required() and header.count(name) != 1:
            got = ", ".join(header)[:200]
            message = f"expected the column {name} once, got {got}"
            raise problems.fatal("wrong-columns", message, file=path, line=1)
        if name in header:
            index_of[name] = header.index(name)
    for line, cells in rows:
        by_name = {name: cells[index] or None for name, index in index_of.items()}
        id_ = by_name[id_field] or ""
        record = fitted(model, by_name, problems, file=path, line=line, id=id_)
        if record is not None:
            yield line, record


def csv_rows(
    path: Path,
    problems: Problems,
    sep: str = ",",
) -> Iterator[tuple[int, list[str]]]:
    """(line on which it ends, cells) of the header of a CSV file, and of every row that is not blank.

    A row that is damaged, or has more or fewer cells than the header, is reported and left out. InputError for a
    damaged header.
    """
    csv.field_size_limit(text_files.LINE_BYTES)  # a long text is no error
    with path.open("rb") as file:
        if file.read(len(BOM)) != BOM:
            file.seek(0)
        rows = _whole_rows(file, path, problems, sep)
        line, header = next(rows, (0, []))
        if not header and problems.errors:
            raise InputError(problems.errors)
        yield line, header
        for line, cells in rows:
            if len(cells) == len(header):
                yield line, cells
            elif cells:
                message = f"expected {len(header)} cells, as the header has, got {len(cells)}"
                problems.error("bad-row", message, file=path, line=line)


def _whole_rows(
    file: IO[bytes],
    path: Path,
    problems: Problems,
    sep: str = ",",
) -> Iterator[tuple[int, list[str]]]:
    """(line on which it ends, cells) of every row; a damaged one is reported, and has no cells."""
    line = 0
    is_damaged = True
    while is_damaged:
        is_damaged = False
        lines_before, row_start = line, file.tell()
        reader = csv.reader(_texts(file), strict=True, delimiter=sep)
        try:
            for cells in reader:
                line, row_start = lines_before + reader.line_num, file.tell()
                yield line, cells
        except csv.Error as e:
            is_damaged = True
            # an open quote takes in all that follows: given up is the line on which its row begins
            file.seek(row_start)
            pass_line(file)
            line += 1
            problems.error("bad-csv", f"not CSV: {e}", file=path, line=line)
            yield line, []


def _texts(file: IO[bytes]) -> Iterator[str]:
    """The lines from here on, each when it is asked for. csv.Error for one that is not UTF-8."""
    for raw in iter(partial(file.readline, text_files.LINE_BYTES), b""):
        try:
            yield raw.decode("utf-8")
        except UnicodeDecodeError as e:
            raise csv.Error(str(not_utf8(raw, e, "line"))) from None


def written_list(text: str) -> list[str | None] | None:
    """The list of texts that a cell holds, as JSON or Python write one; None for a cell that holds plain text.

    >>> written_list('["a", null]'), written_list("['a', 'b']"), written_list("[면책] 90일")
    (['a', None], ['a', 'b'], None)
    """
    if not text.lstrip().startswith("["):
        return None
    with suppress(ValidationError):
        return TEXTS.validate_json(text)
    with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
        return TEXTS.validate_python(literal_eval(text.strip()))
    return None
