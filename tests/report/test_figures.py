"""Figures: what they draw, that they stay out of pyplot, and that the same data give the same bytes."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from PIL import Image

from evaltools.report import figures
from evaltools.report.figures import export, forest, png, shown
from tests.report.synthetic import HOSTILE, estimates

RNG = np.random.default_rng(3)
VALUES = pd.Series(RNG.beta(3, 2, 60).round(3))

PAIRS = pd.DataFrame({"before": VALUES, "after": VALUES[::-1].to_numpy()})

DRAWN: dict[str, Callable[[], Figure]] = {
    "forest": lambda: forest(estimates(), title="t"),
    "forest by condition": lambda: forest(
        pd.concat([estimates(condition="m0"), estimates(condition="조건")]),
        title="t",
        zero=True,
        claim="new samples",
    ),
    "forest of hostile titles": lambda: forest(estimates().assign(title=HOSTILE), title="t"),
    "forest in panels": lambda: forest(
        pd.concat(
            [
                estimates(4, condition=s, axis=c)
                for s in ("a", "b")
                for c in ("share", "score, 1 to 5")
            ]
        ),
        title="t",
    ),
    "distribution": lambda: figures.distribution(PAIRS, title="t", xlabel="F1"),
    "paired": lambda: figures.paired(PAIRS, title="t"),
}

EMPTY: dict[str, Callable[[], Figure]] = {
    "forest": lambda: forest(estimates().head(0), title="t"),
    "distribution": lambda: figures.distribution(
        pd.DataFrame({"a": [np.nan]}), title="t", xlabel="x"
    ),
    "paired": lambda: figures.paired(pd.DataFrame({"before": [np.nan], "after": [1.0]}), title="t"),
}


def named(n: int, **columns: Any) -> pd.DataFrame:
    """Estimates whose metrics go by their names."""
    return estimates(n, **columns).assign(title="")


def texts(chart: Figure) -> list[str]:
    return [t.get_text() for t in chart.findobj(plt.Text) if t.get_text()]


def entries(chart: Figure) -> list[str]:
    return [t.get_text() for legend in chart.legends for t in legend.get_texts()]


def rows(chart: Figure, axes: int = 0) -> list[str]:
    return [t.get_text() for t in chart.axes[axes].get_yticklabels()]


def marks(chart: Figure, axes: int = 0) -> list[tuple[float, str]]:
    """Place and marker of every mark."""
    lines = [line for line in chart.axes[axes].lines if line.get_marker() not in ("None", "")]
    return [(round(float(line.get_xdata()[0]), 6), line.get_marker()) for line in lines]


@pytest.mark.parametrize("name", DRAWN)
def test_same_data_same_bytes_without_a_warning(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first, again = DRAWN[name](), DRAWN[name]()
        assert png(first) == png(first) == png(again)
    assert plt.get_fignums() == []


@pytest.mark.parametrize("name", EMPTY)
def test_no_data_is_a_note(name: str) -> None:
    chart = EMPTY[name]()
    assert not chart.axes and chart.get_suptitle() == "t: none" and png(chart)
    assert entries(chart) == []


def test_a_picture_is_sharp_and_says_nothing_of_when_it_was_made() -> None:
    content, width = png(forest(estimates(), title="t"))
    image = Image.open(io.BytesIO(content))
    assert (width, image.width) == (500, 2 * 500)
    assert not {"Software", "Date", "Creation Time"} & set(image.info)


def test_intervals_are_those_given() -> None:
    frame = estimates().head(1).assign(value=0.5, ci_low=0.25, ci_high=0.875)
    lines = [line.get_xdata() for line in forest(frame, title="t").axes[0].lines]
    assert [list(x) for x in lines] == [[0.25, 0.875], [0.5]]


def test_what_is_not_measured_says_so_and_what_has_no_interval_is_a_dot() -> None:
    chart = forest(estimates(), title="t")
    assert texts(chart).count("not measured") == 1
    lines = [line for line in chart.axes[0].lines if line.get_marker() == "None"]
    assert np.isnan(lines[2].get_xdata()).all()


def test_only_differences_without_a_verdict_are_grey() -> None:
    verdicts = ["better", "too few", "tied", "not measured"]
    chart = forest(estimates(4).assign(verdict=verdicts, value=0.5), title="t")
    drawn = [line for line in chart.axes[0].lines if line.get_marker() != "None"]
    grey = [line.get_color() == figures.MUTED for line in drawn]
    assert grey == [False, True, False, True]
    assert "No verdict: too few units, or not measured" in entries(chart)
    decided = forest(estimates(4).assign(verdict="better", value=0.5), title="t")
    assert "No verdict: too few units, or not measured" not in entries(decided)


def test_n_stands_by_the_rows() -> None:
    chart = forest(named(4, axis="F1, 0 to 1"), title="t", claim="new samples")
    assert chart.axes[0].get_xlabel() == "F1, 0 to 1\nnew samples"
    assert rows(chart) == [
        "metric_0 ↑ n=40",
        "metric_1 ↓ n=40",
        "metric_2 n=40",
        "metric_3 ↑ n=6",
    ]
    both = pd.concat([named(4, condition=c).assign(n_units=n) for c, n in (("a", 12), ("b", 1200))])
    assert rows(forest(both, title="t"))[0] == "metric_0 ↑ n=12 to 1,200"
    assert rows(forest(both.assign(n_units=np.nan), title="t"))[0] == "metric_0 ↑"


def test_rows_come_in_the_order_given_from_the_top() -> None:
    chart = forest(named(12).iloc[::-1].assign(n_units=40), title="t")
    assert [row.split()[0] for row in rows(chart)] == [f"metric_{i}" for i in range(11, -1, -1)]
    assert chart.axes[0].get_ylim() == (11.5, -0.5)
    places = [x for x, _ in marks(chart) if not np.isnan(x)]
    assert places == sorted(places, reverse=True)


def test_the_axis_holds_all_that_is_drawn() -> None:
    low, high = forest(estimates(), title="t").axes[0].get_xlim()
    assert -0.1 < low < 0.02 and 0.97 < high < 1.1


def test_zero_is_a_line() -> None:
    frame = estimates(4).head(1)
    lines = [forest(frame, title="t", zero=zero).axes[0].lines for zero in (True, False)]
    assert [len(drawn) for drawn in lines] == [3, 2]
    assert list(lines[0][-1].get_xdata()) == [0, 0]


def test_panels_have_axes_of_their_own() -> None:
    shares = named(4, axis="share").assign(value=0.5)
    scores = named(5, axis="score").assign(value=3)
    frame = pd.concat([f.assign(condition=c, n_units=40) for f in (shares, scores) for c in "ab"])
    chart = forest(frame, title="t", claim="new samples")
    assert [ax.get_xlabel() for ax in chart.axes] == [
        "share",
        "score\nnew samples",
    ]
    assert [[row.split()[0] for row in rows(chart, k)] for k in (0, 1)] == [
        [f"metric_{i}" for i in range(n)] for n in (4, 5)
    ]
    assert {x for x, _ in marks(chart)} == {0.5}
    assert {x for x, _ in marks(chart, 1)} == {3.0}
    assert entries(chart)[:2] == ["a", "b"]


def test_conditions_have_an_entry_and_no_condition_has_none() -> None:
    assert entries(forest(estimates(4, condition="m0"), title="t"))[:1] == ["m0"]
    assert entries(forest(estimates(4).assign(n_units=40), title="t")) == []


def test_every_hue_has_a_look_of_its_own() -> None:
    frame = pd.concat([estimates(4, condition=str(i)).head(1) for i in range(20)])
    lines = [line for line in forest(frame, title="t").axes[0].lines if line.get_marker() != "None"]
    assert len({(line.get_color(), line.get_marker()) for line in lines}) == 20


def test_a_distribution_leaves_out_nulls_and_holds_every_value() -> None:
    frame = pd.DataFrame(
        {"before": [0.2, 0.4, np.nan], "after": [0.1, 1.4, np.nan], "none": np.nan}
    )
    chart = figures.distribution(frame, title="t", xlabel="F1")
    assert entries(chart) == ["before: mean 0.300, n=2", "after: mean 0.750, n=2"]
    assert (chart.axes[0].get_xlabel(), chart.axes[0].get_ylabel()) == ("F1", "samples")
    low, high = chart.axes[0].get_xlim()
    assert -0.1 < low < 0 and 1.4 < high < 1.5
    means = [line.get_xdata()[0] for line in chart.axes[0].lines]
    assert means == pytest.approx([0.3, 0.75])


def test_change_counts_follow_the_direction() -> None:
    # 0.2 -> 0.5 and 0.1 -> 0.4 rise, 0.9 -> 0.1 falls, 0.3 stays, the null takes no part
    frame = pd.DataFrame(
        {"before": [0.2, 0.1, 0.9, 0.3, np.nan], "after": [0.5, 0.4, 0.1, 0.3, 1.0]}
    )

    def counts(**kwargs: Any) -> list[str]:
        return entries(figures.paired(frame, title="t", **kwargs))

    assert counts() == ["improved: 2 (50%)", "same: 1 (25%)", "worsened: 1 (25%)"]
    assert counts(better="lower") == ["improved: 1 (25%)", "same: 1 (25%)", "worsened: 2 (50%)"]
    (ax,) = figures.paired(frame, title="t", xlabel="F1 before").axes
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("F1 before (n = 4)", "after")
    assert ax.get_xlim() == ax.get_ylim() == pytest.approx((0.1 - 0.048, 0.9 + 0.048))


def test_labels_are_text() -> None:
    assert shown("costs $5 and $x^2$") == "costs $5 and $x^2$"
    assert shown("abc\u202egnp.exe") == "abc[U+202E]gnp.exe"
    assert shown("") == "(empty)"
    assert shown("x" * 100_000).count("\n") == 2
    assert all(len(line) <= 18 for line in shown("가" * 60).split("\n"))


def test_tall_figures_grow_with_their_rows() -> None:
    heights = [forest(estimates(n), title="t").get_figheight() for n in (4, 40)]
    assert heights[1] > heights[0] + 36 * 0.3


def test_rows_stand_as_close_in_a_short_figure_as_in_a_tall_one() -> None:
    steps = []
    for n in (6, 40):
        chart = forest(estimates(n), title="t")
        chart.draw_without_rendering()
        steps.append(chart.axes[0].get_window_extent().height / n)
    assert steps[0] == pytest.approx(steps[1], rel=0.05)


def test_a_legend_is_no_wider_than_its_figure() -> None:
    names = [f"F1 after review, (ref, polar {i})" for i in range(5)]
    chart = forest(pd.concat([estimates(4, condition=name) for name in names]), title="t")
    extent = chart.legends[0].get_window_extent()
    assert extent.width <= chart.bbox.width
    # its five lines leave the axes their place
    assert chart.axes[0].bbox.height > 20


def test_pairs_that_are_all_equal_are_not_magnified() -> None:
    chart = figures.paired(pd.DataFrame({"before": [0.0] * 5, "after": [0.0] * 5}), title="t")
    low, high = chart.axes[0].get_xlim()
    assert low < 0
    assert high > 1


def test_an_arrow_shows_the_better_direction_of_a_metric() -> None:
    frame = named(4).head(3).assign(better=["higher", "lower", "none"], n_units=np.nan)
    assert rows(forest(frame, title="t")) == ["metric_0 ↑", "metric_1 ↓", "metric_2"]


def test_a_character_that_nobody_sees_is_spelt_out_wherever_it_stands() -> None:
    frame = estimates(4, axis="\ufeff").head(1).assign(n_units=np.nan)
    chart = forest(frame, title="F1", claim="of \u202ea")
    assert chart.axes[0].get_xlabel() == "[U+FEFF]\nof [U+202E]a"
    assert export(chart, "pdf").startswith(b"%PDF")
