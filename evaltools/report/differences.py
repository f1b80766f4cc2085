"""The units that carry a difference between two conditions, with what both made of each under every seed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..core.estimates import is_null
from ..core.language import say
from ..stats.unit_changes import differing
from .markdown import titled
from .samples import Marked, samples
from .tables import HtmlTable, no_rows, table
from .view import SampleView, sample_views

if TYPE_CHECKING:
    from .run import Run
    from .study import Study

GROUPS = {"Higher": 1, "Lower": -1}
"""Label of a group of units -> the sign of their change."""

PAGE = 3
"""Cards shown at a time."""

Side = tuple[str, "Run | None"]
"""Header of a side, and the run that it shows; None where the condition has no run for it."""


def differences(
    study: Study,
    metric: str,
    candidate: str,
    changes: pd.DataFrame,
    share: int = 1,
) -> HtmlTable:
    """A browser of the units whose value of a metric differs, the largest influence on the difference first.

    `changes`: as `stats.unit_changes` has them. Each unit has the gold and, for every seed, what the baseline
    and what the candidate made of it. A table where the suite has no cards. `share`: how many browsers share the room
    of the page.
    """
    unit = study.suite.unit
    about = study.metric(metric)
    title = titled(about.label, about.better)
    caption = f"{title}, {study.baseline} → {candidate}"
    changed = differing(changes).set_index(unit)
    if changed.empty:
        return no_rows(say("{metric}: samples that differ", metric=caption))
    views = sample_views(study)
    if not views:
        return table(changed.reset_index(), caption=caption)
    sides = paired_runs(study, candidate)
    layout = _layout(views[0], unit, sides)
    ways = []
    for view in views:
        cards = _compared_cards(view, layout["id"], changed, sides)
        rising = changed.loc[cards[unit], "change"].to_numpy() > 0
        groups = {
            _group_label("Higher", candidate, view, unit): list(cards.index[rising]),
            _group_label("Lower", candidate, view, unit): list(cards.index[~rising]),
        }
        ways.append(Marked(cards, groups, view.name, view.label, view.legend))
    return samples(ways, caption=caption, share=share, **layout)


def carrying(
    study: Study,
    candidate: str,
    changes: pd.DataFrame,
) -> dict[str, int]:
    """Label of each group of the browser of `differences` -> how many cards it has there (units, without cards)."""
    unit = study.suite.unit
    views = sample_views(study)
    view = views[0] if views else None
    change = differing(changes).set_index(unit)["change"]
    if view and _part(view, unit) != unit:
        cards = _cards_of_runs(view, _part(view, unit), change.index, paired_runs(study, candidate))
        change = change.loc[_each_once(list(cards.values()))[unit]]
    counts = {}
    for group, sign in GROUPS.items():
        label = _group_label(group, candidate, view, unit)
        counts[label] = int((change * sign > 0).sum())
    return counts


def paired_runs(study: Study, candidate: str) -> list[Side]:
    """The sides of a unit, baseline and candidate in turn: seed by seed, without common seeds in order."""
    baseline_runs = study.conditions[study.baseline]
    candidate_runs = study.conditions[candidate]
    common = [(seed, seed) for seed in baseline_runs if seed in candidate_runs]
    sides = []
    for seed, other in common or zip_longest(baseline_runs, candidate_runs):
        sides.append(_side(study.baseline, baseline_runs, seed))
        sides.append(_side(candidate, candidate_runs, other))
    return sides


def _side(
    condition: str,
    runs: dict[str, Run],
    seed: str | None,
) -> Side:
    header = condition
    if seed:
        header = say("{condition}, seed {seed}", condition=condition, seed=seed)
    return header, None if seed is None else runs.get(seed)


def _layout(
    view: SampleView,
    unit: str,
    sides: Sequence[Side],
) -> dict[str, Any]:
    """The fields of `samples.Layout`: as the suite lays its cards out, with the runs as sides in pairs."""
    layout: dict[str, Any] = {"id": unit, "text": "text", **view.browser}
    if not isinstance(layout["text"], str):
        texts = layout["text"].items()
        layout["text"] = {column: head for column, head in texts if column not in view.compared}
    layout["sides"] = {str(index): header for index, (header, _) in enumerate(sides)}
    layout["fields"] = {}
    layout["chips"] = ["change"]
    layout["pairs"] = True
    layout["page"] = PAGE
    return layout


def _compared_cards(
    view: SampleView,
    id: str,
    changed: pd.DataFrame,
    sides: Sequence[Side],
) -> pd.DataFrame:
    """The cards of the units that differ, in their order, with the change and a column for each side."""
    of_run = _cards_of_runs(view, id, changed.index, sides)
    cards = _each_once(list(of_run.values()))
    unit = changed.index.name
    order = changed.index.get_indexer(cards[unit]).argsort(kind="stable")
    cards = cards.iloc[order]
    values = changed.loc[cards[unit]]
    cards["change"] = [
        f"{before:.2f} → {after:.2f}"
        for before, after in zip(values["baseline"], values["candidate"])
    ]
    if "gold" in cards:  # its marks would be those of one run
        cards["gold"] = [[entry[:3] for entry in gold] for gold in cards["gold"]]
    for index, (_, run) in enumerate(sides):
        side = pd.DataFrame(index=cards.index)
        if run is not None:
            side = of_run[run.name].reindex(cards.index)
        cards[str(index)] = _entries(side.reindex(columns=[id, *view.compared]))
    return cards


def _cards_of_runs(
    view: SampleView,
    id: str,
    units: pd.Index,
    sides: Sequence[Side],
) -> dict[str, pd.DataFrame]:
    """Name of a run -> its cards of some units, by their id."""
    cards = {}
    for _, run in sides:
        if run is not None:
            rows = run.units[run.units[run.suite.unit].isin(units)]
            cards[run.name] = view.cards(run, rows).set_index(id, drop=False)
    return cards


def _each_once(cards: list[pd.DataFrame]) -> pd.DataFrame:
    """The cards of several runs, each once."""
    joined = pd.concat(cards)
    return joined[~joined.index.duplicated()]


def _part(view: SampleView, unit: str) -> str:
    """What a card shows: the unit, or a part of it."""
    return str(view.browser.get("id", unit))


def _group_label(
    group: str,
    candidate: str,
    view: SampleView | None,
    unit: str,
) -> str:
    """The label of a group; where cards are parts of the units that differ, what they are."""
    label = say("{group} under {candidate}", group=say(group), candidate=candidate)
    part = _part(view, unit) if view else unit
    return label if part == unit else f"{label} ({say(part + 's')})"


def _entries(cards: pd.DataFrame) -> list[list[Any]]:
    """What a run made of each unit, as entries of a side; the first column is null where it has no such unit."""
    sides = []
    for id, *values in cards.itertuples(index=False):
        if is_null(id):
            sides.append([[say("(not in this run)")]])
            continue
        entries = []
        for value in values:
            if isinstance(value, list):
                entries += value
            elif value:
                entries.append([value])
        sides.append(entries)
    return sides
