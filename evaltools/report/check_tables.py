"""The strip of checks that every page opens on."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.check import ALL_PASSED, LEVEL_WORDS, Check, QuietCheck, check_lines
from ..core.check_kinds import INPUT
from ..core.language import say
from .tables import HtmlTable
from .templates import macros

KINDS = {"blocking": "error", "warning": "warning", "info": "info"}
"""Level of a check -> its colour."""


def checks_strip(
    checks: Sequence[Check], problems: str = "", quiet: Sequence[QuietCheck] = ()
) -> HtmlTable:
    """Whether the numbers can be believed: what a reader must know, the worst first, or that no check failed.

    `problems` is what was wrong with the input, "" where nothing was. The `quiet` checks, which found nothing, are
    folded below.
    """
    shown = list(checks)
    if problems:
        shown.append(INPUT.failed("warning", "input: {what}", {"what": problems}))
    elif quiet:
        quiet = [QuietCheck(INPUT), *quiet]
    rows = []
    for check in shown:
        row = {
            "lead": say(LEVEL_WORDS[check.level]),
            "text": check.text(),
            "help": check.help,
            "kind": KINDS[check.level],
        }
        rows.append(row)
    lines = check_lines(shown)
    passed = say(ALL_PASSED)
    html = macros().checks(
        rows, passed if passed in lines else "", quiet_line(quiet), _quiet_rows(quiet)
    )
    return HtmlTable(str(html), "\n".join(lines))


def quiet_line(quiet: Sequence[QuietCheck]) -> str:
    """How many checks passed, and how many do not apply; "" where there are none."""
    n_passed = sum(check.reason is None for check in quiet)
    n_others = len(quiet) - n_passed
    if not quiet:
        return ""
    if not n_others:
        return say("Checks passed: {n}", n=n_passed)
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
