"""The first screen of a page: what came out, whether to believe it, and where to look; its title is the finding.

Its tables hold headline metrics, or differences, with an interval strip in each row.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence, Sized
from functools import partial
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from markupsafe import Markup

from ..core.estimates import (
    LEVEL_WORDS,
    Check,
    Checks,
    checks_of_runs,
    duplicate_texts,
    lacking,
    not_random,
    one_sided_missing,
    share_check,
    worst_first,
)
from ..core.files import EXAMPLES, bytes_hash, dumps
from ..core.messages import first_ten, language, listed, say
from ..core.suite import own_code
from ..stats.influence import asks_several
from . import study_sentences
from .page import macros
from .samples import groups_of_change, groups_of_run
from .tables import HtmlTable, by_condition, fold, no_rows, p_head, shown_texts, table
from .text import ENDS, axis_over, number

if TYPE_CHECKING:
    from .result import Result
    from .run import Run

MIN_UNITS = 30  # fewer resampling units than this raise a check
MIN_CONSTANT = 10  # fewest units for which a metric at one of its limits raises a check

# most letters of the gist of a check in the trust line
GIST = 60

# what `ci_method` says of an interval that is a bootstrap
BOOTSTRAPS = ("bca", "bca-t", "percentile")


# --- tables


def metric_table(shown: Result, *names: str) -> HtmlTable:
    """Metrics with their strips, the primary one first; those that a check blocks stand in one line below.

    Of a comparison the difference of every candidate, of several a row each below their metric; else values. "all":
    every metric but aliases, folded, in their groups. UsageError for an unknown name.
    """
    is_whole = names == ("all",)
    if is_whole:
        names = tuple(metric.name for metric in shown.metrics if not metric.alias_of)
    names = tuple(shown.metric(name).name for name in names)
    usable = [name for name in names if name not in shown.blocked]
    frame = shown.rows_of(*usable)
    pieces: list[HtmlTable | Markup] = []
    if is_whole and shown.candidates:
        values = by_condition(shown.estimates_of(*usable))
        if len(values):
            pieces.append(fold(say("Metrics without a direction"), table(values)))
    if len(frame) and not (pieces and set(frame["metric"]) <= set(shown.headline)):
        pieces.append(_strips(shown, frame, is_whole))
    if blocked := [name for name in names if name in shown.blocked]:
        text = say("Cannot be measured here: {names}", names=[*map(shown.title, blocked)])
        pieces.append(macros().words(text))
    if not pieces:
        return no_rows("Metrics", frame)
    return HtmlTable(Markup("").join(pieces), frame)


def _strips(
    shown: Result,
    frame: pd.DataFrame,
    is_whole: bool,
) -> Markup:
    """Estimates, or differences, as a table with strips; of several candidates each stands below its metric.

    A whole table is folded, and estimates stand in their groups there. All rows of a metric have one axis, and so have
    all metrics with the same limits, and all differences of such; in a group they stand together.
    """
    is_compared, several = bool(shown.candidates), len(shown.candidates) > 1
    if is_compared:
        frame = frame.assign(value=frame["delta"], group=frame["metric"] if several else "")
    else:
        group = frame["group"].map(say) if is_whole else ""
        frame = frame.assign(group=group, primary=frame["metric"] == shown.primary)
    scales = []
    for name in frame["metric"]:
        low, high = shown.formulas[name].ends
        of_limits = "" if is_compared else f"{low:.9g} {high:.9g}"
        scales.append(of_limits if math.isfinite(low + high) else name)
    frame = frame.assign(axis=scales)
    rows = frame.sort_values(["group", "axis"], key=lambda values: pd.factorize(values)[0]).to_dict(
        "records"
    )
    for row in rows:
        metric = shown.metric(row["metric"])
        low, high = axis = shown.formulas[metric.name].ends
        if is_compared or low < 0 or math.isinf(high):
            numbers = frame.loc[frame["axis"] == row["axis"], list(ENDS)]
            axis = axis_over(numbers.to_numpy().flat, is_compared or -math.inf < low < 0)
        row["axis"], cells = axis, shown_texts(row)
        row["cells"], row["about"] = cells, f"{say(metric.description)} ({metric.name})".strip()
        if several:
            row["group"], cells["title"] = cells["title"], row["candidate"]
        if is_compared:
            cells["verdict"] = study_sentences.verdict_text(row)
    return macros().strips(
        shown,
        rows,
        p_head(frame, shown.resampling.level) if is_compared else "",
        is_whole,
    )


# --- whether to believe it


def run_checks(run: Run) -> list[Check]:
    """What the checks of every suite, and of its own, find in a run with estimates, in the language in force."""
    checks = [*duplicate_texts(run.data, "text", run.suite.unit)]
    checks += share_check(
        "query",
        "info",
        "Only a part of the samples: {query}",
        bool(run.query),
        0,
        query=run.query,
    )
    if run.suite.checks:
        with own_code(run.suite.file, f"checks of the suite {run.suite.name}: "):
            checks += run.suite.checks(run)
    # `metric` says so of one that there is not
    usable = {*run.headline} - {run.metric(name).name for check in checks for name in check.blocks}
    alike = [
        f"{run.title(row.metric)} = {row.value:g}"
        for row in run.estimates.itertuples()
        if row.metric in usable
        and row.n_units >= MIN_CONSTANT
        and row.value in run.formulas[row.metric].ends
    ]
    checks += share_check(
        "constant-metric",
        "info",
        "The same in all measured samples: {metrics}",
        len(alike),
        0,
        metrics=first_ten(alike),
    )
    # what was wrong with the input, but for what a check says under the same code
    stated = {check.code for check in checks}
    found = [problem for problem in run.manifest.problems if problem.code not in stated]
    checks += share_check(
        "input",
        "warning",
        "The input of this run is not complete: {what}"
        if run.manifest.incomplete
        else "input: {what}",
        sum(problem.count for problem in found),
        0,
        what=[f"{problem.count} × {problem.code}" for problem in found],
    )
    return worst_first([*_few_units(run, run.primary in usable), *checks])


def _few_units(run: Run, is_usable: bool) -> Checks:
    """Intervals from few units are wide, and their coverage is not that of many.

    Those count that the primary metric rests on (`is_usable`: no check blocks it), where it is measured, else all.
    """
    total = run.n_units
    n = (is_usable and run[run.primary]["n_units"]) or total
    text = "Only {n} samples ({unit}): intervals are wide, and one sample can change the result."
    if n < total:
        text = (
            "Only {n} of {total} units have “{metric}”: intervals are wide, and one can change it."
        )
    elif run.n_clustered:
        text = "Only {n} clusters of {samples} samples: intervals are wide, and one cluster can change the result."
    elif n == 1:
        text = "Only 1 sample ({unit}): it decides the result alone."
    if n < MIN_UNITS:
        yield from share_check(
            "few-units",
            "warning",
            text,
            n,
            n,
            unit=run.suite.unit,
            samples=run.n_clustered,
            total=total,
            metric=run.title(run.primary),
        )


def study_checks(study: Any) -> list[Check]:
    """What the checks of its runs found, and those of units and seeds that some runs lack; the worst first.

    What is missing on one side is looked for on the metrics that lead.
    """
    total = study.n_clustered or study.n_units
    checks = [
        *lacking(
            "missing-units",
            {run.name: total - (run.n_clustered or run.n_units) for run in study.results},
            total,
        )
    ]
    if study.candidates:
        differences = study.rows_of(*study.headline)
        checks += [
            *one_sided_missing(differences, partial(number, signed=True)),
            *not_random(differences),
        ]
        for row in study.frame.drop_duplicates("candidate").to_dict("records"):
            n = row["n_other_texts"]
            checks += share_check(
                "other-texts",
                "warning",
                "In {n} places {baseline} and {candidate} have another text or gold: these are left out.",
                n,
                n,
                **row,
            )
    if seeds := study.seeds:
        checks += lacking(
            "missing-seeds",
            {n: [s for s in seeds if s not in runs] for n, runs in study.conditions.items()},
            len(seeds),
        )
        for side in study.labelled(*study.conditions):
            n = asks_several(side.texts).sum()
            checks += share_check(
                "other-texts",
                "warning",
                "{n} samples of {name} have another text or gold under another seed: their means are of several "
                "questions.",
                n,
                n,
                name=side.name,
            )
            if not study.primary:
                continue
            values = pd.DataFrame(side.cells(study.primary).own_values).dropna(axis=1, how="all")
            is_copy = values.duplicated(keep=False) & values.notna().any(axis=1)
            checks += share_check(
                "repeated-seeds",
                "warning",
                "Seeds {seeds} of {name} have one value of the primary metric in every sample. If they are copies, or "
                "repeats of one seed, they tell nothing new, and intervals over seeds are too narrow.",
                n := is_copy.sum(),
                n,
                name=side.name,
                seeds=first_ten([*compress(side.seeds, is_copy)]),
            )
    checks += checks_of_runs([spoken_checks(run) for run in study.results])
    return worst_first(checks)


def spoken_checks(shown: Result) -> Sequence[Check]:
    """The checks in the language in force; those that a result holds are in English, as in metrics.json."""
    if language() == "en":
        return shown.checks
    (first, *_) = shown.results
    return run_checks(first) if first is shown else study_checks(shown)


def trust_line(shown: Result) -> Markup:
    """Whether the numbers of a page can be believed, in a line that opens: how many checks failed, and their gist."""
    lost = {
        "incomplete": [run.manifest.incomplete for run in shown.results],
        "{n} of {total} headline metrics cannot be measured": [
            name in shown.blocked for name in shown.usual
        ],
        "{n} of {total} differences cannot be measured": (
            shown.rows_of(*shown.headline).get("verdict", pd.Series()) == "not measured"
        ),
    }
    counts = [say(text, n=sum(of), total=len(of)) for text, of in lost.items() if any(of)]
    # the beginning of a sentence says the most of it
    gists = [re.split(r"[.:;] |[。；：]", c.message)[0].rstrip(".") for c in shown.doubts()]
    gist = listed([text for text in gists if len(text) <= GIST][:2], "; ")
    return macros().trust(counts, gist, LEVEL_WORDS, spoken_checks(shown))


# --- how the numbers were made


def short_signature(shown: Result) -> str:
    """Eight hex digits that stand for the signature where it would be too long."""
    return bytes_hash(shown.signature.encode())[:8]


def count_methods(shown: Result) -> dict[str, int]:
    """Method -> number of intervals in `frame`, the commonest first."""
    frame = shown.frame
    return frame.loc[frame["ci_low"].notna(), "ci_method"].value_counts().to_dict()


def provenance(shown: Result) -> HtmlTable:
    """Inputs with their hashes, policy, methods of the intervals, and signature, folded.

    Times stand in the manifest only.
    """
    first = shown.results[0]
    settings = say(
        "{method}, {n_resamples:,} resamples, {level}, seed {seed}",
        level=first.resampling.percent,
        **dict(first.resampling),
    )
    rows = [
        (
            say("input: {what}", what=entry.role),
            f"{Path(entry.path).name} · {entry.bytes:,} B · sha256 {entry.sha256}",
        )
        for run in shown.results
        for entry in run.manifest.inputs
    ]
    rows += [
        (say("policy: {what}", what=key), value if isinstance(value, str) else dumps(value))
        for key, value in first.policy.items()
    ]
    methods = [f"{name} {n}" for name, n in count_methods(shown).items()]
    rows += [
        (
            say("intervals"),
            f"{settings}; {listed(methods)}" if methods else settings,
        ),
        (say("signature"), f"{shown.signature} ({short_signature(shown)})"),
    ]
    return fold(
        say("Inputs, policy and signature"),
        table(pd.DataFrame(rows, columns=["what", "value"]).drop_duplicates()),
    )


# --- the screen


def first_screen(shown: Any) -> HtmlTable:
    """The first screen of a run, or of several: differences from the baseline, or values; its title is the finding."""
    n = len(shown.results)
    what = say("{conditions} conditions, {n} runs", conditions=len(shown.conditions), n=n)
    groups: Mapping[str, Sized] = {}
    if n == 1 and not shown.seeds:
        (shown,) = shown.results
        what, groups = shown.name, groups_of_run(shown)
    elif shown.primary and len(shown.candidates) == 1:
        candidate = shown.candidate()
        groups = groups_of_change(shown.changes(shown.primary, candidate), candidate)
    kind = [say(shown.suite.title), what]
    # which nobody may take for their own
    inputs = [Path(entry.path) for run in shown.results for entry in run.manifest.inputs]
    if inputs and all(path.is_relative_to(EXAMPLES) for path in inputs):
        kind.append(say("bundled example"))
    return HtmlTable(
        Markup("").join(
            [
                macros().first(
                    kind,
                    f"{study_sentences.size(shown)} · {short_signature(shown)}",
                    *study_sentences.finding(shown),
                ),
                trust_line(shown),
                macros().look(groups),
                macros().words(study_sentences.settling(shown)),
                shown.table(),
                macros().words(study_sentences.how(shown)),
            ]
        )
    )
