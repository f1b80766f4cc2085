"""Tables and notices of the reports: plain frames in, escaped HTML out.

Whatever comes from data is shown as text: escaped, isolated from the direction of the text around it, with
invisible and bidirectional characters spelled out and long fields folded. Nothing in it becomes a link.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pandas as pd
from markupsafe import Markup

from ..core.estimates import Row, is_null
from ..core.language import say
from ..core.metric import metric_title
from .page import OWN_STYLES, macros, style
from .text import estimate_text, interval, number, p_text, text_columns, text_of, titled

# rows that a table shows
ROWS = 200

# texts of `shown_texts` -> their heads in files and reprs
PLAIN = {name: name for name in ("metric", "value", "interval", "n", "method")}

# the colours of verdicts; all other words are of the kind "info"
VERDICTS = {
    "better": "good",
    "equivalent": "good",
    "pass": "good",
    "worse": "error",
    "fail": "error",
    "look": "warning",
}


@dataclass(repr=False)
class HtmlTable:
    """A piece of a page, and the rows that it shows, where it shows rows."""

    html: str
    frame: pd.DataFrame | None = None

    def _repr_html_(self) -> str:
        return in_cell(self.html)

    def __html__(self) -> str:
        return self.html

    def __repr__(self) -> str:
        if self.frame is None:
            return Markup(OWN_STYLES.sub("", self.html)).striptags()
        return self.frame.to_string(index=False, max_rows=20)


def in_cell(html: str) -> str:
    """A piece as the output of a cell, with its styles; JupyterLab would read $5 and $6 in it as a formula.

    `et.notebook()` has sent the styles once for all cells of a notebook.
    """
    from IPython.core.getipython import get_ipython

    is_styled = getattr(get_ipython(), "evaltools_styles", False)
    return f'{"" if is_styled else style()}<div class="mathjax_ignore">{html}</div>'


def table(
    df: pd.DataFrame,
    caption: str = "",
) -> HtmlTable:
    """A frame as a table that sorts and filters in the report.

    The heads are the names of its columns, which are translated where they are words of ours, as the caption is. Cells
    of Markup are HTML already, all else is text. Beyond ROWS rows a line counts the rest.
    """
    shown = df.head(ROWS)
    heads, texts, numeric = text_columns(shown)
    sorts = map(pd.api.types.is_numeric_dtype, shown.dtypes)
    rows = []
    for cells, values in zip(zip(*texts), shown.itertuples(index=False, name=None)):
        rows.append(list(zip(cells, values)))
    columns = list(zip(heads, numeric, sorts))
    html = macros().table(
        columns,
        rows,
        len(df),
        say(caption) if caption else "",
    )
    return HtmlTable(html, df)


def words(text: str) -> Markup:
    """Paragraphs of plain text, split at empty lines; an empty piece for none."""
    return macros().words(text.split("\n\n")) if text else Markup("")


def no_rows(caption: str, frame: pd.DataFrame) -> HtmlTable:
    """In place of a table without rows: its caption, and that there is nothing."""
    return HtmlTable(macros().no_rows(say(caption)), frame)


def fold(title: str, piece: HtmlTable) -> HtmlTable:
    """A piece that opens under its title."""
    return HtmlTable(macros().fold(title, piece), piece.frame)


def stack(
    items: Iterable[HtmlTable | Markup],
    frame: pd.DataFrame | None = None,
) -> HtmlTable:
    """Several pieces as one, one below the other. `frame`: the rows that they show."""
    return HtmlTable(Markup("").join(items), frame)


def shown_texts(row: Row, raw: str = "") -> dict[str, str]:
    """What a reader sees of an estimate, or of a row of a comparison, as text; no number of a metric that a check
    blocks. `raw` stands behind a p that is not adjusted."""
    is_compared = "delta" in row
    texts = {
        "metric": str(row["metric"]),
        "title": titled(metric_title(str(row["metric"]), text_of(row["title"])), row["better"]),
        "interval": interval(row, signed=is_compared),
        "n": number(row["n_units"], 0),
        "condition": text_of(row.get("candidate" if is_compared else "condition")),
    }
    if is_compared:
        p = p_text(row["p_adjusted"])
        if not p and not is_null(row["p_value"]):
            p = f"{p_text(row['p_value'])}{raw}"
        return {
            **texts,
            "baseline": number(row["value_baseline"]),
            "candidate": number(row["value_candidate"]),
            "difference": number(row["delta"], signed=True),
            "p": p,
            "verdict": row["verdict"],
        }
    is_blocked = not is_null(row.get("blocked"))
    sums = [row["numerator"], row["denominator"]]
    ratio = [f"{value:,.2f}".removesuffix(".00") for value in sums if not is_null(value)]
    return {
        **texts,
        "value": say("cannot be measured") if is_blocked else estimate_text(row),
        "ratio": " / ".join(ratio) if len(ratio) == 2 else "",
        "method": text_of(row["ci_method"]),
    }


def text_table(
    rows: pd.DataFrame,
    columns: Mapping[str, str] = PLAIN,
) -> pd.DataFrame:
    """Estimates, or a comparison, as text, a row each. `columns`: text of `shown_texts` -> its head."""
    texts = [shown_texts(row, " raw") for row in rows.to_dict("records")]
    return pd.DataFrame(texts, columns=list(columns), dtype=object).rename(columns=columns)
