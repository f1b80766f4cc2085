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
from numbers import Integral
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

LINE = 15
"""Height of a line of text, in points."""

TALLEST = 20
"""Lines of the highest row; Excel itself allows 27."""

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


def write_workbook(
    path: Path,
    sheets: Sequence[Sheet],
    *,
    notes_on: str,
) -> list[str]:
    """Write the sheets; returns the notes on changed cells, which also stand below the table of `notes_on`.

    UsageError for a frame with more rows than a sheet can hold; ValueError where no sheet is `notes_on`.
    """
    import xlsxwriter

    if notes_on not in [sheet.name for sheet in sheets]:
        raise ValueError(f"notes_on: no sheet is named {notes_on!r}")
    for sheet in sheets:
        if len(sheet.frame) + len(sheet.head) + 2 > ROW_LIMIT:
            raise UsageError(
                "{n} rows are too many for a sheet of a workbook ({most})",
                n=len(sheet.frame),
                most=ROW_LIMIT,
            )
    notes: list[str] = []
    with atomic(path, "wb") as f:
        # every cell is written by its type, so that no text is taken for a formula or a link
        book = xlsxwriter.Workbook(f, {"in_memory": True})
        book.set_properties({"created": datetime(2000, 1, 1, tzinfo=UTC)})
        formats = _formats(book)
        writers = [_SheetWriter(book, sheet, formats, notes) for sheet in sheets]
        for writer in writers:
            writer.write()
        for writer in writers:
            if writer.sheet.name == notes_on:
                writer.write_notes()
        book.close()
    return notes


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


class _SheetWriter:
    """Writes one sheet: lines, table, colours, and lines below."""

    def __init__(
        self,
        book: Any,
        sheet: Sheet,
        formats: Mapping[str, Any],
        notes: list[str],
    ) -> None:
        self.sheet = sheet
        self.page = book.add_worksheet(sheet.name)
        self.formats = formats
        self.notes = notes
        self.columns = [str(column) for column in sheet.frame.columns]
        self.widths = [_width(sheet.frame.iloc[:, i], name) for i, name in enumerate(self.columns)]
        self.header_row = len(sheet.head) + 1 if sheet.head else 0
        self.last_row = self.header_row + len(sheet.frame)
        """The last row of the table."""

    def write(self) -> None:
        """Write everything but the notes."""
        for row, (name, value) in enumerate(self.sheet.head):
            self._write_text(row, 0, name, self.formats["bold"])
            self._write_text(row, 1, str(value))
        self._write_table()
        first = self.header_row + 1
        last = max(self.last_row, first)
        for column, rule in _color_rules(self.sheet, self.formats):
            index = self.columns.index(column)
            self.page.conditional_format(first, index, last, index, rule)
        if self.sheet.below:
            self._write_meanings()
        self._set_up_print()

    def _set_up_print(self) -> None:
        """Landscape on A4, readable: as many pages wide as it takes, head and first column on each, numbered."""
        self.page.set_landscape()
        self.page.set_paper(A4)
        self.page.fit_to_pages(1 + sum(self.widths) // PAGE_WIDTH, 0)
        self.page.repeat_rows(self.header_row)
        self.page.repeat_columns(0)
        self.page.set_footer("&L&A&R&P / &N")

    def write_notes(self) -> None:
        """Write the notes on changed cells below everything else."""
        lines = self.notes[:_KEPT_NOTES]
        if len(self.notes) > _KEPT_NOTES:
            lines.append(say("and {n} more", n=len(self.notes) - _KEPT_NOTES))
        row = self.last_row + 2
        if self.sheet.below:
            row += len(self.sheet.below) + 2
        self.page.write_string(row, 0, say("Changed cells"), self.formats["bold"])
        for index, line in enumerate(lines or [say("none")], 1):
            self.page.write_string(row + index, 0, line)

    def _write_table(self) -> None:
        for index, column in enumerate(self.columns):
            self._write_text(self.header_row, index, column, self.formats["header"])
            self.page.set_column(index, index, self.widths[index])
        rows = self.sheet.frame.itertuples(index=False)
        for row, values in enumerate(rows, self.header_row + 1):
            self.page.set_row(row, LINE * _lines(values, self.widths))
            for index, value in enumerate(values):
                self._write_cell(row, index, value)
        self.page.freeze_panes(self.header_row + 1, 1)
        if self.columns:
            last = max(self.last_row, self.header_row + 1)
            self.page.autofilter(self.header_row, 0, last, len(self.columns) - 1)

    def _write_cell(
        self,
        row: int,
        column: int,
        value: Any,
    ) -> None:
        if is_null(value):
            self.page.write_blank(row, column, None, self.formats["top"])
        elif isinstance(value, bool):
            self.page.write_boolean(row, column, value, self.formats["top"])
        elif isinstance(value, Integral):
            self.page.write_number(row, column, value, self.formats["top"])
        elif isinstance(value, float):
            self.page.write_number(row, column, value, self.formats["decimal"])
        else:
            self._write_text(row, column, str(value), self.formats["wrap"])

    def _write_text(
        self,
        row: int,
        column: int,
        text: str,
        form: Any = None,
    ) -> None:
        clean = _text(text, self.sheet.name, row, column, self.notes)
        self.page.write_string(row, column, clean, form)

    def _write_meanings(self) -> None:
        """Write below the table what its columns mean."""
        row = self.last_row + 2
        self.page.write_string(row, 0, say("What the columns mean"), self.formats["bold"])
        for name, meaning in self.sheet.below:
            row += 1
            self._write_text(row, 0, name)
            self._write_text(row, 1, meaning)


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
        rules.append((column, _cell_rule("<", threshold, formats["bad"])))
        rules.append((column, _cell_rule(">=", threshold, formats["good"])))
    if sheet.verdicts:
        column = sheet.verdicts
        for word, colour in COLOURS.items():
            rules.append((column, _cell_rule("==", f'"{say(word)}"', formats[colour])))
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
    longest = max((width_of(str(value)) for value in column.head(200)), default=0)
    return min(max(longest, width_of(name), 8) + 2, 60)


def _lines(values: Sequence[Any], widths: Sequence[int]) -> int:
    """How many lines a row needs to show its texts whole, up to TALLEST."""
    most = 1
    for value, width in zip(values, widths):
        if isinstance(value, str):
            lines = sum(1 + width_of(line) // (width - 1) for line in value.split("\n"))
            most = max(most, lines)
    return min(most, TALLEST)


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
        clean = clean.encode("utf-16-le")[:room].decode("utf-16-le", "ignore") + mark
        notes.append(
            say(
                "{place}: cut from {n} characters to what a cell can hold; the CSV has it whole",
                place=place,
                n=len(value),
            )
        )
    return clean
