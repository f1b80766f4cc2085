"""The samples behind the numbers: a card each, in the groups of its suite, or those that carry a difference.

A suite says how its samples are browsed (`SampleView`): what of a sample stands on its card, and what is marked there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from markupsafe import Markup

from ..core.files import dumps
from ..core.language import say
from ..stats.effects import differing, unit_changes, unit_values
from ..stats.influence import label
from .page import macros
from .tables import HtmlTable, no_rows
from .text import anchor, number, plain, text_of, titled

if TYPE_CHECKING:
    from .run import Run
    from .study import Study

# label of a group of units that differ -> the sign of their change
CHANGES = {"Higher": 1, "Lower": -1, "Both ways": 0}

# columns of units that hold their text, the first of them that is there
TEXTS = ("text", "input", "question", "prompt", "answer", "output")

# characters of one text that a card holds
CLIP = 4_000

# bytes that the cards of one browser take at the most, and how many are made
CARRIED, MOST = 4_000_000, 5_000

# a mark -> the sign before what it marks
SIGNS = {"good": "✓", "bad": "✗", "missing": "−", "look": "?"}


@dataclass(frozen=True)
class Line:
    """One thing that a cell of a card, or its head, says.

    `mark`: one of SIGNS; "" for what is neither right nor wrong. `note` stands behind it, in grey.
    """

    text: str
    mark: str = ""
    note: str = ""


@dataclass(frozen=True)
class Row:
    """A row of a card: what it is about, and what each column says of it.

    `cells`: column of `SampleView.columns` -> its lines. `part`: the end of the label, which is marked in the text too.
    `mark`: one of SIGNS, how the row fares.
    """

    label: str
    cells: dict[str, list[Line]]
    part: str = ""
    mark: str = ""


class Place(NamedTuple):
    """A place in a text: its column, start and end.

    `mark`: one of SIGNS, or "". Places of one number in two texts are linked; those of number 0 are marked only.
    """

    column: str
    start: int
    end: int
    mark: str
    number: int = 0
    tooltip: str = ""


@dataclass(frozen=True)
class SampleView:
    """How a suite browses its units.

    `groups(run)`: name -> (query on the units, caption); the part of a caption before a colon is the label of its
    group. `order(run, units)`: those of the units that have a card, in the order to be read. `card(unit)`: what the
    card of such a row, as a dict, has besides its columns.

    What stands where on a card; a column that there is not is left out. `id`: the column that names the sample.
    `texts`: column of a text -> its header. `head`: what the rows are about. `columns`: name of a cell of the rows ->
    header of its column. `fields`: columns of texts below all else -> the header under which they are folded ("":
    open). `legend`: what the marks mean. Besides these a card shows the columns `tags` (a list of `Line`), `rows` (of
    `Row`) and `places` (of `Place`).

    A study shows side by side what its runs made of a sample: `cell`, that column of the rows, and `compared`, texts of
    the cards; `given` are the columns of the rows that are the same for all runs.
    """

    groups: Callable[[Any], Mapping[str, tuple[str, str]]]
    order: Callable[[Any, pd.DataFrame], pd.DataFrame]
    card: Callable[[Mapping[Any, Any]], Mapping[str, Any]]
    id: str
    texts: Mapping[str, str] = field(default_factory=dict)
    head: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    fields: Mapping[str, str] = field(default_factory=dict)
    legend: str = ""
    cell: str = ""
    given: tuple[str, ...] = ()
    compared: tuple[str, ...] = ()


def samples(
    cards: pd.DataFrame,
    view: SampleView,
    groups: Mapping[str, pd.Index],
    caption: str,
    frame: pd.DataFrame,
    total: int | None = None,
) -> HtmlTable:
    """A browser of samples: a card each, with its text, and rows that hold what was expected beside what came out.

    `cards`: a card a row, in the order to be read, laid out as the view says. `groups`: label -> the rows of a
    group; a link to `anchor("group", label)` opens the browser on it. All cards stand in the page, up to CARRIED bytes;
    a line counts the samples beyond, of which there are `total` with those of the cards. `frame`: the units behind them.

    >>> frame = pd.DataFrame({"text_id": ["a", "b"], "text": ["One sentence.", "Another."]})
    >>> view = SampleView(dict, lambda run, units: units, dict, "text_id", {"text": ""})
    >>> "One sentence." in samples(frame, view, {}, "Samples", frame).html
    True
    """
    pieces: list[str] = []
    room = CARRIED
    for card in cards.to_dict("records"):
        places = card.get("places") or ()
        texts = {column: plain(card[column]) for column in view.texts if column in card}
        pieces_of = {column: placed(text, column, places) for column, text in texts.items()}
        piece = macros().sample(
            anchor("sample", card[view.id]),
            card,
            view,
            SIGNS,
            CLIP,
            texts,
            pieces_of,
        )
        room -= len(piece.encode())
        if room < 0 and pieces:
            break
        pieces.append(piece)
    carried = cards.index[: len(pieces)]
    numbers = [list(range(len(pieces)))]
    buttons = []
    for name, members in groups.items():
        if len(members):
            numbers.append(carried.isin(members).nonzero()[0].tolist())
            buttons.append((name, anchor("group", name), len(members)))
    html = macros().samples(
        pieces,
        len(cards) if total is None else total,
        say(caption),
        view.legend,
        buttons,
        Markup(dumps(numbers)),  # numbers only
    )
    return HtmlTable(html, frame)


def placed(
    text: str,
    column: str,
    places: Sequence[Place],
) -> list[str | Place]:
    """The text of a column of a card as pieces: texts, and what has a place in it.

    Of places that overlap the first one counts, and none beyond CLIP.
    """
    pieces: list[str | Place] = []
    written = 0
    for place in sorted(places, key=lambda place: place.start):
        if place.column == column and written <= place.start and place.end <= CLIP:
            pieces += [text[written : place.start], place]
            written = place.end
    return [*pieces, text[written:CLIP]]


# --- how a suite without a view of its own shows its samples


def sample_view(shown: Run | Study) -> SampleView:
    """How the suite shows its samples; one that names no view of its own has a card a sample with text and values."""
    if shown.suite.sample_view is not None:
        return shown.suite.sample_view(shown)
    units = shown.results[0].units
    unit, sample = shown.suite.unit, "item" if "item" in units else shown.suite.unit
    titles = {f"{name}: value": shown.title(name) for name in shown.headline}

    def order(run: Run, units: pd.DataFrame) -> pd.DataFrame:
        """Each sample once, with its values, the lowest value of the primary metric first."""
        data = _by_sample(run.data, unit)
        units = units.drop_duplicates(sample)
        for column, name in zip(titles, shown.headline):
            values = unit_values(data, run.metrics, unit, name)
            units = units.assign(**{column: units[sample].map(values)})
        if not shown.primary:
            return units
        is_best_first = run.metric(shown.primary).better == "lower"
        return units.sort_values(
            f"{shown.primary}: value",
            ascending=not is_best_first,
            kind="stable",
        )

    def card(row: Mapping[Any, Any]) -> dict[str, Any]:
        values = [
            Row(title, {"value": [Line(plain(row[column]))]}) for column, title in titles.items()
        ]
        return {"rows": values, "tags": [Line(str(row[unit]))] if sample != unit else []}

    return SampleView(
        lambda run: {},
        order,
        card,
        id=sample,
        texts=dict.fromkeys([column for column in TEXTS if column in units][:1], ""),
        head="Metric",
        columns={"value": "value"},
        cell="value",
    )


def _by_sample(units: pd.DataFrame, unit: str) -> pd.DataFrame:
    """Units of which each is a sample of its own, where they are clusters of samples."""
    own = units.get("item", units[unit])
    return units.assign(**{unit: own}).drop(columns="item", errors="ignore")


def _cards(view: SampleView, units: pd.DataFrame) -> pd.DataFrame:
    """A frame of the cards of units, in their order and with their index."""
    cards = [{**unit, **view.card(unit)} for unit in units.to_dict("records")]
    return pd.DataFrame(cards, index=units.index)


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
            units = units[units.index.isin(set[object]().union(*groups.values()))]
    else:
        query, of_group = view.groups(run).get(which, (which, which or say("All units")))
        caption = caption or of_group
        units = run.queried(query)
    units = units[:n]
    if units.empty:
        return no_rows(caption, units)
    ordered = view.order(run, units)
    return samples(
        _cards(view, ordered[:MOST]),
        view,
        groups,
        caption,
        units,
        len(ordered),
    )


# --- two conditions


def changed_units(
    study: Study,
    metric: str,
    candidate: str,
) -> pd.DataFrame:
    """The samples that carry a difference (`stats.unit_changes`), with the `sign` of their change.

    One with a value on one side only changes as it moves the whole.
    """
    unit = study.suite.unit
    sides = [
        (name, {seed: _by_sample(data, unit) for seed, data in study.frames(name).items()})
        for name in (study.baseline, candidate)
    ]
    labelled = label(sides, study.metrics, unit)
    changes = unit_changes(labelled, study.metric(metric).name)
    changed = differing(changes)
    change = changed["change"].fillna(changed["influence"]).fillna(0)
    return changed.assign(sign=np.sign(change).astype(int))


def groups_of_change(
    changed: pd.DataFrame,
    candidate: str,
) -> dict[str, pd.Index]:
    """Label of each group of units that changed, or of their cards -> its rows."""
    groups = {}
    for change, sign in CHANGES.items():
        name = say("{group} under {candidate}", group=say(change), candidate=candidate)
        groups[name] = changed.index[changed["sign"] == sign]
    return groups


def samples_that_differ(
    study: Study,
    metric: str,
    candidate: str,
) -> HtmlTable:
    """The browser of `Study.samples` for one candidate.

    Each sample has the gold, and what the runs of the baseline and those of the candidate made of it, with how many of
    the seeds say so. Its tag is its value on both sides.
    """
    unit = study.suite.unit
    view = sample_view(study)
    title = titled(study.metric(metric).shown_title, study.metric(metric).better)
    caption = f"{title}, {study.baseline} → {candidate}"
    changed = changed_units(study, metric, candidate)
    frame = changed.drop(columns="sign")
    if changed.empty:
        return no_rows(say("{metric}: samples that differ", metric=caption), frame)
    columns = {name: view.columns[name] for name in view.given}
    of_runs = []
    for condition in (study.baseline, candidate):
        columns[condition] = condition
        for run in study.conditions[condition].values():
            own = run.units.get("item", run.units[unit])
            made = _cards(view, view.order(run, run.units[own.isin(changed[unit].head(MOST))]))
            of_runs.append(_by_sample(made.assign(condition=condition, card=made[view.id]), unit))
    every = pd.concat(of_runs)
    cards = changed.merge(every.drop_duplicates("card"), on=unit)
    cards = cards.assign(**{view.id: cards["card"]}).set_index("card")
    cards["rows"] = pd.Series({id: _joined_rows(view, of) for id, of in every.groupby("card")})
    tags = []
    for before, after in zip(cards["baseline"], cards["candidate"]):
        tags.append([Line(f"{number(before, 2)} → {number(after, 2)}")])
    if "places" in cards:
        # terms stand in a text that is common to all runs: without the marks of one
        cards["places"] = [
            [place._replace(mark="", tooltip="") for place in places if not place.number]
            for places in cards["places"]
        ]
    texts = {name: head for name, head in view.texts.items() if name not in view.compared}
    return samples(
        cards.assign(tags=tags),
        replace(
            view,
            texts=texts,
            columns=columns,
            fields={},
        ),
        groups_of_change(cards, candidate),
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
            Row(say(view.texts[column]), {view.cell: [Line(text_of(card[column]))]})
            for column in view.compared
        ]
        for row in [*written, *card["rows"]]:
            lines = row.cells.get(view.cell, [])
            values = {name: row.cells.get(name, []) for name in view.given}
            if lines or any(values.values()):
                about = row.label, row.part
                cells = joined.setdefault(about, Row(row.label, values, row.part)).cells
                cells.setdefault(card["condition"], []).extend(dict.fromkeys(lines))
    n_runs = cards["condition"].value_counts()
    for condition, of in n_runs[n_runs > 1].items():
        for row in joined.values():
            row.cells[condition] = [
                replace(line, note=f"{line.note} {n}/{of}".strip())
                for line, n in Counter(row.cells.get(condition)).items()
            ]
    return list(joined.values())
