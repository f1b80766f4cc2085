"""Dots with their intervals, a line of the figure each: forests, breakdowns, and the values of seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from ..core.language import say, stored_text
from .chart import Chart, shown, styled
from .figures import INK, MUTED, add_legend, legend_entry, look, mark_style, new_chart, nothing
from .markdown import ARROWS
from .strip import SMALL_N

OF_METRICS = ("metric", "title", "axis")
"""Columns whose values are words of ours: an arrow after them shows the better direction, where `better` gives one."""

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
    names, hues = _words(frames, label), _words(frames, hue)
    axes_names = _words(frames, panel, 60) if panel else {}
    frames = [_placed(part, label, hue, panel) for part in frames]
    panels = {}
    for kind in axes_names or [""]:
        panels[kind] = [part[part["axis"] == kind] for part in frames]
    labels = [_labels(parts, names) for parts in panels.values()]
    heights = []
    for shown_labels in labels:
        height = _height(list(shown_labels.values()), len(hues))
        heights.append(height if points is None else 1.15 * height)
    gaps = 2.2 * (len(panels) - 1)
    chart, axes = new_chart(title, sum(heights) + gaps, nrows=len(panels), height_ratios=heights)
    explained = set() if points is None else {SEED}
    for ax, (kind, parts), shown_labels in zip(axes, panels.items(), labels):
        drawn = [part[part["label"].isin(shown_labels)] for part in parts]
        explained |= _draw_panel(ax, drawn, list(shown_labels), list(hues))
        _rows(ax, list(shown_labels.values()))
        _widen(ax, drawn)
        if zero:
            ax.axvline(0, color=INK, linewidth=1, zorder=1)
        text = axes_names.get(kind, say(xlabel)) + _under(parts, len(shown_labels))
        ax.set_xlabel("\n".join(shown(line, 44) for line in text.split("\n")))
    if claim:
        axes[-1].set_xlabel(f"{axes[-1].get_xlabel()}\n{claim}")
    keys = []
    if any(hues):
        keys = [legend_entry(text, *look(index)) for index, text in enumerate(hues.values())]
    for note, mark in NOTES.items():
        if note in explained:
            keys.append(legend_entry(say(note), MUTED, *mark))
    add_legend(chart, keys)
    return chart


def _placed(frame: pd.DataFrame, label: str, hue: str, panel: str | None) -> pd.DataFrame:
    """The frame with what a mark is placed by: label, hue and axis ("" where there is one axis only)."""
    return frame.assign(
        label=frame[label],
        hue=frame.get(hue, ""),
        axis=frame[panel] if panel else "",
    )


def _words(frames: Sequence[pd.DataFrame], column: str, width: int = 26) -> dict[Any, str]:
    """The values of a column in the order they come, as they are shown; "" for a column that is not there.

    Names of metrics stand in the language in force, with ↑ or ↓ after them; all else as it is in the data.
    """
    words: dict[Any, str] = {}
    for frame in frames:
        directions = frame["better"] if "better" in frame else [""] * len(frame)
        for value, better in zip(frame.get(column, [""] * len(frame)), directions):
            if value in words:
                continue
            if column in OF_METRICS:
                arrow = ARROWS[better][0] if better in ARROWS else ""
                words[value] = f"{shown(say(str(value)), width)} {arrow}".rstrip()
            else:
                words[value] = shown(value, width)
    return words


def _n_of_labels(frame: pd.DataFrame) -> dict[Any, str]:
    """Label -> how many units it rests on, as text."""
    if "n_units" not in frame:
        return {}
    return {name: _span(numbers) for name, numbers in frame.groupby("label")["n_units"]}


def _labels(frames: Sequence[pd.DataFrame], names: Mapping[Any, str]) -> dict[Any, str]:
    """The first ROWS labels of a panel as they are shown: with n where it differs between them."""
    n_units = _n_of_labels(frames[0])
    differ = len(set(n_units.values())) > 1
    labels = {}
    for value in pd.concat([frame["label"] for frame in frames]).drop_duplicates()[:ROWS]:
        labels[value] = names[value]
        if differ and n_units.get(value):
            labels[value] += f"  n={n_units[value]}"
    return labels


def _under(frames: Sequence[pd.DataFrame], n_drawn: int) -> str:
    """What goes under an axis: the n that all labels share, the number of seeds, and how many labels are left out."""
    frame, *points = frames
    notes = []
    shared = set(_n_of_labels(frame).values())
    if len(shared) == 1:
        notes += [f"n = {n}" for n in shared if n]
    for seeds in points:
        measured = seeds.dropna(subset=["value"])
        n_seeds = _span(measured.groupby(["label", "hue"])["seed"].nunique())
        if not n_seeds:
            notes.append(say("no seeds"))
        else:
            notes.append(say("1 seed") if n_seeds == "1" else say("{n} seeds", n=n_seeds))
    text = f" ({', '.join(notes)})" if notes else ""
    n_left_out = pd.concat([part["label"] for part in frames]).nunique() - n_drawn
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
    labels: Sequence[Any],
    hues: Sequence[Any],
) -> set[str]:
    """The marks of one panel: intervals, and the points over them; gives what the legend explains."""
    row_of = {label: y for y, label in enumerate(labels)}
    estimates, *points = frames
    explained = set()

    def place(row: pd.Series) -> tuple[float, int]:
        """Height of a mark, and the index of its hue."""
        index = hues.index(row["hue"])
        step = index - (len(hues) - 1) / 2
        return row_of[row["label"]] + step * 0.72 / len(hues), index

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


def _span(numbers: pd.Series) -> str:
    """ "40" or "12 to 40"; "" where all are null."""
    if numbers.isna().all():
        return ""
    least, most = f"{numbers.min():,.0f}", f"{numbers.max():,.0f}"
    return least if least == most else least + say(" to ") + most
