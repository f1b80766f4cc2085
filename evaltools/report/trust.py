"""Whether a result can be believed: the one word of it, and the line that every page opens on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..core.check import LEVEL_WORDS, Check, Level, QuietCheck, check_lines
from ..core.common_checks import BUNDLED_EXAMPLE, INPUT
from ..core.files import EXAMPLES
from ..core.language import Message, listed, say
from .sentences import whole_sentence
from .tables import HtmlTable, Kind, problems_text
from .templates import macros

if TYPE_CHECKING:
    from .run import Run
    from .study import Study

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


def trust_line(shown: Run | Study, runs: Sequence[Run]) -> HtmlTable:
    """Whether the numbers of a page of these runs can be believed, in a line that opens.

    The worst of its checks and of what was wrong with the input stands first; the checks that found nothing are folded
    below. It stands open where something cannot be measured.
    """
    failed = [*shown.checks, *bundled(runs)]
    quiet = list(shown.quiet_checks)
    problems = [(run.name, problems_of(run)) for run in runs]
    texts = [f"{name}: {text}" for name, text in problems if text]
    if texts:
        failed.append(INPUT.failed("warning", "input: {what}", {"what": listed(texts, "; ")}))
    else:
        quiet.insert(0, QuietCheck(INPUT))
    levels = [check.level for check in failed]
    state = trust(levels, incomplete=any(run.manifest.incomplete for run in runs))
    rows = []
    for check in failed:
        lead = say(LEVEL_WORDS[check.level])
        rows.append({"lead": lead, "text": check.text(), "help": check.help})
    quiet.sort(key=lambda check: check.reason is not None)
    quiet_rows = []
    for check in quiet:
        text = whole_sentence(say(check.kind.title), say(check.reason or ""))
        quiet_rows.append({"state": say(check.state), "code": check.kind.code, "text": text})
    n_passed = sum(check.reason is None for check in quiet)
    n_notes = levels.count("info")
    html = macros().trust(
        say(state.words),
        state.kind,
        [say("notes: {n}", n=n_notes)] if n_notes else [],
        rows,
        "blocking" in levels,
        say(
            "Checks passed: {n}; not applicable: {others}", n=n_passed, others=len(quiet) - n_passed
        ),
        quiet_rows,
    )
    return HtmlTable(html, "\n".join(check_lines(failed)))


def bundled(runs: Sequence[Run]) -> list[Check]:
    """That numbers are of the bundled example, which nobody may take for their own."""
    is_of_example = []
    for run in runs:
        for entry in run.manifest.inputs:
            path = Path(entry.path)
            is_of_example.append(path.is_relative_to(EXAMPLES))
    if not is_of_example or not all(is_of_example):
        return []
    return [BUNDLED_EXAMPLE.failed("info", "these are the numbers of a bundled example")]


def problems_of(run: Run) -> str:
    """What was wrong with the input of a run, in a line; "" where nothing was.

    What a check of the run says in words, under the same code, is left to it.
    """
    told = {check.code for check in run.checks}
    problems = []
    for problem in run.manifest.problems:
        if problem.code not in told:
            problems.append(problem.model_dump())
    text = problems_text(problems)
    if run.manifest.incomplete:
        return say("this run is not complete: {problems}", problems=text)
    return text
