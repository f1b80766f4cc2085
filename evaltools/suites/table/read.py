"""A long file (CSV, JSON Lines, parquet): a row is one metric on one sample."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype
from pydantic import BaseModel, ConfigDict

from ...core.csv_files import csv_rows, written_list
from ...core.errors import Problems
from ...core.json_files import read_jsonl
from ...core.metric import LARGEST
from ...core.score_rows import COLUMNS
from ...core.text_files import require_file

NAMES = ("id", "metric", "condition", "seed", "trial", "cluster", "text")
NUMBERS = ("value", "num", "den", "low", "high", "higher_is_better")

TRUTH = {"true": 1.0, "false": 0.0}

# what no cell of a table is, in parquet
NESTED = {bytes, dict, np.ndarray}

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


def read(path: Path, problems: Problems) -> pd.DataFrame:
    """The rows of a file, with its columns but those of lists and objects; the index is the line.

    InputError where the file is damaged or not in the long form.
    """
    require_file(path, problems)
    if path.suffix.lower() == ".parquet":
        return _parquet(path, problems)
    lines = _csv_lines if path.suffix.lower() == ".csv" else _json_lines
    rows = dict(lines(path, problems))
    return pd.DataFrame(list(rows.values()), index=list(rows))


def _csv_lines(path: Path, problems: Problems) -> Iterator[tuple[int, dict[str, Any]]]:
    rows = csv_rows(path, problems)
    _, header = next(rows)
    _require_columns(header, path, problems)
    for line, cells in rows:
        by_name = {name: text or None for name, text in zip(header, cells) if name}
        for name in by_name.keys() - COLUMNS:
            if written_list(by_name[name] or "") is not None:
                by_name[name] = None
        yield line, by_name


def _json_lines(path: Path, problems: Problems) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in read_jsonl(path, Line, problems, id_field="id"):
        cells = line.model_dump(exclude_unset=True).items()
        yield number, {k: value for k, value in cells if not isinstance(value, list | dict)}


def _parquet(path: Path, problems: Problems) -> pd.DataFrame:
    from pyarrow import ArrowException, parquet

    try:
        frame = parquet.read_table(path).to_pandas(ignore_metadata=True)
    except (ArrowException, OSError) as error:
        message = f"not parquet, or not whole: {error}"
        raise problems.fatal("bad-parquet", message, file=path) from None
    _require_columns(list(frame), path, problems)
    for name in frame.select_dtypes("category"):
        frame[name] = frame[name].astype(object)
    for name in frame.select_dtypes(object, exclude="str"):
        kinds = {type(cell) for cell in frame[name]} & NESTED
        if kinds and name in COLUMNS:
            message = f"expected a text or a number a row, got {kinds.pop().__name__}"
            raise problems.fatal("wrong-columns", message, file=path, field=name)
        if kinds:
            frame = frame.drop(columns=name)
    frame.index += 1
    return frame


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
    cells = frame.reindex(columns=list(dict.fromkeys([*COLUMNS, *frame])))
    rows = cells.copy()
    is_bad = np.zeros(len(cells), dtype=bool)

    def refuse(is_wrong: Any, column: str, expected: str) -> None:
        for row in np.flatnonzero(np.asarray(is_wrong, dtype=bool) & ~is_bad):
            cell, id_ = cells[column].iloc[row], rows["id"].iloc[row]
            got = "nothing" if pd.isna(cell) else repr(str(cell)[:80])
            problems.error(
                "bad-field",
                f"expected {expected}, got {got}",
                file=path,
                line=int(cells.index[row]),
                id="" if pd.isna(id_) else id_[:200],
                field=column,
            )
            is_bad[row] = True

    for column in NAMES:
        rows[column] = _as_text(cells[column])
    for column in ("id", "metric"):
        refuse(rows[column].fillna("").str.strip() == "", column, f"the {column} as text")
    for column in ("metric", "condition"):
        is_broken = rows[column].str.contains(CONTROL, na=False)
        refuse(is_broken, column, "a name without control characters")
    for column in NUMBERS:
        rows[column], is_wrong = _numbers(cells[column])
        is_number = column != "higher_is_better"
        refuse(is_wrong, column, "a number" if is_number else "true or false")
        is_large = rows[column].abs() >= LARGEST
        refuse(is_large, column, f"a number below {LARGEST:g} in size")
    num, den, low, high = (rows[column] for column in ("num", "den", "low", "high"))
    is_nothing = (den == 0) & (num == 0)
    refuse(num.notna() & ~(den > 0) & ~is_nothing, "den", "a denominator above 0 beside num")
    has_limits = low.notna() | high.notna()
    refuse(has_limits & ~(low < high), "low", "low below high, both or neither")
    directions = [0, 1, np.nan]
    refuse(~rows["higher_is_better"].isin(directions), "higher_is_better", "true or false")

    # a value counts before num and den; it is a ratio with the denominator 1
    value = rows.pop("value")
    rows["num"] = value.fillna(num)
    rows["den"] = den.where(num.notna()).mask(value.notna(), 1.0)
    return rows[~is_bad]


def _as_text(column: pd.Series) -> pd.Series:
    """Names as text: whole numbers without a point, null where there is no name."""
    texts = {}
    for value in column.dropna().unique():
        is_whole = isinstance(value, float) and value.is_integer()
        texts[value] = str(int(value) if is_whole else value)
    return column.map(texts).astype("str")


def _numbers(cells: pd.Series) -> tuple[pd.Series, Any]:
    """(the cells as floats, whether each is no number); empty and NaN are nan, true and false 1 and 0."""
    if is_numeric_dtype(cells):
        return cells.astype(float), False
    words = cells.map(lambda cell: str(cell).lower(), na_action="ignore")
    numbers = words.map(_number, na_action="ignore").astype(float)
    return numbers, numbers.isna() & ~words.isin(["nan", np.nan, None])


def _number(word: str) -> float:
    try:
        return TRUTH[word] if word in TRUTH else float(word)
    except ValueError:
        return np.nan
