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
    text = read.text
    raw = read.raw
    for start, end in find_outside(named.phrases, named.not_within, text.norm):
        raw_start, raw_end = text.span(start, end)
        match = {
            "text": raw[raw_start:raw_end],
            "at": [raw_start, raw_end],
        }
        let_off = _let_off(
            named.let_offs,
            text.norm,
            start,
            end,
            rules.clause_ends,
        )
        if not let_off and _is_bare(named, text.norm, start, end):
            told = search(rules.told, text.norm[end : end + TOLD_WITHIN])
            if told and told.start() == 0:
                matches.bare.append(match)
                continue
            let_off = {"let_off": ONLY_NAMED, "by": raw[raw_start:raw_end]}
        if let_off:
            matches.let_off.append({**match, **let_off})
        else:
            matches.standing.append(match)
    if not matches.standing:
        matches.standing.extend(matches.bare)
    else:
        matches.bare.clear()
    return matches


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
    before = _clause_before(text, start, clause_ends)
    after, limit = _clause_after(text, end, clause_ends)
    for rule in let_offs:
        words = _words_after(rule, after, limit)
        if not words:
            words = _words_before(rule, before)
        if words is not None:
            return {
                "let_off": rule.reason,
                "by": words.strip(),
            }
    return {}


def _is_bare(
    named: CompiledPhrases,
    text: str,
    start: int,
    end: int,
) -> bool:
    """Whether a wording lacks what its tag needs beside it."""
    return bool(named.needs) and not search(named.needs, _surroundings(text, start, end))


def _surroundings(
    text: str,
    start: int,
    end: int,
) -> str:
    """A match with what stands around it in its statement, across the lines of a list."""
    before = _STATEMENT_END.split(text[max(0, start - NEEDED_WITHIN) : start])[-1]
    after = _STATEMENT_END.split(text[end : end + NEEDED_WITHIN], maxsplit=1)[0]
    return before + text[start:end] + after


def _clause_before(
    text: str,
    start: int,
    clause_ends: Phrases,
) -> str:
    first = max(0, start - REACH)
    before = text[first:start]
    clause_start = 0
    for sentence_end in SENTENCE_END.finditer(before):
        clause_start = sentence_end.end()
    before = before[clause_start:]
    ends = find_all(clause_ends, before)
    if ends:
        _, clause_start = ends[-1]
        before = before[clause_start:]
    return before


def _clause_after(
    text: str,
    end: int,
    clause_ends: Phrases,
) -> tuple[str, int]:
    """The rest of the sentence, and where in it a let-off must begin at the latest."""
    after = text[end : end + REACH]
    sentence_end = SENTENCE_END.search(after)
    if sentence_end:
        after = after[: sentence_end.end()]
    clause_end = search(clause_ends, after)
    return after, clause_end.start() if clause_end else len(after)


def _words_after(
    rule: CompiledLetOff,
    clause: str,
    limit: int,
) -> str | None:
    match = search(rule.after, clause)
    if match is None:
        return None
    blanks = len(clause) - len(clause.lstrip())
    if match.start() > min(rule.near + blanks, limit):
        return None
    if search(rule.unless, clause[: match.end()]):
        return None
    return match[0]


def _words_before(rule: CompiledLetOff, clause: str) -> str | None:
    match = search(rule.before, clause)
    if match is None or search(rule.unless, clause[match.start() :]):
        return None
    return match[0]
