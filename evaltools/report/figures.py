"""Figures of the reports: plain frames in, matplotlib figures out.

No function computes a statistic of its own: intervals are drawn from the columns given. Every function
returns a `Chart`, a matplotlib Figure that no pyplot state knows of; it shows itself in a notebook as a
sharp PNG whose bytes depend on its content only, and it is saved for a paper with `chart.savefig("x.pdf")`.
Data without rows give a figure that says so.
"""

from __future__ import annotations

import base64
import io
import textwrap
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from functools import cache, wraps
from typing import Any, ParamSpec

import matplotlib as mpl
import numpy as np
import pandas as pd
import seaborn as sns
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from .fonts import covered, families
from .text import visible

P = ParamSpec("P")

SMALL_N = 10
"""Below this many units a mark is drawn hollow: read it as an example, not as evidence."""

SPLITS = ("condition", "metric", "title", "name")
"""Columns that may set the rows of one category apart; the first that differs does."""

WIDTH = 8.0
ROW = 0.34
SCALE = 2
INK, MUTED, GRID = "#1f2328", "#6b7280", "#e5e7eb"

# Okabe and Ito (2008): told apart under every common colour blindness
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#B5A800")
MARKERS = ("o", "s", "D", "^", "v", "P", "X", "*")
OUTCOMES = {"fix": "#009E73", "keep": "#A6DCEF", "still": "#D0D4DA", "break": "#D55E00"}
CHANGES = {"improved": "#009E73", "same": "#9CA3AF", "worsened": "#D55E00"}


class Chart(Figure):
    """A figure that displays itself as PNG at twice the screen's resolution, with its title as alternative text."""

    title = ""

    def png(self) -> bytes:
        out = io.BytesIO()
        dpi = self.dpi
        try:
            self.dpi = 100 * SCALE
            # savefig would draw everything twice, the first time for a layout that is done
            FigureCanvasAgg(self).print_png(out, metadata={"Software": None})
        finally:
            self.dpi = dpi
        return out.getvalue()

    def __repr__(self) -> str:
        return f"<figure: {self.title}>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict[str, str], dict[str, Any]]:
        data = {"image/png": base64.b64encode(self.png()).decode("ascii"), "text/plain": repr(self)}
        return data, {"image/png": {"width": round(self.get_figwidth() * 100), "alt": self.title}}


@cache
def _rc() -> Any:
    return {
        **sns.axes_style("whitegrid"),
        "font.family": list(families()),
        "font.size": 9.5,
        "axes.titlesize": 11,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
        "axes.titlepad": 10,
        "axes.labelsize": 9.5,
        "axes.labelcolor": INK,
        "axes.edgecolor": "#c4c9d0",
        "axes.grid": True,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.unicode_minus": True,
        "axes.prop_cycle": cycler(color=PALETTE),
        "grid.color": GRID,
        "grid.linewidth": 0.8,
        "text.color": INK,
        # a "$" in data is a dollar, not a formula
        "text.parse_math": False,
        "xtick.color": INK,
        "ytick.color": INK,
        "xtick.labelsize": 9,
        "ytick.labelsize": 9,
        "legend.frameon": False,
        "legend.fontsize": 9,
        "figure.facecolor": "white",
        "figure.dpi": 100,
        "savefig.facecolor": "white",
        "savefig.bbox": None,
        "svg.hashsalt": "evaltools",
    }


def style() -> None:
    """Give matplotlib the look of the reports, Korean and Chinese included, for figures made by hand."""
    mpl.rcParams.update(_rc())


def _styled(draw: Callable[P, Chart]) -> Callable[P, Chart]:
    @wraps(draw)
    def inner(*args: P.args, **kwargs: P.kwargs) -> Chart:
        with mpl.rc_context(_rc()):
            chart = draw(*args, **kwargs)
            # laid out once, here: a second pass at another resolution would move things
            layout = chart.get_layout_engine()
            if layout is not None:
                layout.execute(chart)
            chart.set_layout_engine("none")
            return chart

    return inner


