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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .compiled import CompiledPhrases, CompiledRules
from .entities import ReadText
from .statements import CLAUSE_END, STOP, syllable_pairs
from .text import normalise
from .wording import Matches, find_matches

Place = dict[str, Any]
"""Evidence: `text`, and where it stands: `at` in the summary, `context` and `context_at` in a source."""

AS_A_RULE = "a source says it as a rule"
STATED_RATE = "a source states the rate in the same words"

_RATE = re.compile("[0-9]|전액")
_NEXT_WORD = re.compile(r"\s{0,2}[가-힣]{2}")

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
    """A clause, or the part of one between commas: `match`, its first wording of a tag, as evidence, and `words`.

    words: the pairs of syllables and the figures in it.
    """

    match: Place
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
    restate: bool = True,
) -> tuple[Matches, Place]:
    """Where a summary tells a tag, and the first place of the sources that name one that it leaves out."""
    matches = find_matches(named, summary, rules)
    if matches.standing:
        return matches, {}
    naming = _carriers(named, sources, rules)
    carrying = naming + _carriers(signs, sources, rules)
    for clause in _clauses_with(signs, summary, rules):
        source = max(carrying, key=clause.likeness, default=None)
        if source and clause.likeness(source) >= ALIKE:
            matches.standing.append({**source.match, **clause.match})
    if not matches.standing and restate:
        parts = _carriers(named, sources, rules, STOP) or _carriers(signs, sources, rules, STOP)
        matches.standing.extend(_restatements(summary, parts))
    left_out = bool(naming) and not matches.standing
    return matches, naming[0].match if left_out else {}


def _restatements(summary: ReadText, parts: Sequence[Clause]) -> Iterator[Place]:
    """The clauses of a summary that restate any of some parts of the sources."""
    for start, end, words in _clauses(summary, CLAUSE_END):
        clause = Clause({"text": summary.raw[start:end], "at": [start, end]}, words)
        for part in parts:
            if clause.restates(part):
                yield {**part.match, **clause.match}
                break


def open_tasks(
    summary: ReadText,
    sources: Sequence[ReadText],
    rules: CompiledRules,
    due: bool,
) -> Matches:
    """The follow-ups that a summary names.

    due: one is expected, and is told in weak words, too, as a risk is. Else a clause that tells again what a
    source says without any follow-up is a rule of the product (승인서가 있어야 보상), and none.
    """
    if due:
        matches, _ = told(rules.followup, rules.followup_signs, summary, sources, rules, False)
        return matches
    matches = find_matches(rules.followup, summary, rules)
    if not matches.standing:
        return matches
    told_as_rules = _clauses_without(rules.followup_signs, sources, rules)
    for clause in _clauses_with(rules.followup, summary, rules):
        source = max(told_as_rules, key=clause.likeness, default=None)
        if source and clause.likeness(source) >= RESTATED:
            matches.standing.remove(clause.match)
            by = clause.match["text"]
            matches.let_off.append({**clause.match, "let_off": AS_A_RULE, "by": by})
    return matches


def _clauses_without(
    named: CompiledPhrases,
    sources: Sequence[ReadText],
    rules: CompiledRules,
) -> list[Clause]:
    """The clauses of the sources in which none of the phrases stands."""
    naming = {clause.words for clause in _carriers(named, sources, rules)}
    others = []
    for source in sources:
        for start, end, words in _clauses(source, CLAUSE_END):
            if words not in naming:
                others.append(Clause({"text": source.raw[start:end], "at": [start, end]}, words))
    return others[:MOST_CLAUSES]


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
                places[entity.key] = carrying[0].match
                break
    return places


def promises(
    named: CompiledPhrases,
    summary: ReadText,
    sources: Sequence[ReadText],
    rules: CompiledRules,
) -> Matches:
    """The definitive phrases of a summary; a rate (100% 보상) that a source states word for word is let off.

    The literal rules, which do not fold look-alikes, let nothing off.
    """
    matches = find_matches(named, summary, rules)
    has_rate = any(_RATE.search(match["text"]) for match in matches.standing)
    if not has_rate or not rules.fold:
        return matches
    of_sources = set()
    for source in sources:
        for match in find_matches(named, source, rules).standing:
            of_sources.add(_with_next_word(match, source))
    promised = []
    for match in matches.standing:
        is_rate = _RATE.search(match["text"])
        if is_rate and _with_next_word(match, summary) in of_sources:
            matches.let_off.append({**match, "let_off": STATED_RATE, "by": match["text"]})
        else:
            promised.append(match)
    matches.standing[:] = promised
    return matches


def _with_next_word(match: Place, read: ReadText) -> str:
    """A match with the first two syllables of the word behind it, without blanks."""
    start, end = match["at"]
    word = _NEXT_WORD.match(read.raw, end)
    end = word.end() if word else end
    return normalise("".join(read.raw[start:end].split())).norm


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
            text, at = clause.match["text"], clause.match["at"]
            place = {"text": text, "context": number, "context_at": at}
            carrying.append(Clause(place, clause.words))
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
    following = iter(matches)
    match = next(following, None)
    clauses = []
    for _, end, words in _clauses(read, ends):
        if match and match["at"][0] < end:
            clauses.append(Clause(match, words))
        while match and match["at"][0] < end:
            match = next(following, None)
    return clauses[:MOST_CLAUSES]


def _clauses(
    read: ReadText,
    ends: re.Pattern[str],
) -> Iterator[tuple[int, int, frozenset[str]]]:
    """Where each clause of a text begins and ends, and its words and figures."""
    figures = [entity for entity in read.entities if entity.base]
    start = 0
    following = 0
    for end in [*(match.end() for match in ends.finditer(read.raw)), len(read.raw)]:
        words = set(syllable_pairs(normalise(read.raw[start:end]).norm))
        while following < len(figures) and figures[following].start < end:
            words.add(figures[following].key)
            following += 1
        yield start, end, frozenset(words)
        start = end
