"""Figures for papers, one column (219 pt) wide and without a title: `run.plot`, `study.plot`, and what draws them.

No function computes a statistic of its own: intervals are drawn from the columns given. Data without rows give a figure
without axes.
"""

from __future__ import annotations

import io
import math
import textwrap
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import MaxNLocator

from ..core.errors import UsageError
from ..core.files import asset_dir
from ..core.language import say
from ..core.metric import Difference, metric_title
from .fonts import ANSWERED, families, webfont_css
from .strip import limits
from .text import number, titled, visible, width_of

if TYPE_CHECKING:
    from .run import Run
    from .study import Study

# what a saved figure would say of when and by what it was made
MADE_BY = {
    "svg": ("Creator", "Date"),
    "pdf": ("Creator", "Producer", "CreationDate"),
}

# width of a figure (219 pt), height of a row, and the greatest height of a figure, in inches
WIDTH, ROW, TALLEST = 219 / 72, 0.24, 160.0

MUTED = "#6b7280"

# Okabe and Ito (2008): told apart under every common colour blindness
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#B5A800")
MARKERS = ("o", "s", "D", "^", "v", "P", "X", "*")

# sign of a change for the better -> what became of a unit, its colour and marker
CHANGES = {
    1: ("improved", "#009E73", "^"),
    0: ("same", MUTED, "o"),
    -1: ("worsened", "#D55E00", "v"),
}


@cache
def figure_style() -> Any:
    """The style of the figures, for any user's own; the fonts that it names are registered."""
    families()
    path = asset_dir("templates") / "report" / "figures.mplstyle"
    return mpl.rc_params_from_file(path, use_default_template=False)


def paper_style() -> Any:
    """The style of the figures with the smaller letters of a column of a paper, for a block."""
    sizes: Any = {"font.size": 8, "axes.labelsize": 8}
    sizes |= dict.fromkeys(("xtick.labelsize", "ytick.labelsize", "legend.fontsize"), 7)
    return mpl.rc_context({**figure_style(), **sizes})


def export(
    figure: Figure,
    form: Literal["svg", "pdf"],
) -> bytes:
    """A figure for a paper, text as text, with the glyphs of Korean and Chinese inside; bytes of its content only."""
    text = "".join(t.get_text() for t in figure.findobj(Text))
    style = {
        **figure_style(),
        "svg.fonttype": "none",
        # the glyphs of the shipped face are of PostScript's kind, which a Type 42 font cannot hold
        "pdf.fonttype": 3 if ANSWERED.search(text) else 42,
    }
    out = io.BytesIO()
    with mpl.rc_context(style):
        # laid out once: a second pass would move things
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        figure.savefig(out, format=form, metadata=dict.fromkeys(MADE_BY[form]))
    if form == "pdf":
        return out.getvalue()
    # a browser loads a font that stands behind another too late for some of the text
    names = [f"'{name}'" for name in families()]
    svg = out.getvalue().decode().replace(", ".join(names), ", ".join(names[::-1]))
    start = '<style type="text/css">'
    return svg.replace(start, start + webfont_css(text), 1).encode()


def shown(
    value: Any,
    width: int = 26,
    lines: int = 3,
) -> str:
    """A label: wrapped at `width` columns (a Han or Hangul character takes two), cut after `lines` lines."""
    text = visible(unicodedata.normalize("NFC", str(value)))
    # no more than can stand there: the time to break a word grows with the square of its length
    text = " ".join(text.split())[: 200 + 2 * width * lines]
    start = text[:200]
    columns = max(8, round(width * len(start) / max(1, width_of(start))))
    wrapped = textwrap.wrap(
        text,
        columns,
        max_lines=lines,
        placeholder=" …",
    )
    return "\n".join(wrapped) or say("(empty)")


def new_chart(rows: float) -> Figure:
    """A figure `rows` rows high."""
    height = min(max(1.3, 0.6 + ROW * rows), TALLEST)
    return Figure(figsize=(WIDTH, height), layout="constrained")


