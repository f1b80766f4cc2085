"""What a paper takes from a study: its table in LaTeX and Markdown, the paragraph on it, and its figures.

Table and paragraphs are English whatever the language of the report; its figures speak that.
"""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..core.language import listed, speaking
from ..core.names import natural
from ..core.resampling import COMPONENTS, CONSTANT
from ..stats.compare import compare
from . import markdown as plain
from . import study_sentences
from . import study_tables as views
from .fonts import ANSWERED
from .markdown import Strong, latex_table, markdown_table, number
from .provenance import BOOTSTRAPS, count_methods
from .sentences import p_text
from .tables import interval, shown_estimate

if TYPE_CHECKING:
    from .study import Study

METHODS = {
    "bca": "bias-corrected and accelerated (BCa) bootstrap",
    "percentile": "percentile bootstrap",
    "abc": "the closed form of the BCa bootstrap (ABC)",
    "bca-t": "the union of an expanded BCa bootstrap interval and a t interval",
    "mid-p": "mid-p Clopper-Pearson intervals",
    "wilson": "Wilson score intervals",
    "ppi++": "prediction-powered means of scores and labels with Wilson score intervals",
    "score-t": "Wilson score intervals at the effective sample size with t quantiles",
    CONSTANT: "Wilson score intervals at the number of units, which do not differ",
    "mover": "score intervals of the parts (gains and losses, or classes) put together (MOVER)",
    COMPONENTS: "t intervals from the variance components of seeds and samples",
}
"""What `ci_method` says -> its name in a paper; a method that is not here is named as it is."""

PATTERNS = signature(compare).parameters["n_permutations"].default


def table(study: Study) -> pd.DataFrame:
    """The metrics of a paper as text, a row a metric and condition; a column that is empty in this study is not there.

    Metrics: the measured ones of those that the suite names for papers; else the headline.
    Columns: Metric, Condition, Value (over seeds: Mean), its interval, Difference to the baseline, its interval, p
    (adjusted; else raw, which is said; of a metric outside the family exploratory), n and Seeds. A candidate's value is
    `Strong` where its verdict is better.
    """
    names = list(study.headline)
    if study.suite.paper:
        names = [name for name in dict.fromkeys([study.primary, *study.suite.paper]) if name]
    estimates = views.estimates(study, names)
    estimates = estimates.sort_values(
        "metric", key=lambda column: column.map(names.index), kind="stable"
    )
    if study.suite.paper:
        is_measured = estimates["value"].notna().groupby(estimates["metric"]).transform("any")
        estimates = estimates[is_measured]
    compared = views.comparison(study, names).to_dict("records")
    by_place = {(row["candidate"], row["metric"]): row for row in compared}
    level = f"{study.resampling.percent} interval"
    over_seeds = _over_seeds(study)
    value = "Mean" if over_seeds else "Value"
    rows = []
    for estimate in estimates.to_dict("records"):
        texts = shown_estimate(estimate, study.resampling)
        row = {
            "Metric": texts["titled"],
            "Condition": estimate["condition"] if study.candidates else "",
            value: texts["value"],
            level: texts["interval"],
            "Difference": "",
            f"Its {level}": "",
            "p": "",
            "n": texts["n"],
            "Seeds": texts["n_seeds"] if over_seeds else "",
        }
        difference = by_place.get((estimate["condition"], estimate["metric"]))
        if difference is not None:
            row["Difference"] = number(difference["delta"], signed=True)
            row[f"Its {level}"] = interval(difference, signed=True)
            raw = p_text(difference["p_value"])
            note = "raw" if difference["family"] else "exploratory"
            row["p"] = p_text(difference["p_adjusted"]) or (f"{raw} ({note})" if raw else "")
            if difference["verdict"] == "better":
                row[value] = Strong(texts["value"])
        rows.append(row)
    if not rows:
        return pd.DataFrame()
    frame = pd.DataFrame(rows, dtype=object)
    frame["Metric"] = frame["Metric"].mask(frame["Metric"].duplicated(), "")
    return frame.loc[:, frame.ne("").any()]


def _over_seeds(study: Study) -> bool:
    """Whether a condition has several seeds, so that its values are means over them."""
    return any(len(runs) > 1 for runs in study.conditions.values())


def note(study: Study) -> str:
    """What stands below the table: its signs, and the signature."""
    sentences = ["↑ higher is better, ↓ lower is better. N/A: not measured."]
    if study.candidates:
        sentences.append(
            f"Differences are to {study.baseline}, over what both conditions have. Bold: better than {study.baseline}."
        )
    return " ".join([*sentences, f"Signature: {study.signature}"])


