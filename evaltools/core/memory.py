"""Data in memory as an input: frames and lists of records are written as the file that a suite reads."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

from .errors import InputError, Problem, UsageError
from .estimates import plain_value
from .files import write_jsonl
from .language import Message


def is_path(run: Any) -> bool:
    """Whether an input is a path, or a text that stands for one, and no data."""
    return isinstance(run, str | Path)


def is_data(value: Any) -> bool:
    """Whether a value is a DataFrame, a table of Arrow, or a list of records."""
    if isinstance(value, list):
        return len(value) > 0 and isinstance(value[0], Mapping)
    return hasattr(value, "__arrow_c_stream__")


DATA = "data"
"""The name of data in memory: of their file, and of its folder, so that every suite calls a run of them so."""

PREFIX = "evaltools-memory-"
"""How the temporary folders begin that hold the folders DATA."""


def is_in_memory(path: Path) -> bool:
    """Whether a file holds data in memory (`as_files`)."""
    return path.parent.name == DATA and path.parent.parent.name.startswith(PREFIX)


def shown_path(path: Path) -> str:
    """A path as people read it: of data in memory their name."""
    return path.stem if is_in_memory(path) else str(path)


@contextmanager
def as_files(
    run: Any,
    options: Mapping[str, Any],
) -> Iterator[tuple[Any, Mapping[str, Any]]]:
    """(run, options), data in memory among them being files while the block runs.

    An InputError or UsageError of the block names such data, not their files.
    """
    in_memory = {key: value for key, value in options.items() if is_data(value)}
    if is_path(run) and not in_memory:
        yield run, options
        return
    with TemporaryDirectory(prefix=PREFIX) as place:
        folder = Path(place) / DATA
        folder.mkdir()
        if not is_path(run):
            run = write_records(run, folder, DATA)
        paths = {key: write_records(value, folder, key) for key, value in in_memory.items()}
        try:
            yield run, {**options, **paths}
        except InputError as error:
            raise of_memory(error) from None
        except UsageError as error:
            raise UsageError(_as_shown(error.args[0])) from None


def _as_shown(message: str | Message) -> str | Message:
    """A message in which data in memory are named as such."""
    if isinstance(message, str):
        return message
    values = {}
    for key, value in message.values.items():
        values[key] = shown_path(value) if isinstance(value, Path) else value
    return Message(message.template, values)


def write_records(
    data: Any,
    folder: Path,
    name: str,
) -> Path:
    """Write records as JSON Lines into a folder; returns the file.

    `data`: a DataFrame, anything with `__arrow_c_stream__`, or a list of dicts. A null cell of a frame is left out of
    its record; NaN in a dict is null. UsageError for anything else, and for a list with an entry that is no dict.
    """
    is_list = isinstance(data, list)
    if not is_list and not is_data(data):
        raise UsageError(
            "expected a path, a DataFrame or a list of dicts, got {kind}", kind=type(data).__name__
        )
    if isinstance(data, pd.DataFrame):
        data = data.to_dict("records")
    elif not is_list:
        import pyarrow as pa

        data = pa.table(data).to_pylist()
    records = []
    for index, record in enumerate(data):
        if not isinstance(record, Mapping):
            raise UsageError(
                "record {index} of the list is {kind}; expected a dict",
                index=index,
                kind=type(record).__name__,
            )
        cells = {str(key): plain_value(value) for key, value in record.items()}
        if not is_list:
            cells = {key: value for key, value in cells.items() if value is not None}
        records.append(cells)
    path = folder / f"{name}.jsonl"
    try:
        write_jsonl(path, records)
    except (TypeError, ValueError) as e:
        raise UsageError("the data cannot be written as JSON: {error}", error=str(e)) from e
    return path


def of_memory(error: InputError) -> InputError:
    """Problems of data in memory, named as such; each kind once, with the fields that there are."""
    problems: dict[Any, Problem] = {}
    for problem in error.problems:
        path = Path(problem.file)
        if not is_in_memory(path):
            problems[problem] = problem
            continue
        message = problem.message
        if problem.code == "bad-field":
            values = {"what": message, "fields": tuple(_fields(path))}
            message = Message("{what}; the records have {fields}", values)
        kind = (problem.code, problem.field, path.stem)
        problems.setdefault(kind, replace(problem, file=path.stem, message=message))
    return InputError(problems.values())


def _fields(path: Path) -> list[str]:
    """The fields of the records of a file, in the order in which they first occur."""
    fields: dict[str, None] = {}
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            fields.update(dict.fromkeys(json.loads(line)))
    return list(fields)
