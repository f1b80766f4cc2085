"""The checks of a run and of a study: what they found, and the quiet ones that found nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.check import (
    AnyCheck,
    QuietCheck,
    quiet_checks,
    quiet_checks_of_runs,
)
from ..core.check_kinds import MISSING_SEEDS, ONE_SIDED_MISSING, RUN_KINDS, STUDY_KINDS
from ..core.common_checks import class_sizes, constant_metrics, few_units

if TYPE_CHECKING:
    from .run import Run
    from .study import Study


def checks_of_units(run: Run) -> list[AnyCheck]:
    """What the checks yield that need no headline: those of every suite, and of the suite."""
    suite = run.suite
    outcomes: list[AnyCheck] = [*few_units(run.n_units, suite.unit)]
    if suite.checks is not None:
        outcomes += suite.checks(run)
    return outcomes


def checks_of_estimates(run: Run) -> list[AnyCheck]:
    """What the checks yield that look at the headline and its values."""
    return [
        *constant_metrics(run.estimates, run.headline),
        *class_sizes(run.estimates, run.metrics),
    ]


def quiet_checks_of_run(run: Run) -> list[QuietCheck]:
    """The checks that found nothing in a run: passed, or why they do not apply."""
    outcomes = checks_of_units(run)
    outcomes += checks_of_estimates(run)
    for kind in STUDY_KINDS:
        outcomes.append(kind.not_applicable("one run only"))
    kinds = [*RUN_KINDS, *run.suite.check_kinds, *STUDY_KINDS]
    return quiet_checks(kinds, outcomes, run.checks)


def quiet_checks_of_study(study: Study) -> list[QuietCheck]:
    """The checks that found nothing in any run of a study, and those of units and seeds that some runs lack."""
    of_runs = quiet_checks_of_runs([run.quiet_checks for run in study.results], study.checks)
    outcomes: list[AnyCheck] = []
    if not study.seeded:
        outcomes.append(MISSING_SEEDS.not_applicable("the runs have no seeds"))
    elif len(study.conditions) == 1:
        outcomes.append(MISSING_SEEDS.not_applicable("one condition only"))
    if not study.candidates:
        outcomes.append(ONE_SIDED_MISSING.not_applicable("one condition only"))
    of_study = quiet_checks(STUDY_KINDS, outcomes, study.checks)
    codes = {check.kind.code for check in of_study}
    of_runs = [check for check in of_runs if check.kind.code not in codes]
    return [*of_runs, *of_study]
