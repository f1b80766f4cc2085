"""Numbers and cells as text, and whole frames as Markdown and LaTeX."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from numbers import Integral, Number, Real
from typing import Any

import pandas as pd
from markupsafe import Markup

from ..core.check import LEVEL_WORDS
from ..core.estimates import is_null
from ..core.language import Message, say
from .text import visible

Format = str | Callable[[Any], str]

ARROWS = {"higher": ("↑", "higher is better"), "lower": ("↓", "lower is better")}
"""The better direction of a metric -> its sign, and in words."""

NUMBERS = re.compile(r"(\[?[-−+]?\d[-−+\d.,±%\[\] †]*|N/A)?")
"""What a cell of a column of numbers holds, as text."""


def titled(title: Message, better: str) -> str:
    """A metric's title with the arrow of its better direction, which never stands on a line of its own."""
    return f"{say(title)}\u00a0{ARROWS.get(better, ('',))[0]}".rstrip()


class Strong(str):
    """A cell in bold, in Markdown and LaTeX."""


def struck(number: str) -> Markup:
    """A number that a check blocks: struck, and said in words where nothing can be struck."""
    said = say(LEVEL_WORDS["blocking"]).lower()
    return Markup('<s>{}</s><span class="et-hidden"> ({})</span>').format(number, said)


def text_of(value: Any) -> str:
    """A text cell, empty where it is null."""
    return "" if is_null(value) else str(value)


def sort_key(value: Any) -> float | str:
    """What a cell sorts by: its number, or "" (last) where it has none.

    Six significant digits and twelve decimals: the last digits of a sum depend on the processor,
    and a page must not.

    >>> sort_key(0.28168669095825843)
    0.281687
    """
    if is_null(value) or not isinstance(value, Real):
        return ""
    if isinstance(value, Integral):
        return float(value)
    return round(float(f"{float(value):.6g}"), 12)


def number(value: Any, decimals: int = 3, *, signed: bool = False) -> str:
    """A number as printed: "N/A" where nothing was measured, whole where it counts, else with `decimals`.

    >>> number(-0.0024), number(0.0521, signed=True), number(-1200)
    ('−0.002', '+0.052', '−1,200')
    """
    if is_null(value):
        return "N/A"
    sign = "+" if signed else ""
    if isinstance(value, Integral):
        return f"{int(value):{sign},}".replace("-", "−")
    text = f"{float(value):{sign},.{decimals}f}"
    if not text.strip("-0.,"):
        return text.removeprefix("-")
    return text.replace("-", "−")


def plain(value: Any, form: Format | None = None) -> str:
    """A cell as text: a null number is N/A, a null text empty; `form` is a format spec (".3f") or a function."""
    if is_null(value):
        return "" if value is None else "N/A"
    if isinstance(value, Strong | Markup):
        return value
    if callable(form):
        text = form(value)
        return text if isinstance(text, str) else str(text)
    if form:
        return format(value, form).replace("-", "−")
    if isinstance(value, bool) or type(value).__name__ == "bool":
        return say("yes") if value else say("no")
    return number(value) if isinstance(value, Number) else str(value)


def markdown_table(
    df: pd.DataFrame,
    *,
    columns: Mapping[str, str] | None = None,
    formats: Mapping[str, Format] | None = None,
    caption: str | None = None,
) -> str:
    """A frame as a GitHub Markdown table; text from data cannot leave its cell or become markup."""
    return _rows_of_cells(df, columns, formats, caption, markdown)


def text_table(
    df: pd.DataFrame,
    *,
    columns: Mapping[str, str] | None = None,
    formats: Mapping[str, Format] | None = None,
    caption: str | None = None,
) -> str:
    """As `markdown_table`, for a terminal: every text as it is, without the escapes of Markdown."""
    return _rows_of_cells(df, columns, formats, caption, _line)


