"""Tables, headline cards and notices of the reports: plain frames in, escaped HTML out.

Whatever comes from data is shown as text: escaped, isolated from the direction of the text around it, with
invisible and bidirectional characters spelled out and long fields folded. Nothing in it becomes a link.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import pandas as pd
from markupsafe import Markup

from ..core.metric import MetricTable
from ..stats.intervals import MIN_UNITS, Resampling, monte_carlo_digits
from .plain import Format, is_null, markdown_table, number, plain, text_column
from .plain import latex_table as latex_table
from .text import anchor, marked, safe, visible

WIDE = 60
"""Texts longer than this many characters get a wide column."""

WORD = 36
"""Words up to this long are not broken."""

FIGURES = re.compile(r"[-+]?\d[-+\d.,±%\[\] ]{0,40}|N/A")
"""Texts of numbers only ("0.52 ± 0.01", "+0.03 [-0.01, +0.07]"), which are not broken over lines."""

TALL = 25
"""Tables of more rows than this scroll in a box of their own."""

ARROWS = {"higher": ("↑", "higher is better"), "lower": ("↓", "lower is better")}

Kind = Literal["info", "warning", "error", "good"]


@dataclass(frozen=True)
class HtmlTable:
    """Something that shows itself as HTML in a notebook and a report, and as Markdown where there is no HTML."""

    html: str
    text: str

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return self.text

    def __str__(self) -> str:
        return self.text


def table(
    df: pd.DataFrame,
    *,
    caption: str | None = None,
    columns: Mapping[str, str] | None = None,
    formats: Mapping[str, Format] | None = None,
    max_rows: int = 200,
    sortable: bool = True,
    anchors: str | None = None,
) -> HtmlTable:
    """A frame as a table that sorts and filters in the report.

    `columns` picks, orders and names the columns (name -> header; all as they are by default); `formats` gives a
    format spec or a function a column; what a function returns as Markup is HTML already, all else is text. With
    `anchors` (a prefix, as "metric") each row has an id made from its first column. Beyond `max_rows` rows a line
    counts the rest.
    """
    heads = dict(columns) if columns is not None else {c: str(c) for c in df.columns}
    missing = [c for c in heads if c not in df.columns]
    if missing:
        raise KeyError(f"the table lacks the columns {missing}")
    forms = formats or {}
    shown = df.head(max_rows)
    cells_of = {c: text_column(shown[c]) for c in heads}
    numeric = {c: pd.api.types.is_numeric_dtype(df[c]) and not pd.api.types.is_bool_dtype(df[c]) for c in heads}
    head = Markup("").join(
        Markup("<th{}>{}</th>").format(Markup(' class="et-num"') if numeric[c] else "", marked(h))
        for c, h in heads.items()
    )
    body = []
    for row in zip(*cells_of.values()):
        tag = Markup(' id="{}"').format(anchor(anchors, row[0])) if anchors else ""
        cells = Markup("").join(_cell(v, forms.get(c), numeric[c]) for v, c in zip(row, heads))
        body.append(Markup("<tr{}>{}</tr>").format(tag, cells))
    html = _table_html(head, body, caption, len(df), sortable)
    return HtmlTable(html, markdown_table(shown[list(heads)].head(20), columns=heads, formats=forms, caption=caption))


def _cell(value: Any, form: Format | None, numeric: bool) -> Markup:
    text = plain(value, form)
    if isinstance(text, Markup):
        return Markup("<td>{}</td>").format(text)
    if not numeric and FIGURES.fullmatch(text):
        return Markup('<td class="et-num">{}</td>').format(text)
    if not numeric:
        return Markup("<td{}>{}</td>").format(_text_class(text), safe(text))
    return Markup('<td class="et-num" data-sort="{}">{}</td>').format("" if is_null(value) else float(value), text)


def _text_class(text: str) -> Markup:
    """How a text cell may be broken: an identifier not at all, words between words, a longer run anywhere."""
    longest = max(map(len, text.split()), default=0)
    if longest == len(text) <= WORD and text.isascii():
        return Markup(' class="et-id"')
    kinds = [*(["et-wide"] if len(text) > WIDE else []), *(["et-words"] if longest <= WORD else [])]
    return Markup(' class="{}"').format(" ".join(kinds)) if kinds else Markup("")


def _table_html(head: Markup, body: Sequence[Markup], caption: str | None, total: int, sortable: bool) -> str:
    if not body:
        body = [Markup('<tr><td colspan="99" class="et-muted">no rows</td></tr>')]
        sortable = False
    elif total > len(body):
        rest = Markup('<p class="et-muted">{:,} of {:,} rows shown; the files beside this report hold them all.</p>')
        return _table_html(head, body, caption, len(body), sortable) + str(rest.format(len(body), total))
    return str(
        Markup(
            '<div class="et-box{}" tabindex="0" role="group"{}><table class="et-table{}">{}'
            "<thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>"
        ).format(
            " et-tall" if len(body) > TALL else "",
            Markup(' aria-label="{}"').format(visible(caption)) if caption else Markup(' aria-label="table"'),
            " sortable n-last" if sortable else "",
            Markup("<caption>{}</caption>").format(marked(caption)) if caption else "",
            head,
            Markup("").join(body),
        )
    )


def estimates_table(
    estimates: pd.DataFrame,
    *,
    metrics: MetricTable | None = None,
    decimals: int | None = None,
    resampling: Resampling | None = None,
    caption: str | None = None,
    group: bool = True,
) -> HtmlTable:
    """Every metric with its value, interval, numerator and denominator, n, method and direction.

    `estimates` has the columns of `bootstrap.estimate`, and may have title, condition, std, n_seeds. `metrics`
    (the suite's table) gives titles and sources. Without `decimals` a value has three and an interval as many as
    the Monte-Carlo error of its bounds supports. Null is N/A; fewer than MIN_UNITS units are marked "small n".
    """
    entries = {m.name: m for m in metrics or ()}
    rows = []
    for e in estimates.to_dict("records"):
        entry = entries.get(e["name"])
        title = e.get("title") or (entry.title if entry else "")
        digits = row_decimals(e, decimals, resampling)
        small = not is_null(e.get("value")) and 0 < e.get("n_units", MIN_UNITS) < MIN_UNITS
        row = {
            "Metric": _metric_cell(e, title, entry.source if entry else "", small),
            **({"Group": _td(e.get("group") or "")} if group and "group" in estimates else {}),
            **({"Condition": _td(e["condition"])} if "condition" in estimates else {}),
            "": _arrow(e.get("better")),
            "Value": _sorted(e.get("value"), _value(e, decimals)),
            "Interval": _sorted(e.get("ci_low"), interval(e, digits)),
            **({"Std over seeds": _sorted(e["std"], number(e["std"], digits))} if "std" in estimates else {}),
            **({"Seeds": _sorted(e["n_seeds"], number(e["n_seeds"], 0))} if "n_seeds" in estimates else {}),
            "From": _ratio(e),
            "n": _sorted(e.get("n_units"), number(e.get("n_units"), 0)),
            "Method": _td(e.get("ci_method", "")),
        }
        rows.append((anchor("metric", e["name"]), row))
    heads = list(rows[0][1]) if rows else ["Metric", "Value", "Interval"]
    right = {"Value", "Interval", "From", "n", "Seeds", "Std over seeds"}
    head = Markup("").join(
        Markup("<th{}>{}</th>").format(Markup(' class="et-num"') if h in right else "", h or Markup(_DIRECTION))
        for h in heads
    )
    body, taken = [], Counter[str]()
    for name, row in rows:
        taken[name] += 1
        tag = Markup(' id="{}"').format(name) if taken[name] == 1 else ""
        cells = Markup("").join(row.values())
        body.append(Markup("<tr{}>{}</tr>").format(tag, cells))
    html = _table_html(head, body, caption, len(body), True)
    return HtmlTable(html, markdown_table(plain_estimates(estimates, decimals, resampling), caption=caption))


_DIRECTION = '<span class="et-hidden">better</span>'


def plain_estimates(
    estimates: pd.DataFrame, decimals: int | None = None, resampling: Resampling | None = None
) -> pd.DataFrame:
    """The estimates as text, a row a metric: metric, (condition,) value, interval, n, method."""
    rows = []
    for e in estimates.to_dict("records"):
        digits = row_decimals(e, decimals, resampling)
        rows.append(
            {
                "metric": e["name"],
                **({"condition": e["condition"]} if "condition" in estimates else {}),
                "value": _value(e, decimals),
                "interval": interval(e, digits),
                "n": number(e.get("n_units"), 0),
                "method": e.get("ci_method", ""),
            }
        )
    return pd.DataFrame(rows, dtype=object)


def row_decimals(e: Any, decimals: int | None = None, resampling: Resampling | None = None) -> int:
    """Decimals to print for an interval: none for numbers from 1,000 on, else what its bounds support."""
    if decimals is not None:
        return decimals
    value = e.get("value")
    if not is_null(value) and abs(value) >= 1000:
        return 0
    if is_null(e.get("ci_low")):
        return 3
    bounds = pd.DataFrame({"ci_low": [e["ci_low"]], "ci_high": [e.get("ci_high")]}, dtype=float)
    return min(3, monte_carlo_digits(bounds, resampling or Resampling()))


def interval(e: Any, decimals: int) -> str:
    """ "[0.42, 0.65]", or "" where there is no interval."""
    if is_null(e.get("ci_low")) or is_null(e.get("ci_high")):
        return ""
    return f"[{number(float(e['ci_low']), decimals)}, {number(float(e['ci_high']), decimals)}]"


def _value(e: Any, decimals: int | None) -> str:
    value = e.get("value")
    if decimals is None:
        decimals = 0 if not is_null(value) and abs(value) >= 1000 else 3
    counted = not is_null(value) and is_null(e.get("denominator")) and value == e.get("numerator")
    return number(int(value), 0) if counted and value == int(value) else number(value, decimals)


def _metric_cell(e: Any, title: str, source: str, small: bool) -> Markup:
    name = Markup("<code>{}</code>").format(marked(str(e["name"])))
    return Markup('<td data-sort="{}"><span class="et-name">{}</span>{}{}</td>').format(
        visible(str(e["name"])),
        safe(title) if title else name,
        Markup(" {}").format(_SMALL) if small else "",
        Markup('<span class="et-sub">{}{}</span>').format(name if title else "", f" {source}" if source else "")
        if title or source
        else "",
    )


_SMALL = Markup('<span class="et-chip et-warning">small n</span>')


def _td(value: Any) -> Markup:
    return Markup("<td>{}</td>").format(safe(value))


def _arrow(better: Any) -> Markup:
    sign, words = ARROWS.get(str(better), ("", ""))
    return Markup('<td class="et-arrow" data-sort="{}"><span title="{}">{}</span>{}</td>').format(
        words, words, sign, Markup('<span class="et-hidden">{}</span>').format(words) if words else ""
    )


def _sorted(value: Any, text: str) -> Markup:
    key = "" if is_null(value) or not isinstance(value, Real) else float(value)
    return Markup('<td class="et-num" data-sort="{}">{}</td>').format(key, text)


def _ratio(e: Any) -> Markup:
    numerator, denominator = e.get("numerator"), e.get("denominator")
    if is_null(numerator) or is_null(denominator):
        return _sorted(None, "")
    return _sorted(denominator, f"{_short(numerator)} / {_short(denominator)}")


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value - round(value)) < 1e-9 else f"{value:,.2f}"


def kpis(rows: pd.DataFrame | Iterable[Mapping[str, Any]], *, decimals: int | None = None) -> HtmlTable:
    """Cards of the headline metrics: title, value, interval, n, direction, and what a comparison said of it.

    Rows are estimates; title, verdict (better, worse, tied, not measured) and note are shown where given.
    """
    frame = rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(list(rows))
    cards = []
    for e in frame.to_dict("records"):
        digits = row_decimals(e, decimals)
        sign, words = ARROWS.get(str(e.get("better")), ("", ""))
        verdict, note = e.get("verdict"), e.get("note")
        n: Any = e.get("n_units")
        cards.append(
            Markup(
                '<a class="et-kpi" href="#{}"><span class="et-kpi-title">{} <span title="{}">{}</span></span>'
                '<span class="et-kpi-value">{}</span><span class="et-kpi-ci">{}</span>{}{}</a>'
            ).format(
                anchor("metric", e["name"]),
                marked(str(e.get("title") or e["name"])[:120]),
                words,
                sign,
                _value(e, decimals),
                interval(e, digits) or ("" if is_null(e.get("value")) else "no interval"),
                "" if is_null(n) else Markup('<span class="et-sub">n = {}</span>').format(f"{int(n):,}"),
                Markup("").join(
                    Markup('<span class="et-chip et-{}">{}</span>').format(
                        VERDICTS.get(str(v), "info"), visible(str(v))
                    )
                    for v in (verdict, note)
                    if not is_null(v) and v != ""
                ),
            )
        )
    html = Markup('<div class="et-kpis">{}</div>').format(Markup("").join(cards) or "no headline metrics")
    return HtmlTable(str(html), markdown_table(plain_estimates(frame, decimals)))


VERDICTS = {
    "better": "good",
    "worse": "error",
    "tied": "info",
    "not measured": "warning",
    "pass": "good",
    "fail": "error",
}


def result_html(result: Any) -> str:
    """A `Result` at a glance: run, suite, n, problems of the input, headline metrics, signature."""
    table_of = result.suite.metrics(result.options)
    found = result.manifest.get("problems", [])
    head = Markup('<p class="et-run"><strong>{}</strong> · {} · n = {:,} ({})</p>').format(
        safe(result.name), result.suite.title, result.n_units, result.suite.unit
    )
    notes = Markup("")
    if found:
        notes = Markup(notice(problems_text(found), "warning").html)
    headline = estimates_table(result.headline, metrics=table_of, resampling=result.resampling, group=False)
    return str(
        Markup('<div class="et-result">{}{}{}{}</div>').format(
            head, notes, Markup(headline.html), Markup(signature_block(result.signature).html)
        )
    )


def problems_text(problems: Sequence[Mapping[str, Any]]) -> str:
    """One line of the manifest's problem counts: "3 x bad-json (error), 1 x unknown-uid (warning)"."""
    return ", ".join(f"{p['count']} x {p['code']} ({p['severity']})" for p in problems) + " in the input"


def signature_block(text: str) -> HtmlTable:
    """The signature line, ready to be copied."""
    html = Markup('<div class="et-signature"><span class="et-muted">signature</span> <code>{}</code></div>')
    return HtmlTable(str(html.format(visible(text))), f"signature: {text}")


def notice(text: str, kind: Kind = "info") -> HtmlTable:
    """A line that must not be overlooked: an incomplete run, what an interval claims, warnings of the input."""
    html = Markup('<div class="et-notice et-{}" role="note">{}</div>').format(kind, safe(text))
    return HtmlTable(str(html), f"{kind}: {visible(text)}")
