"""Risk tags that a summary tells in words too weak to cover them alone, where a source says what they mean.

    sources --wordings of the tag, and its signs--> clauses that carry the tag
    summary --clauses--alike?--------------------> covered

A sign is a class of grammar or of plain words: a conditional ending, a negation, a period that is over. It stands
in many sentences, so that a clause with it must be like one of the sources that carries the tag; a clause without it
must be more so.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from .compiled import FOLLOWUP_TAG, CompiledPhrases, CompiledRules
from .entities import ReadText
from .facts import STOP, syllable_pairs
from .text import normalise
from .wording import Matches, find_matches

Place = dict[str, Any]
"""Evidence: `text`, and where it stands: `at` in the summary, `context` and `context_at` in a source."""

STATED_RATE = "a source states the rate"

_RATE = re.compile("[0-9]|전액")

_DONE = re.compile(r"(?:완료|종결)(?:[했하되됨함]\w*)?\W*$")
"""A clause that tells what took place, which is not pending any more (D21)."""

ALIKE = 1 / 3
"""Share of the words and figures of the shorter of two clauses that stand in both, if they say the same."""

RESTATED = 0.4
"""The same of two clauses together, where the summary's has no word of the tag."""

FEWEST_SHARED = 4
"""Words and figures that two such clauses have in common at least."""

BOUNDS = {"이상", "이하", "초과", "미만", "이내"}
"""Words of a figure's bound: they say nothing of what a clause is about."""

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
        if self.worded:
            return shared > 0 and shared >= ALIKE * min(sizes)
        return shared >= FEWEST_SHARED and 2 * shared >= RESTATED * sum(sizes)


def find_tag(
    tag: str,
    summary: ReadText,
    sources: Sequence[ReadText],
    rules: CompiledRules,
) -> tuple[Matches, Place]:
    """Where a summary tells a tag, and the first place of the sources that name one that it leaves out."""
    named = rules.tags[tag]
    signs = rules.signs[tag]
    matches = find_matches(named, summary, rules)
    if matches.standing:
        return matches, {}
    strong = _carriers(named, sources, rules)
    weak = _carriers(signs, sources, rules)
    found = find_matches(signs, summary, rules).standing
    for clause in _clauses(summary, found)[:MOST_CLAUSES]:
        if tag == FOLLOWUP_TAG and (not clause.worded or _DONE.search(clause.text)):
            continue
        carrying = [*strong, *weak] if clause.worded else strong or weak
        source = next(filter(clause.tells, carrying), None)
        if source:
            matches.standing.append({**source.place, **clause.place})
            if not clause.worded:
                matches.bare.append(matches.standing[-1])
    if len(matches.bare) < len(matches.standing):
        matches.bare.clear()
    left_out = strong and not matches.standing
    return matches, strong[0].place if left_out else {}


def weakly_said(
    summary: ReadText,
    sources: Sequence[ReadText],
    rules: CompiledRules,
) -> dict[str, Place]:
    """Condition words of a summary (제외) that a source says in words of their tag (안 들어가요): key -> place."""
    places = {}
    for entity in summary.entities:
        tag = rules.tag_of_concept.get(entity.value)
        if tag in rules.tags and entity.key not in places:
            carrying = _carriers(rules.signs[tag], sources, rules)
            if carrying:
                places[entity.key] = carrying[0].place
    return places


def promises(
    named: CompiledPhrases,
    summary: ReadText,
    sources: Sequence[ReadText],
    rules: CompiledRules,
) -> Matches:
    """The definitive phrases of a summary; a rate (100% 보상) is let off in a clause that tells a source's rate again.

    The literal rules, which do not fold look-alikes, let nothing off.
    """
    matches = find_matches(named, summary, rules)
    if not rules.fold:
        return matches
    stated = _carriers(named, sources, rules)
    for clause in _clauses(summary, matches.standing):
        text = clause.place["text"]
        if clause.worded and _RATE.search(text) and any(map(clause.tells, stated)):
            matches.standing.remove(clause.place)
            matches.let_off.append({**clause.place, "let_off": STATED_RATE, "by": text})
    return matches


def _carriers(
    named: CompiledPhrases,
    sources: Sequence[ReadText],
    rules: CompiledRules,
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
    ends = [*(match.end() for match in STOP.finditer(read.raw)), len(read.raw)]
    first: dict[int, Place] = {}
    for match in matches:
        number = bisect_right(ends, match["at"][0])
        first.setdefault(number, match)
    figures: dict[int, set[str]] = defaultdict(set)
    for entity in read.entities:
        if entity.base:
            number = bisect_right(ends, entity.start)
            figures[number].add(entity.key)
    clauses = []
    start = 0
    for number, end in enumerate(ends):
        text = read.raw[start:end]
        words = syllable_pairs(normalise(text).norm) - BOUNDS | figures[number]
        place = first.get(number, {"text": text, "at": [start, end]})
        clauses.append(Clause(place, text, number in first, words))
        start = end
    return clauses
