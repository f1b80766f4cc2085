"""Phrases of a rule set in a text, with what takes them back.

text --phrases--> matches --not_within--> matches --let-offs in the clause--> standing, let off
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from .compiled import CompiledLetOff, CompiledPhrases, CompiledRules
from .entities import ReadText
from .phrases import Phrases, find_all, find_outside, search

SENTENCE_END = re.compile(r"[!?\n;]|\.(?![0-9])")

REACH = 160
"""No let-off is looked for further away than this many characters."""


ONLY_NAMED = "only names it"
"""Why a match that lacks what its tag needs is let off."""

_STATEMENT_END = re.compile(r"[!?;]|\.(?![0-9])")
TOLD_WITHIN = 30
"""Characters behind a wording in which a summary says that it was told."""

NEEDED_WITHIN = 60
"""Characters around a match in which stands what its tag needs; a list may have it on its next line."""


@dataclass(frozen=True, slots=True)
class Matches:
    """The matches of a phrase set in order: `text`, and `at`, [start, end) in the original.

    standing: those that count. let_off: those that are taken back, with the reason (`let_off`) and
    the words that do it (`by`). bare: those that stand, where all that stands only says that the
    item was told.
    """

    standing: list[dict[str, Any]] = field(default_factory=list)
    let_off: list[dict[str, Any]] = field(default_factory=list)
    bare: list[dict[str, Any]] = field(default_factory=list)


def find_matches(
    named: CompiledPhrases,
    read: ReadText,
    rules: CompiledRules,
) -> Matches:
    """The matches of a phrase set in a text."""
    matches = Matches()
    text = read.text.norm
    for start, end in find_outside(named.phrases, named.not_within, text):
        at = read.text.span(start, end)
        words = read.raw[slice(*at)]
        match = {"text": words, "at": at}
        let_off = _let_off(named.let_offs, text, start, end, rules.clause_ends)
        if not let_off and named.needs and not search(named.needs, _statement(text, start, end)):
            stated = search(rules.told, text[end : end + TOLD_WITHIN])
            if stated and stated.start() == 0:
                matches.bare.append(match)
                continue
            let_off = {"let_off": ONLY_NAMED, "by": words}
        if let_off:
            matches.let_off.append({**match, **let_off})
        else:
            matches.standing.append(match)
    if not matches.standing:
        matches.standing.extend(matches.bare)
    else:
        matches.bare.clear()
    return matches


def _statement(
    text: str,
    start: int,
    end: int,
) -> str:
    """A match with what stands around it in its statement, across the lines of a list."""
    before = _STATEMENT_END.split(text[max(0, start - NEEDED_WITHIN) : start])[-1]
    after = _STATEMENT_END.split(text[end : end + NEEDED_WITHIN], maxsplit=1)[0]
    return before + text[start:end] + after


def _let_off(
    let_offs: tuple[CompiledLetOff, ...],
    text: str,
    start: int,
    end: int,
    clause_ends: Phrases,
) -> dict[str, str]:
    """Why a match is taken back, and by what words; {} where it stands."""
    if not let_offs:
        return {}
    before = SENTENCE_END.split(text[max(0, start - REACH) : start])[-1]
    ends = find_all(clause_ends, before)
    if ends:
        before = before[ends[-1][1] :]
    after = text[end : end + REACH]
    sentence_end = SENTENCE_END.search(after)
    if sentence_end:
        after = after[: sentence_end.end()]
    clause_end = search(clause_ends, after)
    limit = clause_end.start() if clause_end else len(after)
    for rule in let_offs:
        words = _words_after(rule, after, limit) or _words_before(rule, before)
        if words is not None:
            return {"let_off": rule.reason, "by": words.strip()}
    return {}


def _words_after(
    rule: CompiledLetOff,
    sentence: str,
    limit: int,
) -> str | None:
    """What takes a match back behind it: near, in its clause, which ends at `limit`."""
    match = search(rule.after, sentence)
    if match is None:
        return None
    blanks = len(sentence) - len(sentence.lstrip())
    if match.start() > min(rule.near + blanks, limit):
        return None
    return None if search(rule.unless, sentence[: match.end()]) else match[0]


def _words_before(rule: CompiledLetOff, clause: str) -> str | None:
    match = search(rule.before, clause)
    if match is None or search(rule.unless, clause[match.start() :]):
        return None
    return match[0]
