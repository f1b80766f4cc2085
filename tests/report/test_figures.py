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
from PIL import Image

from evaltools.report import figures
from tests.report.synthetic import HOSTILE, estimates

RNG = np.random.default_rng(3)
VALUES = pd.Series(RNG.beta(3, 2, 60).round(3))
SEEDS = pd.DataFrame(
    [
        {"metric": m, "condition": c, "seed": s, "value": 0.5 + 0.01 * s}
        for m in "AB"
        for c in ("m0", "조건")
        for s in range(3)
    ]
)

DRAWN: dict[str, Callable[[], figures.Chart]] = {
    "forest": lambda: figures.forest(estimates(), title="t"),
    "forest by condition": lambda: figures.forest(
        pd.concat([estimates(condition="m0"), estimates(condition="조건")]), title="t", zero=True, claim="new samples"
    ),
    "outcomes": lambda: figures.outcomes(
        pd.DataFrame({"fix": [3], "break": [1], "keep": [5], "still": [2]}, index=["k"])
    ),
    "distribution": lambda: figures.distribution({"before": VALUES, "after": VALUES}, title="t", xlabel="F1"),
    "distribution by": lambda: figures.distribution(
        VALUES, by=pd.Series(["a", "b"] * 30), title="t", xlabel="F1", kind="ecdf"
    ),
    "breakdown": lambda: figures.breakdown(estimates().assign(category=HOSTILE), title="t", xlabel="F1"),
    "confusion": lambda: figures.confusion(
        pd.DataFrame([[3, 1], [0, 0]], index=["긍정", "부정"], columns=["a", "b"]), title="t"
    ),
    "paired_change": lambda: figures.paired_change(
        pd.DataFrame({"before": VALUES, "after": VALUES[::-1].to_numpy()}), title="t"
    ),
    "seed_dots": lambda: figures.seed_dots(
        SEEDS,
        title="t",
        xlabel="value",
        estimates=SEEDS.groupby(["metric", "condition"], as_index=False)["value"]
        .mean()
        .assign(ci_low=0.4, ci_high=0.6),
    ),
    "funnel": lambda: figures.funnel(
        pd.DataFrame({"metric": ["M1", "M2"], "eligible": [9, 2], "skipped": [1, 8], "failed": [0, 0]}), title="t"
    ),
    "bars": lambda: figures.bars(pd.Series({"波动风险": 3, "x": 9}), title="t", xlabel="missed"),
    "system_comparison": lambda: figures.system_comparison(
        pd.concat([estimates(4, system=s, scale=c) for s in ("a", "b") for c in ("share", "score, 1 to 5")]),
        title="t",
    ),
}

EMPTY: dict[str, Callable[[], figures.Chart]] = {
    "forest": lambda: figures.forest(estimates().head(0), title="t"),
    "outcomes": lambda: figures.outcomes(pd.DataFrame({"fix": [0], "break": [0]}, index=["k"])),
    "distribution": lambda: figures.distribution(pd.Series([np.nan]), title="t", xlabel="x"),
    "breakdown": lambda: figures.breakdown(estimates().head(0).assign(category=""), title="t", xlabel="x"),
    "confusion": lambda: figures.confusion(pd.DataFrame(), title="t"),
    "paired_change": lambda: figures.paired_change(pd.DataFrame({"before": [np.nan], "after": [1.0]}), title="t"),
    "seed_dots": lambda: figures.seed_dots(SEEDS.head(0), title="t", xlabel="x"),
    "funnel": lambda: figures.funnel(pd.DataFrame(columns=["metric", "eligible"]), title="t"),
    "bars": lambda: figures.bars(pd.Series(dtype=float), title="t", xlabel="x"),
    "system_comparison": lambda: figures.system_comparison(estimates().head(0).assign(system=""), title="t"),
}


def texts(chart: figures.Chart) -> list[str]:
    return [t.get_text() for t in chart.findobj(plt.Text) if t.get_text()]


