"""What a reader must know of a run or a study: what its checks found, the quiet ones that found nothing, and notes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

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
from ..stats.seed_variance import ALIKE
from . import study_tables

if TYPE_CHECKING:
    from ..core.suite import Suite
    from .run import Run
    from .study import Study

ONE_SEED = "One seed only: no standard deviation, and the intervals do not speak for another seed."

TWO_SEEDS = "Two seeds only: intervals that speak for new seeds are very wide."

NO_COMMON_SAMPLE = (
    "No sample occurs in two seeds: the spread of seeds and of samples cannot be told apart."
)

NOT_IN_SEEDS = "{name} is not measured in seed {seeds}; it rests on the other seeds."

SEED_POOL = (
    "The spread of seeds is that of both conditions together (in comparisons, of sides whose seeds go "
    "apart) wherever the two do not differ too much (Bartlett's test, p > {level})."
)

UNPAIRED_UNITS = (
    "{left} of {total} units of {name} have no counterpart on the other side and take no part."
)

UNPAIRED_CELLS = (
    "{left} of {total} cells (a sample under a seed) of {name} have no counterpart on the other "
    "side and take no part."
)


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
    sizes = {}
    for run in study.results:
        sizes[run.name] = run.data[study.suite.unit].nunique()
    checks += missing_units(sizes, len(study.unit_names))
    if study.candidates:
        comparison = study_tables.comparison(study)
        checks += one_sided_missing(comparison)
    if study.seeded:
        seeds = {}
        for condition, of_seed in study.conditions.items():
            seeds[condition] = list(of_seed)
        checks += missing_seeds(seeds)
    return worst_first(checks)


def quiet_checks_of_study(study: Study) -> list[QuietCheck]:
    """The checks that found nothing in any run of a study, and those of units and seeds that some runs lack."""
    passed: set[str] = set()
    for run in study.results:
        passed.update(check.kind.code for check in run.quiet_checks if check.reason is None)
    passed.update(kind.code for kind in STUDY_KINDS)
    reasons = reasons_of(study.results[0].quiet_checks)
    reasons = {code: reason for code, reason in reasons.items() if code not in passed}
    if not study.seeded:
        reasons[MISSING_SEEDS.code] = Message("the runs have no seeds")
    elif len(study.conditions) == 1:
        reasons[MISSING_SEEDS.code] = Message("one condition only")
    if not study.candidates:
        reasons[ONE_SIDED_MISSING.code] = Message("one condition only")
    return quiet_checks(_kinds(study.suite), reasons, study.checks)


# --- notes


def notes_of_study(study: Study) -> list[Message]:
    """The notes on the seeds of every condition, on all of them, and on every pair that is compared."""
    messages = []
    if study.seeded:
        for condition in study.conditions:
            for note in _notes_on_seeds(study, condition):
                values = {"condition": condition, "note": note}
                messages.append(Message("{condition}: {note}", values))
    baseline_estimates = study.aggregates[study.baseline]
    if baseline_estimates["pooled"].any():
        messages.append(Message(SEED_POOL, {"level": ALIKE}))
    messages += _notes_on_pairs(study)
    return messages


def _notes_on_seeds(study: Study, condition: str) -> list[Message]:
    """Whether a condition has too few seeds, no sample in two of them, or metrics that some lack."""
    runs = study.conditions[condition]
    if len(runs) == 1:
        return [Message(ONE_SEED)]
    notes = []
    if len(runs) == 2:
        notes.append(Message(TWO_SEEDS))
    samples = [run.data[study.suite.unit].drop_duplicates() for run in runs.values()]
    if not pd.concat(samples).duplicated().any():
        notes.append(Message(NO_COMMON_SAMPLE))
    of_seeds = {seed: run.estimates.set_index("metric")["value"] for seed, run in runs.items()}
    is_lacking = pd.DataFrame(of_seeds).isna()
    in_some = is_lacking.any(axis=1) & ~is_lacking.all(axis=1)
    for metric, lacks in is_lacking[in_some].iterrows():
        seeds = tuple(lacks.index[lacks])
        notes.append(Message(NOT_IN_SEEDS, {"name": metric, "seeds": seeds}))
    return notes


def _notes_on_pairs(study: Study) -> list[Message]:
    """How much of each side of a comparison has no counterpart on the other."""
    messages = []
    for candidate, comparison in study.comparisons.items():
        sides = zip((study.baseline, candidate), comparison.unpaired.values())
        for condition, n_unpaired in sides:
            if not n_unpaired:
                continue
            frames = study.frames(condition).values()
            values = {
                "left": n_unpaired,
                "total": sum(frame[study.suite.unit].nunique() for frame in frames),
                "name": condition,
            }
            note = Message(UNPAIRED_CELLS if study.seeded else UNPAIRED_UNITS, values)
            pair = {"baseline": study.baseline, "candidate": candidate, "note": note}
            messages.append(Message("{baseline} and {candidate}: {note}", pair))
    return messages
