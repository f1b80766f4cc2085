"""Typed, streaming JSON Lines, and rows of CSV as the same records."""

from __future__ import annotations

import csv
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticKnownError, from_json

from .errors import InputError, Problems
from .language import Message

BOM = b"\xef\xbb\xbf"

FOREIGN = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16", b"\x1f\x8b": "compressed (gzip)"}
"""How files begin that are no UTF-8, whatever their names say."""

READ_BYTES = 1 << 18
"""Read at a time: lines of tens of kilobytes are put together from few pieces."""

LINE_BYTES = 256 << 20
"""A longer line is no record."""

FILE_BYTES = 1 << 30
"""A JSON value is held in memory whole: a larger file is refused."""

T = TypeVar("T", bound=BaseModel)


CODES = {"json_invalid": "bad-json", "model_type": "not-an-object"}
"""Type of an error of pydantic's -> code of the problem; all others are "bad-field"."""


def describe(error: ValidationError) -> list[tuple[str, str, Message]]:
    """(code, field, message) for each thing that a pydantic model did not accept in one line."""
    problems = []
    for e in error.errors(include_url=False):
        code = CODES.get(e["type"], "bad-field")
        message = _as_message(e)
        of_a_whole = e["type"] == "value_error" and isinstance(e["input"], dict)
        if code == "bad-field" and e["type"] != "missing" and not of_a_whole:
            values = {"what": message, "value": short(e["input"])}
            message = Message("{what}, got {value}", values)
        field = ".".join(str(part) or '""' for part in e["loc"])
        problems.append((code, field, message))
    return problems


def all_wrong(error: ValidationError) -> Message:
    """All that a pydantic model of settings did not accept, as one message."""
    parts = []
    for _, name, message in describe(error):
        parts.append(Message("{name}: {message}", {"name": name, "message": message}))
    joined = parts[0]
    for part in parts[1:]:
        joined = Message("{before}; {part}", {"before": joined, "part": part})
    return joined


def _as_message(error: Any) -> Message:
    """What pydantic says of an error, as a template and its values, so that it can be told in another language."""
    text = error["msg"]
    context = error.get("ctx", {})
    try:
        template = PydanticKnownError(error["type"], context).message_template
    except (KeyError, TypeError, ValueError):  # of a validator of ours
        return Message(text)
    values = {name: _told(value) for name, value in context.items()}
    message = Message(template, values)
    return message if str(message) == text else Message(text)


def _told(value: Any) -> str | Message:
    """A value of an error; of an exception that carries a message the message."""
    arguments = value.args if isinstance(value, Exception) else ()
    return arguments[0] if arguments and isinstance(arguments[0], Message) else str(value)


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
        for code, field, message in describe(e):
            problems.error(code, message, field=".".join(filter(None, (under, field))), **where)
    return None


def short(value: Any) -> str:
    """A value as an error shows it: 80 characters of its repr at most."""
    text = ascii(value) if isinstance(value, str) and not value.isprintable() else repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def require_file(path: Path, problems: Problems) -> None:
    """Raise InputError unless `path` is a file with something in it."""
    if not path.is_file():
        raise problems.fatal("missing-file", "no such file", file=path)
    if not os.access(path, os.R_OK):
        raise problems.fatal("unreadable-file", "cannot be read: permission denied", file=path)
    with path.open("rb") as f:
        start = f.read(4)
    if not start:
        text = "the file is empty; expected one JSON object a line"
        raise problems.fatal("empty-file", text, file=path)
    for mark, encoding in FOREIGN.items():
        if start.startswith(mark):
            text = "the file is {encoding}; expected text in UTF-8"
            raise problems.fatal("wrong-encoding", text, encoding=encoding, file=path)


def first_line(path: Path) -> bytes:
    """The first line of a file that is not blank, without its byte-order mark.

    b"" where there is no file or no such line, or the line is too long for a record.
    """
    if not path.is_file():
        return b""
    with path.open("rb") as f:
        for line in _lines(f):
            text = line.removeprefix(BOM)
            if text.strip():
                return text if len(line) <= LINE_BYTES else b""
    return b""


def _pass_line(f: IO[bytes]) -> int:
    """Read to the end of a line, in pieces; the number of bytes."""
    start = f.tell()
    for piece in iter(partial(f.readline, READ_BYTES), b""):
        if piece.endswith(b"\n"):
            break
    return f.tell() - start


