"""Figures of the reports: plain frames in, matplotlib figures out.

No function computes a statistic of its own: intervals are drawn from the columns given. Every function
returns a `Chart`, a matplotlib Figure that no pyplot state knows of; it shows itself in a notebook as a
sharp PNG, and `chart.export("pdf")` (or "svg") is the figure for a paper: bytes depend on the content only.
Data without rows give a figure that says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from ..core.language import say, stored_text
from .chart import Chart, shown, styled
from .fonts import ANSWERED
from .markdown import ARROWS
from .strip import SMALL_N

HUES = ("condition", "system", "title", "metric", "name")
"""Columns that may tell the marks of one row apart; the first that differs within a row does."""

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

WIDTH = 8.0
ROW = 0.34
INK, MUTED = "#1f2328", "#6b7280"

# Okabe and Ito (2008): told apart under every common colour blindness
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#B5A800")
MARKERS = ("o", "s", "D", "^", "v", "P", "X", "*")
CHANGES = {"improved": "#009E73", "same": "#9CA3AF", "worsened": "#D55E00"}


def _chart(title: str, rows: float, *, width: float = WIDTH, **grid: Any) -> Any:
    """A figure `rows` rows high with its title; returns (chart, axes) with the axes of the `grid` in a list."""
    heading = shown(say(title), 92, 2)
    height = max(1.7, 1.15 + ROW * rows + 0.16 * heading.count("\n"))
    chart = Chart(
        figsize=(width, min(height, 160)), layout=ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.06)
    )
    chart.title = " ".join(heading.split())
    # the shipped face has one weight: a title is not bold in part
    weight = "normal" if ANSWERED.search(heading) else "bold"
    chart.suptitle(heading, x=0.012, ha="left", fontsize=11, fontweight=weight)
    return chart, list(np.atleast_1d(chart.subplots(**grid)))


def _nothing(title: str) -> Chart:
    chart, (ax,) = _chart(title, 1)
    chart.drawn = False
    ax.set_axis_off()
    ax.text(
        0.5,
        0.5,
        say("no data"),
        ha="center",
        va="center",
        color=MUTED,
        fontsize=11,
        transform=ax.transAxes,
    )
    return chart


def _height(labels: Sequence[str], parts: int = 1) -> float:
    """Rows of height that labels need: for the lines of the longest, or the marks that stand side by side in each."""
    return len(labels) * max(
        1.0, 0.55 * parts, *(0.52 * (1 + label.count("\n")) for label in labels)
    )


def _rows(ax: Axes, labels: Sequence[str]) -> None:
    """Rows from the top down, one a label."""
    ax.set_yticks(range(len(labels)), labels)
    ax.set_ylim(len(labels) - 0.5, -0.5)
    ax.grid(axis="y", visible=False)
    ax.tick_params(axis="y", length=0)


def _kinds(column: str | None, frames: Sequence[pd.DataFrame]) -> list[Any]:
    """The values of a column in the order they come, over the frames that have it."""
    return list(
        dict.fromkeys(value for frame in frames if column in frame for value in frame[column])
    )


def _arrows(frame: pd.DataFrame, column: str | None) -> dict[Any, str]:
    """What goes after the values of a column that names metrics: " ↑" or " ↓", nothing where neither is better."""
    if column not in OF_METRICS or not {column, "better"} <= set(frame):
        return {}
    return {v: f" {ARROWS[b][0]}" for v, b in zip(frame[column], frame["better"]) if b in ARROWS}


def _word(value: Any, column: str | None) -> str:
    """A label: the name of a metric in the language in force, all else as it is in the data."""
    return shown(say(str(value)) if column in OF_METRICS else value)


def _span(numbers: pd.Series) -> str:
    """ "40" or "12 to 40"; "" where all are null."""
    ends = dict.fromkeys(f"{n:,.0f}" for n in (numbers.min(), numbers.max()) if pd.notna(n))
    return say(" to ").join(ends)


def _mark(colour: str, marker: str, hollow: bool = False) -> dict[str, Any]:
    """How a mark looks, in the axes as in the legend."""
    return {
        "color": colour,
        "marker": marker,
        "markerfacecolor": "white" if hollow else colour,
        "markeredgewidth": 1.6,
        "markersize": 11 if marker == "|" else 6,
        "linestyle": "",
    }


def _key(text: str, *mark: Any) -> Line2D:
    return Line2D([], [], label=text, **_mark(*mark))


def _look(k: int) -> tuple[str, str]:
    """Colour and marker of the k-th hue: a pair of its own for each of the first 64."""
    return PALETTE[k % 8], MARKERS[(k + k // 8) % 8]


def _legend(chart: Chart, handles: Sequence[Any]) -> None:
    """The entries below the axes, in as many columns, up to four, as the chart is wide enough for."""
    if not handles:
        return
    renderer = FigureCanvasAgg(chart).get_renderer()
    for columns in range(min(4, len(handles)), 0, -1):
        legend = chart.legend(handles=list(handles), loc="outside lower left", ncols=columns)
        if columns == 1 or legend.get_window_extent(renderer).width <= chart.bbox.width:
            break
        legend.remove()


def _interval(ax: Axes, y: float, row: pd.Series, colour: str, marker: str, band: bool) -> str:
    """One value with its interval at height y: a dot on a line, or a tick on a band for the dots that go over it;
    returns the entry of NOTES that explains the mark, or ""."""
    value, low, high = (float(row.get(c, np.nan)) for c in ("value", "ci_low", "ci_high"))
    if np.isnan(value):
        place = (0.01, y)
        ax.annotate(
            say("not measured"),
            place,
            xycoords=("axes fraction", "data"),
            color=MUTED,
            fontsize=8.5,
            va="center",
        )
        return ""
    bare = np.isnan(low) or np.isnan(high)
    small = not (bare or band) and 0 <= row.get("n_units", SMALL_N) < SMALL_N
    if not bare:
        line = {"linewidth": 7, "alpha": 0.22} if band else {"linewidth": 2}
        ax.plot([low, high], [y, y], color=colour, solid_capstyle="butt", zorder=2, **line)
    mark = _mark(colour, "|" if bare or band else marker, small)
    # a tick on a band is longer than the dots that may stand on it
    ax.plot(value, y, **mark | ({"markersize": 15} if band else {}), zorder=3)
    return BARE if bare else ALL_SEEDS if band else FEW if small else ""


def _room(ax: Axes, frames: Sequence[pd.DataFrame]) -> None:
    """Where all that is drawn stands at one place, a scale that a reader knows, not a magnified one, with a margin
    for the marks that stand on its ends."""
    drawn = [f.filter(["value", "ci_low", "ci_high"]).to_numpy(dtype=float).ravel() for f in frames]
    ends = {round(float(x), 9) for x in np.concatenate(drawn) if not np.isnan(x)}
    if len(ends) < 2:
        low, high = min(0.0, *ends, 0.0), max(1.0, *ends, 1.0)
        pad = 0.05 * (high - low)
        ax.set_xlim(low - pad, high + pad)


def _named(
    frames: Sequence[pd.DataFrame], label: str, hue: str | None
) -> tuple[dict[Any, str], str]:
    """The first ROWS labels as they are shown, with n where it differs between them, and what goes under the axis:
    the n that they share, the number of seeds, and how many labels are left out."""
    frame, *points = frames
    order = _kinds(label, frames)
    n = {k: _span(v) for k, v in frame.groupby(label)["n_units"]} if "n_units" in frame else {}
    shared = set(n.values()) if len(set(n.values())) == 1 else set()
    arrows = _arrows(frame, label)
    names = {
        o: _word(o, label) + arrows.get(o, "") + ("" if shared or not n.get(o) else f"  n={n[o]}")
        for o in order[:ROWS]
    }
    notes = [f"n = {span}" for span in shared if span]
    for seeds in points:
        by = [c for c in (label, hue) if c]
        span = _span(seeds.dropna(subset=["value"]).groupby(by)["seed"].nunique())
        known = say("1 seed") if span == "1" else say("{n} seeds", n=span)
        notes.append(known if span else say("no seeds"))
    under = f" ({', '.join(notes)})" if notes else ""
    rest = len(order) - len(names)
    return names, under + ("\n" + say(UNDRAWN, n=rest) if rest else "")


@styled
def dots(
    frame: pd.DataFrame,
    *,
    title: str,
    xlabel: str = "value",
    label: str = "title",
    zero: bool = False,
    claim: str = "",
    points: pd.DataFrame | None = None,
    panel: str | None = None,
) -> Chart:
    """A dot with its interval for each row of the frame: a line of the figure a `label`, from the top down.

    Columns: `label` (else `name`), value, ci_low, ci_high, n_units, and `better`, which puts ↑ or ↓ after the names
    of metrics. Marks of one label are told apart by colour and marker: of the first column of HUES that differs
    within a label, else of `condition`. A mark is hollow below SMALL_N units; null value: "not measured"; null
    interval: a bare tick. n stands beside the labels where it differs between them, else under the axis.

    `points` has the value of every seed (columns `label`, that of the marks, value and seed): dots over the frame's
    intervals, then drawn as bands. `panel` is a column of both whose values have axes of their own, and name them in
    place of `xlabel`. `zero` draws a line at 0, for differences; `claim` goes under the axis, as does the number of
    labels beyond ROWS a panel.
    """
    frames = [frame] if points is None else [frame, points]
    if all(part.empty for part in frames):
        return _nothing(title)
    label = label if label in frame else "metric"
    hue = _hue(frame, label, panel)
    hues = _kinds(hue, frames) or [None]
    panels = _panels(frames, panel, xlabel)
    named = [_named(parts, label, hue) for _, parts in panels]
    heights = [
        _height(list(names.values()), len(hues)) * (1 if points is None else 1.15)
        for names, _ in named
    ]
    total = sum(heights) + 2.2 * (len(panels) - 1)
    chart, axes = _chart(title, total, nrows=len(panels), height_ratios=heights)
    noted = {SEED} if points is not None else set()
    for ax, (axis, parts), (names, under) in zip(axes, panels, named):
        noted |= _draw_panel(ax, parts, label, list(names), hue, hues)
        _rows(ax, list(names.values()))
        _room(ax, [part[part[label].isin(names)] for part in parts])
        if zero:
            ax.axvline(0, color=INK, linewidth=1, zorder=1)
        ax.set_xlabel(say(axis) + under)
    if claim:
        axes[-1].set_xlabel(f"{axes[-1].get_xlabel()}\n{claim}")
    arrows = _arrows(frame, hue)
    keys = [_key(_word(h, hue) + arrows.get(h, ""), *_look(k)) for k, h in enumerate(hues) if hue]
    notes = [_key(say(note), MUTED, *mark) for note, mark in NOTES.items() if note in noted]
    _legend(chart, keys + notes)
    return chart


def _hue(frame: pd.DataFrame, label: str, panel: str | None) -> str | None:
    """The column that tells marks of one label apart; the condition where none does and there are conditions."""
    lines = frame.groupby([label, panel] if panel else label)
    for column in HUES:
        if column in (label, panel) or column not in frame:
            continue
        if (lines[column].nunique() > 1).any():
            return column
    has_conditions = "condition" in frame and frame["condition"].astype(bool).any()
    return "condition" if has_conditions else None


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


def _draw_panel(
    ax: Axes,
    frames: Sequence[pd.DataFrame],
    label: str,
    names: Sequence[Any],
    hue: str | None,
    hues: Sequence[Any],
) -> set[str]:
    """The marks of one panel: intervals, and the points over them; gives what the legend explains."""
    places = {name: y for y, name in enumerate(names)}
    estimates, *points = [part[part[label].isin(names)] for part in frames]
    noted = set()

    def place(row: pd.Series) -> tuple[float, int]:
        k = hues.index(row[hue]) if hue else 0
        return places[row[label]] + (k - (len(hues) - 1) / 2) * 0.72 / len(hues), k

    for _, row in estimates.iterrows():
        y, k = place(row)
        noted.add(_interval(ax, y, row, *_look(k), band=bool(points)))
    edge = {"markersize": 5.5, "markeredgecolor": "white", "markeredgewidth": 0.7}
    for part in points:
        for _, row in part.iterrows():
            y, k = place(row)
            ax.plot(row["value"], y, **_mark(*_look(k)) | edge, zorder=4)
    return noted


@styled
def distribution(
    frame: pd.DataFrame, *, title: str, xlabel: str, bins: int = 20, unit: str = "samples"
) -> Chart:
    """Histograms of the columns over one another, as of "before" and "after", with a line at each mean.

    Nulls are left out and n counts what is drawn. The axis is 0 to 1, and wider where values go beyond it.
    """
    groups = {
        str(name): found.to_numpy()
        for name in frame
        if len(found := frame[name].astype(float).dropna())
    }
    if not groups:
        return _nothing(title)
    ends = np.concatenate([*groups.values(), (0.0, 1.0)])
    edges = np.linspace(ends.min(), ends.max(), bins + 1)
    chart, (ax,) = _chart(title, 6.5)
    keys = []
    for k, (name, numbers) in enumerate(groups.items()):
        colour, _ = _look(k)
        ax.hist(
            numbers,
            edges,
            histtype="stepfilled",
            facecolor=(colour, 0.25),
            edgecolor=colour,
            linewidth=1.6,
        )
        mean = say("mean {mean:.3f}, n={n:,}", mean=numbers.mean(), n=len(numbers))
        look = {"color": colour, "linewidth": 1.8, "linestyle": (0, (5, 1.5 + 2 * k))}
        keys.append(ax.axvline(numbers.mean(), label=f"{shown(say(name), 40, 1)}: {mean}", **look))
    ax.set(xlabel=say(xlabel), ylabel=say(unit))
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    _legend(chart, keys)
    return chart


@styled
def paired(
    frame: pd.DataFrame,
    *,
    title: str,
    before: str = "before",
    after: str = "after",
    xlabel: str = "before",
    ylabel: str = "after",
    better: str = "higher",
) -> Chart:
    """Each unit's value before against after (or A against B): points off the diagonal are changes.

    Columns `before` and `after`; a row with a null in either takes no part. Where many units share a place the
    mark grows with their number. Counts of improved, same and worsened stand in the legend.
    """
    pairs = frame[[before, after]].astype(float).dropna()
    if pairs.empty:
        return _nothing(title)
    change = (pairs[after] - pairs[before]).to_numpy()
    gain = -change if better == "lower" else change
    kind = np.where(gain > 1e-12, "improved", np.where(gain < -1e-12, "worsened", "same"))
    chart, (ax, side) = _chart(title, 9.5, ncols=2)
    chart.get_layout_engine().set(wspace=0.06)
    low, high = float(pairs.min().min()), float(pairs.max().max())
    if high - low < 1e-9:
        low, high = min(0.0, low), max(1.0, high)
    pad = 0.06 * (high - low)
    limits = low - pad, high + pad
    reach = float(np.abs(change).max()) or 1.0
    edges = np.linspace(-reach, reach, 22)
    ax.plot(limits, limits, color=MUTED, linewidth=1, zorder=1)
    keys = []
    for marker, (name, colour) in zip(("^", "o", "v"), CHANGES.items()):
        mine = kind == name
        places = pairs[mine].round(6).value_counts(sort=False).rename("n").reset_index()
        size = 26 * np.sqrt(places["n"].to_numpy(dtype=float))
        ax.scatter(
            places[before],
            places[after],
            s=size,
            c=colour,
            marker=marker,
            alpha=0.75,
            linewidth=0,
            zorder=3,
        )
        side.hist(change[mine], edges, color=colour, edgecolor="white", linewidth=0.6)
        keys.append(_key(f"{say(name)}: {mine.sum():,} ({100 * mine.mean():.0f}%)", colour, marker))
    side.axvline(change.mean(), color=INK, linewidth=1.4, linestyle="--")
    side.yaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set(
        xlim=limits, ylim=limits, xlabel=f"{say(xlabel)} (n = {len(pairs):,})", ylabel=say(ylabel)
    )
    sides = {"after": say(after), "before": say(before), "mean": change.mean()}
    side.set(
        xlabel=say("change, {after} less {before} (mean {mean:+.3f})", **sides),
        ylabel=say("samples"),
    )
    _legend(chart, keys)
    return chart
