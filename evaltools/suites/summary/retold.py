"""Risk tags that a summary tells in words too weak to cover them alone, where a source says what they mean.

    sources --wordings of the tag and its signs------------------> clauses that carry the tag
    summary --signs of the tag-----------------------------------> clauses --alike?--> covered
    summary --all clauses--------------------------------> most of such a part of a source? --> covered

A sign is a class of grammar or of plain words: a conditional ending, a negation, a period that is over. It stands
in many sentences; it covers a tag only in a clause that tells again what such a clause of the sources says.
Without a sign it covers a tag where it restates most of what a source says in a wording of the tag.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from .compiled import CompiledPhrases, CompiledRules
from .entities import ReadText
from .statements import CLAUSE_END, STOP, syllable_pairs
from .text import normalise
from .wording import Matches, find_matches

Place = dict[str, Any]
"""Evidence: `text`, and where it stands: `at` in the summary, `context` and `context_at` in a source."""

AS_A_RULE = "a source says it as a rule"
STATED_RATE = "a source states the rate"

_RATE = re.compile("[0-9]|전액")

BOUNDS = {"이상", "이하", "초과", "미만", "이내"}
"""Words of a figure's bound: they say nothing of what a clause is about."""

ALIKE = 1 / 3
"""Share of the words and figures of the shorter of two clauses that stand in both, if they say the same."""

RESTATED = 1 / 2
"""Share of the words and figures of a part of a source that a clause has, if it says the same in other words."""

FEWEST_SHARED = 5
"""Words and figures that such a clause has in common with the source at least."""

