"""JSON of a whole file."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from .errors import InputError, Problems
from .records import T, fitted
from .text_files import read_utf8


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
    except ValueError as e:
        raise _no_json(e, path, problems) from None
    if unique_keys:
        _require_unique_keys(text, path, problems)
    return value


def _no_json(
    error: ValueError,
    path: Path,
    problems: Problems,
) -> InputError:
    """What to raise for a file that is no JSON: pydantic names the place at the end of what it says."""
    reason, has_place, place = str(error).partition(" at line ")
    if not has_place:
        return problems.fatal("bad-json", "not JSON: {reason}", reason=reason, file=path)
    line, _, column = place.partition(" column ")
    text = "not JSON: {reason} (column {column})"
    values = {"reason": reason, "column": column}
    return problems.fatal("bad-json", text, **values, file=path, line=int(line))


def _require_unique_keys(
    text: str,
    path: Path,
    problems: Problems,
) -> None:
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
