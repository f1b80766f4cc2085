"""What the sources say to each value of a summary: support, the opposite, or the same of another item.

    values of the summary --nearest of the same value--> supported, contradicted, or to look at
                          --nearest of the same kind---> what the source says instead

A contradiction counts as no support. What only a person can settle is listed and changes no score:
words that tell two items apart in a text do not always do so (measured in docs/benchmarks.md).
Source: specification D34.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .claims import OPPOSITE_PAYMENT, opposite_claims
from .denials import Denial
from .entities import Entity
from .restated import ONE_STEP, is_about, one_step_from, rounded_from
from .statements import (
    DENIED,
    HIGH,
    LOW,
    OPPOSITE,
    PAID,
    Statement,
    likeness,
    rarity,
    statements,
)

MOST_SOURCES = 600
"""Values of the sources that each value of a summary is held against; all others are compared by value only."""

CLEAR = 0.5
"""Likeness from which two values are surely said of the same item."""

ABOUT_WITHIN = 12
"""Characters around a figure in which a word calls it an approximation."""

MISPLACED = 0.6
APART = 0.35
"""A value is called misplaced where another value is so like its item, and the same value less by so much."""

FIGURES = ("amount", "percent", "duration", "age", "count")
"""Kinds of values that texts say of several items."""

SURE_KINDS = ("amount", "percent")
"""Kinds of values whose payment and denial exclude each other; a period may be told by either."""

BOUND = "the source puts the opposite bound on it"
CHANGE = "the source says the opposite change"
ITEM = "the source says it of another item"

OF_SIDE = {LOW: BOUND, HIGH: BOUND, PAID: OPPOSITE_PAYMENT, DENIED: OPPOSITE_PAYMENT}


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


def support(
    answer: str,
    summary: Sequence[Entity],
    contexts: Sequence[str],
    sources: Sequence[Sequence[Entity]],
    denials: Iterable[Denial] = (),
    relations: bool = True,
) -> Support:
    """Hold each value of a summary against the sources. relations: whether bounds and items count."""
    known = _source_statements(contexts, sources)
    weights = rarity(known[:MOST_SOURCES])
    same: dict[str, list[Statement]] = {}
    for statement in known:
        same.setdefault(statement.entity.key, []).append(statement)
    result = Support([], [], [], [])
    stated = [each for each in statements(answer, summary) if not each.entity.support_only]
    seen: set[str] = set()
    for statement in stated:
        entity = statement.entity
        first = entity.key not in seen
        seen.add(entity.key)
        candidates = same.get(entity.key, [])
        if not candidates:
            if first:
                _without_its_value(statement, answer, known, weights, result)
            continue
        nearest = _nearest(statement, candidates, weights)
        why, is_sure = _opposed(statement, nearest, weights) if relations else ("", False)
        shown = {**entity_json(entity), **place(nearest)}
        if why and is_sure:
            _contradict(result, {**shown, "why": why})
            continue
        if first:
            result.supported.append(shown)
        if why:
            result.look.append({**shown, "why": why})
        elif relations:
            other = _misplaced(statement, nearest, stated, known, weights)
            if other is not None:
                result.look.append({**entity_json(entity), **place(other), "why": ITEM})
    for denial in denials:
        shown = {**denial.as_json(), "why": denial.why}
        if denial.is_sure:
            _contradict(result, shown)
        else:
            result.look.append(shown)
    if relations:
        result.look.extend(opposite_claims(answer, contexts))
    return result


def _source_statements(
    contexts: Sequence[str], sources: Sequence[Sequence[Entity]]
) -> list[Statement]:
    known = []
    for number, (context, entities) in enumerate(zip(contexts, sources)):
        known.extend(statements(context, entities, number))
    return known


def _without_its_value(
    statement: Statement,
    answer: str,
    known: Sequence[Statement],
    weights: Mapping[str, float],
    result: Support,
) -> None:
    """A value that no source states: told roughly, one step away from the source's, or unsupported (D33)."""
    entity = statement.entity
    shown = entity_json(entity)
    before = answer[max(entity.start - ABOUT_WITHIN, 0) : entity.start]
    after = answer[entity.end : entity.end + ABOUT_WITHIN]
    rounded = rounded_from(entity, known) if is_about(before, after) else None
    restated = rounded or one_step_from(entity, known)
    if restated is None:
        result.unsupported.append(_with_instead(statement, known, weights))
        return
    shown |= place(restated)
    result.supported.append(shown)
    if rounded is None:
        result.look.append({**shown, "why": ONE_STEP})


