"""Workbooks for readers in a spreadsheet program: texts stay texts, nothing is cut off unseen.

A text from data is never a formula or a link. Control characters that a workbook cannot hold are replaced, and
texts longer than a cell are cut with a mark. The same frames give the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import ceil
from pathlib import Path
from typing import Any

import pandas as pd

from ..core.errors import UsageError
from ..core.estimates import is_null
from ..core.files import atomic
from ..core.language import say
from .text import width_of

CELL_LIMIT = 32_767
ROW_LIMIT = 1_048_576
REPLACEMENT = "\ufffd"
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")

GOOD, BAD, LOOK, GREY = "#D5E8D4", "#F8CECC", "#FFF2CC", "#E8E8E8"

COLOURS = {"pass": GOOD, "ok": GOOD, "look": LOOK, "fail": BAD}
"""The colour of a word of a verdict; all others are grey."""

PAGE_WIDTH = 220
"""Characters across a page that are still readable."""

LINE_HEIGHT = 15
MOST_LINES = 27
"""Points of a line, and how many of them a row can be high. Not every program fits the rows to wrapped texts itself."""

A4 = 9

BOLD = {"bold": True}
HEADER = {
    "bold": True,
    "bottom": 1,
    "text_wrap": True,
    "valign": "top",
}


@dataclass(frozen=True)
class Sheet:
    """A frame on a sheet of its own, with frozen panes and a filter.

    head: (name, value) lines above the table. scores: column -> threshold, for the colours of its cells; an empty one
    has none.
    verdicts: a column with words to be coloured by COLOURS, in the language in force. Its head and first column stay
    in place, and stand on every printed page.
    """

    name: str
    frame: pd.DataFrame
    head: Sequence[tuple[str, Any]] = ()
    scores: Mapping[str, float] = field(default_factory=dict)
    verdicts: str | None = None


def write_workbook(path: Path, sheets: Sequence[Sheet]) -> None:
    """Write the sheets. UsageError for a frame with more rows than a sheet can hold."""
    import xlsxwriter

    for sheet in sheets:
        if len(sheet.frame) + len(sheet.head) + 2 > ROW_LIMIT:
            raise UsageError(
                "{n} rows are too many for a sheet of a workbook ({most})",
                n=len(sheet.frame),
                most=ROW_LIMIT,
            )
    # no text is taken for a formula or a link
    options = {
        "in_memory": True,
        "strings_to_formulas": False,
        "strings_to_urls": False,
    }
    with atomic(path, "wb") as f:
        book = xlsxwriter.Workbook(f, options)
        book.set_properties({"created": datetime(2000, 1, 1, tzinfo=UTC)})
        for sheet in sheets:
            _write_sheet(book, sheet)
        book.close()


def _write_sheet(book: Any, sheet: Sheet) -> None:
    """Write lines and table."""
    page = book.add_worksheet(sheet.name)
    bold = book.add_format(BOLD)
    header = len(sheet.head) + 1 if sheet.head else 0
    last = header + max(len(sheet.frame), 1)
    for row, (name, value) in enumerate(sheet.head):
        page.write(
            row,
            0,
            name,
            bold,
        )
        page.write(row, 1, _held(str(value)))
    formats: dict[Any, Any] = {}
    heads = [_held(str(name)) for name in sheet.frame]
    page.write_row(header, 0, heads, book.add_format(HEADER))
    total_width = 0
    lines = [1] * len(sheet.frame)
    for index, (name, column) in enumerate(sheet.frame.items()):
        # that of its first cells and its head, within limits
        texts = [str(name), *map(str, column.head(200))]
        width = min(max(8, *map(width_of, texts)) + 2, 60)
        total_width += width
        page.set_column(index, index, width)
        values = column.tolist()
        lines = [max(n, _lines(value, width)) for n, value in zip(lines, values)]
        for row, value in enumerate(values, header + 1):
            look = _look(value, name, sheet)
            key = tuple(look.items())
            if key not in formats:
                formats[key] = book.add_format(look)
            page.write(
                row,
                index,
                _held(value),
                formats[key],
            )
    for row, n_lines in enumerate(lines, header + 1):
        if n_lines > 1:
            page.set_row(row, LINE_HEIGHT * n_lines)
    page.freeze_panes(header + 1, 1)
    page.autofilter(
        header,
        0,
        last,
        len(sheet.frame.columns) - 1,
    )
    # landscape on A4, as many pages wide as it takes, head and first column on each, numbered
    page.set_landscape()
    page.set_paper(A4)
    page.fit_to_pages(1 + total_width // PAGE_WIDTH, 0)
    page.repeat_rows(header)
    page.repeat_columns(0)
    page.set_footer("&L&A&R&P / &N")


def _lines(value: Any, width: int) -> int:
    """The lines that a value takes in a column of a width, as many as a row can show at the most."""
    if not isinstance(value, str):
        return 1
    shown = value[: MOST_LINES * width].split("\n")
    n_lines = sum(max(1, ceil(width_of(line) / width)) for line in shown)
    return min(n_lines, MOST_LINES)


def _look(value: Any, column: Any, sheet: Sheet) -> dict[str, Any]:
    """How a cell of a table looks."""
    look: dict[str, Any] = {"valign": "top", "text_wrap": isinstance(value, str)}
    if isinstance(value, float):
        look["num_format"] = "0.000"
    if column in sheet.scores and not is_null(value):
        look["bg_color"] = GOOD if value >= sheet.scores[column] else BAD
    if column == sheet.verdicts:
        colours = {say(word): colour for word, colour in COLOURS.items()}
        look["bg_color"] = colours.get(value, GREY)
    return look


def _held(value: Any) -> Any:
    """A value as a cell can hold it; None, for an empty cell, of a null."""
    if is_null(value):
        return None
    if not isinstance(value, str):
        return value
    text = _FORBIDDEN.sub(REPLACEMENT, value)
    # a workbook counts characters beyond the basic plane twice
    in_units = text.encode("utf-16-le")
    if len(in_units) // 2 <= CELL_LIMIT:
        return text
    mark = say(" … [cut: {n} characters]", n=len(text))
    room = (CELL_LIMIT - len(mark)) * 2
    return in_units[:room].decode("utf-16-le", "ignore") + mark
