"""A file of another tool: its lines and records one by one, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import Any

from ..core.errors import InputError, Problems
from ..core.json_files import read_json, read_jsonl
from ..core.records import fitted, short
from ..core.text_files import BOM, not_utf8, require_file
from .rows import Unfit

# a longer line of text is no sample of a data set
LITERAL_BYTES = 1 << 20

# what a parquet file begins with
PARQUET = b"PAR1"

# of a record in its file: its line, or its path in the file
Place = int | str

# (place, record) of the records of a file, or (place, row) of what is made of them
Records = Iterator[tuple[Place, Any]]


def where(place: Place, field: str = "") -> dict[str, Any]:
    """A place, and a field there, as a problem names them."""
    if isinstance(place, int):
        return {"line": place, "field": field}
    return {"field": ".".join(part for part in (place, field) if part)}


class Source:
    """A file to read, and where what is wrong with it is reported.

    `task`: the benchmark whose samples it holds, which the reader sets where the format says it.
    InputError where there is none to read.
    """

    def __init__(self, path: Path, problems: Problems) -> None:
        require_file(path, problems)
        self.path = path
        self.problems = problems
        self.task = ""
        with path.open("rb") as file:
            if file.read(len(PARQUET)) == PARQUET:
                message = "is parquet, which no format here is: write it as CSV or JSON Lines"
                raise self.fatal("wrong-format", message)

    def first_look(self, read: Callable[[Source], Records]) -> Iterator[Any]:
        """The records that `read(source)` gives, for what must be known of all before the first row.

        What is wrong with one of them is reported when it is read again.
        """
        unreported = copy(self)  # with what was read of the file
        unreported.problems = Problems("skip")
        return (record for _, record in read(unreported))

    def beside(self, name: str, model: type[Any]) -> Any:
        """The record in another file of the same folder; None where there is no such file."""
        file = self.path.with_name(name)
        if not file.is_file():
            return None
        return fitted(model, read_json(file, self.problems), self.problems, file=file)

    def error(self, code: str, message: str, **place: Any) -> None:
        """Report a record that cannot be used; see `Problems.error`."""
        self.problems.error(code, message, file=self.path, **place)

    def warn(self, code: str, message: str, **place: Any) -> None:
        """Report what can be used all the same."""
        self.problems.warn(code, message, file=self.path, **place)

    def fatal(self, code: str, message: str, **place: Any) -> InputError:
        """The exception to raise where nothing of the file can be used."""
        return self.problems.fatal(code, message, file=self.path, **place)

    def warn_of_no_numbers(self, counts: Mapping[str, int], measured: Container[str]) -> None:
        """Warn of metrics with values that are no numbers.

        `counts`: how many a metric has; `measured`: metrics that have numbers as well.
        """
        for metric, n in counts.items():
            message = f"{metric} is no number and left out"
            if metric in measured:
                message = f"{metric}: {n} values are no numbers: not measured"
            self.warn("no-number", message)

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
                    message = "a line of more than 1 MB; expected a sentence"
                    raise self.fatal("line-too-long", message, line=line)
                raw = raw.removeprefix(BOM)
                try:
                    text = raw.decode("utf-8").strip("\r\n")
                except UnicodeDecodeError as error:
                    self.error("not-utf8", not_utf8(raw, error, "line"), line=line)
                    text = "\0"  # a sample all the same: those after it keep their numbers
                if text.strip():
                    yield line, text

    def json_lines(self, model: type[Any], id_field: str | None = None) -> Records:
        """(line number, record) of a JSON Lines file."""
        return read_jsonl(self.path, model, self.problems, id_field=id_field)

    @cached_property
    def document(self) -> Any:
        """The JSON value of the whole file."""
        return read_json(self.path, self.problems)

    def value(self, key: str) -> Any:
        """What stands under a dotted key of the document; None where nothing does."""
        part = self.document
        for name in key.split("."):
            part = part.get(name) if isinstance(part, dict) else None
        return part

    def records(self, model: type[Any], key: str) -> Records:
        """(place, record) of the list under a dotted key. InputError where there is none."""
        items = self.value(key)
        if not isinstance(items, list):
            keys = short(list(self.document)[:8] if isinstance(self.document, dict) else None)
            message = f"expected a list under {key}, got a file with {keys}"
            raise self.fatal("wrong-format", message, field=key)
        return self.fitting(items, model, key)

    def fitting(self, items: Iterable[Any], model: type[Any], key: str) -> Records:
        """(place, record) of the items that fit a model; what does not fit is reported."""
        for index, item in enumerate(items):
            place = f"{key}.{index}"
            record = fitted(model, item, self.problems, under=place, file=self.path)
            if record is not None:
                yield place, record