class FirstLines:
    """The lines on which keys were first seen in a file. A later record of the same key is reported as an error.

    >>> lines = FirstLines("cases.csv", Problems("skip"))
    >>> lines.is_first("c1", 2, id="c1", what="record of this case_id")
    True
    >>> lines.is_first("c1", 5, id="c1", what="record of this case_id")
    False
    """

    def __init__(self, path: Path | str, problems: Problems, code: str = "duplicate-id"):
        self.path = path
        self.problems = problems
        self.code = code
        self.line_of: dict[Any, int] = {}

    def is_first(
        self, key: Any, line: int, *, id: str, what: str | Message, field: str = ""
    ) -> bool:
        """Whether no earlier line had this key; `what` names such a record in the message."""
        first = self.line_of.setdefault(key, line)
        if first == line:
            return True
        self.problems.error(
            self.code,
            "a second {what}; the first is on line {first}",
            what=Message(what) if isinstance(what, str) else what,
            first=first,
            file=self.path,
            line=line,
            field=field,
            id=id,
        )
        return False


def unique_records(
    records: Iterable[tuple[int, Any]], field: str, problems: Problems, path: Path
) -> Iterator[tuple[int, str, Any]]:
    """Yield (line, id, record) of the records whose `field`, the id, comes for the first time; report the others."""
    first_lines = FirstLines(path, problems)
    what = Message("record of this {field}", {"field": field})
    for line, record in records:
        uid = str(getattr(record, field))
        if first_lines.is_first(uid, line, id=uid, what=what):
            yield line, uid, record


@dataclass
class Progress:
    """How many lines a reader has passed, good or bad."""

    lines: int = 0


def read_jsonl(
    path: Path,
    model: type[T],
    problems: Problems,
    *,
    start: int = 0,
    stop: int | None = None,
    progress: Progress | None = None,
    id_field: str | None = None,
    decode: Callable[[bytes], T | None] | None = None,
) -> Iterator[tuple[int, T]]:
    """Yield (line number, record) for each line that fits `model`; report the others and go on.

    A byte-order mark and blank lines are passed over. `start` and `stop` are byte offsets at line
    starts (`shards` gives them); line numbers then count from the shard's first line. `progress` is
    kept up to date. `id_field` is the key whose text names the record in a problem. `decode` is tried
    first (`fast_json.decoder`); the lines for which it gives None are judged by `model`.
    """
    validate = model.__pydantic_validator__.validate_json
    progress = progress or Progress()
    with path.open("rb", buffering=READ_BYTES) as f:
        f.seek(start)
        position = start
        for number, line in enumerate(_lines(f), 1):
            if stop is not None and position >= stop:
                break
            position += len(line)
            if len(line) > LINE_BYTES:
                text = "a line of more than {size} MB; expected one JSON object a line"
                size = LINE_BYTES >> 20
                raise problems.fatal("line-too-long", text, size=size, file=path, line=number)
            progress.lines = number
            if number == 1 and start == 0:
                line = line.removeprefix(BOM)
            if line.isspace() or not line:
                continue
            record = decode(line) if decode is not None else None
            if record is None:
                try:
                    record = validate(line)
                except ValidationError as e:
                    name = _text_of(id_field, line)
                    _report(e, line, problems, file=path, line=number, id=name)
                    continue
            yield number, record


def _lines(f: IO[bytes]) -> Iterator[bytes]:
    """The lines of a file; of one that is too long its first LINE_BYTES + 1."""
    return iter(partial(f.readline, LINE_BYTES + 1), b"")


def read_rows(
    path: Path, model: type[T], problems: Problems, id_field: str
) -> Iterator[tuple[int, T]]:
    """Yield (line, record) of a CSV file with a header, or of JSON Lines; see `read_csv` and `read_jsonl`."""
    require_file(path, problems)
    read = read_csv if path.suffix.lower() == ".csv" else read_jsonl
    return read(path, model, problems, id_field=id_field)


