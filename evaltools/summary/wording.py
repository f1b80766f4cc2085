"""Phrases of a rule set in a text, with what takes them back.

text --phrases--> matches --not_within--> matches --let-offs in the clause around--> kept or let off
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .entities import outside
from .phrases import Phrases, find_all, search
from .rules import CompiledLetOff, CompiledRules, CompiledSet
from .text import Text

_SENTENCE_END = re.compile(r"[!?\n;]|\.(?![0-9])")
_REACH = 160
"""No let-off is looked for further away than this many characters."""


@dataclass(frozen=True, slots=True)
class Match:
    """A phrase found: its text and [start, end) in the original, and why it does not count (None: it counts)."""

    text: str
    start: int
    end: int
    let_off: str | None = None
    by: str | None = None

    def as_json(self) -> dict[str, object]:
        out: dict[str, object] = {"text": self.text, "at": [self.start, self.end]}
        return out if self.let_off is None else {**out, "let_off": self.let_off, "by": self.by}


def matches(found: CompiledSet, text: Text, raw: str, rules: CompiledRules) -> list[Match]:
    """The matches of a phrase set in order, those that are let off among them."""
    out = []
    for start, end in outside(find_all(found.phrases, text.norm), found.not_within, text.norm):
        a, b = text.span(start, end)
        reason, by = _let_off(found.let_off, text.norm, start, end, rules) or (None, None)
        out.append(Match(raw[a:b], a, b, reason, by))
    return out


def _let_off(names: tuple[str, ...], t: str, start: int, end: int, rules: CompiledRules) -> tuple[str, str] | None:
    if not names:
        return None
    before, after, limit = _clause(t, start, end, rules)
    for name in names:
        rule = rules.let_offs[name]
        by = _after(rule, after, limit) or _before(rule, before)
        if by is not None:
            return rule.reason, by.strip()
    return None


def _clause(t: str, start: int, end: int, rules: CompiledRules) -> tuple[str, str, int]:
    """The clause before and after a match, and where in the latter a let-off must begin at the latest."""
    after = t[end : end + _REACH]
    if stop := _SENTENCE_END.search(after):
        after = after[: stop.end()]
    before = t[max(0, start - _REACH) : start]
    begins = max((m.end() for m in _SENTENCE_END.finditer(before)), default=0)
    before = before[begins:]
    ends = find_all(rules.clause_ends, before)
    before = before[ends[-1][1] :] if ends else before
    limit = search(rules.clause_ends, after)
    return before, after, limit.start() if limit else len(after)


def _after(rule: CompiledLetOff, clause: str, limit: int) -> str | None:
    m = search(rule.after, clause)
    if m is None or m.start() > min(rule.near, limit) or _any(rule.unless, clause[: m.end()]):
        return None
    return m[0]


def _before(rule: CompiledLetOff, clause: str) -> str | None:
    m = search(rule.before, clause)
    return None if m is None or _any(rule.unless, clause[m.start() :]) else m[0]


def _any(patterns: Phrases, text: str) -> bool:
    return search(patterns, text) is not None
