"""The first screen of a page: what came out, whether to believe it, and where to look; its title is the finding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..core.language import say
from ..stats.claims import THIS_SYSTEM
from . import study_sentences, study_tables, view
from .check_tables import trust_line
from .differences import carrying
from .estimate_tables import shown_estimate
from .headline import comparison, headline, primary_differences, verdict_strip
from .interval_methods import frames_of_study, intervals_in_use
from .markdown import number
from .provenance import bundled, problems_of
from .sentences import whole_sentence
from .strip import SMALL_N
from .tables import HtmlTable, signature_block, stack, where_to_look, words
from .templates import macros
from .text import visible

if TYPE_CHECKING:
    from .run import Run
    from .study import Study


def title(
    kind: Sequence[str],
    size: str,
    finding: str,
    details: str = "",
) -> HtmlTable:
    """The title of a page: small above it what kind of page it is and how much was scored, small in it the numbers."""
    html = macros().first(
        kind, size, finding, details, say("{finding}: {details}", finding="", details="")
    )
    lines = [" · ".join([*kind, size]), whole_sentence(finding, details)]
    return HtmlTable(str(html), visible("\n".join(lines)))


def run_screen(run: Run) -> HtmlTable:
    """The first screen of one run."""
    kind = [say(run.suite.title), run.name, *_example([run])]
    finding, details = view.finding(run) or run_finding(run)
    groups = run.members[run.sample_views[0].name] if run.sample_views else {}
    usual = run.suite.headline(run.options, frozenset())
    names = [*run.headline, *(name for name in usual if name in run.blocked)]
    pieces = [
        title(kind, _size([run]), finding, details),
        words(switched_primary(run)) if switched_primary(run) else stack([]),
        trust_line(
            [*run.checks, *bundled([run])],
            problems_of(run),
            run.quiet_checks,
            incomplete=run.manifest.incomplete,
        ),
        where_to_look({label: len(units) for label, units in groups.items()}),
        view.first_screen(run),
        headline(run, run.estimates_of(*names) if names else run.estimates.head(0)),
        words(_claim(THIS_SYSTEM)),
        *intervals_in_use([run.estimates]),
        signature_block(run.signature),
    ]
    return stack(piece for piece in pieces if piece.html)


def _claim(claim: str) -> str:
    """What the intervals of a page speak for, and what a hollow mark is."""
    text = "Intervals speak for {claim}. Hollow: fewer than {n} units."
    return say(text, claim=say(claim), n=SMALL_N)


def run_finding(run: Run) -> tuple[str, str]:
    """The primary metric with its value, and its interval and n; that nothing can be measured where there is none."""
    estimates = run.estimates[run.estimates["metric"] == run.primary]
    if not run.primary or estimates["value"].isna().all():
        return say("No headline metric of {run} can be measured", run=run.name), ""
    estimate = estimates.iloc[0].to_dict()
    shown = shown_estimate(estimate, run.resampling, False)
    metric = run.suite.metric(run.primary, run.options)
    lead = f"{say(metric.title or metric.name)} {shown['value']}"
    if not shown["interval"]:
        return lead, f"n = {shown['n']}"
    values = {"level": f"{run.resampling.confidence:.0%}", "n": shown["n"]}
    return lead, say("{level} interval {bounds}, n = {n}", bounds=shown["interval"], **values)


def switched_primary(run: Run) -> str:
    """That another metric than the suite's own leads the page, because that one cannot be measured; "" otherwise."""
    usual = run.suite.primary_name(run.options, frozenset())
    if not usual or usual == run.primary or usual not in run.blocked:
        return ""
    titles = {}
    for key, name in (("usual", usual), ("primary", run.primary)):
        titles[key] = say(run.suite.metric(name, run.options).title) if name else "–"
    return say("“{usual}” cannot be measured here: “{primary}” leads in its place.", **titles)


def study_screen(study: Study) -> HtmlTable:
    """The first screen of several runs."""
    finding, details = study_sentences.finding(study)
    rows = study_sentences.primary_rows(study)
    pieces = [title(_kind(study), _size(study.results), finding, details)]
    if switched_primary(study.results[0]) and study.declared is None:
        pieces.append(words(switched_primary(study.results[0])))
    if len(rows) == 1 and not next(iter(study.comparisons.values())).identical:
        pieces.append(verdict_strip(study, rows[0]))
    settling = study_sentences.settling(study)
    if settling and len(study.candidates) == 1:
        pieces.append(words("\n\n".join(settling)))
    pieces.append(
        trust_line(
            [*study.checks, *bundled(study.results)],
            "; ".join(_problems(study)),
            study.quiet_checks,
            [say(note) for note in study.notes],
            incomplete=any(run.manifest.incomplete for run in study.results),
        )
    )
    counts: dict[str, int] = {}
    for name in study.candidates:
        counts.update(carrying(study, name, study.changes(study.primary, name)))
    pieces.append(where_to_look(counts))
    if len(study.candidates) == 1:
        pieces.append(comparison(study, study_tables.comparison(study)))
        pieces.append(words(study_sentences.how(study)))
    elif study.candidates:
        pieces.append(primary_differences(study))
        pieces.append(words(study_sentences.how(study)))
    else:
        pieces.append(headline(study, study_tables.estimates(study)))
    pieces += intervals_in_use(frames_of_study(study))
    pieces.append(signature_block(study.signature))
    return stack(piece for piece in pieces if piece.html)


def _problems(study: Study) -> list[str]:
    """What was wrong with the input of each run, of those where something was."""
    problems = []
    for run in study.results:
        if text := problems_of(run):
            problems.append(f"{run.name}: {text}")
    return problems


def _kind(study: Study) -> list[str]:
    """What kind of page it is: suite, how many conditions and seeds, and whether it is of the bundled example."""
    n_conditions = len(study.conditions)
    seeds = {len(of_seed) for of_seed in study.conditions.values()}
    size = say("{n} runs", n=len(study.results))
    if study.seeded and len(seeds) == 1:
        n_seeds = seeds.pop()
        size = say("{n} conditions × {seeds} seeds", n=n_conditions, seeds=n_seeds)
        if n_conditions == 1:
            size = say("{n} seeds", n=n_seeds)
    return [say(study.suite.title), size, *_example(study.results)]


def _example(runs: Sequence[Run]) -> list[str]:
    return [say("bundled example")] if bundled(runs) else []


def _size(runs: Sequence[Run]) -> str:
    """How many units every run has: their range where they differ."""
    counts = [run.n_units for run in runs]
    n = number(min(counts))
    if min(counts) < max(counts):
        n = say("{least} to {most}", least=n, most=number(max(counts)))
    return f"n = {n} ({runs[0].suite.unit})"
