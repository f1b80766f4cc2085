"""The units that carry a difference between two conditions, with what both made of each under every seed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..core.language import say
from ..stats.unit_changes import differing
from .markdown import text_of, titled
from .samples import Layout, Line, Row, Tag, samples
from .tables import HtmlTable, no_rows, table
from .view import SampleView, sample_views

if TYPE_CHECKING:
    from .run import Run
    from .study import Study

GROUPS = {"Higher": 1, "Lower": -1}
"""Label of a group of units -> the sign of their change."""

PAGE = 3
"""Cards shown at a time."""

Runs = dict[str, list["Run"]]
"""Baseline and candidate -> their runs that are compared."""


def differences(
    study: Study,
    metric: str,
    candidate: str,
    changes: pd.DataFrame,
    share: int = 1,
) -> HtmlTable:
    """A browser of the units whose value of a metric differs, the largest influence on the difference first.

    `changes`: as `stats.unit_changes` has them. Each unit has the gold, and what the runs of the baseline and those
    of the candidate made of it, with how many of the seeds say so. A table where the suite has no cards. `share`: how
    many browsers share the room of the page.
    """
    about = study.metric(metric)
    title = titled(about.shown_title, about.better)
    caption = f"{title}, {study.baseline} → {candidate}"
    changed, groups = _browsed(study, candidate, changes)
    if changed.empty:
        return no_rows(say("{metric}: samples that differ", metric=caption))
    views = sample_views(study)
    if not views:
        return table(changed.reset_index(), caption=caption)
    runs = compared_runs(study, candidate)
    ways = []
    for view in views:
        cards = partial(_compared_cards, view, changed, runs, about.better)
        ways.append(view.marked(changed.index.to_series(), cards, groups))
    layout = _layout(views[0], study.suite.unit, runs)
    return samples(ways, caption=caption, share=share, **layout)


def carrying(
    study: Study,
    candidate: str,
    changes: pd.DataFrame,
) -> dict[str, int]:
    """Label of each group of the browser of `differences` -> how many cards it has there (units, without cards)."""
    _, groups = _browsed(study, candidate, changes)
    return {label: len(members) for label, members in groups.items()}


def _browsed(
    study: Study,
    candidate: str,
    changes: pd.DataFrame,
) -> tuple[pd.DataFrame, dict[str, pd.Index]]:
    """The rows of `changes` that are browsed, by the id of their card; label -> the cards of a group.

    Where cards are parts of the units that differ, the label says what they are.
    """
    unit = study.suite.unit
    changed = differing(changes).set_index(unit)
    views = sample_views(study)
    of_parts = ""
    if views:
        view = views[0]
        changed = _changed_cards(view, changed, compared_runs(study, candidate))
        part = view.browser.get("id", unit)
        if part != unit:
            plural = say(part + "s")
            of_parts = f" ({plural})"
    groups = {}
    for group, sign in GROUPS.items():
        label = say(
            "{group} under {candidate}",
            group=say(group),
            candidate=candidate,
        )
        is_member = changed["change"] * sign > 0
        groups[f"{label}{of_parts}"] = changed.index[is_member]
    return changed, groups


def compared_runs(study: Study, candidate: str) -> Runs:
    """The runs of baseline and candidate: those of common seeds, all where there are none."""
    baseline_runs = study.conditions[study.baseline]
    candidate_runs = study.conditions[candidate]
    common = [seed for seed in baseline_runs if seed in candidate_runs]
    if not common:
        return {
            study.baseline: list(baseline_runs.values()),
            candidate: list(candidate_runs.values()),
        }
    return {
        study.baseline: [baseline_runs[seed] for seed in common],
        candidate: [candidate_runs[seed] for seed in common],
    }


def _layout(
    view: SampleView,
    unit: str,
    runs: Runs,
) -> dict[str, Any]:
    """The fields of `samples.Layout`: as the suite lays its cards out, with a column for each condition."""
    own = Layout(**{"id": unit, **view.browser})
    texts = {}
    for column, head in own.texts.items():
        if column not in view.compared:
            texts[column] = head
    columns = {name: own.columns[name] for name in view.given}
    for condition, of_condition in runs.items():
        n_seeds = len(of_condition)
        columns[condition] = condition
        if n_seeds > 1:
            columns[condition] = say("{condition}, {n} seeds", condition=condition, n=n_seeds)
    return {
        **view.browser,
        "id": own.id,
        "text": texts,
        "columns": columns,
        "fields": {},
        "page": min(PAGE, own.page),
    }


def _changed_cards(
    view: SampleView,
    changed: pd.DataFrame,
    runs: Runs,
) -> pd.DataFrame:
    """The rows of `changed` for each card of the units that differ, in their order: by the id of the card.

    The column `unit` names the unit, of which a card may show a part.
    """
    units: dict[Any, Any] = {}
    for run in chain.from_iterable(runs.values()):
        unit = run.suite.unit
        is_changed = run.units[unit].isin(changed.index)
        rows = run.units[is_changed]
        ids = view.ids(run, rows)
        names = rows.loc[ids.index, unit]
        for id, name in zip(ids, names):
            units.setdefault(id, name)
    of_cards = pd.Series(units, dtype=object)
    positions = changed.index.get_indexer(of_cards)
    order = positions.argsort(kind="stable")
    of_cards = of_cards.iloc[order]
    rows = changed.loc[of_cards]
    return rows.assign(unit=rows.index).set_index(of_cards.index)


def _compared_cards(
    view: SampleView,
    changed: pd.DataFrame,
    runs: Runs,
    better: str,
    ids: pd.Index,
) -> pd.DataFrame:
    """Some cards of units that differ, with a column for each condition in their rows."""
    changed = changed.loc[ids]
    cards_of_runs = {}
    for run in chain.from_iterable(runs.values()):
        is_changed = run.units[run.suite.unit].isin(changed["unit"])
        rows = run.units[is_changed]
        own_ids = view.ids(run, rows)
        cards = view.cards(run, rows.loc[own_ids.index])
        cards_of_runs[run.name] = cards.set_index(own_ids.to_numpy())
    cards = pd.concat(list(cards_of_runs.values()))
    is_first = ~cards.index.duplicated()
    cards = cards[is_first].loc[ids]
    cards["tags"] = _change_tags(changed, better)
    cards["rows"] = [_joined_rows(id, view, cards_of_runs, runs) for id in ids]
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
    id: Any,
    view: SampleView,
    cards_of_runs: dict[str, pd.DataFrame],
    runs: Runs,
) -> list[Row]:
    """The rows of a unit in all runs, joined by what they are about: a cell for each condition beside what is given."""
    joined: dict[tuple[str, str], Row] = {}
    for condition, of_condition in runs.items():
        counts: dict[tuple[str, str], Counter[Line]] = {}
        n_present = 0
        for run in of_condition:
            cards = cards_of_runs[run.name]
            if id not in cards.index:
                continue
            n_present += 1
            for row in _rows_of_card(cards.loc[id], view):
                about = (row.label, row.part)
                known = joined.setdefault(about, Row(row.label, {}, row.part))
                for name in view.given:
                    known.cells[name] = row.cells.get(name, [])
                lines = dict.fromkeys(row.cells.get(view.cell, ()))
                counted = counts.setdefault(about, Counter())
                counted.update(lines.keys())
        for about, counted in counts.items():
            joined[about].cells[condition] = _counted(counted, n_present)
        if not n_present and joined:
            first = next(iter(joined.values()))
            first.cells[condition] = [Line(say("(not in this run)"))]
    return list(joined.values())


def _rows_of_card(card: pd.Series, view: SampleView) -> list[Row]:
    """The rows of a card that say something of what is compared, below a row for each text that the run wrote."""
    rows = []
    texts = Layout(**view.browser).texts
    for column in view.compared:
        written = Line(text_of(card[column]))
        label = say(texts[column])
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