def shown(value: Any, width: int = 34, lines: int = 3) -> str:
    """A label: wrapped at `width` columns (a Han or Hangul character takes two), cut after `lines` lines,
    with characters that no shipped font has as U+FFFD."""
    text = visible(unicodedata.normalize("NFC", str(value)))
    text = "".join(c if ord(c) in covered() else "\ufffd" for c in " ".join(text.split()))
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text[:200])
    columns = max(8, round(width / (1 + wide / max(1, len(text[:200])))))
    return "\n".join(textwrap.wrap(text, columns, max_lines=lines, placeholder=" …")) or "(empty)"


def _chart(title: str, rows: float, *, width: float = WIDTH, columns: int = 1, sharey: bool = False) -> Any:
    """A figure `rows` rows high with its title; returns (chart, axes) with the axes in a list."""
    heading = shown(title, 92, 2)
    height = max(1.7, 1.15 + ROW * rows + 0.16 * heading.count("\n"))
    chart = Chart(figsize=(width, min(height, 160)), layout=ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.06))

    chart.title = " ".join(heading.split())
    axes = list(np.atleast_1d(chart.subplots(1, columns, sharey=sharey)))
    chart.suptitle(heading, x=0.012, ha="left", fontsize=11, fontweight="bold")
    return chart, axes


def _spacing(labels: Sequence[str], parts: int = 1) -> float:
    """Rows of height that one label needs: its lines, or the marks that stand side by side in it."""
    return max(1.0, 0.55 * parts, *(0.52 * (1 + label.count("\n")) for label in labels))


def _nothing(title: str, note: str = "no data") -> Chart:
    chart, (ax,) = _chart(title, 1)
    ax.set_axis_off()
    ax.text(0.5, 0.5, note, ha="center", va="center", color=MUTED, fontsize=11, transform=ax.transAxes)
    return chart


def _rows(ax: Axes, labels: Sequence[str]) -> None:
    """Rows from the top down, one a label."""
    ax.set_yticks(range(len(labels)), labels)
    ax.set_ylim(len(labels) - 0.5, -0.5)
    ax.grid(axis="y", visible=False)
    ax.tick_params(axis="y", length=0)


def _interval(ax: Axes, y: float, row: pd.Series, colour: str, marker: str = "o", note: bool = True) -> None:
    """One value with its interval at height y; hollow below SMALL_N units, text where nothing was measured."""
    value, low, high = (float(row.get(c, np.nan)) for c in ("value", "ci_low", "ci_high"))
    if np.isnan(value):
        place = (0.01, y)
        ax.annotate("not measured", place, xycoords=("axes fraction", "data"), color=MUTED, fontsize=8.5, va="center")
        return
    small = 0 <= row.get("n_units", SMALL_N) < SMALL_N
    no_interval = np.isnan(low) or np.isnan(high)
    if not no_interval:
        ax.plot([low, high], [y, y], color=colour, linewidth=2, solid_capstyle="butt", zorder=2)
    face = "white" if small else colour
    shape = "|" if no_interval and note else marker
    size = 11 if shape == "|" else 6
    ax.plot(value, y, shape, color=colour, markerfacecolor=face, markeredgewidth=1.6, markersize=size, zorder=3)


def _room(ax: Axes, frame: pd.DataFrame) -> None:
    """Where all that is drawn stands at one place, show it on a scale that a reader knows, not a magnified one."""
    drawn = frame[[c for c in ("value", "ci_low", "ci_high") if c in frame]].to_numpy(dtype=float)
    drawn = drawn[~np.isnan(drawn)]
    if not len(drawn) or float(np.ptp(drawn)) < 1e-9:
        at = float(drawn[0]) if len(drawn) else 0.0
        ax.set_xlim(min(-0.05, at * 1.05), max(1.05, at * 1.05))


def _marks(frame: pd.DataFrame) -> list[Line2D]:
    """Legend entries for the marks that stand in the figure."""
    out = []
    measured = frame[frame["value"].notna()]
    if "n_units" in frame and (measured["n_units"] < SMALL_N).any():
        out.append(_key("o", MUTED, f"fewer than {SMALL_N} units", hollow=True))
    if "ci_low" not in frame or measured["ci_low"].isna().any():
        out.append(_key("|", MUTED, "no interval"))
    return out


