"""Figures of the reports: plain frames in, matplotlib figures out.

No function computes a statistic of its own: intervals are drawn from the columns given. Every function
returns a matplotlib Figure that no pyplot state knows of; `export(figure, "pdf")` (or "svg") is the figure for a
paper: bytes depend on the content only. Data without rows give a figure without axes, whose title says so.
"""

from __future__ import annotations

import io
import textwrap
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from functools import cache, wraps
from typing import Any, Literal, ParamSpec

import matplotlib as mpl
import matplotlib.pyplot
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.ticker import MaxNLocator
from PIL import Image

from ..core.files import asset_dir
from ..core.language import say
from ..core.metric import metric_title
from .fonts import ANSWERED, even_weight, families, webfont_css
from .markdown import ARROWS, number
from .sentences import NO_VERDICT, UNDECIDED
from .text import visible, width_of

P = ParamSpec("P")

SCALE = 2
"""Pixels of a stored figure for one of the screen."""

COLOURS = 64
"""Colours of a stored figure: it is half as large as with all of them, and looks the same."""

MADE_BY = {
    "svg": ("Creator", "Date"),
    "pdf": ("Creator", "Producer", "CreationDate"),
}
"""What a saved figure would say of when and by what it was made."""

WIDTH, ROW, TALLEST = 5.0, 0.34, 160.0
"""Width of a figure, height of a row, and the greatest height of a figure, in inches.

Scaled to the 370 pixels that a phone gives it, the text of a figure of this width is still 9 pixels high.
"""

LEGEND_LINE = 0.2
"""Height of a line of the legend in inches."""

BINS = 20
"""Bars of a histogram."""

INK, MUTED = "#1f2328", "#6b7280"

# Okabe and Ito (2008): told apart under every common colour blindness
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#B5A800")
MARKERS = ("o", "s", "D", "^", "v", "P", "X", "*")
CHANGES = {
    "improved": ("#009E73", "^"),
    "same": (MUTED, "o"),
    "worsened": ("#D55E00", "v"),
}
"""What became of a unit -> colour and marker."""


# --- style and files


def export(
    figure: Figure,
    form: Literal["svg", "pdf"],
) -> bytes:
    """A figure for a paper, text as text, with the glyphs of Korean and Chinese inside."""
    text = "".join(t.get_text() for t in figure.findobj(Text))
    metadata = {"Title": figure.get_suptitle(), **dict.fromkeys(MADE_BY[form])}
    style = dict(figure_style())
    style["svg.fonttype"] = "none"
    # the glyphs of the shipped face are of PostScript's kind, which a Type 42 font cannot hold
    style["pdf.fonttype"] = 3 if ANSWERED.search(text) else 42
    out = io.BytesIO()
    with mpl.rc_context(style):
        figure.savefig(out, format=form, metadata=metadata)
    if form == "pdf":
        return out.getvalue()
    svg = out.getvalue().decode()
    # a browser loads a font that stands behind another too late for some of the text
    names = [f"'{name}'" for name in families()]
    glyphs_first = ", ".join([*reversed(names), "sans-serif"])
    svg = svg.replace(", ".join(names), glyphs_first)
    start = '<style type="text/css">'
    return svg.replace(start, start + webfont_css(text), 1).encode()


def png(figure: Figure, **how: Any) -> tuple[bytes, int]:
    """A figure as PNG with few colours at twice the screen's resolution, and its width on the screen."""
    drawn, small = io.BytesIO(), io.BytesIO()
    figure.savefig(
        drawn,
        format="png",
        dpi=100 * SCALE,
        **how,
    )
    # nothing is transparent: without that channel the picture is the same, and smaller
    image = Image.open(drawn).convert("RGB").quantize(COLOURS, method=Image.Quantize.FASTOCTREE)
    image.info.clear()
    image.save(small, "PNG", optimize=True)
    return small.getvalue(), round(image.width / SCALE)


@cache
def figure_style() -> Any:
    """The style of the figures, for any user's own; the fonts that it names are registered."""
    families()
    return mpl.rc_params_from_file(
        asset_dir("templates") / "report" / "figures.mplstyle", use_default_template=False
    )


def styled(draw: Callable[P, Figure]) -> Callable[P, Figure]:
    """`draw` in the style of the reports: what nobody sees is spelt out, and the layout is made once."""

    @wraps(draw)
    def inner(*args: P.args, **kwargs: P.kwargs) -> Figure:
        with mpl.rc_context(figure_style()):
            figure = draw(*args, **kwargs)
            for text in figure.findobj(Text):
                text.set_text(visible(text.get_text()))
            even_weight(figure)
            # a second pass at another resolution would move things
            figure.draw_without_rendering()
            figure.set_layout_engine("none")
            return figure

    return inner