def caption(study: Study) -> str:
    """The title of the table."""
    what = "means over seeds" if _over_seeds(study) else "values"
    return f"{study.suite.title}: {what} of {listed(study.conditions)}"


def methods(study: Study) -> str:
    """What was scored, the intervals by name, and how conditions were compared and tested."""
    conditions = []
    for condition, runs in study.conditions.items():
        seeds = sorted(runs, key=natural)
        # a sample on which nothing was measured is as one that is not there
        measured = [int(runs[seed].frame["n_units"].max()) for seed in seeds]
        what = f"n = {listed(f'{n:,}' for n in measured)}"
        if study.seeded:
            what = f"seeds {listed(seeds)}; {what}"
        conditions.append(f"{condition} ({what})")
    n_samples = len(study.unit_names)
    used = count_methods(study)
    names = [METHODS.get(method, method) for method in used]
    sentences = [f"We scored {listed(conditions)} on {n_samples:,} samples ({study.suite.unit})."]
    if names:
        sentences.append(f"Intervals: {listed(names)}.")
    if not used.keys().isdisjoint(BOOTSTRAPS):
        sentences.append(f"Bootstraps draw {study.resampling.n_resamples:,} resamples.")
    sentences.append(study_sentences.how(study))
    if study_sentences.family(study):
        sentences.append(
            "p values are of two-sided paired sign-flip permutation tests over samples: the share of sign patterns (all, "
            f"or {PATTERNS:,} random ones of NumPy's generator started at {study.resampling.seed} and that of the data; "
            "of large samples their normal limit) under which the sum of the samples' differences is at least as large in "
            "size as observed. Of proportions (units are 0 or 1) patterns that are exactly as large count half (mid-p). "
            "With several seeds p is the larger of that and the p of a t test of the difference of the means over seeds, "
            "whose variance has components of seeds, samples and their interaction (Henderson's method III, "
            "Satterthwaite's degrees of freedom)."
        )
    return " ".join(filter(None, sentences))


def limits(study: Study) -> str:
    """The checks that did not pass, which belong beside the numbers; "" where all did."""
    messages = [check.message for check in study.doubts]
    if not messages:
        return ""
    return f"To bear in mind: {'; '.join(messages)}."


@speaking("en")
def paragraph(study: Study) -> str:
    """Methods and results in words, ready to be adapted; paragraphs are split at empty lines."""
    # what came out stands as every page words it
    parts = [methods(study), " ".join(study_sentences.outcomes(study)), limits(study)]
    return "\n\n".join(part for part in parts if part)


@speaking("en")
def latex(study: Study) -> str:
    """The table with its note, and the paragraph, to be read with `\\input`."""
    lines = latex_table(
        table(study),
        caption=caption(study),
        label=f"tab:{study.name}",
        note=note(study),
    )
    paragraphs = paragraph(study).split("\n\n")
    words = "\n\n".join(map(plain.latex, paragraphs))
    needs = "\\usepackage{booktabs}"
    if ANSWERED.search(lines + words):
        needs += " and XeLaTeX or LuaLaTeX with a CJK font"
    return f"% needs {needs}\n{lines}\n{words}\n"


@speaking("en")
def markdown(study: Study) -> str:
    """The same in Markdown."""
    paragraphs = paragraph(study).split("\n\n")
    words = "\n\n".join(map(plain.markdown, paragraphs))
    lines = markdown_table(table(study), caption(study))
    below = plain.markdown(note(study))
    return f"{words}\n\n{lines}\n{below}\n"


def figures(view: Any) -> dict[str, Any]:
    """Name -> chart of a study, or of the run where there is one only."""
    if len(view.results) == 1:
        view = view.results[0]
    charts = {}
    for name in dir(view.plot):
        draw = getattr(view.plot, name)
        chart = draw()
        if chart.axes:
            charts[name] = chart
    return charts


def files(view: Any) -> dict[str, tuple[str, bytes]]:
    """Path below the report's folder -> (what it is, content)."""
    from .figures import export

    contents = {
        "paper.tex": ("Table and paragraph", latex(view).encode()),
        "paper.md": ("Table and paragraph", markdown(view).encode()),
    }
    for name, chart in figures(view).items():
        for form in ("svg", "pdf"):
            path = f"figures/{name}.{form}"
            contents[path] = (chart.get_suptitle(), export(chart, form))
    return contents
