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


def named_groups(run: Run) -> Mapping[str, tuple[str, str]]:
    """Group of units -> (query, caption), in the marks of the headline; {} for a suite without views."""
    views = sample_views(run)
    return views[0].groups(run) if views else {}


def group_members(run: Run, view: SampleView) -> dict[str, pd.Index]:
    """Label of a group -> the index of its units, in the marks of a view."""
    members = {}
    for query, caption in view.groups(run).values():
        label = caption.partition(":")[0]
        members[label] = run.queried(query).index
    return members


def group_sizes(run: Run) -> dict[str, int]:
    """Label of a group -> how many units it has, in the marks of the headline; {} for a suite without views."""
    views = sample_views(run)
    members = group_members(run, views[0]) if views else {}
    return {label: len(index) for label, index in members.items()}


def browse(run: Run, which: str | None, n: int | None, share: int) -> HtmlTable:
    """A browser of all groups, of one of them, or of what a query finds; `Run.samples` says more."""
    views = sample_views(run)
    most = n or len(run.units)
    if which is None and views:
        groups = {}
        grouped = set[object]()
        for view in views:
            groups[view.name] = group_members(run, view)
            grouped.update(*groups[view.name].values())
        is_grouped = run.units.index.isin(grouped)
        units = run.units[is_grouped].head(most)
        if units.empty:
            return no_rows("Samples")
        return _cards(run, views, units, "Samples", groups, share)
    query = which or ""
    query, caption = named_groups(run).get(query, (query, query or "All units"))
    units = run.queried(query).head(most)
    if views:
        return _cards(run, views, units, caption, {}, share)
    return replace(table(units, caption=f"{caption} ({len(units):,})"), frame=units)


def _cards(
    run: Run,
    views: Sequence[SampleView],
    units: pd.DataFrame,
    caption: str,
    groups: Mapping[str, Mapping[str, pd.Index]],
    share: int,
) -> HtmlTable:
    """Some rows of the units as cards of the suite's, in its order. `groups`: name of a view -> its members."""
    ways = []
    for view in views:
        way = Marked(
            ids=view.ids(run, units),
            cards=partial(_cards_of_keys, run, view),
            groups=groups.get(view.name, {}),
            name=view.name,
            label=view.label,
            legend=view.legend,
        )
        ways.append(way)
    layout = {"id": run.suite.unit, **views[0].browser}
    shown = samples(ways, caption=caption, share=share, **layout)
    return replace(shown, frame=units)


def _cards_of_keys(run: Run, view: SampleView, keys: pd.Index) -> pd.DataFrame:
    return view.cards(run, run.units.loc[keys])
