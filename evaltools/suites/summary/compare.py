"""Each fact of a summary against those of the sources: supported, contradicted, elsewhere or absent.

    value of the summary --nearest fact of the same value--> supported, contradicted, or at another item
                         --none of the same value----------> told roughly, or absent, with what the source says instead

The pair of facts is the evidence. A contradiction counts as no support. What only a person can settle is listed (`look`)
and changes no score: words that tell two items apart in a text do not always do so. Source: specification D34.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from difflib import SequenceMatcher
from functools import cached_property, lru_cache
from typing import Any

from .entities import Entity, ReadText, Texts, month_and_day
from .facts import (
    CHANGE,
    CLAIM,
    DENIED,
    DOWN,
    HIGH,
    LOW,
    NEGATIVE,
    OPPOSITE,
    OPPOSITE_BOUND,
    OPPOSITE_PAYMENT,
    Fact,
    clause_facts,
    closing,
    has_figure,
    restated,
    value_facts,
)
from .text import TEN_THOUSAND, written

Evidence = dict[str, Any]

MOST_SOURCES = 600
"""Values of the sources that each value of a summary is held against; all others are compared by value only."""

MOST_PLACES = 20
"""Places of one value whose words are compared with those of another value."""

PREFERRED = 0.2
"""By so much less alike counts a passage that does not say the same."""

ALIKE = 0.5
"""Share of the words of a fact that stand around one of a source about the same thing."""

WRITTEN_ALIKE = 0.1
"""What counts as much as values that are written the same (measured: a wrong digit is shown beside its original in 9 of
10 instead of 8 of 10, a date in 8 of 10 instead of 4)."""

MISPLACED = 1.25
"""Weight of the words of a value's item that stand around another value of the sources alone, if it is of another item.
Of two values that a summary states both, and may have swapped: of both together."""

MOST_COUNTED = 10
"""Up to so many things of a text a summary may count itself."""

FIGURES = ("amount", "percent", "duration", "age", "count", "date")
"""Kinds of values that texts say of several items."""

NAMES = ("grade", "generation")
"""Units of counts that name a thing (1~3세대), and are told of no other."""

SUMS = ("amount", "percent", "count")
"""Kinds of values whose payment and denial exclude each other; a period may be told by either."""

BOUNDS = frozenset({LOW, HIGH})

ITEM = "the source says it of another item"


@dataclass(frozen=True, slots=True)
class Comparison:
    """What the sources say to the values of a summary, as JSON values.

    supported, unsupported: key -> value, each once. contradicted: those of the unsupported of which a
    source says the opposite. look: what a person must settle, with `why`.
    """

    supported: dict[str, Evidence]
    unsupported: dict[str, Evidence]
    contradicted: list[Evidence]
    look: list[Evidence]


def compare(
    summary: ReadText,
    sources: Texts,
    in_other_words: Mapping[str, Evidence],
    relations: bool = True,
) -> Comparison:
    """Hold each fact of a summary against the sources.

    in_other_words: key of a value that a source says in other words -> its place. relations: whether bounds, items
    and clauses count.
    """
    known = _known(tuple(sources))
    result = Comparison({}, {}, [], [])
    facts = [fact for fact in value_facts(summary) if not fact.entity.support_only]
    if relations:
        clauses = clause_facts(summary)
        facts += [c for c in clauses if closing(c.entity.text) or not has_figure(c.entity.text)]
    own = by_key(facts) if relations else {}
    for fact in facts:
        key, is_value = fact.entity.key, fact.entity.kind not in ("figure", CLAIM)
        nearest = known.nearest(fact)
        if nearest is not None:
            _add_pair(
                fact,
                nearest,
                known,
                own,
                result,
            )
        elif key in in_other_words:
            result.supported[key] = as_json(fact.entity) | in_other_words[key]
        elif is_value and key not in result.supported and key not in result.unsupported:
            _add_absent(fact, summary.raw, known, result)
    return result


def _add_pair(
    fact: Fact,
    nearest: Fact,
    known: Sources,
    own: Mapping[str, Sequence[Fact]],
    result: Comparison,
) -> None:
    """A fact beside the nearest of the same value: supported, contradicted, or at another item.

    own: the facts of the summary by key; empty where the value alone counts.
    """
    kind = fact.entity.kind
    key = fact.entity.text if kind == CLAIM else fact.entity.key
    shown = as_json(fact.entity) | nearest.place
    why, is_sure = known.contradiction(fact, nearest) if own else ("", False)
    if is_sure:
        if kind == CLAIM:
            places = (value["at"][0] for value in result.contradicted)
            if any(fact.entity.start <= place < fact.entity.end for place in places):
                return  # a value of the clause says so already
        result.supported.pop(key, None)
        result.contradicted.append({**shown, "why": why})
        if kind != "figure":
            result.unsupported.setdefault(key, result.contradicted[-1])
        return
    if kind not in ("figure", CLAIM) and key not in result.unsupported:
        result.supported.setdefault(key, shown)
    if own and not why:
        other = known.elsewhere(fact, own)
        if other is not None:
            why = ITEM
            shown |= other.place
    if why:
        result.look.append({**shown, "why": why})


def _add_absent(
    fact: Fact,
    answer: str,
    known: Sources,
    result: Comparison,
) -> None:
    """A value that no source states: told roughly, one step away from the source's, or unsupported (D33)."""
    entity = fact.entity
    shown = as_json(entity)
    why = ""
    readings = [known.without_unit.get(reading) for reading in _written_bare(entity)]
    original = next(filter(None, readings), None)
    if original is None:
        original, why = restated(fact, known.values, answer)
    if original is not None:
        result.supported[entity.key] = shown | original.place
        if why:
            result.look.append({**shown, **original.place, "why": why})
    elif not known.lets_count(entity):
        instead = known.instead(fact)
        if instead is not None:
            shown |= {"instead": instead.entity.text, **instead.place}
        result.unsupported[entity.key] = shown


