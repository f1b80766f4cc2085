"""JSON of a whole file."""

from __future__ import annotations

import json
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
    except ValueError as error:
        # the place stands at the end of what is said
        reason, _, place = str(error).partition(" at line ")
        line = int(place.partition(" ")[0]) if place else None
        raise problems.fatal(
            "bad-json", "not JSON: {reason}", reason=reason, file=path, line=line
        ) from None
    if unique_keys:
        _require_unique_keys(text, path, problems)
    return value


def _require_unique_keys(text: str, path: Path, problems: Problems) -> None:
    """InputError at the first object that names a key twice."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        for key, value in pairs:
            if key in fields:
                raise problems.fatal(
                    "bad-json", "doubled key: it stands twice in one object", file=path, field=key
                )
            fields[key] = value
        return fields

    json.loads(text, object_pairs_hook=unique)


def read_model(path: Path, model: type[T]) -> T:
    """The JSON of a whole file as a model. InputError names every field that does not fit; see `read_json`."""
    problems = Problems()
    record = fitted(model, read_json(path, problems), problems, file=path)
    if record is None:
        raise InputError(problems.errors)
    return record