def shown(
    value: Any,
    width: int = 34,
    lines: int = 3,
) -> str:
    """A label: wrapped at `width` columns (a Han or Hangul character takes two), cut after `lines` lines."""
    text = visible(unicodedata.normalize("NFC", str(value)))
    # no more than can stand there: the time to break a word grows with the square of its length
    text = " ".join(text.split())[: 200 + 2 * width * lines]
    if not text:
        return say("(empty)")
    start = text[:200]
    columns = max(8, round(width * len(start) / width_of(start)))
    wrapped = textwrap.wrap(
        text,
        columns,
        max_lines=lines,
        placeholder=" …",
    )
    return "\n".join(wrapped)


# --- parts


def new_chart(
    title: str,
    rows: float,
) -> Figure:
    """A figure `rows` rows high with its title."""
    heading = shown(say(title), 56)
    height = 0.75 + ROW * rows + 0.16 * heading.count("\n")
    chart = Figure(figsize=(WIDTH, min(max(1.7, height), TALLEST)), layout="constrained")
    chart.suptitle(
        heading,
        x=0.012,
        ha="left",
        fontsize=11,
        fontweight="bold",
    )
    return chart


def empty_chart(title: str) -> Figure:
    """In place of a figure without data."""
    return new_chart(say("{what}: none", what=say(title)), 1)


def mark(
    colour: str,
    marker: str,
    label: str,
) -> Line2D:
    """An entry of the legend."""
    return Line2D(
        [],
        [],
        color=colour,
        marker=marker,
        linestyle="",
        label=label,
    )


