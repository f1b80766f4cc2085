"""Numbers and texts as readers may see them: rounded, escaped, folded where long, and with nothing hidden in them.

In HTML, Markdown and LaTeX text from data cannot leave its cell or become markup.
"""

import hashlib
import math
import re
from collections.abc import Iterable
from decimal import ROUND_UP, Context
from numbers import Integral, Number
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup, escape
from pandas import DataFrame
from rich.cells import cell_len

from ..core.estimates import Row, is_null
from ..core.messages import say, visible

# the better direction of a metric -> its sign
ARROWS = {"higher": "↑", "lower": "↓"}

# numbers below are the rounding of a sum and printed as 0; numbers from LARGE on are printed whole
SMALLEST, LARGE = 1e-9, 1000


def titled(
    title: str,
    better: str,
) -> str:
    """A metric's title with the arrow of its better direction, which never stands on a line of its own."""
    return f"{title}\u00a0{ARROWS.get(better, '')}".rstrip()


def number(
    value: Any,
    decimals: int = 3,
    *,
    signed: bool = False,
    digits: int = 2,
) -> str:
    """A number as printed: "N/A" where nothing was measured, whole where it counts or is large, else with `decimals`.

    What would be 0 so, and is not, has so many significant `digits`.

    >>> number(-0.0024), number(0.0521, signed=True), number(-1200), number(0.000012345)
    ('−0.002', '+0.052', '−1,200', '0.000012')
    >>> number(2**60), number(np.float32(0.0001))
    ('1,152,921,504,606,846,976', '0.00010')
    """
    if is_null(value):
        return "N/A"
    sign = "+" if signed else ""
    if isinstance(value, Integral):
        return f"{int(value):{sign},}".replace("-", "−")
    value = float(value)
    if abs(value) >= LARGE:
        decimals = 0
    text = f"{value:{sign},.{decimals}f}"
    if SMALLEST <= abs(value) < 0.5 * 10.0**-decimals:
        text = f"{Context(prec=digits).create_decimal(value):{sign},f}"
    if not text.strip("-0.,"):
        return text.removeprefix("-")
    return text.replace("-", "−")


def whole(value: Any) -> str:
    """As `plain`; a number without a fraction is whole.

    >>> whole(187.0), whole(0.5)
    ('187', '0.500')
    """
    return plain(int(value) if isinstance(value, float) and value.is_integer() else value)


def interval(
    row: Row,
    *,
    signed: bool = False,
) -> str:
    """ "[0.42, 0.65]" of ci_low and ci_high, "[+0.01, +0.07]" where `signed`, or "" where there is no interval.

    >>> interval({"ci_low": -0.0003, "ci_high": 0.074})
    '[−0.0003, 0.074]'
    """
    ends: list[Any] = [row.get("ci_low"), row.get("ci_high")]
    if any(map(is_null, ends)):
        return ""
    low, high = (number(float(end), signed=signed, digits=1) for end in ends)
    return f"[{low}, {high}]"


def p_text(p: float) -> str:
    """A p value in three digits, as in a table; "" for none.

    >>> p_text(0.00004), p_text(0.0312)
    ('< 0.001', '0.031')
    """
    if is_null(p):
        return ""
    return "< 0.001" if p < 0.001 else number(float(p))


# --- axes of strips and figures

# what of an estimate must have its place on an axis
ENDS = ("value", "ci_low", "ci_high")


def axis_over(
    numbers: Iterable[Any],
    signed: bool = False,
) -> tuple[float, float]:
    """The axis that reaches as far as some numbers, to a round end: from 0, or around it where one is below 0.

    Numbers from 0 to 1 stand on the whole axis from 0 to 1. Nulls are passed over. `signed`: around 0 in any case.

    >>> axis_over([0.2, None, 0.7]), axis_over([-3, 12]), axis_over([0.506], signed=True)
    ((0.0, 1.0), (-20.0, 20.0), (-0.6, 0.6))
    """
    measured = [float(x) for x in numbers if not is_null(x) and math.isfinite(x)]
    end = max(map(abs, measured), default=0) or 1.0
    end = float(Context(prec=1, rounding=ROUND_UP).create_decimal(f"{end:.9g}"))
    if signed or min(measured, default=0.0) < 0:
        return -end, end
    return 0.0, max(1.0, end)


# --- text

# texts longer than this many characters scroll in a box of their own
LONG = 600

# A name that would take lines of a title, or the head of a column
LONG_NAME = re.compile(r"[^\s“”]{49,}")

# characters of one field that are shown; the files beside the report hold it whole
CLIP = 4_000


def safe(value: Any) -> Markup:
    """Text from data as HTML: escaped, in a <bdi>, unseen characters marked; in a box where long, and cut after CLIP."""
    text = str(value)
    shown = Markup("<bdi>{}</bdi>").format(marked(text[:CLIP]))
    if len(text) > CLIP:
        shown += say(" … ({n:,} characters)", n=len(text))
    if len(text) > LONG:
        shown = Markup('<div class="et-scroll" tabindex="0">{}</div>').format(shown)
    return shown


