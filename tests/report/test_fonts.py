"""Korean and Chinese glyphs in figures and pages, from the shipped font alone."""

import base64
import io
import logging
import re
import warnings
from collections.abc import Iterator

import matplotlib as mpl
import numpy as np
import pytest
import seaborn as sns
from fontTools.ttLib import TTFont
from matplotlib import font_manager
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image

import evaltools as et
from evaltools.report import page

TEXTS = ("제품 전체#일반", "风险提示", "패키지ㆍ구성품", "（全角）１２％", "−1.5")


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine whose only fonts are matplotlib's own."""
    manager = font_manager.fontManager
    own = mpl.get_data_path()
    monkeypatch.setattr(manager, "ttflist", [f for f in manager.ttflist if f.fname.startswith(own)])
    manager._findfont_cached.cache_clear()
    page.families.cache_clear()
    yield
    page.families.cache_clear()
    manager._findfont_cached.cache_clear()


def draw(text: str, families: list[str]) -> np.ndarray:
    figure = Figure(figsize=(4, 1), dpi=100)
    figure.text(0.02, 0.3, text, fontsize=24, family=families)
    out = io.BytesIO()
    figure.savefig(out, format="png")
    return np.asarray(Image.open(out).convert("L"))


def test_glyphs_are_drawn_on_a_bare_machine(bare: None, caplog: pytest.LogCaptureFixture) -> None:
    families = list(page.families())
    for text in TEXTS:
        with warnings.catch_warnings(), caplog.at_level(logging.WARNING):
            warnings.simplefilter("error")  # matplotlib warns "Glyph ... missing from font(s)"
            drawn = draw(text, families)
        assert not caplog.records and (drawn < 128).sum() > 100


def test_figures_hold_the_font_after_a_theme() -> None:
    with mpl.rc_context():
        sns.set_theme(font="Comic Sans MS")
        rows = [{"id": str(i), "metric": "제품", "value": i % 2} for i in range(9)]
        chart = et.evaluate("table", rows).plot.forest()
    families = {tuple(text.get_fontfamily()) for text in chart.findobj(Text) if text.get_text()}
    assert families == {("DejaVu Sans", page.FAMILY)}


def test_webfont_holds_the_glyphs_used_and_no_others() -> None:
    css = page.webfont_css("F1 of 제품 and 风险: 제품 →")
    data = base64.b64decode(re.search(r"base64,([^)]*)\)", css)[1])
    assert set(TTFont(io.BytesIO(data)).getBestCmap()) == {ord(c) for c in "제품风险"}
    assert len(data) < 4000 and css == page.webfont_css("风险제품")
    assert page.webfont_css("plain ASCII, “quotes” and → arrows") == ""
