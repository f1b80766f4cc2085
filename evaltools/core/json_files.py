"""JSON of a whole file, and typed, streaming JSON Lines."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import from_json

from . import text_files
from .errors import InputError, Problems
from .records import T, describe, fitted, json_reason
from .text_files import BOM, lines_of, not_utf8, pass_line, read_utf8

DOUBLED = "doubled key: it stands twice in one object"


def read_json(
    path: Path,
    problems: Problems,
    *,
    unique_keys: bool = False,
) -> Any:
    """The JSON value of a whole file.

    Raises InputError, with the line where there is one, for a file that cannot be read, is not UTF-8, is no
    JSON, nests too deeply (more than 200 levels), or names a key twice in one object (`unique_keys`).
    """
    text = read_utf8(path, problems)
    try:
        value = from_json(text)
    except ValueError as error:
        place = str(error).partition(" at line ")[2]
        line = int(place.partition(" ")[0]) if place else None
        reason = json_reason(str(error))
        raise problems.fatal("bad-json", f"not JSON: {reason}", file=path, line=line) from None
    key = doubled_key(text) if unique_keys else None
    if key is not None:
        raise problems.fatal("bad-json", DOUBLED, file=path, field=key)
    return value


def doubled_key(text: str | bytes) -> str | None:
    """The first key that stands twice in one object of a JSON text; None where there is none.

    >>> doubled_key('{"a": 1, "b": {"c": 1, "c": 2}}')
    'c'
    """
    doubled: list[str] = []

    def count(pairs: list[tuple[str, Any]]) -> None:
        if len({key for key, _ in pairs}) < len(pairs):
            times = Counter(key for key, _ in pairs)
            doubled.extend(key for key, n in times.items() if n > 1)

    with suppress(ValueError, RecursionError):  # no JSON: reported where it is read
        json.loads(text, object_pairs_hook=count)
    return doubled[0] if doubled else None


def read_model(path: Path, model: type[T]) -> T:
    """The JSON of a whole file as a model. InputError names every field that does not fit; see `read_json`."""
    problems = Problems()
    record = fitted(model, read_json(path, problems), problems, file=path)
    if record is None:
        raise InputError(problems.errors)
    return record


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
    first (`fast_json.decoder`); the lines for which it gives None are judged by `model`, and there a key that stands
    twice in one object is an error.
    """
    validate = model.__pydantic_validator__.validate_json
    progress = progress or Progress()
    with path.open("rb", buffering=text_files.READ_BYTES) as f:
        f.seek(start)
        position = start
        for number, line in enumerate(lines_of(f), 1):
            if stop is not None and position >= stop:
                break
            position += len(line)
            if len(line) > text_files.LINE_BYTES:
                size = text_files.LINE_BYTES >> 20
                raise problems.fatal(
                    "line-too-long",
                    f"a line of more than {size} MB; expected one JSON object a line",
                    file=path,
                    line=number,
                )
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
                key = doubled_key(line)
                if key is not None:
                    problems.error("bad-json", DOUBLED, file=path, line=number, field=key)
                    continue
            yield number, record


def _report(
    error: ValidationError,
    raw: bytes,
    problems: Problems,
    **where: Any,
) -> None:
    """Report what is wrong with a line."""
    for code, field, message in describe(error):
        if code == "bad-json":
            code, message = _damage(raw, message)
        problems.error(code, message, field=field, **where)


def _damage(raw: bytes, message: str) -> tuple[str, str]:
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
    return "cut-off-line", f"{message}; the last line has no end: is the run still being written?"


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
            pass_line(f)
            if f.tell() >= size:
                break
            cuts.append(f.tell())
    return list(zip(cuts, [*cuts[1:], size]))