def add_legend(chart: Figure) -> None:
    """The entries of the first axes below them, one below the other; the chart grows by their lines."""
    handles, labels = chart.axes[0].get_legend_handles_labels()
    chart.legend(handles, labels, loc="outside lower left")
    n_lines = sum(1 + label.count("\n") for label in labels)
    chart.set_figheight(chart.get_figheight() + 0.18 * n_lines)


# --- what draws


def forest(
    rows: pd.DataFrame,
    zero: bool = False,
) -> Figure:
    """A line for each metric, from the top down, with a mark and its interval for each condition.

    Columns: label (of the metric), condition, value, ci_low, ci_high, and `axis`, the name of the axis on which a row
    stands; each axis has a panel of its own. `zero` draws a line at 0, for differences.
    """
    if rows["value"].isna().all():
        return Figure()
    conditions = list(rows["condition"].unique())
    panels = dict(list(rows.groupby("axis", sort=False)))
    step = max(1.6, 0.6 * len(conditions))
    heights = [step * of_axis["label"].nunique() for of_axis in panels.values()]
    with paper_style():
        chart = new_chart(sum(heights) + 2.2 * (len(panels) - 1))
        axes = chart.subplots(len(panels), height_ratios=heights, squeeze=False)[:, 0]
        for ax, (name, of_axis) in zip(axes, panels.items()):
            labels = list(of_axis["label"].unique())
            for index, condition in enumerate(conditions):
                of = of_axis[of_axis["condition"] == condition]
                from_middle = index - (len(conditions) - 1) / 2
                places = of["label"].map(labels.index) + 0.72 * from_middle / len(conditions)
                look: Any = {
                    "color": PALETTE[index % 8],
                    "marker": MARKERS[(index + index // 8) % 8],
                }
                ends = of[["ci_low", "ci_high"]].astype(float)
                ax.hlines(
                    places, ends["ci_low"], ends["ci_high"], colors=look["color"], linewidth=1.5
                )
                ax.scatter(
                    of["value"].astype(float),
                    places,
                    s=16,
                    label=shown(condition),
                    **look,
                )
            ax.set(xlabel=shown(name), ylim=(len(labels) - 0.5, -0.5))
            ax.set_yticks(range(len(labels)), map(shown, labels))
            ax.grid(axis="y", visible=False)
            if zero:
                ax.axvline(
                    0,
                    color="black",
                    linewidth=0.8,
                    zorder=1,
                )
        if len(conditions) > 1:
            add_legend(chart)
    return chart


def spread(values: Mapping[str, pd.Series]) -> Figure:
    """Histograms of the values of units (label -> values) over one another, with a line at each mean; without nulls."""
    drawn = {label: column.dropna() for label, column in values.items() if column.notna().any()}
    if not drawn:
        return Figure()
    every = pd.concat(drawn)
    bins = np.linspace(min(0.0, every.min()), max(1.0, every.max()), 21).tolist()
    with paper_style():
        chart = new_chart(6)
        ax = chart.subplots()
        for index, (label, column) in enumerate(drawn.items()):
            colour = PALETTE[index % 8]
            ax.hist(
                column,
                bins,
                color=colour,
                alpha=0.4,
            )
            mean = say("mean {mean}, n={n:,}", mean=number(column.mean()), n=len(column))
            dashes = (0, (5, 1.5 + 2 * index))
            text = f"{shown(label, 40, 1)}:\n{mean}"
            ax.axvline(
                column.mean(),
                color=colour,
                linestyle=dashes,
                label=text,
            )
        ax.set(xlabel=say("value of a unit"), ylabel=say("samples"))
        ax.yaxis.set_major_locator(MaxNLocator(integer=True))
        add_legend(chart)
    return chart


def paired(
    before: pd.Series,
    after: pd.Series,
    better: str = "higher",
) -> Figure:
    """Each unit's value before against after (or A against B): points off the diagonal are changes.

    The names of the columns are the labels of the axes. A unit with a null in either takes no part. Where many units
    share a place the mark grows with their number. Counts of improved, same and worsened stand in the legend.
    """
    pairs = pd.DataFrame({"x": before, "y": after}).astype(float).dropna()
    if pairs.empty:
        return Figure()
    gain = (pairs["y"] - pairs["x"]).round(12) * (-1 if better == "lower" else 1)
    with paper_style():
        chart = new_chart(9)
        ax = chart.subplots()
        ax.axline(
            (pairs["x"].iloc[0],) * 2,
            slope=1,
            color=MUTED,
            linewidth=0.8,
            zorder=1,
        )
        for sign, (name, colour, marker) in CHANGES.items():
            is_kind = np.sign(gain) == sign
            spots = pairs[is_kind].round(6).value_counts(sort=False).reset_index(name="n")
            label = f"{say(name)}: {is_kind.sum():,} ({100 * is_kind.mean():.0f}%)"
            look: Any = {
                "c": colour,
                "marker": marker,
                "alpha": 0.75,
                "linewidth": 0,
            }
            ax.scatter(
                spots["x"],
                spots["y"],
                16 * np.sqrt(spots["n"]),
                label=label,
                **look,
            )
        ax.set(xlabel=shown(before.name, 40), ylabel=shown(after.name))
        add_legend(chart)
    return chart


# --- the figures of a run and of a study


def _title(shown: Run | Study, name: str) -> str:
    """The title of a metric with the arrow of its better direction."""
    metric = shown.metric(name)
    return titled(metric.shown_title, metric.better)


def _on_axes(
    shown: Run | Study,
    rows: pd.DataFrame,
    xlabel: str,
) -> pd.DataFrame:
    """The rows for `forest`; a metric without limits has an axis of its own."""
    by_name = {metric.name: metric for metric in shown.metrics}
    rows = rows[~rows["metric"].isin(shown.blocked)]
    labels = []
    axes = []
    for name, title, better in zip(rows["metric"], rows["title"], rows["better"]):
        labels.append(titled(metric_title(name, title), better))
        has_limits = math.isfinite(sum(limits(name, by_name)))
        axes.append(xlabel if has_limits or rows["metric"].nunique() == 1 else labels[-1])
    return rows.assign(label=labels, axis=axes)


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
        xlabel = say("value with {level} interval", level=run.resampling.percent)
        return forest(_on_axes(run, run.estimates_of(*(metrics or run.headline)), xlabel))

    def paired(self, metric: str | None = None) -> Figure:
        """Each unit's value before against after: the two sides of a difference (default: the first of the headline).

        UsageError for a metric that is no difference.

        >>> import evaltools as et
        >>> run = et.evaluate("cr", "example:cr/with_memory__seed1_proposed")
        >>> ax = run.plot.paired("delta_f1_refpol").axes[0]
        """
        run = self.run
        names = [name for name in run.headline if isinstance(run.metric(name), Difference)]
        difference = run.metric(metric or next(iter(names), run.primary))
        if not isinstance(difference, Difference):
            raise UsageError(
                f"{difference.name} is no difference of two metrics, with a before and an after"
            )
        before, after = difference.subtrahend, difference.minuend
        return paired(
            run.unit_values(before).rename(_title(run, before)),
            run.unit_values(after).rename(_title(run, after)),
            difference.better,
        )

    def spread(self, *metrics: str) -> Figure:
        """How the values of single units are spread, a histogram a metric (default: the primary one).

        >>> import evaltools as et
        >>> run = et.evaluate("cr", "example:cr/with_memory__seed1_proposed")
        >>> ax = run.plot.spread("tuple_f1_s1_refpol", "tuple_f1_s2_refpol").axes[0]
        """
        run = self.run
        names = metrics or (run.primary,)
        return spread({_title(run, name): run.unit_values(name) for name in names})


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
        return forest(_on_axes(study, rows, xlabel), zero=bool(study.candidates))

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
        title = _title(study, metric)
        changes = study.changes(metric, name)
        before = changes["baseline"].rename(f"{title}, {study.baseline}")
        after = changes["candidate"].rename(f"{title}, {name}")
        return paired(before, after, study.metric(metric).better)
