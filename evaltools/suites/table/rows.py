"""The rows of a long file: which can be used, and what is wrong with the others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ...core.errors import Problems
from ...core.metric_matrix import LARGEST

NAMES = ("id", "metric", "condition", "seed", "trial", "cluster", "text")

TRUTH = {"true": True, "false": False, "1": True, "0": False, "1.0": True, "0.0": False}


def usable_rows(frame: pd.DataFrame, path: Path, problems: Problems) -> pd.DataFrame:
    """The rows of a block that can be used; what is wrong with the others is reported.

    Columns: NAMES as text, num and den (null: not measured), low, high, higher_is_better
    (true, false or null). The index is that of the block: the line.
    """
    check = _RowCheck(frame, path, problems)
    rows = pd.DataFrame(index=frame.index)
    for column in NAMES:
        rows[column] = as_text(frame[column])
    for column in ("id", "metric"):
        is_missing = frame[column].isna() | (rows[column] == "")
        check.refuse(is_missing, column, f"the {column} as text")

    value = check.numbers("value")
    num = check.numbers("num")
    den = check.numbers("den")
    has_value = ~np.isnan(value)
    has_num = ~np.isnan(num)
    is_ratio = (den > 0) | ((den == 0) & (num == 0))
    check.refuse(has_num & ~is_ratio, "den", "a denominator above 0 beside num")
    den_of_num = np.where(has_num, den, np.nan)
    rows["num"] = np.where(has_value, value, num)
    rows["den"] = np.where(has_value, 1.0, den_of_num)

    low = check.numbers("low")
    high = check.numbers("high")
    has_limit = ~np.isnan(low) | ~np.isnan(high)
    check.refuse(has_limit & ~(low < high), "low", "low below high, both or neither")
    rows["low"] = low
    rows["high"] = high
    rows["higher_is_better"] = check.truth("higher_is_better")
    return rows[~check.is_bad]


def as_text(column: pd.Series) -> Any:
    """Names as text: whole numbers without a point, null where there is no name."""
    if pd.api.types.is_string_dtype(column):
        return column
    codes, distinct = pd.factorize(column)
    texts: list[str | None] = []
    for value in distinct.tolist():
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        texts.append(str(value))
    texts.append(None)  # the code of null is -1
    cells = pd.array(texts, dtype="str").take(codes)
    return pd.Series(cells, index=column.index)


class _RowCheck:
    """Reports what is wrong with the rows of a block, one problem a row."""

    def __init__(self, frame: pd.DataFrame, path: Path, problems: Problems) -> None:
        self.frame = frame
        self.path = path
        self.problems = problems
        self.is_bad = np.zeros(len(frame), dtype=bool)

    def refuse(self, is_wrong: Any, column: str, expected: str) -> None:
        """Report the rows in which a column is wrong, but for those that are bad already."""
        is_new = np.asarray(is_wrong, dtype=bool) & ~self.is_bad
        wrong_rows = np.flatnonzero(is_new)
        for row in wrong_rows:
            value = self.frame[column].iloc[row]
            sample = self.frame["id"].iloc[row]
            shown = "nothing"
            if not pd.isna(value):
                shown = repr(str(value)[:80])
            self.problems.error(
                "bad-field",
                f"expected {expected}, got {shown}",
                file=str(self.path),
                line=int(self.frame.index[row]),
                id="" if pd.isna(sample) else str(sample)[:200],
                field=column,
            )
        self.is_bad[wrong_rows] = True

    def numbers(self, column: str) -> np.ndarray:
        """A column as floats; empty and NaN are nan. Refuses what is no finite number."""
        cells = self.frame[column]
        if cells.isna().all():
            return np.full(len(cells), np.nan)
        parsed = pd.to_numeric(cells, errors="coerce")
        numbers = parsed.to_numpy(dtype=float, na_value=np.nan)
        is_text = np.isnan(numbers) & cells.notna().to_numpy()
        texts = cells[is_text].astype(str)
        is_text[is_text] = texts.str.lower() != "nan"
        self.refuse(is_text, column, "a number")
        self.refuse(np.isinf(numbers), column, "a finite number")
        self.refuse(np.abs(numbers) >= LARGEST, column, f"a number below {LARGEST:g} in size")
        return numbers

    def truth(self, column: str) -> pd.Series:
        """A column of truth values; null where it is empty. Refuses other words."""
        cells = self.frame[column]
        meaning = {}
        unknown = []
        for cell in cells.dropna().unique():
            word = str(cell).strip().lower()
            meaning[cell] = TRUTH.get(word)
            if word not in TRUTH:
                unknown.append(cell)
        self.refuse(cells.isin(unknown), column, "true or false")
        return cells.map(meaning)
