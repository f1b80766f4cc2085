"""Whether a result can be believed: what its checks found, and the line that every page opens on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..core.check import Check, checks_of_runs, worst_first
from ..core.common_checks import (
    class_sizes,
    constant_metrics,
    few_units,
    mean_units,
    missing_seeds,
    missing_units,
    not_random,
    one_sided_missing,
    other_texts,
)
from ..core.files import EXAMPLES
from ..core.language import language, listed, say

if TYPE_CHECKING:
    from .result import Result
    from .run import Run
    from .study import Study


def run_checks(run: Run) -> list[Check]:
    """What the checks of every suite, and of its own, find in a run with estimates, in the language in force."""
    checks = [*few_units(run.n_units, run.suite.unit, run.n_clustered)]
    if run.suite.checks is not None:
        checks += run.suite.checks(run)
    # what these block leaves the headline, which the others look at
    blocked = frozenset(name for check in checks for name in check.blocks)
    headline = run.suite.headline_names(run.options, blocked)
    checks += constant_metrics(run.estimates, headline)
    checks += class_sizes(run.estimates, run.metrics)
    checks += mean_units(run.estimates, run.metrics)
    return worst_first(checks)


def spoken_checks(shown: Result) -> Sequence[Check]:
    """The checks of runs in the language in force; those that they hold are in English, as in metrics.json."""
    if language() == "en":
        return shown.checks
    if len(shown.results) == 1 and shown is shown.results[0]:
        return run_checks(shown.results[0])
    return study_checks(shown)  # type: ignore[arg-type]


def all_checks(shown: Result) -> list[Check]:
    """The checks that failed, and what was wrong with the input of the runs."""
    return [*spoken_checks(shown), *input_problems(shown.results)]


def study_checks(study: Study) -> list[Check]:
    """What the checks of its runs found, and those of units and seeds that some runs lack; the worst first."""
    checks = checks_of_runs([spoken_checks(run) for run in study.results])
    sizes = {run.name: run.data[study.suite.unit].nunique() for run in study.results}
    checks += missing_units(sizes, len(study.unit_names))
    if study.candidates:
        leading = study.differences_of(*dict.fromkeys([study.primary, *study.headline]))
        checks += one_sided_missing(leading)
        checks += not_random(leading)
        for candidate, compared in study.comparisons.items():
            checks += other_texts(compared.n_other_texts, study.baseline, candidate)
    if study.seeded:
        checks += missing_seeds({name: list(runs) for name, runs in study.conditions.items()})
    return worst_first(checks)


# --- whether to believe it


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
    return [Check("input", "warning", say("input: {what}", what=listed(texts, "; ")))]


def problems_of(run: Run) -> str:
    """What was wrong with the input of a run: "3 x bad-json (error), 1 x unknown-uid (warning)"; "" where nothing was.

    What a check of the run says in words, under the same code, is left to it.
    """
    stated = {check.code for check in run.checks}
    texts = []
    for problem in run.manifest.problems:
        if problem.code not in stated:
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
