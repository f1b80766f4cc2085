"""What cells show is read on a phone: figures whatever stands in them, and tables of sentences."""

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
import pytest
import seaborn as sns

from evaltools.report.figures import figure_style
from evaltools.report.tables import figure_png
from tests.files import read_json

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"

PHONE = 366
"""Pixels that a page gives a figure on a screen of 400."""


def text_height(width: int) -> float:
    """The pixels that the smallest text of a figure, 9 points, has on a phone: 12.5 at 100 a inch, scaled."""
    return 12.5 * min(1.0, PHONE / width)


def test_text_of_stored_figures_is_read_on_a_phone() -> None:
    widths = []
    for path in NOTEBOOKS.glob("*.ipynb"):
        for cell in read_json(path)["cells"]:
            abouts = (
                output.get("metadata", {}).get("image/png") for output in cell.get("outputs", [])
            )
            widths += [about["width"] for about in abouts if about]
    assert len(widths) > 15 and min(map(text_height, widths)) >= 8.3


@pytest.fixture
def style() -> Any:
    with plt.rc_context(figure_style()):
        yield
    plt.close("all")


def test_long_names_take_lines_and_no_width(style: None) -> None:
    frame = pd.DataFrame(
        {"name": ["long name " * 20, "short"], "value": [1, 2], "kind": ["a", "b" * 90]}
    )
    fig, ax = plt.subplots(figsize=(5, 2.5))
    sns.barplot(frame, x="value", y="name", hue="kind", ax=ax)
    ax.set(
        title="A title that is longer than the figure is wide, with more words in it than one line can hold"
    )
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1))
    _, about = figure_png(fig)
    assert text_height(about["width"]) >= 8
    assert about["alt"].startswith("A title that is longer")
