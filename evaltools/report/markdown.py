"""Numbers and cells as text, and whole frames as Markdown and LaTeX."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from numbers import Integral, Number, Real
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from ..core.check import LEVEL_WORDS
from ..core.estimates import is_null
from ..core.language import Message, say
from .text import visible

ARROWS = {"higher": ("↑", "higher is better"), "lower": ("↓", "lower is better")}
"""The better direction of a metric -> its sign, and in words."""

NUMBERS = re.compile(r"(\[?[-−+]?\d[-−+\d.,±%\[\] †‡]*|N/A)?")
"""What a cell of a column of numbers holds, as text."""


LEAST = 1e-9
"""Numbers below are printed as 0."""


def titled(
    title: Message,
    better: str,
) -> str:
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


def number(
    value: Any,
    decimals: int = 3,
    *,
    signed: bool = False,
) -> str:
    """A number as printed: "N/A" where nothing was measured, whole where it counts, else with `decimals`.

    What would be 0 so, and is not, has two significant digits; below LEAST it is the rounding of a sum.

    >>> number(-0.0024), number(0.0521, signed=True), number(-1200), number(0.000012345)
    ('−0.002', '+0.052', '−1,200', '0.000012')
    """
    if is_null(value):
        return "N/A"
    sign = "+" if signed else ""
    if isinstance(value, Integral):
        return f"{int(value):{sign},}".replace("-", "−")
    value = float(value)
    if LEAST <= abs(value) < 0.5 * 10.0**-decimals:
        decimals = decimals_of(value, 2)
    text = f"{value:{sign},.{decimals}f}"
    if not text.strip("-0.,"):
        return text.removeprefix("-")
    return text.replace("-", "−")


def decimals_of(
    value: float,
    digits: int,
) -> int:
    """Decimals that show so many significant digits of a number other than 0.

    >>> decimals_of(0.00345, 2), decimals_of(12.0, 2)
    (4, 0)
    """
    return digits - 1 - math.floor(math.log10(abs(value)))


def plain(value: Any) -> str:
    """A cell as text: a null number is N/A, a null text empty."""
    if is_null(value):
        return "" if value is None else "N/A"
    if isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_):
        return say("yes") if value else say("no")
    return number(value) if isinstance(value, Number) else str(value)


def _line(text: str) -> str:
    """A text, or the words of HTML, on one line with nothing hidden."""
    return " ".join(visible(text.striptags() if isinstance(text, Markup) else text).split())


def text_table(
    df: pd.DataFrame,
    caption: str = "",
    escaped: Callable[[str], str] = _line,
) -> str:
    """A frame as lines of cells between bars, below the caption, for a terminal; `escaped` makes a cell of a text."""
    heads, texts, numeric = text_columns(df)
    rows = [map(escaped, heads), ["---:" if is_number else "---" for is_number in numeric]]
    for texts_of_row in zip(*texts):
        rows.append(map(escaped, texts_of_row))
    lines = [f"| {' | '.join(row)} |" for row in rows]
    if caption:
        lines = [escaped(caption), "", *lines]
    return "\n".join(lines) + "\n"


def markdown_table(
    df: pd.DataFrame,
    caption: str = "",
) -> str:
    """As `text_table`, in GitHub Markdown: text from data cannot leave its cell or become markup."""
    return text_table(df, caption, markdown)


def text_columns(df: pd.DataFrame) -> tuple[list[str], list[list[str]], list[bool]]:
    """Heads, cells as text column by column, and whether a column holds numbers, as such or as texts.

    The heads are the names of the columns, in the language in force.
    """
    heads = []
    texts = []
    for name, column in df.items():
        values = column.tolist()
        if isinstance(column.dtype, pd.StringDtype):
            # a null is no text, where a number's is "not measured"
            values = [None if is_null(value) else value for value in values]
        heads.append(say(str(name)))
        texts.append([plain(value) for value in values])
    return heads, texts, [_are_numbers(cells) for cells in texts]


def _are_numbers(cells: Sequence[str]) -> bool:
    """Whether cells hold numbers, as such or as texts, and not all of them nothing."""
    return any(cells) and all(cell.startswith("<s>") or NUMBERS.fullmatch(cell) for cell in cells)


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
    name = re.sub(r"[^A-Za-z0-9:-]", "-", label)
    alignment = "".join("r" if is_number else "l" for is_number in numeric)
    lines = [
        r"\begin{table}",
        r"\centering\small\setlength{\tabcolsep}{4pt}",
        rf"\caption{{{latex(caption)}}}",
        rf"\label{{{name}}}",
        rf"\begin{{tabular}}{{{alignment}}}",
        r"\toprule",
        _tex_row(heads),
        r"\midrule",
        *map(_tex_row, zip(*texts)),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    if note:
        # a signature has no spaces to break it at
        below = latex(note).replace(r"\textbar{}", r"\textbar\allowbreak{}")
        lines.append(rf"\par\smallskip\parbox{{\linewidth}}{{\footnotesize\raggedright {below}}}")
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


def _tex_row(cells: Iterable[str]) -> str:
    return " & ".join(map(latex, cells)) + r" \\"