def _key(marker: str, colour: str, label: str, *, hollow: bool = False) -> Line2D:
    face = "white" if hollow else colour
    size = 10 if marker == "|" else 6
    return Line2D(
        [],
        [],
        linestyle="",
        marker=marker,
        color=colour,
        markerfacecolor=face,
        markeredgewidth=1.6,
        markersize=size,
        label=label,
    )


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


def _n(frame: pd.DataFrame) -> str:
    """ "n = 40" or "n = 12 to 40" from the column n_units; "" without it."""
    if "n_units" not in frame or frame["n_units"].dropna().empty:
        return ""
    low, high = int(frame["n_units"].min()), int(frame["n_units"].max())
    return f" (n = {low:,})" if low == high else f" (n = {low:,} to {high:,})"


def _with_n(label: str, n: Any) -> str:
    return label if n is None or pd.isna(n) else f"{label}  n={int(n):,}"


@_styled
def forest(
    estimates: pd.DataFrame,
    *,
    title: str,
    xlabel: str = "value",
    label: str = "title",
    zero: bool = False,
    claim: str = "",
) -> Chart:
    """Value and interval of each row of an estimates frame, from the top down.

    Columns used: value, ci_low, ci_high, n_units, and `label` for the row's name (else `name`). With a column
    `condition`, rows of the same label stand together, told apart by colour and marker. Null value: "not
    measured"; null interval: a bare tick. `zero` draws a line at 0, for differences; `claim` goes under the axis.
    """
    if estimates.empty:
        return _nothing(title)
    names = estimates[label] if label in estimates else estimates["name"]
    order = list(dict.fromkeys(names))
    conditions = list(dict.fromkeys(estimates["condition"])) if "condition" in estimates else [None]
    step = 0.7 / len(conditions)
    labels = [shown(o) for o in order]
    chart, (ax,) = _chart(title, len(order) * _spacing(labels, len(conditions)))
    for (_, row), name in zip(estimates.iterrows(), names):
        k = conditions.index(row["condition"]) if conditions[0] is not None else 0
        y = order.index(name) + (k - (len(conditions) - 1) / 2) * step
        _interval(ax, y, row, PALETTE[k % 8], MARKERS[k % 8])
    _rows(ax, labels)
    _room(ax, estimates)
    if zero:
        ax.axvline(0, color=INK, linewidth=1, zorder=1)
    ax.set_xlabel(xlabel + _n(estimates) + (f"\n{claim}" if claim else ""))
    keys = [_key(MARKERS[k % 8], PALETTE[k % 8], shown(c)) for k, c in enumerate(conditions) if c is not None]
    _legend(chart, keys + _marks(estimates))
    return chart


@_styled
def outcomes(
    counts: pd.DataFrame,
    title: str = "What the second stage did",
    *,
    kinds: Mapping[str, str] = OUTCOMES,
    xlabel: str = "share of samples, %",
) -> Chart:
    """Stacked bars of counts: a row an index value (or `key`), a part a column named in `kinds` (name -> colour)."""
    frame = counts.set_index("key") if "key" in counts else counts
    parts = [k for k in kinds if k in frame]
    if frame.empty or not parts or not np.nansum(frame[parts].to_numpy(dtype=float)):
        return _nothing(title)
    chart, (ax,) = _chart(title, 1.45 * len(frame))
    for y, (_, row) in enumerate(frame.iterrows()):
        total, left = float(row[parts].sum()), 0.0
        for part in parts:
            share = 100 * float(row[part]) / total if total else 0.0
            ax.barh(y, share, left=left, height=0.62, color=kinds[part], edgecolor="white", linewidth=1.2)
            text = f"{int(row[part]):,}" + (f" ({share:.0f}%)" if share >= 12 else "")
            if share >= 3:
                ink = _on(kinds[part])
                ax.text(left + share / 2, y, text, ha="center", va="center", fontsize=8.5, color=ink)
            left += share
    _rows(ax, [f"{shown(k)}\nn={int(frame.loc[k, parts].sum()):,}" for k in frame.index])
    ax.set_xlim(0, 100)
    ax.set_xlabel(xlabel)
    _legend(chart, [mpl.patches.Patch(color=kinds[p], label=shown(p)) for p in parts])
    return chart


