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
from unicodedata import east_asian_width

import pandas as pd

from ..core.errors import UsageError
from ..core.files import atomic
from ..core.language import say
from .markdown import is_null

CELL_LIMIT = 32_767
ROW_LIMIT = 1_048_576
REPLACEMENT = "\ufffd"
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_KEPT_NOTES = 20

GOOD, BAD, GREY = "#D5E8D4", "#F8CECC", "#E8E8E8"


@dataclass(frozen=True)
class Sheet:
    """A frame on a sheet of its own, with frozen panes and a filter.

    head: (name, value) lines above the table; below: such lines that say what its columns mean. scores: column ->
    threshold, for the colours of its cells; an empty one has none.
    verdicts: a column with pass, fail and other words to be coloured. Its head and first column stay in
    place.
    """

    name: str
    frame: pd.DataFrame
    head: Sequence[tuple[str, Any]] = ()
    scores: Mapping[str, float] = field(default_factory=dict)
    verdicts: str | None = None
    below: Sequence[tuple[str, str]] = ()


def write_workbook(path: Path, sheets: Sequence[Sheet], *, notes_on: str) -> list[str]:
    """Write the sheets; returns the notes on changed cells, which also stand below the table of `notes_on`.

    UsageError for a frame with more rows than a sheet can hold.
    """
    import xlsxwriter

    for sheet in sheets:
        if len(sheet.frame) + len(sheet.head) + 2 > ROW_LIMIT:
            raise UsageError(
                f"{len(sheet.frame)} rows are too many for a sheet of a workbook ({ROW_LIMIT})"
            )
    with atomic(path, "wb") as f:
        # every cell is written by its type, so that no text is taken for a formula or a link
        book = xlsxwriter.Workbook(f, {"in_memory": True})
        book.set_properties({"created": datetime(2000, 1, 1, tzinfo=UTC)})
        notes: list[str] = []
        last = {
            sheet.name: _write_sheet(book, book.add_worksheet(sheet.name), sheet, notes)
            for sheet in sheets
        }
        page, below = book.get_worksheet_by_name(notes_on), last[notes_on] + 2
        page.write_string(below, 0, say("Changed cells"), book.add_format({"bold": True}))
        rest = [say("and {n} more", n=len(notes) - _KEPT_NOTES)] if len(notes) > _KEPT_NOTES else []
        for i, note in enumerate([*notes[:_KEPT_NOTES], *rest] or [say("none")], 1):
            page.write_string(below + i, 0, note)
        book.close()
    return notes


def _write_sheet(book: Any, page: Any, sheet: Sheet, notes: list[str]) -> int:
    """Returns the last row written."""
    bold = book.add_format({"bold": True, "bottom": 1, "text_wrap": True, "valign": "top"})
    top = book.add_format({"valign": "top"})
    wrap = book.add_format({"valign": "top", "text_wrap": True})
    decimal = book.add_format({"valign": "top", "num_format": "0.000"})
    good, bad, grey = (book.add_format({"bg_color": c}) for c in (GOOD, BAD, GREY))
    columns = [str(c) for c in sheet.frame.columns]
    row = 0
    for row, (name, value) in enumerate(sheet.head):
        page.write_string(
            row, 0, _text(name, sheet.name, row, 0, notes), book.add_format({"bold": True})
        )
        page.write_string(row, 1, _text(str(value), sheet.name, row, 1, notes))
    head = row + 2 if sheet.head else 0
    for c, column in enumerate(columns):
        page.write_string(head, c, _text(column, sheet.name, head, c, notes), bold)
        page.set_column(c, c, _width(sheet.frame.iloc[:, c], column))
    for r, cells in enumerate(sheet.frame.itertuples(index=False), head + 1):
        page.set_row(r, 15)  # one line high: long texts would hide the table
        for c, value in enumerate(cells):
            if is_null(value):
                page.write_blank(r, c, None, top)
            elif isinstance(value, bool):
                page.write_boolean(r, c, value, top)
            elif isinstance(value, int | float):
                page.write_number(r, c, value, decimal if isinstance(value, float) else top)
            else:
                page.write_string(r, c, _text(str(value), sheet.name, r, c, notes), wrap)
    last = head + len(sheet.frame)
    page.freeze_panes(head + 1, 1)
    if columns:
        page.autofilter(head, 0, max(last, head + 1), len(columns) - 1)
    cells = [
        (c, op, limit, f)
        for c, limit in sheet.scores.items()
        for op, f in (("<", bad), (">=", good))
    ]
    rules = [
        (c, {"type": "blanks", "stop_if_true": True}) for c in sheet.scores
    ]  # else as 0, which fails
    rules += [
        (c, {"type": "cell", "criteria": op, "value": limit, "format": f})
        for c, op, limit, f in cells
    ]
    if v := sheet.verdicts:
        words = {f'"{say("pass")}"': good, f'"{say("fail")}"': bad}
        rules += [
            (v, {"type": "cell", "criteria": "==", "value": w, "format": f})
            for w, f in words.items()
        ]
        rules.append((v, {"type": "no_blanks", "format": grey}))
    for column, rule in rules:
        c = columns.index(column)
        page.conditional_format(head + 1, c, max(last, head + 1), c, rule)
    if sheet.below:
        page.write_string(
            last + 2, 0, say("What the columns mean"), book.add_format({"bold": True})
        )
    for row, (name, meaning) in enumerate(sheet.below, last + 3):
        page.write_string(row, 0, _text(name, sheet.name, row, 0, notes))
        page.write_string(row, 1, _text(meaning, sheet.name, row, 1, notes))
    return last + (len(sheet.below) + 2 if sheet.below else 0)


def _width(column: pd.Series, name: str) -> int:
    longest = max((_columns(str(v)) for v in column.head(200)), default=0)
    return min(max(longest, _columns(name), 8) + 2, 60)


def _columns(text: str) -> int:
    """How wide a text is; a Han or Hangul character takes two columns."""
    return len(text) + sum(east_asian_width(c) in "WF" for c in text)


def _text(value: str, sheet: str, row: int, column: int, notes: list[str]) -> str:
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
        clean = clean.encode("utf-16-le")[:room].decode("utf-16-le", "ignore") + mark
        notes.append(
            say(
                "{place}: cut from {n} characters to what a cell can hold; the CSV has it whole",
                place=place,
                n=len(value),
            )
        )
    return clean