@pytest.mark.parametrize("name", DRAWN)
def test_same_data_same_bytes_without_a_warning(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first, again = DRAWN[name](), DRAWN[name]()
        assert first.png() == first.png() == again.png()
    assert plt.get_fignums() == []


@pytest.mark.parametrize("name", EMPTY)
def test_no_data_is_a_note(name: str) -> None:
    assert "no data" in texts(EMPTY[name]())


def test_display_is_one_sharp_png_with_its_width_and_title() -> None:
    data, metadata = figures.forest(estimates(), title="Headline 제품")._repr_mimebundle_()
    assert set(data) == {"image/png", "text/plain"}
    assert metadata["image/png"] == {"width": 800, "alt": "Headline 제품"}
    image = Image.open(io.BytesIO(figures.forest(estimates(), title="t").png()))
    assert image.width == 2 * 800
    assert not {"Software", "Date", "Creation Time"} & set(image.info)


def test_intervals_are_those_given() -> None:
    frame = estimates().head(1).assign(value=0.5, ci_low=0.25, ci_high=0.875)
    lines = [line.get_xdata() for line in figures.forest(frame, title="t").axes[0].lines]
    assert [list(x) for x in lines] == [[0.25, 0.875], [0.5]]


def test_what_is_not_measured_and_small_says_so() -> None:
    chart = figures.forest(estimates(), title="t")
    assert "not measured" in texts(chart)
    legend = [t.get_text() for t in chart.legends[0].get_texts()]
    assert legend == ["fewer than 10 units", "no interval"]
    hollow = [line for line in chart.axes[0].lines if line.get_markerfacecolor() == "white"]
    assert len(hollow) == 1


def test_axis_names_unit_and_n() -> None:
    chart = figures.forest(estimates(), title="t", xlabel="F1, 0 to 1", claim="new samples, this system")
    assert chart.axes[0].get_xlabel() == "F1, 0 to 1 (n = 6 to 40)\nnew samples, this system"


def test_change_counts_follow_the_direction() -> None:
    # 0.2 -> 0.5 and 0.1 -> 0.4 rise, 0.9 -> 0.1 falls, 0.3 stays, the null takes no part
    frame = pd.DataFrame({"before": [0.2, 0.1, 0.9, 0.3, np.nan], "after": [0.5, 0.4, 0.1, 0.3, 1.0]})

    def counts(**kwargs: Any) -> list[str]:
        return [t.get_text() for t in figures.paired_change(frame, title="t", **kwargs).legends[0].get_texts()]

    assert counts() == ["improved: 2 (50%)", "same: 1 (25%)", "worsened: 1 (25%)"]
    assert counts(better="lower") == ["improved: 1 (25%)", "same: 1 (25%)", "worsened: 2 (50%)"]


def test_labels_are_text() -> None:
    assert figures.shown("costs $5 and $x^2$") == "costs $5 and $x^2$"
    assert figures.shown("abc\u202egnp.exe") == "abc[U+202E]gnp.exe"
    assert figures.shown("\U0001f9ff") == "\ufffd"  # an emoji that no shipped font has
    assert figures.shown("") == "(empty)"
    assert figures.shown("x" * 100_000).count("\n") == 2
    assert all(len(line) <= 18 for line in figures.shown("가" * 60).split("\n"))


def test_tall_figures_grow_with_their_rows() -> None:
    heights = [figures.forest(estimates(n), title="t").get_figheight() for n in (4, 40)]
    assert heights[1] > heights[0] + 36 * 0.3


def test_more_categories_than_fit_are_counted() -> None:
    frame = estimates(90).assign(category=[f"c{i}" for i in range(90)])
    assert "30 more not drawn" in figures.breakdown(frame, title="t", xlabel="F1").axes[0].get_xlabel()


def test_metrics_of_one_category_are_told_apart() -> None:
    frame = pd.concat([estimates(3).assign(category="긍정", title=t) for t in ("Precision", "Recall")])
    legend = figures.breakdown(frame, title="t", xlabel="x").legends[0]
    assert [t.get_text() for t in legend.get_texts()][:2] == ["Precision", "Recall"]


def test_equal_values_are_not_magnified() -> None:
    frame = estimates(4).assign(value=0.0, ci_low=np.nan, ci_high=np.nan)
    assert figures.forest(frame, title="t").axes[0].get_xlim() == (-0.05, 1.05)


def test_a_legend_is_no_wider_than_its_figure() -> None:
    titles = [f"F1 after review, (ref, polar {i})" for i in range(5)]
    chart = figures.breakdown(
        pd.concat([estimates(3).assign(category="긍정", title=t) for t in titles]), title="t", xlabel="x"
    )
    assert chart.legends[0].get_window_extent().width <= chart.bbox.width


def test_pairs_that_are_all_equal_are_not_magnified() -> None:
    chart = figures.paired_change(pd.DataFrame({"before": [0.0] * 5, "after": [0.0] * 5}), title="t")
    low, high = chart.axes[0].get_xlim()
    assert low < 0
    assert high > 1
