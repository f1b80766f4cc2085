"""The sample browser of the reports: a card a sample, gold and predictions side by side, all of them in the page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

import pandas as pd
from markupsafe import Markup

from ..core.words import say
from .gallery import script_json
from .plain import is_null, markdown_table, plain, text_of
from .tables import HtmlTable
from .templates import macros
from .text import LONG, anchor, visible

MARKS = {"matched": "✓", "missing": "−", "spurious": "+"}

CLIP = 4_000
"""Characters of one text that a card holds."""

CARRIED = 1_900_000
"""Bytes of JSON that one browser brings into a page: a page with all else stays below 3 MB."""

Text = str | list[str]
"""A text as it is read; a long one as its beginning, what is said of it, and what is folded."""


def samples(
    df: pd.DataFrame,
    *,
    id: str = "text_id",
    text: str | Mapping[str, str] | None = "text",
    gold: str | None = "gold",
    sides: Mapping[str, str] | None = None,
    chips: Sequence[str] = (),
    fields: Mapping[str, str] | None = None,
    caption: str | None = None,
    groups: Mapping[str, Sequence[str]] | None = None,
    legend: str = "",
    page: int = 10,
    max_rows: int | None = None,
    anchors: str = "sample",
) -> HtmlTable:
    """A browser of samples in the order of `df`: a card each, with its text, gold and predictions side by side.

    `id`: the column that names the sample; `text`: the column of its text, or several with headers. `gold` and
    the `sides` (column -> header, as {"before": "Stage 1", "after": "Final"}) hold lists, or JSON text of lists, of
    [ref, term, polarity] or [ref, term, polarity, mark]: "matched", "missing" or "spurious", no mark where it is
    none of these; `legend` says above the cards what the marks mean. An empty term is an implicit one. `chips` are
    columns shown as tags (a bool shows its name where true); `fields` (column -> header) go below: JSON or text.

    `groups` (label -> ids) are filters with their counts; a sample may be in several, those without any are left out,
    and a link to `anchor("group", label)` opens the browser on one. A report shows `page` cards at a time, filters
    and searches all of them, and opens on the sample that a link names; the first `page` stand there without scripts
    too. Beyond `max_rows` samples, or `CARRIED` bytes, a line counts the rest.
    """
    texts = {text: ""} if isinstance(text, str) else {c: say(h) for c, h in (text or {}).items()}
    lists = [(c, say(h)) for c, h in [(gold, "Gold"), *(sides or {}).items()] if c in df.columns]
    below = {c: say(h) for c, h in (fields or {}).items() if c in df.columns}
    caption, legend = caption and say(caption), say(legend)
    cards = [
        {
            "id": anchor(anchors, row[id]),
            "name": visible(str(row[id])[:120]),
            "tags": [visible(t) for c in chips if c in row and (t := _tag(c, row[c]))],
            "texts": [(h, _text(_lines(row.get(c)))) for c, h in texts.items()],
            "sides": [(h, _tuples(row[c])) for c, h in lists],
            "fields": [(h, *_field(row[c])) for c, h in below.items() if not _empty(row[c])],
        }
        for row in df.head(len(df) if max_rows is None else max_rows).to_dict("records")
    ]
    coded = [script_json(card) for card in cards]
    n = max(sum(size <= CARRIED for size in accumulate(len(c.encode()) for c in coded)), min(page, len(cards)))
    names = list(map(str, df[id].head(n))) if cards else []
    members = [(label, set(map(str, ids))) for label, ids in (groups or {}).items()]
    places = [(label, [i for i, name in enumerate(names) if name in ids]) for label, ids in members]
    places = [(label, found) for label, found in places if found]
    data = f'{{"page":{page},"groups":{script_json([p for _, p in places])},"cards":[{",".join(coded[:n])}]}}'
    chosen = [(label, anchor("group", label), len(found)) for label, found in places]
    listed = [c for c in (id, *texts) if c in df.columns]
    brief = df[listed].head(20).map(lambda v: plain(v)[:60]) if listed else df.head(0)
    return HtmlTable(
        str(macros().samples(cards[:page], n, len(df), caption, legend, chosen, Markup(data))),
        markdown_table(brief, caption=caption and f"{caption} ({len(df):,})"),
    )


def _text(text: str) -> Text:
    if len(text) <= LONG:
        return visible(text)
    cut = say(", the first {n:,} shown; the files beside the report hold all", n=CLIP) if len(text) > CLIP else ""
    return [visible(" ".join(text[:160].split())), say("{n:,} characters", n=len(text)) + cut, visible(text[:CLIP])]


def _lines(value: Any) -> str:
    """A cell as text: several texts below one another."""
    texts = isinstance(value, list) and all(isinstance(v, str) for v in value)
    return "\n".join(value) if texts else plain(value)


def _tag(column: str, value: Any) -> str:
    if value is True:
        return say(column.replace("_", " "))
    return "" if value is False else text_of(value)


def _json(value: Any) -> Any:
    """A column's JSON text as a value; text that is none stays text."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


def _tuples(value: Any) -> list[tuple[Text, Text | None, str, str, str]]:
    """ref, term (None: it has none), polarity, mark and its sign of each entry."""
    found = _json(value)
    out = []
    for entry in found if isinstance(found, list | tuple) else ():
        members = [text_of(m) for m in entry] if isinstance(entry, list | tuple) else [str(entry)]
        ref, term, polarity, mark = [*members, "", "", "", ""][:4]
        shown = _text(term) if len(members) > 1 else None
        mark = mark if mark in MARKS else ""
        out.append((_text(ref or say("(no ref)")), shown, visible(polarity), mark, MARKS.get(mark, "")))
    return out


def _empty(value: Any) -> bool:
    return is_null(value) or value in ("", "[]", "{}", [], (), {})


def _field(value: Any) -> tuple[bool, list[Text]]:
    """A field below the tuples: a list of objects as lines of "key: value" (true), else texts in one line."""
    found = _json(value)
    if isinstance(found, list) and found and all(isinstance(i, dict) for i in found):
        pairs = (", ".join(f"{k}: {_flat(v)}" for k, v in i.items() if v not in (None, "")) for i in found)
        return True, [_text(line) for line in pairs]
    if isinstance(found, list) and all(isinstance(i, str | int | float) for i in found):
        return False, [_text(str(i)) for i in found]
    lines = plain(value).split("\n")
    return len(lines) > 1, [_text(line) for line in lines]


def _flat(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
