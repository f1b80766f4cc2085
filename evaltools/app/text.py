"""Text of a terminal: wrapped lines, and frames as columns."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from ..report.text import width_of

WIDTH = 160
"""Columns of the terminal that no line exceeds."""


def wrapped(text: str) -> str:
    """The text in lines of at most WIDTH columns, those from the second on indented by two."""
    return textwrap.fill(
        text,
        WIDTH,
        subsequent_indent="  ",
        break_on_hyphens=False,
    )


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
    aligned: list[list[str]] = []
    for column in frame:
        text_of = formats.get(str(column), str)
        texts = [str(column)] if header else []
        for value in frame[column]:
            texts.append("" if pd.isna(value) else text_of(value))
        widest = max(map(width_of, texts))
        is_first = not aligned
        cells = []
        for text in texts:
            blanks = " " * (widest - width_of(text))
            cells.append(text + blanks if is_first else blanks + text)
        aligned.append(cells)
    lines = [" ".join(cells).rstrip() for cells in zip(*aligned)]
    return "\n".join(lines)
