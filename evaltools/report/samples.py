"""The sample browser of the reports: a card a sample, with what was expected and what came out row by row.

The module that `Suite.views` names may hold three functions: `sample_view(shown)`, of a run or a study, gives a
SampleView; `finding(run)` what a page says first, and the numbers behind it; `first_screen(run)` a table below that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import pandas as pd
from markupsafe import Markup

from ..core.files import dumps
from ..core.language import say
from .tables import HtmlTable
from .templates import macros
from .text import anchor

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
    """One thing that a cell of a card, or its head, says."""

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


Place = tuple[str, int, int, str, int, str]
"""A place in a text: its column, start and end, mark, number, and tooltip.

Places of one number in two texts are linked; those of number 0 are marked only.
"""


@dataclass(frozen=True)
class Layout:
    """Which columns of a frame of cards stand where on a card. A column that the frame lacks is left out.

    Besides these a card shows the columns `tags` (a list of `Line`), `rows` (of `Row`) and `places` (of `Place`).
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
    legend: str = ""
    """What the marks mean; "" where there are none."""


@dataclass(frozen=True)
class SampleView:
    """How a suite browses its units.

    `groups(result)`: name -> (query on the units, caption). `ids(result, units)`: the id of the card of each row of
    the units that has one, in the order to be read. `cards(result, units)`: the cards of such rows, in their order, as
    `layout` names their columns. Both have the index of the units.

    The part of a caption before a colon is the label of its group. A study shows side by side what its runs made of a
    sample: `cell`, that column of the rows, and `compared`, texts of the cards; `given` are the columns of the rows
    that are the same for all runs.
    """

    groups: Callable[[Any], Mapping[str, tuple[str, str]]]
    ids: Callable[[Any, pd.DataFrame], pd.Series]
    cards: Callable[[Any, pd.DataFrame], pd.DataFrame]
    layout: Layout
    cell: str = ""
    given: tuple[str, ...] = ()
    compared: tuple[str, ...] = ()


def of_suite(
    name: str,
    shown: Any,
) -> Any:
    """What the function of that name in the suite's views module gives of a run or study; None where there is none."""
    if not shown.suite.views:
        return None
    module = import_module(shown.suite.views)
    function = getattr(module, name, None)
    return None if function is None else function(shown)


def samples(
    cards: pd.DataFrame,
    layout: Layout,
    groups: Mapping[str, pd.Index] | None = None,
    *,
    caption: str = "Samples",
    total: int | None = None,
    share: int = 1,
) -> HtmlTable:
    """A browser of samples: a card each, with its text, and rows that hold what was expected beside what came out.

    `cards`: a card a row, in the order to be read. `groups`: label -> the rows of a group; a link to
    `anchor("group", label)` opens the browser on it. All cards stand in the page, which shows some at a time;
    without scripts they stand in a box that scrolls. The cards take at most CARRIED / `share` bytes, those of the
    smallest groups first; groups and a line count the samples beyond, of which there are `total` with those of the
    cards.

    >>> frame = pd.DataFrame({"text_id": ["a", "b"], "text": ["One sentence.", "Another."]})
    >>> "One sentence." in samples(frame, Layout()).html
    True
    """
    caption = say(caption)
    total = len(cards) if total is None else total
    groups = groups or {}
    made = _pieces(cards.loc[_rarest_first(cards.index, groups)], layout, CARRIED // share)
    carried = cards.index[cards.index.isin(list(made))]
    pieces = [made[row] for row in carried]
    numbers = [list(range(len(pieces)))]
    buttons = []
    for label, members in groups.items():
        if len(members):
            of_group = carried.isin(members).nonzero()[0].tolist()
            numbers.append(of_group)
            buttons.append((label, anchor("group", label), len(of_group), len(members)))
    data = dumps({"page": layout.page, "groups": numbers})
    html = macros().samples(
        pieces,
        total,
        caption,
        layout.legend,
        buttons,
        Markup(data),  # numbers only
    )
    return HtmlTable(html, f"{caption} ({total:,})")


def _rarest_first(
    rows: pd.Index,
    groups: Mapping[str, pd.Index],
) -> pd.Index:
    """The rows in the order of the smallest group that each is in, those in none last."""
    size = pd.Series(len(rows), index=rows)
    for members in groups.values():
        size[rows.isin(members)] = size[rows.isin(members)].clip(upper=len(members))
    return size.sort_values(kind="stable").index


def _pieces(
    cards: pd.DataFrame,
    layout: Layout,
    room: int,
) -> dict[Any, Markup]:
    """Row -> its card, of as many of them as fit into `room` bytes, at least one."""
    pieces: dict[Any, Markup] = {}
    for row, card in zip(cards.index, cards.to_dict("records")):
        id = anchor("sample", card[layout.id])
        piece = macros().sample(
            id,
            card,
            layout,
            SIGNS,
            CLIP,
            placed,
        )
        room -= len(piece.encode())
        if room < 0 and pieces:
            break
        pieces[row] = piece
    return pieces


def placed(
    text: str,
    column: str,
    places: Sequence[Place],
) -> list[Any]:
    """The text of a column of a card as pieces: texts, and what has a place in it.

    A place that overlaps an earlier one is left out, and one that lies beyond CLIP.
    """
    seen = [place for place in places if place[2] <= CLIP]
    pieces: list[Any] = []
    written = 0
    for place in sorted(seen, key=lambda place: place[1]):
        of_column, start, end, mark, number, tooltip = place
        if of_column != column or start < written:
            continue
        targets = [
            f"{other[0]}-{number}" for other in seen if other[4] == number and other[0] != column
        ]
        piece = {
            "text": text[start:end],
            "mark": mark,
            "number": number,
            "tooltip": tooltip,
            "id": f"{column}-{number}",
            "target": targets[0] if targets else "",
        }
        pieces += [text[written:start], piece]
        written = end
    return [*pieces, text[written:CLIP]]
