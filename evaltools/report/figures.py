"""Figures for papers, one column (219 pt) wide and without a title: `run.plot`, `study.plot`, and what draws them.

No function computes a statistic of its own: intervals are drawn from the columns given. `export(figure, "pdf")` (or
"svg") gives bytes that depend on the content only. Data without rows give a figure without axes.
"""

from __future__ import annotations

import io
import math
import textwrap
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import MaxNLocator
from PIL import Image

from ..core.errors import UsageError
from ..core.files import asset_dir
from ..core.language import say
from ..core.metric import Difference, metric_title
from .fonts import ANSWERED, even_weight, families, webfont_css
from .numbers import number, titled
from .sentences import UNDECIDED
from .strip import limits
from .text import visible, width_of

if TYPE_CHECKING:
    from .run import Run
    from .study import Study

# pixels of a stored figure for one of the screen, and its colours: with all of them it is twice as large and no better
SCALE, COLOURS = 2, 64

# what a saved figure would say of when and by what it was made
MADE_BY = {
    "svg": ("Creator", "Date"),
    "pdf": ("Creator", "Producer", "CreationDate"),
}

# width of a figure (219 pt), height of a row, and the greatest height of a figure, in inches
WIDTH, ROW, TALLEST = 219 / 72, 0.24, 160.0

INK, MUTED = "#1f2328", "#6b7280"

# Okabe and Ito (2008): told apart under every common colour blindness
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#B5A800")
MARKERS = ("o", "s", "D", "^", "v", "P", "X", "*")

# what became of a unit -> colour and marker
CHANGES = {
    "improved": ("#009E73", "^"),
    "same": (MUTED, "o"),
    "worsened": ("#D55E00", "v"),
}


# --- style and files


@cache
def figure_style() -> Any:
    """The style of the figures, for any user's own; the fonts that it names are registered."""
    families()
    return mpl.rc_params_from_file(
        asset_dir("templates") / "report" / "figures.mplstyle", use_default_template=False
    )


def paper_style() -> Any:
    """The style of the figures with the smaller letters of a column of a paper, for a block."""
    small: Any = dict.fromkeys(("xtick.labelsize", "ytick.labelsize", "legend.fontsize"), 7)
    return mpl.rc_context({**figure_style(), "font.size": 8, "axes.labelsize": 8, **small})


def export(
    figure: Figure,
    form: Literal["svg", "pdf"],
) -> bytes:
    """A figure for a paper, text as text, with the glyphs of Korean and Chinese inside."""
    text = "".join(t.get_text() for t in figure.findobj(Text))
    style = dict(figure_style())
    style["svg.fonttype"] = "none"
    # the glyphs of the shipped face are of PostScript's kind, which a Type 42 font cannot hold
    style["pdf.fonttype"] = 3 if ANSWERED.search(text) else 42
    out = io.BytesIO()
    with mpl.rc_context(style):
        # laid out once: a second pass would move things
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        figure.savefig(out, format=form, metadata=dict.fromkeys(MADE_BY[form]))
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
    even_weight(figure)
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


