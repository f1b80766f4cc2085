"""What the sources say to each value of a summary: support, the opposite, or the same of another item.

    values of the summary --nearest of the same value--> supported, contradicted, or to look at
                          --nearest of the same kind---> what the source says instead

A contradiction counts as no support. What only a person can settle is listed and changes no score:
words that tell two items apart in a text do not always do so (measured in benchmarks/README.md).
Source: specification D34.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from difflib import SequenceMatcher
from functools import cached_property
from typing import Any

from .entities import Entity, ReadText
from .facts import (
    ABSENT,
    CLAIM,
    DENIED,
    DOWN,
    HIGH,
    LOSS,
    LOW,
    NEGATIVE,
    OPPOSITE,
    PAID,
    PRESENT,
    UP,
    Fact,
    clause_facts,
    facts,
    has_figure,
)
from .numerals import TEN_THOUSAND, written
from .restated import restated
from .unread import month_and_day

MOST_SOURCES = 600
"""Values of the sources that each value of a summary is held against; all others are compared by value only."""

PREFERRED = 0.2
"""By so much less alike counts a passage that does not say the same."""

ALIKE = 0.5
"""Share of the words of a fact that stand around one of a source about the same thing."""

WRITTEN_ALIKE = 0.1
"""What counts as much as values that are written the same (measured: a wrong digit is shown beside its original in 9 of
10 instead of 8 of 10, a date in 8 of 10 instead of 4)."""

MOST_CLOSE = 50
"""Candidates whose writing is compared."""

MISPLACED = 1.5
"""Weight of the words of a value's item that stand around another value of the sources alone, if it is of another item.
Of two values that a summary states both, and may have swapped: of both together."""

MOST_COUNTED = 10
"""Up to so many things of a text a summary may count itself."""

FIGURES = ("amount", "percent", "duration", "age", "count")
"""Kinds of values that texts say of several items."""

NAMES = ("grade", "generation")
"""Units of counts that name a thing (1~3세대), and are told of no other."""

SUMS = ("amount", "percent", "count")
"""Kinds of values whose payment and denial exclude each other; a period may be told by either."""

OPPOSITE_PAYMENT = "the source says the opposite of payment"
OPPOSITE_BOUND = "the source puts the opposite bound on it"
CHANGE = "the source says the opposite change"
EXISTENCE = "one says that there is none, the other that there is"
ITEM = "the source says it of another item"

BOUNDS = frozenset({LOW, HIGH})

OF_SIDE = {
    LOW: OPPOSITE_BOUND,
    HIGH: OPPOSITE_BOUND,
    PAID: OPPOSITE_PAYMENT,
    DENIED: OPPOSITE_PAYMENT,
    PRESENT: EXISTENCE,
    ABSENT: EXISTENCE,
    UP: CHANGE,
    DOWN: CHANGE,
}


@dataclass(frozen=True, slots=True)
class Support:
    """What the sources say to the values of a summary, as JSON values.

    supported, unsupported: key -> value, each once. contradicted: those of the unsupported of which a
    source says the opposite. look: what a person must settle, with `why`.
    """

    supported: dict[str, dict[str, Any]]
    unsupported: dict[str, dict[str, Any]]
    contradicted: list[dict[str, Any]]
    look: list[dict[str, Any]]

    def deny(self, item: Mapping[str, Any], is_sure: bool) -> None:
        """Add an item that is told as not there; a condition word that names one (면책) has no support any more."""
        start, end = item["at"]
        if any(other["at"][0] < end and start < other["at"][1] for other in self.contradicted):
            return
        denied = {"kind": CLAIM, "value": "", **item, "why": EXISTENCE}
        if not is_sure:
            self.look.append(denied)
            return
        for key, entity in list(self.supported.items()):
            if start <= entity["at"][0] < end:
                del self.supported[key]
        self.contradicted.append(denied)
        self.unsupported[item["text"]] = denied


class Sources:
    """What the sources say, to find the fact that one of a summary rests on.

    known: of their values and figures. weights: of the words around the values, one over the number of values
    that each stands around. of_kind: kind and unit -> the same among the values of that kind alone, which a word
    may tell apart though it stands around others too.
    """

    def __init__(self, sources: Sequence[ReadText]):
        self.known: list[Fact] = []
        claimed: list[Fact] = []
        for number, source in enumerate(sources):
            self.known += facts(source, number)
            claimed += clause_facts(source, number)
        values = [fact for fact in self.known if fact.entity.kind != "figure"]
        self.compared = values[:MOST_SOURCES]
        self.weights = _rarity(self.compared)
        by_kind: dict[tuple[str, str], list[Fact]] = {}
        for fact in self.compared:
            by_kind.setdefault(_kind(fact), []).append(fact)
        self.of_kind = {kind: _rarity(alike) for kind, alike in by_kind.items()}
        self._same = by_key([*self.known, *claimed])

    @cached_property
    def bare(self) -> dict[str, Fact]:
        """What is written without a unit -> its first place.

        Figures (1년 안에는 500, 집기 4천), ordinals (9주차), and days with a slash (3/6), which alone may be a fraction.
        """
        places: dict[str, Fact] = {}
        for fact in self.known:
            entity = fact.entity
            if entity.kind == "date":
                places.setdefault(month_and_day(entity, "/"), fact)
            elif entity.kind == "figure" and not entity.base and len(entity.value) > 1:
                digits = entity.value.replace(",", "").replace("천", "000")
                places.setdefault(digits, fact)
            elif entity.kind == "figure" and entity.text.endswith("차"):
                places.setdefault(entity.text.removesuffix("차"), fact)
        return places

    def weight(self, words: frozenset[str], unknown: float = 0.0) -> float:
        """The sum of the words' weights.

        unknown: the weight of a word that stands around no value of the sources.
        """
        return _total(self.weights, words, unknown)

    def alike(self, fact: Fact, source: Fact, unknown: float = 1.0) -> float:
        """The share of the words of a fact, by rarity, that stand around one of the sources too: 0..1."""
        total = self.weight(fact.words, unknown)
        shared = self.weight(fact.words & source.words, unknown)
        return shared / total if total else 0.0

    def nearest(self, fact: Fact) -> Fact | None:
        """The same value around which most of the same words stand; of equal ones the first.

        One that says the same of it, as a bound or that it is paid, is preferred: bounds come in pairs
        (3만원 이하, 3만원 초과).
        """
        same = self._same.get(fact.entity.key, [])[:MOST_SOURCES]
        if fact.entity.kind == CLAIM:
            # "10만원 한도" says of a thing that it has a figure, and not whether it is paid
            says = {*fact.says, *(OPPOSITE[side] for side in fact.says)}
            same = [source for source in same if source.says & says]
        if fact.entity.kind == "duration" and fact.says & BOUNDS:
            # a sum paid each month is no period that something must last
            same = [source for source in same if not source.entity.support_only]

        if fact.says & BOUNDS:
            # what puts a bound on it, of whatever side, says more of it than what only mentions it
            same = [source for source in same if source.says & BOUNDS] or same

        def rank(source: Fact) -> float:
            return self.alike(fact, source) + PREFERRED * _confirms(fact, source)

        return max(same, key=rank, default=None)

    def opposed(self, fact: Fact, nearest: Fact) -> tuple[str, bool]:
        """Why a source says the opposite of a value ("" where it does not), and whether that is sure.

        Two opposites make a right sentence again: within 2 months it is paid, after 2 months it is not.
        A sum of which the sources only say that it is lost (-10.2%) is told as lost too.
        """
        if not fact.says & {DOWN, LOSS} and self._is_negative(fact.entity.key):
            return CHANGE, True
        opposite = _opposite_sides(fact, nearest)
        if not opposite:
            return "", False
        why = OF_SIDE[opposite[0]]
        is_told_of = (
            fact.entity.kind in (*SUMS, CLAIM) or fact.says & nearest.says & BOUNDS
        )
        if why == OPPOSITE_PAYMENT and not is_told_of:
            return "", False
        is_denied = DENIED in fact.says
        if why == OPPOSITE_BOUND and is_denied != (DENIED in nearest.says):
            return "", False
        is_claim = fact.entity.kind == CLAIM
        alike = self.alike(fact, nearest, unknown=int(is_claim))
        if is_claim and alike < ALIKE:
            return "", False
        return why, len(opposite) == 1 and alike >= ALIKE

    def _is_negative(self, key: str) -> bool:
        places = self._same[key]
        return all(NEGATIVE in place.says for place in places)

    def instead(self, fact: Fact) -> Fact | None:
        """The sources' own value of the kind at the item of a value that none of them states.

        Of those around which about as many of its words stand the one that is written most alike: 94.1% for 91.4%.
        """
        kind = fact.entity.kind
        of_kind = [candidate for candidate in self.compared if candidate.entity.kind == kind]
        alike = [self.alike(fact, candidate) for candidate in of_kind]
        most = max(alike, default=0.0)
        if not most:
            return None
        if not has_figure(fact.entity.value):
            return of_kind[alike.index(most)]
        close = [pair for pair in zip(alike, of_kind) if pair[0] >= most - WRITTEN_ALIKE]

        def rank(pair: tuple[float, Fact]) -> float:
            written_alike = SequenceMatcher(None, fact.entity.value, pair[1].entity.value)
            return pair[0] + WRITTEN_ALIKE * written_alike.ratio()

        return max(close[:MOST_CLOSE], key=rank)[1]

    def misplaced(
        self,
        fact: Fact,
        told: Mapping[str, Sequence[Fact]],
    ) -> Fact | None:
        """Another value of the kind that the source says of the item, where it does not say this one of it.

        told: the facts of the summary by key. Where it states the other value too, it may have swapped
        the two: each must fit better in the place of the other.
        """
        same = self._same[fact.entity.key]
        if fact.entity.kind not in FIGURES or same[0].entity.support_only:
            return None
        if fact.is_reckoned:
            return None
        best = None
        best_excess = 0.0
        for candidate in self.compared:
            if not _is_alternative(fact, candidate):
                continue
            key = candidate.entity.key
            of_other, of_own = self._telling(fact, candidate)
            excess = of_other - of_own
            if key in told:
                back = min(self._excess(other, fact.entity.key) for other in told[key])
                is_misplaced = excess > 0 and back >= 0 and excess + back >= MISPLACED
            else:
                is_misplaced = of_own == 0 and of_other >= MISPLACED
            if is_misplaced and excess > best_excess:
                best = candidate
                best_excess = excess
        return best

    def _excess(self, fact: Fact, key: str) -> float:
        """How much more of the item of a fact stands around the value of a key than around its own."""
        places = [self._telling(fact, source) for source in self._same[key]]
        return max(of_other - of_own for of_other, of_own in places)

    def _telling(self, fact: Fact, other: Fact) -> tuple[float, float]:
        """What tells another value of the sources from that of a fact: the weight of the words of its item
        that stand around the other alone, and around its own alone, in the place of its own where these are most alike.
        """
        weights = self.of_kind[_kind(other)]
        pairs = []
        for own in self._same[fact.entity.key]:
            around_other = fact.words & (other.words - own.words)
            around_own = fact.words & (own.words - other.words)
            pairs.append((_total(weights, around_other), _total(weights, around_own)))
        return min(pairs, key=lambda pair: pair[0] - pair[1])


def _kind(fact: Fact) -> tuple[str, str]:
    return fact.entity.kind, fact.entity.base


def _rarity(around: Iterable[Fact]) -> dict[str, float]:
    """The words of facts -> one over the number of those that each stands in."""
    counts = Counter(word for fact in around for word in fact.words)
    return {word: 1 / count for word, count in counts.items()}


def _total(weights: Mapping[str, float], words: Iterable[str], unknown: float = 0.0) -> float:
    """The sum of the weights of words; exact, as a set has no order, and of equal passages the first counts."""
    return math.fsum(weights.get(word, unknown) for word in words)


def by_key(all_statements: Iterable[Fact]) -> Mapping[str, list[Fact]]:
    """The facts by the key of their value."""
    grouped: dict[str, list[Fact]] = {}
    for fact in all_statements:
        grouped.setdefault(fact.entity.key, []).append(fact)
    return grouped


def support(
    summary: ReadText,
    sources: Sequence[ReadText],
    weakly: Mapping[str, dict[str, Any]],
    relations: bool = True,
) -> Support:
    """Hold each value of a summary against the sources.

    weakly: key of a value that a source says in other words -> its place. relations: whether bounds, items and
    claims count.
    """
    known = Sources(sources)
    result = Support({}, {}, [], [])
    stated = [each for each in facts(summary) if not each.entity.support_only]
    if relations:
        stated += [each for each in clause_facts(summary) if not has_figure(each.entity.text)]
    told = by_key(stated)
    for fact in stated:
        entity = fact.entity
        key = entity.key if entity.kind != CLAIM else entity.text
        is_value = entity.kind not in ("figure", CLAIM)
        shown = entity_json(entity)
        nearest = known.nearest(fact)
        if nearest is None:
            is_new = key not in result.supported and key not in result.unsupported
            if key in weakly:
                result.supported[key] = shown | weakly[key]
            elif is_value and is_new:
                _without_its_value(fact, summary.raw, known, result)
            continue
        shown |= nearest.place
        why, is_sure = known.opposed(fact, nearest) if relations else ("", False)
        if is_sure:
            result.supported.pop(key, None)
            if entity.kind == CLAIM:
                shown["instead"] = nearest.entity.text
            result.contradicted.append({**shown, "why": why})
            if entity.kind != "figure":
                result.unsupported.setdefault(key, result.contradicted[-1])
            continue
        if is_value and key not in result.unsupported:
            result.supported.setdefault(key, shown)
        other = None
        if relations and not why:
            other = known.misplaced(fact, told)
            why = ITEM if other else ""
        place = other.place if other else {}
        if why:
            result.look.append({**shown, **place, "why": why})
    return result


def _without_its_value(
    fact: Fact,
    answer: str,
    values: Sources,
    result: Support,
) -> None:
    """A value that no source states: told roughly, one step away from the source's, or unsupported (D33)."""
    entity = fact.entity
    shown = entity_json(entity)
    bare = (values.bare[reading] for reading in _without_unit(entity) if reading in values.bare)
    original = next(bare, None)
    why = ""
    if original is None:
        original, why = restated(fact, values.known, answer)
    if original is not None:
        result.supported[entity.key] = shown | original.place
        if why:
            result.look.append({**shown, **original.place, "why": why})
    elif not _is_own_count(entity, values):
        instead = values.instead(fact)
        if instead is not None:
            shown |= {"instead": instead.entity.text, **instead.place}
        result.unsupported[entity.key] = shown


