"""Checks: what a reader must know before believing a number, found in the units and shown at the top of every page.

Codes are stable. A blocking check says that some metrics mean nothing here, however they were computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Literal

from .language import say

Level = Literal["info", "warning", "blocking"]

LEVEL_WORDS = {
    "blocking": "Cannot be measured",
    "warning": "Caution",
    "info": "Note",
}
# the word that stands before a check of each level; the worst first

LEVELS = tuple(LEVEL_WORDS)


@dataclass(frozen=True)
class Check:
    """One thing that was found, in `n` of `of` units (0 of 0 where it is no count).

    `message` is a finished sentence. `blocks` names the metrics that mean nothing because of it.

    >>> Check("few-units", "warning", "only 3 units (case_id)", n=3, of=3).message
    'only 3 units (case_id)'
    """

    code: str
    level: Level
    message: str
    n: int = 0
    of: int = 0
    blocks: tuple[str, ...] = ()


def share_check(
    code: str,
    level: Level,
    text: str,
    n: int,
    of: int,
    blocks: tuple[str, ...] = (),
    /,
    above: float = 0,
    **values: Any,
) -> Iterator[Check]:
    """The check of what was found in more than a share of the units (`above`; by default in any), else none.

    The text says in how many, {n} of {of}; further values fill its other places.

    >>> [check.message for check in share_check("empty", "warning", "{n} of {of} replies are empty", 2, 1200)]
    ['2 of 1,200 replies are empty']
    >>> [*share_check("empty", "warning", "{n} of {of} replies are empty", 2, 1200, above=0.05)]
    []
    """
    if n > above * of:
        message = say(text, n=f"{n:,.0f}", of=f"{of:,.0f}", **values)
        yield Check(code, level, message, int(n), int(of), blocks)


def check_lines(checks: Iterable[Check]) -> list[str]:
    """The checks as lines of text, each with the word of its level."""
    return [f"{say(LEVEL_WORDS[check.level])}: {check.message}" for check in checks]


def worst_first(checks: Iterable[Check]) -> list[Check]:
    """The checks in the order of their levels."""
    return sorted(checks, key=lambda check: LEVELS.index(check.level))


def checks_of_runs(runs: Sequence[Sequence[Check]]) -> list[Check]:
    """The checks of several runs, one a code: counts are added, metrics that any blocks are blocked.

    The sentence is that of the run where it is worst; behind it stands in how many of the runs it holds.
    """
    by_code: dict[str, list[Check]] = {}
    for check in chain(*runs):
        by_code.setdefault(check.code, []).append(check)
    combined = []
    for checks in by_code.values():
        worst = min(
            checks, key=lambda check: (LEVELS.index(check.level), -check.n / (check.of or 1))
        )
        if len(runs) > 1:
            text = "{message} (in {runs} of {total} runs)"
            message = say(text, message=worst.message, runs=len(checks), total=len(runs))
            worst = replace(worst, message=message)
        whole = replace(
            worst,
            n=sum(check.n for check in checks),
            of=sum(check.of for check in checks),
            blocks=tuple(dict.fromkeys(chain(*(check.blocks for check in checks)))),
        )
        combined.append(whole)
    return worst_first(combined)
