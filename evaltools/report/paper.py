"""What a paper takes from a study: its table in LaTeX and Markdown, the paragraph on it, and its figures.

Every sentence follows from the study: what it does not hold (seeds, a comparison, an interval) is not spoken of.
Table and paragraphs are English whatever the language of the report; its figures speak that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..core.errors import UsageError
from ..core.files import atomic
from ..core.language import speaking
from ..core.names import natural
from ..core.resampling import CONSTANT, Resampling
from ..stats.compare import compare
from ..stats.intervals import MIN_UNITS
from ..stats.large_samples import LARGE
from . import markdown as plain
from . import study_sentences
from . import study_tables as views
from .fonts import ANSWERED
from .markdown import ARROWS, Strong, latex_table, markdown_table, number, titled
from .tables import interval, plain_estimates
from .text import anchor

if TYPE_CHECKING:
    from .study import Study

METHODS = {
    "bca": "bias-corrected and accelerated (BCa) bootstrap",
    "percentile": "percentile bootstrap",
    "abc": "the closed form of the BCa bootstrap (ABC)",
    "wilson": "Wilson score intervals",
    "wilson, effective n": "Wilson score intervals at the effective sample size",
    "ppi++ t-wilson": "prediction-powered means of scores and labels with Wilson score intervals",
    "t-wilson": "Wilson score intervals at the effective sample size with t quantiles",
    CONSTANT: "Wilson score intervals at the number of units, which do not differ",
    "mover": "intervals from the score intervals of both sides (MOVER)",
    "variance components": "t intervals from the variance components of seeds and samples",
}
"""What `ci_method` says -> its name in a paper; a method that is not here is named as it is."""

DRAWN = ("bca", "percentile")
"""The methods that draw resamples, for up to LARGE units."""

PATTERNS = signature(compare).parameters["n_permutations"].default

MARK = "†"


def alpha(study: Study) -> float:
    """The level of the tests."""
    return round(1 - study.resampling.confidence, 9)


def listed(items: Sequence[str]) -> str:
    """ "a", "a and b", or "a, b and c"."""
    return " and ".join(x for x in [", ".join(items[:-1]), *items[-1:]] if x)


def table(study: Study) -> pd.DataFrame:
    """The headline as text, a row a metric and condition; a column that says nothing in this study is not there.

    Columns: metric, condition, value (over seeds: mean), interval, difference, its_interval, n and seeds (where they
    differ between rows). A candidate's value is `Strong` where its verdict is better; MARK stands after a difference
    whose p, adjusted in the family, is within the level.
    """
    found = views.estimates(study)
    texts = plain_estimates(found, resampling=study.resampling).to_dict("records")
    against = {(r["candidate"], r["metric"]): r for r in views.comparison(study).to_dict("records")}
    rows = []
    for e, shown in zip(found.to_dict("records"), texts):
        delta = against.get((e["condition"], e["metric"]), {})
        better = delta.get("verdict") == "better" and delta["family"]
        rows.append(
            {
                "metric": titled(e["title"] or e["metric"], e["better"]),
                "condition": e["condition"],
                "value": Strong(shown["value"]) if better else shown["value"],
                "interval": shown["interval"],
                "difference": _difference(delta, alpha(study)),
                "its_interval": interval(delta, signed=True),
                "n": shown["n"],
                "seeds": number(int(e["n_seeds"])) if study.seeded else "",
            }
        )
    frame = pd.DataFrame(rows, dtype=object)
    frame = frame.iloc[pd.factorize(frame["metric"])[0].argsort(kind="stable")].reset_index(
        drop=True
    )
    same = [c for c in ("condition", "n", "seeds") if frame[c].nunique() == 1]
    frame.loc[frame["metric"].duplicated(), "metric"] = ""
    return frame.drop(columns=same + [c for c in frame if c not in same and not any(frame[c])])


def _means(study: Study) -> bool:
    """Whether values are means over several seeds."""
    return any(len(runs) > 1 for runs in study.conditions.values())


def heads(study: Study, rows: pd.DataFrame) -> dict[str, str]:
    """Column of the table -> its header."""
    level = f"{study.resampling.confidence:.0%} interval"
    named = {
        "value": "Mean" if _means(study) else "Value",
        "interval": level,
        "its_interval": level,
        "n": "n",
    }
    return {c: named.get(c, c.capitalize()) for c in rows}


def _difference(row: Mapping[Any, Any], within: float) -> str:
    if not row:
        return ""
    return number(float(row["delta"]), signed=True) + (MARK if row["p_adjusted"] <= within else "")


def note(study: Study, rows: pd.DataFrame) -> str:
    """What stands below the table: only the signs that are in it, and the signature."""
    texts = "".join(map(str, rows.to_numpy().ravel()))
    signs = {
        **{sign: f"{sign} {words}." for sign, words in ARROWS.values()},
        MARK: f"{MARK} p ≤ {alpha(study):g} ({study_sentences.family(views.comparison(study))}).",
    }
    said = [words for sign, words in signs.items() if sign in texts]
    if any(isinstance(x, Strong) for x in rows.to_numpy().ravel()):
        said.append(f"Bold: better than {study.baseline}.")
    if "N/A" in texts:
        said.append("N/A: not measured.")
    found = views.estimates(study)
    said += [f"n = {int(found['n_units'].max()):,}."] if "n" not in rows else []
    said += (
        [f"{_seeds_text(int(found['n_seeds'].max()))}."]
        if study.seeded and "seeds" not in rows
        else []
    )
    if any(n for c in study.comparisons.values() for n in c.unpaired.values()):
        said.append("Differences rest on what both conditions have, means on all of their own.")
    return " ".join([*said, f"Signature: {study.signature}"])


def caption(study: Study) -> str:
    """The title of the table."""
    what = "mean over seeds" if _means(study) else "values"
    return f"{study.suite.title}: {what}" + (
        f", and difference to {study.baseline}" if study.comparisons else ""
    )


def methods(study: Study) -> str:
    """What was scored and compared, the intervals by name with what they claim, and the tests."""
    return " ".join(_methods(study))


def _methods(study: Study) -> Iterator[str]:
    units = {u for r in study.results for u in r.data[study.suite.unit]}
    seeds = {c: sorted(runs, key=natural) for c, runs in study.conditions.items()}
    same = len(set(map(tuple, seeds.values()))) == 1
    named = [c if same or not study.seeded else f"{c} ({_seeds(s)})" for c, s in seeds.items()]
    each = " each" if len(named) > 1 else ""
    under = f" under {_seeds(seeds[study.baseline])}{each}" if same else ""
    times = under if study.seeded else f", one run{each}"
    yield f"We scored {listed(named)} on {len(units):,} samples ({study.suite.unit}){times}."
    aggregates = pd.concat([f[f["metric"].isin(study.headline)] for f in study.aggregates.values()])
    what = "the means over seeds" if _means(study) else "the values"
    yield from _intervals(aggregates, what, study.resampling)
    compared = views.comparison(study)
    if compared.empty:
        return
    ways = {c: found.paired_by for c, found in study.comparisons.items()}
    pairs = sorted(set(ways.values()))
    how = pairs[0] if len(pairs) == 1 else listed([f"{c} by {way}" for c, way in ways.items()])
    yield f"Differences are to {study.baseline}, paired by {how if study.seeded else study.suite.unit}."
    yield from _intervals(compared, "the differences", study.resampling)
    yield from _tests(study, compared)


def _seeds(seeds: Sequence[str]) -> str:
    return f"{_seeds_text(len(seeds))} ({', '.join(seeds)})"


def _seeds_text(n: int) -> str:
    return f"{n} seed{'s' if n != 1 else ''}"


def _intervals(found: pd.DataFrame, what: str, resampling: Resampling) -> Iterator[str]:
    there = found[found["ci_low"].notna()]
    if there.empty:
        return
    names = listed([METHODS.get(m, m) for m in dict.fromkeys(there["ci_method"])])
    draws = there[there["ci_method"].isin(DRAWN) & (there["n_units"] <= LARGE)]
    drawn = f" ({resampling.n_resamples:,} resamples)" if len(draws) else ""
    claims = listed(list(dict.fromkeys(there["claim"])))
    yield f"{resampling.confidence:.0%} intervals of {what}: {names}{drawn}; they speak for {claims}."


def _tests(study: Study, compared: pd.DataFrame) -> Iterator[str]:
    tested = compared[compared["p_value"].notna() & (compared["n_units"] >= MIN_UNITS)]
    if tested.empty:
        return
    large = (tested["n_units"] > LARGE).any()
    signs = "their normal limit" if large else f"exact, or {PATTERNS:,} random sign patterns"
    seeds = "; with several seeds, the larger of that p and the p of the variance components"
    several = seeds if (tested["n_seeds"] > 1).any() else ""
    yield f"p values are of two-sided paired sign-flip permutation tests over samples ({signs}){several}."
    if family := study_sentences.family(tested):
        yield f"Of these{', for each candidate' if len(study.comparisons) > 1 else ''}, {family}."
    yield (
        f"Better or worse is said where p is at most {alpha(study):g}, the interval leaves out 0, and at least "
        f"{MIN_UNITS} samples are paired."
    )
    if margins := study_sentences.margins(tested, study.resampling.confidence):
        yield margins.strip()


def results(study: Study) -> str:
    """What came out: the verdicts as every page words them; of one condition its lead, and what is not measured."""
    said = study_sentences.narrative(study).removesuffix(study_sentences.how(study)).strip()
    found = views.estimates(study)
    missing = found.loc[found["value"].isna(), "title"] if not study.comparisons else []
    return " ".join(
        [*([said] if said else []), *(f"“{title}” is not measured." for title in missing)]
    )


def limits(study: Study) -> str:
    """The checks that did not pass, which belong beside the numbers; "" where all did."""
    found = [c.message for c in study.checks if c.level != "info"]
    return f"To bear in mind: {'; '.join(found)}." if found else ""


@speaking("en")
def paragraph(study: Study) -> str:
    """Methods and results in words, ready to be adapted; paragraphs are split at empty lines."""
    return "\n\n".join(part for part in (methods(study), results(study), limits(study)) if part)


@speaking("en")
def latex(study: Study) -> str:
    """The table with its note, and the paragraph, to be read with `\\input`."""
    rows = table(study)
    about = caption(study), f"tab:{study.name}", note(study, rows)
    made = latex_table(
        rows, columns=heads(study, rows), caption=about[0], label=about[1], note=about[2]
    )
    words = "\n\n".join(map(plain.latex, paragraph(study).split("\n\n")))
    cjk = " and XeLaTeX or LuaLaTeX with a CJK font" if ANSWERED.search(made + words) else ""
    return f"% needs \\usepackage{{booktabs}}{cjk}\n{made}\n{words}\n"


@speaking("en")
def markdown(study: Study) -> str:
    """The same in Markdown."""
    rows = table(study)
    words = "\n\n".join(map(plain.markdown, paragraph(study).split("\n\n")))
    made = markdown_table(rows, columns=heads(study, rows), caption=caption(study))
    return f"{words}\n\n{made}\n{plain.markdown(note(study, rows))}\n"


def figures(view: Any) -> dict[str, Any]:
    """Name -> chart of a study, or of the run where there is one only."""
    view = view if len(view.results) > 1 else view.results[0]
    found: dict[str, Any] = {}
    for name in dir(view.plot):
        if name == "seeds" and not view.seeded:
            continue
        try:
            made = getattr(view.plot, name)()
        except UsageError:  # needs something that is not given, as a column to break down by
            continue
        several = dict(zip(view.candidates, made)) if isinstance(made, list) else {}
        found |= (
            {anchor(name, c): chart for c, chart in several.items()} if several else {name: made}
        )
    return {name: chart for name, chart in found.items() if getattr(chart, "drawn", False)}


def files(view: Any) -> dict[str, tuple[str, bytes]]:
    """Path below the report's folder -> (what it is, content)."""
    texts = {"paper.tex": latex(view), "paper.md": markdown(view)}
    return {name: ("Table and paragraph", text.encode()) for name, text in texts.items()} | {
        f"figures/{name}.{form}": (chart.title, chart.export(form))
        for name, chart in figures(view).items()
        for form in ("svg", "pdf")
    }


def write(folder: Path, contents: Mapping[str, tuple[str, bytes]]) -> None:
    """Write the files of a report, each whole; those of an earlier one that are not among them go."""
    for name, (_, content) in contents.items():
        with atomic(folder / name, "wb") as f:
            f.write(content)
    for path in present(folder):
        if path.relative_to(folder).as_posix() not in contents:
            path.unlink()


def present(folder: Path) -> list[Path]:
    """The files for a paper that stand in a report's folder."""
    return sorted([*folder.glob("paper.*"), *folder.glob("figures/[!.]*")])
