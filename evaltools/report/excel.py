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

GOOD, BAD, LOOK = "#D5E8D4", "#F8CECC", "#FFF2CC"

# points of a line, and the lines that a row shows at most: 90 points, so that a screen holds ten rows
LINE_HEIGHT = 15
MOST_LINES = 6

# characters across a column, and across a landscape page of A4 that can still be read
WIDEST = 48
PAGE_WIDTH = 220
A4 = 9


@dataclass(frozen=True)
class Sheet:
    """A frame on a sheet of its own, with a filter.

    head: lines above the table, each a text or a text and its value. scores: column -> threshold, for the colours of
    its cells. colours: text of a cell -> its colour. frozen: columns that stay in place when the sheet is moved, and
    stand on every printed page. links: addresses for the cells of the first column, relative to the workbook.
    """

    name: str
    frame: pd.DataFrame
    head: Sequence[tuple[str, ...]] = ()
    scores: Mapping[str, float] = field(default_factory=dict)
    colours: Mapping[str, str] = field(default_factory=dict)
    frozen: int = 1
    links: Sequence[str] = ()


def write_workbook(path: Path, sheets: Sequence[Sheet]) -> None:
    """Write the sheets. UsageError for a frame with more rows than a sheet can hold."""
    import xlsxwriter

    for sheet in sheets:
        n_rows = len(sheet.frame)
        if n_rows + len(sheet.head) + 2 > ROW_LIMIT:
            raise UsageError(
                f"{n_rows} rows are too many for a sheet of a workbook ({ROW_LIMIT}); score fewer cases at a time"
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
        formats: dict[Any, Any] = {}
        for sheet in sheets:
            _write_sheet(book, sheet, formats)
        book.close()


def _write_sheet(book: Any, sheet: Sheet, formats: dict[Any, Any]) -> None:
    """Write lines and table. formats: those of the book so far, each once."""
    page = book.add_worksheet(sheet.name)

    def styled(**look: Any) -> Any:
        key = tuple(look.items())
        if key not in formats:
            formats[key] = book.add_format(look)
        return formats[key]

    for row, texts in enumerate(sheet.head):
        page.write_row(row, 0, [cell(text) for text in texts], styled(bold=row == 0))
    header = len(sheet.head) + 1 if sheet.head else 0
    heads = [cell(str(name)) for name in sheet.frame]
    page.write_row(
        header,
        0,
        heads,
        styled(
            bold=True,
            bottom=1,
            text_wrap=True,
            valign="top",
        ),
    )
    total_width = 0
    lines = [1] * len(sheet.frame)
    for index, (name, column) in enumerate(sheet.frame.items()):
        values = [cell(value) for value in column.tolist()]
        # that of its first cells and its head, within limits
        width = min(max(8, *map(width_of, [str(name), *_lines_of(values[:200])])) + 2, WIDEST)
        total_width += width
        page.set_column(index, index, width)
        lines = [max(n, _height(value, width)) for n, value in zip(lines, values)]
        for row, value in enumerate(values, header + 1):
            page.write(row, index, value, styled(**_look(value, name, sheet)))
    # a link of a text is written behind it, so that the text stays as it is
    for row, (address, value) in enumerate(zip(sheet.links, sheet.frame.iloc[:, 0]), header + 1):
        link = styled(
            valign="top",
            font_color="#1155CC",
            underline=1,
        )
        page.write_url(
            row,
            0,
            f"external:{address}",
            link,
            str(cell(str(value))),
        )
    for row, n_lines in enumerate(lines, header + 1):
        page.set_row(row, LINE_HEIGHT * n_lines)
    page.freeze_panes(header + 1, sheet.frozen)
    page.autofilter(
        header,
        0,
        header + max(len(sheet.frame), 1),
        len(heads) - 1,
    )
    _lay_out_print(page, header, sheet.frozen, total_width)


def _lay_out_print(page: Any, header: int, frozen: int, total_width: int) -> None:
    """Landscape on A4, as many pages wide as it takes, head and frozen columns on each, numbered."""
    page.set_landscape()
    page.set_paper(A4)
    page.fit_to_pages(1 + total_width // PAGE_WIDTH, 0)
    page.repeat_rows(header)
    page.repeat_columns(0, max(frozen - 1, 0))
    page.set_footer("&L&A&R&P / &N")


def _lines_of(values: Sequence[Any]) -> list[str]:
    """The lines of the texts of some cells."""
    return [line for value in values for line in str(value).split("\n")]


def _height(value: Any, width: int) -> int:
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
    if column in sheet.scores and value is not None:
        look["bg_color"] = GOOD if value >= sheet.scores[column] else BAD
    elif isinstance(value, str) and value in sheet.colours:
        look["bg_color"] = sheet.colours[value]
    return look


def cell(value: Any) -> Any:
    """A value as a cell can hold it; None, for an empty cell, of a null. Lines of Windows end as all others do.

    >>> cell("a\\r\\nb\\x07")
    'a\\nb\ufffd'
    """
    if is_null(value):
        return None
    if not isinstance(value, str):
        return value
    text = _FORBIDDEN.sub(REPLACEMENT, value.replace("\r\n", "\n").replace("\r", "\n"))
    # a workbook counts characters beyond the basic plane twice
    in_units = text.encode("utf-16-le")
    if len(in_units) // 2 <= CELL_LIMIT:
        return text
    mark = say(" … [cut: {n} characters]", n=len(text))
    room = (CELL_LIMIT - len(mark)) * 2
    return in_units[:room].decode("utf-16-le", "ignore") + mark
