"""The samples behind the numbers: the units of a run in its suite's groups, and the units that carry a difference."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..core.language import say
from ..stats.unit_changes import differing
from .markdown import number, text_of, titled
from .samples import MOST, Layout, Line, Row, SampleView, of_suite, samples
from .tables import HtmlTable, no_rows, table

if TYPE_CHECKING:
    from .run import Run
    from .study import Study

CHANGES = {"Higher": 1, "Lower": -1}
"""Label of a group of units that differ -> the sign of their change."""

PAGE = 3
"""Cards of units that differ that are shown at a time."""


# --- one run


def named_groups(run: Run) -> Mapping[str, tuple[str, str]]:
    """Group of units -> (query, caption); {} for a suite without views."""
    view: SampleView | None = of_suite("sample_view", run)
    return view.groups(run) if view else {}


def groups_of_run(run: Run) -> dict[str, pd.Index]:
    """Label of a group -> the rows of its units; {} for a suite without views."""
    groups = {}
    for query, caption in named_groups(run).values():
        label = caption.partition(":")[0]
        groups[label] = run.queried(query).index
    return groups


def browse(
    run: Run,
    which: str | None = None,
    n: int | None = None,
    share: int = 1,
) -> HtmlTable:
    """A browser of units: all groups of the suite, one of them ("broken"), or a query on `units`.

    A query is what pandas takes: "outcome_refpol == 'still'". `n`: at most so many units. `.frame` of what it
    gives holds the units. `share`: how many browsers share the room of the page. UsageError for a query that the
    units cannot answer.

    >>> import evaltools as et
    >>> run = et.evaluate("cr", "example:cr/with_memory__seed1_proposed")
    >>> len(run.samples("has_gold and n_gold_tuples > 1", n=5).frame)
    5
    """
    view: SampleView | None = of_suite("sample_view", run)
    groups: dict[str, pd.Index] = {}
    if which is None and view:
        caption = "Samples"
        groups = groups_of_run(run)
        in_groups = set[object]().union(*groups.values())
        units = run.units[run.units.index.isin(in_groups)]
        if units.empty:
            return replace(no_rows(caption), frame=units)
    else:
        query = which or ""
        query, caption = named_groups(run).get(query, (query, query or say("All units")))
        units = run.queried(query)
    units = units.head(n or len(units))
    if view is None:
        shown = table(units, caption=caption)
    else:
        ids = view.ids(run, units)
        carried = units.loc[ids.index[:MOST]]
        shown = samples(
            view.cards(run, carried),
            view.layout,
            groups,
            caption=caption,
            total=len(ids),
            share=share,
        )
    return replace(shown, frame=units)


# --- two conditions


def browse_differences(
    study: Study,
    metric: str,
    candidate: str,
    share: int,
) -> HtmlTable:
    """A browser of the units that carry the difference of a metric, the largest influence first.

    Each unit has the gold, and what the runs of the baseline and those of the candidate made of it, with how many of
    the seeds say so. A table where the suite has no cards. `frame`: a row a unit. `share`: how many browsers share the
    room of the page.
    """
    about = study.metric(metric)
    title = titled(about.shown_title, about.better)
    caption = f"{title}, {study.baseline} → {candidate}"
    units = differing(study.changes(metric, candidate))
    if units.empty:
        nothing = no_rows(say("{metric}: samples that differ", metric=caption))
        return replace(nothing, frame=units)
    view: SampleView | None = of_suite("sample_view", study)
    if view is None:
        return replace(table(units, caption=caption), frame=units)
    changed = _changed_cards(study, units, candidate)
    carried = changed.head(MOST)
    cards = _compared_cards(
        study,
        view,
        carried,
        candidate,
    )
    cards["tags"] = _change_tags(carried, about.better)
    shown = samples(
        cards,
        _compared_layout(study, view, candidate),
        _by_change(changed, candidate),
        caption=caption,
        total=len(changed),
        share=share,
    )
    return replace(shown, frame=units)


def groups_of_change(
    study: Study,
    metric: str,
    candidate: str,
) -> dict[str, pd.Index]:
    """Label of each group of `browse_differences` -> the ids of its cards (rows of units, without cards)."""
    units = differing(study.changes(metric, candidate))
    return _by_change(_changed_cards(study, units, candidate), candidate)


def _by_change(
    changed: pd.DataFrame,
    candidate: str,
) -> dict[str, pd.Index]:
    groups = {}
    direction = _direction(changed)
    for change, sign in CHANGES.items():
        label = say(
            "{group} under {candidate}",
            group=say(change),
            candidate=candidate,
        )
        groups[label] = changed.index[direction * sign > 0]
    return groups


def _direction(changed: pd.DataFrame) -> pd.Series:
    """How each unit changes; one with a value on one side only changes as it moves the whole."""
    return changed["change"].fillna(changed["influence"])


def _card_ids(
    study: Study,
    changed: pd.DataFrame,
    candidate: str,
) -> Iterator[tuple[str, Run, pd.Series]]:
    """Condition, run and the ids of its cards of the units that differ."""
    view: SampleView = of_suite("sample_view", study)
    unit = study.suite.unit
    for name in (study.baseline, candidate):
        for run in study.conditions[name].values():
            units = run.units
            yield name, run, view.ids(run, units[units[unit].isin(changed[unit])])


def _changed_cards(
    study: Study,
    changed: pd.DataFrame,
    candidate: str,
) -> pd.DataFrame:
    """What differs (`stats.unit_changes`), a row a card, by its id, where the suite has cards."""
    if of_suite("sample_view", study) is None:
        return changed
    unit = study.suite.unit
    cards = []
    for _, run, ids in _card_ids(study, changed, candidate):
        cards.append(run.units.loc[ids.index, [unit]].assign(card=ids))
    each_once = pd.concat(cards).drop_duplicates("card")
    return changed.merge(each_once, on=unit).set_index("card")


def _compared_cards(
    study: Study,
    view: SampleView,
    changed: pd.DataFrame,
    candidate: str,
) -> pd.DataFrame:
    """The cards of units that differ, with a column for each condition in their rows."""
    parts = []
    for condition, run, ids in _card_ids(study, changed, candidate):
        cards = view.cards(run, run.units.loc[ids.index])
        parts.append(cards.assign(id=ids, condition=condition))
    of_all_runs = pd.concat(parts)
    compared = of_all_runs.drop_duplicates("id").set_index("id").loc[changed.index]
    rows = {id: _joined_rows(view, of_id) for id, of_id in of_all_runs.groupby("id")}
    compared["rows"] = pd.Series(rows)
    if "places" in compared:
        # terms stand in a text that is common to all runs: without the marks of one
        compared["places"] = [
            [(*place[:3], "", 0, "") for place in places if not place[4]]
            for places in compared["places"]
        ]
    return compared


def _compared_layout(
    study: Study,
    view: SampleView,
    candidate: str,
) -> Layout:
    """As the suite lays its cards out, with a column for each condition."""
    layout = view.layout
    columns = {name: layout.columns[name] for name in view.given}
    columns |= {name: name for name in (study.baseline, candidate)}
    texts = {name: text for name, text in layout.texts.items() if name not in view.compared}
    return replace(
        layout,
        texts=texts,
        columns=columns,
        fields={},
        page=min(PAGE, layout.page),
    )


def _joined_rows(
    view: SampleView,
    cards: pd.DataFrame,
) -> list[Row]:
    """The rows of a card in all runs, joined by what they are about: a cell for each condition beside what is given.

    What several seeds of a condition say stands there once, with how many of them say so.
    """
    joined: dict[tuple[str, str], Row] = {}
    for condition, of_runs in cards.groupby("condition", sort=False):
        counts: defaultdict[tuple[str, str], Counter[Line]] = defaultdict(Counter)
        for card in of_runs.to_dict("records"):
            for row in _rows_of_card(card, view):
                about = (row.label, row.part)
                given = {name: row.cells.get(name, []) for name in view.given}
                joined.setdefault(about, Row(row.label, given, row.part))
                each_once = dict.fromkeys(row.cells.get(view.cell, ()))
                counts[about].update(list(each_once))
        for about, lines in counts.items():
            cell = joined[about].cells[str(condition)] = []
            for line, n in lines.items():
                share = f"{n}/{len(of_runs)}" if len(of_runs) > 1 else ""
                note = f"{line.note} {share}".strip()
                cell.append(replace(line, note=note))
    return list(joined.values())


def _rows_of_card(
    card: Mapping[Any, Any],
    view: SampleView,
) -> list[Row]:
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


def _change_tags(
    changed: pd.DataFrame,
    better: str,
) -> list[list[Line]]:
    """The value of each unit under both conditions; right or wrong where the metric has a better direction."""
    kinds = {"higher": ("good", "bad"), "lower": ("bad", "good")}
    rising, falling = kinds.get(better, ("", ""))
    tags = []
    sides = changed["baseline"], changed["candidate"]
    for before, after, direction in zip(*sides, _direction(changed)):
        text = f"{number(before, 2)} → {number(after, 2)}"
        kind = ""
        if direction:
            kind = rising if direction > 0 else falling
        tags.append([Line(text, kind)])
    return tags
