"""A long file (CSV, JSONL, parquet) in blocks of rows: one metric on one sample, a row."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict

from ...core.errors import Problems
from ...core.fast_json import decoder
from ...core.metric_matrix import LARGEST
from ...core.records import csv_rows, read_jsonl, require_file

BLOCK = 1 << 17
"""Rows that are held at once."""

MOST_COLUMNS = 10_000
"""A file with more is not long, but wide."""

NAMES = ("id", "metric", "condition", "seed", "cluster", "text")
NUMBERS = ("value", "num", "den")
Key = tuple[str | None, str | None]
"""Condition and seed."""

COLUMNS = (*NAMES, *NUMBERS, "higher_is_better")

TRUTH = {"true": True, "false": False, "1": True, "0": False, "1.0": True, "0.0": False}


class Line(BaseModel):
    """A line of the JSONL form; other keys are ignored."""

    model_config = ConfigDict(strict=True, extra="ignore")
    id: str | int
    metric: str
    value: float | None = None
    num: float | None = None
    den: float | None = None
    condition: str | int | None = None
    seed: str | int | None = None
    cluster: str | int | None = None
    text: str | None = None
    higher_is_better: bool | None = None


def columns(path: Path, problems: Problems) -> list[str]:
    """The columns that a file has (of JSONL, may have). InputError where it is no long file, or is damaged."""
    require_file(path, problems)
    kind = path.suffix.lower()
    if kind in (".jsonl", ".ndjson"):
        return list(COLUMNS)
    there = (
        _parquet(path, problems).schema_arrow.names
        if kind == ".parquet"
        else next(csv_rows(path, problems))[1]
    )
    if len(there) > MOST_COLUMNS:
        message = f"{len(there):,} columns; expected the long form: one metric on one sample, a row"
        raise problems.fatal("wrong-columns", message, file=str(path))
    if doubled := sorted({c for c in COLUMNS if there.count(c) > 1}):
        raise problems.fatal("wrong-columns", f"two columns are named {doubled[0]}", file=str(path))
    if not {"id", "metric"} <= set(there) or not ("value" in there or {"num", "den"} <= set(there)):
        more = f" and {len(there) - 20} more" if len(there) > 20 else ""
        message = f"expected the columns id, metric and value (or num and den), got {', '.join(there[:20])}{more}"
        raise problems.fatal("wrong-columns", message, file=str(path))
    return [c for c in COLUMNS if c in there]


def blocks(path: Path, problems: Problems, only: Key | None = None) -> Iterator[pd.DataFrame]:
    """The rows that can be used, all or those of one condition and seed.

    Columns: line (of parquet, the number of the row), the names as text, num and den (nan: not measured),
    higher_is_better. What is wrong with a row is reported.
    """
    there, kind = columns(path, problems), path.suffix.lower()
    made = _parquet_rows if kind == ".parquet" else _csv_rows if kind == ".csv" else _jsonl_rows
    for block in made(path, there, problems):
        frame = block.reindex(columns=["line", *COLUMNS])
        if only is not None:
            wanted = [(_texts(frame[c]), name) for c, name in zip(("condition", "seed"), only)]
            frame = frame[
                np.all([c.isna() if name is None else c.eq(name) for c, name in wanted], axis=0)
            ]
        yield _usable(frame, path, problems)


def _parquet(path: Path, problems: Problems) -> Any:
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

    try:
        file = ParquetFile(path)
    except (pa.ArrowException, OSError) as e:
        raise problems.fatal(
            "bad-parquet", f"not parquet, or not whole: {e}", file=str(path)
        ) from None
    for column in file.schema_arrow:
        kind = getattr(column.type, "value_type", column.type)  # of categories
        timed = pa.types.is_temporal(kind) and column.name in NUMBERS
        bad = timed or pa.types.is_nested(column.type) or "binary" in str(kind)
        if column.name in COLUMNS and bad:
            message = f"expected a text or a number a row, got {str(column.type)[:80]}"
            raise problems.fatal("wrong-columns", message, file=str(path), field=column.name)
    return file


def _parquet_rows(path: Path, there: list[str], problems: Problems) -> Iterator[pd.DataFrame]:
    import pyarrow as pa

    start = 1
    try:
        for batch in _parquet(path, problems).iter_batches(BLOCK, columns=there):
            yield batch.to_pandas().assign(line=np.arange(start, start + len(batch)))
            start += len(batch)
    except (pa.ArrowException, OSError) as e:
        raise problems.fatal(
            "bad-parquet", f"cannot be read: {e}", file=str(path), line=start
        ) from None


def _csv_rows(path: Path, there: list[str], problems: Problems) -> Iterator[pd.DataFrame]:
    rows = csv_rows(path, problems)
    _, header = next(rows)
    at = [header.index(c) for c in there]
    return _framed(((line, *(cells[i] or None for i in at)) for line, cells in rows), there)


def _jsonl_rows(path: Path, there: list[str], problems: Problems) -> Iterator[pd.DataFrame]:
    lines: Any = read_jsonl(path, Line, problems, id_field="id", decode=decoder(Line))
    return _framed(((line, *(getattr(row, c) for c in there)) for line, row in lines), there)


def _framed(rows: Iterator[tuple[Any, ...]], there: list[str]) -> Iterator[pd.DataFrame]:
    while block := list(islice(rows, BLOCK)):
        yield pd.DataFrame(block, columns=["line", *there])


def _usable(frame: pd.DataFrame, path: Path, problems: Problems) -> pd.DataFrame:
    bad = np.zeros(len(frame), dtype=bool)

    def refuse(wrong: Any, column: str, expected: str) -> None:
        rows = np.flatnonzero(np.asarray(wrong, dtype=bool) & ~bad)
        for line, own, got in zip(*(frame[c].iloc[rows] for c in ("line", "id", column))):
            shown = "nothing" if pd.isna(got) else repr(str(got)[:80])
            message = f"expected {expected}, got {shown}"
            where = {
                "line": int(line),
                "id": "" if pd.isna(own) else str(own)[:200],
                "field": column,
            }
            problems.error("bad-field", message, file=str(path), **where)
        bad[rows] = True

    names = {c: _texts(frame[c]) for c in NAMES}
    for c in ("id", "metric"):
        refuse(frame[c].isna() | (names[c] == ""), c, f"the {c} as text")
    numbers = [
        pd.to_numeric(frame[c], errors="coerce").to_numpy(dtype=float, na_value=np.nan)
        for c in NUMBERS
    ]
    for c, found in zip(NUMBERS, numbers):
        unread = np.isnan(found) & frame[c].notna().to_numpy()
        unread[unread] = frame[c][unread].astype(str).str.lower() != "nan"
        refuse(unread, c, "a number")
        refuse(np.isinf(found), c, "a finite number")
        refuse(np.abs(found) >= LARGEST, c, f"a number below {LARGEST:g} in size")
    value, num, den = numbers
    refuse(
        ~np.isnan(num) & ~((den > 0) | ((den == 0) & (num == 0))),
        "den",
        "a denominator above 0 beside num",
    )
    single = ~np.isnan(value)
    counted = single | np.isnan(num)
    higher = frame["higher_is_better"]
    said = {h: TRUTH.get(str(h).strip().lower()) for h in higher.dropna().unique()}
    refuse(
        higher.isin([h for h, truth in said.items() if truth is None]),
        "higher_is_better",
        "true or false",
    )
    out = pd.DataFrame({"line": frame["line"], **names, "higher_is_better": higher.map(said)})
    out["num"], out["den"] = (
        np.where(counted, value, num),
        np.where(counted, np.where(single, 1.0, np.nan), den),
    )
    return out[~bad]


def _texts(column: pd.Series) -> Any:
    """Names as text: numbers as whole ones where they are, null where there is none."""
    if pd.api.types.is_string_dtype(column):
        return column
    codes, distinct = pd.factorize(column)
    texts = [
        str(int(v)) if isinstance(v, float) and v.is_integer() else str(v)
        for v in distinct.tolist()
    ]
    return pd.Series(pd.array([*texts, None], dtype="str").take(codes), index=column.index)
