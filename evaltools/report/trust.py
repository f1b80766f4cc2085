"""Whether a result can be believed: what its checks found, the one word of it, and the line that every page opens on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..core.check import (
    LEVEL_WORDS,
    AnyCheck,
    Check,
    Level,
    checks_of_runs,
    failed_checks,
    worst_first,
)
from ..core.common_checks import (
    INPUT,
    class_sizes,
    constant_metrics,
    few_units,
    mean_units,
    missing_seeds,
    missing_units,
    one_sided_missing,
)
from ..core.files import EXAMPLES
from ..core.language import Message, listed, say
from . import study_tables
from .tables import Kind

if TYPE_CHECKING:
    from .result import Result
    from .run import Run
    from .study import Study


def check_outcomes(run: Run) -> list[AnyCheck]:
    """What the checks of every suite, and of the suite, yield for a run with estimates."""
    outcomes: list[AnyCheck] = [*few_units(run.n_units, run.suite.unit)]
    if run.suite.checks is not None:
        outcomes += run.suite.checks(run)
    # what these block leaves the headline, which the others look at
    blocked = {name for check in failed_checks(outcomes) for name in check.blocks}
    headline = run.suite.headline_names(run.options, frozenset(blocked))
    outcomes += constant_metrics(run.estimates, headline)
    outcomes += class_sizes(run.estimates, run.metrics)
    outcomes += mean_units(run.estimates, run.metrics)
    return outcomes


def run_checks(run: Run) -> list[Check]:
    """What the checks of a run with estimates found."""
    return failed_checks(check_outcomes(run))


def all_checks(shown: Result) -> list[Check]:
    """The checks that failed, and what was wrong with the input of the runs."""
    return [*shown.checks, *input_problems(shown.results)]


def study_checks(study: Study) -> list[Check]:
    """What the checks of its runs found, and those of units and seeds that some runs lack; the worst first."""
    checks = checks_of_runs([run.checks for run in study.results])
    sizes = {run.name: run.data[study.suite.unit].nunique() for run in study.results}
    checks += missing_units(sizes, len(study.unit_names))
    if study.candidates:
        names = dict.fromkeys([study.primary, *study.headline])
        checks += one_sided_missing(study_tables.comparison(study, list(names)))
    if study.seeded:
        checks += missing_seeds({name: list(runs) for name, runs in study.conditions.items()})
    return worst_first(checks)


# --- whether to believe it

KINDS = {"blocking": "error", "warning": "warning", "info": "info"}
"""Level of a check -> its colour."""


@dataclass(frozen=True)
class Trust:
    """What a reader may believe: a few words, and their colour."""

    words: Message
    kind: Kind


def trust(
    levels: Sequence[Level] | None,
    *,
    incomplete: bool = False,
    spoilt: bool = False,
) -> Trust:
    """Whether a result can be believed.

    `levels` are those of its checks that failed, None where nobody checked; `incomplete`: samples or records are
    missing; `spoilt`: its files are not as they were written. The worst is said: what is spoilt, then incomplete,
    then what cannot be measured, then cautions. Notes are no reason to doubt.

    >>> str(trust(["warning", "info"]).words), trust(["warning", "info"]).kind
    ('1 caution', 'warning')
    >>> str(trust(["info"]).words), str(trust(None).words)
    ('no caution', 'not checked')
    """
    if spoilt:
        return Trust(Message("not as it was written"), "error")
    if incomplete:
        return Trust(Message("incomplete"), "error")
    if levels is None:
        return Trust(Message("not checked"), "info")
    if "blocking" in levels:
        return Trust(Message(LEVEL_WORDS["blocking"].lower()), "error")
    cautions = list(levels).count("warning")
    if cautions == 1:
        return Trust(Message("1 caution"), "warning")
    if cautions:
        return Trust(Message("{n} cautions", {"n": cautions}), "warning")
    return Trust(Message("no caution"), "good")


def is_bundled(shown: Run | Study) -> bool:
    """Whether numbers are of the bundled example, which nobody may take for their own."""
    inputs = [Path(entry.path) for run in shown.results for entry in run.manifest.inputs]
    return bool(inputs) and all(path.is_relative_to(EXAMPLES) for path in inputs)


def input_problems(runs: Sequence[Run]) -> list[Check]:
    """What was wrong with the input of runs, as a check; empty where nothing was."""
    problems = {run.name: problems_of(run) for run in runs}
    texts = [f"{name}: {text}" for name, text in problems.items() if text]
    if not texts:
        return []
    return [INPUT.failed("warning", "input: {what}", {"what": listed(texts, "; ")})]


def problems_of(run: Run) -> str:
    """What was wrong with the input of a run: "3 x bad-json (error), 1 x unknown-uid (warning)"; "" where nothing was.

    What a check of the run says in words, under the same code, is left to it.
    """
    told = {check.code for check in run.checks}
    texts = []
    for problem in run.manifest.problems:
        if problem.code not in told:
            text = say(
                "{n} x {code} ({severity})",
                n=problem.count,
                code=problem.code,
                severity=say(problem.severity),
            )
            texts.append(text)
    if run.manifest.incomplete:
        return say("this run is not complete: {problems}", problems=listed(texts))
    return listed(texts)
