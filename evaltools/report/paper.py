"""What a paper takes from a study: its table in LaTeX and Markdown, the paragraph on it, and its figures.

Every sentence follows from the study: what it does not hold (seeds, a comparison, an interval) is not spoken of.
Table and paragraphs are English whatever the language of the report; its figures speak that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from inspect import signature
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..core.language import listed, speaking
from ..core.metric import metric_title
from ..core.names import natural
from ..core.resampling import COMPONENTS, CONSTANT, Resampling
from ..stats.compare import compare
from ..stats.intervals import MIN_UNITS
from ..stats.large_samples import LARGE
from ..stats.seed_variance import ALIKE
from . import markdown as plain
from . import study_sentences
from . import study_tables as views
from .estimate_tables import interval, plain_estimates
from .fonts import ANSWERED
from .markdown import ARROWS, Strong, latex_table, markdown_table, number, titled

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

DRAWN = ("bca", "bca-t", "percentile")
"""The methods that draw resamples, for up to LARGE units."""

PATTERNS = signature(compare).parameters["n_permutations"].default

MARK = "†"
"""Behind a difference whose p is within the level."""

EQUIVALENT_MARK = "‡"
"""Behind a difference whose interval lies within the declared margin."""


def alpha(study: Study) -> float:
    """The level of the tests."""
    return round(1 - study.resampling.confidence, 9)


def metrics_of_table(study: Study) -> list[str]:
    """The metrics of the table: the measured ones of those that the suite names for papers; else the headline."""
    if not study.suite.paper:
        return list(study.headline)
    names = list(dict.fromkeys([study.primary, *study.suite.paper]))
    rows = views.estimates(study, names)
    measured = set(rows.loc[rows["value"].notna(), "metric"])
    return [name for name in names if name in measured]


def table(study: Study) -> pd.DataFrame:
    """The metrics of a paper as text, a row a metric and condition; a column that says nothing in this study is not there.

    Columns: metric, condition, value (over seeds: mean), interval, difference, its_interval, n and seeds (where they
    differ between rows). A candidate's value is `Strong` where its verdict is better; MARK stands after a difference
    whose p, adjusted in the family, is within the level, EQUIVALENT_MARK where the verdict of a metric of the family is
    equivalent.
    """
    names = metrics_of_table(study)
    by_metric = views.estimates(study, names).set_index("metric", drop=False)
    estimates = by_metric.loc[names]
    texts = plain_estimates(estimates, resampling=study.resampling).to_dict("records")
    comparisons = {}
    for row in views.comparison(study, headline=False).to_dict("records"):
        comparisons[row["candidate"], row["metric"]] = row
    rows = []
    for estimate, text in zip(estimates.to_dict("records"), texts):
        comparison = comparisons.get((estimate["condition"], estimate["metric"]), {})
        title = metric_title(estimate["metric"], estimate["title"])
        value = text["value"]
        if comparison.get("verdict") == "better":
            value = Strong(value)
        row = {
            "metric": titled(title, estimate["better"]),
            "condition": estimate["condition"],
            "value": value,
            "interval": text["interval"],
            "difference": _difference(comparison, alpha(study)),
            "its_interval": interval(comparison, signed=True),
            "n": text["n"],
            "seeds": number(int(estimate["n_seeds"])) if study.seeded else "",
        }
        rows.append(row)
    return _without_repetition(pd.DataFrame(rows, dtype=object))


def _without_repetition(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows, each metric named once, without the columns that are empty or the same in all rows."""
    is_repeated = rows["metric"].duplicated()
    dropped = []
    for column in rows:
        is_same = column in ("condition", "n", "seeds") and rows[column].nunique() == 1
        if is_same or not any(rows[column]):
            dropped.append(column)
    rows.loc[is_repeated, "metric"] = ""
    return rows.drop(columns=dropped)


def _means(study: Study) -> bool:
    """Whether values are means over several seeds."""
    return any(len(runs) > 1 for runs in study.conditions.values())


def with_heads(study: Study, rows: pd.DataFrame) -> pd.DataFrame:
    """The table under its printed heads."""
    level = f"{study.resampling.percent} interval"
    named = {
        "value": "Mean" if _means(study) else "Value",
        "interval": level,
        "its_interval": level,
        "n": "n",
    }
    heads = [named.get(column, column.capitalize()) for column in rows]
    return rows.set_axis(heads, axis="columns")


