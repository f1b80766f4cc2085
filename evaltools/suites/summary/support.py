"""What the sources say to each value of a summary: support, the opposite, or the same of another item.

    values of the summary --nearest of the same value--> supported, contradicted, or to look at
                          --nearest of the same kind---> what the source says instead

A contradiction counts as no support. What only a person can settle is listed and changes no score:
words that tell two items apart in a text do not always do so (measured in docs/benchmarks.md).
Source: specification D34.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

from .claims import (
    OPPOSITE_BOUND,
    OPPOSITE_PAYMENT,
    absent_items,
    opposite_bounds,
    opposite_claims,
    payment_claims,
)
from .entities import Entity, ReadText
from .numerals import TEN_THOUSAND, hangul_value, written
from .restated import is_about, restated
from .statements import (
    AFTER,
    DENIED,
    HIGH,
    LOW,
    OPPOSITE,
    PAID,
    Statement,
    likeness,
    payment,
    rarity,
    statements,
)
from .unread import PARTICLES, bare_figures, outside_values
from .wording import SENTENCE_END

MOST_SOURCES = 600
"""Values of the sources that each value of a summary is held against; all others are compared by value only."""

CLEAR = 0.5
"""Likeness from which two values are surely said of the same item."""

ECHO = 0.2
"""By so much less alike counts what a customer says than what the agent says."""

ABOUT_WITHIN = 12
"""Characters around a figure in which a word calls it an approximation."""

APART = 0.35
"""By so much a passage is preferred that says the same of a value, as a bound or a payment."""

OTHER_ITEM = 0.55
"""A value is called misplaced where its item is so much more alike to that of another value of the sources."""

SWAPPED = 0.2
"""The same of two values that a summary states both, where neither fits better as it stands: the sum of both."""

UNKNOWN = 1.0
"""Weight of a word of an item that no source has: as of one that stands around a single value."""

MOST_COUNTED = 10
"""Up to so many things of a text a summary may count itself."""

FIGURES = ("amount", "percent", "duration", "age", "count")
"""Kinds of values that texts say of several items."""

NAMES = ("grade", "generation")
"""Units of counts that name a thing (1~3세대), and are told of no other."""

SUMS = ("amount", "percent", "count")
"""Kinds of values whose payment and denial exclude each other; a period may be told by either."""

CHANGE = "the source says the opposite change"
ITEM = "the source says it of another item"
NOT_DENIED = "no source says that it is not paid"

BOUNDS = frozenset({LOW, HIGH})

_BARE = re.compile(rf"([0-9][0-9,.]+|[1-9]천)(?:{PARTICLES})?")
"""A figure of two signs or more, or thousands: 500, 집기 4천."""

_FIGURE = re.compile(r"[0-9][0-9,.]+")
"""A figure of two signs or more: one digit is the number of too much else."""

_SPOKEN = re.compile(
    rf"(?<![가-힣0-9])([일이삼사오육칠팔구]?[천백](?:[일이삼사오육칠팔구]?[백십])*[일이삼사오육칠팔구]?)"
    rf"(?:{PARTICLES}|이었고|이었어요|이었는데|이요|이)?(?![가-힣])"
)
"""Hundreds and thousands in Hangul without a unit: 사백오십 들었어요."""

OF_SIDE = {
    LOW: OPPOSITE_BOUND,
    HIGH: OPPOSITE_BOUND,
    PAID: OPPOSITE_PAYMENT,
    DENIED: OPPOSITE_PAYMENT,
}


@dataclass(frozen=True, slots=True)
class Support:
    """What the sources say to the values of a summary, as JSON values.

    supported, unsupported: the values, each once. contradicted: those of the unsupported of which a
    source says the opposite. look: what a person must settle, with `why`.
    """

    supported: list[dict[str, Any]]
    unsupported: list[dict[str, Any]]
    contradicted: list[dict[str, Any]]
    look: list[dict[str, Any]]


class SourceValues:
    """The values of the sources with what is said of each, to find the one that a value of a summary rests on.

    known: all of them. weights: of the words around them.
    """

    def __init__(self, sources: Sequence[ReadText]):
        self.sources = sources
        self.known: list[Statement] = []
        for number, source in enumerate(sources):
            self.known += statements(source.raw, source.entities, number)
        self.compared = self.known[:MOST_SOURCES]
        self.weights = rarity(self.compared)
        self._same: dict[str, list[Statement]] = {}
        for statement in self.known:
            self._same.setdefault(statement.entity.key, []).append(statement)

    @cached_property
    def denied(self) -> Sequence[frozenset[str]]:
        """The words of the clauses that say that something is not paid, each once."""
        denied = {}
        for source in self.sources:
            for claim in payment_claims(source):
                if claim.side == DENIED:
                    denied[claim.words] = claim
        return list(denied)[:MOST_SOURCES]

    @cached_property
    def bare(self) -> dict[str, dict[str, Any]]:
        """Figures without a unit (1년 안에는 500, 집기 4천) and ordinals (9주차): the figure -> its first place."""
        places: dict[str, dict[str, Any]] = {}
        for number, source in enumerate(self.sources):
            for figure in bare_figures(source):
                place = {"context": number, "context_at": list(figure.span())}
                digits = _BARE.fullmatch(figure[0])
                if digits:
                    places.setdefault(_digits(digits[1]), place)
                elif figure[0].endswith("차"):
                    places.setdefault(figure[0].removesuffix("차"), place)
            for numeral in outside_values(_SPOKEN, source):
                value = hangul_value(numeral[1])
                if value is not None:
                    place = {"context": number, "context_at": list(numeral.span(1))}
                    places.setdefault(str(value), place)
        return places

    def alike(self, words: frozenset[str], source: Statement) -> float:
        return likeness(words, source, self.weights)

    def nearest(self, statement: Statement) -> Statement | None:
        """The same value around which most of the same words stand.

        One that says the same of it, as a bound or that it is paid, is preferred by APART: bounds come in
        pairs (3만원 이하, 3만원 초과). What the agent says is preferred by ECHO to what the customer asks. Of
        equal ones one that says not the opposite, then the first.
        """

        def rank(candidate: Statement) -> tuple[float, bool]:
            preferred = APART if _confirms(statement, candidate) else 0
            preferred -= ECHO if candidate.by_customer else 0
            is_opposed = bool(_opposite_sides(statement, candidate))
            return self.alike(statement.words, candidate) + preferred, not is_opposed

        return max(self._same_value(statement), key=rank, default=None)

    def _same_value(self, statement: Statement) -> list[Statement]:
        same = self._same.get(statement.entity.key, [])[:MOST_SOURCES]
        if statement.entity.kind == "duration" and statement.sides & BOUNDS:
            # a sum paid each month is no period that something must last
            same = [source for source in same if not source.entity.support_only]
        return same

    def opposed(self, statement: Statement, nearest: Statement) -> tuple[str, bool]:
        """Why a source says the opposite of a value ("" where it does not), and whether that is sure.

        Two opposites make a right sentence again (within 2 months it is paid: after 2 months it is not),
        and so do values that are said of different things.
        """
        opposite = _opposite_sides(statement, nearest)
        if not opposite:
            return self._without_denial(statement), False
        why = OF_SIDE.get(opposite[0], CHANGE)
        shared_bounds = statement.sides & nearest.sides & BOUNDS
        is_sum = statement.entity.kind in SUMS
        if why == OPPOSITE_PAYMENT and not is_sum and not shared_bounds:
            return "", False
        is_denied = DENIED in _all_sides(statement)
        is_denied_in_source = DENIED in _all_sides(nearest)
        if why == OPPOSITE_BOUND and is_denied != is_denied_in_source:
            return "", False
        is_direct = {opposite[0], OPPOSITE[opposite[0]]} <= statement.sides | nearest.sides
        is_alike = self.alike(statement.words, nearest) >= CLEAR
        is_confirmed = any(_confirms(statement, other) for other in self._same_value(statement))
        return why, len(opposite) == 1 and is_direct and is_alike and not is_confirmed

    def _without_denial(self, statement: Statement) -> str:
        """Why a sum is doubtful that a summary denies, where no source denies the same sum; "" of others."""
        if statement.entity.kind not in SUMS or DENIED not in statement.sides:
            return ""
        same = self._same_value(statement)
        if any(self._is_denied_behind(source) for source in same):
            return ""
        if any(words <= statement.words for words in self.denied):
            return ""
        return NOT_DENIED

    def _is_denied_behind(self, source: Statement) -> bool:
        """Whether the rest of the sentence denies it, or what is beyond it: 2만 달러로, 넘는 부분은 보상할 수 없음."""
        end = source.entity.end
        behind = self.sources[source.number].raw[end : end + AFTER]
        sentence = SENTENCE_END.split(behind, maxsplit=1)[0]
        return DENIED in _all_sides(source) or payment(sentence + " ") == DENIED

    def instead(self, statement: Statement) -> Statement | None:
        """The sources' own value of the kind at the item of a value that none of them states."""
        kind = statement.entity.kind
        of_kind = [candidate for candidate in self.compared if candidate.entity.kind == kind]
        best = max(of_kind, key=lambda other: self.alike(statement.words, other), default=None)
        return best if best and self.alike(statement.words, best) else None

    def misplaced(self, statement: Statement, stated: Sequence[Statement]) -> Statement | None:
        """Another value of the kind that the source says of the item, where it does not say this one of it.

        Where the summary states that other value too, the two must fit better the other way round.
        """
        same = self._same[statement.entity.key]
        if statement.entity.kind not in FIGURES or same[0].entity.support_only:
            return None
        alternatives = {}
        for candidate in self.compared:
            if _is_alternative(statement, candidate):
                alternatives[candidate.entity.key] = candidate
        best = None
        best_gain = 0.0
        for key, candidate in alternatives.items():
            gain = self._gain(statement, key)
            needed = OTHER_ITEM
            told = [other for other in stated if other.entity.key == key]
            if told:
                gain_of_other = min(self._gain(other, statement.entity.key) for other in told)
                if gain <= 0 or gain_of_other < 0:
                    continue
                gain += gain_of_other
                needed = SWAPPED
            if gain >= needed and gain > best_gain:
                best = candidate
                best_gain = gain
        return best

    def _gain(self, statement: Statement, key: str) -> float:
        """How much better the item of a statement fits the value of a key than its own value."""
        return self._fit(statement, key) - self._fit(statement, statement.entity.key)

    def _fit(self, statement: Statement, key: str) -> float:
        """How alike the item of a statement is to what the sources say, at its best, of the value of a key."""
        fits = []
        for source in self._same[key]:
            fits.append(likeness(statement.label, source, self.weights, UNKNOWN))
        return max(fits)


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
    values = SourceValues(sources)
    result = Support([], [], [], [])
    stated = [
        each for each in statements(summary.raw, summary.entities) if not each.entity.support_only
    ]
    seen: set[str] = set()
    for statement in stated:
        entity = statement.entity
        first = entity.key not in seen
        seen.add(entity.key)
        nearest = values.nearest(statement)
        if nearest is None:
            if first and entity.key in weakly:
                result.supported.append({**entity_json(entity), **weakly[entity.key]})
            elif first:
                _without_its_value(statement, summary.raw, values, result)
            continue
        shown = {**entity_json(entity), **place(nearest)}
        why, is_sure = values.opposed(statement, nearest) if relations else ("", False)
        if is_sure:
            _contradict(result, {**shown, "why": why})
            continue
        if first:
            result.supported.append(shown)
        if relations and not why:
            other = values.misplaced(statement, stated)
            if other is not None:
                why = ITEM
                shown = {**shown, **place(other)}
        if why:
            result.look.append({**shown, "why": why})
    if relations:
        for shown, is_sure in absent_items(summary, sources):
            if is_sure:
                _contradict(result, shown)
            else:
                result.look.append(shown)
        result.look.extend(opposite_claims(summary, sources))
        result.look.extend(opposite_bounds(summary, sources))
    return result


