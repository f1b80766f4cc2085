"""Text of a terminal: wrapped lines, and frames as columns."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from ..report.text import width_of

WIDTH = 160
"""Columns of the terminal that no line exceeds."""


def wrapped(text: str) -> str:
    """The text in lines of at most WIDTH columns, those from the second on indented by two."""
    return textwrap.fill(text, WIDTH, subsequent_indent="  ", break_on_hyphens=False)


def columns(
    frame: pd.DataFrame,
    formats: Mapping[str, Callable[[Any], str]] = {},
    header: bool = True,
) -> str:
    """A frame as columns of text, without its index; nulls are empty. `formats`: column -> text of a value.

    The first column begins at its left, the others end at their right. Letters of Korean take two places.

    >>> print(columns(pd.DataFrame({"name": ["apple", "b"], "share": [0.5, None]}), {"share": "{:.0%}".format}))
    name  share
    apple   50%
    b
    """
    texts = {}
    for column in frame:
        text_of = formats.get(str(column), str)
        cells = []
        for value in frame[column]:
            cells.append("" if pd.isna(value) else text_of(value))
        texts[str(column)] = cells
    first, *others = texts
    head, *cells = _padded([first if header else "", *texts[first]])
    aligned = {head: cells}
    for column in others:
        aligned[column] = texts[column]
    with pd.option_context("display.unicode.east_asian_width", True):
        return pd.DataFrame(aligned).to_string(index=False, header=header)


def _padded(texts: Sequence[str]) -> list[str]:
    """The texts with blanks behind them, all of one width."""
    widest = max(map(width_of, texts))
    padded = []
    for text in texts:
        blanks = " " * (widest - width_of(text))
        padded.append(text + blanks)
    return padded