def _is_own_count(entity: Entity, values: Sources) -> bool:
    """Whether a summary counts what the sources list (다섯 가지, 두 번): a small count of what none of them counts."""
    if entity.kind != "count" or Decimal(entity.value) > MOST_COUNTED:
        return False
    counted = {source.entity.base for source in values.known}
    return entity.base not in counted


def _without_unit(entity: Entity) -> list[str]:
    """How a source may write a value without its unit, or a day of a known year."""
    if entity.kind == "date":
        return [month_and_day(entity, ".")]
    if entity.kind == "amount":
        in_ten_thousands = Decimal(entity.value) / TEN_THOUSAND
        return [entity.value, written(in_ten_thousands), entity.text]
    if entity.kind in ("age", *SUMS):
        return [entity.value, entity.text]
    return [entity.text]


def _confirms(fact: Fact, source: Fact) -> bool:
    """Whether a source says the same of a value, and nothing that is opposite."""
    same = fact.says & source.says
    return bool(same) and not _opposite_sides(fact, source)


def _opposite_sides(one: Fact, other: Fact) -> list[str]:
    """The says of the one of which the other has the opposite."""
    of_one, of_other = one.says - other.says, other.says - one.says
    return sorted(side for side in of_one if OPPOSITE.get(side) in of_other)


def _is_alternative(fact: Fact, candidate: Fact) -> bool:
    """Whether a text could say the one value in the place of the other: one unit, another value, one bound."""
    own, other = fact.entity, candidate.entity
    if (own.kind, own.base) != (other.kind, other.base) or own.key == other.key:
        return False
    if own.base in NAMES:
        return False
    same_bound = fact.says & BOUNDS == candidate.says & BOUNDS
    return same_bound and not candidate.is_reckoned and not other.support_only


def entity_json(entity: Entity) -> dict[str, Any]:
    """A value of the summary as JSON."""
    return {
        "kind": entity.kind,
        "text": entity.text,
        "value": entity.shown,
        "at": [entity.start, entity.end],
    }
