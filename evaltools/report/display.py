"""How a notebook shows frames and figures: like the report, and in the language of the reader.

Cells are written in plain pandas, seaborn and English. What a cell shows is translated when it is shown, by exact
look-up: heads of tables, and the titles, axes and legends of figures.
"""

from __future__ import annotations

import ast
import base64
from collections.abc import Sequence
from typing import Any

import pandas as pd

from ..core.language import listed, say, speak
from ..core.metric import metric_title
from .numbers import interval
from .tables import HtmlTable, in_cell, notice, table
from .templates import style

# columns of frames that hold words of ours; what other columns hold may be anybody's
NAMED = {"title", "metric", "measure", "kind", "by", "what"}

# columns of our frames -> how a reader knows them
HEADS = {"title": "Metric", "n_units": "n", "n_seeds": "seeds"}

# widest line of labels of categories and legends, and of any other text of a figure, in characters
LABEL_COLUMNS, TITLE_COLUMNS = 27, 50


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
    formatters = shell.display_formatter.formatters
    for kind in (pd.DataFrame, pd.Series):
        formatters["text/html"].for_type(kind, lambda frame: in_cell(frame_table(frame).html))
    _show_figures(formatters["image/png"])
    shell.evaltools_styles = True  # for `tables.in_cell`
    unknown = unknown_parameters(shell.user_ns["In"])
    html = style()
    if unknown:
        text = "Parameters that this notebook does not know, and which changed nothing: {names}"
        html += notice(say(text, names=listed(unknown)), "error").html
    return HtmlTable(html)


def names_set(source: str) -> list[str]:
    """The names that a cell assigns to, in order; none for a cell that is no Python.

    >>> names_set("run = None\\nseed = 0  # seed of the resampling")
    ['run', 'seed']
    """
    try:
        statements = ast.parse(source).body
    except SyntaxError:
        return []
    names = []
    for statement in statements:
        if isinstance(statement, ast.Assign):
            names += [t.id for t in statement.targets if isinstance(t, ast.Name)]
    return names


def unknown_parameters(cells: Sequence[str]) -> list[str]:
    """Parameters that were injected but that the first cell does not set.

    `cells` are the sources executed so far; papermill's cell of injected parameters begins with "# Parameters".
    """
    executed = [cell for cell in cells if cell.strip()]
    injected = [cell for cell in executed[1:] if cell.startswith("# Parameters")]
    known = names_set("".join(executed[:1]))
    return [name for cell in injected for name in names_set(cell) if name not in known]


def frame_table(frame: pd.DataFrame | pd.Series) -> HtmlTable:
    """A frame as a table of the report; its index stands in the first columns where it says something.

    Ends of intervals stand in one column.
    """
    if isinstance(frame, pd.Series):
        frame = frame.to_frame("value" if frame.name is None else frame.name)
    if isinstance(frame.columns, pd.MultiIndex):  # several lines as one: "mean value"
        heads = [" ".join(map(say, filter(None, map(str, parts)))) for parts in frame.columns]
        frame = frame.set_axis(heads, axis="columns")
    frame = frame.rename_axis(columns=None)
    is_counted = pd.api.types.is_integer_dtype(frame.index) and frame.index.name is None
    if not is_counted:
        frame = _with_index(frame)
    frame = _translated(frame)
    if {"ci_low", "ci_high"} <= set(frame):
        texts = [interval(row) for row in frame[["ci_low", "ci_high"]].to_dict("records")]
        frame = (
            frame.assign(ci_low=texts)
            .drop(columns="ci_high")
            .rename(columns={"ci_low": "interval"})
        )
    return table(frame.rename(columns=HEADS))


def _translated(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with the words of its columns in the language in force.

    Beside a column of titles `metric` holds names, which no language changes.
    """
    columns = NAMED.intersection(frame.columns)
    if "title" in columns:
        columns -= {"metric"}
    names = frame.get("name", frame.get("metric", pd.Series("", frame.index)))
    for column in columns:
        words = frame[column].astype(str)
        if column == "title":
            words = map(metric_title, names.astype(str), words)
        frame = frame.assign(**{column: [say(text) for text in words]})
    return frame


def _with_index(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with its index as first columns; labels of categories are words, which are translated."""
    names = [name for name in frame.index.names if name is not None]
    frame = frame.reset_index(names=None if names else [""])
    for name in names:
        if not pd.api.types.is_numeric_dtype(frame[name]):
            frame[name] = [say(str(label)) for label in frame[name]]
    return frame


def _show_figures(formatter: Any) -> None:
    """Show matplotlib figures in the style of the report, as sharp PNG."""
    import matplotlib as mpl
    import matplotlib.pyplot as plt
    import matplotlib_inline.backend_inline  # noqa: F401  registers the formatter that is replaced here
    from matplotlib.figure import Figure

    from .figures import figure_style

    mpl.rcParams.update(figure_style())
    # matplotlib would draw every figure of a cell once more before it is shown
    plt.uninstall_repl_displayhook()
    formatter.for_type(Figure, figure_png)


def figure_png(figure: Any) -> tuple[str, dict[str, Any]]:
    """A figure as PNG in the language in force (base64), with its width and the text that stands for it."""
    from .figures import png

    alt = say(figure_title(figure))
    translate(figure)
    how = {}
    if figure.get_layout_engine() is None:
        lay_out(figure)
    else:
        how["bbox_inches"] = "tight"  # a legend may stand outside of what its cell laid out
    content, width = png(figure, **how)
    return base64.b64encode(content).decode("ascii"), {"width": width, "alt": alt}


def lay_out(figure: Any) -> None:
    """Make everything fit into the figure's own width: its text is then as large as it is meant to be, on a phone too.

    The title of a figure with one axes begins above their labels.
    """
    plain = [axes for axes in figure.axes if axes.get_label() != "<colorbar>"]
    if len(plain) == 1 and not figure.get_suptitle():
        title = plain[0].get_title("left")
        plain[0].set_title("", loc="left")
        how = {"fontsize": 11, "fontweight": "bold"}
        figure.suptitle(title, x=0.01, ha="left", **how)
    # a colour bar has a place in the grid, which only the plainer layout keeps
    has_colour_bar = len(plain) < len(figure.axes)
    figure.set_layout_engine("tight" if has_colour_bar else "constrained")


def figure_title(figure: Any) -> str:
    """The title of a figure, or those of its axes."""
    if figure.get_suptitle():
        return str(figure.get_suptitle())
    titles = [axes.get_title("left") or axes.get_title() for axes in figure.axes]
    return "; ".join(filter(None, titles))


def translate(figure: Any) -> None:
    """Put the texts of a figure into the language in force, long ones in several lines: titles, axes, legends, and
    labels of categories. A narrow figure has shorter lines."""
    from matplotlib.legend import Legend
    from matplotlib.text import Text

    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            labels = [label.get_text() for label in axis.get_ticklabels()]
            translated = [_wrapped(label, LABEL_COLUMNS) if label else "" for label in labels]
            if translated != labels:
                axis.set_ticks(axis.get_ticklocs(), translated)
    for legend in figure.findobj(Legend):
        for text in legend.get_texts():
            text.set_text(_wrapped(text.get_text(), LABEL_COLUMNS))
    columns = min(TITLE_COLUMNS, round(TITLE_COLUMNS * figure.get_figwidth() / 5))
    for text in figure.findobj(Text):
        words = text.get_text()
        if words and "\n" not in words:
            text.set_text(_wrapped(words, columns))


def _wrapped(words: str, columns: int) -> str:
    """Words in the language in force, in lines of so many columns."""
    from .figures import shown

    return shown(say(words), columns)
