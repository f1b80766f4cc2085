"""Figures of the reports: plain frames in, matplotlib figures out.

No function computes a statistic of its own: intervals are drawn from the columns given. Every function
returns a `Chart`, a matplotlib Figure that no pyplot state knows of; it shows itself in a notebook as a
sharp PNG, and `chart.export("pdf")` (or "svg") is the figure for a paper: bytes depend on the content only.
Data without rows give a figure that says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from ..core.language import say
from ..core.metric import metric_title
from .chart import Chart, shown, styled
from .fonts import ANSWERED
from .markdown import ARROWS
from .sentences import NO_VERDICT, UNDECIDED
from .strip import SMALL_N
from .text import width_of

WIDTH, ROW, TALLEST = 5.0, 0.34, 160.0
"""Width of a figure, height of a row, and the greatest height of a figure, in inches.

Scaled to the 370 pixels that a phone gives it, the text of a figure of this width is still 9 pixels high.
"""

LEGEND_COLUMNS, LEGEND_LINE = 76, 0.2
"""Characters of a line of a legend, and its height in inches."""

BINS = 20
"""Bars of a histogram."""

INK, MUTED = "#1f2328", "#6b7280"

# Okabe and Ito (2008): told apart under every common colour blindness
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#B5A800")
MARKERS = ("o", "s", "D", "^", "v", "P", "X", "*")
CHANGES = {"improved": "#009E73", "same": "#9CA3AF", "worsened": "#D55E00"}


def new_chart(title: str, rows: float) -> Chart:
    """A figure `rows` rows high with its title, and without axes, in whose place a page says that there is nothing."""
    heading = shown(say(title), 56, 3)
    height = 1.15 + ROW * rows + 0.16 * heading.count("\n")
    chart = Chart(
        figsize=(WIDTH, min(max(1.7, height), TALLEST)),
        layout=ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.06),
    )
    chart.title = " ".join(heading.split())
    # the shipped face has one weight: a title is not bold in part
    weight = "normal" if ANSWERED.search(heading) else "bold"
    chart.suptitle(
        heading,
        x=0.012,
        ha="left",
        fontsize=11,
        fontweight=weight,
    )
    return chart


def mark_style(
    colour: str,
    marker: str,
    hollow: bool = False,
) -> dict[str, Any]:
    """How a mark looks, in the axes as in the legend."""
    return {
        "color": colour,
        "marker": marker,
        "markerfacecolor": "white" if hollow else colour,
        "markeredgewidth": 1.6,
        "markersize": 11 if marker == "|" else 6,
        "linestyle": "",
    }


def legend_entry(text: str, *mark: Any) -> Line2D:
    """An entry of the legend."""
    return Line2D(
        [],
        [],
        label=text,
        **mark_style(*mark),
    )


def look(index: int) -> tuple[str, str]:
    """Colour and marker of the marks of that index: a pair of its own for each of the first 64."""
    marker = MARKERS[(index + index // 8) % 8]
    return PALETTE[index % 8], marker


def add_legend(chart: Chart, handles: Sequence[Any]) -> None:
    """The entries below the axes, in as many columns, up to four, as the longest leaves room for.

    The chart grows by the lines after the first.
    """
    if not handles:
        return
    labels = [str(handle.get_label()) for handle in handles]
    widest = max(width_of(line) for label in labels for line in label.split("\n"))
    columns = max(1, min(4, LEGEND_COLUMNS // (widest + 6)))
    chart.legend(handles=list(handles), loc="outside lower left", ncols=columns)
    n_lines = 0
    for first in range(0, len(labels), columns):
        row = labels[first : first + columns]
        n_lines += max(1 + label.count("\n") for label in row)
    chart.set_figheight(chart.get_figheight() + LEGEND_LINE * (n_lines - 1))


# --- forest


@dataclass(frozen=True)
class Panel:
    """What one axis shows."""

    rows: pd.DataFrame
    """The rows that are drawn."""
    labels: dict[str, str]
    """Metric -> its label, from the top down."""
    xlabel: str


@styled
def forest(
    frame: pd.DataFrame,
    *,
    title: str,
    zero: bool = False,
    claim: str = "",
) -> Chart:
    """A line of the figure for each metric, from the top down, with a dot and its interval for each condition.

    Columns: those of `core.estimates`, and `axis`, the name of the axis on which a row stands; each axis has a panel of
    its own. A mark is hollow below SMALL_N units; null value: "not measured"; null interval: a bare tick; grey: a
    difference whose `verdict` is none. n stands beside the metrics where it differs between them, else under the axis.
    `zero` draws a line at 0, for differences; `claim` goes under the last axis.
    """
    if frame.empty:
        return new_chart(title, 1)
    conditions = list(frame["condition"].unique())
    panels = []
    heights = []
    for axis, rows in frame.groupby("axis", sort=False):
        panel = _panel(rows, str(axis))
        panels.append(panel)
        heights.append(_height(panel, len(conditions)))
    gaps = 2.2 * (len(panels) - 1)
    chart = new_chart(title, sum(heights) + gaps)
    axes = chart.subplots(len(panels), height_ratios=heights, squeeze=False)[:, 0]
    notes = set[str]()
    for ax, panel in zip(axes, panels):
        notes |= _draw_panel(ax, panel, conditions)
        if zero:
            ax.axvline(
                0,
                color=INK,
                linewidth=1,
                zorder=1,
            )
    if claim:
        axes[-1].set_xlabel(f"{axes[-1].get_xlabel()}\n{claim}", loc="right")
    add_legend(chart, _legend(conditions, notes))
    return chart


def _panel(rows: pd.DataFrame, axis: str) -> Panel:
    """The metrics of an axis, with n beside them or under the axis."""
    metrics = rows.groupby("metric", sort=False)
    sizes = metrics["n_units"].agg(_span)
    of_one_size = sizes.nunique() == 1
    labels = {}
    for name, metric in metrics.first().iterrows():
        label = shown(say(metric_title(str(name), metric["title"])))
        arrow, _ = ARROWS.get(metric["better"], ("", ""))
        label = f"{label} {arrow}".rstrip()
        if sizes[name] and not of_one_size:
            label += f"  n={sizes[name]}"
        labels[str(name)] = label
    axis_label = axis
    if of_one_size and sizes.iloc[0]:
        axis_label += f" (n = {sizes.iloc[0]})"
    return Panel(rows, labels, shown(axis_label, 44))


def _span(numbers: pd.Series) -> str:
    """ "40" or "12 to 40"; "" where all are null."""
    if numbers.isna().all():
        return ""
    least, most = f"{numbers.min():,.0f}", f"{numbers.max():,.0f}"
    return least if least == most else least + say(" to ") + most


def _height(panel: Panel, n_marks: int) -> float:
    """Rows of height that labels need: for the lines of the longest, or the marks that stand side by side in each."""
    most_lines = max(1 + label.count("\n") for label in panel.labels.values())
    height = max(1.0, 0.55 * n_marks, 0.52 * most_lines)
    return len(panel.labels) * height


def _legend(conditions: Sequence[str], notes: set[str]) -> list[Line2D]:
    """The entries of the legend: the conditions where there are any, and what hollow and grey marks and ticks mean."""
    entries = []
    if any(conditions):
        for index, condition in enumerate(conditions):
            entries.append(legend_entry(shown(condition), *look(index)))
    if "few" in notes:
        text = say("fewer than {n} units", n=SMALL_N)
        entries.append(
            legend_entry(
                text,
                MUTED,
                "o",
                True,
            )
        )
    if "bare" in notes:
        entries.append(legend_entry(say("no interval"), MUTED, "|"))
    if "undecided" in notes:
        entries.append(legend_entry(say(NO_VERDICT), MUTED, "o"))
    return entries


def _draw_panel(
    ax: Axes,
    panel: Panel,
    conditions: Sequence[str],
) -> set[str]:
    """Draw the marks of one axis; gives what the legend explains."""
    metrics = list(panel.labels)
    notes = set()
    for _, row in panel.rows.iterrows():
        index = conditions.index(row["condition"])
        step = index - (len(conditions) - 1) / 2
        y = metrics.index(row["metric"]) + step * 0.72 / len(conditions)
        colour, marker = look(index)
        if row.get("verdict") in UNDECIDED:
            colour = MUTED
            notes.add("undecided")
        note = _draw_interval(ax, y, row, colour, marker)
        notes.add(note)
    ax.set_yticks(range(len(metrics)), list(panel.labels.values()))
    ax.set_ylim(len(metrics) - 0.5, -0.5)
    ax.grid(axis="y", visible=False)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel(panel.xlabel, loc="right")
    return notes


def _draw_interval(
    ax: Axes,
    y: float,
    row: pd.Series,
    colour: str,
    marker: str,
) -> str:
    """Draw one value with its interval at height y; gives what the legend explains of the mark: "few", "bare" or ""."""
    if pd.isna(row["value"]):
        ax.annotate(
            say("not measured"),
            (0.01, y),
            xycoords=("axes fraction", "data"),
            color=MUTED,
            fontsize=8.5,
            va="center",
        )
        return ""
    if pd.isna(row["ci_low"]):
        ax.plot(
            row["value"],
            y,
            **mark_style(colour, "|"),
            zorder=3,
        )
        return "bare"
    is_small = bool(row["n_units"] < SMALL_N)
    ax.plot(
        [row["ci_low"], row["ci_high"]],
        [y, y],
        color=colour,
        linewidth=2,
        solid_capstyle="butt",
        zorder=2,
    )
    ax.plot(
        row["value"],
        y,
        **mark_style(colour, marker, is_small),
        zorder=3,
    )
    return "few" if is_small else ""


# --- single units


@styled
def distribution(
    frame: pd.DataFrame,
    *,
    title: str,
    xlabel: str,
) -> Chart:
    """Histograms of the columns over one another, as of "before" and "after", with a line at each mean.

    Nulls are left out and n counts what is drawn. The axis is 0 to 1, and wider where values go beyond it.
    """
    columns = frame.astype(float).dropna(axis="columns", how="all")
    if columns.empty:
        return new_chart(title, 1)
    least = min(0.0, columns.min(axis=None))
    most = max(1.0, columns.max(axis=None))
    edges = np.linspace(least, most, BINS + 1).tolist()
    chart = new_chart(title, 6.5)
    ax = chart.subplots()
    keys = []
    for index, (name, column) in enumerate(columns.items()):
        values = column.dropna()
        colour, _ = look(index)
        ax.hist(
            values,
            edges,
            histtype="stepfilled",
            facecolor=(colour, 0.25),
            edgecolor=colour,
            linewidth=1.6,
        )
        mean = say("mean {mean:.3f}, n={n:,}", mean=values.mean(), n=len(values))
        line = ax.axvline(
            values.mean(),
            label=f"{shown(say(str(name)), 40, 1)}: {mean}",
            color=colour,
            linewidth=1.8,
            linestyle=(0, (5, 1.5 + 2 * index)),
        )
        keys.append(line)
    ax.set(xlabel=say(xlabel), ylabel=say("samples"))
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    add_legend(chart, keys)
    return chart


@styled
def paired(
    frame: pd.DataFrame,
    *,
    title: str,
    xlabel: str = "before",
    ylabel: str = "after",
    better: str = "higher",
) -> Chart:
    """Each unit's value before against after (or A against B): points off the diagonal are changes.

    Columns `before` and `after`; a row with a null in either takes no part. Where many units share a place the
    mark grows with their number. Counts of improved, same and worsened stand in the legend.
    """
    pairs = frame[["before", "after"]].astype(float).dropna()
    if pairs.empty:
        return new_chart(title, 1)
    chart = new_chart(title, 12)
    ax = chart.subplots()
    low, high = _square(pairs)
    ax.plot(
        (low, high),
        (low, high),
        color=MUTED,
        linewidth=1,
        zorder=1,
    )
    change = pairs["after"] - pairs["before"]
    kinds = _kinds_of_change(-change if better == "lower" else change)
    keys = []
    for (name, colour), marker in zip(CHANGES.items(), ("^", "o", "v")):
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
        share = f"{is_kind.sum():,} ({100 * is_kind.mean():.0f}%)"
        keys.append(legend_entry(f"{say(name)}: {share}", colour, marker))
    ax.set(xlim=(low, high), ylim=(low, high), ylabel=shown(say(ylabel)))
    ax.set_xlabel(shown(f"{say(xlabel)} (n = {len(pairs):,})", 44))
    add_legend(chart, keys)
    return chart


def _square(pairs: pd.DataFrame) -> tuple[float, float]:
    """The limits that both axes share, with a margin; at least 0 to 1 where all values are one."""
    low, high = float(pairs.min().min()), float(pairs.max().max())
    if high - low < 1e-9:
        low, high = min(0.0, low), max(1.0, high)
    margin = 0.06 * (high - low)
    return low - margin, high + margin


def _kinds_of_change(gains: pd.Series) -> np.ndarray:
    """The key of CHANGES that each gain belongs to."""
    return np.select([gains > 1e-12, gains < -1e-12], ["improved", "worsened"], "same")
