"""Risk tags that a summary tells in words too weak to cover them alone, where a source says what they mean.

    sources --wordings of the tag; where none stands, its signs--> clauses that carry the tag
    summary --signs of the tag-----------------------------------> clauses --alike?--> covered

A sign is a class of grammar or of plain words: a conditional ending, a negation, a period that is over. It stands
in many sentences; it covers a tag only in a clause that tells again what such a clause of the sources says.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .compiled import CompiledPhrases, CompiledRules
from .entities import ReadText
from .statements import CLAUSE_END, syllable_pairs
from .text import normalise
from .wording import Matches, find_matches

ALIKE = 0.3
"""Share of the words and figures of the shorter of two clauses that stand in both, if they say the same."""

MOST_CLAUSES = 200
"""Clauses of a text that are compared."""


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause with a wording of a tag: `match`, its first one, as evidence, and the words and figures around."""

    match: dict[str, Any]
    words: frozenset[str]


def tag_told(
    tag: str, summary: ReadText, sources: Sequence[ReadText], rules: CompiledRules
) -> tuple[Matches, dict[str, Any]]:
    """Where a summary tells a tag, and the first place of the sources that name one that it leaves out."""
    matches = find_matches(rules.tags[tag], summary, rules)
    if matches.standing:
        return matches, {}
    carrying = _carriers(rules.tags[tag], sources, rules)
    due = carrying[0].match if carrying else {}
    if not carrying:
        carrying = _carriers(rules.signs[tag], sources, rules)
    for clause in _clauses_with(rules.signs[tag], summary, rules):
        source = max(carrying, key=lambda other: _alike(clause, other), default=None)
        if source is not None and _alike(clause, source) >= ALIKE:
            matches.standing.append({**source.match, **clause.match})
    return matches, {} if matches.standing else due


def weakly_said(
    summary: ReadText, sources: Sequence[ReadText], rules: CompiledRules
) -> dict[str, dict[str, Any]]:
    """Condition words of a summary (제외) that a source says by a sign of their tag (안 들어가요): key -> place."""
    places = {}
    for entity in summary.entities:
        signs = rules.signs.get(rules.tag_of_concept.get(entity.value, ""))
        if signs and entity.key not in places:
            for clause in _carriers(signs, sources, rules)[:1]:
                places[entity.key] = clause.match
    return places


def _carriers(
    named: CompiledPhrases, sources: Sequence[ReadText], rules: CompiledRules
) -> list[Clause]:
    """The clauses of the sources in which any of the phrases stands, with the place in its context as evidence."""
    carrying = []
    for number, source in enumerate(sources):
        for clause in _clauses_with(named, source, rules):
            match = clause.match
            place = {"text": match["text"], "context": number, "context_at": match["at"]}
            carrying.append(Clause(place, clause.words))
    return carrying


def _clauses_with(named: CompiledPhrases, read: ReadText, rules: CompiledRules) -> list[Clause]:
    """The clauses of a text in which any of the phrases stands."""
    matches: dict[int, dict[str, Any]] = {}
    figures = defaultdict(set)
    ends = [end.end() for end in CLAUSE_END.finditer(read.raw)]
    for match in find_matches(named, read, rules).standing:
        matches.setdefault(bisect_right(ends, match["at"][0]), match)
    for entity in read.entities:
        if entity.base:
            figures[bisect_right(ends, entity.start)].add(entity.key)
    bounds = [0, *ends, len(read.raw)]
    clauses = []
    for number, match in list(matches.items())[:MOST_CLAUSES]:
        clause = read.raw[bounds[number] : bounds[number + 1]]
        words = syllable_pairs(normalise(clause).norm)
        clauses.append(Clause(match, words | figures[number]))
    return clauses


def _alike(one: Clause, other: Clause) -> float:
    """The share of the words and figures of the shorter clause that the other has too: 0..1."""
    shorter = min(len(one.words), len(other.words))
    return len(one.words & other.words) / shorter if shorter else 0.0
