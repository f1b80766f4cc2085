"""The sample browser of the reports: a card a sample, gold and predictions side by side, all of them in the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any

import pandas as pd
from markupsafe import Markup

from ..core.language import say
from .gallery import script_json
from .markdown import markdown_table, plain, text_of
from .tables import HtmlTable
from .templates import macros
from .text import LONG, anchor, visible

MARKS = {"matched": "✓", "missing": "−", "spurious": "+"}

CLIP = 4_000
"""Characters of one text that a card holds."""

CARRIED = 1_900_000
"""Bytes of JSON that one browser brings into a page: a page with all else stays below 3 MB."""

Text = str | list[str] | dict[str, Any]
"""A text as it is read; a long one as its beginning, what is said of it, and what is folded; one with `places` as
{"of": pieces}, a piece being a text or a place: its text, kind, number, what is said of it, own id, and that of the
place of the same number in another text."""

Place = tuple[str, int, int, str, int, str]
"""Column of a text, [start, end) in it, kind as of the marks of tuples, number, and what a pointer is told of it."""


@dataclass(frozen=True)
class Marked:
    """Samples with their tuples marked in one way.

    `cards`: as `samples` takes them, in the order to be read; `groups`: label -> ids; `name`: of the marks, in links;
    `label`: of them, to be chosen by; `legend`: what they mean, "" where there are none.
    """

    cards: pd.DataFrame
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)
    name: str = ""
    label: str = ""
    legend: str = ""


def samples(
    df: pd.DataFrame | Sequence[Marked],
    *,
    id: str = "text_id",
    text: str | Mapping[str, str] | None = "text",
    gold: str | None = "gold",
    sides: Mapping[str, str] | None = None,
    chips: Sequence[str] = (),
    fields: Mapping[str, str] | None = None,
    caption: str | None = None,
    page: int = 10,
    pairs: bool = False,
    placed: str = "",
    share: int = 1,
) -> HtmlTable:
    """A browser of samples in the order of `df`: a card each, with its text, gold and predictions side by side.

    `df` is a frame, or several with one index, their tuples marked in different ways: the first is shown, a list
    chooses among them, and a link to a sample of another keeps its `name`. Chips, marks, groups and order are those
    of the way chosen, all else is of the first.

    `id`: the column that names the sample; `text`: the column of its text, or several with headers. `gold` and
    the `sides` (column -> header, as {"before": "Stage 1", "after": "Final"}) hold lists of
    [ref, term, polarity] or [ref, term, polarity, mark]: "matched", "missing" or "spurious", no mark where it is
    none of these. An empty term is an implicit one. With `pairs` the sides stand two in a row below the gold. `chips`
    are columns shown as tags (a bool shows its name where true); `fields` (column -> header), texts, go below.
    `placed`: a column of lists of `Place`; the texts then stand side by side where there is room, and places of one
    number are linked.

    Groups are filters with their counts; a sample may be in several, those without any are left out, and
    a link to `anchor("group", label)` opens the browser on one. A report shows `page` cards at a time, filters
    and searches all of them, and opens on the sample that a link names; the first `page` stand there without scripts
    too. Beyond the `share`-th part of `CARRIED` bytes a line counts the rest.
    """
    ways = [Marked(df.reset_index(drop=True))] if isinstance(df, pd.DataFrame) else list(df)
    ways = [replace(w, label=say(w.label), legend=say(w.legend)) for w in ways]
    first = ways[0].cards
    texts = {text: ""} if isinstance(text, str) else {c: say(h) for c, h in (text or {}).items()}
    lists = [(c, say(h)) for c, h in [(gold, "Gold"), *(sides or {}).items()] if c in first.columns]
    below = {c: say(h) for c, h in (fields or {}).items() if c in first.columns}
    caption = caption and say(caption)
    columns = [w.cards.loc[first.index].to_dict("records") for w in ways]
    cards = [
        {
            "id": anchor("sample", row[id]),
            "name": visible(str(row[id])[:120]),
            "tags": [
                [visible(t) for c in chips if c in r and (t := _tag(c, r[c]))]
                for r in (row, *others)
            ],
            "texts": [(h, _placed(row, c, row.get(placed) or ())) for c, h in texts.items()],
            "sides": [(h, _tuples(*(r[c] for r in (row, *others)))) for c, h in lists],
            "fields": [
                (h, list(map(_text, plain(row[c]).split("\n"))))
                for c, h in below.items()
                if text_of(row[c])
            ],
        }
        for row, *others in zip(*columns)
    ]
    coded = [script_json(card) for card in cards]
    n = max(
        sum(size <= CARRIED // share for size in accumulate(len(c.encode()) for c in coded)),
        min(page, len(cards)),
    )
    # the places of the cards of each way and group, in the order of the way
    places: dict[str, list[list[int]]] = {"": []}
    names = first[id].astype(str).to_numpy()
    for k, way in enumerate(ways):
        order = [i for i in first.index.get_indexer(way.cards.index).tolist() if i < n]
        places[""].append(order)
        for label, ids in way.groups.items():
            members = set(map(str, ids))
            places.setdefault(label, [[] for _ in ways])[k] = [
                i for i in order if names[i] in members
            ]
    found = {label: of_ways for label, of_ways in places.items() if not label or any(of_ways)}
    rest = {
        "page": page,
        "groups": list(found.values()),
        "marks": [(w.name, w.legend) for w in ways],
    }
    data = f'{script_json(rest)[:-1]},"cards":[{",".join(coded[:n])}]}}'
    chosen = [
        (label, anchor("group", label), len(of_ways[0]))
        for label, of_ways in found.items()
        if label
    ]
    listed = [c for c in (id, *texts) if c in first.columns]
    brief = first[listed].head(20).map(lambda v: plain(v)[:60]) if listed else first.head(0)
    laid = "et-pairs" if pairs else "et-linked" if placed else ""
    made = macros().samples(cards[:page], n, len(first), caption, ways, chosen, Markup(data), laid)
    return HtmlTable(
        str(made), markdown_table(brief, caption=caption and f"{caption} ({len(first):,})")
    )


def _text(text: str) -> Text:
    if len(text) <= LONG:
        return visible(text)
    cut = (
        say(", the first {n:,} shown; the files beside the report hold all", n=CLIP)
        if len(text) > CLIP
        else ""
    )
    return [
        visible(" ".join(text[:160].split())),
        say("{n:,} characters", n=len(text)) + cut,
        visible(text[:CLIP]),
    ]


def _placed(row: Mapping[str, Any], column: str, places: Sequence[Place]) -> Text:
    """The text of a column with the places in it; one that overlaps an earlier one is left out."""
    text, end = _lines(row.get(column)), 0
    pieces: list[Any] = []
    others = {n: where for where, _, stop, _, n, _ in places if where != column and stop <= CLIP}
    for where, start, stop, kind, n, tip in sorted(places, key=lambda place: place[1]):
        if where != column or start < end or stop > CLIP:
            continue
        other = f"{others[n]}-{n}" if n in others else ""
        piece = {
            "text": visible(text[start:stop]),
            "kind": kind,
            "n": n,
            "tip": visible(tip),
            "id": f"{column}-{n}",
        }
        pieces += [visible(text[end:start]), {**piece, "to": other}]
        end = stop
    return {"of": [*pieces, visible(text[end:CLIP])]} if pieces else _text(text)


def _lines(value: Any) -> str:
    """A cell as text: several texts below one another."""
    texts = isinstance(value, list) and all(isinstance(v, str) for v in value)
    return "\n".join(value) if texts else plain(value)


def _tag(column: str, value: Any) -> str:
    if value is True:
        return say(column.replace("_", " "))
    return "" if value is False else text_of(value)


def _tuples(value: Any, *others: Any) -> list[tuple[Text, Text | None, str, list[str]]]:
    """ref, term (None: it has none) and polarity of each entry, and how each way marks it: name and sign, or ""."""
    found, *more = (v if isinstance(v, list | tuple) else () for v in (value, *others))
    out = []
    for entry, *marked in zip(found, *more):
        members = [text_of(m) for m in entry] if isinstance(entry, list | tuple) else [str(entry)]
        ref, term, polarity = [*members, "", "", ""][:3]
        shown = _text(term) if len(members) > 1 else None
        given = [
            text_of(e[3]) if isinstance(e, list | tuple) and len(e) > 3 else ""
            for e in (entry, *marked)
        ]
        signed = [f"{mark} {MARKS[mark]}" if mark in MARKS else "" for mark in given]
        out.append((_text(ref or say("(no ref)")), shown, visible(polarity), signed))
    return out