def read_csv(
    path: Path, model: type[T], problems: Problems, *, id_field: str
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
            text = "expected the column {column} once, got {header}"
            values = {"column": name, "header": ", ".join(header)[:200]}
            raise problems.fatal("wrong-columns", text, **values, file=path, line=1)
        if name in header:
            index_of[name] = header.index(name)
    for line, cells in rows:
        by_name = {name: cells[index] or None for name, index in index_of.items()}
        id_ = by_name[id_field] or ""
        record = fitted(model, by_name, problems, file=path, line=line, id=id_)
        if record is not None:
            yield line, record


def csv_rows(
    path: Path, problems: Problems, ragged: bool = False
) -> Iterator[tuple[int, list[str]]]:
    """(line on which it ends, cells) of the header of a CSV file, and of every row that is not blank.

    A row that is damaged, or has more or fewer cells than the header, is reported and left out; `ragged` ones are
    kept, but for what follows a damaged row, up to the next one that is whole. InputError for a damaged header.
    """
    csv.field_size_limit(LINE_BYTES)  # a long text is no error
    with path.open("rb") as file:
        rows = _rows_or_damage(_CsvLines(file), path, problems)
        line, header = next(rows, (0, []))
        if header is None:
            raise InputError(problems.errors)
        yield line, header
        after_damage = False
        for line, cells in rows:
            if cells is None:
                after_damage = True
            elif len(cells) == len(header):
                after_damage = False
                yield line, cells
            elif cells and ragged and not after_damage:
                yield line, cells
            elif cells and not ragged:
                text = "expected {n} cells, as the header has, got {got}"
                n_cells = {"n": len(header), "got": len(cells)}
                problems.error("bad-row", text, **n_cells, file=path, line=line)


class _CsvLines:
    """The lines of a CSV file as text, from the row on that comes next.

    `n_lines` lines of `n_bytes` were read so far, of which `row_line` lines of `row_start` bytes stand before that row.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.n_lines = self.n_bytes = 0
        self.row_line = self.row_start = 0

    def __iter__(self) -> _CsvLines:
        return self

    def __next__(self) -> str:
        raw = self.file.readline(LINE_BYTES)
        if not raw:
            raise StopIteration
        self.n_lines += 1
        self.n_bytes += len(raw)
        text = raw.removeprefix(BOM) if self.n_lines == 1 else raw
        try:
            return text.decode("utf-8")
        except UnicodeDecodeError as e:
            raise csv.Error(str(not_utf8(raw, e, "line"))) from None

    def end_row(self) -> None:
        """What was read so far is no part of the row that comes next."""
        self.row_line = self.n_lines
        self.row_start = self.n_bytes

    def give_up_line(self) -> None:
        """Go back to the row that came next, and leave out the line on which it begins."""
        self.file.seek(self.row_start)
        self.n_bytes = self.row_start + _pass_line(self.file)
        self.n_lines = self.row_line + 1
        self.end_row()


def _rows_or_damage(
    lines: _CsvLines, path: Path, problems: Problems
) -> Iterator[tuple[int, list[str] | None]]:
    """(line on which it ends, cells) of every row; None where a damaged one was, which is reported."""
    is_damaged = True
    while is_damaged:
        is_damaged = False
        try:
            for cells in csv.reader(lines, strict=True):
                lines.end_row()
                yield lines.row_line, cells
        except csv.Error as e:
            is_damaged = True
            # an open quote takes in all that follows: given up is the line on which its row begins
            lines.give_up_line()
            line = lines.row_line
            problems.error("bad-csv", "not CSV: {reason}", reason=str(e), file=path, line=line)
            yield line, None


def read_utf8(path: Path, problems: Problems) -> str:
    """The text of a whole file, without its byte-order mark.

    InputError where it cannot be read, is not UTF-8 or larger than FILE_BYTES.
    """
    if path.exists() and not path.is_file():  # a pipe would be waited for
        raise problems.fatal("unreadable-file", "is no file", file=path)
    try:
        if path.stat().st_size > FILE_BYTES:
            text = "of more than {size} MB, which would have to be held in memory whole"
            raise problems.fatal("file-too-large", text, size=FILE_BYTES >> 20, file=path)
        raw = path.read_bytes().removeprefix(BOM)
    except OSError as e:
        text = "cannot be read: {reason}"
        reason = e.strerror or str(e)
        raise problems.fatal("unreadable-file", text, reason=reason, file=path) from e
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as e:
        line = raw.count(b"\n", 0, e.start) + 1
        raise problems.fatal("not-utf8", not_utf8(raw, e, "file"), file=path, line=line) from None


def read_json(path: Path, problems: Problems, *, unique_keys: bool = False) -> Any:
    """The JSON value of a whole file.

    Raises InputError, with the line where there is one, for a file that cannot be read, is not UTF-8, is no
    JSON, nests too deeply (more than 200 levels), or names a key twice in one object (`unique_keys`).
    """
    text = read_utf8(path, problems)
    try:
        value = from_json(text)
    except ValueError as e:
        raise _no_json(e, path, problems) from None
    if unique_keys:
        _require_unique_keys(text, path, problems)
    return value


def _no_json(error: ValueError, path: Path, problems: Problems) -> InputError:
    """What to raise for a file that is no JSON: pydantic names the place at the end of what it says."""
    reason, has_place, place = str(error).partition(" at line ")
    if not has_place:
        return problems.fatal("bad-json", "not JSON: {reason}", reason=reason, file=path)
    line, _, column = place.partition(" column ")
    text = "not JSON: {reason} (column {column})"
    values = {"reason": reason, "column": column}
    return problems.fatal("bad-json", text, **values, file=path, line=int(line))


def _require_unique_keys(text: str, path: Path, problems: Problems) -> None:
    """InputError where an object names a key twice."""
    doubled: list[str] = []

    def note(pairs: list[tuple[str, Any]]) -> None:
        times = Counter(key for key, _ in pairs)
        doubled.extend(sorted(key for key, n in times.items() if n > 1))

    json.loads(text, object_pairs_hook=note)
    for key in doubled:
        sentence = "doubled key: it stands twice in one object"
        problems.error("bad-json", sentence, file=path, field=key)
    if doubled:
        raise InputError(problems.errors)


def read_model(path: Path, model: type[T]) -> T:
    """The JSON of a whole file as a model. InputError names every field that does not fit; see `read_json`."""
    problems = Problems()
    record = fitted(model, read_json(path, problems), problems, file=path)
    if record is None:
        raise InputError(problems.errors)
    return record


def _report(error: ValidationError, raw: bytes, problems: Problems, **where: Any) -> None:
    """Report what is wrong with a line."""
    for code, field, message in describe(error):
        if code == "bad-json":
            code, message = _damage(raw, message)
        problems.error(code, message, field=field, **where)


def _damage(raw: bytes, message: Message) -> tuple[str, Message]:
    """(code, message) for a line that is no JSON: in another encoding, or the last one and cut off."""
    code = "bad-json"
    is_cut = not raw.endswith(b"\n")
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as e:
        code, message = "not-utf8", not_utf8(raw, e, "line")
        # a line that ends within a character is cut off, not wrongly encoded
        is_cut = is_cut and e.reason == "unexpected end of data"
    if not is_cut:
        return code, message
    text = "{what}; the last line has no end: is the run still being written?"
    return "cut-off-line", Message(text, {"what": message})


def not_utf8(raw: bytes, error: UnicodeDecodeError, of: str) -> Message:
    """Where some bytes are no UTF-8, and that they read as the encoding which Korean files often have."""
    text = "byte {n} of the {of} is not UTF-8 (0x{byte})"
    try:
        korean = re.search("[가-힣]{2}", raw.decode("cp949"))
    except UnicodeDecodeError:
        korean = None
    if korean:
        text = "byte {n} of the {of} is not UTF-8 (0x{byte}); it reads as CP949: save it as UTF-8"
    values = {"n": error.start, "of": Message(of), "byte": f"{raw[error.start]:02x}"}
    return Message(text, values)


def _text_of(key: str | None, raw: bytes) -> str:
    """The first text under a key of a line that may not be JSON; empty where there is none."""
    if key is None:
        return ""
    match = re.search(rb'"%b"\s*:\s*"([^"\\]{1,200})"' % re.escape(key.encode()), raw)
    return match[1].decode("utf-8", "replace") if match else ""


def shards(path: Path, n: int) -> list[tuple[int, int]]:
    """Cut a file into at most `n` byte ranges of about equal size that begin and end at line ends."""
    size = path.stat().st_size
    cuts = [0]
    with path.open("rb") as f:
        for i in range(1, n):
            if size * i // n < cuts[-1]:  # within a line that was read to its end
                continue
            f.seek(size * i // n)
            _pass_line(f)
            if f.tell() >= size:
                break
            cuts.append(f.tell())
    return list(zip(cuts, [*cuts[1:], size]))
