"""A file of another tool: its lines and records one by one, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import suppress
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
from pydantic_core import from_json

from ..core import text_files
from ..core.errors import InputError, Problems
from ..core.json_files import read_json, read_jsonl
from ..core.records import fitted, short
from ..core.text_files import BOM, not_utf8, require_file
from .rows import Unfit

LITERAL_BYTES = 1 << 20
"""A longer line of text is no sample of a data set."""

PARQUET = b"PAR1"
"""What a parquet file begins with."""

NOT_JSON = "not JSON: {reason}"

Place = int | str
"""Of a record in its file: its line, or its path in the file."""

Records = Iterator[tuple[Place, Any]]
"""(place, record) of the records of a file, or (place, row) of what is made of them."""


def where(
    place: Place,
    field: str = "",
) -> dict[str, Any]:
    """A place, and a field there, as a problem names them."""
    if isinstance(place, int):
        return {"line": place, "field": field}
    path = ".".join(part for part in (place, field) if part)
    return {"field": path}


class Source:
    """A file to read, and where what is wrong with it is reported.

    `task`: the benchmark whose samples it holds, which the reader sets where the format says it.
    InputError where there is none to read.
    """

    def __init__(
        self,
        path: Path,
        problems: Problems,
    ) -> None:
        require_file(path, problems)
        self.path = path
        self.problems = problems
        self.task = ""
        with path.open("rb") as file:
            if file.read(len(PARQUET)) == PARQUET:
                text = "is parquet, which no format here is: write it as CSV or JSON Lines"
                raise self.fatal("wrong-format", text)

    def first_look(self, read: Callable[[Source], Records]) -> Iterator[Any]:
        """The records that `read(source)` gives, for what must be known of all of them before the first row.

        What is wrong with one of them is reported when it is read again.
        """
        unreported = copy(self)  # with what was read of the file
        unreported.problems = Problems("skip")
        return (record for _, record in read(unreported))

    def beside(
        self,
        name: str,
        model: type[Any],
    ) -> Any:
        """The record in another file of the same folder; None where there is no such file."""
        file = self.path.with_name(name)
        if not file.is_file():
            return None
        content = read_json(file, self.problems)
        return fitted(model, content, self.problems, file=file)

    def error(
        self,
        code: str,
        template: str,
        **values: Any,
    ) -> None:
        """Report a record that cannot be used; see `Problems.error`."""
        self.problems.error(code, template, file=self.path, **values)

    def warn(
        self,
        code: str,
        template: str,
        **values: Any,
    ) -> None:
        """Report what can be used all the same."""
        self.problems.warn(code, template, file=self.path, **values)

    def warn_of_no_numbers(
        self,
        counts: Mapping[str, int],
        measured: Container[str],
    ) -> None:
        """Warn of metrics with values that are no numbers. `counts`: how many; `measured`: with numbers as well."""
        for metric, n in counts.items():
            text = "{metric} is no number and left out"
            if metric in measured:
                text = "{metric}: {n} values are no numbers: not measured"
            self.warn("no-number", text, metric=metric, n=n)

    def fatal(
        self,
        code: str,
        template: str,
        **values: Any,
    ) -> InputError:
        """The exception to raise where nothing of the file can be used."""
        return self.problems.fatal(code, template, file=self.path, **values)

    def require_version(
        self,
        version: Any,
        known: tuple[int, ...],
        field: str,
    ) -> None:
        """InputError for a version of the file's format that is none of those that are read."""
        if version not in known:
            text = "version {version} is none of {known}"
            values = {"version": short(version), "known": known}
            raise self.fatal("wrong-version", text, **values, field=field)

    def rows(
        self,
        records: Iterable[tuple[Place, Any]],
        row_of: Callable[[int, Any], Any],
    ) -> Records:
        """(place, row) of every row that `row_of(1-based number of the record, record)` gives.

        None is no row. A record that is Unfit is reported and gives none.
        """
        for number, (place, record) in enumerate(records, 1):
            try:
                row = row_of(number, record)
            except Unfit as unfit:
                self.error("bad-field", unfit.message, **where(place, unfit.field))
                continue
            if row is not None:
                yield place, row

    def lines(self) -> Records:
        """(line number, text) of the lines of a UTF-8 file that are not blank."""
        with self.path.open("rb") as file:
            lines = iter(lambda: file.readline(LITERAL_BYTES + 1), b"")
            for line, raw in enumerate(lines, 1):
                if len(raw) > LITERAL_BYTES:
                    text = "a line of more than 1 MB; expected a sentence"
                    raise self.fatal("line-too-long", text, line=line)
                raw = raw.removeprefix(BOM)
                try:
                    text = raw.decode("utf-8").strip("\r\n")
                except UnicodeDecodeError as error:
                    self.error("not-utf8", not_utf8(raw, error, "line"), line=line)
                    text = "\0"  # a sample all the same: those after it keep their numbers
                if text.strip():
                    yield line, text

    def json_lines(
        self,
        model: type[Any],
        id_field: str | None = None,
    ) -> Records:
        """(line number, record) of a JSON Lines file."""
        return read_jsonl(self.path, model, self.problems, id_field=id_field)

    @cached_property
    def _document(self) -> Any:
        """The file as JSON that is unread so far; one with NaN, or with something wrong, is read."""
        if self.path.stat().st_size <= text_files.FILE_BYTES:
            with suppress(msgspec.MsgspecError, RecursionError, ValueError):
                content = self.path.read_bytes().removeprefix(BOM)
                return msgspec.json.decode(content, type=msgspec.Raw)
        return read_json(self.path, self.problems)

    def part(self, key: str) -> Any:
        """What stands under a dotted key of the file's JSON value, "" for all of it, unread; None where nothing does."""
        part = self._document
        for name in key.split(".") if key else ():
            fields = _opened(part, dict[str, msgspec.Raw])
            part = fields.get(name) if isinstance(fields, dict) else None
        return part

    def value(self, key: str) -> Any:
        """As `part`, but read. InputError for what is no JSON."""
        try:
            return _read(self.part(key))
        except ValueError as error:
            raise self.fatal("bad-json", NOT_JSON, reason=str(error), field=key) from None

    def records(self, model: type[Any], key: str = "") -> Records:
        """(place, record) of the list under a dotted key. InputError where there is none.

        The items are read one by one, so that little more than the file is in memory.
        """
        items = _opened(self.part(key), list[msgspec.Raw])
        if not isinstance(items, list):
            raise self.fatal("wrong-format", "expected a list", field=key)
        return self.fitting(items, model, key)

    def fitting(
        self,
        items: Iterable[Any],
        model: type[Any],
        key: str = "",
    ) -> Records:
        """(place, record) of the items that fit a model; what does not fit is reported."""
        for index, item in enumerate(items):
            place = f"{key}.{index}" if key else str(index)
            try:
                item = _read(item)
            except ValueError as error:
                self.error("bad-json", NOT_JSON, reason=str(error), field=place)
                continue
            record = fitted(model, item, self.problems, under=place, file=self.path)
            if record is not None:
                yield place, record


def _opened(
    content: Any,
    kind: Any,
) -> Any:
    """JSON as a list or dict of this kind, whose items are unread; what is read already as it is.

    None for JSON of another kind.
    """
    if not isinstance(content, msgspec.Raw):
        return content
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return None


def _read(content: Any) -> Any:
    """The value of JSON that is unread so far. ValueError for what is none."""
    return from_json(bytes(content)) if isinstance(content, msgspec.Raw) else content