def _difference(comparison: Mapping[Any, Any], level: float) -> str:
    """The difference as printed, with its marks; "" without a comparison."""
    if not comparison:
        return ""
    text = number(float(comparison["delta"]), signed=True)
    if comparison["p_adjusted"] <= level:
        text += MARK
    if comparison["verdict"] == "equivalent" and comparison["family"]:
        text += EQUIVALENT_MARK
    return text


def note(study: Study, rows: pd.DataFrame) -> str:
    """What stands below the table: only the signs that are in it, and the signature."""
    cells = rows.to_numpy().ravel()
    texts = "".join(str(cell) for cell in cells)
    estimates = views.estimates(study, metrics_of_table(study))
    sentences = []
    for sign, words in ARROWS.values():
        if sign in texts:
            sentences.append(f"{sign} {words}.")
    if MARK in texts:
        family = study_sentences.family(views.comparison(study))
        sentences.append(f"{MARK} p ≤ {alpha(study):g} ({family}).")
    if EQUIVALENT_MARK in texts:
        sentences.append(f"{EQUIVALENT_MARK} equivalent within the declared margin.")
    if any(isinstance(cell, Strong) for cell in cells):
        sentences.append(f"Bold: better than {study.baseline}.")
    if "N/A" in texts:
        sentences.append("N/A: not measured.")
    if "n" not in rows:
        sentences.append(f"n = {int(estimates['n_units'].max()):,}.")
    if study.seeded and "seeds" not in rows:
        sentences.append(f"{_seeds_text(int(estimates['n_seeds'].max()))}.")
    if study.candidates:
        sentences.append("Differences rest on what both conditions have.")
    sentences.append(f"Signature: {study.signature}")
    return " ".join(sentences)


def caption(study: Study) -> str:
    """The title of the table."""
    what = "mean over seeds" if _means(study) else "values"
    title = f"{study.suite.title}: {what}"
    if study.comparisons:
        title += f", and difference to {study.baseline}"
    return title


def methods(study: Study) -> str:
    """What was scored and compared, the intervals by name with what they claim, and the tests."""
    sentences = [_scored(study)]
    what = "the means over seeds" if _means(study) else "the values"
    aggregates = []
    for estimates in study.aggregates.values():
        is_headline = estimates["metric"].isin(study.headline)
        aggregates.append(estimates[is_headline])
    sentences += _intervals(pd.concat(aggregates), what, study.resampling)
    compared = views.comparison(study)
    if not compared.empty:
        paired_by = study.suite.unit
        if study.seeded:
            pairings = {comparison.paired_by for comparison in study.comparisons.values()}
            paired_by = listed(sorted(pairings))
        sentences.append(f"Differences are to {study.baseline}, paired by {paired_by}.")
        sentences += _intervals(compared, "the differences", study.resampling)
        sentences += _tests(study, compared)
    return " ".join(sentences)


def _scored(study: Study) -> str:
    """What was scored: the samples and seeds of every condition."""
    conditions = []
    for condition, runs in study.conditions.items():
        seeds = sorted(runs, key=natural)
        sizes = [f"{runs[seed].n_units:,}" for seed in seeds]
        what = f"n = {listed(sizes)}"
        if study.seeded:
            seeds_text = _seeds_text(len(seeds))
            what = f"{seeds_text} {listed(seeds)}; {what}"
        conditions.append(f"{condition} ({what})")
    n_samples = len(study.unit_names)
    unit = study.suite.unit
    return f"We scored {listed(conditions)} on {n_samples:,} samples ({unit})."


def _seeds_text(n: int) -> str:
    if n == 1:
        return "1 seed"
    return f"{n} seeds"


def _intervals(
    estimates: pd.DataFrame,
    what: str,
    resampling: Resampling,
) -> Iterator[str]:
    """The sentence on the methods of intervals and what these claim; none without intervals."""
    measured = estimates[estimates["ci_low"].notna()]
    if measured.empty:
        return
    names = [METHODS.get(method, method) for method in measured["ci_method"].unique()]
    is_drawn = measured["ci_method"].isin(DRAWN) & (measured["n_units"] <= LARGE)
    drawn = ""
    if is_drawn.any():
        drawn = f" ({resampling.n_resamples:,} resamples)"
    claims = listed(measured["claim"].unique())
    yield (
        f"{resampling.percent} intervals of {what}: {listed(names)}{drawn}; "
        f"they speak for {claims}."
    )


