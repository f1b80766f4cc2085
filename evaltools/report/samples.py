"""The sample browser of the reports: a card a sample, with what was expected and what came out row by row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
from markupsafe import Markup

from ..core.language import say
from .markdown import plain, text_of
from .tables import HtmlTable
from .templates import macros
from .text import anchor, script_json, visible

CLIP = 4_000
"""Characters of one text that a card holds."""

CARRIED = 1_900_000
"""Bytes that the cards of one page take: a page with all else stays below 3 MB."""

MOST = 1_000
"""Cards that are made: a large run has many more than a page can carry."""

SIGNS = {"good": "✓", "bad": "✗", "missing": "−", "look": "?"}
"""A mark -> the sign before what it marks."""


@dataclass(frozen=True)
class Line:
    """One thing that a cell of a card says."""

    text: str
    mark: str = ""
    """One of SIGNS; "" for what is neither right nor wrong."""
    note: str = ""
    """What stands behind it, in grey."""


@dataclass(frozen=True)
class Row:
    """A row of a card: what it is about, and what each column says of it."""

    label: str
    cells: dict[str, list[Line]]
    """Column of `Layout.columns` -> its lines."""
    part: str = ""
    """The end of the label, which is marked in the text too."""
    mark: str = ""
    """One of SIGNS: how the row fares."""


@dataclass(frozen=True)
class Tag:
    """A word in the head of a card; `kind` is one of SIGNS, or "" for a grey one."""

    text: str
    kind: str = ""


Place = tuple[str, int, int, str, int, str]
"""A place in a text: its column, start and end, mark, number, and tooltip.