def look(index: int) -> tuple[str, str]:
    """Colour and marker of the marks of that index: a pair of its own for each of the first 64."""
    return PALETTE[index % 8], MARKERS[(index + index // 8) % 8]


def add_legend(
    chart: Figure,
    entries: Sequence[Line2D],
) -> None:
    """The entries below the axes, one below the other; the chart grows by their lines."""
    if entries:
        chart.legend(handles=entries, loc="outside lower left")
        n_lines = sum(1 + str(entry.get_label()).count("\n") for entry in entries)
        chart.set_figheight(chart.get_figheight() + LEGEND_LINE * n_lines)


# --- forest


@styled
def forest(
    frame: pd.DataFrame,
    *,
    title: str,
    zero: bool = False,
    claim: str = "",
) -> Figure:
    """A line of the figure for each metric, from the top down, with a dot and its interval for each condition.

    Columns: those of `core.estimates`, and `axis`, the name of the axis on which a row stands; each axis has a panel of
    its own. Null value: "not measured"; null interval: a dot alone; grey: a difference whose `verdict` is none. `zero`
    draws a line at 0, for differences; `claim` goes under the last axis.
    """
    if frame.empty:
        return empty_chart(title)
    verdicts = frame.get("verdict", frame["metric"])
    frame = frame.assign(is_undecided=verdicts.isin(list(UNDECIDED)))
    conditions = list(frame["condition"].unique())
    panels = dict(list(frame.groupby("axis", sort=False)))
    labels = {axis: _labels(rows) for axis, rows in panels.items()}
    heights = [len(names) * max(1.2, 0.55 * len(conditions)) for names in labels.values()]
    chart = new_chart(title, sum(heights) + 2.2 * (len(panels) - 1))
    axes = chart.subplots(len(panels), height_ratios=heights, squeeze=False)[:, 0]
    for ax, (axis, rows) in zip(axes, panels.items()):
        _draw_panel(
            ax,
            rows,
            labels[axis],
            conditions,
        )
        ax.set_xlabel(shown(str(axis), 44), loc="right")
        if zero:
            ax.axvline(
                0,
                color=INK,
                linewidth=1,
                zorder=1,
            )
    if claim:
        axes[-1].set_xlabel(f"{axes[-1].get_xlabel()}\n{claim}", loc="right")
    entries = []
    if any(conditions):
        entries = [mark(*look(i), shown(condition)) for i, condition in enumerate(conditions)]
    if frame["is_undecided"].any():
        entries.append(mark(MUTED, "o", say(NO_VERDICT)))
    add_legend(chart, entries)
    return chart


def _labels(rows: pd.DataFrame) -> dict[str, str]:
    """Metric -> its title, arrow and n, from the top down."""
    labels = {}
    for name, of_metric in rows.groupby("metric", sort=False):
        metric = of_metric.iloc[0]
        title = shown(say(metric_title(str(name), metric["title"])))
        arrow, _ = ARROWS.get(metric["better"], ("", ""))
        sizes = sorted(of_metric["n_units"].dropna().unique())
        n = say(" to ").join(f"{size:,.0f}" for size in sizes[:1] + sizes[1:][-1:])
        label = f"{title} {arrow}".rstrip()
        labels[str(name)] = f"{label} n={n}" if n else label
    return labels


def _draw_panel(
    ax: Axes,
    rows: pd.DataFrame,
    labels: Mapping[str, str],
    conditions: Sequence[str],
) -> None:
    """Draw the marks of one axis."""
    metrics = list(labels)
    for row in rows.itertuples():
        index = conditions.index(row.condition)
        step = index - (len(conditions) - 1) / 2
        y = metrics.index(row.metric) + step * 0.72 / len(conditions)
        colour, marker = look(index)
        if row.is_undecided:
            colour = MUTED
        ax.plot(
            [row.ci_low, row.ci_high],
            [y, y],
            color=colour,
            linewidth=2,
            solid_capstyle="butt",
        )
        ax.plot(
            row.value,
            y,
            color=colour,
            marker=marker,
        )
        if pd.isna(row.value):
            ax.annotate(
                say("not measured"),
                (0.01, y),
                xycoords=("axes fraction", "data"),
                color=MUTED,
                va="center",
            )
    ax.set_yticks(range(len(metrics)), list(labels.values()))
    ax.set_ylim(len(metrics) - 0.5, -0.5)
    ax.grid(axis="y", visible=False)


# --- single units


@styled
def distribution(
    frame: pd.DataFrame,
    *,
    title: str,
    xlabel: str,
) -> Figure:
    """Histograms of the columns over one another, as of "before" and "after", with a line at each mean.

    Nulls are left out and n counts what is drawn. The axis is 0 to 1, and wider where values go beyond it.
    """
    columns = frame.astype(float).dropna(axis="columns", how="all")
    if columns.empty:
        return empty_chart(title)
    least = min(0.0, columns.min(axis=None))
    most = max(1.0, columns.max(axis=None))
    edges = np.linspace(least, most, BINS + 1).tolist()
    chart = new_chart(title, 6.5)
    ax = chart.subplots()
    means = []
    for index, (name, column) in enumerate(columns.items()):
        colour, _ = look(index)
        values = column.dropna()
        ax.hist(
            values,
            edges,
            color=colour,
            alpha=0.4,
        )
        mean = say("mean {mean}, n={n:,}", mean=number(values.mean()), n=len(values))
        line = ax.axvline(
            values.mean(),
            label=f"{shown(say(str(name)), 40, 1)}: {mean}",
            color=colour,
            linestyle=(0, (5, 1.5 + 2 * index)),
        )
        means.append(line)
    ax.set(xlabel=say(xlabel), ylabel=say("samples"))
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    add_legend(chart, means)
    return chart


@styled
def paired(
    frame: pd.DataFrame,
    *,
    title: str,
    xlabel: str = "before",
    ylabel: str = "after",
    better: str = "higher",
) -> Figure:
    """Each unit's value before against after (or A against B): points off the diagonal are changes.

    Columns `before` and `after`; a row with a null in either takes no part. Where many units share a place the
    mark grows with their number. Counts of improved, same and worsened stand in the legend.
    """
    pairs = frame[["before", "after"]].astype(float).dropna()
    if pairs.empty:
        return empty_chart(title)
    chart = new_chart(title, 12)
    ax = chart.subplots()
    low, high = pairs.min(axis=None), pairs.max(axis=None)
    if high - low < 1e-9:
        low, high = min(0.0, low), max(1.0, high)
    margin = 0.06 * (high - low)
    ends = (low - margin, high + margin)
    ax.plot(
        ends,
        ends,
        color=MUTED,
        linewidth=1,
        zorder=1,
    )
    gain = pairs["after"] - pairs["before"]
    if better == "lower":
        gain = -gain
    kinds = np.select([gain > 1e-12, gain < -1e-12], ["improved", "worsened"], "same")
    entries = []
    for name, (colour, marker) in CHANGES.items():
        is_kind = kinds == name
        spots = pairs[is_kind].round(6).value_counts(sort=False).reset_index(name="n")
        ax.scatter(
            spots["before"],
            spots["after"],
            s=26 * np.sqrt(spots["n"].to_numpy(dtype=float)),
            c=colour,
            marker=marker,
            alpha=0.75,
            linewidth=0,
            zorder=3,
        )
        share = f"{say(name)}: {is_kind.sum():,} ({100 * is_kind.mean():.0f}%)"
        entries.append(mark(colour, marker, share))
    ax.set(xlim=ends, ylim=ends, ylabel=shown(say(ylabel)))
    ax.set_xlabel(shown(f"{say(xlabel)} (n = {len(pairs):,})", 44))
    add_legend(chart, entries)
    return chart
