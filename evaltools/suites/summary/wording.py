"""Phrases of a rule set in a text, with what takes them back.

text --phrases--> matches --not_within--> matches --let-offs in the clause around--> kept or let off
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from .entities import outside
from .phrases import find_all, search
from .rules import CompiledRules, Ready
from .text import Text

_SENTENCE_END = re.compile(r"[!?\n;]|\.(?![0-9])")
_REACH = 160
"""No let-off is looked for further away than this many characters."""


SHOWN = 40
"""Characters of a sentence that are shown on either side of a place in it."""


def around(text: str, at: tuple[int, int] | list[int]) -> str:
    """The sentence around a place of a text, cut with … beyond SHOWN characters on either side."""
    start, end = at
    before = _SENTENCE_END.split(text[max(0, start - _REACH) : start])[-1].lstrip()
    after = _SENTENCE_END.split(text[end : end + _REACH], maxsplit=1)[0].rstrip()
    cut = "…" + before[-SHOWN:] if len(before) > SHOWN else before
    return cut + text[start:end] + (after[:SHOWN] + "…" if len(after) > SHOWN else after)


_PART_END = re.compile(r"[,;:!?()\[\]/\n·→]|\.\s")
_FIGURE = re.compile(r"[0-9]\S*\s")


def item(text: str, at: Sequence[int]) -> str:
    """What a figure at a place of a text is said of: the words before it in its part of the sentence, or after it.

    >>> item("암 진단비 3천만원, 90일 면책", (6, 10)), item("암 진단비 3천만원, 90일 면책", (12, 15))
    ('암 진단비', '면책')
    """
    start, end = at
    before = _PART_END.split(text[max(0, start - SHOWN) : start])[-1]
    after = _PART_END.split(text[end : end + SHOWN], maxsplit=1)[0]
    return next(
        (said.strip() for said in (*_FIGURE.split(before)[::-1], after) if said.strip()), ""
    )


Found = tuple[list[dict[str, Any]], list[dict[str, Any]]]
"""Matches as JSON values, text and [start, end) in the original: those that count, and those that are let off."""


def matches(found: Ready, text: Text, raw: str, rules: CompiledRules) -> Found:
    """The matches of a phrase set, each in order; one that is let off says why (`let_off`) and by what words."""
    out: Found = [], []
    for start, end in outside(find_all(found.phrases, text.norm), found.not_within, text.norm):
        span = text.span(start, end)
        let_off = _let_off(found.let_off, text.norm, start, end, rules)
        out[bool(let_off)].append({"text": raw[slice(*span)], "at": span, **let_off})
    return out


def _let_off(
    names: tuple[str, ...], t: str, start: int, end: int, rules: CompiledRules
) -> dict[str, str]:
    if not names:
        return {}
    before, after, limit = _clause(t, start, end, rules)
    for name in names:
        rule = rules.let_offs[name]
        by = _after(rule, after, limit) or _before(rule, before)
        if by is not None:
            return {"let_off": rule.reason, "by": by.strip()}
    return {}


def _clause(t: str, start: int, end: int, rules: CompiledRules) -> tuple[str, str, int]:
    """The clause before and after a match, and where in the latter a let-off must begin at the latest."""
    after = t[end : end + _REACH]
    if stop := _SENTENCE_END.search(after):
        after = after[: stop.end()]
    before = t[max(0, start - _REACH) : start]
    before = before[max((m.end() for m in _SENTENCE_END.finditer(before)), default=0) :]
    ends = find_all(rules.clause_ends, before)
    before = before[ends[-1][1] :] if ends else before
    limit = search(rules.clause_ends, after)
    return before, after, limit.start() if limit else len(after)


def _after(rule: Ready, clause: str, limit: int) -> str | None:
    m = search(rule.after, clause)
    if (
        m is None
        or m.start() > min(rule.near + len(clause) - len(clause.lstrip()), limit)
        or search(rule.unless, clause[: m.end()])
    ):
        return None
    return m[0]


def _before(rule: Ready, clause: str) -> str | None:
    m = search(rule.before, clause)
    return None if m is None or search(rule.unless, clause[m.start() :]) else m[0]
