"""Frames as Markdown and LaTeX: text from data cannot leave its cell or become markup."""

from __future__ import annotations

import re
from collections.abc import Sequence
from numbers import Number
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from ..core.estimates import is_null
from ..core.language import say
from .numbers import number
from .text import visible

# what a cell of a column of numbers holds, as text
NUMBERS = re.compile(r"(\[?[-−+]?\d[-−+\d.,±%\[\] †‡]*|N/A)?")


class Strong(str):
    """A cell in bold, in Markdown and LaTeX."""


def text_of(value: Any) -> str:
    """A text cell, empty where it is null."""
    return "" if is_null(value) else str(value)


def plain(value: Any) -> str:
    """A cell as text: a null number is N/A, a null text empty."""
    if is_null(value):
        return "" if value is None else "N/A"
    if isinstance(value, bool | np.bool_):
        return say("yes") if value else say("no")
    return number(value) if isinstance(value, Number) else str(value)


def text_columns(df: pd.DataFrame) -> tuple[list[str], list[list[str]], list[bool]]:
    """Heads in the language in force, cells as text column by column, and whether a column holds numbers."""
    heads = []
    texts = []
    for name, column in df.items():
        values = column.tolist()
        if isinstance(column.dtype, pd.StringDtype):
            # a null is no text, where a number's is "not measured"
            values = [None if is_null(value) else value for value in values]
        heads.append(say(str(name)))
        texts.append([value if isinstance(value, str) else plain(value) for value in values])
    return heads, texts, [_are_numbers(cells) for cells in texts]


def _are_numbers(cells: Sequence[str]) -> bool:
    """Whether cells hold numbers, as such or as texts, and not all of them nothing."""
    return any(cells) and all(NUMBERS.fullmatch(cell) for cell in cells)


def _line(text: str) -> str:
    """A text, or the words of HTML, on one line with nothing hidden."""
    return " ".join(visible(text.striptags() if isinstance(text, Markup) else text).split())


def markdown_table(
    df: pd.DataFrame,
    caption: str = "",
) -> str:
    """A frame in GitHub Markdown, below its caption."""
    heads, texts, numeric = text_columns(df)
    rows = [map(markdown, heads), ["---:" if is_number else "---" for is_number in numeric]]
    for texts_of_row in zip(*texts):
        rows.append(map(markdown, texts_of_row))
    lines = [f"| {' | '.join(row)} |" for row in rows]
    if caption:
        lines = [markdown(caption), "", *lines]
    return "\n".join(lines) + "\n"


def markdown(text: str) -> str:
    """Text as Markdown that shows just it, on one line."""
    flat = _line(text).replace("&", "&amp;").replace("<", "&lt;")
    escaped = re.sub(r"([\\`*\[\]|$~]|(?<!\w)_|_(?!\w))", r"\\\1", flat)
    return f"**{escaped}**" if isinstance(text, Strong) else escaped


def latex_table(
    df: pd.DataFrame,
    *,
    caption: str,
    label: str,
    note: str = "",
) -> str:
    """A frame as a LaTeX table (needs the package booktabs), every special character escaped; `note` stands below."""
    heads, texts, numeric = text_columns(df)
    columns = {latex(head): map(latex, cells) for head, cells in zip(heads, texts)}
    code = (
        pd.DataFrame(columns)
        .style.hide(axis="index")
        .to_latex(
            hrules=True,
            column_format="".join("r" if is_number else "l" for is_number in numeric),
            caption=latex(caption),
            label=re.sub(r"[^A-Za-z0-9:-]", "-", label),
            position_float="centering",
        )
    )
    code = code.replace(r"\centering", r"\centering\small\setlength{\tabcolsep}{4pt}", 1)
    if note:
        below = rf"\par\smallskip\parbox{{\linewidth}}{{\footnotesize\raggedright {latex(note)}}}"
        code = code.replace(r"\end{table}", f"{below}\n\\end{{table}}")
    return code


_TEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar\allowbreak{}",
    '"': r"\textquotedbl{}",
    **{c: "\\" + c for c in "&%$#_{}"},
    **{c: f"$\\{name}$" for c, name in zip("↑↓≤±Δ", ("uparrow", "downarrow", "le", "pm", "Delta"))},
    "†": r"\textsuperscript{\dag}",
    "‡": r"\textsuperscript{\ddag}",
    "−": "$-$",
}


def latex(text: str) -> str:
    """Text as LaTeX that shows just it, on one line."""
    # braces keep a leading "[" or "*" from being read as belonging to the end of the row before
    escaped = "".join(_TEX.get(c, c) for c in _line(text))
    if isinstance(text, Strong):
        return rf"\textbf{{{escaped}}}"
    return f"{{{escaped}}}" if escaped.startswith(("[", "*")) else escaped