Places of one number in two texts are linked; those of number 0 are marked only.
"""

Face = dict[str, Any]
"""What a card shows of a sample that is marked in one way."""


@dataclass(frozen=True)
class Layout:
    """Which columns of a frame of cards stand where on a card. A column that the frame lacks is left out.

    Besides these a card shows the columns `tags` (a list of `Tag`), `rows` (of `Row`) and `places` (of `Place`).
    """

    id: str = "text_id"
    """The column that names the sample."""
    texts: Mapping[str, str] = field(default_factory=lambda: {"text": ""})
    """Column of a text -> its header."""
    head: str = ""
    """What the rows are about."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """Name of a cell of the rows -> header of its column."""
    fields: Mapping[str, str] = field(default_factory=dict)
    """Columns of texts below all else: column -> header, under which it is folded; "": it stands open."""
    page: int = 5
    """Cards shown at first."""


@dataclass(frozen=True)
class Marks:
    """One way of marking what systems wrote as right or wrong."""

    name: str = ""
    """In links."""
    label: str = ""
    """In the list that one chooses from."""
    legend: str = ""
    """What the marks mean; "" where there are none."""


@dataclass(frozen=True)
class Marked:
    """Samples with their rows marked in one way."""

    cards: pd.DataFrame
    """A card a row, in the order to be read. The index says which sample it is, whatever the way."""
    groups: Mapping[str, pd.Index] = field(default_factory=dict)
    """Label -> the samples of a group, as the index names them."""
    marks: Marks = Marks()


def samples(
    ways: Sequence[Marked],
    layout: Layout,
    *,
    caption: str = "Samples",
    total: int | None = None,
    share: int = 1,
) -> HtmlTable:
    """A browser of samples: a card each, with its text, and rows that hold what was expected beside what came out.

    `ways` are the same samples marked in several ways. The first is shown and a list chooses
    among them; a link to a sample of another way keeps the name of its marks. Marks, tags, groups and order are those of
    the chosen way.

    Groups are filters with their counts. A sample may be in several; groups without samples are left out. A link to
    `anchor("group", label)` opens the browser on a group. All cards stand in the page, which shows some at a time;
    without scripts they stand in a box that scrolls. The cards take at most CARRIED / `share` bytes, and a line counts
    the samples beyond, of which there are `total` with those of the cards.

    >>> frame = pd.DataFrame({"text_id": ["a", "b"], "text": ["One sentence.", "Another."]})
    >>> "One sentence." in samples([Marked(frame)], Layout()).html
    True
    """
    caption = say(caption)
    total = len(ways[0].cards) if total is None else total
    cards = _cards(ways, layout, CARRIED // share)
    groups = _groups(ways, len(cards))
    data = {
        "page": layout.page,
        "groups": list(groups.values()),
        "ways": [(way.marks.name, say(way.marks.legend)) for way in ways],
    }
    buttons = []
    for label, members in groups.items():
        if label:
            buttons.append((label, anchor("group", label), len(members[0])))
    html = macros().samples(
        cards,
        total,
        caption,
        [way.marks for way in ways],
        buttons,
        Markup(script_json(data)),
    )
    return HtmlTable(html, f"{caption} ({total:,})")


def _groups(ways: Sequence[Marked], n_carried: int) -> dict[str, list[list[int]]]:
    """Label of a group ("": all samples) -> for each way the numbers of its cards, in the order of the way."""
    carried = ways[0].cards.index[:n_carried]
    labels = dict.fromkeys(label for way in ways for label in way.groups)
    groups: dict[str, list[list[int]]] = {}
    for label in ("", *labels):
        of_ways = []
        for way in ways:
            members = way.groups.get(label, carried[:0]) if label else carried
            in_order = way.cards.index
            in_order = in_order[in_order.isin(members) & in_order.isin(carried)]
            of_ways.append(carried.get_indexer(in_order).tolist())
        if not label or any(of_ways):
            groups[label] = of_ways
    return groups


def _cards(
    ways: Sequence[Marked],
    layout: Layout,
    room: int,
) -> list[Markup]:
    """The cards of the samples, in the order of the first way, as many as fit into `room` bytes."""
    keys = ways[0].cards.index
    of_ways = [way.cards.loc[keys].to_dict("records") for way in ways]
    cards: list[Markup] = []
    for rows in zip(*of_ways):
        id = rows[0][layout.id]
        faces = [_face(row, layout) for row in rows]
        card = macros().sample(
            anchor("sample", id),
            visible(str(id)[:120]),
            _each_once(faces),
            layout,
            SIGNS,
            CLIP,
        )
        room -= len(card.encode())
        if room < 0 and cards:
            break
        cards.append(card)
    return cards


def _each_once(faces: Sequence[Face]) -> list[tuple[str, Face]]:
    """The different faces of a card, each with the numbers of the ways that show it."""
    different: list[tuple[list[str], Face]] = []
    for way, face in enumerate(faces):
        for numbers, other in different:
            if face == other:
                numbers.append(str(way))
                break
        else:
            different.append(([str(way)], face))
    return [(" ".join(numbers), face) for numbers, face in different]


def _face(row: Mapping[Any, Any], layout: Layout) -> Face:
    """What a card shows of a sample that is marked in one way."""
    places = row.get("places") or ()
    texts = []
    for column, header in layout.texts.items():
        if column in row:
            texts.append((header, _placed_text(row[column], column, places)))
    fields = []
    for column, header in layout.fields.items():
        if text_of(row.get(column)):
            lines = plain(row[column]).split("\n")
            fields.append((header, lines))
    return {
        "tags": row.get("tags") or (),
        "texts": texts,
        "rows": row.get("rows") or (),
        "fields": fields,
    }


def _placed_text(
    value: Any,
    column: str,
    places: Sequence[Place],
) -> str | list[Any]:
    """The text of a column, as pieces where it has places; a place that overlaps an earlier one is left out."""
    text = plain(value)
    if isinstance(value, list):
        text = "\n".join(value)
    linked = {}
    for other_column, _, end, _, number, _ in places:
        if number and other_column != column and end <= CLIP:
            linked[number] = f"{other_column}-{number}"
    here = [place for place in places if place[0] == column and place[2] <= CLIP]
    here.sort(key=lambda place: place[1])
    pieces: list[Any] = []
    written = 0
    for _, start, end, mark, number, tooltip in here:
        if start < written:
            continue
        piece = {
            "text": text[start:end],
            "mark": mark,
            "number": number,
            "tooltip": tooltip,
            "id": f"{column}-{number}",
            "target": linked.get(number, ""),
        }
        pieces += [text[written:start], piece]
        written = end
    if not pieces:
        return text
    return [*pieces, text[written:CLIP]]