class Sources:
    """The facts of the sources, to find the one that a fact of a summary rests on.

    values: facts of values and bare figures. compared: those with a value. weights: of the words around these, one
    over the number of values that each stands around. of_kind: kind and unit -> the same among the values of that
    kind alone, which a word may tell apart though it stands around others too.
    """

    def __init__(self, sources: Texts):
        self.values: list[Fact] = []
        clauses: list[Fact] = []
        for number, source in enumerate(sources):
            self.values += value_facts(source, number)
            clauses += clause_facts(source, number)
        with_value = [fact for fact in self.values if fact.entity.kind != "figure"]
        self.compared = with_value[:MOST_SOURCES]
        self.weights = _rarity(self.compared)
        by_kind: dict[tuple[str, str], list[Fact]] = {}
        for fact in self.compared:
            by_kind.setdefault(_kind(fact), []).append(fact)
        self.of_kind = {kind: _rarity(alike) for kind, alike in by_kind.items()}
        # a clause without figures is held against all, one with figures against those with the same ones
        self.same = {**by_key([*self.values, *clauses]), f"{CLAIM}::": clauses}

    @cached_property
    def without_unit(self) -> dict[str, Fact]:
        """What is written without a unit -> its first place.

        Figures (1년 안에는 500, 집기 4천), ordinals (9주차), and days with a slash (3/6), which alone may be a fraction.
        """
        places: dict[str, Fact] = {}
        for fact in self.values:
            entity = fact.entity
            if entity.kind == "date":
                places.setdefault(month_and_day(entity, "/"), fact)
            elif entity.kind == "figure" and not entity.base and len(entity.value) > 1:
                digits = entity.value.replace(",", "").replace("천", "000")
                places.setdefault(digits, fact)
            elif entity.kind == "figure" and entity.text.endswith("차"):
                places.setdefault(entity.text.removesuffix("차"), fact)
        return places

    def lets_count(self, entity: Entity) -> bool:
        """Whether a summary may count itself (다섯 가지, 두 번): a small count of what no source counts."""
        if entity.kind != "count" or Decimal(entity.value) > MOST_COUNTED:
            return False
        return entity.base not in {fact.entity.base for fact in self.values}

    def alike(
        self,
        fact: Fact,
        source: Fact,
        unknown: float = 1.0,
    ) -> float:
        """The share of the words of a fact, by rarity, that stand around one of the sources too: 0..1.

        unknown: the weight of a word that stands around no value of the sources.
        """
        total = _total(self.weights, fact.words, unknown)
        shared = _total(self.weights, fact.words & source.words, unknown)
        return shared / total if total else 0.0

    def nearest(self, fact: Fact) -> Fact | None:
        """The fact of the same value around which most of the same words stand; of equal ones the first.

        One that says the same of it, as a bound or that it is paid, is preferred: bounds come in pairs
        (3만원 이하, 3만원 초과).
        """
        same = self.same.get(fact.entity.key, [])[:MOST_SOURCES]
        if fact.says & BOUNDS:
            if fact.entity.kind == "duration":
                # a sum paid each month is no period that something must last
                same = [source for source in same if not source.entity.support_only]
            # what puts a bound on it, of whatever side, says more of it than what only mentions it
            same = [source for source in same if source.says & BOUNDS] or same

        def rank(source: Fact) -> float:
            confirms = fact.says & source.says and not _contradicted(fact, source)
            return self.alike(fact, source) + PREFERRED * bool(confirms)

        return max(same, key=rank, default=None)

    def contradiction(
        self,
        fact: Fact,
        nearest: Fact,
    ) -> tuple[str, bool]:
        """Why a source says the opposite of a fact ("" where it does not), and whether that is sure.

        Two opposites make a right sentence again: within 2 months it is paid, after 2 months it is not.
        A sum that the sources only state with a minus sign must be told as lost too.
        """
        kind = fact.entity.kind
        if all(NEGATIVE in source.says for source in self.same[fact.entity.key]):
            return (CHANGE, True) if DOWN not in fact.says else ("", False)
        why = _contradicted(fact, nearest)
        alike = self.alike(fact, nearest, unknown=int(kind == CLAIM))
        of_period = kind not in (*SUMS, CLAIM) and not fact.says & nearest.says & BOUNDS
        turned_twice = (DENIED in fact.says) != (DENIED in nearest.says)
        if (
            (why == OPPOSITE_PAYMENT and of_period)
            or (why == OPPOSITE_BOUND and turned_twice)
            or (kind == CLAIM and alike < ALIKE)
        ):
            why = ""
        return why, why != "" and alike >= ALIKE

    def instead(self, fact: Fact) -> Fact | None:
        """The sources' own value of the kind at the item of a value that none of them states.

        Of those around which about as many of its words stand the one that is written most alike: 94.1% for 91.4%.
        """
        kind, value = fact.entity.kind, fact.entity.value
        weight = WRITTEN_ALIKE if has_figure(value) else 0
        ranked: list[tuple[float, int, Fact]] = []
        for number, source in enumerate(self.compared):
            alike = self.alike(fact, source) if source.entity.kind == kind else 0
            if alike:
                written_alike = SequenceMatcher(None, value, source.entity.value).ratio()
                ranked.append((alike + weight * written_alike, -number, source))
        return max(ranked)[2] if ranked else None

    def elsewhere(
        self,
        fact: Fact,
        own: Mapping[str, Sequence[Fact]],
    ) -> Fact | None:
        """Another value of the kind that the source says of the item, where it does not say this one of it.

        own: the facts of the summary by key. Where it states the other value too, it may have swapped
        the two: each must fit better in the place of the other.
        """
        if fact.entity.kind not in FIGURES or fact.entity.base in NAMES or fact.is_reckoned:
            return None
        if self.same[fact.entity.key][0].entity.support_only:
            return None
        found: list[tuple[float, int, Fact]] = []
        for number, candidate in enumerate(self.compared):
            if not _is_alternative(fact, candidate):
                continue
            of_other, of_own = self._weights_of_item(fact, candidate)
            excess = of_other - of_own
            # what is said of a day stands on either side of it
            is_misplaced = fact.entity.kind != "date" and of_own == 0 and excess >= MISPLACED
            if excess > 0 and candidate.entity.key in own:
                others = own[candidate.entity.key][:MOST_PLACES]
                back = min(self._excess(other, fact.entity.key) for other in others)
                is_misplaced = back >= 0 and excess + back >= MISPLACED
            if is_misplaced:
                found.append((excess, -number, candidate))
        return max(found)[2] if found else None

    def _excess(
        self,
        fact: Fact,
        key: str,
    ) -> float:
        """How much more of the item of a fact stands around the value of a key than around its own."""
        weights = [self._weights_of_item(fact, source) for source in self.same[key][:MOST_PLACES]]
        return max(of_other - of_own for of_other, of_own in weights)

    def _weights_of_item(
        self,
        fact: Fact,
        other: Fact,
    ) -> tuple[float, float]:
        """The weight of the words of a fact's item that stand around another value of the sources alone, and around
        its own alone; of the places of its own the one where these are most alike.
        """
        weights = self.of_kind[_kind(other)]
        pairs = []
        for own in self.same[fact.entity.key][:MOST_PLACES]:
            around_other = fact.words & (other.words - own.words)
            around_own = fact.words & (own.words - other.words)
            pairs.append((_total(weights, around_other), _total(weights, around_own)))
        return min(pairs, key=lambda pair: pair[0] - pair[1])


