"""Risk tags that a summary tells in words too weak to cover them alone, where a source says what they mean.

    sources --wordings of the tag, and its signs--> clauses that carry the tag
    summary --clauses--alike?--------------------> covered

A sign is a class of grammar or of plain words: a conditional ending, a negation, a period that is over. It stands
in many sentences, so that a clause with it must be like one of the sources that carries the tag; a clause without it
must be more so.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from .entities import ReadText
from .facts import STOP, syllable_pairs
from .rules import PhraseSet, Rules
from .text import normalise
from .wording import Matches, find_matches

Place = dict[str, Any]
"""Evidence: `text`, and where it stands: `at` in the summary, `context` and `context_at` in a source."""

STATED_RATE = "a source states the rate"

_RATE = re.compile("[0-9]|전액")

ALIKE = 1 / 3
"""Share of the words and figures of the shorter of two clauses that stand in both, if they say the same."""

MOST_CLAUSES = 200
"""Clauses of a text that are compared."""


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause of a text.

    place: its first wording of a tag, as evidence; where none was looked for or found, the clause itself.
    words: the pairs of syllables and the figures in it.
    """

    place: Place
    text: str
    worded: bool
    words: frozenset[str]

    def tells(self, source: Clause) -> bool:
        """Whether it says what a clause of a source says: its figures, two or more, or enough of its words."""
        figures = {word for word in source.words if ":" in word}
        if len(figures) > 1 and figures <= self.words:
            return True
        shared = len(self.words & source.words)
        sizes = len(self.words), len(source.words)
        return shared > 0 and shared >= ALIKE * min(sizes)


def find_tag(
    tag: str,
    summary: ReadText,
    sources: Sequence[ReadText],
    rules: Rules,
) -> tuple[Matches, Place]:
    """Where a summary tells a tag, and the first place of the sources that name one that it leaves out."""
    matches = find_matches(rules.known_tags[tag], summary, rules)
    if matches.standing:
        return matches, {}
    strong = _carriers(rules.known_tags[tag], sources, rules)
    weak = _carriers(rules.signs[tag], sources, rules)
    found = find_matches(rules.signs[tag], summary, rules).standing
    standing = []
    for clause in _clauses(summary, found)[:MOST_CLAUSES]:
        source = next(filter(clause.tells, [*strong, *weak]), None)
        if source and clause.worded:
            standing.append({**source.place, **clause.place})
    left_out = strong[0].place if strong and not standing else {}
    return Matches(standing, matches.let_off), left_out


def weakly_said(
    summary: ReadText,
    sources: Sequence[ReadText],
    rules: Rules,
) -> dict[str, Place]:
    """Condition words of a summary (제외) that a source says in words of their tag (안 들어가요): key -> place."""
    places = {}
    tag_of = {words.value: words.tag for words in rules.values}
    for entity in summary.entities:
        tag = tag_of.get(entity.value)
        if tag in rules.tags and entity.key not in places:
            for clause in _carriers(rules.signs[tag], sources, rules)[:1]:
                places[entity.key] = clause.place
    return places


def promises(
    named: PhraseSet,
    summary: ReadText,
    sources: Sequence[ReadText],
    rules: Rules,
) -> Matches:
    """The definitive phrases of a summary; a rate (100% 보상) is let off in a clause that tells a source's rate again.

    The literal rules, which do not fold look-alikes, let nothing off.
    """
    matches = find_matches(named, summary, rules)
    if not rules.fold or not matches.standing:
        return matches
    stated = _carriers(named, sources, rules)
    for clause in _clauses(summary, matches.standing):
        text = clause.place["text"]
        if clause.worded and _RATE.search(text) and any(map(clause.tells, stated)):
            matches.standing.remove(clause.place)
            matches.let_off.append({**clause.place, "let_off": STATED_RATE, "by": text})
    return matches


def _carriers(
    named: PhraseSet,
    sources: Sequence[ReadText],
    rules: Rules,
) -> list[Clause]:
    """The clauses of the sources in which any of the phrases stands, with the place in its context."""
    carrying = []
    for number, source in enumerate(sources):
        matches = find_matches(named, source, rules).standing
        for clause in _clauses(source, matches) if matches else ():
            if clause.worded:
                text, at = clause.place["text"], clause.place["at"]
                place = {"text": text, "context": number, "context_at": at}
                carrying.append(replace(clause, place=place))
    return carrying[:MOST_CLAUSES]


def _clauses(read: ReadText, matches: Sequence[Place]) -> list[Clause]:
    """The clauses of a text, each with the first of the matches that begin in it."""
    places = [match["at"][0] for match in matches]
    begins = [entity.start for entity in read.entities]
    clauses = []
    start = 0
    for end in [*(match.end() for match in STOP.finditer(read.raw)), len(read.raw)]:
        text = read.raw[start:end]
        worded = matches[bisect_left(places, start) : bisect_left(places, end)]
        within = read.entities[bisect_left(begins, start) : bisect_left(begins, end)]
        figures = {entity.key for entity in within if entity.base}
        words = syllable_pairs(normalise(text).norm) | figures
        place = worded[0] if worded else {"text": text, "at": [start, end]}
        clauses.append(Clause(place, text, bool(worded), words))
        start = end
    return clauses
