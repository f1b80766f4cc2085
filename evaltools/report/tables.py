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

from ..core.estimates import is_null
from ..core.language import say
from ..core.metric import MetricTable
from ..core.resampling import Resampling
from ..stats.bootstrap import monte_carlo_digits
from ..stats.intervals import MIN_UNITS
from .markdown import (
    ARROWS,
    Format,
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

TEXT_ROWS = 20
"""Rows that a table shows as text."""

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
        piece = self.page()  # once for both
        return {"text/html": in_cell(piece.html), "text/plain": piece.text}, {}


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
    cells = []
    for column, column_texts, is_numeric in zip(columns or df, texts, numeric):
        numbers = [None] * len(shown)
        if pd.api.types.is_numeric_dtype(shown[column]):
            numbers = shown[column].tolist()
        column_cells = []
        for text, value in zip(column_texts, numbers):
            column_cells.append(_cell(text, is_numeric, value))
        cells.append(column_cells)
    rows = list(zip(*cells))
    html = macros().table(list(zip(heads, numeric)), rows, len(df), caption)
    text = markdown_table(
        shown.head(TEXT_ROWS),
        columns=columns,
        formats=formats,
        caption=caption,
    )
    return HtmlTable(str(html), text)


def _cell(
    text: str,
    numeric: bool,
    value: Any,
) -> tuple[str, float | str | None, str]:
    """Class, sort key (None: its text) and content of a cell; `value` is the number that it shows, if it is one."""
    if numeric:
        return "et-num", None if value is None else sort_key(value), text
    if isinstance(text, Markup):
        return "", None, text
    return _text_class(text), None, safe(text)


def _text_class(text: str) -> str:
    """How a text cell may be broken: an identifier not at all, words between words, a longer run anywhere."""
    longest = max(map(len, text.split()), default=0)
    if longest == len(text) <= WORD and text.isascii():
        return "et-id"
    classes = []
    if len(text) > WIDE:
        classes.append("et-wide")
    if longest <= WORD:
        classes.append("et-words")
    return " ".join(classes)


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
    entries = {metric.name: metric for metric in metrics or ()}
    rows = []
    text_rows = []
    ids = set[str]()
    for estimate in estimates.to_dict("records"):
        name = estimate["metric"]
        about = _about(estimate, entries.get(name))
        if about["alias_of"] and not aliases:
            continue
        id = anchor("metric", name)
        row = {**_shown(estimate, resampling, name in blocked), **about}
        title = f"{row['title'] or name} {row['arrow']}".rstrip()
        rows.append({**row, "id": "" if id in ids else id})
        text_rows.append({**row, "metric": title, "id": name})
        ids.add(id)
    columns = _columns_with_content(estimates)
    if not group:
        columns = [column for column in columns if column != "group"]
    caption = caption and say(caption)
    html = macros().estimates(rows, columns, caption)
    text = markdown_table(_plain(text_rows, columns, "id"), caption=caption)
    return HtmlTable(str(html), text)


def _about(estimate: Mapping[Any, Any], entry: Any) -> dict[str, str]:
    """What the estimate, or else the metric's entry in its suite's table, says of the metric; see ABOUT."""
    about = {}
    for key in ABOUT:
        about[key] = text_of(estimate.get(key)) or getattr(entry, key, None) or ""
    about["title"] = say(about["title"])
    about["description"] = say(about["description"])
    if about["alias_of"]:
        about["title"] = f"= {about['alias_of']}"
    return about


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
    rows = []
    for estimate in estimates.to_dict("records"):
        rows.append(_shown(estimate, resampling, estimate["metric"] in blocked))
    return _plain(rows, _columns_with_content(estimates))


def _plain(
    rows: Sequence[Mapping[str, Any]],
    columns: Iterable[str],
    *more: str,
) -> pd.DataFrame:
    """Some of what `_shown` gives, as a frame."""
    shown = ["metric", "value", "interval", "n", "method", *more]
    if "condition" in columns:
        shown.insert(1, "condition")
    return pd.DataFrame(rows, columns=shown, dtype=object)


def _shown(
    estimate: Mapping[Any, Any],
    resampling: Resampling | None,
    blocked: bool,
) -> dict[str, Any]:
    """What a reader sees of an estimate, as text; `raw` is the estimate itself, None for what it lacks."""
    if blocked:
        estimate = {**estimate, "ci_low": None, "ci_high": None, "std": None}
    digits = row_decimals(estimate, resampling)
    value = _value(estimate)
    arrow, direction = ARROWS.get(str(estimate.get("better")), ("", ""))
    raw: dict[str, Any] = {key: estimate.get(key) for key in RAW}
    n_units = raw["n_units"]
    measured = not is_null(raw["value"]) and not is_null(n_units)
    return {
        "raw": raw,
        "metric": str(estimate["metric"]),
        "group": say(text_of(estimate.get("group"))),
        "condition": text_of(estimate.get("condition")),
        "arrow": arrow,
        "direction": direction and say(direction),
        "value": struck(value) if blocked else value,
        "interval": interval(estimate, digits),
        "std": number(raw["std"], digits),
        "n_seeds": number(raw["n_seeds"], 0),
        "ratio": _ratio(raw["numerator"], raw["denominator"]),
        "n": number(n_units, 0),
        "small": measured and 0 < n_units < MIN_UNITS,
        "method": text_of(estimate.get("ci_method")),
    }


def _ratio(numerator: float | None, denominator: float | None) -> str:
    """ "3 / 7", or "" where one of them is null."""
    if is_null(numerator) or is_null(denominator):
        return ""
    return f"{_short(numerator)} / {_short(denominator)}"


def row_decimals(e: Any, resampling: Resampling | None = None) -> int:
    """Decimals to print for an interval: none for numbers from 1,000 on, else what its bounds support."""
    if _large(e.get("value")):
        return 0
    low, high = e.get("ci_low"), e.get("ci_high")
    if is_null(low) or is_null(high):
        return 3
    return min(3, monte_carlo_digits(high - low, resampling or Resampling()))


def interval(
    e: Any,
    decimals: int = 3,
    *,
    signed: bool = False,
) -> str:
    """ "[0.42, 0.65]" of ci_low and ci_high, "[+0.01, +0.07]" where `signed`, or "" where there is no interval."""
    low, high = e.get("ci_low"), e.get("ci_high")
    if is_null(low) or is_null(high):
        return ""
    low_text = number(float(low), decimals, signed=signed)
    high_text = number(float(high), decimals, signed=signed)
    return f"[{low_text}, {high_text}]"


def _large(value: Any) -> bool:
    return not is_null(value) and abs(value) >= 1000


def _value(estimate: Mapping[Any, Any]) -> str:
    """The value as printed: a count and a number from 1,000 on whole, else with three decimals."""
    value: Any = estimate.get("value")
    if is_null(value):
        return number(value)
    is_count = is_null(estimate.get("denominator")) and value == estimate.get("numerator")
    if is_count and value == int(value):
        return number(int(value), 0)
    return number(value, 0 if _large(value) else 3)


def _short(value: Any) -> str:
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
    for estimate in rows.to_dict("records"):
        name = estimate["metric"]
        is_blocked = name in blocked
        role = " et-primary" if name == primary else ""
        if is_blocked:
            role = " et-blocked"
        card = _shown(estimate, resampling, is_blocked)
        card["id"] = anchor("metric", name)
        card["metric"] = say(text_of(estimate.get("title")) or str(name))[:120]
        card["role"] = role
        cards.append(card)
    cards.sort(key=lambda card: ROLES.index(card["role"]))
    text = markdown_table(_plain(cards, _columns_with_content(rows)))
    return HtmlTable(str(macros().kpis(cards)), text)


ROLES = (" et-primary", "", " et-blocked")
"""Style classes of the cards of metrics, in their order."""


def where_to_look(groups: Mapping[str, int]) -> HtmlTable:
    """Links to the groups of samples of the page: label -> how many; empty where there are none."""
    links = []
    for label, n in groups.items():
        if n:
            text = say("{n:,} {what}", n=n, what=_within(say(label)))
            links.append((text, anchor("group", label)))
    if not links:
        return stack([])
    texts = [text for text, _ in links]
    return HtmlTable(str(macros().look(links)), f"{say('Where to look:')} {' · '.join(texts)}")


def _within(label: str) -> str:
    """A label as it stands within a sentence: a name keeps its capitals."""
    return label[:1].lower() + label[1:] if label[1:2].islower() else label


VERDICTS = {
    "better": "good",
    "equivalent": "good",
    "pass": "good",
    "worse": "error",
    "fail": "error",
    "look": "warning",
    "too few": "warning",
    "not measured": "warning",
}
"""The colours of words; all others are of the kind "info"."""


def verdict_line(verdict: str, title: str, reason: str = "") -> str:
    """A verdict on a single metric (`Suite.verdicts`) as terminal and gate say it."""
    line = f"{say(verdict)}: {say(title)}"
    return f"{line}, {say(reason)}" if reason else line


def problems_text(problems: Sequence[Mapping[str, Any]]) -> str:
    """One line of the manifest's problem counts: "3 x bad-json (error), 1 x unknown-uid (warning)"; "" for none."""
    texts = []
    for problem in problems:
        text = say(
            "{n} x {code} ({severity})",
            n=problem["count"],
            code=problem["code"],
            severity=say(problem["severity"]),
        )
        texts.append(text)
    return ", ".join(texts)


def run_line(
    name: str,
    suite: str,
    n: int,
    unit: str,
) -> HtmlTable:
    """The line that names a run: its name, the title of its suite, and how many units it has."""
    suite = say(suite)
    html = macros().run_line(name, suite, n, unit)
    return HtmlTable(str(html), visible(f"{name} · {suite} · n = {n:,} ({unit})"))


def signature_block(text: str) -> HtmlTable:
    """The signature line, ready to be copied."""
    return HtmlTable(str(macros().signature_block(text)), f"{say('signature')}: {visible(text)}")


def notice(text: str, kind: Kind = "info") -> HtmlTable:
    """A line that must not be overlooked: an incomplete run, what an interval claims, warnings of the input."""
    text = say(text)
    return HtmlTable(str(macros().notice(text, kind)), f"{say(kind)}: {visible(text)}")


def words(text: str) -> HtmlTable:
    """Paragraphs of plain text, split at empty lines."""
    paragraphs = [say(paragraph) for paragraph in text.split("\n\n")]
    return HtmlTable(str(macros().words(paragraphs)), "\n\n".join(paragraphs))


def verdict(text: str) -> HtmlTable:
    """The sentence that a page opens on: what came out."""
    return HtmlTable(str(macros().verdict(say(text))), say(text))


def no_rows(caption: str) -> HtmlTable:
    """In place of a table without rows."""
    caption = say(caption)
    return HtmlTable(str(macros().no_rows(caption)), say("{what}: none", what=caption))


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
    pieces = list(items)
    html = gap.join(piece.html for piece in pieces)
    return HtmlTable(html, "\n\n".join(piece.text for piece in pieces))
