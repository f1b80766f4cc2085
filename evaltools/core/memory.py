"""Data in memory as an input: frames and lists of records are written as the file that a suite reads."""

from __future__ import annotations

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


def shown_path(path: Path) -> str:
    """A path as people read it: of data in memory (`as_files`) their name."""
    is_in_memory = path.parent.name == DATA and path.parent.parent.name.startswith(PREFIX)
    return path.stem if is_in_memory else str(path)


@contextmanager
def as_files(
    run: Any,
    options: Mapping[str, Any],
) -> Iterator[tuple[Any, Mapping[str, Any]]]:
    """(run, options), data in memory among them being files while the block runs.

    An InputError or UsageError of the block names such data, not their files.
    """
    data = {key: value for key, value in options.items() if is_data(value)}
    if not is_path(run):
        data[DATA] = run
    if not data:
        yield run, options
        return
    with TemporaryDirectory(prefix=PREFIX) as place:
        folder = Path(place) / DATA
        folder.mkdir()
        paths: dict[str, Any] = {}
        for key, value in data.items():
            paths[key] = write_records(value, folder, key)
        run = paths.pop(DATA, run)
        try:
            yield run, {**options, **paths}
        except InputError as error:
            raise _of_memory(error, folder) from None
        except UsageError as error:
            message = error.args[0]
            if isinstance(message, Message):
                values = dict(message.values)
                for key, value in values.items():
                    values[key] = shown_path(value) if isinstance(value, Path) else value
                message = replace(message, values=values)
            raise UsageError(message) from None


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
    if isinstance(data, pd.DataFrame):
        data = data.to_dict("records")
    elif is_data(data) and not is_list:
        import pyarrow as pa

        data = pa.table(data).to_pylist()
    elif not is_list:
        raise UsageError(
            "expected a path, a DataFrame or a list of dicts, got {kind}", kind=type(data).__name__
        )
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


def _of_memory(error: InputError, folder: Path) -> InputError:
    """Problems of data in memory, named as such; each kind once, with the fields that there are.

    Those of files of the user's stay as they are.
    """
    problems: list[Problem] = []
    kinds = set()
    for problem in error.problems:
        path = Path(problem.file)
        kind = (problem.code, problem.field, problem.file)
        if path.parent != folder:
            problems.append(problem)
        elif kind not in kinds:
            kinds.add(kind)
            message = problem.message
            if problem.code == "bad-field":
                fields = tuple(pd.read_json(path, lines=True, dtype=False))
                values = {"what": message, "fields": fields}
                message = Message("{what}; the records have {fields}", values)
            problems.append(replace(problem, file=shown_path(path), message=message))
    return InputError(problems)
