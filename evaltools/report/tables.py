"""What cells of a notebook show: frames as escaped HTML tables, figures, notices.

Whatever comes from data is shown as text: escaped, isolated from the direction of the text around it, with
invisible and bidirectional characters spelled out and long fields folded. Nothing in it becomes a link.

Cells of notebooks are written in plain pandas, seaborn and English. What a cell shows is translated when it is shown, by
exact look-up: heads of tables, and the titles, axes and legends of figures.
"""

import base64
import io
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pandas as pd
from pandas import DataFrame

from ..core.estimates import Row, is_null
from ..core.messages import listed, say, speak
from ..core.metric import metric_title
from .page import macros, style
from .text import interval, number, p_text, text_rows, titled, whole

# rows that a table shows
ROWS = 200

# texts of `shown_texts` that stand for an estimate in files and reprs
PLAIN = ("metric", "value", "interval", "n", "method")


@dataclass(repr=False)
class HtmlTable:
    """A piece of a page, and the rows that it shows, where it shows rows."""

    html: str
    frame: DataFrame | None = None

    def _repr_html_(self) -> str:
        """The output of a cell, with its styles; JupyterLab would read $5 and $6 in it as a formula.

        `et.notebook()` has sent the styles once for all cells of a notebook.
        """
        from IPython.core.getipython import get_ipython

        is_styled = getattr(
            get_ipython(),
            "evaltools_styles",
            False,
        )
        return f'{"" if is_styled else style()}<div class="mathjax_ignore">{self.html}</div>'

    def __html__(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return "" if self.frame is None else self.frame.to_string(index=False, max_rows=20)


def table(df: DataFrame) -> HtmlTable:
    """A frame as a table that filters in the report.

    The heads are the names of its columns, which are translated where they are words of ours. Beyond ROWS rows a line
    counts the rest.
    """
    heads, rows, numeric = text_rows(df.head(ROWS))
    return HtmlTable(macros().table(list(zip(heads, numeric)), rows, len(df)), df)


def no_rows(
    caption: str,
    frame: DataFrame,
) -> HtmlTable:
    """In place of a table without rows: its caption, and that there is nothing."""
    return HtmlTable(macros().no_rows(say(caption)), frame)


def fold(
    title: str,
    piece: HtmlTable,
) -> HtmlTable:
    """A piece that opens under its title."""
    return HtmlTable(macros().fold(title, piece), piece.frame)


def shown_texts(row: Row) -> dict[str, str]:
    """What a reader sees of an estimate, or of a row of a comparison, as text; no number of a metric that a check
    blocks. Behind a p that is not adjusted stands "raw"."""
    is_compared = "delta" in row
    texts = {
        "metric": str(row["metric"]),
        "title": titled(metric_title(str(row["metric"]), row["title"]), row["better"]),
        "interval": interval(row, signed=is_compared),
        "n": number(row["n_units"], 0),
        "condition": row.get("candidate" if is_compared else "condition"),
    }
    if is_compared:
        p = p_text(row["p_adjusted"])
        if not p and not is_null(row["p_value"]):
            p = f"{p_text(row['p_value'])} {say('raw')}"
        return {
            **texts,
            "baseline": number(row["value_baseline"]),
            "candidate": number(row["value_candidate"]),
            "difference": number(row["delta"], signed=True),
            "p": p,
            "verdict": row["verdict"],
        }
    is_count = is_null(row["denominator"]) and row["value"] == row["numerator"]
    ratio = [
        f"{total:,.2f}".removesuffix(".00")
        for total in [row["numerator"], row["denominator"]]
        if not is_null(total)
    ]
    return {
        **texts,
        "value": (whole if is_count else number)(row["value"]),
        "ratio": " / ".join(ratio) if len(ratio) == 2 else f"n = {texts['n']}",
        "method": row["ci_method"],
    }


def p_head(
    rows: DataFrame,
    level: float,
) -> str:
    """The head of the p of a comparison's rows, which says so where any, or its interval at this level, is adjusted.

    >>> p_head(pd.DataFrame({"p_value": [0.02, 0.5], "p_adjusted": [0.02, None], "level": 0.05}), 0.05)
    'p'
    >>> p_head(pd.DataFrame({"p_value": [1e-4, 1e-4], "p_adjusted": 1e-4, "level": [0.05, 0.02]}), 0.05)
    'p adj.'
    """
    is_adjusted = (rows["p_adjusted"] > rows["p_value"]) | (rows["level"] < level)
    return "p adj." if is_adjusted.any() else "p"


def text_table(
    rows: DataFrame,
    columns: Iterable[str] = PLAIN,
) -> DataFrame:
    """Estimates, or a comparison, as text, a row each: these texts of `shown_texts`."""
    return DataFrame(
        map(shown_texts, rows.to_dict("records")),
        columns=list(columns),
        dtype=object,
    )


def by_condition(rows: DataFrame) -> DataFrame:
    """The values of metrics without a direction, which are not compared, as text: a row each, a column a condition."""
    rows = rows[rows["better"] == "none"].dropna(subset="value")
    titles = [shown_texts(row)["title"] for row in rows.to_dict("records")]
    return (
        rows.assign(Metric=titles, value=rows["value"].map(whole))
        .pivot_table(
            "value",
            "Metric",
            "condition",
            aggfunc="first",
            sort=False,
        )
        .fillna("N/A")
        .reset_index()
    )


# columns of frames that hold words of ours; what other columns hold may be anybody's
NAMED = ("title", "metric", "measure", "kind", "by", "what")

# columns of our frames -> how a reader knows them
HEADS = {"title": "Metric", "n_units": "n", "n_seeds": "seeds"}

# pixels of a stored figure for one of the screen, and its colours: with all of them it is twice as large and no better
SCALE, COLOURS = 2, 64

# widest line of labels of categories and legends, and of any other text of a figure, in characters
LABEL_COLUMNS, TITLE_COLUMNS = 27, 50


# the names that the lines of a cell assign to
ASSIGNED = re.compile(r"^(\w+) *=(?!=)", re.MULTILINE)


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
    formatters["text/html"].for_type(DataFrame, lambda df: frame_table(df)._repr_html_())
    mpl.rcParams.update(figure_style())
    # matplotlib would draw every figure of a cell once more before it is shown
    plt.uninstall_repl_displayhook()
    formatters["image/png"].for_type(Figure, figure_png)
    shell.evaltools_styles = True  # for `HtmlTable`
    html = style()
    # papermill puts those that were injected behind the cell of all
    first, *others = [cell for cell in shell.user_ns["In"] if cell.strip()] or [""]
    injected = "\n".join(cell for cell in others if cell.startswith("# Parameters"))
    if unknown := [
        name for name in ASSIGNED.findall(injected) if name not in ASSIGNED.findall(first)
    ]:
        # Markup would escape the styles that it is added to
        html += str(
            macros().notice(
                say(
                    "Parameters that this notebook does not know, and which changed nothing: {names}",
                    names=listed(unknown),
                )
            )
        )
    return HtmlTable(html)


def frame_table(frame: DataFrame) -> HtmlTable:
    """A frame as a table of the report; its index stands in the first columns where it says something.

    Columns of our words, and labels of an index, are in the language in force.
    """
    if frame.columns.nlevels > 1:  # several lines as one: "value mean"
        frame = frame.set_axis(
            [" ".join(map(str, parts)).strip() for parts in frame.columns], axis="columns"
        )
    index = [name for name in frame.index.names if name is not None]
    if index or not pd.api.types.is_integer_dtype(frame.index):
        frame = frame.reset_index(names=None if index else [""])
    for column in {*NAMED, *index}.intersection(frame):
        if not pd.api.types.is_numeric_dtype(frame[column]):
            frame = frame.assign(**{column: frame[column].astype(str).map(say, "ignore")})
    return table(
        frame.rename(columns={own: head for own, head in HEADS.items() if head not in frame})
    )


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
    image = Image.open(drawn).quantize(COLOURS)
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
            translated = [shown(say(text), LABEL_COLUMNS) if text else "" for text in labels]
            if translated != labels:
                axis.set_ticks(axis.get_ticklocs(), translated)
    columns = min(TITLE_COLUMNS, round(TITLE_COLUMNS * figure.get_figwidth() / 5))
    in_legends = [text for legend in figure.findobj(Legend) for text in legend.get_texts()]
    for text in figure.findobj(Text):
        words = text.get_text()
        if words and "\n" not in words:
            text.set_text(shown(say(words), LABEL_COLUMNS if text in in_legends else columns))
