"""The sample browser of the reports: a card a sample, with what was expected and what came out row by row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
from markupsafe import Markup

from ..core.files import dumps
from ..core.language import say
from .page import macros
from .tables import HtmlTable
from .text import anchor

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

    `cells`: column of `Layout.columns` -> its lines. `part`: the end of the label, which is marked in the text too.
    `mark`: one of SIGNS, how the row fares.
    """

    label: str
    cells: dict[str, list[Line]]
    part: str = ""
    mark: str = ""


# A place in a text: its column, start and end, mark, number, and tooltip.
# Places of one number in two texts are linked; those of number 0 are marked only.
Place = tuple[str, int, int, str, int, str]


@dataclass(frozen=True)
class Layout:
    """Which columns of a frame of cards stand where on a card. A column that the frame lacks is left out.

    `id`: the column that names the sample. `texts`: column of a text -> its header. `head`: what the rows are about.
    `columns`: name of a cell of the rows -> header of its column. `fields`: columns of texts below all else -> the
    header under which they are folded ("": open). `legend`: what the marks mean.
    Besides these a card shows the columns `tags` (a list of `Line`), `rows` (of `Row`) and `places` (of `Place`).
    """

    id: str = "text_id"
    texts: Mapping[str, str] = field(default_factory=lambda: {"text": ""})
    head: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    fields: Mapping[str, str] = field(default_factory=dict)
    legend: str = ""


@dataclass(frozen=True)
class SampleView:
    """How a suite browses its units.

    `groups(run)`: name -> (query on the units, caption). `ids(run, units)`: the id of the card of each row of
    the units that has one, in the order to be read. `cards(run, units)`: the cards of such rows, in their order, as
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


def samples(
    cards: pd.DataFrame,
    layout: Layout,
    groups: Mapping[str, pd.Index],
    caption: str,
    frame: pd.DataFrame,
    total: int | None = None,
) -> HtmlTable:
    """A browser of samples: a card each, with its text, and rows that hold what was expected beside what came out.

    `cards`: a card a row, in the order to be read. `groups`: label -> the rows of a group; a link to
    `anchor("group", label)` opens the browser on it. All cards stand in the page, up to CARRIED bytes; a line counts
    the samples beyond, of which there are `total` with those of the cards. `frame`: the units behind them.

    >>> frame = pd.DataFrame({"text_id": ["a", "b"], "text": ["One sentence.", "Another."]})
    >>> "One sentence." in samples(frame, Layout(), {}, "Samples", frame).html
    True
    """
    pieces: list[str] = []
    room = CARRIED
    for card in cards.to_dict("records"):
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
        pieces.append(piece)
    carried = cards.index[: len(pieces)]
    numbers = [list(range(len(pieces)))]
    buttons = []
    for label, members in groups.items():
        if len(members):
            numbers.append(carried.isin(members).nonzero()[0].tolist())
            buttons.append((label, anchor("group", label), len(members)))
    html = macros().samples(
        pieces,
        len(cards) if total is None else total,
        say(caption),
        layout.legend,
        buttons,
        Markup(dumps(numbers)),  # numbers only
    )
    return HtmlTable(html, frame)


def placed(
    text: str,
    column: str,
    places: Sequence[Place],
) -> list[Any]:
    """The text of a column of a card as pieces: texts, and what has a place in it.

    Of places that overlap the first one counts, and none beyond CLIP.
    """
    elsewhere = {place[4]: f"{place[0]}-{place[4]}" for place in places if place[0] != column}
    pieces: list[Any] = []
    written = 0
    for of_column, start, end, mark, number, tooltip in sorted(places, key=lambda p: p[1]):
        if of_column != column or start < written or end > CLIP:
            continue
        piece = {
            "text": text[start:end],
            "mark": mark,
            "number": number,
            "tooltip": tooltip,
            "id": f"{column}-{number}",
            "target": elsewhere.get(number, ""),
        }
        pieces += [text[written:start], piece]
        written = end
    return [*pieces, text[written:CLIP]]