MOST_CLAUSES = 200
"""Clauses of a text that are compared."""


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause of a text, or the part of one between commas.

    place: its first wording of a tag, as evidence; where none was looked for or found, the clause itself.
    words: the pairs of syllables and the figures in it.
    """

    place: Place
    worded: bool
    words: frozenset[str]

    @property
    def figures(self) -> frozenset[str]:
        return frozenset(word for word in self.words if ":" in word)

    def likeness(self, other: Clause) -> float:
        """The share of the words and figures of the shorter clause that stand in both: 0..1."""
        shorter = min(len(self.words), len(other.words))
        if shorter == 0:
            return 0.0
        return len(self.words & other.words) / shorter

    def source(self, clauses: Sequence[Clause], least: float) -> Clause | None:
        """The most alike of the clauses of the sources, if it is at least so much alike."""
        closest = max(clauses, key=self.likeness, default=None)
        if closest and self.likeness(closest) >= least:
            return closest
        return None

    def restates(self, source: Clause) -> bool:
        """Whether most of what a part of a source says stands in this clause, or two figures that are all of its."""
        shared = self.words & source.words
        if len(source.figures) > 1 and source.figures <= shared:
            return True
        return len(shared) >= max(FEWEST_SHARED, RESTATED * len(source.words))


def told(
    named: CompiledPhrases,
    signs: CompiledPhrases,
    summary: ReadText,
    sources: Sequence[ReadText],
    rules: CompiledRules,
) -> tuple[Matches, Place]:
    """Where a summary tells a tag, and the first place of the sources that name one that it leaves out."""
    matches = _told_in_phrases_or_signs(named, signs, summary, sources, rules)
    if matches.standing:
        return matches, {}
    parts = _carriers(named, sources, rules, STOP) or _carriers(signs, sources, rules, STOP)
    for clause in _clauses(summary):
        source = next(filter(clause.restates, parts), None)
        if source:
            matches.standing.append({**source.place, **clause.place})
    naming = _carriers(named, sources, rules)
    left_out = naming and not matches.standing
    return matches, naming[0].place if left_out else {}


def _told_in_phrases_or_signs(
    named: CompiledPhrases,
    signs: CompiledPhrases,
    summary: ReadText,
    sources: Sequence[ReadText],
    rules: CompiledRules,
) -> Matches:
    """The phrases of a summary; where none stands, its signs in clauses that tell a clause of the sources again."""
    matches = find_matches(named, summary, rules)
    if matches.standing:
        return matches
    carrying = _carriers(named, sources, rules) + _carriers(signs, sources, rules)
    for clause in _clauses_with(signs, summary, rules):
        source = clause.source(carrying, ALIKE)
        if source:
            matches.standing.append({**source.place, **clause.place})
    return matches


def open_tasks(
    summary: ReadText,
    sources: Sequence[ReadText],
    rules: CompiledRules,
    due: bool,
) -> Matches:
    """The follow-ups that a summary names.

    due: one is expected, and is told in weak words, too, as a risk is. Else a clause that tells again what a
    source says without anything that makes an act pending is a rule of the product (승인서가 있어야 보상), and none.
    """
    named, signs = rules.followup, rules.followup_signs
    if due:
        return _told_in_phrases_or_signs(named, signs, summary, sources, rules)
    matches = find_matches(named, summary, rules)
    if not matches.standing:
        return matches
    told_as_rules = []
    for source in sources:
        pending = find_matches(signs, source, rules).standing
        for clause in _clauses(source, CLAUSE_END, pending):
            if not clause.worded:
                told_as_rules.append(clause)
    for clause in _clauses_with(named, summary, rules):
        if clause.source(told_as_rules[:MOST_CLAUSES], RESTATED):
            matches.standing.remove(clause.place)
            by = clause.place["text"]
            matches.let_off.append({**clause.place, "let_off": AS_A_RULE, "by": by})
    return matches


def weakly_said(
    summary: ReadText,
    sources: Sequence[ReadText],
    rules: CompiledRules,
) -> dict[str, Place]:
    """Condition words of a summary (제외) that a source says in words of their tag (안 들어가요): key -> place."""
    places = {}
    for entity in summary.entities:
        tag = rules.tag_of_concept.get(entity.value)
        if tag not in rules.tags or entity.key in places:
            continue
        for named in (rules.tags[tag], rules.signs[tag]):
            carrying = _carriers(named, sources, rules)
            if carrying:
                places[entity.key] = carrying[0].place
                break
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
    for clause in _clauses_with(named, summary, rules):
        text = clause.place["text"]
        if _RATE.search(text) and clause.source(stated, ALIKE):
            matches.standing.remove(clause.place)
            matches.let_off.append({**clause.place, "let_off": STATED_RATE, "by": text})
    return matches


def _carriers(
    named: CompiledPhrases,
    sources: Sequence[ReadText],
    rules: CompiledRules,
    ends: re.Pattern[str] = CLAUSE_END,
) -> list[Clause]:
    """The clauses of the sources in which any of the phrases stands, with the place in its context."""
    carrying = []
    for number, source in enumerate(sources):
        for clause in _clauses_with(named, source, rules, ends):
            place = {
                "text": clause.place["text"],
                "context": number,
                "context_at": clause.place["at"],
            }
            carrying.append(replace(clause, place=place))
    return carrying


def _clauses_with(
    named: CompiledPhrases,
    read: ReadText,
    rules: CompiledRules,
    ends: re.Pattern[str] = CLAUSE_END,
) -> list[Clause]:
    """The clauses of a text in which any of the phrases stands."""
    matches = find_matches(named, read, rules).standing
    if not matches:
        return []
    worded = [clause for clause in _clauses(read, ends, matches) if clause.worded]
    return worded[:MOST_CLAUSES]


def _clauses(
    read: ReadText,
    ends: re.Pattern[str] = CLAUSE_END,
    matches: Sequence[Place] = (),
) -> list[Clause]:
    """The clauses of a text, each with the first of the matches that begin in it."""
    figures = [entity for entity in read.entities if entity.base]
    clauses = []
    start = 0
    next_figure = 0
    next_match = 0
    for end in [*(match.end() for match in ends.finditer(read.raw)), len(read.raw)]:
        text = read.raw[start:end]
        words = set(syllable_pairs(normalise(text).norm) - BOUNDS)
        while next_figure < len(figures) and figures[next_figure].start < end:
            words.add(figures[next_figure].key)
            next_figure += 1
        first_match = next_match
        while next_match < len(matches) and matches[next_match]["at"][0] < end:
            next_match += 1
        worded = next_match > first_match
        place = matches[first_match] if worded else {"text": text, "at": [start, end]}
        clauses.append(Clause(place, worded, frozenset(words)))
        start = end
    return clauses
