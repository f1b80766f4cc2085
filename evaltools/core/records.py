"""Text files, CSV, and records held against pydantic models: what does not fit, and what comes twice."""

from __future__ import annotations

import csv
import os
import re
from ast import literal_eval
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from .errors import Problems

T = TypeVar("T", bound=BaseModel)

BOM = b"\xef\xbb\xbf"

FOREIGN = {
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
    b"\x1f\x8b": "compressed (gzip)",
    b"PK\x03\x04": "an Excel workbook or another archive",
    b"PAR1": "parquet",
}
"""How files begin that are no text in UTF-8."""

BINARY = (".xlsx", ".parquet", ".zip", ".eval")
"""The endings of files that are read as what they are, which is no text."""

CODES = {"json_invalid": "bad-json", "model_type": "not-an-object"}
"""Type of an error of pydantic's -> code of the problem; all others are "bad-field"."""

TEXTS = TypeAdapter(list[str | None])

# --- records and models


def describe(error: ValidationError) -> list[tuple[str, str, str]]:
    """(code, field, message) for each thing that a pydantic model did not accept in one record."""
    problems = []
    for e in error.errors(include_url=False):
        kind, value = e["type"], e["input"]
        code = CODES.get(kind, "bad-field")
        message = e["msg"]
        if kind == "json_invalid":
            message = not_json(e["ctx"]["error"])
        elif kind == "model_type":
            message = "expected a JSON object"
        elif kind == "value_error":  # of a validator of ours
            message = str(e["ctx"]["error"])
        of_a_whole = kind == "value_error" and isinstance(value, dict)
        # what stands under an unknown key may be a secret
        if code == "bad-field" and kind not in ("missing", "extra_forbidden") and not of_a_whole:
            message = f"{message}, got {short(value)}"
        name = ".".join(str(part) or '""' for part in e["loc"])
        problems.append((code, name, message))
    return problems


def not_json(reason: str) -> str:
    """A parser's reason with the character in place of its line, which is known already.

    >>> not_json("trailing comma at line 1 column 8")
    'not JSON: trailing comma (character 8)'
    """
    return re.sub(r" at line \d+ column (\d+)$", r" (character \1)", f"not JSON: {reason}")


def all_wrong(error: ValidationError) -> str:
    """All that a pydantic model of settings did not accept, as one sentence."""
    return "; ".join(f"{name}: {message}" for _, name, message in describe(error))


def fitted(
    model: type[T],
    value: Any,
    problems: Problems,
    *,
    under: str = "",
    context: Any = None,
    **where: Any,
) -> T | None:
    """A value as a record of a model; None where it does not fit, which is reported. `under`: its own field."""
    try:
        return model.model_validate(value, context=context)
    except ValidationError as e:
        for code, name, message in describe(e):
            path = ".".join(part for part in (under, name) if part)
            problems.error(code, message, field=path, **where)
    return None


def short(value: Any) -> str:
    """A value as an error shows it: 80 characters of its repr at most."""
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


@dataclass
class FirstLines:
    """The lines on which keys were first seen in a file. A later record of the same key is reported as an error.

    >>> lines = FirstLines("cases.csv", Problems("skip"))
    >>> lines.is_first("c1", 2, id="c1", what="record of this case_id")
    True
    >>> lines.is_first("c1", 5, id="c1", what="record of this case_id")
    False
    """

    path: Path | str
    problems: Problems
    code: str = "duplicate-id"
    line_of: dict[Any, int] = field(default_factory=dict)

    def is_first(
        self,
        key: Any,
        line: int,
        *,
        what: str,
        **where: str,
    ) -> bool:
        """Whether no earlier line had this key; `what` names such a record in the message, `where` its id and field."""
        first = self.line_of.setdefault(key, line)
        if first != line:
            message = f"a second {what}; the first is on line {first}"
            self.problems.error(self.code, message, file=self.path, line=line, **where)
        return first == line


def unique_records(
    records: Iterable[tuple[int, Any]],
    id_field: str,
    problems: Problems,
    path: Path,
) -> Iterator[tuple[int, str, Any]]:
    """Yield (line, id, record) of the records whose id comes for the first time; report the others."""
    first_lines = FirstLines(path, problems)
    for line, record in records:
        uid = str(getattr(record, id_field))
        if first_lines.is_first(uid, line, id=uid, what=f"record of this {id_field}"):
            yield line, uid, record


# --- text