def _rows_of_cells(
    df: pd.DataFrame,
    columns: Mapping[str, str] | None,
    formats: Mapping[str, Format] | None,
    caption: str | None,
    text_of_cell: Callable[[str], str],
) -> str:
    """The caption, the heads, a rule, and a line a row, cells between bars."""
    heads, texts, numeric = text_columns(df, columns, formats)
    rows = [heads, ["---:" if is_number else "---" for is_number in numeric]]
    for row in zip(*texts):
        rows.append([text_of_cell(cell) for cell in row])
    rows[0] = [text_of_cell(head) for head in heads]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    if caption:
        lines = [text_of_cell(caption), "", *lines]
    return "\n".join(lines) + "\n"


def text_columns(
    df: pd.DataFrame, columns: Mapping[str, str] | None, formats: Mapping[str, Format] | None
) -> tuple[list[str], list[list[str]], list[bool]]:
    """Headers, cells as text column by column, and whether a column holds numbers, as such or as texts.

    `columns` and `formats` as of `tables.table`. KeyError for columns that the frame lacks.
    """
    names = dict(columns) if columns is not None else {c: say(str(c)) for c in df.columns}
    texts = []
    for name, column in df[list(names)].items():
        values = column.tolist()
        if isinstance(
            column.dtype, pd.StringDtype
        ):  # a null is no text, where a number's is "not measured"
            values = [None if is_null(v) else v for v in values]
        texts.append([plain(v, (formats or {}).get(str(name))) for v in values])
    numeric = [
        any(cells) and all(t.startswith("<s>") or NUMBERS.fullmatch(t) for t in cells)
        for cells in texts
    ]
    return list(names.values()), texts, numeric


def _line(text: str) -> str:
    """A text, or the words of HTML, on one line with nothing hidden."""
    return " ".join(visible(text.striptags() if isinstance(text, Markup) else text).split())


def markdown(text: str) -> str:
    """Text as Markdown that shows just it, on one line."""
    flat = _line(text).replace("&", "&amp;").replace("<", "&lt;")
    escaped = re.sub(r"([\\`*\[\]|$~]|(?<!\w)_|_(?!\w))", r"\\\1", flat)
    return f"**{escaped}**" if isinstance(text, Strong) else escaped


def latex_table(
    df: pd.DataFrame,
    *,
    columns: Mapping[str, str] | None = None,
    caption: str,
    label: str,
    note: str = "",
) -> str:
    """A frame as a LaTeX table (needs the package booktabs), every special character escaped; `note` stands below."""
    heads, texts, numeric = text_columns(df, columns, None)
    lines = [r"\begin{table}", r"\centering\small\setlength{\tabcolsep}{4pt}"]
    lines += [
        rf"\caption{{{latex(caption)}}}",
        rf"\label{{{re.sub(r'[^A-Za-z0-9:-]', '-', label)}}}",
    ]
    lines += [rf"\begin{{tabular}}{{{''.join('r' if n else 'l' for n in numeric)}}}", r"\toprule"]
    lines += [
        _tex_row(heads),
        r"\midrule",
        *map(_tex_row, zip(*texts)),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    # a signature has no spaces to break it at
    below = latex(note).replace(r"\textbar{}", r"\textbar\allowbreak{}")
    lines += (
        [rf"\par\smallskip\parbox{{\linewidth}}{{\footnotesize\raggedright {below}}}"]
        if note
        else []
    )
    return "\n".join([*lines, r"\end{table}"]) + "\n"


_TEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    **{c: "\\" + c for c in "&%$#_{}"},
    **{c: f"$\\{name}$" for c, name in zip("↑↓≤±Δ", ("uparrow", "downarrow", "le", "pm", "Delta"))},
    "†": r"\textsuperscript{\dag}",
    "−": "$-$",
}


def latex(text: str) -> str:
    """Text as LaTeX that shows just it, on one line."""
    # braces keep a leading "[" or "*" from being read as belonging to the end of the row before
    escaped = "".join(_TEX.get(c, c) for c in _line(text))
    if isinstance(text, Strong):
        return rf"\textbf{{{escaped}}}"
    return f"{{{escaped}}}" if escaped.startswith(("[", "*")) else escaped


def _tex_row(cells: Iterable[str]) -> str:
    return " & ".join(map(latex, cells)) + r" \\"
