"""Files of cases: JSON, JSON Lines, CSV and XLSX, the same fields in each.

Source: seed insurance_summary_prd section 4.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

from pydantic_core import from_json

from ...core.csv_files import csv_rows
from ...core.errors import Problems
from ...core.json_files import read_json
from ...core.jsonl import read_jsonl
from ...core.records import FirstLines, fitted
from ...core.text_files import BOM, first_line, read_utf8, require_file
from .headers import FIELDS, field_of, nearest_header
from .schema import Case, json_list

CELL_LIMIT = 32_767
"""Characters that an Excel cell can hold: a text of just this length may have been cut off."""

INTENT = "agent_notes"
"""The only summary_intent that the source knows."""

UNKNOWN_INTENT = "summary_intent {intent} is not {known}; the case is scored the same way"

WORKBOOK_BYTES = 256 << 20
"""A workbook may take so many bytes once it is unpacked; a hundred thousand cases take half of it."""

SWOLLEN = "{n:,} MB once it is unpacked, more than {most:,} MB; give the cases as JSONL or CSV"

SNIFFED = 1 << 16
"""Bytes of a JSON file in which its first case begins."""

Row = tuple[int, list[str | None]]
"""Of a table: the line or row where it begins, and its cells."""

Cases = Iterator[tuple[int, Case]]
"""Each with the line, row or number in its file."""


def read_cases(path: Path, problems: Problems) -> Cases:
    """Yield (line, case) for each usable case; the others are reported and left out.

    The line is that of a JSONL or CSV file where the record begins, the row of a sheet, or the
    number of the case in a JSON list. A doubled id is an error of the later case; a summary_intent
    that is not known is a warning. InputError for a
    file that cannot be read as what its name says.
    """
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        names = tuple(f"*{suffix}" for suffix in READERS)
        template = "expected a file named {names}"
        raise problems.fatal("unknown-format", template, names=names, file=str(path))
    require_file(path, problems)
    first_lines = FirstLines(path, problems)
    for line, case in reader(path, problems):
        if case.intent not in (None, INTENT):
            problems.warn(
                "unknown-intent",
                UNKNOWN_INTENT,
                file=str(path),
                line=line,
                id=case.id,
                field="summary_intent",
                intent=repr(case.intent),
                known=INTENT,
            )
        if first_lines.is_first(case.id, line, id=case.id, what="case of this id", field="id"):
            yield line, case


def looks_like_cases(path: Path) -> bool:
    """Whether a path looks like a file of cases, by its name and its first record; never raises."""
    suffix = path.suffix.lower()
    try:
        if suffix not in READERS or not path.is_file():
            return False
        if suffix == ".xlsx":
            return True
        keys = _first_keys(path, suffix)
    except (OSError, ValueError, TypeError, LookupError, StopIteration, csv.Error):
        return False
    return "id" in keys and not keys.isdisjoint(FIELDS[2:])


def _first_keys(path: Path, suffix: str) -> set[str]:
    """The keys of the first record. Many kinds of errors for a file that is none of cases."""
    if suffix == ".csv":
        line = first_line(path).decode("utf-8")
        header = next(csv.reader([line]))
        return {field_of(name) for name in header}
    if suffix == ".jsonl":
        record = from_json(first_line(path))
    else:
        with path.open("rb") as file:
            beginning = file.read(SNIFFED).removeprefix(BOM)
        text = beginning.decode("utf-8", "ignore")
        content = from_json(text, allow_partial=True)
        cases = content["test_cases"] if isinstance(content, dict) else content
        record = cases[0]
    return set(record) if isinstance(record, dict) else set()


def _read_jsonl(path: Path, problems: Problems) -> Cases:
    return read_jsonl(path, Case, problems)


def _read_json(path: Path, problems: Problems) -> Cases:
    content = read_json(path, problems)
    cases = content.get("test_cases") if isinstance(content, dict) else content
    if not isinstance(cases, list):
        template = 'expected a list of cases or {"test_cases": [...]}'
        raise problems.fatal("bad-structure", template, field="test_cases", file=str(path))
    return _fitted_cases(enumerate(cases, 1), path, problems)


def _read_csv(path: Path, problems: Problems) -> Cases:
    read_utf8(path, problems)  # a file in another encoding is refused whole
    rows: list[Row] = []
    for last_line, cells in csv_rows(path, problems, ragged=True):
        line_ends = sum(cell.count("\n") for cell in cells)
        rows.append((last_line - line_ends, list(cells)))
    return _read_table(rows, path, problems)


def _read_xlsx(path: Path, problems: Problems) -> Cases:
    with suppress(BadZipFile), ZipFile(path) as book:
        n_bytes = sum(member.file_size for member in book.infolist())
        if n_bytes > WORKBOOK_BYTES:
            raise problems.fatal(
                "file-too-large",
                SWOLLEN,
                n=n_bytes >> 20,
                most=WORKBOOK_BYTES >> 20,
                file=str(path),
            )
    try:
        rows = _sheet_rows(path, problems)
    except Exception as e:  # openpyxl raises many kinds, by the place of the damage
        raise problems.fatal(
            "bad-xlsx",
            "no Excel workbook that can be read: {reason}",
            reason=str(e),
            file=str(path),
        ) from e
    if not rows:
        raise problems.fatal("empty-file", "the first sheet is empty", file=str(path))
    return _read_table(rows, path, problems)


def _sheet_rows(path: Path, problems: Problems) -> list[Row]:
    """The rows of the first sheet; those without any text are left out but for the first."""
    from openpyxl import load_workbook

    book = load_workbook(path, read_only=True, data_only=False)
    sheet = book.worksheets[0]
    sheet.reset_dimensions()  # what a file says of its size may be a million empty columns
    rows: list[Row] = []
    for number, row in enumerate(sheet.iter_rows(), 1):
        place = {"file": str(path), "line": number}
        cells = [_cell_text(cell, place, problems) for cell in row]
        has_text = any(text is not None for text in cells)
        if number == 1 or has_text:
            rows.append((number, cells))
    book.close()
    return rows


def _cell_text(
    cell: Any,
    place: dict[str, Any],
    problems: Problems,
) -> str | None:
    """The text of a cell, with a warning of a formula, and of a text that may have been cut off."""
    value = cell.value
    if value is None:
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = str(value)
    place = {**place, "field": cell.column_letter}
    if cell.data_type == "f":
        template = "a formula is read as its text, not as its result"
        problems.warn("formula", template, **place)
    if len(text) >= CELL_LIMIT:
        template = "{n} characters: Excel may have cut the text off"
        problems.warn("full-cell", template, n=CELL_LIMIT, **place)
    return text


def _read_table(
    rows: list[Row],
    path: Path,
    problems: Problems,
) -> Cases:
    """Cases of a table, its header first.

    An empty cell is null; contexts are a JSON array or one text; metadata is a JSON object. Columns
    may have the names of `headers.HEADERS`; others are ignored, with a warning where one comes
    close to a field that is not there.
    """
    _, header = rows[0]
    place: dict[str, Any] = {"file": str(path), "line": 1}
    names = [field_of(name or "") for name in header]
    doubled = tuple(field for field in sorted(FIELDS) if names.count(field) > 1)
    if doubled:
        template = "doubled columns {names}"
        raise problems.fatal("bad-header", template, names=doubled, **place)
    missing = [field for field in FIELDS if field not in names]
    for name in names:
        if not name or name in FIELDS:
            continue
        near = nearest_header(name, missing)
        if near:
            problems.warn(
                "unknown-column",
                "the column {name} is not known and left out; did you mean {near}?",
                name=repr(name),
                near=near,
                field=name,
                **place,
            )
    if "id" in missing:
        template = "no column id (or 사례번호, 案例编号) among {names}"
        raise problems.fatal("bad-header", template, names=tuple(names), **place)
    records = _records(names, rows[1:], path, problems)
    return _fitted_cases(records, path, problems)


def _records(
    names: list[str],
    rows: Iterable[Row],
    path: Path,
    problems: Problems,
) -> Iterator[tuple[int, Any]]:
    """(line, fields) of each row that has no more cells than the header."""
    for line, cells in rows:
        if any(cells[len(names) :]):
            problems.error(
                "too-many-cells",
                "{n} cells, the header has {columns}",
                n=len(cells),
                columns=len(names),
                file=str(path),
                line=line,
                id=cells[0] or "",
            )
            continue
        record: dict[str, Any] = {}
        for name, text in zip(names, cells):
            if name in FIELDS and text:
                record[name] = text
        if "contexts" in record:
            texts = json_list(record["contexts"])
            record["contexts"] = [record["contexts"]] if texts is None else texts
        if "metadata" in record:
            with suppress(ValueError):  # what is no JSON stays a text, which the model reports
                record["metadata"] = from_json(record["metadata"])
        for name in ("product", "channel"):
            if name in record:
                value = record.pop(name)
                metadata = record.setdefault("metadata", {})
                if isinstance(metadata, dict):
                    metadata[name] = value
        yield line, record


def _fitted_cases(
    records: Iterable[tuple[int, Any]],
    path: Path,
    problems: Problems,
) -> Cases:
    """The records that fit a case; the others are reported."""
    for line, record in records:
        name = record.get("id") if isinstance(record, dict) else None
        place: dict[str, Any] = {"file": str(path), "line": line, "id": str(name or "")}
        case = fitted(Case, record, problems, **place)
        if case is not None:
            yield line, case


READERS: dict[str, Callable[[Path, Problems], Cases]] = {
    ".jsonl": _read_jsonl,
    ".json": _read_json,
    ".csv": _read_csv,
    ".xlsx": _read_xlsx,
}
"""By the suffix of a file's name."""
