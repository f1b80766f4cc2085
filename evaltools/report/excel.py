"""Workbooks for readers in a spreadsheet program: texts stay texts, nothing is cut off unseen.

A text from data is never a formula or a link. Control characters that a workbook cannot hold are replaced, and
texts longer than a cell are cut with a mark. The same frames give the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
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

FORMATS: dict[str, dict[str, Any]] = {
    "bold": {"bold": True},
    "header": {
        "bold": True,
        "bottom": 1,
        "text_wrap": True,
        "valign": "top",
    },
    "text": {
        "valign": "top",
        "text_wrap": True,
    },
    "decimal": {
        "valign": "top",
        "num_format": "0.000",
    },
    "other": {"valign": "top"},
    "good": {"bg_color": "#D5E8D4"},
    "bad": {"bg_color": "#F8CECC"},
    "warn": {"bg_color": "#FFF2CC"},
    "grey": {"bg_color": "#E8E8E8"},
}
"""How cells look."""

COLOURS = {"pass": "good", "ok": "good", "look": "warn", "fail": "bad"}
"""The format of a word of a verdict; all others are grey."""

PAGE_WIDTH = 220
"""Characters across a page that are still readable."""

A4 = 9


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
        formats = {name: book.add_format(look) for name, look in FORMATS.items()}
        for sheet in sheets:
            _write_sheet(book.add_worksheet(sheet.name), sheet, formats)
        book.close()


def _write_sheet(
    page: Any,
    sheet: Sheet,
    formats: Mapping[str, Any],
) -> None:
    """Write lines, table and colours."""
    columns = [str(column) for column in sheet.frame.columns]
    header = len(sheet.head) + 1 if sheet.head else 0
    last = header + max(len(sheet.frame), 1)
    for row, (name, value) in enumerate(sheet.head):
        page.write(row, 0, name, formats["bold"])
        page.write(row, 1, _held(str(value)))
    total_width = 0
    for index, column in enumerate(columns):
        width = _width(sheet.frame.iloc[:, index], column)
        total_width += width
        page.set_column(index, index, width)
        page.write(header, index, _held(column), formats["header"])
    for row, values in enumerate(sheet.frame.itertuples(index=False), header + 1):
        for index, value in enumerate(values):
            form = formats[_kind(value)]
            page.write(row, index, _held(value), form)
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


def _kind(value: Any) -> str:
    """The format of a cell of a table."""
    if isinstance(value, str):
        return "text"
    return "decimal" if isinstance(value, float) else "other"


def _color_rules(
    sheet: Sheet,
    formats: Mapping[str, Any],
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rules for the colours of cells: (column, rule), the first that holds for a cell applies."""
    for column, threshold in sheet.scores.items():
        # an empty cell would count as 0, which fails
        yield column, {"type": "blanks", "stop_if_true": True}
        yield column, _cell_rule("<", threshold, formats["bad"])
        yield column, _cell_rule(">=", threshold, formats["good"])
    if sheet.verdicts:
        for word, colour in COLOURS.items():
            quoted = f'"{say(word)}"'
            yield sheet.verdicts, _cell_rule("==", quoted, formats[colour])
        yield sheet.verdicts, {"type": "no_blanks", "format": formats["grey"]}


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
