"""The sample browser of the reports: a card a sample, gold and predictions side by side."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from .plain import is_null, markdown_table, plain, text_of
from .tables import HtmlTable
from .templates import macros
from .text import anchor

MARKS = {"matched": "✓", "missing": "−", "spurious": "+"}


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
    max_rows: int = 100,
    anchors: str = "sample",
) -> HtmlTable:
    """A browser of samples: a card each, with its text, gold and predictions side by side, and what was done.

    `id`: the column that names the sample; `text`: the column of its text, or several with headers. `gold` and
    the `sides` (column -> header, as {"before": "Stage 1", "after": "Final"}) hold lists, or JSON text of lists, of
    [ref, term, polarity] or [ref, term, polarity, mark]: "matched", "missing" or "spurious", no mark where it is
    none of these. An empty term is an implicit one. `chips` are columns shown as tags (a bool shows its name where
    true); `fields` (column -> header) go below: JSON or text. Beyond `max_rows` cards a line counts the rest.
    """
    texts = {text: ""} if isinstance(text, str) else dict(text or {})
    lists = [(c, h) for c, h in [(gold, "Gold"), *(sides or {}).items()] if c in df.columns]
    below = {c: h for c, h in (fields or {}).items() if c in df.columns}
    cards = [
        {
            "id": anchor(anchors, row[id]),
            "name": str(row[id])[:120],
            "tags": [t for c in chips if c in row and (t := _tag(c, row[c]))],
            "texts": [(h, plain(row.get(c))) for c, h in texts.items()],
            "sides": [(h, _tuples(row[c])) for c, h in lists],
            "fields": [(h, *_field(row[c])) for c, h in below.items() if not _empty(row[c])],
        }
        for row in df.head(max_rows).to_dict("records")
    ]
    listed = [c for c in (id, *texts) if c in df.columns]
    brief = df[listed].head(20).map(lambda v: plain(v)[:60]) if listed else df.head(0)
    return HtmlTable(
        str(macros().samples(cards, len(df), caption)),
        markdown_table(brief, caption=caption and f"{caption} ({len(df):,})"),
    )


def _tag(column: str, value: Any) -> str:
    if value is True:
        return column.replace("_", " ")
    return "" if value is False else text_of(value)


def _json(value: Any) -> Any:
    """A column's JSON text as a value; text that is none stays text."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


def _tuples(value: Any) -> list[tuple[str, str | None, str, str, str]]:
    """ref, term (None: it has none), polarity, mark and its sign of each entry."""
    found = _json(value)
    out = []
    for entry in found if isinstance(found, list | tuple) else ():
        members = [text_of(m) for m in entry] if isinstance(entry, list | tuple) else [str(entry)]
        ref, term, polarity, mark = [*members, "", "", "", ""][:4]
        mark = mark if mark in MARKS else ""
        out.append((ref, term if len(members) > 1 else None, polarity, mark, MARKS.get(mark, "")))
    return out


def _empty(value: Any) -> bool:
    return is_null(value) or value in ("", "[]", "{}", [], (), {})


def _field(value: Any) -> tuple[bool, list[str]]:
    """A field below the tuples: a list of objects as lines of "key: value" (true), else texts in one line."""
    found = _json(value)
    if isinstance(found, list) and found and all(isinstance(i, dict) for i in found):
        return True, [", ".join(f"{k}: {_flat(v)}" for k, v in i.items() if v not in (None, "")) for i in found]
    if isinstance(found, list) and all(isinstance(i, str | int | float) for i in found):
        return False, [str(i) for i in found]
    return False, [plain(value)]


def _flat(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
