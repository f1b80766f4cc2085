"""A figure of the reports: its style, how it shows itself, and how it is saved for a paper."""

from __future__ import annotations

import base64
import io
import re
import textwrap
import unicodedata
from collections.abc import Callable
from functools import cache, wraps
from typing import Any, Literal, ParamSpec

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image

from ..core.files import asset_dir
from ..core.language import say
from .fonts import ANSWERED, covered, families, webfont_css
from .tables import HtmlTable, no_rows
from .templates import macros
from .text import visible, width_of

P = ParamSpec("P")

SCALE = 2
"""Pixels of a stored figure for one of the screen."""

COLOURS = 64
"""Colours of a stored figure: it is half as large as with all of them, and looks the same."""

MADE_BY = {
    "svg": ("Creator", "Date"),
    "pdf": ("Creator", "Producer", "CreationDate"),
}
"""What a saved figure would say of when and by what it was made."""


class Chart(Figure):
    """A figure that displays itself as PNG at twice the screen's resolution, with its title as alternative text."""

    title = ""

    @property
    def drawn(self) -> bool:
        """Whether there was anything to draw."""
        return bool(self.axes)

    def png(self) -> bytes:
        return lighter(picture(self))

    def export(self, form: Literal["svg", "pdf"]) -> bytes:
        """The figure for a paper, text as text, with the glyphs of Korean and Chinese inside."""
        text = "".join(t.get_text() for t in self.findobj(Text))
        metadata = {
            "Title": self.title,
            **dict.fromkeys(MADE_BY[form]),
        }
        style = dict(figure_style())
        style["svg.fonttype"] = "none"
        # the glyphs of the shipped face are of PostScript's kind, which a Type 42 font cannot hold
        style["pdf.fonttype"] = 3 if ANSWERED.search(text) else 42
        out = io.BytesIO()
        with mpl.rc_context(style):
            self.savefig(out, format=form, metadata=metadata)
        if form == "pdf":
            return out.getvalue()
        svg = out.getvalue().decode()
        return _with_glyphs(svg, text).encode()

    def __repr__(self) -> str:
        return f"<figure: {self.title}>"

    def page(self) -> HtmlTable:
        """The figure as a piece of a page; a line where there was nothing to draw."""
        if not self.drawn:
            return no_rows(self.title)
        data, metadata = self._repr_mimebundle_()
        html = macros().figure(data["image/png"], **metadata["image/png"])
        return HtmlTable(html, repr(self))

    def _repr_mimebundle_(
        self, include: Any = None, exclude: Any = None
    ) -> tuple[dict[str, str], dict[str, Any]]:
        if not self.drawn:
            return self.page()._repr_mimebundle_()
        png = base64.b64encode(self.png()).decode("ascii")
        about = {
            "width": round(self.get_figwidth() * 100),
            "alt": self.title,
        }
        data = {"image/png": png, "text/plain": repr(self)}
        return data, {"image/png": about}


def _with_glyphs(svg: str, text: str) -> str:
    """An SVG with the Korean and Chinese glyphs of its text inside."""
    # a browser loads a font that stands behind another too late for some of the text
    names = [f"'{name}'" for name in families()]
    glyphs_first = ", ".join([*reversed(names), "sans-serif"])
    svg = svg.replace(", ".join(names), glyphs_first)
    style = '<style type="text/css">'
    return svg.replace(style, style + webfont_css(text), 1)


def picture(figure: Figure) -> Image.Image:
    """The picture of a figure at twice the screen's resolution."""
    dpi = figure.dpi
    try:
        figure.dpi = 100 * SCALE
        # savefig would draw everything twice, the first time for a layout alone
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
    finally:
        figure.dpi = dpi
    return Image.fromarray(np.asarray(canvas.buffer_rgba()))


def lighter(image: Image.Image) -> bytes:
    """A picture as PNG with few colours."""
    # nothing is transparent: without that channel the picture is the same, and smaller
    image = image.convert("RGB").quantize(COLOURS, method=Image.Quantize.FASTOCTREE)
    out = io.BytesIO()
    image.save(out, "PNG", optimize=True)
    return out.getvalue()


@cache
def figure_style() -> Any:
    """The style of the figures, for any user's own; the fonts that it names are registered."""
    families()
    return mpl.rc_params_from_file(
        asset_dir("templates") / "report" / "figures.mplstyle", use_default_template=False
    )


def styled(draw: Callable[P, Chart]) -> Callable[P, Chart]:
    @wraps(draw)
    def inner(*args: P.args, **kwargs: P.kwargs) -> Chart:
        with mpl.rc_context(figure_style()):
            chart = draw(*args, **kwargs)
            for text in chart.findobj(Text):
                text.set_text(visible(text.get_text()))
            # laid out once, here: a second pass at another resolution would move things
            layout = chart.get_layout_engine()
            if layout is not None and chart.drawn:
                layout.execute(chart)
            chart.set_layout_engine("none")
            return chart

    return inner


def shown(
    value: Any,
    width: int = 34,
    lines: int = 3,
) -> str:
    """A label: wrapped at `width` columns (a Han or Hangul character takes two), cut after `lines` lines,
    with characters that no shipped font has as U+FFFD."""
    text = visible(unicodedata.normalize("NFC", str(value)))
    # no more than can stand there: the time to break a word grows with the square of its length
    text = " ".join(text.split())[: 200 + 2 * width * lines]
    text = "".join(c if ord(c) in covered() else "\ufffd" for c in text)
    start = text[:200]
    if not start:
        return say("(empty)")
    columns = max(8, round(width * len(start) / width_of(start)))
    names = _Names(columns, max_lines=lines, placeholder=" …")
    return "\n".join(names.wrap(text))


class _Names(textwrap.TextWrapper):
    """Breaks a name after its underscores, too."""

    wordsep_re = re.compile(r"(\s+|[^\s_]+_+)")
