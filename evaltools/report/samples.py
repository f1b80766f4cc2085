"""The samples behind the numbers: a card each, in the groups of its suite, or those that carry a difference.

A suite says how its samples are browsed (`SampleView`): what of a sample stands on its card, and what is marked there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from pandas import DataFrame

from ..core.files import Fields
from ..core.messages import say
from .page import macros
from .tables import HtmlTable, no_rows
from .text import CLIP, anchor, plain, whole

if TYPE_CHECKING:
    from .run import Run
    from .study import Study

# label of a group of units that differ -> the sign of their change
CHANGES = {"Higher": 1, "Lower": -1, "Differs by seed": 0}

# columns of units that hold their text, the first of them that is there
TEXTS = ("text", "input", "question", "prompt", "answer", "output")

# further columns of texts that a card has, as rows below the values
MOST_TEXTS = 8

# units that have a card in a page at the most
MOST = 2_000


class Line(NamedTuple):
    """One thing that a cell of a card, or its head, says.

    `mark`: "good", "bad", "missing" or "look"; "" for what is neither right nor wrong. `note` stands behind it, in grey.
    """

    text: str
    mark: str = ""
    note: str = ""


class Row(NamedTuple):
    """A row of a card: what it is about, and what each column says of it.

    `cells`: column of `SampleView.columns` -> its lines. `part`: the end of the label, which is marked in the text too.
    `mark`: how the row fares, as of a line.
    """

    label: str
    cells: Mapping[str, Sequence[Line]]
    part: str = ""
    mark: str = ""


class Place(NamedTuple):
    """A place in a text: its column, start and end.

    `mark`: as of a line. Places of one number in two texts are linked; those of number 0 are marked only.
    """

    column: str
    start: int
    end: int
    mark: str
    number: int = 0
    tooltip: str = ""


class SampleView(NamedTuple):
    """How a suite browses its units.

    `order(run, units)`: those of the units that have a card, in the order to be read, with their index. `card(unit)`:
    what the card of such a row, as a dict, has besides its columns. `groups`: name -> (query on the units, caption); the
    part of a caption before a colon is the label of its group.

    What stands where on a card; a column that there is not is left out. `id`: the column that names it.
    `texts`: column of a text -> its header. `head`: what the rows are about. `columns`: name of a cell of the rows ->
    header of its column. `fields`: columns of texts below all else -> the header under which they are folded ("":
    open). `legend`: what the marks mean. Besides these a card shows the columns `tags` (a list of `Line`), `rows` (of
    `Row`) and `places` (of `Place`).
    """

    order: Callable[[Any, DataFrame], DataFrame]
    card: Callable[[Fields], Fields]
    id: str
    groups: Mapping[str, tuple[str, str]] = {}
    texts: Mapping[str, str] = {}
    head: str = ""
    columns: Mapping[str, str] = {}
    fields: Mapping[str, str] = {}
    legend: str = ""


def samples(
    units: DataFrame,
    view: SampleView,
    groups: Mapping[str, pd.Index],
    caption: str,
    frame: DataFrame,
    within: str = "",
) -> HtmlTable:
    """A browser of samples: a card each, with its text, and rows that hold what was expected beside what came out.

    `units`: those that have a card, in the order to be read; units of one index are one sample, and their cards stand
    beside each other, alike ones once, with the condition and seed that each is `by`. `groups`: label -> the index of a
    group; a link to `anchor("group", label)` opens the browser on it. The cards of up to MOST units stand in the page,
    and a line counts the samples beyond. `frame`: the rows behind them. `within`: what tells links to this browser from
    those to another of the page.

    >>> frame = pd.DataFrame({"text_id": ["a", "b"], "text": ["One sentence.", "Another."]})
    >>> view = SampleView(lambda run, units: units, dict, "text_id", texts={"text": ""})
    >>> "One sentence." in samples(frame, view, {}, "Samples", frame).html
    True
    """
    groups = {group: members for group, members in groups.items() if len(members)}
    carried, cards = units.head(MOST), []
    by_sample = defaultdict(list)
    for index, unit in zip(carried.index, carried.to_dict("records")):
        by_sample[index, unit[view.id]].append(unit)
    for (index, sample), of_sample in by_sample.items():
        name = anchor("sample", within, sample)
        alike: dict[str, list[Any]] = {}
        for unit in of_sample:
            card = {**unit, **view.card(unit)}
            places = card.get("places") or ()
            piece = macros().sample(
                name,
                len(alike),
                card,
                view,
                {c: placed(plain(card[c]), c, places) for c in view.texts if c in card},
            )
            alike.setdefault(piece, []).append(card.get("by"))
        cards.append(
            (name, [n for n, members in enumerate(groups.values(), 1) if index in members], alike)
        )
    return HtmlTable(
        macros().samples(
            cards,
            carried.index.nunique(),
            units.index.nunique(),
            say(caption),
            view.legend,
            groups,
            within,
        ),
        frame,
    )


def placed(
    text: str,
    column: str,
    places: Sequence[Place],
) -> list[tuple[str, Place | None]]:
    """The text of a column of a card in pieces, each with the place that it is, if it is one.

    Of places that overlap the first one counts, and none beyond CLIP.
    """
    pieces = []
    end = 0
    for place in sorted(places, key=lambda place: place.start):
        if place.column == column and end <= place.start and place.end <= CLIP:
            pieces += [(text[end : place.start], None), (text[place.start : place.end], place)]
            end = place.end
    return [*pieces, (text[end:CLIP] if pieces else text, None)]


# --- how a suite without a view of its own shows its samples


def sample_view(shown: Run | Study) -> SampleView:
    """How the suite shows its samples; one that names no view of its own has a card a sample with its texts and values."""
    if shown.suite.sample_view:
        return shown.suite.sample_view(shown)
    units = shown.results[0].units
    unit = shown.suite.unit
    sample = "item" if "item" in units else unit
    rows = {f"{name}: value": shown.title(name) for name in shown.headline}
    lower = [metric.name for metric in shown.metrics if metric.better == "lower"]
    texts = [column for column in TEXTS if column in units][:1]
    if units[sample].is_unique:  # of a sample with trials they would be the first one's
        others = units.select_dtypes("str").columns.difference([unit, sample, *texts], sort=False)
        rows |= {name: name for name in others[units[others].nunique() > 1][:MOST_TEXTS]}

    def order(
        run: Run,
        units: DataFrame,
    ) -> DataFrame:
        """Each sample once, with its values, the worst value of the primary metric first."""
        values = DataFrame({f"{name}: value": run.unit_values(name) for name in shown.headline})
        units = units.drop_duplicates(sample).join(values, on=sample)
        return units.sort_values(
            list(values)[:1], ascending=shown.primary not in lower, kind="stable"
        )

    def card(row: Fields) -> Fields:
        return {
            "rows": [
                Row(title, {"value": [Line(whole(row.get(column)))]})
                for column, title in rows.items()
            ],
            "tags": [Line(str(row[unit]))] if sample != unit else [],
        }

    return SampleView(
        order,
        card,
        id=sample,
        texts=dict.fromkeys(texts, ""),
        head="Metric",
        columns={"value": "value"},
    )


# --- one run


def groups_of_run(run: Run) -> dict[str, pd.Index]:
    """Label of a group of the suite -> the rows of its units."""
    return {
        say(caption).partition(":")[0]: run.queried(query).index
        for query, caption in sample_view(run).groups.values()
    }


# --- two conditions


def groups_of_change(
    changed: DataFrame,
    candidate: str,
) -> dict[str, pd.Index]:
    """Label of each group of samples that changed -> their names."""
    signs = np.sign(changed["change"].fillna(changed["influence"]).fillna(0))
    return {
        say("{group} under {candidate}", group=say(change), candidate=candidate): pd.Index(
            changed[signs == sign].iloc[:, 0]
        )
        for change, sign in CHANGES.items()
    }


def samples_that_differ(
    study: Study,
    metric: str,
    candidate: str,
) -> HtmlTable:
    """The browser of `Study.samples` for one candidate.

    Of each sample the cards of the baseline's runs, then those of the candidate's.
    """
    view = sample_view(study)._replace(fields={})  # long beside one another; runs have them
    caption = f"{study.titled(metric)}, {study.baseline} → {candidate}"
    changed = study.changes(metric, candidate)
    if changed.empty:
        return no_rows(say("{metric}: samples that differ", metric=caption), changed)
    names, found = changed.iloc[:, 0], []
    for condition in (study.baseline, candidate):
        for seed, run in study.conditions[condition].items():
            own = run.sample_data[study.suite.unit]
            units = view.order(run, run.units[own.isin(names)])
            units = units.assign(by=[(condition, seed)] * len(units))
            found.append(units.set_axis(own.loc[units.index]))
    units = pd.concat(found)
    # a turn of a dialogue stands beside the same turn of the other side
    order = pd.factorize(units[view.id])[0], pd.Index(names).get_indexer(units.index)
    return samples(
        units.iloc[np.lexsort(order)],
        view,
        groups_of_change(changed, candidate),
        caption,
        changed,
        candidate if len(study.candidates) > 1 else "",
    )
