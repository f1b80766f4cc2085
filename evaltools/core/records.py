"""Files to read, and records held against pydantic models: what does not fit, and what comes twice."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd
from pydantic import BaseModel, ValidationError

from .errors import InputError, Problems, UsageError
from .files import ending

T = TypeVar("T", bound=BaseModel)
R = TypeVar("R")

BOM = b"\xef\xbb\xbf"

# how files begin that are no text in UTF-8
FOREIGN = {
    rb"\xff\xfe|\xfe\xff": "UTF-16",
    rb"\x1f\x8b": "compressed (gzip)",
    rb"PK\x03\x04": "an Excel workbook or another archive",
    rb"PAR1": "parquet",
    rb"\xd0\xcf\x11\xe0": "an Excel workbook of before 2007",
    rb"(?!.*\n).*\r.": "of lines that end in CR alone",
    rb".{0,3}\0": "binary",
}

# the endings of files that are read as what they are, which is no text
BINARY = (".xlsx", ".xlsm", ".zip", ".eval")

# type of an error of pydantic's -> code of the problem; all others are "bad-field"
CODES = {"json_invalid": "bad-json", "model_type": "not-an-object"}

# types of errors whose value is not shown
UNSHOWN = ("missing", "extra_forbidden", "hidden")

# --- records and models


def describe(error: ValidationError) -> Iterator[tuple[str, str, str]]:
    """(code, field, message) for each thing that a pydantic model did not accept in one record."""
    for e in error.errors(include_url=False):
        kind, value = e["type"], e["input"]
        code = CODES.get(kind, "bad-field")
        message = e["msg"].replace("Input should be", "expected").removeprefix("Value error, ")
        if kind == "json_invalid":
            message = not_json(e["ctx"]["error"])
        elif kind == "model_type":
            message = "expected a JSON object"
        of_a_whole = kind == "value_error" and isinstance(value, dict)
        # what stands under an unknown key may be a secret, and "hidden" is what we call what may be one
        is_key = isinstance(value, str) and value.startswith("sk-")
        if code == "bad-field" and not (kind in UNSHOWN or is_key or of_a_whole):
            message = f"{message}, got {short(value)}"
        name = ".".join(str(part) or '""' for part in e["loc"])
        yield code, name, message


def not_json(reason: str) -> str:
    """A parser's reason with the character in place of its line, which is known already.

    >>> not_json("trailing comma at line 1 column 8")
    'not JSON: trailing comma (character 8)'
    """
    return re.sub(r" at line \d+ column (\d+)$", r" (character \1)", f"not JSON: {reason}")


def settings_of(
    model: type[T],
    what: str,
    *layers: Mapping[str, Any],
) -> T:
    """A model of settings; a later layer goes before an earlier one, None stands for what is there without it.

    UsageError with all that the model does not accept.
    """
    values = {k: v for layer in layers for k, v in layer.items() if v is not None}
    try:
        return model(**values)
    except ValidationError as e:
        wrong = "; ".join(f"{name}: {message}" for _, name, message in describe(e))
        raise UsageError(f"{what}: {wrong}") from e


def misfit(
    error: ValidationError,
    report: Callable[..., None],
    field: str = "",
    **where: Any,
) -> None:
    """Report each thing that a model did not accept; `report` as `Problems.error`, `field`: that of the whole value."""
    for code, name, message in describe(error):
        path = ".".join(part for part in (field, name) if part)
        report(
            code,
            message,
            field=path,
            **where,
        )


def short(value: Any) -> str:
    """A value as an error shows it: 80 characters of its repr at most; its type where that fails."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - of a class of the user's, and of an int of thousands of digits
        text = f"<{type(value).__name__}>"
    return text if len(text) <= 80 else text[:77] + "..."


def require_unique(names: pd.Index) -> None:
    """UsageError for two columns of one name."""
    if not names.is_unique:
        raise UsageError(f"two columns are named {names[names.duplicated()][0]!r}")


# --- files


class File:
    """A file to read, and where what is wrong with it is reported. InputError unless it has something in it.

    `error`, `warn` and `fatal`: those of `problems`, about this file. `n_lines`: how many a reader has passed.
    """

    def __init__(self, path: Path, problems: Problems) -> None:
        self.path = path
        self.problems = problems
        self.error = partial(problems.error, file=path)
        self.warn = partial(problems.warn, file=path)
        self.fatal = partial(problems.fatal, file=path)
        self.n_lines = 0
        if not path.is_file():
            message = "a folder; name a file or a run in it" if path.is_dir() else "no such file"
            raise self.fatal("missing-file", message)
        if path.name.startswith("~$"):
            raise self.fatal(
                "lock-file",
                f"the lock file of a workbook that is open in Excel; give {path.name[2:]}",
            )
        if not os.access(path, os.R_OK):
            raise self.fatal("unreadable-file", "cannot be read: permission denied")
        with path.open("rb") as f:
            start = f.read(1 << 16)
        if not start:
            raise self.fatal("empty-file", "the file is empty")
        kinds = [kind for mark, kind in FOREIGN.items() if re.match(mark, start, re.DOTALL)]
        if kinds and ending(path) not in BINARY:
            raise self.fatal(
                "wrong-encoding",
                f"the file is {kinds[0]}; expected text in UTF-8, its lines ended by LF",
            )

    def record(self, read: Callable[..., R], value: Any, **settings: Any) -> R:
        """What a model reads of its content. InputError, with each thing that it did not accept."""
        try:
            return read(value, **settings)
        except ValidationError as e:
            misfit(e, self.error)
            raise InputError(self.problems) from None

    def fitted(
        self,
        model: type[T],
        value: Any,
        **where: Any,
    ) -> T | None:
        """A value as a record of a model; None where it does not fit, which is reported."""
        try:
            return model.model_validate(value)
        except ValidationError as e:
            misfit(e, self.error, **where)
        return None

    def unique(
        self,
        records: Iterable[tuple[int, R]],
        key_of: Callable[[R], str | tuple[str, ...]],
        what: str,
    ) -> Iterator[tuple[int, R]]:
        """(line, record) of the records whose key comes for the first time; the others are reported as a second `what`."""
        lines: dict[Any, int] = {}
        for line, record in records:
            key = key_of(record)
            first = lines.setdefault(key, line)
            if first == line:
                yield line, record
                continue
            name = key if isinstance(key, str) else ": ".join(filter(None, key))
            self.error(
                "duplicate-id",
                f"a second {what}; the first is on line {first}",
                line=line,
                id=name,
            )

    def text(self) -> str:
        """All of it, without its byte-order mark. InputError where it is not UTF-8."""
        raw = self.path.read_bytes().removeprefix(BOM)
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError as e:
            line = raw.count(b"\n", 0, e.start) + 1
            raise self.fatal("not-utf8", not_utf8(e, "file"), line=line) from None


def not_utf8(error: UnicodeDecodeError, of: str) -> str:
    """Where some bytes are no UTF-8, and that they read as the encoding which Korean files often have."""
    raw = error.object
    text = f"byte {error.start} of the {of} is not UTF-8 (0x{raw[error.start]:02x})"
    is_korean = re.search("[가-힣]{2}", raw.decode("cp949", "replace"))
    return f"{text}; {'it reads as CP949: ' if is_korean else ''}save it as UTF-8"
