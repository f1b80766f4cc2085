"""Dots with their intervals, a line of the figure each: forests, breakdowns, and the values of seeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from ..core.language import say, stored_text
from .chart import Chart, shown, styled
from .figures import INK, MUTED, add_legend, legend_entry, look, mark_style, new_chart, nothing
from .markdown import ARROWS
from .strip import SMALL_N

OF_METRICS = ("metric", "title", "name")
"""Columns whose values name a metric: an arrow after them shows its better direction, where `better` gives one."""

FEW, BARE, SEED, ALL_SEEDS = (
    stored_text("fewer than {n} units", n=SMALL_N),
    "no interval",
    "one seed",
    "all seeds, with interval",
)
NOTES = {SEED: ("o",), ALL_SEEDS: ("|",), FEW: ("o", True), BARE: ("|",)}
"""What the legend says of marks, and their shape; only of those that stand in the figure."""

UNDRAWN = "{n:,} more not drawn; the table has them all"

ROWS = 60
"""Rows of a figure, or of a panel of it."""


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
    points: pd.DataFrame | None = None,
    panel: str | None = None,
) -> Chart:
    """A dot with its interval for each row of the frame: a line of the figure a `label`, from the top down.

    Columns: `label`, value, ci_low, ci_high, n_units, and `better`, which puts ↑ or ↓ after the names of metrics.
    Marks of one label are told apart by colour and marker, one for each value of `hue`. A mark is hollow below SMALL_N
    units; null value: "not measured"; null interval: a bare tick. n stands beside the labels where it differs between
    them, else under the axis.

    `points` has the value of every seed (columns `label`, `hue`, value and seed): dots over the frame's
    intervals, then drawn as bands. `panel` is a column of both whose values have axes of their own, and name them in
    place of `xlabel`. `zero` draws a line at 0, for differences; `claim` goes under the axis, as does the number of
    labels beyond ROWS a panel.
    """
    frames = [frame] if points is None else [frame, points]
    if all(part.empty for part in frames):
        return nothing(title)
    frames = [part.assign(**{hue: part.get(hue, "")}) for part in frames]
    hues = _kinds(hue, frames)
    panels = _panels(frames, panel, xlabel)
    labels = [_labels(parts, label) for _, parts in panels]
    heights = []
    for names in labels:
        height = _height(list(names.values()), len(hues))
        heights.append(height if points is None else 1.15 * height)
    gaps = 2.2 * (len(panels) - 1)
    chart, axes = new_chart(title, sum(heights) + gaps, nrows=len(panels), height_ratios=heights)
    explained = set() if points is None else {SEED}
    for ax, (axis, parts), names in zip(axes, panels, labels):
        drawn = [part[part[label].isin(names)] for part in parts]
        explained |= _draw_panel(ax, drawn, label, list(names), hue, hues)
        _rows(ax, list(names.values()))
        _widen(ax, drawn)
        if zero:
            ax.axvline(0, color=INK, linewidth=1, zorder=1)
        ax.set_xlabel(say(axis) + _under(parts, label, hue, len(names)))
    if claim:
        axes[-1].set_xlabel(f"{axes[-1].get_xlabel()}\n{claim}")
    keys = _keys(frame, hue, hues) if any(hues) else []
    for note, mark in NOTES.items():
        if note in explained:
            keys.append(legend_entry(say(note), MUTED, *mark))
    add_legend(chart, keys)
    return chart


def _panels(
    frames: Sequence[pd.DataFrame],
    panel: str | None,
    xlabel: str,
) -> list[tuple[str, list[pd.DataFrame]]]:
    """Label of an axis -> the rows that stand on it."""
    if not panel:
        return [(xlabel, list(frames))]
    arrows = _arrows(frames[0], panel)
    panels = []
    for kind in _kinds(panel, frames):
        name = shown(say(str(kind)), 60) + arrows.get(kind, "")
        panels.append((name, [part[part[panel] == kind] for part in frames]))
    return panels


def _n_of_labels(frame: pd.DataFrame, label: str) -> dict[Any, str]:
    """Label -> how many units it rests on, as text."""
    if "n_units" not in frame:
        return {}
    return {name: _span(numbers) for name, numbers in frame.groupby(label)["n_units"]}


def _labels(frames: Sequence[pd.DataFrame], label: str) -> dict[Any, str]:
    """The first ROWS labels as they are shown: with arrow, and with n where it differs between them."""
    n_units = _n_of_labels(frames[0], label)
    differ = len(set(n_units.values())) > 1
    arrows = _arrows(frames[0], label)
    names = {}
    for value in _kinds(label, frames)[:ROWS]:
        names[value] = _word(value, label) + arrows.get(value, "")
        if differ and n_units.get(value):
            names[value] += f"  n={n_units[value]}"
    return names


def _under(
    frames: Sequence[pd.DataFrame],
    label: str,
    hue: str,
    n_drawn: int,
) -> str:
    """What goes under an axis: the n that all labels share, the number of seeds, and how many labels are left out."""
    frame, *points = frames
    notes = []
    shared = set(_n_of_labels(frame, label).values())
    if len(shared) == 1:
        notes += [f"n = {n}" for n in shared if n]
    for seeds in points:
        measured = seeds.dropna(subset=["value"])
        n_seeds = _span(measured.groupby([label, hue])["seed"].nunique())
        if not n_seeds:
            notes.append(say("no seeds"))
        else:
            notes.append(say("1 seed") if n_seeds == "1" else say("{n} seeds", n=n_seeds))
    text = f" ({', '.join(notes)})" if notes else ""
    n_left_out = len(_kinds(label, frames)) - n_drawn
    if n_left_out:
        text += "\n" + say(UNDRAWN, n=n_left_out)
    return text


def _height(labels: Sequence[str], n_marks: int) -> float:
    """Rows of height that labels need: for the lines of the longest, or the marks that stand side by side in each."""
    most_lines = max((1 + label.count("\n") for label in labels), default=1)
    return len(labels) * max(1.0, 0.55 * n_marks, 0.52 * most_lines)


def _rows(ax: Axes, labels: Sequence[str]) -> None:
    """Rows from the top down, one a label."""
    ax.set_yticks(range(len(labels)), labels)
    ax.set_ylim(len(labels) - 0.5, -0.5)
    ax.grid(axis="y", visible=False)
    ax.tick_params(axis="y", length=0)


def _widen(ax: Axes, frames: Sequence[pd.DataFrame]) -> None:
    """Where all that is drawn stands at one place, a scale that a reader knows, not a magnified one, with a margin
    for the marks that stand on its ends."""
    drawn = set[float]()
    for frame in frames:
        numbers = frame.filter(["value", "ci_low", "ci_high"]).astype(float)
        drawn.update(numbers.stack().dropna().round(9))
    if len(drawn) < 2:
        low, high = min(0.0, *drawn, 0.0), max(1.0, *drawn, 1.0)
        margin = 0.05 * (high - low)
        ax.set_xlim(low - margin, high + margin)


def _draw_panel(
    ax: Axes,
    frames: Sequence[pd.DataFrame],
    label: str,
    names: Sequence[Any],
    hue: str,
    hues: Sequence[Any],
) -> set[str]:
    """The marks of one panel: intervals, and the points over them; gives what the legend explains."""
    row_of = {name: y for y, name in enumerate(names)}
    estimates, *points = frames
    explained = set()

    def place(row: pd.Series) -> tuple[float, int]:
        """Height of a mark, and the index of its hue."""
        index = hues.index(row[hue])
        step = index - (len(hues) - 1) / 2
        return row_of[row[label]] + step * 0.72 / len(hues), index

    for _, row in estimates.iterrows():
        y, index = place(row)
        explained.add(_interval(ax, y, row, *look(index), band=bool(points)))
    edge = {"markersize": 5.5, "markeredgecolor": "white", "markeredgewidth": 0.7}
    for seeds in points:
        for _, row in seeds.iterrows():
            y, index = place(row)
            ax.plot(row["value"], y, **mark_style(*look(index)) | edge, zorder=4)
    return explained


def _interval(
    ax: Axes,
    y: float,
    row: pd.Series,
    colour: str,
    marker: str,
    band: bool,
) -> str:
    """One value with its interval at height y: a dot on a line, or a tick on a band for the dots that go over it;
    returns the entry of NOTES that explains the mark, or ""."""
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
    if band:
        _line(ax, y, low, high, color=colour, linewidth=7, alpha=0.22)
        # a tick on a band is longer than the dots that may stand on it
        ax.plot(value, y, **mark_style(colour, "|") | {"markersize": 15}, zorder=3)
        return ALL_SEEDS
    is_small = 0 <= row.get("n_units", SMALL_N) < SMALL_N
    _line(ax, y, low, high, color=colour, linewidth=2)
    ax.plot(value, y, **mark_style(colour, marker, is_small), zorder=3)
    return FEW if is_small else ""


def _line(ax: Axes, y: float, low: float, high: float, **look: Any) -> None:
    ax.plot([low, high], [y, y], solid_capstyle="butt", zorder=2, **look)


def _keys(frame: pd.DataFrame, hue: str, hues: Sequence[Any]) -> list[Line2D]:
    """The entries of the legend that tell marks of one label apart."""
    arrows = _arrows(frame, hue)
    keys = []
    for index, value in enumerate(hues):
        text = _word(value, hue) + arrows.get(value, "")
        keys.append(legend_entry(text, *look(index)))
    return keys


def _kinds(column: str, frames: Sequence[pd.DataFrame]) -> list[Any]:
    """The values of a column in the order they come, over the frames that have it."""
    kinds: dict[Any, None] = {}
    for frame in frames:
        if column in frame:
            kinds.update(dict.fromkeys(frame[column]))
    return list(kinds)


def _arrows(frame: pd.DataFrame, column: str) -> dict[Any, str]:
    """What goes after the values of a column that names metrics: " ↑" or " ↓", nothing where neither is better."""
    arrows: dict[Any, str] = {}
    if column not in OF_METRICS or column not in frame or "better" not in frame:
        return arrows
    for value, better in zip(frame[column], frame["better"]):
        if better in ARROWS:
            arrows[value] = f" {ARROWS[better][0]}"
    return arrows


def _word(value: Any, column: str) -> str:
    """A label: the name of a metric in the language in force, all else as it is in the data."""
    return shown(say(str(value)) if column in OF_METRICS else value)


def _span(numbers: pd.Series) -> str:
    """ "40" or "12 to 40"; "" where all are null."""
    if numbers.isna().all():
        return ""
    least, most = f"{numbers.min():,.0f}", f"{numbers.max():,.0f}"
    return least if least == most else least + say(" to ") + most
