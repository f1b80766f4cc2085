"""The checks of a run and of a study: what they found, and the quiet ones that found nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ..core.check import (
    AnyCheck,
    CheckKind,
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
    outcomes: list[AnyCheck] = [*few_units(run.n_units, run.suite.unit)]
    if run.suite.checks is not None:
        outcomes += run.suite.checks(run)
    return outcomes


def quiet_checks_of_run(run: Run) -> list[QuietCheck]:
    """The checks that found nothing in a run: passed, or why they do not apply."""
    outcomes = checks_of_units(run)
    outcomes += constant_metrics(run.estimates, run.headline)
    outcomes += class_sizes(run.estimates, run.metrics)
    for kind in STUDY_KINDS:
        outcomes.append(kind.not_applicable("one run only"))
    return quiet_checks(_kinds(run), outcomes, run.checks)


def _kinds(run: Run) -> Sequence[CheckKind]:
    return (*RUN_KINDS, *run.suite.check_kinds, *STUDY_KINDS)


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
    own = quiet_checks(STUDY_KINDS, outcomes, study.checks)
    return [*_without(of_runs, own), *own]


def _without(quiet: Iterable[QuietCheck], others: Iterable[QuietCheck]) -> list[QuietCheck]:
    """The quiet checks without the kinds of others."""
    codes = {check.kind.code for check in others}
    return [check for check in quiet if check.kind.code not in codes]
