"""Workbooks for readers in a spreadsheet program: texts stay texts, nothing is cut off unseen.

A text from data is never a formula or a link. Control characters that a workbook cannot hold are replaced,
texts longer than a cell are cut with a mark, and both are listed on the first sheet. The same frames give
the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
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
_KEPT_NOTES = 20

GOOD, BAD, WARN, GREY = "#D5E8D4", "#F8CECC", "#FFF2CC", "#E8E8E8"

COLOURS = {"pass": "good", "ok": "good", "look": "warn", "fail": "bad"}
"""The colour of a word of a verdict; all others are grey."""

PAGE_WIDTH = 220
"""Characters across a page that are still readable."""

A4 = 9


@dataclass(frozen=True)
class Sheet:
    """A frame on a sheet of its own, with frozen panes and a filter.

    head: (name, value) lines above the table; below: such lines that say what its columns mean. scores: column ->
    threshold, for the colours of its cells; an empty one has none.
    verdicts: a column with words to be coloured by COLOURS, in the language in force. Its head and first column stay
    in place, and stand on every printed page.
    """

    name: str
    frame: pd.DataFrame
    head: Sequence[tuple[str, Any]] = ()
    scores: Mapping[str, float] = field(default_factory=dict)
    verdicts: str | None = None
    below: Sequence[tuple[str, str]] = ()


def write_workbook(path: Path, sheets: Sequence[Sheet]) -> list[str]:
    """Write the sheets; returns the notes on changed cells, which also stand at the end of the first sheet.

    UsageError for a frame with more rows than a sheet can hold.
    """
    import xlsxwriter

    for sheet in sheets:
        if len(sheet.frame) + len(sheet.head) + 2 > ROW_LIMIT:
            raise UsageError(
                "{n} rows are too many for a sheet of a workbook ({most})",
                n=len(sheet.frame),
                most=ROW_LIMIT,
            )
    notes: list[str] = []
    # no text is taken for a formula or a link
    options = {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
    with atomic(path, "wb") as f:
        book = xlsxwriter.Workbook(f, options)
        book.set_properties({"created": datetime(2000, 1, 1, tzinfo=UTC)})
        formats = _formats(book)
        pages = [book.add_worksheet(sheet.name) for sheet in sheets]
        ends = []
        for page, sheet in zip(pages, sheets):
            end = _write_sheet(page, sheet, formats, notes)
            ends.append(end)
        _write_notes(pages[0], ends[0], formats, notes)
        book.close()
    return notes


def _write_notes(
    page: Any,
    row: int,
    formats: Mapping[str, Any],
    notes: Sequence[str],
) -> None:
    """Write what was changed in cells, from this row on."""
    page.write(row, 0, say("Changed cells"), formats["bold"])
    if not notes:
        page.write(row + 1, 0, say("none"))
        return
    shown = list(notes[:_KEPT_NOTES])
    n_more = len(notes) - len(shown)
    if n_more:
        shown.append(say("and {n} more", n=n_more))
    page.write_column(row + 1, 0, shown)


def _formats(book: Any) -> dict[str, Any]:
    """The formats of cells."""
    header = {"bold": True, "bottom": 1, "text_wrap": True, "valign": "top"}
    return {
        "header": book.add_format(header),
        "top": book.add_format({"valign": "top"}),
        "wrap": book.add_format({"valign": "top", "text_wrap": True}),
        "decimal": book.add_format({"valign": "top", "num_format": "0.000"}),
        "good": book.add_format({"bg_color": GOOD}),
        "bad": book.add_format({"bg_color": BAD}),
        "warn": book.add_format({"bg_color": WARN}),
        "grey": book.add_format({"bg_color": GREY}),
        "bold": book.add_format({"bold": True}),
    }


def _write_sheet(
    page: Any,
    sheet: Sheet,
    formats: Mapping[str, Any],
    notes: list[str],
) -> int:
    """Write lines, table, colours, and the lines below; gives the row after them."""
    columns = [str(column) for column in sheet.frame.columns]
    header = len(sheet.head) + 1 if sheet.head else 0
    last = header + max(len(sheet.frame), 1)
    for row, (name, value) in enumerate(sheet.head):
        _write(page, row, 0, name, formats["bold"], notes)
        _write(page, row, 1, str(value), None, notes)
    total_width = 0
    for index, column in enumerate(columns):
        width = _width(sheet.frame.iloc[:, index], column)
        total_width += width
        page.set_column(index, index, width)
        _write(page, header, index, column, formats["header"], notes)
    for row, values in enumerate(sheet.frame.itertuples(index=False), header + 1):
        for index, value in enumerate(values):
            _write(page, row, index, value, formats[_format_of(value)], notes)
    for column, rule in _color_rules(sheet, formats):
        index = columns.index(column)
        page.conditional_format(header + 1, index, last, index, rule)
    page.freeze_panes(header + 1, 1)
    page.autofilter(header, 0, last, len(columns) - 1)
    # landscape on A4, as many pages wide as it takes, head and first column on each, numbered
    page.set_landscape()
    page.set_paper(A4)
    page.fit_to_pages(1 + total_width // PAGE_WIDTH, 0)
    page.repeat_rows(header)
    page.repeat_columns(0)
    page.set_footer("&L&A&R&P / &N")
    row = last + 2
    if sheet.below:
        page.write(row, 0, say("What the columns mean"), formats["bold"])
        for name, meaning in sheet.below:
            row += 1
            _write(page, row, 0, name, None, notes)
            _write(page, row, 1, meaning, None, notes)
        row += 2
    return row


def _format_of(value: Any) -> str:
    """The name of the format of a cell of a table."""
    if isinstance(value, str):
        return "wrap"
    if isinstance(value, float):
        return "decimal"
    return "top"


def _write(
    page: Any,
    row: int,
    column: int,
    value: Any,
    form: Any,
    notes: list[str],
) -> None:
    """Write a cell by its type; a null is left empty."""
    if isinstance(value, str):
        value = _text(value, page.get_name(), row, column, notes)
    if is_null(value):
        value = None
    page.write(row, column, value, form)


def _color_rules(
    sheet: Sheet,
    formats: Mapping[str, Any],
) -> list[tuple[str, dict[str, Any]]]:
    """The rules for the colours of cells: (column, rule), the first that holds for a cell applies."""
    rules: list[tuple[str, dict[str, Any]]] = []
    for column in sheet.scores:
        # an empty cell would count as 0, which fails
        rules.append((column, {"type": "blanks", "stop_if_true": True}))
    for column, threshold in sheet.scores.items():
        below = _cell_rule("<", threshold, formats["bad"])
        above = _cell_rule(">=", threshold, formats["good"])
        rules.append((column, below))
        rules.append((column, above))
    if sheet.verdicts:
        column = sheet.verdicts
        for word, colour in COLOURS.items():
            quoted = f'"{say(word)}"'
            rule = _cell_rule("==", quoted, formats[colour])
            rules.append((column, rule))
        rules.append((column, {"type": "no_blanks", "format": formats["grey"]}))
    return rules


def _cell_rule(
    criteria: str,
    value: Any,
    form: Any,
) -> dict[str, Any]:
    return {
        "type": "cell",
        "criteria": criteria,
        "value": value,
        "format": form,
    }


def _width(column: pd.Series, name: str) -> int:
    """The width of a column in characters: that of its first cells and its head, within limits."""
    widths = [8, width_of(name)]
    for value in column.head(200):
        widths.append(width_of(str(value)))
    return min(max(widths) + 2, 60)


def _text(
    value: str,
    sheet: str,
    row: int,
    column: int,
    notes: list[str],
) -> str:
    """The text as a cell can hold it; what had to be changed is noted with its place."""
    from xlsxwriter.utility import xl_rowcol_to_cell

    clean, n = _FORBIDDEN.subn(REPLACEMENT, value)
    place = f"{sheet}!{xl_rowcol_to_cell(row, column)}"
    if n:
        notes.append(
            say(
                "{place}: {n} control characters replaced by {mark}",
                place=place,
                n=n,
                mark=REPLACEMENT,
            )
        )
    # a workbook counts characters beyond the basic plane twice
    length = len(clean.encode("utf-16-le", "surrogatepass")) // 2
    if length > CELL_LIMIT:
        mark = say(" … [cut: {n} characters]", n=len(clean))
        room = (CELL_LIMIT - len(mark)) * 2
        kept = clean.encode("utf-16-le")[:room]
        clean = kept.decode("utf-16-le", "ignore") + mark
        notes.append(
            say(
                "{place}: cut from {n} characters to what a cell can hold; the CSV has it whole",
                place=place,
                n=len(value),
            )
        )
    return clean
