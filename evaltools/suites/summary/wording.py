"""Phrases of a rule set in a text, with what takes them back.

text --phrases--> matches --not_within--> matches --let-offs in the clause--> standing, let off
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .entities import ReadText
from .phrases import find_all, find_outside, near_end, search
from .rules import PhraseSet, Rules, compiled

SENTENCE_END = re.compile(r"[!?\n;]|\.(?![0-9])")

REACH = 160
"""No let-off is looked for further away than this many characters."""


ONLY_NAMED = "only names it"
"""Why a match that lacks what its tag needs is let off."""

TOLD_WITHIN = 30
"""Characters behind a wording in which a summary says that it was told."""

NEEDED_WITHIN = 60
"""Characters around a match in which stands what its tag needs; a list may have it on its next line."""


@dataclass(frozen=True, slots=True)
class Matches:
    """The matches of a phrase set in order: `text`, and `at`, [start, end) in the original.

    standing: those that count. let_off: those that are taken back, with the reason (`let_off`) and
    the words that do it (`by`). bare: all that stands only says that the item was told.
    """

    standing: list[dict[str, Any]]
    let_off: list[dict[str, Any]]
    bare: bool = False


def find_matches(
    named: PhraseSet,
    read: ReadText,
    rules: Rules,
) -> Matches:
    """The matches of a phrase set in a text."""
    text = read.text.norm
    standing, bare, let_off = [], [], []
    phrases, not_within = compiled(rules, named.phrases), compiled(rules, named.not_within)
    needs, telling = compiled(rules, named.needs), compiled(rules, rules.told)
    for start, end in find_outside(phrases, not_within, text):
        at = read.text.span(start, end)
        match: dict[str, Any] = {"text": read.raw[slice(*at)], "at": at}
        taken_back = _let_off(
            named,
            text,
            start,
            end,
            rules,
        )
        told = search(telling, text[end : end + TOLD_WITHIN])
        if taken_back:
            let_off.append(match | taken_back)
        elif not needs or search(needs, around(text, (start, end), NEEDED_WITHIN)):
            standing.append(match)
        elif told and told.start() == 0:
            bare.append(match)
        else:
            let_off.append(match | {"let_off": ONLY_NAMED, "by": match["text"]})
    return Matches(standing or bare, let_off, bare=bool(bare) and not standing)


def _let_off(
    named: PhraseSet,
    text: str,
    start: int,
    end: int,
    rules: Rules,
) -> dict[str, str]:
    """Why a match is taken back, and by what words near it in its clause; {} where it stands."""
    if not named.let_off:
        return {}
    clause_ends = compiled(rules, rules.clause_ends)
    first = max(0, start - REACH)
    before = SENTENCE_END.split(text[first:start])[-1]
    for _, clause_end in find_all(clause_ends, before)[-1:]:
        before = before[clause_end:]
    after = text[end : end + REACH]
    sentence_end = SENTENCE_END.search(after)
    if sentence_end:
        after = after[: sentence_end.end()]
    ends = search(clause_ends, after)
    limit = ends.start() if ends else len(after)
    blanks = len(after) - len(after.lstrip())
    for name in named.let_off:
        rule = rules.let_offs[name]
        unless = compiled(rules, rule.unless)
        match = search(compiled(rules, rule.after), after)
        is_near = match and match.start() <= min(rule.near + blanks, limit)
        if match and is_near and not search(unless, after[: match.end()]):
            return {"let_off": rule.reason, "by": match[0].strip()}
        match = search(near_end(compiled(rules, rule.before), rule.near), before)
        if match and not search(unless, before[match.start() :]):
            return {"let_off": rule.reason, "by": match[0].strip()}
    return {}


def around(
    text: str,
    place: Sequence[int],
    shown: int = 40,
) -> str:
    """The sentence around a place [start, end), cut with … beyond `shown` characters on either side.

    >>> around("A. The limit is 5 million won. B.", (16, 29))
    'The limit is 5 million won'
    >>> around("A. The limit is 5 million won. B.", (16, 29), shown=3)
    '…is 5 million won'
    """
    start, end = place
    first = max(0, start - REACH)
    before = SENTENCE_END.split(text[first:start])[-1].lstrip()
    following = text[end : end + REACH]
    after = SENTENCE_END.split(following, maxsplit=1)[0].rstrip()
    if len(before) > shown:
        before = "…" + before[-shown:]
    if len(after) > shown:
        after = after[:shown] + "…"
    return before + text[start:end] + after