def shown(
    value: Any,
    width: int = 26,
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
    return "\n".join(textwrap.wrap(text, columns, max_lines=lines, placeholder=" …"))


def new_chart(rows: float) -> Figure:
    """A figure `rows` rows high."""
    height = min(max(1.3, 0.6 + ROW * rows), TALLEST)
    return Figure(figsize=(WIDTH, height), layout="constrained")


def look(index: int) -> tuple[str, str]:
    """Colour and marker of the marks of that index: a pair of its own for each of the first 64."""
    return PALETTE[index % 8], MARKERS[(index + index // 8) % 8]


def add_legend(
    chart: Figure,
    ax: Axes,
) -> None:
    """The entries below the axes, one below the other; the chart grows by their lines."""
    handles, labels = ax.get_legend_handles_labels()
    chart.legend(handles, labels, loc="outside lower left")
    chart.set_figheight(chart.get_figheight() + 0.18 * sum(1 + x.count("\n") for x in labels))


# --- what draws


def forest(
    frame: pd.DataFrame,
    *,
    zero: bool = False,
) -> Figure:
    """A line of the figure for each metric, from the top down, with a dot and its interval for each condition.

    Columns: label (of the metric), condition, value, ci_low, ci_high, verdict, and `axis`, the name of the axis on which
    a row stands; each axis has a panel of its own. Null value: no mark; grey: a difference whose verdict is none.
    `zero` draws a line at 0, for differences.
    """
    if frame["value"].isna().all():
        return Figure()
    conditions = list(frame["condition"].unique())
    panels = dict(list(frame.groupby("axis", sort=False)))
    step = max(1.6, 0.6 * len(conditions))
    heights = [step * rows["label"].nunique() for rows in panels.values()]
    with paper_style():
        chart = new_chart(sum(heights) + 2.2 * (len(panels) - 1))
        axes = chart.subplots(len(panels), height_ratios=heights, squeeze=False)[:, 0]
        for ax, (axis, rows) in zip(axes, panels.items()):
            _draw_panel(ax, rows, conditions)
            ax.set_xlabel(shown(axis))
            if zero:
                ax.axvline(0, color=INK, linewidth=0.8, zorder=1)
        if len(conditions) > 1:
            add_legend(chart, axes[0])
    return chart


def _draw_panel(
    ax: Axes,
    rows: pd.DataFrame,
    conditions: Sequence[str],
) -> None:
    """Draw the marks of one axis."""
    labels = list(rows["label"].unique())
    numbers = rows[["value", "ci_low", "ci_high"]].astype(float)
    for index, condition in enumerate(conditions):
        is_here = rows["condition"] == condition
        value, low, high = (numbers.loc[is_here, name] for name in numbers)
        colour, marker = look(index)
        step = (index - (len(conditions) - 1) / 2) * 0.72 / len(conditions)
        places = rows.loc[is_here, "label"].map(labels.index) + step
        is_undecided = rows.loc[is_here, "verdict"].isin(UNDECIDED)
        colours = np.where(is_undecided, MUTED, colour).tolist()
        ax.hlines(places, low, high, colors=colours, linewidth=1.5)
        marks: Any = {"marker": marker, "s": 16, "zorder": 3}
        ax.scatter(value, places, c=colours, **marks)
        ax.scatter([], [], c=colour, label=shown(condition), **marks)
    ax.set_yticks(range(len(labels)), [shown(label) for label in labels])
    ax.set_ylim(len(labels) - 0.5, -0.5)
    ax.grid(axis="y", visible=False)


def spread(
    values: Mapping[str, pd.Series],
    xlabel: str,
) -> Figure:
    """Histograms of the values of units (label -> values) over one another, with a line at each mean; without nulls."""
    drawn = {label: column.dropna() for label, column in values.items() if column.notna().any()}
    if not drawn:
        return Figure()
    lowest = min(0.0, *(column.min() for column in drawn.values()))
    most = max(1.0, *(column.max() for column in drawn.values()))
    with paper_style():
        chart = new_chart(6)
        ax = chart.subplots()
        for index, (label, column) in enumerate(drawn.items()):
            colour, _ = look(index)
            ax.hist(column, np.linspace(lowest, most, 21).tolist(), color=colour, alpha=0.4)
            mean = say("mean {mean}, n={n:,}", mean=number(column.mean()), n=len(column))
            label = f"{shown(label, 40, 1)}:\n{mean}"
            dashes = (0, (5, 1.5 + 2 * index))
            ax.axvline(column.mean(), color=colour, linestyle=dashes, label=label)
        ax.set(xlabel=xlabel, ylabel=say("samples"))
        ax.yaxis.set_major_locator(MaxNLocator(integer=True))
        add_legend(chart, ax)
    return chart


def paired(
    before: pd.Series,
    after: pd.Series,
    *,
    labels: tuple[str, str],
    better: str = "higher",
) -> Figure:
    """Each unit's value before against after (or A against B): points off the diagonal are changes.

    A row with a null in either takes no part. Where many units share a place the mark grows with their number. Counts
    of improved, same and worsened stand in the legend.
    """
    pairs = pd.DataFrame({"before": before, "after": after}).astype(float).dropna()
    if pairs.empty:
        return Figure()
    gain = (pairs["after"] - pairs["before"]) * (-1 if better == "lower" else 1)
    kinds = np.select([gain > 1e-12, gain < -1e-12], ["improved", "worsened"], "same")
    with paper_style():
        chart = new_chart(9)
        ax = chart.subplots()
        ax.axline((pairs["before"].iloc[0],) * 2, slope=1, color=MUTED, linewidth=0.8, zorder=1)
        for name, (colour, marker) in CHANGES.items():
            is_kind = kinds == name
            spots = pairs[is_kind].round(6).value_counts(sort=False).reset_index(name="n")
            ax.scatter(
                spots["before"],
                spots["after"],
                s=16 * np.sqrt(spots["n"].to_numpy(dtype=float)),
                c=colour,
                marker=marker,
                alpha=0.75,
                linewidth=0,
                label=f"{say(name)}: {is_kind.sum():,} ({100 * is_kind.mean():.0f}%)",
            )
        ax.set(xlabel=shown(labels[0], 40), ylabel=shown(labels[1]))
        add_legend(chart, ax)
    return chart


# --- the figures of a run and of a study


def _title(shown: Run | Study, name: str) -> str:
    """The title of a metric with the arrow of its better direction."""
    metric = shown.metric(name)
    return titled(metric.shown_title, metric.better)


def _forest_rows(
    rows: pd.DataFrame,
    shown: Run | Study,
    xlabel: str,
) -> pd.DataFrame:
    """The rows for `forest`: a metric without limits has an axis of its own."""
    by_name = {metric.name: metric for metric in shown.metrics}
    rows = rows[~rows["metric"].isin(shown.blocked)]
    is_single = rows["metric"].nunique() == 1
    labels = []
    axes = []
    for name, title, better in zip(rows["metric"], rows["title"], rows["better"]):
        labels.append(titled(metric_title(name, title), better))
        has_own = not is_single and not math.isfinite(sum(limits(name, by_name)))
        axes.append(labels[-1] if has_own else xlabel)
    return rows.assign(label=labels, axis=axes, verdict=rows.get("verdict", ""))


@dataclass(frozen=True)
class RunPlots:
    """The figures of a run."""

    run: Run

    def forest(self, *metrics: str) -> Figure:
        """Values with their intervals, a line a metric (default: the headline); groups of metrics can be named too.

        >>> import evaltools as et
        >>> run = et.evaluate("cr", "example:cr/with_memory__seed1_proposed")
        >>> ax = run.plot.forest("fix_rate_refpol").axes[0]
        """
        run = self.run
        estimates = run.estimates_of(*(metrics or run.headline))
        xlabel = say("value with {level} interval", level=run.resampling.percent)
        return forest(_forest_rows(estimates, run, xlabel))

    def paired(self, metric: str | None = None) -> Figure:
        """Each unit's value before against after: the two sides of a difference (default: the first of the headline).

        UsageError for a metric that is no difference.

        >>> import evaltools as et
        >>> run = et.evaluate("cr", "example:cr/with_memory__seed1_proposed")
        >>> ax = run.plot.paired("delta_f1_refpol").axes[0]
        """
        run = self.run
        differences = [name for name in run.headline if isinstance(run.metric(name), Difference)]
        difference = run.metric(metric or next(iter(differences), run.primary))
        if not isinstance(difference, Difference):
            raise UsageError(
                f"{difference.name} is no difference of two metrics, with a before and an after"
            )
        before, after = difference.subtrahend, difference.minuend
        return paired(
            run.unit_values(before),
            run.unit_values(after),
            labels=(_title(run, before), _title(run, after)),
            better=difference.better,
        )

    def spread(self, *metrics: str) -> Figure:
        """How the values of single units are spread, a histogram a metric (default: the primary one).

        >>> import evaltools as et
        >>> run = et.evaluate("cr", "example:cr/with_memory__seed1_proposed")
        >>> ax = run.plot.spread("tuple_f1_s1_refpol", "tuple_f1_s2_refpol").axes[0]
        """
        names = metrics or (self.run.primary,)
        values = {_title(self.run, name): self.run.unit_values(name) for name in names}
        return spread(values, say("value of a unit"))


@dataclass(frozen=True)
class StudyPlots:
    """The figures of a study."""

    study: Study

    def forest(self) -> Figure:
        """The differences of the headline metrics to the baseline, with their intervals; of one condition its values."""
        study = self.study
        what = say("mean over seeds") if study.seeded else say("value")
        rows = study.estimates_of(*study.headline)
        if study.candidates:
            rows = study.differences_of(*study.headline)
            rows = rows.rename(columns={"delta": "value", "candidate": "condition"})
            what = say("candidate − baseline")
        xlabel = say("{what}, {level} interval", what=what, level=study.resampling.percent)
        return forest(_forest_rows(rows, study, xlabel), zero=bool(study.candidates))

    def paired(
        self,
        metric: str | None = None,
        candidate: str | None = None,
    ) -> Figure:
        """Each unit's value under the baseline against that under a candidate, by default the first.

        `metric`: by default the primary one.
        """
        study = self.study
        metric = metric or study.primary
        name = study.candidate(candidate)
        changes = study.changes(metric, name)
        title = _title(study, metric)
        return paired(
            changes["baseline"],
            changes["candidate"],
            labels=(f"{title}, {study.baseline}", f"{title}, {name}"),
            better=study.metric(metric).better,
        )
