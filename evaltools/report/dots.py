"""Dots with their intervals, a line of the figure each: forests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from ..core.language import say, stored_text
from ..core.metric import metric_title
from .chart import Chart, shown, styled
from .figures import INK, MUTED, add_legend, legend_entry, look, mark_style, new_chart, nothing
from .markdown import ARROWS
from .strip import SMALL_N

OF_METRICS = ("metric", "title", "axis")
"""Columns whose values are words of ours: an arrow after them shows the better direction, where `better` gives one."""

FEW = stored_text("fewer than {n} units", n=SMALL_N)
BARE = "no interval"
NOTES = {FEW: ("o", True), BARE: ("|",)}
"""What the legend says of marks, and their shape; only of those that stand in the figure."""

UNDRAWN = "{n:,} more not drawn; the table has them all"

ROWS = 60
"""Rows of a figure, or of a panel of it."""


@dataclass(frozen=True)
class Panel:
    """What one axis shows."""

    rows: pd.DataFrame
    """The rows that are drawn."""
    labels: dict[Any, str]
    """Label -> as it is shown, from the top down."""
    xlabel: str


@styled
def dots(
    frame: pd.DataFrame,
    *,
    title: str,
    xlabel: str = "value",
    label: str = "title",
    hue: str = "condition",
    zero: bool = False,
    claim: str = "",
    panel: str | None = None,
) -> Chart:
    """A dot with its interval for each row of the frame: a line of the figure a `label`, from the top down.

    Columns: `label`, value, ci_low, ci_high, n_units, and `better`, which puts ↑ or ↓ after the names of metrics.
    Marks of one label are told apart by colour and marker, one for each value of `hue`. A mark is hollow below SMALL_N
    units; null value: "not measured"; null interval: a bare tick. n stands beside the labels where it differs between
    them, else under the axis.

    `panel` is a column whose values have axes of their own, and name them in place of `xlabel`. `zero` draws a line at
    0, for differences; `claim` goes under the axis, as does the number of labels beyond ROWS a panel.
    """
    if frame.empty:
        return nothing(title)
    names = _words(frame, label)
    hues = _words(frame, hue)
    axes_names = _words(frame, panel, 60) if panel else {"": say(xlabel)}
    placed = frame.assign(label=frame[label], hue=frame.get(hue, ""))
    panels = []
    for axis, axis_name in axes_names.items():
        rows = placed[frame[panel] == axis] if panel else placed
        panels.append(_panel(rows, names, axis_name))
    heights = [_height(list(shown_panel.labels.values()), len(hues)) for shown_panel in panels]
    gaps = 2.2 * (len(panels) - 1)
    chart, axes = new_chart(title, sum(heights) + gaps, nrows=len(panels), height_ratios=heights)
    notes: set[str] = set()
    for ax, shown_panel in zip(axes, panels):
        notes |= _draw_panel(ax, shown_panel, list(hues))
        if zero:
            ax.axvline(0, color=INK, linewidth=1, zorder=1)
    if claim:
        axes[-1].set_xlabel(f"{axes[-1].get_xlabel()}\n{claim}")
    add_legend(chart, _legend(hues, notes))
    return chart


def _words(
    frame: pd.DataFrame,
    column: str,
    width: int = 34,
) -> dict[Any, str]:
    """The values of a column in the order they come, as they are shown; "" for a column that is not there.

    Names of metrics stand in the language in force, with ↑ or ↓ after them; all else as it is in the data.
    """
    words: dict[Any, str] = {}
    empty = [""] * len(frame)
    columns = [frame.get(name, empty) for name in (column, "metric", "better")]
    for value, name, better in zip(*columns):
        if value in words:
            continue
        if column in OF_METRICS:
            arrow = ARROWS[better][0] if better in ARROWS else ""
            words[value] = f"{shown(say(metric_title(name, str(value))), width)} {arrow}".rstrip()
        else:
            words[value] = shown(value, width)
    return words


def _panel(
    rows: pd.DataFrame,
    names: Mapping[Any, str],
    axis_name: str,
) -> Panel:
    """The first ROWS labels of an axis; n stands beside them where it differs, else under the axis."""
    n_units: dict[Any, str] = {}
    if "n_units" in rows:
        for name, numbers in rows.groupby("label")["n_units"]:
            n_units[name] = _span(numbers)
    different = set(n_units.values())
    values = rows["label"].drop_duplicates()
    labels = {}
    for value in values.head(ROWS):
        labels[value] = names[value]
        if len(different) > 1 and n_units.get(value):
            labels[value] += f"  n={n_units[value]}"
    lines = [axis_name]
    if len(different) == 1 and any(different):
        lines[0] += f" (n = {different.pop()})"
    if len(values) > ROWS:
        lines.append(say(UNDRAWN, n=len(values) - ROWS))
    xlabel = "\n".join(shown(line, 44) for line in lines)
    return Panel(rows[rows["label"].isin(labels)], labels, xlabel)


def _legend(hues: Mapping[Any, str], notes: set[str]) -> list[Any]:
    """The entries of the legend: the hues where there are any, and the notes."""
    entries = []
    if any(hues):
        for index, text in enumerate(hues.values()):
            entries.append(legend_entry(text, *look(index)))
    for note, mark in NOTES.items():
        if note in notes:
            entries.append(legend_entry(say(note), MUTED, *mark))
    return entries


def _height(labels: Sequence[str], n_marks: int) -> float:
    """Rows of height that labels need: for the lines of the longest, or the marks that stand side by side in each."""
    most_lines = max(1 + label.count("\n") for label in labels)
    height = max(1.0, 0.55 * n_marks, 0.52 * most_lines)
    return len(labels) * height


def _draw_panel(
    ax: Axes,
    panel: Panel,
    hues: Sequence[Any],
) -> set[str]:
    """Draw the marks of one axis; gives what the legend explains."""
    labels = list(panel.labels)
    notes = set()
    for _, row in panel.rows.iterrows():
        index = hues.index(row["hue"])
        step = index - (len(hues) - 1) / 2
        y = labels.index(row["label"]) + step * 0.72 / len(hues)
        note = _interval(ax, y, row, *look(index))
        notes.add(note)
    ax.set_yticks(range(len(labels)), list(panel.labels.values()))
    ax.set_ylim(len(labels) - 0.5, -0.5)
    ax.grid(axis="y", visible=False)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel(panel.xlabel)
    return notes


def _interval(
    ax: Axes,
    y: float,
    row: pd.Series,
    colour: str,
    marker: str,
) -> str:
    """One value with its interval at height y; gives the entry of NOTES that explains the mark, or ""."""
    value, low, high = (float(row.get(c, np.nan)) for c in ("value", "ci_low", "ci_high"))
    if np.isnan(value):
        ax.annotate(
            say("not measured"),
            (0.01, y),
            xycoords=("axes fraction", "data"),
            color=MUTED,
            fontsize=8.5,
            va="center",
        )
        return ""
    if np.isnan(low) or np.isnan(high):
        ax.plot(value, y, **mark_style(colour, "|"), zorder=3)
        return BARE
    is_small = 0 <= row.get("n_units", SMALL_N) < SMALL_N
    ax.plot(
        [low, high],
        [y, y],
        color=colour,
        linewidth=2,
        solid_capstyle="butt",
        zorder=2,
    )
    ax.plot(value, y, **mark_style(colour, marker, is_small), zorder=3)
    return FEW if is_small else ""


def _span(numbers: pd.Series) -> str:
    """ "40" or "12 to 40"; "" where all are null."""
    if numbers.isna().all():
        return ""
    least, most = f"{numbers.min():,.0f}", f"{numbers.max():,.0f}"
    return least if least == most else least + say(" to ") + most
