"""Numbers and cells as text, and whole frames as Markdown and LaTeX."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Number, Real
from typing import Any

import pandas as pd
from markupsafe import Markup

from ..core.check import WORDS
from ..core.words import say
from .text import visible

Format = str | Callable[[Any], str]

ARROWS = {"higher": ("↑", "higher is better"), "lower": ("↓", "lower is better")}
"""The better direction of a metric -> its sign, and in words."""

NUMBERS = re.compile(r"(\[?[-+]?\d[-+\d.,±%\[\] †]*|N/A)?")
"""What a cell of a column of numbers holds, as text."""


def titled(title: str, better: str) -> str:
    """A metric's title with the arrow of its better direction, which never stands on a line of its own."""
    return f"{say(title)}\u00a0{ARROWS.get(better, ('',))[0]}".rstrip()


class Strong(str):
    """A cell in bold, in Markdown and LaTeX."""


def struck(number: str) -> Markup:
    """A number that a check blocks: struck, and said in words where nothing can be struck."""
    said = say(WORDS["blocking"]).lower()
    return Markup('<s>{}</s><span class="et-hidden"> ({})</span>').format(number, said)


def is_null(value: Any) -> bool:
    """Whether a cell of a frame holds nothing."""
    return value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and value != value)


def text_of(value: Any) -> str:
    """A text cell, empty where it is null."""
    return "" if is_null(value) else str(value)


def sort_key(value: Any) -> float | str:
    """What a cell sorts by: its number, or "" (last) where it has none."""
    return float(value) if isinstance(value, Real) and not is_null(value) else ""


def number(value: Any, decimals: int = 3, *, signed: bool = False) -> str:
    """A number as printed: "N/A" where nothing was measured, whole where it counts, else with `decimals`."""
    if is_null(value):
        return "N/A"
    sign = "+" if signed else ""
    if isinstance(value, Integral):
        return f"{int(value):{sign},}"
    text = f"{float(value):{sign},.{decimals}f}"
    return text.removeprefix("-") if not text.strip("-0.,") else text


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
        return format(value, form)
    if isinstance(value, bool) or type(value).__name__ == "bool":
        return say("yes") if value else say("no")
    return number(value) if isinstance(value, Number) else str(value)


def text_column(column: pd.Series) -> list[Any]:
    """The values of a column; nulls of a text column as None (no text), where a number's are "not measured"."""
    if isinstance(column.dtype, pd.StringDtype):
        return [None if is_null(v) else v for v in column]
    return column.tolist()


def markdown_table(
    df: pd.DataFrame,
    *,
    columns: Mapping[str, str] | None = None,
    formats: Mapping[str, Format] | None = None,
    caption: str | None = None,
) -> str:
    """A frame as a GitHub Markdown table; text from data cannot leave its cell or become markup."""
    heads, rows, numeric = _text_rows(df, columns, formats)
    rule = " | ".join("---:" if n else "---" for n in numeric)
    lines = [_md_row(heads), f"| {rule} |", *map(_md_row, rows)]
    return (f"{markdown(caption)}\n\n" if caption else "") + "\n".join(lines) + "\n"


def _text_rows(
    df: pd.DataFrame, columns: Mapping[str, str] | None, formats: Mapping[str, Format] | None
) -> tuple[list[str], list[list[str]], list[bool]]:
    names = dict(columns) if columns is not None else {c: say(str(c)) for c in df.columns}
    forms = formats or {}
    cells = [[plain(v, forms.get(c)) for v in text_column(df[c])] for c in names]
    rows = [[t.striptags() if isinstance(t, Markup) else t for t in row] for row in zip(*cells)]
    return list(names.values()), rows, [_numeric(df[c], column) for c, column in zip(names, cells)]


def _numeric(column: pd.Series, cells: Sequence[str]) -> bool:
    """Whether a column holds numbers, as such or as texts."""
    return bool(pd.api.types.is_numeric_dtype(column)) or (any(cells) and all(map(NUMBERS.fullmatch, cells)))


def markdown(text: str) -> str:
    """Text as Markdown that shows just it, on one line."""
    flat = " ".join(visible(text).split()).replace("&", "&amp;").replace("<", "&lt;")
    escaped = re.sub(r"([\\`*\[\]|$~]|(?<!\w)_|_(?!\w))", r"\\\1", flat)
    return f"**{escaped}**" if isinstance(text, Strong) else escaped


def _md_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(markdown, cells)) + " |"


def latex_table(
    df: pd.DataFrame,
    *,
    columns: Mapping[str, str] | None = None,
    formats: Mapping[str, Format] | None = None,
    caption: str | None = None,
    label: str | None = None,
    note: str = "",
) -> str:
    """A frame as a LaTeX table (needs the package booktabs), every special character escaped; `note` stands below."""
    heads, rows, numeric = _text_rows(df, columns, formats)
    lines = [r"\begin{table}", r"\centering\small\setlength{\tabcolsep}{4pt}"]
    lines += [rf"\caption{{{latex(caption)}}}"] if caption else []
    lines += [rf"\label{{{re.sub(r'[^A-Za-z0-9:-]', '-', label)}}}"] if label else []
    lines += [rf"\begin{{tabular}}{{{''.join('r' if n else 'l' for n in numeric)}}}", r"\toprule"]
    lines += [_tex_row(heads), r"\midrule", *map(_tex_row, rows), r"\bottomrule", r"\end{tabular}"]
    # a signature has no spaces to break it at
    below = latex(note).replace(r"\textbar{}", r"\textbar\allowbreak{}")
    lines += [rf"\par\smallskip\parbox{{\linewidth}}{{\footnotesize\raggedright {below}}}"] if note else []
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
}


def latex(text: str) -> str:
    """Text as LaTeX that shows just it, on one line."""
    # braces keep a leading "[" or "*" from being read as belonging to the end of the row before
    escaped = "".join(_TEX.get(c, c) for c in " ".join(visible(text).split()))
    if NUMBERS.fullmatch(text):
        escaped = escaped.replace("-", "$-$")
    if isinstance(text, Strong):
        return rf"\textbf{{{escaped}}}"
    return f"{{{escaped}}}" if escaped.startswith(("[", "*")) else escaped


def _tex_row(cells: Sequence[str]) -> str:
    return " & ".join(map(latex, cells)) + r" \\"
