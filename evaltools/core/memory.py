"""Data in memory as an input: frames and lists of records are written as the file that a suite reads."""

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from .errors import IN_MEMORY, UsageError
from .estimates import is_null
from .files import Fields
from .records import require_unique


def is_path(run: Any) -> bool:
    """Whether an input is a path, or a text that stands for one, and no data."""
    return isinstance(run, str | Path)


def is_data(value: Any) -> bool:
    """Whether a value is a table of pandas, or one that can become it (polars, Arrow), or a list of records."""
    if isinstance(value, list):
        return len(value) > 0 and isinstance(value[0], Mapping)
    return isinstance(value, pd.DataFrame) or hasattr(value, "to_pandas")


# the name of data in memory: of their file, and of its folder, so that every suite calls a run of them so
DATA = "data"


@contextmanager
def as_files(
    run: Any,
    options: Fields,
) -> Iterator[tuple[Any, Fields]]:
    """(run, options), data in memory among them being files while the block runs.

    What is wrong with them is told by their names (`errors.shown_path`).
    """
    data = {key: value for key, value in options.items() if is_data(value)}
    if not is_path(run):
        data[DATA] = run
    with TemporaryDirectory(prefix=IN_MEMORY) as place:
        folder = Path(place) / DATA
        folder.mkdir()
        files = {key: write_records(value, folder, key) for key, value in data.items()}
        run = files.pop(DATA, run)
        yield run, {**options, **files}


def write_records(
    data: Any,
    folder: Path,
    name: str,
) -> Path:
    """Write records as JSON Lines into a folder; returns the file.

    `data`: a table (`is_data`) or a list of dicts. A null cell of a table is left out of its record, but in a column
    without any value. NaN in a dict is null; dates and what else JSON has not are texts.
    UsageError for anything else, for two columns of one name, and for a list with an entry that is no dict.
    """
    if hasattr(data, "to_pandas"):
        data = data.to_pandas()
    if isinstance(data, pd.DataFrame):
        require_unique(data.columns)
        empty = {*data.columns[data.isna().all()]}
        rows = data.to_dict("records")
        data = [{k: v for k, v in row.items() if k in empty or not is_null(v)} for row in rows]
    if not isinstance(data, list):
        kind = type(data).__name__
        raise UsageError(f"expected a path, a DataFrame or a list of dicts, got {kind}")
    for index, record in enumerate(data):
        if not isinstance(record, Mapping):
            kind = type(record).__name__
            raise UsageError(f"record {index} of the list is {kind}; expected a dict")
    path = folder / f"{name}.jsonl"
    try:
        cells = ({str(key): _cell(value) for key, value in record.items()} for record in data)
        lines = [json.dumps(record, allow_nan=False, default=_as_json) for record in cells]
    except Exception as e:  # a class of the user's may raise anything
        raise UsageError(f"the data cannot be written as JSON: {e}") from e
    path.write_text("\n".join(lines))
    return path


def _cell(value: Any) -> Any:
    """A cell as JSON can hold it; an infinite number as text."""
    if isinstance(value, float | np.floating) and math.isinf(value):
        return str(value)
    return None if is_null(value) else value


def _as_json(value: Any) -> Any:
    """What JSON has no form for: arrays as lists, decimals as numbers, all else as text."""
    if isinstance(value, Decimal | np.floating):  # that of numpy: no longdouble is a list
        return float(value)
    return value.tolist() if hasattr(value, "tolist") else str(value)