def _on(colour: str) -> str:
    """Ink that is read on that colour."""
    r, g, b = mpl.colors.to_rgb(colour)
    return INK if 0.299 * r + 0.587 * g + 0.114 * b > 0.5 else "white"


@_styled
def distribution(
    values: pd.Series | Mapping[str, Any] | pd.DataFrame,
    *,
    by: pd.Series | None = None,
    title: str,
    xlabel: str,
    kind: str = "hist",
    limits: tuple[float, float] | None = (0.0, 1.0),
    bins: int = 20,
    unit: str = "samples",
) -> Chart:
    """How per-unit values are spread, with a line at each mean: `kind` is "hist" or "ecdf".

    `values` is one series (split by `by` if given), or a mapping or frame of several series to lay over one
    another, as in {"before": ..., "after": ...}. Nulls are left out and n counts what is drawn.
    """
    if isinstance(values, pd.DataFrame | Mapping):
        groups = {str(k): pd.Series(v, dtype=float).dropna() for k, v in values.items()}
    elif by is not None:
        groups = {str(k): v.astype(float).dropna() for k, v in values.groupby(by.to_numpy(), sort=False)}
    else:
        groups = {"": pd.Series(values, dtype=float).dropna()}
    groups = {k: v for k, v in groups.items() if len(v)}
    if not groups:
        return _nothing(title)
    every = np.concatenate([v.to_numpy() for v in groups.values()])
    low, high = limits or (float(every.min()), float(every.max()))
    low, high = min(low, float(every.min())), max(high, float(every.max()))
    edges = np.linspace(low, high if high > low else low + 1, bins + 1)
    chart, (ax,) = _chart(title, 6.5)
    keys = []
    for k, (name, series) in enumerate(groups.items()):
        colour = PALETTE[k % 8]
        if kind == "ecdf":
            sns.ecdfplot(x=series.to_numpy(), ax=ax, color=colour, linewidth=2)
        else:
            element = "bars" if len(groups) == 1 else "step"
            sns.histplot(
                x=series.to_numpy(),
                bins=edges.tolist(),
                ax=ax,
                color=colour,
                element=element,
                alpha=0.85 if len(groups) == 1 else 0.25,
                linewidth=1.6 if len(groups) > 1 else 0.6,
            )
        dash = (0, (5, 1.5 + 2 * k))
        ax.axvline(series.mean(), color=colour, linewidth=1.6, linestyle=dash)
        text = f"{shown(name, 40, 1)}: " if name else ""
        keys.append(
            Line2D(
                [],
                [],
                color=colour,
                linewidth=2,
                linestyle=dash,
                label=f"{text}mean {series.mean():.3f}, n={len(series):,}",
            )
        )
    ax.set_xlabel(xlabel)
    ax.set_ylabel(f"share of {unit} at or below" if kind == "ecdf" else unit)
    if kind != "ecdf":
        ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    _legend(chart, keys)
    return chart


@_styled
def breakdown(
    frame: pd.DataFrame,
    *,
    title: str,
    xlabel: str,
    category: str = "category",
    limits: tuple[float, float] | None = None,
    max_rows: int = 60,
) -> Chart:
    """One dot with its interval a category, n beside its name; hollow below SMALL_N units.

    Columns: `category`, value, ci_low, ci_high, n_units; where a column of SPLITS differs the rows of one
    category stand together, told apart by it. Rows come in the order given; beyond `max_rows`
    categories the rest is counted.
    """
    if frame.empty:
        return _nothing(title)
    split = next((c for c in SPLITS if c in frame and frame[c].nunique() > 1), None)
    order = list(dict.fromkeys(frame[category]))
    rest, order = max(0, len(order) - max_rows), order[:max_rows]
    frame = frame[frame[category].isin(order)]
    parts = list(dict.fromkeys(frame[split])) if split else [None]
    step = 0.7 / len(parts)
    n = frame.groupby(category, sort=False)["n_units"].max() if "n_units" in frame else None
    labels = [_with_n(shown(c), None if n is None else n[c]) for c in order]
    chart, (ax,) = _chart(title, len(order) * _spacing(labels, len(parts)))
    for _, row in frame.iterrows():
        k = parts.index(row[split]) if split else 0
        y = order.index(row[category]) + (k - (len(parts) - 1) / 2) * step
        _interval(ax, y, row, PALETTE[k % 8], MARKERS[k % 8])
    _rows(ax, labels)
    _room(ax, frame)
    if limits:
        ax.set_xlim(*limits)
    ax.set_xlabel(xlabel + (f"\n{rest:,} more not drawn; the table has them all" if rest else ""))
    keys = [_key(MARKERS[k % 8], PALETTE[k % 8], shown(p)) for k, p in enumerate(parts) if p is not None]
    _legend(chart, keys + _marks(frame))
    return chart