def _without_its_value(
    statement: Statement,
    answer: str,
    values: SourceValues,
    result: Support,
) -> None:
    """A value that no source states: told roughly, one step away from the source's, or unsupported (D33)."""
    entity = statement.entity
    shown = entity_json(entity)
    bare = _bare_place(entity, values)
    if bare:
        result.supported.append(shown | bare)
        return
    before = answer[max(entity.start - ABOUT_WITHIN, 0) : entity.start]
    after = answer[entity.end : entity.end + ABOUT_WITHIN]
    source = restated(entity, values.known, is_about(before, after))
    if source is None and _is_own_count(entity, values):
        return
    if source is None:
        instead = values.instead(statement)
        if instead is not None:
            shown |= {"instead": instead.entity.text, **place(instead)}
        result.unsupported.append(shown)
        return
    original, why = source
    shown |= place(original)
    result.supported.append(shown)
    if why:
        result.look.append({**shown, "why": why})


def _is_own_count(entity: Entity, values: SourceValues) -> bool:
    """Whether a summary counts what the sources list (다섯 가지, 두 번): a small count of what none of them counts."""
    if entity.kind != "count" or Decimal(entity.value) > MOST_COUNTED:
        return False
    return all(source.entity.base != entity.base for source in values.known)


def _bare_place(entity: Entity, values: SourceValues) -> dict[str, Any]:
    """Where a source has a figure without its unit, or a day of a known year; {} where none does."""
    if entity.kind == "date":
        month_and_day = entity.value[-5:].lstrip("0").replace("-0", "-").replace("-", ".")
        return values.bare.get(month_and_day, {})
    if entity.kind not in SUMS:
        return values.bare.get(entity.text, {})
    figure = _FIGURE.match(entity.text)
    readings = [_digits(figure[0])] if figure else []
    if entity.kind == "amount":
        readings += [entity.value, written(Decimal(entity.value) / TEN_THOUSAND)]
    for reading in readings:
        if reading in values.bare:
            return values.bare[reading]
    return {}


