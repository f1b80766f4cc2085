"""The units of a run as cards to be paged and filtered, in the groups of its suite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from .samples import Marked, samples
from .tables import HtmlTable, no_rows, table
from .view import SampleView, sample_views

if TYPE_CHECKING:
    from .run import Run

Members = dict[str, pd.Index]
"""Label of a group -> the index of its units."""


def named_groups(run: Run) -> Mapping[str, tuple[str, str]]:
    """Group of units -> (query, caption), in the marks of the headline; {} for a suite without views."""
    views = sample_views(run)
    return views[0].groups(run) if views else {}


def group_sizes(run: Run) -> dict[str, int]:
    """Label of a group -> how many units it has, in the marks of the headline; {} for a suite without views."""
    sizes = {}
    for label, index in _members(run, named_groups(run)).items():
        sizes[label] = len(index)
    return sizes


def _members(run: Run, groups: Mapping[str, tuple[str, str]]) -> Members:
    members = {}
    for query, caption in groups.values():
        label = caption.partition(":")[0]
        members[label] = run.queried(query).index
    return members


def browse(
    run: Run,
    which: str | None,
    n: int | None,
    share: int,
) -> HtmlTable:
    """A browser of all groups, of one of them, or of what a query finds; `Run.samples` says more."""
    views = sample_views(run)
    groups: list[Members] = []
    if which is None and views:
        caption = "Samples"
        groups = [_members(run, view.groups(run)) for view in views]
        units = _grouped(run.units, groups)
        if units.empty:
            return no_rows(caption)
    else:
        query = caption = which or ""
        named = named_groups(run)
        if query in named:
            query, caption = named[query]
        elif not query:
            caption = "All units"
        units = run.queried(query)
    units = units.head(n or len(units))
    if views:
        layout = {"id": run.suite.unit, **views[0].browser}
        ways = _ways(run, views, units, groups)
        shown = samples(ways, caption=caption, share=share, **layout)
    else:
        shown = table(units, caption=f"{caption} ({len(units):,})")
    return replace(shown, frame=units)


def _grouped(units: pd.DataFrame, groups: Sequence[Members]) -> pd.DataFrame:
    """The units that are in any group."""
    in_groups = set[object]()
    for members in groups:
        in_groups.update(*members.values())
    return units[units.index.isin(in_groups)]


def _ways(
    run: Run,
    views: Sequence[SampleView],
    units: pd.DataFrame,
    groups: Sequence[Members],
) -> list[Marked]:
    """Some rows of the units under each view. `groups`: those of each view, or none."""
    if not groups:
        groups = [{}] * len(views)
    ways = []
    for view, members in zip(views, groups):
        ids = view.ids(run, units)
        cards = partial(_cards, run, view)
        ways.append(view.marked(ids, cards, members))
    return ways


def _cards(
    run: Run,
    view: SampleView,
    keys: pd.Index,
) -> pd.DataFrame:
    return view.cards(run, run.units.loc[keys])
