"""A long file (CSV, TSV, XLSX, JSON Lines): a row is one metric on one sample."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from ...core.json_files import read_jsonl
from ...core.metric import LARGEST
from ...core.names import first_names
from ...core.records import File
from ...core.tables import COLUMNS, TABLES, Line, table_rows

NAMES = ("id", "metric", "condition", "seed", "trial", "cluster", "text")
NESTED = (list, dict)
NUMBERS = ("value", "num", "den", "low", "high", "higher_is_better")

TRUTH = {"true": 1, "false": 0}

# what no name of a metric or condition may hold: a line of a terminal begins with it
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def read(file: File) -> pd.DataFrame:
    """The rows of a file, whatever their cells hold; the index is the line.

    InputError where the file is damaged or not in the long form.
    """
    if file.path.suffix.lower() in TABLES:
        rows = dict(table_rows(file, dict.fromkeys(["id", "metric"])))
    else:
        rows = {}
        for line, row in read_jsonl(file, Line):
            # in the order of the file, which a set has not
            rows[line] = {name: cell for name, cell in row if name in row.model_fields_set}
    frame = pd.DataFrame(list(rows.values()), index=list(rows))
    columns = {*frame}
    has_score = "value" in columns or {"num", "den"} <= columns
    if len(frame) and not (has_score and {"id", "metric"} <= columns):
        message = (
            f"expected the columns id, metric and value (or num and den), got {first_names(frame)}"
        )
        raise file.fatal("wrong-columns", message)
    return frame


def usable_rows(
    frame: pd.DataFrame,
    file: File,
) -> pd.DataFrame:
    """The rows that can be used; what is wrong with the others is reported, one problem a row.

    Columns: NAMES as text, num and den (null: not measured), low, high, higher_is_better
    (1, 0 or null), and the further columns of the file.
    """
    cells = frame.reindex(columns=list(dict.fromkeys([*COLUMNS, *frame])))
    rows = cells.copy()
    is_bad = pd.Series(False, cells.index)

    def refuse(
        is_wrong: Any,
        column: str,
        expected: str,
    ) -> None:
        found = cells.loc[is_wrong & ~is_bad, column].astype("str").fillna("")
        ids = rows.loc[found.index, "id"].fillna("")
        for (line, cell), id_ in zip(found.items(), ids):
            got = repr(cell[:80]) if cell else "nothing"
            file.error(
                "bad-field",
                f"expected {expected}, got {got}",
                line=line,
                id=id_[:200],
                field=column,
            )
        is_bad.loc[found.index] = True

    for column in NAMES:
        is_nested = cells[column].map(lambda cell: isinstance(cell, NESTED))
        rows[column] = _as_text(cells[column].mask(is_nested))
        refuse(is_nested, column, "a text or a number")
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
    num, den = rows["num"], rows["den"]
    is_nothing = (den == 0) & (num == 0)
    is_ratio = num.isna() | (den > 0) | is_nothing
    refuse(~is_ratio, "den", "a denominator above 0 beside num")
    low, high = rows["low"], rows["high"]
    has_limits = low.notna() | high.notna()
    refuse(has_limits & ~(low < high), "low", "low below high, both or neither")
    is_direction = rows["higher_is_better"].isin([0, 1, np.nan])
    refuse(~is_direction, "higher_is_better", "true or false")

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
    numbers = pd.to_numeric(words.replace(TRUTH), errors="coerce").astype(float)
    return numbers, numbers.isna() & ~words.isin(["nan", np.nan, None])
