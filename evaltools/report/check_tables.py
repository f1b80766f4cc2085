"""The line of trust that every page opens on: what its checks found."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.check import LEVEL_WORDS, Check, QuietCheck, check_lines
from ..core.check_kinds import INPUT
from ..core.language import say
from .tables import HtmlTable
from .templates import macros
from .trust import trust

KINDS = {"blocking": "error", "warning": "warning", "info": "info"}
"""Level of a check -> its colour."""


def trust_line(
    checks: Sequence[Check],
    problems: str = "",
    quiet: Sequence[QuietCheck] = (),
    notes: Sequence[str] = (),
    *,
    incomplete: bool = False,
) -> HtmlTable:
    """Whether the numbers can be believed, in a line that opens: the worst first, or that there is no caution.

    `problems` is what was wrong with the input, "" where nothing was. `notes` stand below the checks. The `quiet`
    checks, which found nothing, are folded below. It stands open where something cannot be measured.
    """
    failed = list(checks)
    if problems:
        failed.append(INPUT.failed("warning", "input: {what}", {"what": problems}))
    elif quiet:
        quiet = [QuietCheck(INPUT), *quiet]
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
    state = trust(levels, incomplete=incomplete)
    html = macros().trust(
        say(state.words),
        state.kind,
        _counts(levels, len(notes), state.kind == "error"),
        rows,
        "blocking" in levels,
        quiet_line(quiet),
        _quiet_rows(quiet),
    )
    return HtmlTable(str(html), "\n".join(lines))


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
