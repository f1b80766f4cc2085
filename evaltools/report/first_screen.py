"""The first screen of a page: what came out, whether to believe it, and where to look; its title is the finding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd

from ..core.language import say
from ..stats.claims import THIS_SYSTEM
from . import study_sentences, study_tables
from .browse import change_sizes, group_sizes
from .estimate_tables import shown_estimate
from .headline import headline, primary_differences, verdict_strip
from .markdown import number
from .provenance import frames_of_study, intervals_in_use
from .samples import of_suite
from .strip import SMALL_N
from .tables import HtmlTable, signature_block, stack, where_to_look, words
from .templates import macros
from .trust import bundled, trust_line

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
    colon = say("{finding}: {details}", finding="", details="")
    html = macros().first(kind, size, finding, details, colon)
    return HtmlTable(html)


# --- one run


def run_screen(run: Run) -> HtmlTable:
    """The first screen of one run."""
    kind = [say(run.suite.title), run.name, *_example([run])]
    size = _size([run])
    finding, details = of_suite("finding", run) or run_finding(run)
    estimates = _headline_estimates(run)
    return stack(
        [
            title(kind, size, finding, details),
            words("\n\n".join(study_sentences.switched(run))),
            trust_line(run, [run]),
            where_to_look(group_sizes(run)),
            of_suite("first_screen", run) or stack([]),
            headline(run, estimates),
            words(_about_strips(estimates)),
            words(intervals_in_use([run.estimates])),
            signature_block(run.signature),
        ]
    )


def _about_strips(estimates: pd.DataFrame) -> str:
    """What the intervals of a table speak for, and what hollow marks are; "" where it has none."""
    drawn = estimates[estimates["ci_low"].notna()]
    if drawn.empty:
        return ""
    text = say("Intervals speak for {claim}.", claim=say(THIS_SYSTEM))
    if (drawn["n_units"] < SMALL_N).any():
        text += " " + say("Hollow: fewer than {n} units.", n=SMALL_N)
    return text


def _headline_estimates(run: Run) -> pd.DataFrame:
    """The headline, and what of the suite's usual headline a check blocks here."""
    usual = run.suite.headline(run.options, frozenset())
    blocked = [name for name in usual if name in run.blocked]
    names = [*run.headline, *blocked]
    if not names:
        return run.estimates.head(0)
    return run.estimates_of(*names)


def run_finding(run: Run) -> tuple[str, str]:
    """The primary metric with its value, and its interval and n; that nothing can be measured where there is none."""
    estimates = run.estimates[run.estimates["metric"] == run.primary]
    if estimates["value"].isna().all():
        return say("No headline metric of {run} can be measured", run=run.name), ""
    estimate = estimates.iloc[0].to_dict()
    texts = shown_estimate(estimate, run.resampling, False)
    title = say(run.metric(run.primary).shown_title)
    lead = f"{title} {texts['value']}"
    if not texts["interval"]:
        return lead, f"n = {texts['n']}"
    details = say(
        "{level} interval {bounds}, n = {n}",
        level=run.resampling.percent,
        bounds=texts["interval"],
        n=texts["n"],
    )
    return lead, details


# --- several runs


def study_screen(study: Study) -> HtmlTable:
    """The first screen of several runs."""
    kind = _kind(study)
    size = _size(study.results)
    finding, details = study_sentences.finding(study)
    notes = [say(note) for note in study.notes]
    return stack(
        [
            title(kind, size, finding, details),
            words("\n\n".join(study_sentences.switched(study))),
            _verdict(study),
            trust_line(study, study.results, notes),
            where_to_look(_carrying(study)),
            _numbers(study),
            words(intervals_in_use(frames_of_study(study))),
            signature_block(study.signature),
        ]
    )


def _verdict(study: Study) -> HtmlTable:
    """Of one candidate: its difference on the primary metric, and what would settle it."""
    pieces: list[HtmlTable] = []
    if len(study.candidates) == 1:
        (compared,) = study.comparisons.values()
        for row in study_sentences.primary_rows(study).values():
            if not compared.identical:
                pieces.append(verdict_strip(study, row))
        pieces.append(words("\n\n".join(study_sentences.settling(study))))
    return stack(pieces)


def _carrying(study: Study) -> dict[str, int]:
    """Label of a group of units that carry a difference -> how many they are."""
    counts: dict[str, int] = {}
    for name in study.candidates:
        counts.update(change_sizes(study, study.primary, name))
    return counts


def _numbers(study: Study) -> HtmlTable:
    """The headline: of one candidate every difference, of several the primary one, without any the values."""
    if not study.candidates:
        return headline(study, study_tables.estimates(study))
    one = len(study.candidates) == 1
    differences = study.table() if one else primary_differences(study)
    return stack([differences, words(study_sentences.how(study))])


def _kind(study: Study) -> list[str]:
    """What kind of page it is: suite, how many conditions and seeds, and whether it is of the bundled example."""
    n_conditions = len(study.conditions)
    seeds = {len(of_seed) for of_seed in study.conditions.values()}
    size = say("{n} runs", n=len(study.results))
    if study.seeded and len(seeds) == 1:
        n_seeds = seeds.pop()
        size = say(
            "{n} conditions × {seeds} seeds",
            n=n_conditions,
            seeds=n_seeds,
        )
        if n_conditions == 1:
            size = say("{n} seeds", n=n_seeds)
    return [say(study.suite.title), size, *_example(study.results)]


def _example(runs: Sequence[Run]) -> list[str]:
    return [say("bundled example")] if bundled(runs) else []


def _size(runs: Sequence[Run]) -> str:
    """How many units every run has: their range where they differ."""
    counts = [run.n_units for run in runs]
    least = min(counts)
    most = max(counts)
    n = number(least)
    if least < most:
        n = say(
            "{least} to {most}",
            least=n,
            most=number(most),
        )
    unit = runs[0].suite.unit
    return f"n = {n} ({unit})"