def _contradict(result: Support, shown: dict[str, Any]) -> None:
    """Count a value as not supported, also where it stood as supported in another place."""
    for index, other in enumerate(result.supported):
        if (other["kind"], other["value"]) == (shown["kind"], shown["value"]):
            del result.supported[index]
            break
    listed = [(other["kind"], other["value"]) for other in result.unsupported]
    if (shown["kind"], shown["value"]) not in listed:
        result.unsupported.append(shown)
    result.contradicted.append(shown)


def _nearest(
    statement: Statement, candidates: Sequence[Statement], weights: Mapping[str, float]
) -> Statement:
    """The candidate around which most of the same words stand; of equal ones one that is not opposed, then the first."""

    def rank(candidate: Statement) -> tuple[float, bool]:
        opposed = bool(_opposite_sides(statement, candidate))
        return likeness(statement.words, candidate, weights), not opposed

    return max(candidates[:MOST_SOURCES], key=rank)


def _opposite_sides(one: Statement, other: Statement) -> list[str]:
    """The sides of the one of which the other has the opposite, said in the same way."""
    opposed = []
    for own, others in ((one.behind, other.behind), (one.ahead, other.ahead)):
        opposed += [side for side in own if OPPOSITE[side] in others and side not in others]
    return sorted(opposed)


def _opposed(
    statement: Statement, nearest: Statement, weights: Mapping[str, float]
) -> tuple[str, bool]:
    """Why a source says the opposite of a value ("" where it does not), and whether that is sure.

    Two opposites make a right sentence again (up to 2 years half is paid: over 2 years it is not
    halved), and so do values that are said of different things.
    """
    opposed = _opposite_sides(statement, nearest)
    if not opposed:
        return "", False
    side = opposed[0]
    why = OF_SIDE.get(side, CHANGE)
    if why == OPPOSITE_PAYMENT and statement.entity.kind not in SURE_KINDS:
        return "", False
    is_alike = likeness(statement.words, nearest, weights) >= CLEAR
    return why, len(opposed) == 1 and is_alike


def _misplaced(
    statement: Statement,
    nearest: Statement,
    stated: Sequence[Statement],
    known: Sequence[Statement],
    weights: Mapping[str, float],
) -> Statement | None:
    """Another value of the kind that the source says of the item, where it does not say this one of it.

    Where the summary states that other value too, the two must fit better the other way round.
    """
    label = statement.label
    if statement.entity.kind not in FIGURES:
        return None
    best = None
    best_likeness = max(MISPLACED, likeness(label, nearest, weights) + APART)
    for candidate in known[:MOST_SOURCES]:
        if not _is_alternative(statement, candidate):
            continue
        candidate_likeness = likeness(label, candidate, weights)
        gain = candidate_likeness - likeness(label, nearest, weights)
        if candidate_likeness >= best_likeness and gain > _loss(
            candidate, nearest, stated, weights
        ):
            best = candidate
            best_likeness = candidate_likeness
    return best


def _loss(
    candidate: Statement,
    nearest: Statement,
    stated: Sequence[Statement],
    weights: Mapping[str, float],
) -> float:
    """How much worse the summary's own statement of a candidate's value would fit the nearest's item."""
    losses = [0.0]
    for other in stated:
        if other.entity.key == candidate.entity.key:
            fit = likeness(other.label, candidate, weights)
            losses.append(fit - likeness(other.label, nearest, weights))
    return max(losses)


def _is_alternative(statement: Statement, candidate: Statement) -> bool:
    """Whether a text could say the one value in the place of the other: one unit, another value, one bound."""
    own, other = statement.entity, candidate.entity
    if (own.kind, own.base) != (other.kind, other.base) or own.key == other.key:
        return False
    bounds = {LOW, HIGH}
    same_bound = statement.behind & bounds == candidate.behind & bounds
    return same_bound and not other.support_only


def _with_instead(
    statement: Statement, known: Sequence[Statement], weights: Mapping[str, float]
) -> dict[str, Any]:
    """A value that no source has, with the source's own value of the kind at the same item, if there is one."""
    shown = entity_json(statement.entity)
    best = None
    best_likeness = 0.0
    for candidate in known[:MOST_SOURCES]:
        if candidate.entity.kind != statement.entity.kind:
            continue
        candidate_likeness = likeness(statement.words, candidate, weights)
        if candidate_likeness > best_likeness:
            best = candidate
            best_likeness = candidate_likeness
    if best is not None:
        shown |= {"instead": best.entity.text, **place(best)}
    return shown


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