@_styled
def confusion(frame: pd.DataFrame, *, title: str, xlabel: str = "predicted", ylabel: str = "gold") -> Chart:
    """Counts of a square or oblong table (index: truth, columns: prediction) with the percentage of each row."""
    counts = frame.to_numpy(dtype=float)
    if not counts.size or not np.nansum(counts):
        return _nothing(title)
    totals = counts.sum(axis=1, keepdims=True)
    share = np.divide(100 * counts, totals, out=np.zeros_like(counts), where=totals > 0)
    text = np.array([[f"{int(c):,}\n{s:.0f}%" for c, s in zip(*pair)] for pair in zip(counts, share)])
    chart, (ax,) = _chart(title, 1.7 * len(frame), width=min(14.0, max(5.0, 2.6 + 1.25 * frame.shape[1])))
    sns.heatmap(
        share,
        annot=text,
        fmt="",
        cmap="Blues",
        vmin=0,
        vmax=100,
        linewidths=1.5,
        ax=ax,
        annot_kws={"fontsize": 9},
        cbar_kws={"label": "% of the row"},
        xticklabels=[shown(c, 17) for c in frame.columns],
        yticklabels=[f"{shown(i, 20)}\nn={int(t):,}" for i, t in zip(frame.index, totals[:, 0])],
    )
    ax.tick_params(axis="y", rotation=0, length=0)
    ax.tick_params(axis="x", rotation=0, length=0)
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    return chart


@_styled
def paired_change(
    frame: pd.DataFrame,
    *,
    title: str,
    before: str = "before",
    after: str = "after",
    xlabel: str | None = None,
    ylabel: str | None = None,
    better: str = "higher",
    unit: str = "samples",
) -> Chart:
    """Each unit's value before against after (or A against B): points off the diagonal are changes.

    Columns `before` and `after`; a row with a null in either takes no part. Where many units share a place the
    mark grows with their number. Counts of improved, same and worsened stand in the legend.
    """
    pairs = frame[[before, after]].astype(float).dropna()
    if pairs.empty:
        return _nothing(title)
    sign = -1 if better == "lower" else 1
    gain = sign * (pairs[after] - pairs[before])
    kind = np.where(gain > 1e-12, "improved", np.where(gain < -1e-12, "worsened", "same"))
    chart, (ax, side) = _chart(title, 9.5, columns=2)
    chart.get_layout_engine().set(wspace=0.06)
    places = pairs.round(6).assign(kind=kind).value_counts(sort=False).rename("n").reset_index()
    low, high = float(pairs.min().min()), float(pairs.max().max())
    if high - low < 1e-9:
        low, high = min(0.0, low), max(1.0, high)
    pad = 0.06 * (high - low)
    ax.plot([low - pad, high + pad], [low - pad, high + pad], color=MUTED, linewidth=1, zorder=1)
    keys = []
    for marker, (name, colour) in zip(("^", "o", "v"), CHANGES.items()):
        part = places[places["kind"] == name]
        size = 26 * np.sqrt(part["n"].to_numpy(dtype=float))
        ax.scatter(part[before], part[after], s=size, color=colour, marker=marker, alpha=0.75, linewidth=0, zorder=3)
        count = int((kind == name).sum())
        keys.append(_key(marker, colour, f"{name}: {count:,} ({100 * count / len(pairs):.0f}%)"))
    ax.set_xlim(low - pad, high + pad)
    ax.set_ylim(low - pad, high + pad)
    ax.set_xlabel(xlabel or f"{before} (n = {len(pairs):,})")
    ax.set_ylabel(ylabel or after)
    change = (pairs[after] - pairs[before]).to_numpy()
    reach = float(np.abs(change).max()) or 1.0
    edges = np.linspace(-reach, reach, 22)
    for name, colour in CHANGES.items():
        side.hist(change[kind == name], bins=edges.tolist(), color=colour, edgecolor="white", linewidth=0.6)
    side.axvline(change.mean(), color=INK, linewidth=1.4, linestyle="--")
    side.set_xlabel(f"change, {after} less {before} (mean {change.mean():+.3f})")
    side.set_ylabel(unit)
    side.yaxis.set_major_locator(MaxNLocator(integer=True))
    _legend(chart, keys)
    return chart