_known = lru_cache(maxsize=64)(Sources)
"""Several summaries of the same texts often follow each other."""


def by_key(facts: Iterable[Fact]) -> Mapping[str, list[Fact]]:
    """The facts by the key of their value."""
    grouped: dict[str, list[Fact]] = {}
    for fact in facts:
        grouped.setdefault(fact.entity.key, []).append(fact)
    return grouped


def as_json(entity: Entity) -> Evidence:
    """A value of the summary as JSON."""
    return {
        "kind": entity.kind,
        "text": entity.text,
        "value": f"{entity.value} {entity.base}".strip(),
        "at": [entity.start, entity.end],
    }


def _kind(fact: Fact) -> tuple[str, str]:
    """Kind and unit of a value; days and months are told of one item (30일 후, 1년 후)."""
    kind, base = fact.entity.kind, fact.entity.base
    return kind, "" if base in ("day", "month") else base


def _rarity(facts: Iterable[Fact]) -> dict[str, float]:
    """The words of facts -> one over the number of those that each stands in."""
    counts = Counter(word for fact in facts for word in fact.words)
    return {word: 1 / count for word, count in counts.items()}


def _total(
    weights: Mapping[str, float],
    words: Iterable[str],
    unknown: float = 0.0,
) -> float:
    """The sum of the weights of words; exact, as a set has no order, and of equal passages the first counts."""
    return math.fsum(weights.get(word, unknown) for word in words)


def _contradicted(one: Fact, other: Fact) -> str:
    """The name of what the one says of which the other says the opposite; "" for nothing."""
    of_other = other.says - one.says
    opposites = (OPPOSITE[side] for side in sorted(one.says & OPPOSITE.keys() - other.says))
    return next((why for side, why in opposites if side in of_other), "")


def _is_alternative(fact: Fact, candidate: Fact) -> bool:
    """Whether a text could say the one value in the place of the other: one unit, another value, one bound."""
    if _kind(fact) != _kind(candidate) or fact.entity.key == candidate.entity.key:
        return False
    same_bound = fact.says & BOUNDS == candidate.says & BOUNDS
    return same_bound and not candidate.is_reckoned and not candidate.entity.support_only


def _written_bare(entity: Entity) -> list[str]:
    """How a source may write a value without its unit, or a day of a known year."""
    if entity.kind == "date":
        return [month_and_day(entity, ".")]
    readings = [entity.value, entity.text]
    if entity.kind == "amount":
        readings.append(written(Decimal(entity.value) / TEN_THOUSAND))
    return readings
