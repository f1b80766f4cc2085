"""Figures for papers, one column (219 pt) wide and without a title: `run.plot`, `study.plot`, and what draws them.

No function computes a statistic of its own: intervals are drawn from the columns given. Data without rows give a figure
without axes.
"""

import io
import math
import textwrap
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.text import Text

from ..core.files import asset_dir
from ..core.messages import UsageError, say, visible
from ..core.metric import Difference
from ..stats.effects import unit_changes
from .page import ANSWERED, families
from .text import ENDS, width_of

# what a saved figure would say of when it was made
MADE_AT = {"svg": "Date", "pdf": "CreationDate"}

# width of a figure (219 pt), height of a row, and the greatest height of a figure, in inches
WIDTH, ROW, TALLEST = 219 / 72, 0.24, 160.0

# marks of conditions; one less than there are colours, so that pairs are many
MARKERS = "osD^vPX"

# sign of a change for the better -> what became of a unit, its colour and marker
CHANGES = {
    1: ("improved", "#009E73", "^"),
    0: ("same", "grey", "o"),
    -1: ("worsened", "#D55E00", "v"),
}


@cache
def figure_style() -> Any:
    """The style of the figures, for any user's own; the fonts that it names are registered."""
    families()
    return mpl.rc_params_from_file(
        asset_dir("templates") / "report" / "figures.mplstyle", use_default_template=False
    )


def export(figure: Figure, form: Literal["svg", "pdf"]) -> bytes:
    """A figure for a paper, text as text; bytes of its content only."""
    text = "".join(t.get_text() for t in figure.findobj(Text))
    out = io.BytesIO()
    with mpl.rc_context(
        {
            **figure_style(),
            "svg.fonttype": "none",
            # the glyphs of the shipped face are of PostScript's kind, which a Type 42 font cannot hold
            "pdf.fonttype": 3 if ANSWERED.search(text) else 42,
        }
    ):
        # laid out once: a second pass would move things
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        figure.savefig(
            out,
            format=form,
            metadata={MADE_AT[form]: None},
        )
    return out.getvalue()


def shown(value: Any, width: int = 26) -> str:
    """A label: wrapped at `width` columns (a Han or Hangul character takes two), cut after three lines."""
    text = visible(unicodedata.normalize("NFC", str(value)))
    # no more than can stand there: the time to break a word grows with the square of its length
    text = " ".join(text.split())[:200]
    wrapped = textwrap.wrap(
        text,
        max(8, round(width * len(text) / max(1, width_of(text)))),
        max_lines=3,
        placeholder=" …",
    )
    return "\n".join(wrapped) or say("(empty)")


@contextmanager
def new_chart(heights: Sequence[float]) -> Iterator[Figure]:
    """A figure to be drawn in, with axes so many rows high, one below the other, and a legend of the first at last.

    Letters are those of a column of a paper. The legend has a line an entry; the chart grows by these.
    """
    height = 0.6 + ROW * (sum(heights) + 1.5 * (len(heights) - 1))
    height = min(max(1.3, height), TALLEST)
    with mpl.rc_context(
        {
            **figure_style(),
            "xtick.labelsize": 7,
            "ytick.labelsize": 7,
            "legend.fontsize": 7,
            "axes.labelsize": 8,
        }
    ):
        chart = Figure(figsize=(WIDTH, height), layout="constrained")
        chart.subplots(len(heights), height_ratios=heights)
        yield chart
        handles, labels = chart.axes[0].get_legend_handles_labels()
        if labels:
            chart.legend(
                handles,
                labels,
                loc="outside lower left",
            )
            chart.set_figheight(height + 0.18 * sum(1 + label.count("\n") for label in labels))


# --- the figures of a run and of a study


