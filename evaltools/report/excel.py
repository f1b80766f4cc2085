"""Workbooks for readers in a spreadsheet program: texts stay texts, nothing is cut off unseen.

A text from data is never a formula or a link. Control characters, which a workbook cannot hold, are spelled out, and
texts longer than a cell are cut with a mark. The same frames give the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import ceil
from pathlib import Path
from typing import Any

import pandas as pd

from ..core.errors import UsageError, visible
from ..core.estimates import is_null
from ..core.files import atomic
from ..core.language import say
from .text import width_of

CELL_LIMIT = 32_767
ROW_LIMIT = 1_048_576

GOOD, BAD, LOOK = "#D5E8D4", "#F8CECC", "#FFF2CC"

# points of a line, and the lines that a row shows at most: 90 points, so that a screen holds ten rows
LINE_HEIGHT, MOST_LINES = 15, 6

# characters across a column
NARROWEST, WIDEST = 10, 30


@dataclass(frozen=True)
class Sheet:
    """A frame on a sheet of its own, with a filter.

    head, foot: lines above the table, and below it. colours: text of a cell -> its colour. frozen: columns that stay
    in place when the sheet is moved.
    """

    name: str
    frame: pd.DataFrame
    head: Sequence[str] = ()
    foot: Sequence[str] = ()
    colours: Mapping[str, str] = field(default_factory=dict)
    frozen: int = 1


def write_workbook(
    path: Path,
    sheets: Sequence[Sheet],
) -> None:
    """Write the sheets. UsageError for a frame with more rows than a sheet can hold."""
    import xlsxwriter

    # no text is taken for a formula or a link
    options = {
        "in_memory": True,
        "strings_to_formulas": False,
        "strings_to_urls": False,
    }
    with atomic(path) as f:
        book = xlsxwriter.Workbook(f, options)
        book.set_properties({"created": datetime(2000, 1, 1, tzinfo=UTC)})
        for sheet in sheets:
            _write_sheet(book, sheet)
        book.close()


def _write_sheet(
    book: Any,
    sheet: Sheet,
) -> None:
    """Write a table, and the lines above and below it."""
    header = len(sheet.head)
    last_row = header + max(len(sheet.frame), 1)
    if last_row + len(sheet.foot) + 2 > ROW_LIMIT:
        raise UsageError(
            f"{len(sheet.frame)} rows are too many for a sheet of a workbook ({ROW_LIMIT}); score fewer cases at a time"
        )
    page = book.add_worksheet(sheet.name)
    look = {"valign": "top", "text_wrap": True}
    plain = book.add_format({**look, "num_format": "0.000"})
    coloured = {
        text: book.add_format({**look, "bg_color": colour})
        for text, colour in sheet.colours.items()
    }
    page.write_column(0, 0, map(cell, sheet.head))
    page.write_column(last_row + 2, 0, map(cell, sheet.foot))
    heads = list(map(cell, sheet.frame))
    rows = [list(map(cell, row)) for row in sheet.frame.itertuples(index=False)]
    page.write_row(header, 0, heads, book.add_format({**look, "bold": True, "bottom": 1}))
    widths = list(map(_width, zip(heads, *rows[:200])))
    for index, width in enumerate(widths):
        page.set_column(index, index, width)
    for number, row in enumerate(rows, header + 1):
        page.set_row(number, LINE_HEIGHT * max(map(_height, row, widths)))
        for index, value in enumerate(row):
            page.write(number, index, value, coloured.get(value, plain))
    page.freeze_panes(header + 1, sheet.frozen)
    page.autofilter(header, 0, last_row, len(heads) - 1)


def _width(column: Sequence[Any]) -> int:
    """The characters across a column, for its widest line, within limits."""
    lines = "\n".join(map(str, column)).split("\n")
    return min(max(NARROWEST, 2 + max(map(width_of, lines))), WIDEST)


def _height(
    value: Any,
    width: int,
) -> int:
    """The lines that a value takes in a column of a width, as many as a row can show at the most."""
    shown = str(value)[: MOST_LINES * width].split("\n")
    return min(sum(max(1, ceil(width_of(line) / width)) for line in shown), MOST_LINES)


def cell(value: Any) -> Any:
    """A value as a cell can hold it; None, for an empty cell, of a null. Lines of Windows end as all others do.

    >>> cell("a\\r\\nb\\x07")
    'a\\nb[U+0007]'
    """
    if is_null(value):
        return None
    if not isinstance(value, str):
        return value
    text = visible(value)
    if len(text) <= CELL_LIMIT:
        return text
    mark = say(" … [cut: {n} characters]", n=len(text))
    return text[: CELL_LIMIT - len(mark)] + mark
