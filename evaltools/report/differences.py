"""The units that carry a difference between two conditions, with what both made of each under every seed."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..core.language import say
from ..stats.unit_changes import differing
from .markdown import is_null, titled
from .samples import Marked, samples
from .tables import HtmlTable, no_rows, table
from .view import SampleView, sample_views

if TYPE_CHECKING:
    from .run import Run
    from .study import Study

GROUPS = {"Higher": 1, "Lower": -1}
"""Label of a group of units -> the sign of their change."""


def differences(
    study: Study, metric: str, candidate: str, changes: pd.DataFrame, share: int = 1
) -> HtmlTable:
    """A browser of the units whose value of a metric differs, the largest influence on the difference first.

    `changes`: as `stats.unit_changes` has them. Each unit has the gold, and below it for every seed what the
    baseline and what the candidate made of it. A table where the suite has no cards. `share`: how many browsers share
    the room of the page.
    """
    unit, about = study.suite.unit, study.suite.metric(metric, study.options)
    found = differing(changes).set_index(unit)
    caption = f"{titled(about.title or about.name, about.better)}, {study.baseline} → {candidate}"
    sides = paired_runs(study, candidate)
    runs = [r for _, r in sides if r is not None]
    views = sample_views(study)
    if found.empty:
        return no_rows(say("{metric}: samples that differ", metric=caption))
    if not views:
        return table(found.reset_index(), caption=caption)
    how: dict[str, Any] = {
        "id": unit,
        "text": "text",
        **views[0].browser,
        "fields": {},
        "chips": ["change"],
    }
    if not isinstance(how["text"], str):
        how["text"] = {c: h for c, h in how["text"].items() if c not in views[0].compared}
    how["sides"] = {str(place): header for place, (header, _) in enumerate(sides)}
    ways = []
    for view in views:
        of_run = {r.name: _cards(view, r, found.index, how["id"]) for r in runs}
        cards = _once(of_run.values())
        cards = cards.iloc[found.index.get_indexer(cards[unit]).argsort(kind="stable")]
        at = found.loc[cards[unit]]
        cards["change"] = [f"{b:.2f} → {c:.2f}" for b, c in zip(at["baseline"], at["candidate"])]
        if "gold" in cards:  # its marks would be those of one run
            cards["gold"] = [[entry[:3] for entry in gold] for gold in cards["gold"]]
        for place, (_, run) in enumerate(sides):
            there = (
                of_run[run.name].reindex(cards.index)
                if run is not None
                else pd.DataFrame(index=cards.index)
            )
            cards[str(place)] = _made(there.reindex(columns=[how["id"], *view.compared]))
        signs = (at["change"] > 0).astype(int) * 2 - 1
        groups = {
            _under(g, candidate, view, unit): list(cards.index[signs == s])
            for g, s in GROUPS.items()
        }
        ways.append(Marked(cards, groups, view.name, view.label, view.legend))
    return samples(ways, caption=caption, pairs=True, share=share, **{**how, "page": 3})


def carrying(study: Study, candidate: str, changes: pd.DataFrame) -> dict[str, int]:
    """Label of each group of the browser of `differences` -> how many cards it has there (units, without cards)."""
    unit, views = study.suite.unit, sample_views(study)
    found = differing(changes).set_index(unit)["change"]
    view = views[0] if views else None
    if view and view.browser.get("id", unit) != unit:
        runs = [r for _, r in paired_runs(study, candidate) if r is not None]
        found = found.loc[
            _once(_cards(view, r, found.index, view.browser["id"]) for r in runs)[unit]
        ]
    return {
        _under(group, candidate, view, unit): int((found * sign > 0).sum())
        for group, sign in GROUPS.items()
    }


def _once(cards: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """The cards of several runs, each once."""
    every = pd.concat(cards)
    return every[~every.index.duplicated()]


def _under(group: str, candidate: str, view: SampleView | None, unit: str) -> str:
    """The label of a group; where cards are parts of the units that differ, what they are."""
    label = say("{group} under {candidate}", group=say(group), candidate=candidate)
    part = view.browser.get("id", unit) if view else unit
    return label if part == unit else f"{label} ({say(part + 's')})"


def paired_runs(study: Study, candidate: str) -> list[tuple[str, Run | None]]:
    """Header and run of each side, baseline and candidate in turn: seed by seed, without common seeds in order."""
    a, b = study.conditions[study.baseline], study.conditions[candidate]
    common = [seed for seed in a if seed in b]
    pairs = [(s, s) for s in common] or list(zip_longest(a, b))
    each = (
        (c, of, s)
        for one, other in pairs
        for c, of, s in ((study.baseline, a, one), (candidate, b, other))
    )
    return [
        (
            say("{condition}, seed {seed}", condition=c, seed=s) if s else c,
            of.get(s) if s is not None else None,
        )
        for c, of, s in each
    ]


def _cards(view: SampleView, run: Run, units: pd.Index, id: str) -> pd.DataFrame:
    """The cards of some units as a run has them, by their id."""
    return view.cards(run, run.units[run.units[run.suite.unit].isin(units)]).set_index(
        id, drop=False
    )


def _made(cards: pd.DataFrame) -> list[list[Any]]:
    """What a run made of each unit, as entries of a side; the first column is null where it has no such unit."""
    return [
        [[say("(not in this run)")]]
        if is_null(id)
        else [e for v in made for e in (v if isinstance(v, list) else [[v]] if v else [])]
        for id, *made in cards.itertuples(index=False)
    ]
