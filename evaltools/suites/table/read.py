"""A long file (CSV, JSON Lines, parquet): a row is one metric on one sample."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict

from ...core.csv_files import csv_rows, written_list
from ...core.errors import Problems
from ...core.json_files import read_jsonl
from ...core.metric import LARGEST
from ...core.score_rows import COLUMNS
from ...core.text_files import require_file

# rows of text that are held at once
BLOCK = 1 << 17

NAMES = ("id", "metric", "condition", "seed", "trial", "cluster", "text")
NUMBERS = ("value", "num", "den", "low", "high")

TRUTH = {"true": 1.0, "false": 0.0}
TRUE_OR_FALSE = "true or false"

# what no name of a metric or condition may hold: a line of a terminal begins with it
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class Line(BaseModel):
    """A line of the JSON Lines form; other keys are further columns.

    What its cells must be is judged with those of the other forms (`usable_rows`).
    """

    model_config = ConfigDict(strict=True, extra="allow")

    id: str | int | float
    metric: str
    value: float | bool | None = None
    num: float | None = None
    den: float | None = None
    condition: str | int | float | None = None
    seed: str | int | float | None = None
    trial: str | int | float | None = None
    cluster: str | int | float | None = None
    text: str | None = None
    low: float | None = None
    high: float | None = None
    higher_is_better: bool | float | str | None = None


def frames(
    path: Path,
    problems: Problems,
) -> Iterator[pd.DataFrame]:
    """The rows of a file in parts, with its columns but those of lists and objects.

    The index is the line (in parquet: the number of the row). InputError where the file is damaged
    or not in the long form.
    """
    require_file(path, problems)
    readers = {".csv": _csv_frames, ".parquet": _parquet_frames}
    yield from readers.get(path.suffix.lower(), _json_frames)(path, problems)


def _csv_frames(
    path: Path,
    problems: Problems,
) -> Iterator[pd.DataFrame]:
    rows = csv_rows(path, problems)
    _, header = next(rows)
    _require_columns(header, path, problems)

    def cells(row: list[str]) -> dict[str, str | None]:
        by_name: dict[str, str | None] = {}
        for name, text in zip(header, row):
            is_list = name not in COLUMNS and written_list(text) is not None
            if name:
                by_name[name] = None if is_list else text or None
        return by_name

    yield from _in_blocks((line, cells(row)) for line, row in rows)


def _json_frames(
    path: Path,
    problems: Problems,
) -> Iterator[pd.DataFrame]:
    def cells(line: Line) -> dict[str, Any]:
        by_name = {}
        for name, value in line.model_dump(exclude_unset=True).items():
            if not isinstance(value, list | dict):
                by_name[name] = value
        return by_name

    lines = read_jsonl(path, Line, problems, id_field="id")
    yield from _in_blocks((number, cells(line)) for number, line in lines)


def _in_blocks(rows: Iterable[tuple[int, dict[str, Any]]]) -> Iterator[pd.DataFrame]:
    rows = iter(rows)
    while block := dict(islice(rows, BLOCK)):
        yield pd.DataFrame(list(block.values()), index=list(block))


def _parquet_frames(
    path: Path,
    problems: Problems,
) -> Iterator[pd.DataFrame]:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        schema = parquet.read_schema(path)
        _require_columns(schema.names, path, problems)
        names = []
        for column in schema:
            kind = getattr(column.type, "value_type", column.type)  # of categories
            is_flat = not pa.types.is_nested(column.type) and "binary" not in str(kind)
            is_time = pa.types.is_temporal(kind) and column.name in NUMBERS
            if is_flat and not is_time:
                names.append(column.name)
            elif column.name in COLUMNS:
                message = f"expected a text or a number a row, got {str(column.type)[:80]}"
                raise problems.fatal("wrong-columns", message, file=path, field=column.name)
        frame = parquet.read_table(path, columns=names).to_pandas(ignore_metadata=True)
    except (pa.ArrowException, OSError) as error:
        message = f"not parquet, or not whole: {error}"
        raise problems.fatal("bad-parquet", message, file=path) from None
    for name in frame.select_dtypes("category"):
        frame[name] = frame[name].astype(object)
    frame.index += 1
    yield frame


def _require_columns(
    header: Sequence[str],
    path: Path,
    problems: Problems,
) -> None:
    """InputError for a header that is not of the long form."""
    message = ""
    for column in COLUMNS:
        if header.count(column) > 1:
            message = f"two columns are named {column}"
    has_score = "value" in header or {"num", "den"} <= set(header)
    if not has_score or not {"id", "metric"} <= set(header):
        names = ", ".join([*header[:20], "..."] if len(header) > 20 else header)
        message = f"expected the columns id, metric and value (or num and den), got {names}"
    if message:
        raise problems.fatal("wrong-columns", message, file=path)


def usable_rows(
    frame: pd.DataFrame,
    path: Path,
    problems: Problems,
) -> pd.DataFrame:
    """The rows that can be used; what is wrong with the others is reported, one problem a row.

    Columns: NAMES as text, num and den (null: not measured), low, high, higher_is_better
    (1, 0 or null), and the further columns of the file.
    """
    missing = [column for column in COLUMNS if column not in frame]
    cells = frame.reindex(columns=[*frame.columns, *missing])
    is_bad = np.zeros(len(cells), dtype=bool)

    def refuse(is_wrong: Any, column: str, expected: str) -> None:
        is_new = np.asarray(is_wrong, dtype=bool) & ~is_bad
        for row in np.flatnonzero(is_new):
            cell = cells[column].iloc[row]
            id_ = cells["id"].iloc[row]
            got = "nothing" if pd.isna(cell) else repr(str(cell)[:80])
            problems.error(
                "bad-field",
                f"expected {expected}, got {got}",
                file=path,
                line=int(cells.index[row]),
                id="" if pd.isna(id_) else str(id_)[:200],
                field=column,
            )
            is_bad[row] = True

    rows = pd.DataFrame(index=frame.index)
    for column in NAMES:
        rows[column] = _as_text(cells[column])
    for column in ("id", "metric"):
        is_empty = rows[column].isna() | (rows[column].str.strip() == "")
        refuse(is_empty, column, f"the {column} as text")
    for column in ("metric", "condition"):
        names = rows[column].dropna().unique()
        broken = [name for name in names if CONTROL.search(name)]
        refuse(rows[column].isin(broken), column, "a name without control characters")
    numbers = {}
    for column in (*NUMBERS, "higher_is_better"):
        numbers[column], is_text = _numbers(cells[column])
        refuse(is_text, column, "a number" if column in NUMBERS else TRUE_OR_FALSE)
        is_large = np.abs(numbers[column]) >= LARGEST
        refuse(is_large, column, f"a number below {LARGEST:g} in size")
    value, num, den, low, high, direction = numbers.values()
    has_num = ~np.isnan(num)
    is_nothing = (den == 0) & (num == 0)
    refuse(has_num & ~(den > 0) & ~is_nothing, "den", "a denominator above 0 beside num")
    has_limits = ~np.isnan(low) | ~np.isnan(high)
    refuse(has_limits & ~(low < high), "low", "low below high, both or neither")
    is_known = ~np.isnan(direction)
    refuse(is_known & ~np.isin(direction, (0, 1)), "higher_is_better", TRUE_OR_FALSE)

    # a value counts before num and den; it is a ratio with the denominator 1
    has_value = ~np.isnan(value)
    rows["num"] = np.where(has_value, value, num)
    rows["den"] = np.where(has_value, 1.0, np.where(has_num, den, np.nan))
    rows["low"] = low
    rows["high"] = high
    rows["higher_is_better"] = direction
    further = cells[cells.columns.difference(COLUMNS, sort=False)]
    return rows.join(further)[~is_bad]


def _as_text(column: pd.Series) -> pd.Series:
    """Names as text: whole numbers without a point, null where there is no name."""
    if pd.api.types.is_string_dtype(column):
        return column
    texts = {}
    for value in column.dropna().unique():
        is_whole = isinstance(value, float) and value.is_integer()
        texts[value] = str(int(value) if is_whole else value)
    return column.map(texts).astype("str")


def _numbers(cells: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """(the cells as floats, whether each is a text that is no number).

    Empty and NaN are nan, true and false 1 and 0.
    """
    parsed = pd.to_numeric(cells, errors="coerce")
    numbers = parsed.to_numpy(dtype=float, na_value=np.nan, copy=True)
    is_text = np.isnan(numbers) & cells.notna().to_numpy()
    words = cells[is_text].astype(str).str.lower()
    numbers[is_text] = words.map(TRUTH)
    is_text[is_text] = ~words.isin(["nan", *TRUTH])
    return numbers, is_text
