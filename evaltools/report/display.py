"""How a notebook shows frames and figures: like the report, and in the language of the reader.

Cells are written in plain pandas, seaborn and English. What a cell shows is translated when it is shown, by exact
look-up: heads of tables, and the titles, axes and legends of figures.
"""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Sequence
from typing import Any

import pandas as pd

from ..core.language import listed, say, speak
from .page import macros, style
from .tables import HtmlTable, in_cell, table

# columns of frames that hold words of ours; what other columns hold may be anybody's
NAMED = ("title", "metric", "measure", "kind", "by", "what")

# columns of our frames -> how a reader knows them
HEADS = {"title": "Metric", "n_units": "n", "n_seeds": "seeds"}

# widest line of labels of categories and legends, and of any other text of a figure, in characters
LABEL_COLUMNS, TITLE_COLUMNS = 27, 50

# pixels of a stored figure for one of the screen, and its colours: with all of them it is twice as large and no better
SCALE, COLOURS = 2, 64


def notebook(lang: str = "en") -> HtmlTable | None:
    """Set up a notebook: its language, and tables and figures that look like those of the report.

    Call it in a cell that ends with it: its output brings the styles, and a warning where the notebook was executed
    with parameters that it does not know. UsageError for a language that there is not.

    >>> import evaltools as et
    >>> et.notebook("en")
    """
    from IPython.core.getipython import get_ipython

    speak(lang)
    shell: Any = get_ipython()
    if shell is None:
        return None
    import matplotlib as mpl
    import matplotlib.pyplot as plt
    import matplotlib_inline.backend_inline  # noqa: F401  registers the formatter that is replaced here
    from matplotlib.figure import Figure

    from .figures import figure_style

    formatters = shell.display_formatter.formatters
    for kind in (pd.DataFrame, pd.Series):
        formatters["text/html"].for_type(kind, lambda frame: in_cell(frame_table(frame).html))
    mpl.rcParams.update(figure_style())
    # matplotlib would draw every figure of a cell once more before it is shown
    plt.uninstall_repl_displayhook()
    formatters["image/png"].for_type(Figure, figure_png)
    shell.evaltools_styles = True  # for `tables.in_cell`
    html = style()
    unknown = unknown_parameters(shell.user_ns["In"])
    if unknown:
        text = "Parameters that this notebook does not know, and which changed nothing: {names}"
        # Markup would escape the styles that it is added to
        html += str(macros().notice(say(text, names=listed(unknown))))
    return HtmlTable(html)


def names_set(source: str) -> list[str]:
    """The names that the lines of a cell assign to, in order.

    >>> names_set("run = None\\nseed = 0  # seed of the resampling")
    ['run', 'seed']
    """
    return re.findall(r"^(\w+) *=(?!=)", source, re.MULTILINE)


def unknown_parameters(cells: Sequence[str]) -> list[str]:
    """Parameters that were injected but that the first cell does not set.

    `cells` are the sources executed so far; papermill's cell of injected parameters begins with "# Parameters".
    """
    first, *others = [cell for cell in cells if cell.strip()] or [""]
    injected = "\n".join(cell for cell in others if cell.startswith("# Parameters"))
    return [name for name in names_set(injected) if name not in names_set(first)]


def frame_table(frame: pd.DataFrame | pd.Series) -> HtmlTable:
    """A frame as a table of the report; its index stands in the first columns where it says something.

    Columns of our words, and labels of an index, are in the language in force.
    """
    if isinstance(frame, pd.Series):
        frame = frame.to_frame("value" if frame.name is None else frame.name)
    if frame.columns.nlevels > 1:  # several lines as one: "value mean"
        heads = [" ".join(map(str, parts)).strip() for parts in frame.columns]
        frame = frame.set_axis(heads, axis="columns")
    index = [name for name in frame.index.names if name is not None]
    if index or not pd.api.types.is_integer_dtype(frame.index):
        frame = frame.reset_index(names=None if index else [""])
    for column in (*NAMED, *index):
        if column in frame and not pd.api.types.is_numeric_dtype(frame[column]):
            frame = frame.assign(**{column: [say(str(word)) for word in frame[column]]})
    return table(frame.rename(columns=HEADS))


def figure_png(figure: Any) -> tuple[str, dict[str, Any]]:
    """A figure as PNG in the language in force (base64), with its width and the text that stands for it."""
    from PIL import Image

    translate(figure)
    titles = [axes.get_title("left") for axes in figure.axes]
    alt = figure.get_suptitle() or "; ".join(filter(None, titles))
    if len(titles) == 1 and not figure.get_suptitle():
        # a title begins above the labels
        figure.axes[0].set_title("", loc="left")
        figure.suptitle(
            titles[0],
            x=0.01,
            ha="left",
        )
    if figure.get_layout_engine() is None:
        figure.set_layout_engine("constrained")
    drawn, small = io.BytesIO(), io.BytesIO()
    figure.savefig(
        drawn,
        format="png",
        dpi=100 * SCALE,
        bbox_inches="tight",
    )
    # nothing is transparent: without that channel the picture is the same, and smaller
    image = Image.open(drawn).convert("RGB").quantize(COLOURS, method=Image.Quantize.FASTOCTREE)
    image.save(small, "PNG", optimize=True)
    about = {"width": round(image.width / SCALE), "alt": " ".join(alt.split())}
    return base64.b64encode(small.getvalue()).decode("ascii"), about


def translate(figure: Any) -> None:
    """Put the texts of a figure into the language in force, long ones in several lines: titles, axes, legends, and
    labels of categories. A narrow figure has shorter lines."""
    from matplotlib.legend import Legend
    from matplotlib.text import Text

    from .figures import shown

    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            labels = [label.get_text() for label in axis.get_ticklabels()]
            translated = []
            for text in labels:
                translated.append(shown(say(text), LABEL_COLUMNS) if text else "")
            if translated != labels:
                axis.set_ticks(axis.get_ticklocs(), translated)
    in_legends = set()
    for legend in figure.findobj(Legend):
        in_legends.update(legend.get_texts())
    columns = min(TITLE_COLUMNS, round(TITLE_COLUMNS * figure.get_figwidth() / 5))
    for text in figure.findobj(Text):
        words = text.get_text()
        if words and "\n" not in words:
            width = LABEL_COLUMNS if text in in_legends else columns
            text.set_text(shown(say(words), width))
