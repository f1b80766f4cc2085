"""The samples behind the numbers: the units of a run in its suite's groups, and the units that carry a difference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ..core.language import say
from ..stats.effects import differing, unit_values
from .samples import MOST, Layout, Line, Row, SampleView, samples
from .tables import HtmlTable, no_rows
from .text import number, plain, text_of, titled

if TYPE_CHECKING:
    from .run import Run
    from .study import Study

# label of a group of units that differ -> the sign of their change
CHANGES = {"Higher": 1, "Lower": -1, "Both ways": 0}

# columns of units that hold their text, the first of them that is there
TEXTS = ("text", "input", "question", "prompt", "answer", "output")


def sample_view(shown: Run | Study) -> SampleView:
    """How the suite shows its samples; one that names no view of its own has a card a sample with text and values."""
    if shown.suite.sample_view is not None:
        return shown.suite.sample_view(shown)
    texts = [column for column in TEXTS if column in shown.results[0].units][:1]
    layout = Layout(
        id=shown.suite.unit,
        texts=dict.fromkeys(texts, ""),
        head="Metric",
        columns={"value": "value"},
    )
    return SampleView(
        lambda run: {},
        _plain_ids,
        partial(_plain_cards, texts=texts),
        layout,
        cell="value",
    )


def _plain_ids(
    run: Run,
    units: pd.DataFrame,
) -> pd.Series:
    """Each unit once, the lowest value of the primary metric first."""
    ids = units[run.suite.unit].drop_duplicates()
    if run.primary:
        values = ids.map(run.unit_values(run.primary))
        is_best_first = run.metric(run.primary).better == "lower"
        ids = ids.loc[values.sort_values(ascending=not is_best_first, kind="stable").index]
    return ids.astype(str)


def _plain_cards(
    run: Run,
    units: pd.DataFrame,
    texts: Sequence[str],
) -> pd.DataFrame:
    """Units as cards: the unit, its text, and a row a metric of the headline; of a cluster those of all its samples."""
    unit, data = run.suite.unit, run.data
    sample = "item" if "item" in data else unit
    if sample != unit:
        data = data.drop(columns=unit).rename(columns={sample: unit})
    values = {run.title(name): unit_values(data, run.metrics, unit, name) for name in run.headline}
    of_units = run.units[run.units[unit].isin(units[unit])].drop_duplicates([unit, sample])
    rows: dict[str, list[Row]] = {name: [] for name in units[unit]}
    for name, item in zip(of_units[unit], of_units[sample]):
        part = "" if sample == unit else str(item)
        for title, column in values.items():
            rows[name].append(Row(title, {"value": [Line(plain(column[item]))]}, part))
    cards = units.astype({unit: str}).assign(rows=list(rows.values()))
    if sample != unit:
        for column in texts:
            lines = of_units[sample].astype(str) + ": " + of_units[column].map(text_of)
            cards[column] = units[unit].map(lines.groupby(of_units[unit]).agg("\n".join))
    return cards


# --- one run


def groups_of_run(run: Run) -> dict[str, pd.Index]:
    """Label of a group of the suite -> the rows of its units."""
    groups = {}
    for query, caption in sample_view(run).groups(run).values():
        groups[say(caption).partition(":")[0]] = run.queried(query).index
    return groups


def samples_of_run(
    run: Run,
    which: str | None = None,
    n: int | None = None,
    caption: str = "",
) -> HtmlTable:
    """The browser of `Run.samples`."""
    view = sample_view(run)
    groups: dict[str, pd.Index] = {}
    if which is None:
        caption = caption or say("Samples")
        groups = groups_of_run(run)
        units = run.units
        if groups:
            in_groups = set[object]().union(*groups.values())
            units = units[units.index.isin(in_groups)]
    else:
        query, of_group = view.groups(run).get(which, (which, which or say("All units")))
        caption = caption or of_group
        units = run.queried(query)
    units = units[:n]
    if units.empty:
        return HtmlTable(no_rows(caption).html, units)
    ids = view.ids(run, units)
    cards = view.cards(run, units.loc[ids.index[:MOST]])
    return samples(
        cards,
        view.layout,
        groups,
        caption,
        units,
        len(ids),
    )


# --- two conditions


def changed_units(
    study: Study,
    metric: str,
    candidate: str,
) -> pd.DataFrame:
    """The units that carry a difference (`stats.unit_changes`), with the `sign` of their change.

    A unit with a value on one side only changes as it moves the whole.
    """
    changed = differing(study.changes(metric, candidate))
    change = changed["change"].fillna(changed["influence"]).fillna(0)
    return changed.assign(sign=np.sign(change).astype(int))


def groups_of_change(
    changed: pd.DataFrame,
    candidate: str,
) -> dict[str, pd.Index]:
    """Label of each group of units that changed, or of their cards -> its rows."""
    groups = {}
    for change, sign in CHANGES.items():
        label = say("{group} under {candidate}", group=say(change), candidate=candidate)
        groups[label] = changed.index[changed["sign"] == sign]
    return groups


def samples_that_differ(
    study: Study,
    metric: str,
    candidate: str,
) -> HtmlTable:
    """The browser of `Study.samples` for one candidate.

    Each unit has the gold, and what the runs of the baseline and those of the candidate made of it, with how many of
    the seeds say so. Its tag is its value on both sides.
    """
    unit = study.suite.unit
    view = sample_view(study)
    title = titled(study.metric(metric).shown_title, study.metric(metric).better)
    caption = f"{title}, {study.baseline} → {candidate}"
    changed = changed_units(study, metric, candidate)
    frame = changed.drop(columns="sign")
    if changed.empty:
        nothing = no_rows(say("{metric}: samples that differ", metric=caption))
        return HtmlTable(nothing.html, frame)
    columns = {name: view.layout.columns[name] for name in view.given}
    of_runs = []
    for condition in (study.baseline, candidate):
        columns[condition] = condition
        for run in study.conditions[condition].values():
            ids = view.ids(run, run.units[run.units[unit].isin(changed[unit].head(MOST))])
            made = view.cards(run, run.units.loc[ids.index])
            of_runs.append(made.assign(card=ids, condition=condition, unit=run.units[unit]))
    every = pd.concat(of_runs)
    each_once = every.drop_duplicates("card")
    cards = changed.rename(columns={unit: "unit"}).merge(each_once, on="unit").set_index("card")
    cards["rows"] = pd.Series({id: _joined_rows(view, of) for id, of in every.groupby("card")})
    tags = []
    for before, after in zip(cards["baseline"], cards["candidate"]):
        tags.append([Line(f"{number(before, 2)} → {number(after, 2)}")])
    if "places" in cards:
        # terms stand in a text that is common to all runs: without the marks of one
        plain_places = []
        for places in cards["places"]:
            plain_places.append([(*place[:3], "", 0, "") for place in places if not place[4]])
        cards["places"] = plain_places
    texts = {name: head for name, head in view.layout.texts.items() if name not in view.compared}
    layout = replace(
        view.layout,
        texts=texts,
        columns=columns,
        fields={},
    )
    groups = groups_of_change(cards, candidate)
    return samples(
        cards.assign(tags=tags),
        layout,
        groups,
        caption,
        frame,
    )


def _joined_rows(
    view: SampleView,
    cards: pd.DataFrame,
) -> list[Row]:
    """The rows of a card in all runs, joined by what they are about: a cell for each condition beside what is given.

    A text that the runs wrote is a row too. What several seeds of a condition say stands there once, with how many of
    them say so.
    """
    joined: dict[tuple[str, str], Row] = {}
    for card in cards.to_dict("records"):
        written = [
            Row(say(view.layout.texts[column]), {view.cell: [Line(text_of(card[column]))]})
            for column in view.compared
        ]
        for row in [*written, *card["rows"]]:
            lines = row.cells.get(view.cell, [])
            values = {name: row.cells.get(name, []) for name in view.given}
            if lines or any(values.values()):
                about = row.label, row.part
                cells = joined.setdefault(about, Row(row.label, values, row.part)).cells
                cell = cells.setdefault(card["condition"], [])
                cell += dict.fromkeys(lines)
    for condition, of in cards["condition"].value_counts().items():
        for row in joined.values():
            counts = Counter(row.cells.get(condition, []))
            if of > 1:
                row.cells[condition] = [
                    replace(line, note=f"{line.note} {n}/{of}".strip())
                    for line, n in counts.items()
                ]
    return list(joined.values())
