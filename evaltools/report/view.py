"""What a suite shows of its results: the kinds of entries in its views module.

`evaltools.<suite>.views` holds TABLES and STUDY_TABLES (name -> TableView), FIGURES (name -> function of a Run, with
keyword options, that returns a chart) and SAMPLES (a SampleView); each is optional.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from ..core.words import say


@dataclass(frozen=True)
class TableView:
    """A table of a result or study: `make` gives its frame; `columns` and `formats` are those of `tables.table`."""

    make: Callable[[Any], pd.DataFrame]
    caption: str
    columns: Mapping[str, str] | None = None
    formats: Mapping[str, Any] = field(default_factory=dict)

    def heads(self) -> dict[str, str] | None:
        """`columns` in the language in force."""
        return None if self.columns is None else {c: say(head) for c, head in self.columns.items()}


@dataclass(frozen=True)
class SampleView:
    """How units are browsed.

    `groups(result)`: name -> (query on the units, caption). `cards(result, units)`: some rows of the units -> the
    frame that `samples.samples` shows, in the order to be read; `browser`: the keywords of that function.
    `legend(result)`: what the marks of the cards mean, "" where there are none. The part of a caption before a colon
    is the label of its group.
    """

    groups: Callable[[Any], Mapping[str, tuple[str, str]]]
    cards: Callable[[Any, pd.DataFrame], pd.DataFrame]
    browser: Mapping[str, Any]
    legend: Callable[[Any], str] = lambda result: ""
