"""Files to read, and records held against pydantic models: JSON of a whole file, and typed, streaming JSON Lines.

Decoders made from pydantic models read large lines several times as fast: the model stays the only definition of a
record, and pydantic the judge of every line that they refuse. What is read is the same. One thing they do not notice:
what no field takes must be JSON, but its texts are passed over unread, though they may not be UTF-8.
"""

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin

import msgspec
import pandas as pd
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from .files import Fields, Names, ending
from .messages import InputError, Problems, UsageError

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
        is_hidden = kind in UNSHOWN or of_a_whole or "'sk-" in repr([value])
        if code == "bad-field" and not is_hidden:
            message = f"{message}, got {short(value)}"
        yield code, ".".join(str(part) or '""' for part in e["loc"]), message


def not_json(reason: str) -> str:
    """A parser's reason with the character in place of its line, which is known already.

    >>> not_json("trailing comma at line 1 column 8")
    'not JSON: trailing comma (character 8)'
    """
    return re.sub(r" at line \d+ column (\d+)$", r" (character \1)", f"not JSON: {reason}")


def settings_of(
    model: type[T],
    what: str,
    *layers: Fields,
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
        report(
            code,
            message,
            field=".".join(filter(None, (field, name))),
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
            raise self.fatal(
                "missing-file",
                "a folder; name a file or a run in it" if path.is_dir() else "no such file",
            )
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
        key_of: Callable[[R], str | Names],
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
            self.error(
                "duplicate-id",
                f"a second {what}; the first is on line {first}",
                line=line,
                id=key if isinstance(key, str) else ": ".join(filter(None, key)),
            )

    def text(self) -> str:
        """All of it, without its byte-order mark. InputError where it is not UTF-8."""
        raw = self.path.read_bytes().removeprefix(BOM)
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError as e:
            raise self.fatal(
                "not-utf8", not_utf8(e, "file"), line=raw.count(b"\n", 0, e.start) + 1
            ) from None


def not_utf8(error: UnicodeDecodeError, of: str) -> str:
    """Where some bytes are no UTF-8, and that they read as the encoding which Korean files often have."""
    raw = error.object
    text = f"byte {error.start} of the {of} is not UTF-8 (0x{raw[error.start]:02x})"
    is_korean = re.search("[가-힣]{2}", raw.decode("cp949", "replace"))
    return f"{text}; {'it reads as CP949: ' if is_korean else ''}save it as UTF-8"


READ_BYTES = 1 << 18  # read at a time: lines of tens of kilobytes are put together from few pieces
DOUBLED = "doubled key: it stands twice in one object"


# --- JSON


def read_json(file: File) -> Any:
    """The JSON value of a whole file.

    Raises InputError, with the line where there is one, for a file that is not UTF-8, is no JSON, nests too deeply
    (more than 200 levels), or names a key twice in one object.
    """
    text = file.text()
    try:
        value = from_json(text)
    except ValueError as error:
        place = re.search(r" at line (\d+)", str(error))
        raise file.fatal(
            "bad-json",
            not_json(str(error)),
            line=int(place[1]) if place else None,
        ) from None
    key = doubled_key(text)
    if key is not None:
        raise file.fatal("bad-json", DOUBLED, field=key)
    return value


def read_model(path: Path, model: type[T]) -> T:
    """The JSON of a whole file as a model. InputError names every field that does not fit; see `read_json`."""
    file = File(path, Problems())
    return file.record(model.model_validate, read_json(file))


def doubled_key(text: str | bytes) -> str | None:
    """The first key that stands twice in one object of a JSON text; None where there is none.

    >>> doubled_key('{"a": 1, "b": {"c": 1, "c": 2}}')
    'c'
    """
    doubled: list[str] = []

    def count(pairs: list[tuple[str, Any]]) -> None:
        if len(dict(pairs)) < len(pairs):
            doubled.extend(Counter(key for key, _ in pairs).most_common(1)[0][:1])

    with suppress(ValueError, RecursionError):  # no JSON: reported where it is read
        json.loads(text, object_pairs_hook=count)
    return doubled[0] if doubled else None


def read_jsonl(
    file: File,
    model: type[T],
    *,
    start: int = 0,
    stop: int | None = None,
    is_large: bool = False,
) -> Iterator[tuple[int, T]]:
    """Yield (line number, record) for each line that fits `model`; report the others and go on.

    A byte-order mark and blank lines are passed over. A key that stands twice in one object is an error.
    `start` and `stop` are byte offsets at line starts (`shards` gives them); line numbers then count from the
    shard's first line.
    `is_large`: lines that fit are read in less time, as objects with the fields of `model` as attributes. A field of any
    kind is left unread, as the bytes of its JSON, and of a doubled key the last value counts. For strict models that
    ignore other keys and refuse NaN; what limits a number must stand in them as `msgspec.Meta` too.
    """
    decode: Any = msgspec.json.Decoder(_struct(model)).decode if is_large else None
    position = start
    with file.path.open("rb", buffering=READ_BYTES) as lines:
        lines.seek(start)
        for number, line in enumerate(lines, 1):
            if stop is not None and position >= stop:
                break
            position += len(line)
            file.n_lines = number
            line = line.removeprefix(BOM)
            if line.isspace() or not line:
                continue
            if decode:
                with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                    yield number, decode(line)
                    continue
            report = partial(file.error, line=number)
            try:
                record = model.model_validate_json(line.decode())
            except UnicodeDecodeError as damage:
                report("not-utf8", not_utf8(damage, "line"))
                continue
            except ValidationError as e:
                misfit(e, report)
                continue
            key = doubled_key(line)
            if key is None:
                yield number, record
            else:
                report("bad-json", DOUBLED, field=key)


def shards(path: Path, n: int) -> list[tuple[int, int]]:
    """Cut a file into at most `n` byte ranges of about equal size that begin and end at line ends."""
    size = path.stat().st_size
    cuts = {0, size}
    with path.open("rb") as f:
        for i in range(1, n):
            f.seek(size * i // n)
            f.readline()
            cuts.add(f.tell())
    return list(pairwise(sorted(cuts)))


@cache
def _struct(model: type[BaseModel]) -> type:
    """The class of msgspec that has the fields of a model."""
    fields = []
    for name, field in model.model_fields.items():
        default = () if field.is_required() else (field.default,)
        fields.append((name, _translated(field.annotation), *default))
    # records are trees: nothing in them for the collector of cycles to look for
    return msgspec.defstruct(
        model.__name__,
        fields,
        kw_only=True,
        gc=False,
    )


def _translated(kind: Any) -> Any:
    """The type that msgspec reads as pydantic reads `kind`, or a narrower one. Of its marks `msgspec.Meta` counts."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return _struct(kind)
    origin = get_origin(kind)
    if origin is None:
        return msgspec.Raw if kind is Any else kind
    origin = Union if origin is UnionType else origin
    # of several kinds, objects of other shapes than the model's are left to pydantic
    parts = (
        None if (part, origin) == (Any, Union) else _translated(part) for part in get_args(kind)
    )
    return origin[tuple(parts)]
