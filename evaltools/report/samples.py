"""The sample browser of the reports: a card a sample, gold and predictions side by side, all in the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd
from markupsafe import Markup

from ..core.language import say
from .markdown import markdown_table, plain, text_of
from .tables import HtmlTable
from .templates import macros
from .text import LONG, anchor, script_json, visible

MARKS = {"matched": "✓", "missing": "−", "spurious": "+"}

CLIP = 4_000
"""Characters of one text that a card holds."""

CARRIED = 1_900_000
"""Bytes of JSON that one browser brings into a page: a page with all else stays below 3 MB."""

PREVIEW = 160
"""Characters of a folded text that are shown."""

Text = str | list[str] | dict[str, Any]
"""A text as the page reads it.

A long one is a list: its beginning, how long it is, and the text that is folded. One with places is {"of": pieces}:
a piece is a text or a place (its text, kind, number, tooltip, id, and the id of the place that it links to).
"""

Entry = tuple[Text, Text | None, str, list[str]]
"""Of a tuple: ref, term (None: it has none), polarity, and how each way marks it: name and sign, or ""."""

Card = dict[str, Any]


Place = tuple[str, int, int, str, int, str]
"""A place in a text: its column, start and end, kind (a mark's name), number, and tooltip.

Places of one number in two texts are linked.
"""


@dataclass(frozen=True)
class Marked:
    """Samples with their tuples marked in one way."""

    cards: pd.DataFrame
    """As `samples` takes them, in the order to be read."""
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Label -> ids of samples."""
    name: str = ""
    """Of this way, in links."""
    label: str = ""
    """Of this way, in the list that one chooses from."""
    legend: str = ""
    """What the marks mean; "" where there are none."""


@dataclass(frozen=True)
class Layout:
    """Which columns of a frame stand where on a card."""

    id: str = "text_id"
    """The column that names the sample."""
    text: str | Mapping[str, str] | None = "text"
    """The column of its text, or several: column -> header."""
    gold: str | None = "gold"
    """The column of its gold, a list of entries: [ref, term, polarity] or [ref, term, polarity, mark].

    The mark is "matched", "missing" or "spurious", or absent. An empty term is an implicit one.
    """
    sides: Mapping[str, str] | None = None
    """Columns of such lists beside the gold: column -> header, as {"before": "Stage 1", "after": "Final"}."""
    chips: Sequence[str] = ()
    """Columns shown as tags; a bool shows its column's name where it is true."""
    fields: Mapping[str, str] | None = None
    """Columns of texts below all else: column -> header."""
    page: int = 10
    """Cards shown at a time."""
    pairs: bool = False
    """Whether the sides stand two in a row below the gold."""
    placed: str = ""
    """A column of lists of `Place`: the texts then stand side by side where there is room."""

    @property
    def texts(self) -> Mapping[str, str]:
        """Column of a text -> its header."""
        if isinstance(self.text, str):
            return {self.text: ""}
        return self.text or {}

    @property
    def style(self) -> str:
        """The style class of the browser."""
        if self.pairs:
            return "et-pairs"
        return "et-linked" if self.placed else ""


def samples(
    df: pd.DataFrame | Sequence[Marked],
    *,
    caption: str | None = None,
    share: int = 1,
    **layout: Any,
) -> HtmlTable:
    """A browser of samples: a card each, with its text, gold and predictions side by side.

    `df` is a frame in the order to be read, or the same samples marked in several ways, all with one index. The first
    way is shown and a list chooses among them; a link to a sample of another way keeps that way's `name`. Marks, chips,
    groups and order are those of the chosen way; everything else comes from the first. `layout`: the fields of
    `Layout`.

    Groups are filters with their counts. A sample may be in several; groups without samples are left out. A link to
    `anchor("group", label)` opens the browser on a group. The page filters and searches all cards; without scripts it
    shows the first few. The cards take at most CARRIED / `share` bytes, and a line counts the samples beyond.

    >>> frame = pd.DataFrame({"text_id": ["a", "b"], "text": ["One sentence.", "Another."]})
    >>> "One sentence." in samples(frame, caption="All").html
    True
    """
    how = Layout(**layout)
    ways = _ways(df)
    first = ways[0].cards
    caption = caption and say(caption)
    cards = _cards(ways, how)
    n_carried = max(_fitting(cards, share), min(how.page, len(cards)))
    groups = _groups(ways, how.id, n_carried)
    data = {
        "page": how.page,
        "groups": list(groups.values()),
        "marks": [(way.name, way.legend) for way in ways],
        "cards": cards[:n_carried],
    }
    buttons = []
    for label, members in groups.items():
        if label:
            buttons.append((label, anchor("group", label), len(members[0])))
    html = macros().samples(
        cards[: how.page],
        n_carried,
        len(first),
        caption,
        ways,
        buttons,
        Markup(script_json(data)),
        how.style,
    )
    return HtmlTable(str(html), _preview(first, how, caption))


def _ways(df: pd.DataFrame | Sequence[Marked]) -> list[Marked]:
    """The ways of marking, their words in the language in force."""
    if isinstance(df, pd.DataFrame):
        return [Marked(df.reset_index(drop=True))]
    return [replace(way, label=say(way.label), legend=say(way.legend)) for way in df]


def _preview(
    first: pd.DataFrame,
    how: Layout,
    caption: str | None,
) -> str:
    """The first samples as a Markdown table of names and texts."""
    columns = [column for column in (how.id, *how.texts) if column in first]
    brief = first.head(0)
    if columns:
        brief = first[columns].head(20).map(lambda value: plain(value)[:60])
    if caption:
        caption = f"{caption} ({len(first):,})"
    return markdown_table(brief, caption=caption)


def _fitting(cards: Sequence[Card], share: int) -> int:
    """How many of the first cards fit into the room of this browser."""
    room = CARRIED // share
    for index, card in enumerate(cards):
        room -= len(script_json(card).encode())
        if room < 0:
            return index
    return len(cards)


def _groups(
    ways: Sequence[Marked],
    id: str,
    n_carried: int,
) -> dict[str, list[list[int]]]:
    """Label of a group ("": all samples) -> for each way the indices of its cards, in the order of the way."""
    first = ways[0].cards
    names = first[id].astype(str).to_numpy()
    groups: dict[str, list[list[int]]] = {"": [[] for _ in ways]}
    for way_index, way in enumerate(ways):
        indices = first.index.get_indexer(way.cards.index).tolist()
        order = [index for index in indices if index < n_carried]
        groups[""][way_index] = order
        for label, ids in way.groups.items():
            members = {str(name) for name in ids}
            of_ways = groups.setdefault(label, [[] for _ in ways])
            of_ways[way_index] = [index for index in order if names[index] in members]
    return {label: of_ways for label, of_ways in groups.items() if not label or any(of_ways)}


def _cards(ways: Sequence[Marked], how: Layout) -> list[Card]:
    """The cards of all samples, as the page and its script read them."""
    first = ways[0].cards
    texts = {column: say(header) for column, header in how.texts.items()}
    sides = _headers(first, {how.gold: "Gold", **(how.sides or {})})
    fields = _headers(first, how.fields or {})
    records = [way.cards.loc[first.index].to_dict("records") for way in ways]
    cards = []
    for rows in zip(*records):
        row = rows[0]
        places = row.get(how.placed) or ()
        card: Card = {
            "id": anchor("sample", row[how.id]),
            "name": visible(str(row[how.id])[:120]),
            "tags": [_tags(of_way, how.chips) for of_way in rows],
            "texts": [],
            "sides": [],
            "fields": [],
        }
        for column, header in texts.items():
            card["texts"].append((header, _placed_text(row, column, places)))
        for column, header in sides.items():
            card["sides"].append((header, _entries([of_way[column] for of_way in rows])))
        for column, header in fields.items():
            if text_of(row[column]):
                lines = plain(row[column]).split("\n")
                card["fields"].append((header, [_text(line) for line in lines]))
        cards.append(card)
    return cards


def _headers(frame: pd.DataFrame, headers: Mapping[Any, str]) -> dict[str, str]:
    """The headers of the columns that the frame has, in the language in force."""
    return {column: say(header) for column, header in headers.items() if column in frame.columns}


def _tags(row: Mapping[Any, Any], chips: Sequence[str]) -> list[str]:
    """The tags of a sample."""
    tags = []
    for column in chips:
        value = row.get(column, False)
        if value is True:
            tags.append(visible(say(column.replace("_", " "))))
        elif value is not False and text_of(value):
            tags.append(visible(text_of(value)))
    return tags


def _text(text: str) -> Text:
    """A text, folded where it is long and cut where it is very long."""
    if len(text) <= LONG:
        return visible(text)
    note = say("{n:,} characters", n=len(text))
    if len(text) > CLIP:
        note += say(", the first {n:,} shown; the files beside the report hold all", n=CLIP)
    return [
        visible(" ".join(text[:PREVIEW].split())),
        note,
        visible(text[:CLIP]),
    ]


def _placed_text(
    row: Mapping[Any, Any],
    column: str,
    places: Sequence[Place],
) -> Text:
    """The text of a column with the places in it; a place that overlaps an earlier one is left out."""
    text = _lines(row.get(column))
    linked = {}
    for other_column, _, end, _, number, _ in places:
        if other_column != column and end <= CLIP:
            linked[number] = f"{other_column}-{number}"
    here = [place for place in places if place[0] == column and place[2] <= CLIP]
    pieces: list[Any] = []
    written = 0
    for _, start, end, kind, number, tooltip in sorted(here, key=lambda place: place[1]):
        if start < written:
            continue
        piece = {
            "text": visible(text[start:end]),
            "kind": kind,
            "n": number,
            "tip": visible(tooltip),
            "id": f"{column}-{number}",
            "to": linked.get(number, ""),
        }
        pieces += [visible(text[written:start]), piece]
        written = end
    if not pieces:
        return _text(text)
    return {"of": [*pieces, visible(text[written:CLIP])]}


def _lines(value: Any) -> str:
    """A cell as text: a list of texts is a line each."""
    if isinstance(value, list) and all(isinstance(text, str) for text in value):
        return "\n".join(value)
    return plain(value)


def _entries(lists: Sequence[Any]) -> list[Entry]:
    """The entries of a side; `lists` holds the same entries as each way marks them."""
    lists = [value if isinstance(value, list | tuple) else () for value in lists]
    entries: list[Entry] = []
    for of_ways in zip(*lists):
        members = _members(of_ways[0])
        ref, term, polarity = [*members, "", "", ""][:3]
        entry = (
            _text(ref or say("(no ref)")),
            _text(term) if len(members) > 1 else None,
            visible(polarity),
            [_mark(_members(marked)) for marked in of_ways],
        )
        entries.append(entry)
    return entries


def _members(entry: Any) -> list[str]:
    """The parts of an entry as texts."""
    if isinstance(entry, list | tuple):
        return [text_of(member) for member in entry]
    return [str(entry)]


def _mark(members: Sequence[str]) -> str:
    """Name and sign of the mark of an entry; "" where it has none."""
    mark = members[3] if len(members) > 3 else ""
    return f"{mark} {MARKS[mark]}" if mark in MARKS else ""