@_styled
def seed_dots(
    frame: pd.DataFrame,
    *,
    title: str,
    xlabel: str,
    estimates: pd.DataFrame | None = None,
    label: str = "metric",
    claim: str = "",
) -> Chart:
    """The value of every seed as a dot, by metric and condition, over the interval of their aggregate.

    `frame` columns: `label`, seed, value and optionally condition; `estimates`: `label`, value, ci_low, ci_high
    and optionally condition (the aggregate, drawn as a line in a band). `claim` names what the interval says.
    """
    if frame.empty or frame["value"].isna().all():
        return _nothing(title)
    order = list(dict.fromkeys(frame[label]))
    conditions = list(dict.fromkeys(frame["condition"])) if "condition" in frame else [None]
    step = 0.74 / len(conditions)
    labels = [shown(o) for o in order]
    chart, (ax,) = _chart(title, 1.15 * len(order) * _spacing(labels, len(conditions)))

    def place(row: pd.Series) -> tuple[float, int]:
        k = conditions.index(row["condition"]) if conditions[0] is not None else 0
        return order.index(row[label]) + (k - (len(conditions) - 1) / 2) * step, k

    if estimates is not None:
        for _, row in estimates[estimates[label].isin(order)].iterrows():
            y, k = place(row)
            if pd.notna(row["ci_low"]) and pd.notna(row["ci_high"]):
                ax.plot(
                    [row["ci_low"], row["ci_high"]],
                    [y, y],
                    color=PALETTE[k % 8],
                    linewidth=7,
                    alpha=0.22,
                    solid_capstyle="butt",
                    zorder=1,
                )
            ax.plot(row["value"], y, "|", color=PALETTE[k % 8], markersize=15, markeredgewidth=2, zorder=2)
    for _, row in frame.iterrows():
        y, k = place(row)
        ax.plot(
            row["value"],
            y,
            MARKERS[k % 8],
            color=PALETTE[k % 8],
            markersize=5.5,
            alpha=0.9,
            markeredgecolor="white",
            markeredgewidth=0.7,
            zorder=3,
        )
    seeds = frame.dropna(subset=["value"]).groupby(label, sort=False)["seed"].nunique()
    _rows(ax, labels)
    low, high = int(seeds.min()), int(seeds.max())
    ax.set_xlabel(f"{xlabel} ({low} seeds)" if low == high else f"{xlabel} ({low} to {high} seeds)")
    if claim:
        ax.set_xlabel(f"{ax.get_xlabel()}\n{claim}")
    keys = [_key(MARKERS[k % 8], PALETTE[k % 8], shown(c)) for k, c in enumerate(conditions) if c is not None]
    keys.append(_key("o", MUTED, "one seed"))
    if estimates is not None:
        keys.append(_key("|", MUTED, "all seeds, with interval"))
    _legend(chart, keys)
    return chart


