"""Text of a terminal: wrapped lines, and frames as columns."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import pandas as pd

from ..report.text import width_of

WIDTH = 160
"""Columns of the terminal that no line exceeds."""


def wrapped(text: str, indent: str = "") -> str:
    """The text in lines of at most WIDTH columns, those from the second on indented by two."""
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent="  ",
        break_on_hyphens=False,
    )


def padded(text: str, width: int) -> str:
    """The text in so many columns, to the right, with a negative width to the left. Letters of Korean take two.

    >>> padded("p", 3), padded("지표", -6)
    ('  p', '지표  ')
    """
    n_wide = width_of(text) - len(text)
    if width < 0:
        return text.ljust(-width - n_wide)
    return text.rjust(width - n_wide)


def columns(frame: pd.DataFrame, **formats: Callable[[Any], str]) -> str:
    """A frame as columns of text, without its index; nulls are empty. `formats`: column -> text of a value.

    >>> print(columns(pd.DataFrame({"name": ["a", "b"], "share": [0.5, None]}), share="{:.0%}".format))
    name share
       a   50%
       b
    """
    texts = {}
    for column in frame:
        text_of = formats.get(str(column), str)
        cells = frame[column]
        texts[column] = ["" if pd.isna(value) else text_of(value) for value in cells]
    with pd.option_context("display.unicode.east_asian_width", True):
        return pd.DataFrame(texts).to_string(index=False)
