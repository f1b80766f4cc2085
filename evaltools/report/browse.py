"""The samples behind the numbers: the units of a run in its suite's groups, and the units that carry a difference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..core.language import say
from ..stats.unit_changes import differing, unit_changes
from .markdown import text_of, titled
from .samples import MOST, Layout, Line, Marked, Row, Tag, samples
from .tables import HtmlTable, no_rows, table
from .view import SampleView, sample_views

if TYPE_CHECKING:
    from .run import Run
    from .study import Study

Members = dict[str, pd.Index]
"""Label of a group -> the index of its units."""

CHANGES = {"Higher": 1, "Lower": -1}
"""Label of a group of units that differ -> the sign of their change."""

PAGE = 3
"""Cards of units that differ that are shown at a time."""

Sides = dict[str, list["Run"]]
"""Baseline and candidate -> their runs that are compared."""


# --- one run


def named_groups(run: Run) -> Mapping[str, tuple[str, str]]:
    """Group of units -> (query, caption), in the marks of the headline; {} for a suite without views."""
    views = sample_views(run)
    return views[0].groups(run) if views else {}


def group_sizes(run: Run) -> dict[str, int]:
    """Label of a group -> how many units it has, in the marks of the headline; {} for a suite without views."""
    members = _members(run, named_groups(run))
    return {label: len(index) for label, index in members.items()}


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
    groups: list[Members] = [{} for _ in views]
    if which is None and views:
        caption = "Samples"
        groups = [_members(run, view.groups(run)) for view in views]
        in_groups = set[object]()
        for of_way in groups:
            in_groups.update(*of_way.values())
        units = run.units[run.units.index.isin(in_groups)]
        if units.empty:
            return no_rows(caption)
    else:
        query = which or ""
        query, caption = named_groups(run).get(query, (query, query or say("All units")))
        units = run.queried(query)
    units = units.head(n or len(units))
    if not views:
        shown = table(units, caption=caption)
        return replace(shown, frame=units)
    ids = views[0].ids(run, units)
    carried = units.loc[ids.index[:MOST]]
    ways = []
    for view, members in zip(views, groups):
        order = view.ids(run, carried).index
        cards = view.cards(run, carried.loc[order])
        ways.append(Marked(cards, members, view.marks))
    shown = samples(
        ways,
        views[0].layout,
        caption=caption,
        total=len(ids),
        share=share,
    )
    return replace(shown, frame=units)


def different_units(
    run: Run,
    other: Run,
    metric: str,
) -> pd.DataFrame:
    """The units whose value of a metric differs between two runs; `Run.diff` says more."""
    unit = run.suite.unit
    changes = unit_changes(
        {"": run.data},
        {"": other.data},
        run.metrics,
        unit,
        run.metric(metric).name,
    )
    differences = differing(changes)
    ids = differences[unit]
    units = run.units.drop_duplicates(unit)
    units = units.set_index(unit).reindex(ids)
    others = other.units.drop_duplicates(unit)
    others = others.set_index(unit).reindex(ids)
    for column in units.columns.intersection(others.columns):
        mine, theirs = units[column], others[column]
        if pd.api.types.is_numeric_dtype(mine):
            continue
        differences[column] = mine.tolist()
        if not mine.astype(str).equals(theirs.astype(str)):
            differences[f"{column} (other)"] = theirs.tolist()
    return differences


# --- two conditions


def browse_differences(
    study: Study,
    metric: str,
    candidate: str,
    share: int,
) -> HtmlTable:
    """A browser of the units whose value of a metric differs, the largest influence on the difference first.

    Each unit has the gold, and what the runs of the baseline and those of the candidate made of it, with how many of
    the seeds say so. A table where the suite has no cards. `frame`: a row a unit. `share`: how many browsers share the
    room of the page.
    """
    about = study.metric(metric)
    title = titled(about.shown_title, about.better)
    caption = f"{title}, {study.baseline} → {candidate}"
    changed, groups = _changed(study, metric, candidate)
    if changed.empty:
        return no_rows(say("{metric}: samples that differ", metric=caption))
    views = sample_views(study)
    units = differing(study.changes(metric, candidate))
    if not views:
        return replace(table(units, caption=caption), frame=units)
    sides = _sides(study, candidate)
    carried = changed.head(MOST)
    ways = []
    for view in views:
        cards = _compared_cards(
            view,
            carried,
            sides,
            about.better,
        )
        ways.append(Marked(cards, groups, view.marks))
    layout = _compared_layout(views[0], sides)
    shown = samples(
        ways,
        layout,
        caption=caption,
        total=len(changed),
        share=share,
    )
    return replace(shown, frame=units)


def change_sizes(
    study: Study,
    metric: str,
    candidate: str,
) -> dict[str, int]:
    """Label of each group of `browse_differences` -> how many cards it has there (units, without cards)."""
    _, groups = _changed(study, metric, candidate)
    return {label: len(members) for label, members in groups.items()}


def _changed(
    study: Study,
    metric: str,
    candidate: str,
) -> tuple[pd.DataFrame, Members]:
    """The changes that are browsed (`stats.unit_changes`), by the id of their card; label -> the cards of a group.

    Where cards are parts of the units that differ, the label says what they are.
    """
    changed = differing(study.changes(metric, candidate))
    of_parts = ""
    for view in sample_views(study)[:1]:
        unit = study.suite.unit
        sides = _sides(study, candidate)
        changed = _by_card(view, changed, unit, sides)
        part = view.layout.id
        if part != unit:
            plural = say(part + "s")
            of_parts = f" ({plural})"
    groups = {}
    for change, sign in CHANGES.items():
        label = say(
            "{group} under {candidate}",
            group=say(change),
            candidate=candidate,
        )
        is_member = changed["change"] * sign > 0
        groups[f"{label}{of_parts}"] = changed.index[is_member]
    return changed, groups


def _sides(study: Study, candidate: str) -> Sides:
    """The runs of baseline and candidate: those of common seeds, all where there are none."""
    names = (study.baseline, candidate)
    of_seeds = [study.conditions[name] for name in names]
    common = set.intersection(*map(set, of_seeds))
    sides = {}
    for name, runs in zip(names, of_seeds):
        paired = [run for seed, run in runs.items() if seed in common]
        sides[name] = paired or list(runs.values())
    return sides


def _units_with_cards(
    view: SampleView,
    run: Run,
    names: pd.Series,
) -> tuple[pd.DataFrame, pd.Series]:
    """The rows of the units of these names that have a card, and the ids of their cards."""
    is_named = run.units[run.suite.unit].isin(names)
    units = run.units[is_named]
    ids = view.ids(run, units)
    return units.loc[ids.index], ids


def _by_card(
    view: SampleView,
    changed: pd.DataFrame,
    unit: str,
    sides: Sides,
) -> pd.DataFrame:
    """The rows of `changed` for each card of the units that differ, in their order, by the id of the card."""
    cards = []
    for run in chain.from_iterable(sides.values()):
        units, ids = _units_with_cards(view, run, changed[unit])
        cards.append(units[[unit]].assign(card=ids))
    each_once = pd.concat(cards).drop_duplicates("card")
    return changed.merge(each_once, on=unit).set_index("card")


def _compared_layout(view: SampleView, sides: Sides) -> Layout:
    """As the suite lays its cards out, with a column for each condition."""
    layout = view.layout
    texts = {}
    for column, header in layout.texts.items():
        if column not in view.compared:
            texts[column] = header
    columns = {name: layout.columns[name] for name in view.given}
    for condition, runs in sides.items():
        columns[condition] = condition
        if len(runs) > 1:
            columns[condition] = say(
                "{condition}, {n} seeds",
                condition=condition,
                n=len(runs),
            )
    return replace(
        layout,
        texts=texts,
        columns=columns,
        fields={},
        page=min(PAGE, layout.page),
    )


def _compared_cards(
    view: SampleView,
    changed: pd.DataFrame,
    sides: Sides,
    better: str,
) -> pd.DataFrame:
    """The cards of units that differ, with a column for each condition in their rows."""
    cards_of: dict[str, list[pd.DataFrame]] = {}
    for condition, runs in sides.items():
        frames = []
        for run in runs:
            names = changed[run.suite.unit]
            units, ids = _units_with_cards(view, run, names)
            of_run = view.cards(run, units)
            frames.append(of_run.set_index(ids.to_numpy()))
        cards_of[condition] = frames
    cards = pd.concat(chain.from_iterable(cards_of.values()))
    is_first = ~cards.index.duplicated()
    cards = cards[is_first].loc[changed.index]
    cards["tags"] = _change_tags(changed, better)
    joined = []
    for id in changed.index:
        of_id = {}
        for condition, frames in cards_of.items():
            of_id[condition] = [frame.loc[id] for frame in frames if id in frame.index]
        joined.append(_joined_rows(view, of_id))
    cards["rows"] = joined
    if "places" in cards:
        cards["places"] = [_common_places(places) for places in cards["places"]]
    return cards


def _common_places(places: Sequence[Any]) -> list[Any]:
    """Where the terms stand in a text, which is common to all runs: without the marks of one."""
    common = []
    for place in places:
        if not place[4]:
            common.append((*place[:3], "", 0, ""))
    return common


def _change_tags(changed: pd.DataFrame, better: str) -> list[list[Tag]]:
    """The value of each unit under both conditions; right or wrong where the metric has a better direction."""
    kinds = {"higher": ("good", "bad"), "lower": ("bad", "good")}
    rising, falling = kinds.get(better, ("", ""))
    tags = []
    for before, after in zip(changed["baseline"], changed["candidate"]):
        text = f"{before:.2f} → {after:.2f}"
        kind = rising if after > before else falling
        tags.append([Tag(text, kind)])
    return tags


def _joined_rows(
    view: SampleView,
    cards: Mapping[str, Sequence[pd.Series]],
) -> list[Row]:
    """The rows of a card in all runs, joined by what they are about: a cell for each condition beside what is given.

    `cards`: condition -> the card as each of its runs has it.
    """
    joined: dict[tuple[str, str], Row] = {}
    for condition, of_runs in cards.items():
        lines: dict[tuple[str, str], Counter[Line]] = {}
        for card in of_runs:
            for row in _rows_of_card(card, view):
                about = (row.label, row.part)
                joined.setdefault(about, Row(row.label, {}, row.part))
                for name in view.given:
                    joined[about].cells[name] = row.cells.get(name, [])
                each_once = dict.fromkeys(row.cells.get(view.cell, ()))
                lines.setdefault(about, Counter()).update(each_once.keys())
        for about, counts in lines.items():
            joined[about].cells[condition] = _counted(counts, len(of_runs))
        if joined and not of_runs:
            first = next(iter(joined.values()))
            first.cells[condition] = [Line(say("(not in this run)"))]
    return list(joined.values())


def _rows_of_card(card: pd.Series, view: SampleView) -> list[Row]:
    """The rows of a card that say something of what is compared, below a row for each text that the run wrote."""
    rows = []
    for column in view.compared:
        label = say(view.layout.texts[column])
        written = Line(text_of(card[column]))
        rows.append(Row(label, {view.cell: [written]}))
    columns = (view.cell, *view.given)
    for row in card["rows"]:
        if any(row.cells.get(name) for name in columns):
            rows.append(row)
    return rows


def _counted(lines: Counter[Line], n_seeds: int) -> list[Line]:
    """What the seeds of a condition say in a cell, each once, with how many of them say so."""
    if n_seeds == 1:
        return list(lines)
    counted = []
    for line, n in lines.items():
        note = f"{line.note} {n}/{n_seeds}".strip()
        counted.append(replace(line, note=note))
    return counted
