"""Data in memory as an input: frames and lists of records are written as the file that a suite reads."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, time, timedelta
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID

import pandas as pd
import pyarrow as pa

from .errors import InputError, UsageError
from .estimates import plain_value
from .files import write_jsonl


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


def shown_path(path: Path | str) -> str:
    """A path as people read it: of data in memory (`as_files`) their name."""
    file = Path(path)
    is_in_memory = file.parent.name == DATA and file.parent.parent.name.startswith(PREFIX)
    return file.stem if is_in_memory else str(path)


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
            raise InputError(replace(p, file=shown_path(p.file)) for p in error.problems) from None
        except UsageError as error:
            raise UsageError(str(error).replace(f"{folder}/", "")) from None


def write_records(
    data: Any,
    folder: Path,
    name: str,
) -> Path:
    """Write records as JSON Lines into a folder; returns the file.

    `data`: a DataFrame, anything with `__arrow_c_stream__`, or a list of dicts. A null cell of a frame is left out of
    its record; NaN in a dict is null; dates and what else JSON has not are texts. UsageError for anything else, for two
    columns of one name, and for a list with an entry that is no dict.
    """
    is_list = isinstance(data, list)
    if not is_list:
        data = _records_of_frame(data)
    records = []
    for index, record in enumerate(data):
        if not isinstance(record, Mapping):
            raise UsageError(
                f"record {index} of the list is {type(record).__name__}; expected a dict"
            )
        cells = {str(key): _cell(value) for key, value in record.items()}
        if not is_list:
            cells = {key: value for key, value in cells.items() if value is not None}
        records.append(cells)
    path = folder / f"{name}.jsonl"
    try:
        write_jsonl(path, records, _JSON.encode)
    except (TypeError, ValueError) as e:
        raise UsageError(f"the data cannot be written as JSON: {e}") from e
    return path


def _records_of_frame(data: Any) -> list[dict[Any, Any]]:
    """The rows of a DataFrame or a table of Arrow."""
    is_frame = isinstance(data, pd.DataFrame)
    try:
        table = data if is_frame else pa.table(data)
    except (pa.ArrowException, TypeError, ValueError) as error:
        kind = type(data).__name__
        raise UsageError(f"expected a path, a DataFrame or a list of dicts, got {kind}") from error
    names = list(map(str, table.columns if is_frame else table.column_names))
    doubled = [name for name in names if names.count(name) > 1]
    if doubled:
        raise UsageError(f"two columns are named {doubled[0]!r}")
    return table.to_dict("records") if is_frame else table.to_pylist()


def _cell(value: Any) -> Any:
    """A cell as JSON can hold it; an infinite number as text."""
    value = plain_value(value)
    return str(value) if isinstance(value, float) and math.isinf(value) else value


def _as_json(value: Any) -> Any:
    """What JSON has no form for: decimals as numbers; dates, intervals and the like as text."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, TEXTS):
        return str(value)
    raise TypeError(f"{type(value).__name__} {value!r:.80}")


_JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=_as_json)

TEXTS = (date, time, timedelta, UUID, bytes, pd.Interval, pd.Period)
"""What stands in a file as text."""