def _digits(figure: str) -> str:
    """A bare figure in digits alone: 37,400 and 4천 are 37400 and 4000."""
    return figure.replace(",", "").replace("천", "000")


def _contradict(result: Support, shown: dict[str, Any]) -> None:
    """Count a value as not supported, also where it stood as supported in another place."""

    def is_same(other: dict[str, Any]) -> bool:
        return (other["kind"], other["value"]) == (shown["kind"], shown["value"])

    result.supported[:] = [other for other in result.supported if not is_same(other)]
    if not any(map(is_same, result.unsupported)):
        result.unsupported.append(shown)
    result.contradicted.append(shown)


def _all_sides(statement: Statement) -> frozenset[str]:
    return statement.sides | statement.listed


def _confirms(statement: Statement, source: Statement) -> bool:
    """Whether a source says the same of a value, and nothing that is opposite."""
    same = _all_sides(statement) & _all_sides(source)
    return bool(same) and not _opposite_sides(statement, source)


def _opposite_sides(one: Statement, other: Statement) -> list[str]:
    """The sides of the one of which the other has the opposite."""
    others = _all_sides(other)
    opposite = [side for side in _all_sides(one) if OPPOSITE[side] in others and side not in others]
    return sorted(opposite)


def _is_alternative(statement: Statement, candidate: Statement) -> bool:
    """Whether a text could say the one value in the place of the other: one unit, another value, one bound."""
    own, other = statement.entity, candidate.entity
    if (own.kind, own.base) != (other.kind, other.base) or own.key == other.key:
        return False
    if own.base in NAMES:
        return False
    same_bound = statement.sides & BOUNDS == candidate.sides & BOUNDS
    return same_bound and bool(candidate.label) and not other.support_only


def place(statement: Statement) -> dict[str, Any]:
    """Where a source says it: the number of the context, from 0, and the place in it."""
    return {"context": statement.number, "context_at": statement.at}


def entity_json(entity: Entity) -> dict[str, Any]:
    """A value of the summary as JSON."""
    return {
        "kind": entity.kind,
        "text": entity.text,
        "value": entity.shown,
        "at": [entity.start, entity.end],
    }
