"""Tables, headline cards and notices of the reports: plain frames in, escaped HTML out.

Whatever comes from data is shown as text: escaped, isolated from the direction of the text around it, with
invisible and bidirectional characters spelled out and long fields folded. Nothing in it becomes a link.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd
from markupsafe import Markup

from ..core.check import ALL_PASSED, LEVEL_WORDS, Check, check_lines
from ..core.language import say
from ..core.metric import MetricTable
from ..core.resampling import Resampling
from ..stats.bootstrap import monte_carlo_digits
from ..stats.intervals import MIN_UNITS
from .markdown import (
    ARROWS,
    Format,
    is_null,
    markdown_table,
    number,
    sort_key,
    struck,
    text_columns,
    text_of,
)
from .templates import in_cell, macros
from .text import anchor, safe, visible

WIDE = 60
"""Texts longer than this many characters get a wide column."""

ROWS = 200
"""Rows that a table shows."""

WORD = 36
"""Words up to this long are not broken."""

Kind = Literal["info", "warning", "error", "good"]


class Shown:
    """What shows itself as HTML in a notebook and a report, and as Markdown where there is no HTML."""

    def page(self) -> HtmlTable:
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return in_cell(self.page().html)

    def __repr__(self) -> str:
        return self.page().text

    def _repr_mimebundle_(
        self, include: Any = None, exclude: Any = None
    ) -> tuple[dict[str, str], dict[str, Any]]:
        made = self.page()  # once for both
        return {"text/html": in_cell(made.html), "text/plain": made.text}, {}


@dataclass(frozen=True, repr=False)
class HtmlTable(Shown):
    """A piece of a page."""

    html: str
    text: str
    frame: pd.DataFrame | None = None
    """The rows that it shows, where it shows rows."""

    def page(self) -> HtmlTable:
        return self


def table(
    df: pd.DataFrame,
    *,
    caption: str | None = None,
    columns: Mapping[str, str] | None = None,
    formats: Mapping[str, Format] | None = None,
) -> HtmlTable:
    """A frame as a table that sorts and filters in the report.

    `columns` picks, orders and names the columns (name -> header; by default all, their names being words of ours
    as the caption is: `core.words`); `formats` gives a
    format spec or a function a column; what a function returns as Markup is HTML already, all else is text. Beyond
    ROWS rows a line counts the rest.
    """
    caption = caption and say(caption)
    shown = df.head(ROWS)
    heads, texts, numeric = text_columns(shown, columns, formats)
    keys = [
        df[c] if pd.api.types.is_numeric_dtype(df[c]) else [None] * len(df) for c in columns or df
    ]
    cells = [
        [_cell(text, n, key) for text, key in zip(column, values)]
        for column, n, values in zip(texts, numeric, keys)
    ]
    html = macros().table(list(zip(heads, numeric)), list(zip(*cells)), len(df), caption)
    return HtmlTable(
        str(html), markdown_table(shown.head(20), columns=columns, formats=formats, caption=caption)
    )


def _cell(text: str, numeric: bool, value: Any) -> tuple[str, float | str | None, str]:
    """Class, sort key (None: its text) and content of a cell; `value` is the number that it shows, if it is one."""
    if numeric:
        return "et-num", None if value is None else sort_key(value), text
    return ("", None, text) if isinstance(text, Markup) else (_text_class(text), None, safe(text))


def _text_class(text: str) -> str:
    """How a text cell may be broken: an identifier not at all, words between words, a longer run anywhere."""
    longest = max(map(len, text.split()), default=0)
    if longest == len(text) <= WORD and text.isascii():
        return "et-id"
    return " ".join(
        [*(["et-wide"] if len(text) > WIDE else []), *(["et-words"] if longest <= WORD else [])]
    )


def estimates_table(
    estimates: pd.DataFrame,
    *,
    metrics: MetricTable | None = None,
    resampling: Resampling | None = None,
    caption: str | None = None,
    group: bool = True,
    aliases: bool = False,
    blocked: frozenset[str] = frozenset(),
) -> HtmlTable:
    """Every metric with its value, interval, numerator and denominator, n, method and direction.

    `estimates` has the columns of `bootstrap.estimate`, and may have condition, std, n_seeds, and title,
    description, source and alias_of; what it lacks of these four, `metrics` (the suite's table) gives. A metric that
    is another's alias is left out unless `aliases`. A value has three decimals and an interval as many as the
    Monte-Carlo error of its bounds supports. Null is N/A, what is `blocked` is struck and without an interval;
    fewer than MIN_UNITS units are marked "small n".
    """
    entries = {m.name: m for m in metrics or ()}
    rows, taken = [], set[str]()
    for e in estimates.to_dict("records"):
        entry = entries.get(e["metric"])
        about = {k: text_of(e.get(k)) or getattr(entry, k, None) or "" for k in ABOUT}
        about |= {k: say(about[k]) for k in ("title", "description")}
        if about["alias_of"]:
            about["title"] = f"= {about['alias_of']}"
        if aliases or not about["alias_of"]:
            id = anchor("metric", e["metric"])
            shown = _shown(e, resampling, e["metric"] in blocked)
            rows.append({**shown, **about, "id": "" if id in taken else id})
            taken.add(id)
    columns = _columns_with_content(estimates)
    if not group:
        columns = [column for column in columns if column != "group"]
    caption = caption and say(caption)
    html = macros().estimates(rows, columns, caption)
    said = [
        {**r, "metric": f"{r['title'] or r['metric']} {r['arrow']}".rstrip(), "id": r["metric"]}
        for r in rows
    ]
    return HtmlTable(str(html), markdown_table(_plain(said, columns, "id"), caption=caption))


ABOUT = ("title", "description", "source", "alias_of")
RAW = ("value", "ci_low", "std", "n_seeds", "numerator", "denominator", "n_units")


def _columns_with_content(estimates: pd.DataFrame) -> list[str]:
    """The columns of estimates; of those that a single run leaves empty only the ones that say something."""
    empty = []
    if "condition" in estimates and not estimates["condition"].astype(bool).any():
        empty.append("condition")
    if "std" in estimates and estimates["std"].isna().all():
        empty += ["std", "n_seeds"]
    return [str(column) for column in estimates.columns if column not in empty]


def plain_estimates(
    estimates: pd.DataFrame,
    resampling: Resampling | None = None,
    blocked: frozenset[str] = frozenset(),
) -> pd.DataFrame:
    """The estimates as text, a row a metric: metric, (condition,) value, interval, n, method."""
    rows = [_shown(e, resampling, e["metric"] in blocked) for e in estimates.to_dict("records")]
    return _plain(rows, _columns_with_content(estimates))


def _plain(rows: Sequence[Mapping[str, Any]], columns: Iterable[str], *more: str) -> pd.DataFrame:
    condition = ["condition"] if "condition" in columns else []
    return pd.DataFrame(
        rows,
        columns=["metric", *condition, "value", "interval", "n", "method", *more],
        dtype=object,
    )


def _shown(e: Mapping[Any, Any], resampling: Resampling | None, blocked: bool) -> dict[str, Any]:
    """What a reader sees of an estimate, as text; `raw` is the estimate itself, None for what it lacks."""
    if blocked:
        e = {**e, "ci_low": None, "ci_high": None, "std": None}
    digits = row_decimals(e, resampling)
    value = _value(e)
    arrow, direction = ARROWS.get(str(e.get("better")), ("", ""))
    raw: dict[str, Any] = {k: e.get(k) for k in RAW}
    parts = [raw["numerator"], raw["denominator"]]
    return {
        "raw": raw,
        "metric": str(e["metric"]),
        "group": say(text_of(e.get("group"))),
        "condition": text_of(e.get("condition")),
        "arrow": arrow,
        "direction": direction and say(direction),
        "value": struck(value) if blocked else value,
        "interval": interval(e, digits),
        "std": number(raw["std"], digits),
        "n_seeds": number(raw["n_seeds"], 0),
        "ratio": "" if any(map(is_null, parts)) else " / ".join(map(_short, parts)),
        "n": number(raw["n_units"], 0),
        "small": not is_null(raw["value"])
        and not is_null(raw["n_units"])
        and 0 < raw["n_units"] < MIN_UNITS,
        "method": text_of(e.get("ci_method")),
    }


def row_decimals(e: Any, resampling: Resampling | None = None) -> int:
    """Decimals to print for an interval: none for numbers from 1,000 on, else what its bounds support."""
    if _large(e.get("value")):
        return 0
    low, high = e.get("ci_low"), e.get("ci_high")
    if is_null(low) or is_null(high):
        return 3
    return min(3, monte_carlo_digits(high - low, resampling or Resampling()))


def interval(e: Any, decimals: int = 3, *, signed: bool = False) -> str:
    """ "[0.42, 0.65]" of ci_low and ci_high, "[+0.01, +0.07]" where `signed`, or "" where there is no interval."""
    bounds = e.get("ci_low"), e.get("ci_high")
    if any(map(is_null, bounds)):
        return ""
    return f"[{', '.join(number(float(b), decimals, signed=signed) for b in bounds)}]"


def _large(value: Any) -> bool:
    return not is_null(value) and abs(value) >= 1000


def _value(e: Any) -> str:
    value = e.get("value")
    counted = not is_null(value) and is_null(e.get("denominator")) and value == e.get("numerator")
    return (
        number(int(value), 0)
        if counted and value == int(value)
        else number(value, 0 if _large(value) else 3)
    )


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value - round(value)) < 1e-9 else f"{value:,.2f}"


def kpis(
    rows: pd.DataFrame,
    *,
    primary: str = "",
    blocked: frozenset[str] = frozenset(),
    resampling: Resampling | None = None,
) -> HtmlTable:
    """Cards of the headline metrics: title, value, interval, n and direction.

    Rows are estimates. The `primary` metric is shown large and first; those that are `blocked` small and struck,
    after the others.
    """
    cards: list[dict[str, Any]] = []
    for e in rows.to_dict("records"):
        off = e["metric"] in blocked
        title = say(text_of(e.get("title")) or str(e["metric"]))[:120]
        role = " et-blocked" if off else " et-primary" if e["metric"] == primary else ""
        about = {"id": anchor("metric", e["metric"]), "metric": title, "role": role}
        cards.append({**_shown(e, resampling, off), **about})
    cards.sort(key=lambda c: (" et-primary", "", " et-blocked").index(c["role"]))
    return HtmlTable(
        str(macros().kpis(cards)), markdown_table(_plain(cards, _columns_with_content(rows)))
    )


def checks_strip(found: Sequence[Check], problems: str = "") -> HtmlTable:
    """Whether the numbers can be believed: what a reader must know, the worst first, or that no check failed.

    `problems` is what was wrong with the input, "" where nothing was.
    """
    shown = [
        *found,
        *([Check("input", "warning", "input: {what}", {"what": problems})] if problems else []),
    ]
    rows = [
        {
            "lead": say(LEVEL_WORDS[c.level]),
            "text": c.text(),
            "help": c.help,
            "kind": KINDS[c.level],
        }
        for c in shown
    ]
    lines, fine = check_lines(shown), say(ALL_PASSED)
    return HtmlTable(str(macros().checks(rows, fine if fine in lines else "")), "\n".join(lines))


KINDS = {"blocking": "error", "warning": "warning", "info": "info"}
"""Level of a check -> its colour."""


def where_to_look(groups: Mapping[str, int]) -> HtmlTable:
    """Links to the groups of samples of the page: label -> how many; empty where there are none."""
    links = [
        (say("{n:,} {what}", n=n, what=_within(say(label))), anchor("group", label))
        for label, n in groups.items()
        if n
    ]
    if not links:
        return stack([])
    return HtmlTable(
        str(macros().look(links)),
        say("Where to look:") + " " + " · ".join(text for text, _ in links),
    )


def _within(label: str) -> str:
    """A label as it stands within a sentence: a name keeps its capitals."""
    return label[:1].lower() + label[1:] if label[1:2].islower() else label


VERDICTS = {
    "better": "good",
    "equivalent": "good",
    "pass": "good",
    "worse": "error",
    "fail": "error",
    "too few": "warning",
    "not measured": "warning",
}
"""The colours of words; all others are of the kind "info"."""


def verdict_line(verdict: str, title: str, said: str = "") -> str:
    """A verdict on a single metric (`Suite.verdicts`) as terminal and gate say it."""
    return f"{verdict}: {title}" + (f", {said}" if said else "")


def problems_text(problems: Sequence[Mapping[str, Any]]) -> str:
    """One line of the manifest's problem counts: "3 x bad-json (error), 1 x unknown-uid (warning)"; "" for none."""
    found = ({"n": p["count"], "code": p["code"], "severity": say(p["severity"])} for p in problems)
    return ", ".join(say("{n} x {code} ({severity})", **p) for p in found)


def run_line(name: str, suite: str, n: int, unit: str) -> HtmlTable:
    """The line that names a run: its name, the title of its suite, and how many units it has."""
    suite = say(suite)
    return HtmlTable(
        str(macros().run_line(name, suite, n, unit)),
        visible(f"{name} · {suite} · n = {n:,} ({unit})"),
    )


def signature_block(text: str) -> HtmlTable:
    """The signature line, ready to be copied."""
    return HtmlTable(str(macros().signature_block(text)), f"{say('signature')}: {visible(text)}")


def notice(text: str, kind: Kind = "info") -> HtmlTable:
    """A line that must not be overlooked: an incomplete run, what an interval claims, warnings of the input."""
    text = say(text)
    return HtmlTable(str(macros().notice(text, kind)), f"{say(kind)}: {visible(text)}")


def words(text: str) -> HtmlTable:
    """Paragraphs of plain text, split at empty lines."""
    paragraphs = list(map(say, text.split("\n\n")))
    return HtmlTable(str(macros().words(paragraphs)), "\n\n".join(paragraphs))


def verdict(text: str) -> HtmlTable:
    """The sentence that a page opens on: what came out."""
    return HtmlTable(str(macros().verdict(say(text))), say(text))


def no_rows(caption: str) -> HtmlTable:
    """In place of a table without rows."""
    return HtmlTable(str(macros().no_rows(say(caption))), say("{what}: none", what=say(caption)))


def folds(items: Iterable[tuple[str, Any]]) -> HtmlTable:
    """Pieces and figures one below the other, folded under their names but the first; what is empty is left out."""
    shown: list[HtmlTable] = []
    for name, item in items:
        piece = item if isinstance(item, HtmlTable) else HtmlTable(item.html, repr(item))
        if not is_nothing(piece.html):
            html = str(macros().fold(name, Markup(piece.html), not shown))
            shown.append(HtmlTable(html, f"{visible(name)}:\n\n{piece.text}"))
    return stack(shown)


def is_nothing(html: str) -> bool:
    """Whether a piece shows nothing but that there is nothing to show."""
    return NOTHING.fullmatch(html) is not None


NOTHING = re.compile(
    r'\s*(?:<div class="mathjax_ignore">)?(?:<p class="et-muted et-none">(?:(?!</p>).)*</p>\s*)*(?:</div>)?',
    re.DOTALL,
)


def stack(items: Iterable[HtmlTable], gap: str = "") -> HtmlTable:
    """Several pieces as one, one below the other; `gap` is HTML that stands between them."""
    found = list(items)
    return HtmlTable(gap.join(i.html for i in found), "\n\n".join(i.text for i in found))
