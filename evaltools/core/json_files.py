"""JSON of a whole file, and typed, streaming JSON Lines.

Decoders made from pydantic models read large lines several times as fast: the model stays the only definition of a
record, and pydantic the judge of every line that they refuse. What is read is the same. One thing they do not notice:
what no field takes must be JSON, but its texts are passed over unread, though they may not be UTF-8.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin

import msgspec
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from .errors import Problems
from .records import BOM, File, T, misfit, not_json, not_utf8

READ_BYTES = 1 << 18  # read at a time: lines of tens of kilobytes are put together from few pieces
DOUBLED = "doubled key: it stands twice in one object"


def read_json(file: File) -> Any:
    """The JSON value of a whole file.

    Raises InputError, with the line where there is one, for a file that is not UTF-8, is no JSON, nests too deeply
    (more than 200 levels), or names a key twice in one object.
    """
    text = file.text()
    try:
        value = from_json(text)
    except ValueError as error:
        place = str(error).partition(" at line ")[2]
        line = int(place.partition(" ")[0]) if place else None
        raise file.fatal("bad-json", not_json(str(error)), line=line) from None
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
            record = None
            if decode is not None:
                with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                    record = decode(line)
            if record is None:
                record = _judged(line, model, partial(file.error, line=number))
            if record is not None:
                yield number, record


def _judged(
    raw: bytes,
    model: type[T],
    report: Callable[..., None],
) -> T | None:
    """A line as a record; None where it does not fit, which is reported."""
    try:
        record = model.model_validate_json(raw.decode())
    except UnicodeDecodeError as damage:
        report("not-utf8", not_utf8(damage, "line"))
        return None
    except ValidationError as e:
        misfit(e, report)
        return None
    key = doubled_key(raw)
    if key is not None:
        report("bad-json", DOUBLED, field=key)
        return None
    return record


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
    fields: list[Any] = []
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
