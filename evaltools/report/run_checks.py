"""What a reader must know of a run or a study: what its checks found, and the quiet ones that found nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.check import (
    AnyCheck,
    Check,
    CheckKind,
    QuietCheck,
    checks_of_runs,
    failed_checks,
    quiet_checks,
    reasons_of,
    worst_first,
)
from ..core.common_checks import (
    MISSING_SEEDS,
    ONE_SIDED_MISSING,
    RUN_KINDS,
    STUDY_KINDS,
    class_sizes,
    constant_metrics,
    few_units,
    missing_seeds,
    missing_units,
    one_sided_missing,
)
from ..core.language import Message
from . import study_tables

if TYPE_CHECKING:
    from ..core.suite import Suite
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


def _kinds(suite: Suite) -> list[CheckKind]:
    return [*RUN_KINDS, *suite.check_kinds, *STUDY_KINDS]


def quiet_checks_of_run(run: Run) -> list[QuietCheck]:
    """The checks that found nothing in a run: passed, or why they do not apply."""
    outcomes = [*checks_of_units(run), *checks_of_estimates(run)]
    reasons = reasons_of(outcomes)
    for kind in STUDY_KINDS:
        reasons[kind.code] = Message("one run only")
    failed = [*run.checks, *failed_checks(outcomes)]
    return quiet_checks(_kinds(run.suite), reasons, failed)


def checks_of_study(study: Study) -> list[Check]:
    """What the checks of its runs found, and those of units and seeds that some runs lack; the worst first."""
    checks = checks_of_runs([run.checks for run in study.results])
    sizes = {run.name: run.data[study.suite.unit].nunique() for run in study.results}
    checks += missing_units(sizes, len(study.unit_names))
    if study.candidates:
        checks += one_sided_missing(study_tables.comparison(study))
    if study.seeded:
        checks += missing_seeds({name: list(runs) for name, runs in study.conditions.items()})
    return worst_first(checks)


def quiet_checks_of_study(study: Study) -> list[QuietCheck]:
    """The checks that found nothing in any run of a study, and those of units and seeds that some runs lack."""
    reasons: dict[str, Message | None] = {}
    for run in study.results:
        for check in run.quiet_checks:
            if check.reason is None or check.kind.code not in reasons:
                reasons[check.kind.code] = check.reason
    reasons.update(dict.fromkeys(kind.code for kind in STUDY_KINDS))
    if not study.seeded:
        reasons[MISSING_SEEDS.code] = Message("the runs have no seeds")
    if not study.candidates:
        reasons[MISSING_SEEDS.code] = Message("one condition only")
        reasons[ONE_SIDED_MISSING.code] = Message("one condition only")
    return quiet_checks(_kinds(study.suite), reasons, study.checks)