@dataclass(frozen=True)
class Plots:
    """The figures of a run, or of a study."""

    shown: Any

    def forest(self, *metrics: str) -> Figure:
        """Values with their intervals, a line a metric (default: the headline); of several conditions differences.

        The first stands at the top. What is not measured is left out; a metric without limits has an axis of its own.

        >>> import evaltools as et
        >>> run = et.evaluate("cr", "example:cr/with_memory__seed1_proposed")
        >>> ax = run.plot.forest("fix_rate_refpol").axes[0]
        """
        result, what = self.shown, say("value")
        rows = result.rows_of(*[result.metric(name).name for name in metrics or result.headline])
        if result.candidates:
            # of several the legend names the candidates
            what = f"{result.candidates[0]} − {result.baseline}"
            if len(result.candidates) > 1:
                what = say("candidate − baseline")
            rows = rows.rename(columns={"delta": "value", "candidate": "condition"})
        rows = rows.dropna(subset="value")
        if rows.empty:
            return Figure()
        rows = rows.astype(dict.fromkeys(ENDS, float))
        rows["mark"], conditions = pd.factorize(rows["condition"])
        of_axis = rows["metric"].mask(
            [math.isfinite(sum(result.formulas[name].ends)) for name in rows["metric"]], ""
        )
        panels = [panel for _, panel in rows.groupby(of_axis, sort=False)]
        step = max(1.6, 0.6 * len(conditions))
        with new_chart([step * panel["metric"].nunique() for panel in panels]) as chart:
            for ax, panel in zip(chart.axes, panels):
                lines, names = pd.factorize(panel["metric"])
                from_middle = panel["mark"] - (len(conditions) - 1) / 2
                panel = panel.assign(line=lines + 0.72 * from_middle / len(conditions))
                for mark, of in panel.groupby("mark"):
                    ax.hlines(of["line"], of["ci_low"], of["ci_high"], f"C{mark}")
                    ax.scatter(
                        of["value"],
                        of["line"],
                        s=16,
                        color=f"C{mark}",
                        marker=MARKERS[mark % len(MARKERS)],
                        label=shown(conditions[mark]) if len(conditions) > 1 else None,
                    )
                ax.set_yticks(range(len(names)), [shown(result.titled(name)) for name in names])
                ax.set_ylim(len(names) - 0.5, -0.5)
                ax.grid(axis="y", visible=False)
                if result.candidates:
                    ax.axvline(0, color="black", linewidth=0.8)
            ax.set_xlabel(
                shown(say("{what}, {level} interval", what=what, level=result.resampling.percent))
            )
        return chart

    def paired(self, metric: str | None = None) -> Figure:
        """Each unit's value before against after: the two sides of a difference (default: the first of the headline).

        Points off the diagonal are changes, which the legend counts. Where many units share a place the mark grows with
        their number; a unit without a value on either side takes no part. Of a study: a metric (default: the primary)
        under the baseline against that under the candidate that the finding names first.
        UsageError for a metric of a run that is no difference.

        >>> import evaltools as et
        >>> run = et.evaluate("cr", "example:cr/with_memory__seed1_proposed")
        >>> ax = run.plot.paired("delta_f1_refpol").axes[0]
        """
        result = self.shown
        if len(result.results) > 1:
            drawn, name = result.metric(metric or result.primary), result.candidate()
            changes = unit_changes(result.labelled(result.baseline, name), drawn.name)
            sides = changes[["baseline", "candidate"]]
            labels = [f"{result.titled(drawn.name)}, {side}" for side in (result.baseline, name)]
        else:
            (run,) = result.results
            names = [name for name in run.headline if isinstance(run.metric(name), Difference)]
            drawn = run.metric(metric or next(iter(names), run.primary))
            if not isinstance(drawn, Difference):
                raise UsageError(
                    f"{drawn.name} is no difference of two metrics, with a before and an after"
                )
            of_sides = (drawn.subtrahend, drawn.minuend)
            sides = pd.concat(map(run.unit_values, of_sides), axis="columns")
            labels = list(map(run.titled, of_sides))
        pairs = sides.set_axis(["x", "y"], axis="columns").astype(float).dropna().round(6)
        if pairs.empty:
            return Figure()
        gain = np.sign(pairs["y"] - pairs["x"]) * (-1 if drawn.better == "lower" else 1)
        with new_chart([9]) as chart:
            [ax] = chart.axes
            ax.axline(
                (pairs["x"].iloc[0],) * 2,
                slope=1,
                color="grey",
                linewidth=0.8,
            )
            for sign, (change, colour, marker) in CHANGES.items():
                is_kind = gain == sign
                spots = pairs[is_kind].value_counts(sort=False).reset_index(name="n")
                ax.scatter(
                    spots["x"],
                    spots["y"],
                    16 * np.sqrt(spots["n"]),
                    colour,
                    marker=marker,
                    alpha=0.75,
                    label=f"{say(change)}: {is_kind.sum():,} ({100 * is_kind.mean():.0f}%)",
                )
            ax.set(xlabel=shown(labels[0], 40), ylabel=shown(labels[1]))
        return chart

    def spread(self, *metrics: str) -> Figure:
        """How the values of single units of a run are spread, a histogram a metric (default: the primary one).

        UsageError for a study of several runs.

        >>> import evaltools as et
        >>> run = et.evaluate("cr", "example:cr/with_memory__seed1_proposed")
        >>> ax = run.plot.spread("tuple_f1_s1_refpol", "tuple_f1_s2_refpol").axes[0]
        """
        run, *others = self.shown.results
        if others:
            raise UsageError("spread is of one run: study.results holds the runs")
        values = [run.unit_values(name).dropna() for name in metrics or (run.primary,)]
        with new_chart([6]) as chart:
            [ax] = chart.axes
            ax.hist(
                values,
                bins=20,
                label=[shown(run.titled(of.name), 40) for of in values],
            )
            ax.set(xlabel=say("value of a unit"), ylabel=say("samples"))
        return chart
