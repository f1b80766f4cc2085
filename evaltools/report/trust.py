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
    CheckKind,
    Level,
    QuietCheck,
    check_lines,
    checks_of_runs,
    failed_checks,
    quiet_checks,
    worst_first,
)
from ..core.common_checks import (
    BUNDLED_EXAMPLE,
    INPUT,
    MISSING_SEEDS,
    ONE_SIDED_MISSING,
    RUN_KINDS,
    STUDY_KINDS,
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
from .tables import HtmlTable, Kind
from .templates import macros

if TYPE_CHECKING:
    from ..core.suite import Suite
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


def _kinds(suite: Suite) -> list[CheckKind]:
    return [*RUN_KINDS, *suite.check_kinds, *STUDY_KINDS]


def quiet_checks_of_run(run: Run) -> list[QuietCheck]:
    """The checks that found nothing in a run: passed, or why they do not apply."""
    of_study = [kind.not_applicable("one run only") for kind in STUDY_KINDS]
    return quiet_checks(_kinds(run.suite), [*run.checks, *check_outcomes(run), *of_study])


def checks_of_study(study: Study) -> list[Check]:
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


def quiet_checks_of_study(study: Study) -> list[QuietCheck]:
    """The checks that found nothing in any run of a study, and those of units and seeds that some runs lack."""
    quiet = [check for run in reversed(study.results) for check in run.quiet_checks]
    # the last one counts: a check that passed in any run, else the first reason
    quiet.sort(key=lambda check: check.reason is None)
    quiet += [QuietCheck(kind) for kind in STUDY_KINDS]
    if not study.seeded:
        quiet.append(MISSING_SEEDS.not_applicable("the runs have no seeds"))
    if not study.candidates:
        for kind in (MISSING_SEEDS, ONE_SIDED_MISSING):
            quiet.append(kind.not_applicable("one condition only"))
    return quiet_checks(_kinds(study.suite), [*study.checks, *quiet])


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


def trust_line(shown: Run | Study) -> HtmlTable:
    """Whether the numbers of a page can be believed, in a line that opens.

    The worst of its checks and of what was wrong with the input stands first; the checks that found nothing are folded
    below. It stands open where something cannot be measured.
    """
    failed = list(shown.checks)
    if is_bundled(shown):
        failed.append(BUNDLED_EXAMPLE.failed("info", "these are the numbers of a bundled example"))
    quiet = list(shown.quiet_checks)
    of_input = input_problems(shown.results)
    failed += of_input
    if not of_input:
        quiet.insert(0, QuietCheck(INPUT))
    is_incomplete = any(run.manifest.incomplete for run in shown.results)
    state = trust([check.level for check in failed], incomplete=is_incomplete)
    html = macros().trust(
        say(state.words),
        state.kind,
        LEVEL_WORDS,
        failed,
        quiet,
    )
    return HtmlTable(html, "\n".join(check_lines(failed)))


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
