"""What a paper takes from a result: its table in LaTeX and Markdown, the paragraph on it, and its figures.

Table and paragraphs are English whatever the language of the report; its figures speak that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pandas import DataFrame

from ..core.files import natural
from ..core.messages import speaking
from ..stats.influence import TRIAL
from . import study_sentences
from . import text as plain
from .first_screen import BOOTSTRAPS, count_methods
from .tables import by_condition, p_head, shown_texts, text_table
from .text import Strong, latex_table, markdown_table

if TYPE_CHECKING:
    from .result import Result

# `ci_method` -> its name in a paper; a method that is not here keeps its name
METHODS = {
    "bca": "bias-corrected and accelerated (BCa) bootstrap",
    "percentile": "percentile bootstrap",
    "bca-t": "at each end the wider of a t interval and a BCa bootstrap at Hesterberg's (2015) level for few units",
    "mid-p": "exact binomial intervals (mid-p Clopper-Pearson)",
    "score-t": "Wilson score intervals at the effective sample size with t quantiles",
    "mover": "score intervals of gains and losses, or of classes, put together (MOVER)",
    "t": "paired t intervals",
    "components": "t intervals from the variance components of seeds and samples",
}


def leading(result: Result) -> list[str]:
    """The metrics of a paper: the primary one, then those that the suite names for papers, or else the headline."""
    return [*dict.fromkeys([result.primary, *(result.suite.paper or result.headline)])]


def table(result: Result) -> DataFrame:
    """The metrics of a paper as text.

    Of a comparison: Metric, Condition (of several candidates), both means over the pairs that the difference is made of,
    Difference, its interval, p and n, a row a metric and candidate; the better side is `Strong`. Else: Metric, Value,
    interval and n. Metrics: those of `leading` that are measured.
    """
    rows = result.rows_of(*leading(result))
    rows = rows.dropna(subset="delta" if result.candidates else "value")
    level = f"{result.resampling.percent} interval"
    if not result.candidates:
        columns = {"title": "Metric", "value": "Value", "interval": level, "n": "n"}
        return text_table(rows, columns).rename(columns=columns)
    columns = {
        "title": "Metric",
        "condition": "Condition",
        "baseline": result.baseline,
        "candidate": "Candidate",
        "difference": "Difference",
        "interval": level,
        "p": p_head(rows, result.resampling.level),
        "n": "n",
    }
    if len(result.candidates) == 1:
        columns["candidate"] = result.candidates[0]
        del columns["condition"]
    texts = []
    for row in rows.to_dict("records"):
        cells = shown_texts(row)
        if row["verdict"] == "better":
            cells["candidate"] = Strong(cells["candidate"])
        elif row["verdict"] == "not measured":
            cells["interval"] = "not measured"
        elif row["short"]:
            cells["p"] += " (tied)"
        texts.append(cells)
    return DataFrame(texts, columns=list(columns), dtype=object).rename(columns=columns)


def counts(result: Result) -> DataFrame:
    """The metrics of a paper that are not compared (D31)."""
    return by_condition(result.estimates_of(*(leading(result) if result.candidates else ())))


def note(result: Result) -> str:
    """The note below the table: what its signs mean, and the signature."""
    sentences = ["↑ higher is better, ↓ lower is better."]
    if "better" in list(result.rows_of(*leading(result)).get("verdict", ())):
        sentences.append(f"Bold: better than {result.baseline}.")
    return " ".join([*sentences, f"Signature: {result.signature}"])


def methods(result: Result) -> str:
    """What was scored, the intervals by name, and how conditions were compared and tested."""
    conditions = []
    for name, runs in result.conditions.items():
        word = "seed" if len(runs) == 1 else "seeds"
        conditions.append(
            f"{name} ({word} {', '.join(sorted(runs, key=natural))})" if result.seeds else name
        )
    used = count_methods(result)
    names = ", ".join(METHODS.get(method, method) for method in used)
    sentences = [f"We scored {', '.join(conditions)}; {study_sentences.size(result)}."]
    if any(TRIAL in run.data for run in result.results):
        sentences.append("Values are over trials averaged within a sample.")
    if names:
        sentences.append(f"Intervals: {names}.")
    if not used.keys().isdisjoint(BOOTSTRAPS):
        sentences.append(f"Bootstraps draw {result.resampling.n_resamples:,} resamples.")
    sentences.append(study_sentences.how(result))
    if result.candidates:
        units = "clusters" if result.n_clustered else "samples"
        text = f"p values are of two-sided paired sign-flip permutation tests over {units}"
        if result.frame["mid"].any():
            text += " (mid-p for proportions)"
        if (result.frame["n_seeds"] > 1).any():
            text += "; with several seeds the larger of that and a t test over their variance components"
        sentences.append(f"{text}.")
    return " ".join(filter(None, sentences))


@speaking("en")
def paragraphs(result: Result) -> list[str]:
    """Methods and results in words, ready to be adapted."""
    doubts = [check.message.rstrip(".") for check in result.doubts()]
    parts = [
        methods(result),
        " ".join(f"{text.rstrip('.')}." for text in study_sentences.outcomes(result)),
    ]
    if doubts:
        parts.append(f"To bear in mind: {'; '.join(doubts)}.")
    return parts


@speaking("en")
def latex(result: Result) -> str:
    """The table with its note, and the paragraphs, to be read with `\\input`."""
    caption, label = f"{result.suite.title}: {result.name}", f"tab:{result.name}"
    tables = latex_table(
        table(result),
        caption=caption,
        label=label,
        note=note(result),
    )
    counted = counts(result)
    if len(counted):
        tables += latex_table(
            counted,
            caption=f"{caption}, counts",
            label=f"{label}-counts",
        )
    words = "\n\n".join(map(plain.latex, paragraphs(result)))
    return (
        "% needs \\usepackage{booktabs}, and XeLaTeX or LuaLaTeX with a CJK font for names in Hangul or Han\n"
        f"{tables}\n{words}\n"
    )


@speaking("en")
def markdown(result: Result) -> str:
    """The paragraphs, and the table with its note, in Markdown."""
    words = "\n\n".join(map(plain.markdown, paragraphs(result)))
    caption = plain.markdown(f"{result.suite.title}: {result.name}")
    tables = f"{caption}\n\n{markdown_table(table(result))}\n{plain.markdown(note(result))}\n"
    counted = counts(result)
    if len(counted):
        tables += f"\n{markdown_table(counted)}"
    return f"{words}\n\n{tables}"


def files(result: Result) -> dict[str, bytes]:
    """The files of the paper: path below the report's folder -> content."""
    from .figures import export

    contents = {"paper.tex": latex(result).encode(), "paper.md": markdown(result).encode()}
    charts = {"forest": result.plot.forest()}
    if result.candidates and result.primary:
        charts["paired"] = result.plot.paired()
    for name, chart in charts.items():
        if chart.axes:
            contents[f"figures/{name}.svg"] = export(chart, "svg")
            contents[f"figures/{name}.pdf"] = export(chart, "pdf")
    return contents
