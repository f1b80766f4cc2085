"""Tables, notices and estimates of the reports: plain frames in, escaped HTML out.

Whatever comes from data is shown as text: escaped, isolated from the direction of the text around it, with
invisible and bidirectional characters spelled out and long fields folded. Nothing in it becomes a link.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sized
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd
from markupsafe import Markup

from ..core.estimates import Row, is_null
from ..core.language import Message, say
from ..core.metric import AnyMetric, metric_title
from ..core.resampling import Resampling
from ..stats.bootstrap import monte_carlo_digits
from ..stats.intervals import MIN_UNITS
from .markdown import (
    ARROWS,
    LEAST,
    decimals_of,
    number,
    struck,
    text_columns,
    text_of,
    text_table,
    titled,
)
from .templates import in_cell, macros
from .text import anchor, visible

ROWS = 200
"""Rows that a table shows."""

TEXT_ROWS = 20
"""Rows that a table shows as text."""

Kind = Literal["info", "warning", "error", "good"]


NOTHING: dict[str, Any] = {"text/html": {"nothing": True}}
"""Metadata of the output of a cell that says only that there is nothing: a page leaves its section out."""


class Shown:
    """What shows itself as HTML in a notebook and a report, and as plain text where there is no HTML."""

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
        data = {
            "text/html": in_cell(piece.html),
            "text/plain": piece.text,
        }
        return data, NOTHING if piece.is_nothing else {}


@dataclass(repr=False)
class HtmlTable(Shown):
    """A piece of a page. Its text is that of its HTML, unless another one is given."""

    html: Markup
    text: str = ""
    frame: pd.DataFrame | None = None
    """The rows that it shows, where it shows rows."""
    is_nothing: bool = False
    """Whether it says only that there is nothing to show."""

    def __post_init__(self) -> None:
        self.html = Markup(self.html)
        self.text = self.text or self.html.striptags()

    def page(self) -> HtmlTable:
        return self


def table(
    df: pd.DataFrame,
    caption: str = "",
) -> HtmlTable:
    """A frame as a table that sorts and filters in the report.

    The heads are the names of its columns, which are translated where they are words of ours, as the caption is. Cells
    of Markup are HTML already, all else is text. Beyond ROWS rows a line counts the rest.
    """
    caption = say(caption) if caption else ""
    shown = df.head(ROWS)
    heads, texts, numeric = text_columns(shown)
    sorts = map(pd.api.types.is_numeric_dtype, shown.dtypes)
    rows = []
    for cells, values in zip(zip(*texts), shown.itertuples(index=False, name=None)):
        rows.append(list(zip(cells, values)))
    html = macros().table(
        list(zip(heads, numeric, sorts)),
        rows,
        len(df),
        caption,
    )
    text = text_table(shown.head(TEXT_ROWS), caption)
    return HtmlTable(html, text)


def where_to_look(groups: Mapping[str, Sized]) -> HtmlTable:
    """Links to the groups of samples of the page: label -> its samples; empty where there are none."""
    links = []
    for label, members in groups.items():
        said = say(label)
        if said[1:2].islower():  # a name keeps its capitals
            said = said[:1].lower() + said[1:]
        if len(members):
            links.append((f"{len(members):,}", said, anchor("group", label)))
    if not links:
        return stack([])
    text = " · ".join(f"{n} {label}" for n, label, _ in links)
    return HtmlTable(macros().look(links), f"{say('Where to look:')} {text}")


VERDICTS = {
    "better": "good",
    "equivalent": "good",
    "pass": "good",
    "worse": "error",
    "fail": "error",
    "look": "warning",
}
"""The colours of words; all others are of the kind "info"."""


def verdict_line(
    verdict: str,
    title: Message,
    reason: str = "",
) -> str:
    """A verdict on a single metric (`Suite.verdicts`) as terminal and gate say it."""
    line = f"{say(verdict)}: {say(title)}"
    return f"{line}, {say(reason)}" if reason else line


def signature_block(text: str) -> HtmlTable:
    """The signature line, ready to be copied."""
    return HtmlTable(macros().signature_block(text))


def notice(
    text: str,
    kind: Kind = "info",
) -> HtmlTable:
    """A line that must not be overlooked: an incomplete run, what an interval claims, warnings of the input."""
    return HtmlTable(macros().notice(say(text), kind))


def words(text: str) -> HtmlTable:
    """Paragraphs of plain text, split at empty lines; an empty piece for none."""
    paragraphs = [say(paragraph) for paragraph in text.split("\n\n")]
    html = macros().words(paragraphs) if text else Markup("")
    return HtmlTable(html, "\n\n".join(paragraphs))


def no_rows(caption: str) -> HtmlTable:
    """In place of a table without rows."""
    return HtmlTable(
        macros().no_rows(say(caption)),
        frame=pd.DataFrame(),
        is_nothing=True,
    )


def each(
    study: Any,
    show: Callable[[Any], Any],
) -> Any:
    """What `show` makes of a run; of several runs one below the other, folded under their names but the first.

    What is empty is left out.
    """
    if len(study.results) == 1:
        return show(study.results[0])
    shown: list[HtmlTable] = []
    for run in study.results:
        piece = show(run).page()
        if not piece.is_nothing:
            text = f"{visible(run.name)}:\n\n{piece.text}"
            html = macros().fold(run.name, piece.html, not shown)
            shown.append(HtmlTable(html, text))
    return stack(shown)


def stack(items: Iterable[HtmlTable]) -> HtmlTable:
    """Several pieces as one, one below the other; what is empty is left out."""
    pieces = [piece for piece in items if piece.html]
    html = Markup("").join(piece.html for piece in pieces)
    text = "\n\n".join(piece.text for piece in pieces)
    is_nothing = all(piece.is_nothing for piece in pieces)
    return HtmlTable(html, text, is_nothing=is_nothing)


# --- estimates

SHOWN = ["metric", "value", "interval", "n", "method"]
"""The columns of estimates as text."""

LARGE = 1000
"""Numbers from here on are printed whole."""


def estimates_table(
    estimates: pd.DataFrame,
    *,
    metrics: Iterable[AnyMetric],
    resampling: Resampling,
    blocked: frozenset[str] = frozenset(),
) -> HtmlTable:
    """Every metric with its value, interval, numerator and denominator, n, method and direction.

    `estimates`: rows of `core.estimates`; `metrics`, the suite's table, says more of each metric. A metric that is
    another's alias is left out. A value has three decimals and an interval as many as the Monte-Carlo error of its
    bounds supports. Null is N/A, what is `blocked` is struck and without an interval; fewer than MIN_UNITS units are
    marked "small n".
    """
    entries = {metric.name: metric for metric in metrics}
    rows = []
    texts = []
    for estimate in estimates.to_dict("records"):
        name = estimate["metric"]
        entry = entries.get(name)
        if entry and entry.alias_of:
            continue
        row = shown_estimate(estimate, resampling, name in blocked)
        texts.append({**row, "metric": f"{row['title']} {row['arrow']}".rstrip(), "id": name})
        row["id"] = anchor("metric", name)
        row["description"] = say(entry.description) if entry else ""
        row["source"] = entry.source if entry else ""
        rows.append(row)
    html = macros().estimates(rows, estimates["group"].nunique() > 1)
    as_text = pd.DataFrame(texts, columns=[*SHOWN, "id"], dtype=object)
    return HtmlTable(html, text_table(as_text))


def plain_estimates(
    estimates: pd.DataFrame,
    resampling: Resampling,
    blocked: frozenset[str] = frozenset(),
) -> pd.DataFrame:
    """The estimates as text, a row a metric: metric, value, interval, n, method."""
    rows = []
    for estimate in estimates.to_dict("records"):
        rows.append(shown_estimate(estimate, resampling, estimate["metric"] in blocked))
    return pd.DataFrame(rows, columns=SHOWN, dtype=object)


def shown_estimate(
    estimate: Row,
    resampling: Resampling,
    blocked: bool = False,
) -> dict[str, Any]:
    """What a reader sees of an estimate, as text; `raw` is the estimate itself."""
    if blocked:
        estimate = {**estimate, "ci_low": None, "ci_high": None}
    name = str(estimate["metric"])
    title = metric_title(name, text_of(estimate["title"]))
    value = number(estimate["value"], _decimals(estimate))
    arrow, direction = ARROWS.get(estimate["better"], ("", ""))
    n_units: Any = estimate["n_units"]
    is_measured = not is_null(estimate["value"]) and not is_null(n_units)
    return {
        "raw": estimate,
        "metric": name,
        "title": say(title),
        "titled": titled(title, estimate["better"]),
        "group": say(text_of(estimate.get("group"))),
        "arrow": arrow,
        "direction": say(direction),
        "value": struck(value) if blocked else value,
        "interval": interval(estimate, row_decimals(estimate, resampling)),
        "n_seeds": number(estimate.get("n_seeds"), 0),
        "ratio": _ratio(estimate["numerator"], estimate["denominator"]),
        "n": number(n_units, 0),
        "small": is_measured and 0 < n_units < MIN_UNITS,
        "method": text_of(estimate["ci_method"]),
    }


def _ratio(*sums: Any) -> str:
    """ "3 / 7", or "" where one of them is null."""
    if any(map(is_null, sums)):
        return ""
    return " / ".join(f"{value:,.2f}".removesuffix(".00") for value in sums)


def _decimals(estimate: Row) -> int:
    """Decimals to print for a value: none for a count, and for numbers from LARGE on."""
    value: Any = estimate["value"]
    if is_null(value):
        return 3
    is_count = is_null(estimate["denominator"]) and value == estimate["numerator"]
    is_whole = is_count and value == int(value)
    return 0 if is_whole or abs(value) >= LARGE else 3


def row_decimals(
    row: Row,
    resampling: Resampling,
) -> int:
    """Decimals to print for an interval: none for numbers from LARGE on, else what its bounds support."""
    value: Any = row.get("value")
    if not is_null(value) and abs(value) >= LARGE:
        return 0
    if is_null(row.get("ci_low")):
        return 3
    return min(3, monte_carlo_digits(row["ci_high"] - row["ci_low"], resampling))


def interval(
    row: Row,
    decimals: int = 3,
    *,
    signed: bool = False,
) -> str:
    """ "[0.42, 0.65]" of ci_low and ci_high, "[+0.01, +0.07]" where `signed`, or "" where there is no interval.

    So narrow an interval that its ends would be alike has more decimals.
    """
    ends: list[Any] = [row.get("ci_low"), row.get("ci_high")]
    if any(map(is_null, ends)):
        return ""
    width = ends[1] - ends[0]
    if LEAST <= width < 2 * 10.0**-decimals:
        decimals = decimals_of(width, 2)
    low, high = (number(round(float(end), decimals), decimals, signed=signed) for end in ends)
    return f"[{low}, {high}]"
