"""What a suite shows of its results: the kinds of entries in its views module.

`evaltools.<suite>.views` holds TABLES and STUDY_TABLES (name -> TableView), FIGURES (name -> function of a Run, with
keyword options, that returns a chart) and sample_views (function of a Result or Study that returns SampleViews: one a
way of marking predictions, the one that leads first), `finding` (what a page of a run says first, and the numbers
behind it) and `first_screen` (a table below that); each is optional.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import pandas as pd

from ..core.language import say
from ..core.suite import Suite
from .tables import HtmlTable, no_rows, stack, table


@dataclass(frozen=True)
class TableView:
    """A table of a result or study: `make` gives its frame; `columns` and `formats` are those of `tables.table`."""

    make: Callable[[Any], pd.DataFrame]
    caption: str
    columns: Mapping[str, str] | None = None
    formats: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, result: Any) -> HtmlTable:
        """The table of that result or study."""
        found = self.make(result)
        heads = None if self.columns is None else {c: say(head) for c, head in self.columns.items()}
        how = {"caption": self.caption, "columns": heads, "formats": self.formats}
        return table(found, **how) if len(found) else no_rows(self.caption)  # type: ignore[arg-type]


@dataclass(frozen=True)
class SampleView:
    """How units are browsed, their predictions marked in one way.

    `groups(result)`: name -> (query on the units, caption). `cards(result, units)`: some rows of the units -> the
    frame that `samples.samples` shows, in the order to be read, with the index of the units; `browser`: the keywords
    of that function. The part of a caption before a colon is the label of its group. `compared`: the columns of the
    cards that say what a run made of a sample, which a study shows side by side. `name`: of the marks, in links;
    `label`: of them, to be chosen by; `legend`: what they mean; "" where there are none.
    """

    groups: Callable[[Any], Mapping[str, tuple[str, str]]]
    cards: Callable[[Any, pd.DataFrame], pd.DataFrame]
    browser: Mapping[str, Any]
    compared: tuple[str, ...] = ()
    name: str = ""
    label: str = ""
    legend: str = ""


def views_of(suite: Suite, name: str) -> Any:
    """What the suite's views module holds under that name; {} where there is none."""
    if not suite.views:
        return {}
    return getattr(import_module(suite.views), name, {})


def finding(run: Any) -> tuple[str, str] | None:
    """What the suite says first of a run, and the numbers behind it; None where it says nothing of its own."""
    make = views_of(run.suite, "finding")
    return make(run) if make else None


def first_screen(run: Any) -> HtmlTable:
    """What the suite shows on the first screen of a run, below its title; empty where it shows nothing."""
    make = views_of(run.suite, "first_screen")
    return make(run) if make else stack([])


def sample_views(shown: Any) -> tuple[SampleView, ...]:
    """How the suite of a run or study browses its units, the marks of the headline first; () without views."""
    make = views_of(shown.suite, "sample_views")
    return tuple(make(shown)) if make else ()