def _tests(study: Study, compared: pd.DataFrame) -> Iterator[str]:
    """The sentences on the tests; none where nothing was tested."""
    is_tested = compared["p_value"].notna() & (compared["n_units"] >= MIN_UNITS)
    tested = compared[is_tested]
    if tested.empty:
        return
    generator = f"NumPy's generator started at {study.resampling.seed}"
    signs = f"all patterns, or {PATTERNS:,} random ones ({generator}) and that of the data"
    if (tested["n_units"] > LARGE).any():
        signs = "their normal limit"
    yield (
        "p values are of two-sided paired sign-flip permutation tests over samples: the share of sign patterns "
        f"({signs}) under which the sum of the samples' differences is at least as large in size as observed."
    )
    yield "Of proportions (units are 0 or 1) patterns that are exactly as large count half (mid-p)."
    if (tested["n_seeds"] > 1).any():
        yield from _seeds_in_p(study)
    family = study_sentences.family(tested, len(study.conditions))
    if family:
        candidates = ", for each candidate" if len(study.comparisons) > 1 else ""
        yield f"Of these{candidates}, {family}."
    yield (
        f"Better or worse is said where p is at most {alpha(study):g}, "
        f"the interval leaves out 0, and at least {MIN_UNITS} samples are paired."
    )
    margins = study_sentences.margins(tested, study.resampling.confidence)
    if margins:
        yield margins.strip()


def _seeds_in_p(study: Study) -> Iterator[str]:
    """How several seeds enter p."""
    pooled = ""
    if study.resampling.method == "auto":
        pooled = (
            "; where the seeds of the two sides go apart and Bartlett's test does not tell their variances apart "
            f"(p > {ALIKE:g}), the variance of both is pooled"
        )
    yield (
        "With several seeds p is the larger of that and the p of a t test of the difference of the means over seeds, "
        "whose variance has components of seeds, samples and their interaction (Henderson's method III, "
        f"Satterthwaite's degrees of freedom){pooled}."
    )


def results(study: Study) -> str:
    """What came out: the verdicts as every page words them; of conditions that are not compared their values."""
    return " ".join(study_sentences.outcomes(study))


def limits(study: Study) -> str:
    """The checks that did not pass, which belong beside the numbers; "" where all did."""
    messages = [check.message for check in study.doubts]
    if not messages:
        return ""
    return f"To bear in mind: {'; '.join(messages)}."


@speaking("en")
def paragraph(study: Study) -> str:
    """Methods and results in words, ready to be adapted; paragraphs are split at empty lines."""
    parts = [methods(study), results(study), limits(study)]
    return "\n\n".join(part for part in parts if part)


@speaking("en")
def latex(study: Study) -> str:
    """The table with its note, and the paragraph, to be read with `\\input`."""
    rows = table(study)
    lines = latex_table(
        with_heads(study, rows),
        caption=caption(study),
        label=f"tab:{study.name}",
        note=note(study, rows),
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
    rows = table(study)
    paragraphs = paragraph(study).split("\n\n")
    words = "\n\n".join(map(plain.markdown, paragraphs))
    lines = markdown_table(with_heads(study, rows), caption(study))
    below = plain.markdown(note(study, rows))
    return f"{words}\n\n{lines}\n{below}\n"


def figures(view: Any) -> dict[str, Any]:
    """Name -> chart of a study, or of the run where there is one only."""
    if len(view.results) == 1:
        view = view.results[0]
    charts = {}
    for name in dir(view.plot):
        draw = getattr(view.plot, name)
        chart = draw()
        if chart.drawn:
            charts[name] = chart
    return charts


def files(view: Any) -> dict[str, tuple[str, bytes]]:
    """Path below the report's folder -> (what it is, content)."""
    contents = {
        "paper.tex": ("Table and paragraph", latex(view).encode()),
        "paper.md": ("Table and paragraph", markdown(view).encode()),
    }
    for name, chart in figures(view).items():
        for form in ("svg", "pdf"):
            path = f"figures/{name}.{form}"
            contents[path] = (chart.title, chart.export(form))
    return contents
