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


def trust_line(
    shown: Run | Study,
    runs: Sequence[Run],
    notes: Sequence[str] = (),
) -> HtmlTable:
    """Whether the numbers of a page of these runs can be believed, in a line that opens.

    The worst of its checks and of what was wrong with the input stands first, then `notes`; the checks that found
    nothing are folded below. It stands open where something cannot be measured.
    """
    failed = [*shown.checks, *bundled(runs)]
    quiet = list(shown.quiet_checks)
    problems = _problems(runs)
    if problems:
        failed.append(INPUT.failed("warning", "input: {what}", {"what": problems}))
    elif quiet:
        quiet.insert(0, QuietCheck(INPUT))
    levels = [check.level for check in failed]
    rows = []
    for check in failed:
        lead = say(LEVEL_WORDS[check.level])
        rows.append({"lead": lead, "text": check.text(), "help": check.help})
    lines = check_lines(failed)
    lead = say(LEVEL_WORDS["info"])
    for note in notes:
        rows.append({"lead": lead, "text": note, "help": ""})
        lines.append(f"{lead}: {note}")
    state = trust(levels, incomplete=any(run.manifest.incomplete for run in runs))
    html = macros().trust(
        say(state.words),
        state.kind,
        _counts(levels, len(notes), state.kind == "error"),
        rows,
        "blocking" in levels,
        quiet_line(quiet),
        _quiet_rows(quiet),
    )
    return HtmlTable(html, "\n".join(lines))


def _counts(
    levels: Sequence[str],
    n_notes: int,
    with_cautions: bool,
) -> list[str]:
    """How many cautions and notes there are besides what the line says first."""
    counts = []
    n_cautions = list(levels).count("warning")
    if n_cautions and with_cautions:
        counts.append(say(trust(["warning"] * n_cautions).words))
    n_notes += list(levels).count("info")
    if n_notes:
        text = say("1 note") if n_notes == 1 else say("{n} notes", n=n_notes)
        counts.append(text)
    return counts


def quiet_line(quiet: Sequence[QuietCheck]) -> str:
    """How many checks passed, and how many do not apply; "" where there are none."""
    if not quiet:
        return ""
    passed = [check for check in quiet if check.reason is None]
    n_passed = len(passed)
    n_others = len(quiet) - n_passed
    return say("Checks passed: {n}; not applicable: {others}", n=n_passed, others=n_others)


def _quiet_rows(quiet: Sequence[QuietCheck]) -> list[dict[str, str]]:
    """The quiet checks as the page lists them, those that passed first."""
    rows = []
    for check in sorted(quiet, key=lambda check: check.reason is not None):
        text = say(check.kind.title)
        if check.reason is not None:
            text = say("{title}: {reason}", title=text, reason=say(check.reason))
        rows.append({"state": say(check.state), "code": check.kind.code, "text": text})
    return rows


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


def _problems(runs: Sequence[Run]) -> str:
    """What was wrong with the input of these runs; "" where nothing was."""
    if len(runs) == 1:
        return problems_of(runs[0])
    problems = []
    for run in runs:
        text = problems_of(run)
        if text:
            problems.append(f"{run.name}: {text}")
    return listed(problems, "; ")


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