def marked(text: str) -> Markup:
    # escaping first leaves the marks below the only markup; no escape sequence holds an unseen character
    return Markup(visible(str(escape(text)), '<span class="et-ctl">{}</span>'.format))


def short(text: str) -> str:
    """`text` with long names in it cut in their middle: the beginnings and the ends of names tell them apart.

    >>> short("with_a_name_that_is_longer_than_anybody_reads_at_a_glance_v2 is better")
    'with_a_name_that_is_…body_reads_at_a_glance_v2 is better'
    """
    return LONG_NAME.sub(lambda name: f"{name[0][:20]}…{name[0][-25:]}", text)


def anchor(
    prefix: str,
    *names: Any,
) -> str:
    """An id for deep links, `group-...` or `sample-...`; a name that had to be changed carries a hash of itself."""
    text = " ".join(filter(None, map(str, names)))
    slug = re.sub(r"[^\w.-]+", "-", visible(text))[:80]
    if slug != text:
        slug += "-" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:6]
    return f"{prefix}-{slug}"


# the columns that a text takes; a Han or Hangul character takes two
width_of = cell_len


# --- tables in Markdown and LaTeX

# what a cell of a column of numbers holds, as text
NUMBERS = re.compile(r"(\[?[-−+]?\d[-−+\d.,±%\[\] ]*|N/A)?")


class Strong(str):
    """A cell in bold, in Markdown and LaTeX."""


def plain(value: Any) -> str:
    """A cell as text: a null number is N/A, a null text empty."""
    if is_null(value):
        return "" if value is None else "N/A"
    if isinstance(value, bool | np.bool_):
        return say("yes") if value else say("no")
    return number(value) if isinstance(value, Number) else str(value)


def text_rows(df: DataFrame) -> tuple[list[str], list[tuple[str, ...]], list[bool]]:
    """Heads in the language in force, the rows as text, and whether a column holds numbers."""
    texts = []
    for _, column in df.items():
        # the null of a text is nothing, that of a number "not measured"
        cells = column.fillna("") if isinstance(column.dtype, pd.StringDtype) else column
        texts.append([cell if isinstance(cell, str) else plain(cell) for cell in cells])
    numeric = [any(cells) and all(map(NUMBERS.fullmatch, cells)) for cells in texts]
    return [say(str(name)) for name in df], list(zip(*texts)), numeric


def _line(text: str) -> str:
    """A text on one line with nothing hidden."""
    return " ".join(visible(text).split())


def markdown_table(df: DataFrame) -> str:
    """A frame in GitHub Markdown."""
    heads, rows, numeric = text_rows(df)
    rules = ["---:" if is_number else "---" for is_number in numeric]
    head, *cells = (map(markdown, row) for row in (heads, *rows))
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, rules, *cells))


def markdown(text: str) -> str:
    """Text as Markdown that shows just it, on one line."""
    flat = _line(text).replace("&", "&amp;").replace("<", "&lt;")
    escaped = re.sub(r"([\\`*\[\]|$~]|(?<!\w)_|_(?!\w))", r"\\\1", flat)
    return f"**{escaped}**" if isinstance(text, Strong) else escaped


def latex_table(
    df: DataFrame,
    *,
    caption: str,
    label: str,
    note: str = "",
) -> str:
    """A frame as a LaTeX table (needs the package booktabs), every special character escaped; `note` stands below."""
    label = re.sub(r"[^\w:]|_", "-", label)
    heads, texts, numeric = text_rows(df)
    head, *rows = (" & ".join(map(latex, row)) + r" \\" for row in (heads, *texts))
    below = rf"\par\smallskip\parbox{{\linewidth}}{{\footnotesize\raggedright {latex(note)}}}"
    lines = [
        r"\begin{table}",
        r"\centering\small\setlength{\tabcolsep}{4pt}",
        rf"\caption{{{latex(caption)}}}",
        rf"\label{{{label}}}",
        rf"\begin{{tabular}}{{{''.join('lr'[is_number] for is_number in numeric)}}}",
        r"\toprule",
        head,
        r"\midrule",
        *rows,
        r"\bottomrule",
        r"\end{tabular}",
        below if note else "",
        r"\end{table}",
    ]
    return "\n".join(filter(None, lines)) + "\n"


_TEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar\allowbreak{}",
        '"': r"\textquotedbl{}",
        **{c: "\\" + c for c in "&%$#_{}"},
        "↑": r"$\uparrow$",
        "↓": r"$\downarrow$",
        "≤": r"$\le$",
        "±": r"$\pm$",
        "Δ": r"$\Delta$",
        "−": "$-$",
    }
)


def latex(text: str) -> str:
    """Text as LaTeX that shows just it, on one line."""
    # braces keep a leading "[" or "*" from being read as belonging to the end of the row before
    escaped = _line(text).translate(_TEX)
    if isinstance(text, Strong):
        return rf"\textbf{{{escaped}}}"
    return f"{{{escaped}}}" if escaped.startswith(("[", "*")) else escaped