@_styled
def funnel(frame: pd.DataFrame, *, title: str, unit: str = "turns", label: str = "metric") -> Chart:
    """Who takes part in each metric: bars of eligible, skipped and failed units beside the total.

    Columns: `label`, and any of eligible, skipped, failed (counts); `total` where they do not add up to it.
    """
    parts = {"eligible": PALETTE[0], "skipped": "#D0D4DA", "failed": "#D55E00"}
    present = [p for p in parts if p in frame]
    if frame.empty or not present:
        return _nothing(title)
    chart, (ax,) = _chart(title, 1.15 * len(frame))
    counts = frame[present].fillna(0).astype(float)
    total = frame["total"].astype(float) if "total" in frame else counts.sum(axis=1)
    widest = float(max(total.max(), counts.sum(axis=1).max(), 1))
    for y, (_, row) in enumerate(counts.iterrows()):
        left, whole = 0.0, float(total.iloc[y])
        ax.barh(y, whole, height=0.62, color="none", edgecolor="#c4c9d0", linewidth=1)
        for part in present:
            ax.barh(y, row[part], left=left, height=0.62, color=parts[part])
            if row[part] > 0.06 * widest:
                ax.text(
                    left + row[part] / 2,
                    y,
                    f"{int(row[part]):,}",
                    ha="center",
                    va="center",
                    fontsize=8.5,
                    color=_on(parts[part]),
                )
            left += row[part]
        ax.text(max(whole, left) + 0.012 * widest, y, f"of {int(whole):,}", va="center", fontsize=8.5, color=MUTED)
    _rows(ax, [shown(v) for v in frame[label]])
    ax.set_xlim(0, 1.1 * widest)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel(unit)
    _legend(chart, [mpl.patches.Patch(color=parts[p], label=p) for p in present])
    return chart


@_styled
def bars(
    frame: pd.DataFrame | pd.Series,
    *,
    title: str,
    xlabel: str,
    label: str = "label",
    value: str = "count",
    max_rows: int = 40,
) -> Chart:
    """Counts as bars, the largest on top; `frame` is a series (index: labels) or has `label` and `value`."""
    counts = frame if isinstance(frame, pd.Series) else frame.set_index(label)[value]
    counts = counts.dropna().sort_values(ascending=False, kind="stable")
    if counts.empty:
        return _nothing(title)
    rest = max(0, len(counts) - max_rows)
    total = counts.sum()
    counts = counts.iloc[:max_rows]
    labels = [shown(i) for i in counts.index]
    chart, (ax,) = _chart(title, len(counts) * _spacing(labels))
    ax.barh(range(len(counts)), counts.to_numpy(dtype=float), height=0.66, color=PALETTE[0])
    whole = bool((counts == counts.round()).all())
    for y, v in enumerate(counts):
        ax.text(v, y, f" {v:,.0f}" if whole else f" {v:,.3g}", va="center", fontsize=8.5)
    _rows(ax, labels)
    ax.set_xlim(0, 1.09 * float(max(counts.max(), 1e-9)))
    if whole:
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel(f"{xlabel} (n = {total:,.0f})" + (f"\n{rest:,} more not drawn" if rest else ""))
    return chart


@_styled
def system_comparison(
    frame: pd.DataFrame,
    *,
    title: str,
    label: str = "title",
    system: str = "system",
    scale: str = "scale",
    xlabel: str = "value",
) -> Chart:
    """Metrics by systems, each a dot with its interval; a panel of its own for each scale.

    Columns: `label`, `system`, value, ci_low, ci_high, n_units; with a column `scale` (as in "share, 0 to 1" and
    "score, 1 to 5") its text labels the panel's axis.
    """
    if frame.empty:
        return _nothing(title)
    systems = list(dict.fromkeys(frame[system]))
    scales = list(dict.fromkeys(frame[scale])) if scale in frame else [xlabel]
    panels = [frame[frame[scale] == s] if scale in frame else frame for s in scales]
    heights = [p[label].nunique() for p in panels]
    step = 0.74 / len(systems)
    rows = sum(heights) * _spacing([shown(v) for v in frame[label]], len(systems)) + 2.2 * (len(panels) - 1)
    chart, _ = _chart(title, rows)
    chart.delaxes(chart.axes[0])
    axes = np.atleast_1d(chart.subplots(len(panels), 1, gridspec_kw={"height_ratios": heights}))
    for ax, panel, name in zip(axes, panels, scales):
        order = list(dict.fromkeys(panel[label]))
        for _, row in panel.iterrows():
            k = systems.index(row[system])
            y = order.index(row[label]) + (k - (len(systems) - 1) / 2) * step
            _interval(ax, y, row, PALETTE[k % 8], MARKERS[k % 8])
        _rows(ax, [shown(o) for o in order])
        ax.set_xlabel(f"{shown(name, 60)}{_n(panel)}")
    keys = [_key(MARKERS[k % 8], PALETTE[k % 8], shown(s)) for k, s in enumerate(systems)]
    _legend(chart, keys + _marks(frame))
    return chart
