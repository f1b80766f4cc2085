"""The sample browser of the reports: a card a sample, gold and predictions side by side."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from markupsafe import Markup

from .plain import is_null, markdown_table, plain
from .tables import HtmlTable
from .text import anchor, marked, safe

MARKS = {"matched": "✓", "missing": "−", "spurious": "+"}


def samples(
    df: pd.DataFrame,
    *,
    id: str = "text_id",
    text: str | Mapping[str, str] | None = "text",
    gold: str | None = "gold",
    sides: Mapping[str, str] | None = None,
    on: Sequence[int] = (0, 2),
    chips: Sequence[str] = (),
    fields: Mapping[str, str] | None = None,
    caption: str | None = None,
    max_rows: int = 100,
    anchors: str = "sample",
) -> HtmlTable:
    """A browser of samples: a card each, with its text, gold and predictions side by side, and what was done.

    `id`: the column that names the sample; `text`: the column of its text, or several with headers. `gold` and
    the `sides` (column -> header, as {"before": "Stage 1", "after": "Final"}) hold JSON lists of
    [ref, term, polarity]; a fourth member "matched", "missing" or "spurious" overrules the marking, which
    otherwise compares the members at the places `on` (blanks and case aside; an empty gold term is matched by
    the rest alone, one to one). `chips` are columns shown as tags (a bool shows its name where true); `fields`
    (column -> header) go below: JSON or text. Beyond `max_rows` cards a line counts the rest.
    """
    texts = {text: ""} if isinstance(text, str) else dict(text or {})
    sides = {c: h for c, h in (sides or {}).items() if c in df.columns}
    cards = [
        _card(row, id, texts, gold, sides, on, chips, fields or {}, anchors)
        for row in df.head(max_rows).to_dict("records")
    ]
    rest = Markup("")
    if len(df) > len(cards):
        rest = Markup('<p class="et-muted">{:,} of {:,} shown; units.parquet holds them all.</p>')
        rest = rest.format(len(cards), len(df))
    html = Markup('<section class="et-samples">{}{}{}</section>').format(
        Markup('<h3 class="et-caption">{} ({:,})</h3>').format(marked(caption), len(df)) if caption else "",
        Markup("").join(cards) or Markup('<p class="et-muted">no samples</p>'),
        rest,
    )
    listed = [c for c in (id, *texts) if c in df.columns]
    brief = df[listed].head(20).map(lambda v: plain(v)[:60]) if listed else df.head(0)
    return HtmlTable(str(html), markdown_table(brief, caption=caption and f"{caption} ({len(df):,})"))


def _card(
    row: Mapping[Any, Any],
    id: str,
    texts: Mapping[str, str],
    gold: str | None,
    sides: Mapping[str, str],
    on: Sequence[int],
    chips: Sequence[str],
    fields: Mapping[str, str],
    anchors: str,
) -> Markup:
    name = anchor(anchors, row[id])
    tags = [c.replace("_", " ") if row[c] is True else str(row[c]) for c in chips if c in row and _tagged(row[c])]
    golden = _tuples(row[gold]) if gold and gold in row else None
    columns = []
    if golden is not None:
        found = [_tuples(row[c]) for c in sides][-1:] or [[]]
        columns.append(("Gold", _marks(golden, found[0], on)[0] if found[0] or sides else golden))
    for column, header in sides.items():
        predicted = _tuples(row[column])
        columns.append((header, predicted if golden is None else _marks(golden, predicted, on)[1]))
    parts = [
        Markup('<div class="et-text">{}{}</div>').format(_head(h), safe(plain(row.get(c)))) for c, h in texts.items()
    ]
    if columns:
        boxes = Markup("").join(
            Markup('<div class="et-side"><span class="et-sub">{}</span>{}</div>').format(marked(h), _tuple_list(t))
            for h, t in columns
        )
        parts.append(Markup('<div class="et-sides">{}</div>').format(boxes))
    for column, header in fields.items():
        value = row.get(column)
        if is_null(value) or value in ("", "[]", "{}"):
            continue
        parts.append(
            Markup('<div class="et-field"><span class="et-sub">{}</span> {}</div>').format(
                marked(header), _field(value)
            )
        )
    return Markup('<article class="et-sample" id="{}"><header><a href="#{}">{}</a>{}</header>{}</article>').format(
        name,
        name,
        marked(str(row[id])[:120]),
        Markup("").join(Markup(' <span class="et-chip">{}</span>').format(marked(t)) for t in tags),
        Markup("").join(parts),
    )


def _head(header: str) -> Markup | str:
    return Markup('<span class="et-sub">{}</span>').format(marked(header)) if header else ""


def _tagged(value: Any) -> bool:
    return not is_null(value) and value is not False and value != ""


def _json(value: Any) -> Any:
    """A column's JSON text as a value; text that is none stays text."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


