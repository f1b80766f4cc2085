"""What a suite shows of its results besides what every suite shows.

The module that `Suite.views` names may hold three functions: `sample_views(shown)`, of a run or a study, gives the
SampleViews (one a way of marking predictions, the one that leads first); `finding(run)` what a page says first, and
the numbers behind it; `first_screen(run)` a table below that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import pandas as pd

from .samples import Layout, Marks


@dataclass(frozen=True)
class SampleView:
    """How units are browsed, their predictions marked in one way.

    `groups(result)`: name -> (query on the units, caption). `ids(result, units)`: the id of the card of each row of
    the units that has one, in the order to be read. `cards(result, units)`: the cards of such rows, in their order, as
    `layout` names their columns. Both have the index of the units.

    The part of a caption before a colon is the label of its group. A study shows side by side what its runs made of a
    sample: `cell`, that column of the rows, and `compared`, texts of the cards; `given` are the columns of the rows
    that are the same for all runs.
    """

    groups: Callable[[Any], Mapping[str, tuple[str, str]]]
    ids: Callable[[Any, pd.DataFrame], pd.Series]
    cards: Callable[[Any, pd.DataFrame], pd.DataFrame]
    layout: Layout
    cell: str = ""
    given: tuple[str, ...] = ()
    compared: tuple[str, ...] = ()
    marks: Marks = field(default_factory=Marks)


def of_suite(name: str, shown: Any) -> Any:
    """What the function of that name in the suite's views module gives; None where there is none."""
    if not shown.suite.views:
        return None
    module = import_module(shown.suite.views)
    function = getattr(module, name, None)
    return None if function is None else function(shown)


def sample_views(shown: Any) -> tuple[SampleView, ...]:
    """How the suite of a run or study browses its units, the marks of the headline first; () without views."""
    views = of_suite("sample_views", shown)
    return tuple(views or ())