def require_file(path: Path, problems: Problems) -> None:
    """Raise InputError unless `path` is a file with something in it."""
    start = b""
    wrong = None
    if not path.is_file():
        message = "a folder; name a file or a run in it" if path.is_dir() else "no such file"
        wrong = "missing-file", message
    elif path.name.startswith("~$"):
        message = f"the lock file of a workbook that is open in Excel; give {path.name[2:]}"
        wrong = "lock-file", message
    elif not os.access(path, os.R_OK):
        wrong = "unreadable-file", "cannot be read: permission denied"
    else:
        with path.open("rb") as f:
            start = f.read(4)
        wrong = None if start else ("empty-file", "the file is empty")
    kinds = [kind for mark, kind in FOREIGN.items() if start.startswith(mark)]
    if b"\0" in start:
        kinds.append("binary")
    if kinds and path.suffix.lower() not in BINARY:
        wrong = "wrong-encoding", f"the file is {kinds[0]}; expected text in UTF-8"
    if wrong:
        code, message = wrong
        raise problems.fatal(code, message, file=path)


def first_line(path: Path) -> bytes:
    """The first line of a file that is not blank, without its byte-order mark; b"" where there is none."""
    if path.is_file():
        with path.open("rb") as f:
            for line in f:
                text = line.removeprefix(BOM)
                if text.strip():
                    return text
    return b""


def read_utf8(path: Path, problems: Problems) -> str:
    """The text of a whole file, without its byte-order mark. InputError where it cannot be read or is not UTF-8."""
    try:
        if path.exists() and not path.is_file():  # a pipe would be waited for
            raise OSError("is no file")
        raw = path.read_bytes().removeprefix(BOM)
        return raw.decode("utf-8")
    except OSError as e:
        message = f"cannot be read: {e.strerror or e}"
        raise problems.fatal("unreadable-file", message, file=path) from e
    except UnicodeDecodeError as e:
        line = raw.count(b"\n", 0, e.start) + 1
        raise problems.fatal("not-utf8", not_utf8(raw, e, "file"), file=path, line=line) from None


def not_utf8(
    raw: bytes,
    error: UnicodeDecodeError,
    of: str,
) -> str:
    """Where some bytes are no UTF-8, and that they read as the encoding which Korean files often have."""
    text = f"byte {error.start} of the {of} is not UTF-8 (0x{raw[error.start]:02x})"
    is_korean = re.search("[가-힣]{2}", raw.decode("cp949", "replace"))
    return f"{text}; {'it reads as CP949: ' if is_korean else ''}save it as UTF-8"


# --- CSV


def read_csv(
    path: Path,
    model: type[T],
    problems: Problems,
) -> Iterator[tuple[int, T]]:
    """Yield (line, record) of a CSV file with a header; an empty cell is null.

    The line is that on which the record ends. InputError where a column is lacking that the model requires.
    """
    rows = csv_rows(path, problems)
    _, header = next(rows)
    for name, info in model.model_fields.items():
        column = str(info.validation_alias or name)
        if info.is_required() and header.count(column) != 1:
            message = f"expected the column {column} once, got {', '.join(header)[:200]}"
            raise problems.fatal("wrong-columns", message, file=path, line=1)
    for line, cells in rows:
        by_name = {column: cell or None for column, cell in zip(header, cells)}
        record = fitted(model, by_name, problems, file=path, line=line)
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
    csv.field_size_limit(1 << 30)  # a long text is no error
    with path.open("rb") as file:
        if file.read(len(BOM)) != BOM:
            file.seek(0)
        rows = _whole_rows(file, path, problems, sep)
        line, header = next(rows, (0, []))
        if not header and problems.errors:
            raise problems.failed()
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
    sep: str,
) -> Iterator[tuple[int, list[str]]]:
    """(line on which it ends, cells) of every row; a damaged one is reported, and has no cells."""
    line = 0
    while True:
        lines_before, row_start = line, file.tell()
        reader = csv.reader(_texts(file), strict=True, delimiter=sep)
        try:
            for cells in reader:
                line, row_start = lines_before + reader.line_num, file.tell()
                yield line, cells
            return
        except csv.Error as e:
            # an open quote takes in all that follows: given up is the line on which its row begins
            file.seek(row_start)
            file.readline()
            line += 1
            problems.error("bad-csv", f"not CSV: {e}", file=path, line=line)
            yield line, []


def _texts(file: IO[bytes]) -> Iterator[str]:
    """The lines from here on, each when it is asked for. csv.Error for one that is not UTF-8."""
    for raw in iter(file.readline, b""):
        try:
            yield raw.decode("utf-8")
        except UnicodeDecodeError as e:
            raise csv.Error(not_utf8(raw, e, "line")) from None


def written_list(text: str) -> list[str | None] | None:
    """The list of texts that a cell holds, as JSON or Python write one; None for a cell that holds plain text.

    >>> written_list('["a", null]'), written_list("['a', 'b']"), written_list("[면책] 90일")
    (['a', None], ['a', 'b'], None)
    """
    if text.lstrip().startswith("["):
        with suppress(ValidationError):
            return TEXTS.validate_json(text)
        with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
            return TEXTS.validate_python(literal_eval(text.strip()))
    return None