def _tuples(value: Any) -> list[list[str]]:
    found = _json(value)
    if not isinstance(found, list):
        return []
    return [["" if m is None else str(m) for m in t] if isinstance(t, list) else [str(t)] for t in found]


def _key(entry: Sequence[str], on: Sequence[int]) -> tuple[str, ...]:
    return tuple("".join(entry[i].casefold().split()) if i < len(entry) else "" for i in on)


def _marks(
    gold: list[list[str]], predicted: list[list[str]], on: Sequence[int]
) -> tuple[list[list[str]], list[list[str]]]:
    """Both lists with a fourth member: gold is matched or missing, a prediction matched or spurious."""
    golds, preds = [_key(g, on) for g in gold], [_key(p, on) for p in predicted]
    exact = set(golds) & set(preds)
    spare = [i for i, p in enumerate(preds) if p not in exact]
    gold_marks = ["matched" if g in exact else "missing" for g in golds]
    pred_marks = ["matched" if p in exact else "spurious" for p in preds]
    for i, (entry, key) in enumerate(zip(gold, golds)):
        if gold_marks[i] == "missing" and 1 in on and len(entry) > 1 and not entry[1].strip():
            place = list(on).index(1)
            match = next((j for j in spare if _without(preds[j], place) == _without(key, place)), None)
            if match is not None:
                spare.remove(match)
                gold_marks[i] = pred_marks[match] = "matched"
    return _with_marks(gold, gold_marks), _with_marks(predicted, pred_marks)


def _without(key: tuple[str, ...], place: int) -> tuple[str, ...]:
    return key[:place] + key[place + 1 :]


def _with_marks(entries: list[list[str]], marks: list[str]) -> list[list[str]]:
    return [e if len(e) > 3 and e[3] in MARKS else [*[*e, "", ""][:3], m] for e, m in zip(entries, marks)]


def _tuple_list(entries: list[list[str]]) -> Markup:
    if not entries:
        return Markup('<p class="et-muted">none</p>')
    items = []
    for entry in entries:
        mark = entry[3] if len(entry) > 3 and entry[3] in MARKS else ""
        ref, term, polarity = ([*entry[:3], "", ""])[:3]
        items.append(
            Markup('<li class="et-tuple {}">{}{}{}{}</li>').format(
                f"et-{mark}" if mark else "",
                Markup('<span class="et-mark" title="{}">{}</span><span class="et-hidden">{}: </span>').format(
                    mark, MARKS[mark], mark
                )
                if mark
                else "",
                safe(ref or "(no ref)"),
                Markup(" · {}").format(safe(term) if term else Markup('<i class="et-muted">implicit</i>'))
                if len(entry) > 1
                else "",
                Markup(' <span class="et-chip et-pol">{}</span>').format(marked(polarity)) if polarity else "",
            )
        )
    return Markup('<ul class="et-tuples">{}</ul>').format(Markup("").join(items))


def _field(value: Any) -> Markup:
    """A field below the tuples: a JSON list of objects as lines of "key: value", else text."""
    found = _json(value)
    if isinstance(found, list) and found and all(isinstance(i, dict) for i in found):
        lines = [
            Markup("<li>{}</li>").format(
                safe(", ".join(f"{k}: {_flat(v)}" for k, v in i.items() if v not in (None, "")))
            )
            for i in found
        ]
        return Markup('<ul class="et-lines">{}</ul>').format(Markup("").join(lines))
    if isinstance(found, list) and all(isinstance(i, str | int | float) for i in found):
        return Markup(", ").join(safe(i) for i in found)
    return safe(plain(value))


def _flat(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
