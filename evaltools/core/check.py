"""Checks: what a reader must know before believing a number, found in the units and shown at the top of every page.

Codes are stable. A blocking check says that some metrics mean nothing here, however they were computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import pandas as pd
from pydantic import TypeAdapter

from .language import Message, say

Level = Literal["info", "warning", "blocking"]

LEVEL_WORDS = {
    "blocking": "Cannot be measured",
    "warning": "Caution",
    "info": "Note",
}
"""The word that stands before a check of each level; the worst first."""

LEVELS = tuple(LEVEL_WORDS)

ALL_PASSED = "No check failed"


@dataclass(frozen=True)
class Check:
    """One thing that was found, in `n` of `of` units (0 of 0 where it is no count).

    `template` is the sentence that says what it means, and `values` fill its {places}; {n} and {of} stand for the
    counts, so that the checks of several runs can be added. `blocks` names the metrics that mean nothing because of
    it. `help` is the command or option that helps, or "".

    >>> Check("few-units", "warning", "only {n} units ({unit})", {"unit": "case_id"}, n=3).message
    'only 3 units (case_id)'
    """

    code: str
    level: Level
    template: str
    values: Mapping[str, Any] = field(default_factory=dict)
    n: int = 0
    of: int = 0
    blocks: tuple[str, ...] = ()
    help: str = ""

    @property
    def sentence(self) -> Message:
        """The sentence with its counts, to be told in any language."""
        counts = {"n": f"{self.n:,}", "of": f"{self.of:,}"}
        return Message(self.template, {**counts, **self.values})

    @property
    def message(self) -> str:
        """The sentence in English, as it stands in metrics.json."""
        return str(self.sentence)

    def text(self) -> str:
        """The sentence in the language in force."""
        return say(self.sentence)

    def as_json(self) -> dict[str, Any]:
        """The check as it stands in metrics.json. `said` is the template."""
        return {
            "code": self.code,
            "level": self.level,
            "message": self.message,
            "n": self.n,
            "of": self.of,
            "said": self.template,
            "values": Message("", self.values).as_json()["values"],
            "blocks": list(self.blocks),
            "help": self.help,
        }

    @classmethod
    def from_json(cls, content: Any) -> Check:
        """The check that `as_json` wrote; of one without a template the message stands for it. ValueError for none."""
        try:
            template = content.get("said") or content["message"]
            values = content.get("values", {})
            sentence = Message.from_json({"template": template, "values": values})
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError("not a check with a code, level and message") from error
        fields = {**content, "template": sentence.template, "values": sentence.values}
        return _FIELDS.validate_python(fields)


_FIELDS = TypeAdapter(Check)


@dataclass(frozen=True)
class CheckKind:
    """What a check is about, declared once: the functions that look for it use it, pages and docs show it.

    `title` says what it looks for, in a few words; a page lists it where the check found nothing. `applies`, `blocks`
    and `advice` are for docs/checks.md: when the check applies, which metrics it may block, and what to do.

    >>> kind = CheckKind("no-gold", "samples without gold", advice="Give --gold.")
    >>> kind.failed("warning", "{n} samples have no gold", n=3).message
    '3 samples have no gold'
    >>> str(kind.not_applicable("no sample has gold tuples").reason)
    'no sample has gold tuples'
    """

    code: str
    title: str
    applies: str = "Always."
    blocks: str = "Nothing."
    advice: str = ""

    def failed(
        self,
        level: Level,
        template: str,
        values: Mapping[str, Any] | None = None,
        n: int = 0,
        of: int = 0,
        **more: Any,
    ) -> Check:
        """The check that found something; the parameters are those of `Check`."""
        return Check(self.code, level, template, values or {}, n, of, **more)

    def not_applicable(self, reason: str) -> QuietCheck:
        """The check where there is nothing to look at, which `reason` says."""
        return QuietCheck(self, Message(reason))


@dataclass(frozen=True)
class QuietCheck:
    """A check that found nothing: it passed, or it does not apply here, where `reason` says why."""

    kind: CheckKind
    reason: Message | None = None

    @property
    def state(self) -> str:
        """ "passed" or "not applicable"."""
        return "passed" if self.reason is None else "not applicable"


AnyCheck = Check | QuietCheck
"""What a function that looks for something may yield: what it found, or that it does not apply."""


def failed_checks(outcomes: Iterable[AnyCheck]) -> list[Check]:
    """The checks that found something."""
    return [outcome for outcome in outcomes if isinstance(outcome, Check)]


def quiet_checks(
    kinds: Iterable[CheckKind],
    outcomes: Iterable[AnyCheck],
) -> list[QuietCheck]:
    """The kinds that did not fail, in their order: those that do not apply say why, the others passed.

    Of several outcomes of a kind that found nothing the last one counts.
    """
    found: dict[str, QuietCheck] = {}
    failed = set()
    for outcome in outcomes:
        if isinstance(outcome, Check):
            failed.add(outcome.code)
        else:
            found[outcome.kind.code] = outcome
    silent = [kind for kind in kinds if kind.code not in failed]
    return [found.get(kind.code, QuietCheck(kind)) for kind in silent]


def check_states(
    checks: Iterable[Check],
    quiet: Iterable[QuietCheck],
) -> pd.DataFrame:
    """Every check with its state, those that failed first: code, state, message.

    `state` is "failed", "passed" or "not applicable"; `message` what was found, what was looked for, or why it does
    not apply, in English.
    """
    rows = [(check.code, "failed", check.message) for check in checks]
    for check in quiet:
        rows.append((check.kind.code, check.state, str(check.reason or check.kind.title)))
    return pd.DataFrame(rows, columns=["code", "state", "message"])


def check_lines(checks: Iterable[Check]) -> list[str]:
    """The checks as lines of text in the language in force; the last one says so where none failed."""
    checks = list(checks)
    lines = []
    for check in checks:
        help_text = f" ({check.help})" if check.help else ""
        lines.append(f"{say(LEVEL_WORDS[check.level])}: {check.text()}{help_text}")
    if all(check.level == "info" for check in checks):
        lines.append(say(ALL_PASSED))
    return lines


def worst_first(checks: Iterable[Check]) -> list[Check]:
    """The checks in the order of their levels."""
    return sorted(checks, key=lambda check: LEVELS.index(check.level))


def checks_of_runs(runs: Sequence[Sequence[Check]]) -> list[Check]:
    """The checks of several runs, one a code: counts are added, and it is said how many of the runs have it.

    Its level is the worst of theirs. The other values of its sentence are those of the run with the lowest count at that
    level.
    """
    by_code: dict[str, list[Check]] = {}
    for checks in runs:
        for check in checks:
            by_code.setdefault(check.code, []).append(check)
    combined = []
    for checks in by_code.values():
        lowest = min(checks, key=lambda check: (LEVELS.index(check.level), check.n))
        blocks: dict[str, None] = {}
        for check in checks:
            blocks.update(dict.fromkeys(check.blocks))
        check = replace(
            lowest,
            n=sum(check.n for check in checks),
            of=sum(check.of for check in checks),
            blocks=tuple(blocks),
        )
        if len(runs) > 1:
            check = replace(
                check,
                template="{sentence} (in {runs} of {total} runs)",
                values={"sentence": check.sentence, "runs": len(checks), "total": len(runs)},
            )
        combined.append(check)
    return worst_first(combined)
