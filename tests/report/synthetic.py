"""A small executed notebook with everything a report shows, hostile texts included."""

from typing import Any

import nbformat
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

import evaltools as et
from evaltools.report import tables
from evaltools.report.samples import Line, Row, SampleView, samples
from evaltools.report.tables import HtmlTable, figure_png

HOSTILE = (
    "<script>window.hacked = 1</script>",
    "</script><script>window.hacked = 1</script>",
    '<img src=x onerror="window.hacked = 1; alert(1)">',
    "[link](javascript:alert(1)) javascript:alert(1)",
    "{{ 7 * 7 }} {% raw %}",
    "costs $5 and $x^2$ \\(y\\)",
    "abc\u202egnp.exe",
    "nul\x00 bell\x07 esc\x1b[31mred",
    '"><svg onload=alert(1)>',
    "../../etc/passwd",
    "제품 전체#일반 ㆍ 风险提示 （全角）",
    "x" * 100_000,
)


def estimates() -> pd.DataFrame:
    """Estimates as a run holds them: one not measured, one without interval."""
    value = np.linspace(0.1, 0.9, 12)
    frame = pd.DataFrame(
        {
            "metric": [f"metric_{i}" for i in range(12)],
            "title": [f"Metric {i}, as a reader calls it" for i in range(12)],
            "value": value,
            "ci_low": value - 0.08,
            "ci_high": value + 0.07,
            "n_units": 40,
            "condition": "",
        }
    )
    frame.loc[1, ["value", "ci_low", "ci_high"]] = np.nan
    frame.loc[2, ["ci_low", "ci_high"]] = np.nan
    return frame


SAMPLE_COLUMNS = {"gold": "Gold", "before": "Stage 1", "after": "Final"}


def sample_frame() -> pd.DataFrame:
    """A card for each hostile text, which stands in every place of it."""
    frame = pd.DataFrame({"text_id": [f"s{i:03d}" for i in range(len(HOSTILE))]})
    frame["text"] = list(HOSTILE)
    frame["rows"] = [sample_rows(text) for text in HOSTILE]
    frame["tags"] = [[Line(text, "bad"), Line("F1 0.50")] for text in HOSTILE]
    frame["actions"] = f"flip: 거품\n{HOSTILE[2]}"
    return frame


def sample_rows(text: str) -> list[Row]:
    """A right row, one in which review found what was missing, and one of a hostile text."""
    positive, negative = Line("positive"), Line("negative")
    right = Line("positive", "good")
    found = {"gold": [negative], "before": [Line("missing", "missing")], "after": [right]}
    hostile = Line(text, "bad", text)
    return [
        Row(
            "제품 전체#일반",
            {"gold": [positive], "before": [right], "after": [right]},
            "향",
            "good",
        ),
        Row("본품#품질 · implicit", found, mark="good"),
        Row(text, {"after": [hostile, Line("odd", "look")]}, text, "bad"),
    ]


def view(**layout: Any) -> SampleView:
    """How cards are laid out that need no making."""
    layout = {"id": "text_id", "texts": {"text": ""}, **layout}
    return SampleView(lambda run, units: units, dict, **layout)


def browser(frame: pd.DataFrame, *, caption: str = "Samples", **layout: Any) -> HtmlTable:
    """A browser of the cards of a frame, in its order."""
    cards = frame.reset_index(drop=True)
    return samples(cards, view(**layout), {}, caption, cards)


def shown(value: Any, source: str) -> Any:
    """A code cell with the output that a kernel would store for `value`."""
    if isinstance(value, Figure):
        png, about = figure_png(value)
        data, metadata = {"image/png": png}, {"image/png": about}
    else:
        data, metadata = {"text/html": value._repr_html_(), "text/plain": repr(value)}, {}
    return new_code_cell(source, outputs=[new_output("display_data", data=data, metadata=metadata)])


def notebook() -> Any:
    rng = np.random.default_rng(7)
    frame = sample_frame()
    names = [text for text in HOSTILE if "\x07" not in text]  # a name with a bell is bad input
    by_text = [{"id": str(i), "metric": name, "value": i % 2} for name in names for i in range(9)]
    heads = [f"a rather long column {i}" for i in range(14)]
    wide = pd.DataFrame(rng.normal(size=(40, 14)), columns=heads)
    wide.insert(0, "run", [f"run {i} 조건" for i in range(40)])
    # streams, a script and markup among the outputs
    noise = [
        new_output("stream", name="stdout", text="x" * 300 + "<b>no markup</b>\n"),
        new_output("stream", name="stderr", text="stderr noise"),
        new_output("display_data", data={"application/javascript": "window.hacked = 1"}),
        new_output("display_data", data={"text/markdown": "*md* <img src=x onerror=alert(1)> $x$"}),
    ]
    cells = [
        new_markdown_cell("# A report"),
        new_code_cell("RUN = 'a'  # <script>alert(1)</script>"),
        new_markdown_cell("## Headline 결과\n\nWith $5, **bold**, `code`, [a link](#samples)."),
        shown(tables.table(estimates()), "table(estimates)"),
        new_markdown_cell("### By category"),
        shown(et.evaluate("table", by_text).plot.forest(*names), "plot.forest(...)"),
        shown(tables.table(wide), "table(wide)"),
        shown(tables.table(frame[["text_id", "text", "actions"]]), "table(hostile)"),
        new_markdown_cell("## Samples"),
        shown(browser(frame, head="Aspect", columns=SAMPLE_COLUMNS), "samples(frame)"),
        shown(browser(frame.head(2), fields={"actions": "Review"}), "samples(frame)"),
        new_markdown_cell("## Provenance"),
        new_code_cell("print('x' * 300)", outputs=noise),
    ]
    return nbformat.from_dict(new_notebook(cells=cells))
