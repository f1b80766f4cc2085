"""The rows of a long file: which can be used, and what is wrong with the others."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ...core.errors import Problems
from ...core.metric_matrix import LARGEST

NAMES = ("id", "metric", "condition", "seed", "trial", "cluster", "text")

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
"""What no name of a metric or condition may hold: a line of a terminal begins with it."""

TRUE_OR_FALSE = "true or false"

TRUTH = {
    "true": True,
    "1": True,
    "1.0": True,
    "false": False,
    "0": False,
    "0.0": False,
}
"""Words for true and false, in lower case."""


def usable_rows(
    frame: pd.DataFrame,
    path: Path,
    problems: Problems,
) -> pd.DataFrame:
    """The rows of a block that can be used; what is wrong with the others is reported.

    Columns: NAMES as text, num and den (null: not measured), low, high, higher_is_better
    (1, 0 or null). The index is that of the block: the line.
    """
    check = _RowCheck(frame, path, problems)
    rows = pd.DataFrame(index=frame.index)
    for column in NAMES:
        rows[column] = as_text(frame[column])
    for column in ("id", "metric"):
        is_empty = rows[column].str.strip() == ""
        expected = f"the {column} as text"
        check.refuse(is_empty | frame[column].isna(), column, expected)
    for column in ("metric", "condition"):
        names = rows[column].dropna().unique()
        of_lines = [name for name in names if CONTROL.search(name)]
        check.refuse(rows[column].isin(of_lines), column, "a name without control characters")

    value = check.numbers("value")
    num = check.numbers("num")
    den = check.numbers("den")
    has_value = ~np.isnan(value)
    has_num = ~np.isnan(num)
    is_nothing = (den == 0) & (num == 0)
    is_ratio = (den > 0) | is_nothing
    check.refuse(
        has_num & ~is_ratio,
        column="den",
        expected="a denominator above 0 beside num",
    )
    # a value counts before num and den; it is a ratio with the denominator 1
    den_of_num = np.where(has_num, den, np.nan)
    rows["num"] = np.where(has_value, value, num)
    rows["den"] = np.where(has_value, 1.0, den_of_num)

    low = check.numbers("low")
    high = check.numbers("high")
    has_no_limits = np.isnan(low) & np.isnan(high)
    has_both = low < high
    check.refuse(
        ~has_no_limits & ~has_both,
        column="low",
        expected="low below high, both or neither",
    )
    rows["low"] = low
    rows["high"] = high
    direction = check.numbers("higher_is_better", TRUE_OR_FALSE)
    has_no_direction = np.isnan(direction)
    check.refuse(
        ~has_no_direction & ~np.isin(direction, (0, 1)),
        column="higher_is_better",
        expected=TRUE_OR_FALSE,
    )
    rows["higher_is_better"] = direction
    return rows[~check.is_bad]


def as_text(column: pd.Series) -> pd.Series:
    """Names as text: whole numbers without a point, null where there is no name."""
    if pd.api.types.is_string_dtype(column):
        return column
    texts = {}
    for value in column.dropna().unique():
        is_whole = isinstance(value, float) and value.is_integer()
        texts[value] = str(int(value) if is_whole else value)
    return column.map(texts).astype("str")


class _RowCheck:
    """Reports what is wrong with the rows of a block, one problem a row."""

    def __init__(
        self,
        frame: pd.DataFrame,
        path: Path,
        problems: Problems,
    ) -> None:
        self.frame = frame
        self.path = path
        self.problems = problems
        self.is_bad = np.zeros(len(frame), dtype=bool)

    def refuse(
        self,
        is_wrong: Any,
        column: str,
        expected: str,
    ) -> None:
        """Report the rows in which a column is wrong, but for those that are bad already."""
        is_new = np.asarray(is_wrong, dtype=bool) & ~self.is_bad
        wrong_rows = np.flatnonzero(is_new)
        for row in wrong_rows:
            value = self.frame[column].iloc[row]
            sample = self.frame["id"].iloc[row]
            shown = "nothing" if pd.isna(value) else repr(str(value)[:80])
            if pd.isna(sample):
                sample = ""
            self.problems.error(
                "bad-field",
                f"expected {expected}, got {shown}",
                file=self.path,
                line=int(self.frame.index[row]),
                id=str(sample)[:200],
                field=column,
            )
        self.is_bad[wrong_rows] = True

    def numbers(
        self,
        column: str,
        expected: str = "a number",
    ) -> np.ndarray:
        """A column as floats; empty and NaN are nan, true and false 1 and 0. Refuses what is no finite number."""
        cells = self.frame[column]
        if cells.isna().all():
            return np.full(len(cells), np.nan)
        parsed = pd.to_numeric(cells, errors="coerce")
        numbers = parsed.to_numpy(dtype=float, na_value=np.nan, copy=True)
        has_cell = cells.notna().to_numpy()
        is_text = np.isnan(numbers) & has_cell
        words = cells[is_text].astype(str).str.lower()
        numbers[is_text] = words.map(TRUTH)
        is_text[is_text] = ~words.isin(["nan", *TRUTH])
        self.refuse(is_text, column, expected)
        self.refuse(np.isinf(numbers), column, "a finite number")
        is_too_large = np.abs(numbers) >= LARGEST
        below = f"a number below {LARGEST:g} in size"
        self.refuse(is_too_large, column, below)
        return numbers
