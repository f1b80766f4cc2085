"""What a paper takes from a study: its table in LaTeX and Markdown, the paragraph on it, and its figures.

Table and paragraphs are English whatever the language of the report; its figures speak that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ..core.files import natural
from ..core.language import speaking
from ..stats.influence import TRIAL
from . import study_sentences
from . import text as plain
from .tables import by_condition, p_head, shown_texts, text_table
from .text import Strong, latex_table, markdown_table
from .trust import BOOTSTRAPS, count_methods

if TYPE_CHECKING:
    from .result import Result

# what `ci_method` says -> its name in a paper; a method that is not here is named as it is
METHODS = {
    "bca": "bias-corrected and accelerated (BCa) bootstrap",
    "percentile": "percentile bootstrap",
    "bca-t": "the wider of a BCa bootstrap and a t interval",
    "mid-p": "exact binomial intervals (mid-p Clopper-Pearson)",
    "score-t": "Wilson score intervals at the effective sample size with t quantiles",
    "mover": "score intervals of gains and losses, or of classes, put together (MOVER)",
    "t": "paired t intervals",
    "components": "t intervals from the variance components of seeds and samples",
}


def leading(shown: Result) -> list[str]:
    """The metrics of a paper: the primary one, and those that the suite names for papers, else the headline."""
    names = dict.fromkeys([shown.primary, *(shown.suite.paper or shown.headline)])
    return [name for name in names if name and name not in shown.blocked]


def table(shown: Result) -> pd.DataFrame:
    """The metrics of a paper as text.

    Of a comparison: Metric, Condition (of several candidates), both means over the pairs that the difference is made of,
    Difference, its interval and p, a row a metric and candidate; the better side is `Strong`. Else: Metric, Value,
    interval and n. Metrics: the measured ones of `leading`.
    """
    names = leading(shown)
    level = f"{shown.resampling.percent} interval"
    if not shown.candidates:
        columns = {"title": "Metric", "value": "Value", "interval": level, "n": "n"}
        return text_table(shown.estimates_of(*names).dropna(subset="value"), columns)
    rows = shown.differences_of(*names).dropna(subset="delta")
    columns = {
        "title": "Metric",
        "condition": "Condition",
        "baseline": shown.baseline,
        "candidate": "Candidate",
        "difference": "Difference",
        "interval": level,
        "p": p_head(rows),
    }
    if len(shown.candidates) == 1:
        columns["candidate"] = shown.candidates[0]
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
    return pd.DataFrame(texts, columns=list(columns), dtype=object).rename(columns=columns)


def counts(shown: Result) -> pd.DataFrame:
    """The metrics of a paper that are not compared (D31)."""
    return by_condition(shown.estimates_of(*(leading(shown) if shown.candidates else ())))


def note(shown: Result) -> str:
    """What stands below the table: its signs, and the signature."""
    sentences = ["↑ higher is better, ↓ lower is better."]
    if shown.candidates:
        rows = shown.differences_of(*leading(shown))
        if "better" in set(rows["verdict"]):
            sentences.append(f"Bold: better than {shown.baseline}.")
    return " ".join([*sentences, f"Signature: {shown.signature}"])


def methods(study: Result) -> str:
    """What was scored, the intervals by name, and how conditions were compared and tested."""
    conditions = []
    for name, runs in study.conditions.items():
        word = "seed" if len(runs) == 1 else "seeds"
        seeded = f"{name} ({word} {', '.join(sorted(runs, key=natural))})"
        conditions.append(seeded if study.seeds else name)
    used = count_methods(study)
    names = ", ".join(METHODS.get(method, method) for method in used)
    sentences = [f"We scored {', '.join(conditions)}; {study_sentences.size(study)}."]
    if any(TRIAL in run.data for run in study.results):
        sentences.append("Values are over trials averaged within a sample.")
    if names:
        sentences.append(f"Intervals: {names}.")
    if not used.keys().isdisjoint(BOOTSTRAPS):
        sentences.append(f"Bootstraps draw {study.resampling.n_resamples:,} resamples.")
    sentences.append(study_sentences.how(study))
    if study.candidates:
        units = "clusters" if study.n_clustered else "samples"
        text = f"p values are of two-sided paired sign-flip permutation tests over {units}"
        if study.frame["mid"].any():
            text += " (mid-p for proportions)"
        if study.seeds:
            text += "; with several seeds the larger of that and a t test over their variance components"
        sentences.append(f"{text}.")
    return " ".join(filter(None, sentences))


@speaking("en")
def paragraphs(study: Result) -> list[str]:
    """Methods and results in words, ready to be adapted."""
    doubts = [check.message.rstrip(".") for check in study.doubts()]
    outcomes = [f"{text.rstrip('.')}." for text in study_sentences.outcomes(study)]
    parts = [methods(study), " ".join(outcomes)]
    if doubts:
        parts.append(f"To bear in mind: {'; '.join(doubts)}.")
    return parts


@speaking("en")
def latex(shown: Result) -> str:
    """The table with its note, and the paragraphs, to be read with `\\input`."""
    caption, label = f"{shown.suite.title}: {shown.name}", f"tab:{shown.name}"
    lines = latex_table(
        table(shown),
        caption=caption,
        label=label,
        note=note(shown),
    )
    counted = counts(shown)
    if len(counted):
        lines += latex_table(
            counted,
            caption=f"{caption}, counts",
            label=f"{label}-counts",
        )
    words = "\n\n".join(map(plain.latex, paragraphs(shown)))
    needs = (
        "\\usepackage{booktabs}, and XeLaTeX or LuaLaTeX with a CJK font for names in Hangul or Han"
    )
    return f"% needs {needs}\n{lines}\n{words}\n"


@speaking("en")
def markdown(study: Result) -> str:
    """The same in Markdown."""
    words = "\n\n".join(map(plain.markdown, paragraphs(study)))
    caption = plain.markdown(f"{study.suite.title}: {study.name}")
    lines = f"{caption}\n\n{markdown_table(table(study))}\n{plain.markdown(note(study))}\n"
    counted = counts(study)
    if len(counted):
        lines += f"\n{markdown_table(counted)}"
    return f"{words}\n\n{lines}"


def files(study: Result) -> dict[str, bytes]:
    """Path below the report's folder -> content."""
    from .figures import export

    contents = {"paper.tex": latex(study).encode(), "paper.md": markdown(study).encode()}
    charts = {"forest": study.plot.forest()}
    if study.candidates:
        charts["paired"] = study.plot.paired()
    for name, chart in charts.items():
        if chart.axes:
            contents[f"figures/{name}.svg"] = export(chart, "svg")
            contents[f"figures/{name}.pdf"] = export(chart, "pdf")
    return contents
