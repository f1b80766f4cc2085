"""The five scores of a summary by rule, with their evidence, and the units frame of a file of cases.

    cases --rules--> five scores a case --> units frame --judge, where asked--> final scores

A score that could measure nothing keeps the number that the source document gives it, with `measured`
False and the reason in its evidence. Source: seed insurance_summary_prd section 5; specification D2, D14.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from ...core.errors import Problems
from ...core.files import dumps
from ...core.names import nearest
from ...core.suite import Workers
from .entities import Entity, by_key, extractor
from .rules import FOLLOWUP_TAG, METRICS, CompiledRules, Rules
from .schema import Case
from .text import normalise
from .wording import Found, matches

CHUNK = 500
"""Cases that one process scores at a time."""


@dataclass(frozen=True, slots=True)
class Score:
    """One metric of one case. score: 0..1, the source document's number where not `measured`.

    numerator, denominator: what the score is a ratio of (0, 0 where not measured). evidence: JSON values.
    """

    score: float
    measured: bool
    numerator: int
    denominator: int
    evidence: dict[str, Any]


@dataclass(frozen=True, slots=True)
class CaseScores:
    """The scores of a case by metric; `n_entities` of the summary; `ambiguous`: a follow-up wording was let off.

    `unread_figures`: the figures of the summary that are part of no entity, so that nothing compares them.
    """

    scores: Mapping[str, Score]
    n_entities: int
    ambiguous: bool
    unknown_tags: tuple[str, ...]
    unread_figures: tuple[str, ...]


FIGURES = frozenset({"amount", "percent", "duration", "date"})
"""Kinds of entities of which a single one without support makes a summary wrong (specification D23)."""

_FIGURE = re.compile(
    r"(?P<mark>(?m:^)[\s(\[]*\d{1,2}[.)\]](?!\d))|\d(?:[\d,.:/-]*\d)?[^\W\d_]{0,8}"
)
"""A figure with the word at its end; `mark`: the number of an item of a list, which is none."""


def _share(numerator: int, denominator: int, **evidence: Any) -> Score:
    return Score(numerator / denominator, True, numerator, denominator, evidence)


def _unmeasured(score: float, reason: str, **evidence: Any) -> Score:
    return Score(score, False, 0, 0, {"reason": reason, **evidence})


def score_case(
    answer: str | None, contexts: Sequence[str], tags: Sequence[str], rules: Rules
) -> CaseScores:
    """Score one summary against its contexts and tags (in normal form).

    The order of the contexts does not matter to any score.
    """
    compiled = rules.compiled
    answer = answer or ""
    text = normalise(answer, rules.fold)
    blank = not text.norm.strip()
    summary = extractor(compiled).entities(answer, text)
    sources = [_entities(compiled, c) for c in contexts]
    known = [t for t in tags if t in rules.known_tags]
    unknown = tuple(t for t in tags if t not in known)
    found = partial(matches, text=text, raw=answer, rules=compiled)
    followup = found(compiled.followup)
    unread = _unread(answer, summary)
    tags_found = {t: followup if t == FOLLOWUP_TAG else found(compiled.tags[t]) for t in known}
    due = {t: _due(compiled, t, contexts) for t, (holds, _) in tags_found.items() if not holds}
    scores = {
        "summary_accuracy": _accuracy(blank, summary, sources, unread),
        "summary_risk_coverage": _risk_coverage(tags_found, due, unknown),
        "summary_non_definitive": _non_definitive(
            blank, [found(group) for group in compiled.definitive]
        ),
        "summary_needs_followup": _needs_followup(blank, known, unknown, followup),
        "entity_recall": _recall(summary, sources),
    }
    n_entities = len({e.key for e in summary if not e.support_only})
    ambiguous = bool(followup[1]) and not followup[0]
    return CaseScores(scores, n_entities, ambiguous, unknown, unread)


def _unread(answer: str, entities: Sequence[Entity]) -> tuple[str, ...]:
    """The figures of a text that begin in no entity, in order."""
    read = {place for e in entities for place in range(e.start, e.end)}
    return tuple(m[0] for m in _FIGURE.finditer(answer) if not m["mark"] and m.start() not in read)


@lru_cache(maxsize=4096)
def _entities(compiled: CompiledRules, context: str) -> tuple[Entity, ...]:
    return tuple(extractor(compiled).entities(context))


def _due(compiled: CompiledRules, tag: str, contexts: Sequence[str]) -> dict[str, Any]:
    """Where the contexts first name a risk item: context, [start, end), and the words; empty where none does."""
    phrases = compiled.followup if tag == FOLLOWUP_TAG else compiled.tags[tag]
    for i, context in enumerate(contexts):
        holds, _ = matches(phrases, normalise(context, compiled.fold), context, compiled)
        if holds:
            return {"text": holds[0]["text"], "context": i, "context_at": holds[0]["at"]}
    return {}


def _accuracy(
    blank: bool,
    summary: Iterable[Entity],
    sources: Sequence[Sequence[Entity]],
    unread: Sequence[str],
) -> Score:
    """Supported entities of the summary over its entities, each value once (seed 5.1, D14).

    `unread` figures take no part in it, and are listed (D20).
    """
    if blank:
        return Score(0.0, True, 0, 0, {"reason": "empty summary"})
    read = {"read": "partly read", "unread": list(unread)} if unread else {"read": "read"}
    stated = {k: e for k, e in by_key(summary).items() if not e.support_only}
    places = _places(sources)
    supported = [{**_shown(e), **places[k]} for k, e in stated.items() if k in places]
    if not any(not e.support_only for source in sources for e in source) and not supported:
        return _unmeasured(
            0.0, "no context entities", unsupported=[_shown(e) for e in stated.values()], **read
        )
    if not stated:
        return _unmeasured(0.5, "no summary entities", **read)
    unsupported = [_shown(e) for k, e in stated.items() if k not in places]
    return _share(len(supported), len(stated), supported=supported, unsupported=unsupported, **read)


def _recall(summary: Iterable[Entity], sources: Sequence[Sequence[Entity]]) -> Score:
    """Context entities that the summary keeps over context entities, each value once."""
    there = by_key(e for source in sources for e in source)
    asked = {k: e for k, e in there.items() if not e.support_only}
    if not asked:
        return _unmeasured(0.0, "no context entities")
    stated, places = by_key(summary), _places(sources)
    kept = [{**_shown(stated[k]), **places[k]} for k in asked if k in stated]
    lost = [{**_shown(e), "at": None, **places[k]} for k, e in asked.items() if k not in stated]
    return _share(len(kept), len(asked), kept=kept, lost=lost)


def _places(sources: Sequence[Sequence[Entity]]) -> dict[str, dict[str, Any]]:
    """Key of each context entity -> the number of the context, from 0, and [start, end) of its first occurrence."""
    out: dict[str, dict[str, Any]] = {}
    for i, source in enumerate(sources):
        for e in source:
            out.setdefault(e.key, {"context": i, "context_at": [e.start, e.end]})
    return out


def _shown(e: Entity) -> dict[str, Any]:
    return {"kind": e.kind, "text": e.text, "value": e.shown, "at": [e.start, e.end]}


def _risk_coverage(
    found: Mapping[str, Found], due: Mapping[str, Any], unknown: Sequence[str]
) -> Score:
    """Expected tags that the summary covers over expected tags (seed 5.2). Unknown tags are expected of nobody.

    `due`: for each missing tag, where the contexts name it, if they do.
    """
    more: dict[str, Any] = {"unknown_tags": list(unknown)} if unknown else {}
    more |= {"due": named} if (named := {tag: place for tag, place in due.items() if place}) else {}
    if not found:
        return _unmeasured(1.0, "no known tags" if unknown else "no tags", **more)
    covered = {tag: holds for tag, (holds, _) in found.items() if holds}
    missing = {tag: let_off for tag, (holds, let_off) in found.items() if not holds}
    return _share(len(covered), len(found), covered=covered, missing=missing, **more)


def _non_definitive(blank: bool, found: Sequence[Found]) -> Score:
    """1 unless a definitive phrase stands that nothing takes back (seed 5.3)."""
    if blank:
        return _unmeasured(1.0, "empty summary")
    definitive, let_off = (sorted(chain(*kind), key=lambda m: m["at"][0]) for kind in zip(*found))
    return _share(int(not definitive), 1, definitive=definitive, let_off=let_off)


def _needs_followup(
    blank: bool, known: Sequence[str], unknown: Sequence[str], followup: Found
) -> Score:
    """1 where a follow-up is named exactly if the tag asks for one (seed 5.4).

    Without any known tag nobody said whether a follow-up was due: the number is the seed's, and not measured.
    """
    phrases, let_off = followup
    evidence = {"phrases": phrases, "let_off": let_off}
    expected = FOLLOWUP_TAG in known
    good = bool(phrases) == expected
    if blank and not expected:
        return _unmeasured(1.0, "empty summary", **evidence)
    if not known:
        return _unmeasured(float(good), "no known tags" if unknown else "no tags", **evidence)
    return _share(int(good), 1, expected=expected, **evidence)


def score_cases(
    cases: Sequence[tuple[int, Case]],
    rules: Rules,
    problems: Problems,
    workers: Workers,
    file: str = "",
) -> pd.DataFrame:
    """The units frame by rule alone, a row a case in the order given; evidence and lists are JSON text."""
    chunks = [[case for _, case in cases[i : i + CHUNK]] for i in range(0, len(cases), CHUNK)]
    # a file without any usable case has the same columns
    parts = workers.map(partial(_score_chunk, rules=rules), chunks or [[Case(id="0")]])
    units = pd.DataFrame(
        {c: [*chain.from_iterable(part[c] for part in parts)] for c in parts[0]}
    ).head(len(cases))
    hint = cache(partial(nearest, known=rules.known_tags))
    for (place, case), unknown in zip(cases, units["unknown_tags"]):
        for tag in json.loads(unknown):
            message = f"unknown tag {tag!r}, left out of what is expected; {hint(tag)}"
            problems.warn(
                "unknown-tag", message, file=file, line=place, field="summary_tags", id=case.id
            )
    return units


def _score_chunk(chunk: Sequence[Case], rules: Rules) -> dict[str, list[Any]]:
    """The columns of some cases: a hundred thousand rows as dictionaries would take a gigabyte."""
    rows = [_row(case, score_case(case.answer, case.texts, case.tags, rules)) for case in chunk]
    return {column: [row[column] for row in rows] for column in rows[0]}


def _row(case: Case, found: CaseScores) -> dict[str, Any]:
    row: dict[str, Any] = {
        "case_id": case.id,
        "question": case.question,
        "answer": case.answer,
        "contexts": dumps(case.texts),
        "ground_truth": case.ground_truth,
        "tags": dumps(case.tags),
        "unknown_tags": dumps(found.unknown_tags),
        "intent": case.intent,
        "product": case.metadata.product,
        "channel": case.metadata.channel,
        "cases": 1,
    }
    for metric, s in found.scores.items():
        row |= {
            metric: s.score,
            f"{metric}_measured": s.measured,
            f"{metric}_rule": s.score,
            f"{metric}_llm": float("nan"),
            f"{metric}_confidence": float("nan"),
            f"{metric}_decided_by": "rule",
            f"{metric}_trigger": None,
            f"{metric}_num": s.numerator,
            f"{metric}_den": s.denominator,
            f"{metric}_evidence": dumps(s.evidence),
        }
    accuracy = found.scores["summary_accuracy"]
    unsupported = (
        {e["kind"] for e in accuracy.evidence.get("unsupported", ())}
        if accuracy.denominator
        else set()
    )
    return {
        **row,
        "any_unsupported": not FIGURES.isdisjoint(unsupported),
        "any_unsupported_measured": accuracy.denominator > 0,
        "n_entities": found.n_entities,
        "ambiguous_followup": found.ambiguous,
        "unread_figures": dumps(found.unread_figures),
    }


def finish(units: pd.DataFrame, rules: Rules) -> pd.DataFrame:
    """Add the columns that follow from the final scores: passed, and the score where it was measured."""
    added = {}
    for metric in METRICS:
        threshold = rules.thresholds.get(metric)
        if threshold is not None:
            added[f"{metric}_passed"] = units[metric] >= threshold - 1e-12
            added[f"{metric}_measured_passed"] = (
                added[f"{metric}_passed"] & units[f"{metric}_measured"]
            )
        added[f"{metric}_if_measured"] = units[metric].where(units[f"{metric}_measured"])
        added[f"{metric}_not_measured"] = ~units[f"{metric}_measured"]
    return pd.concat([units, pd.DataFrame(added, index=units.index)], axis=1)


def by_metric(
    units: pd.DataFrame,
    metrics: Iterable[str] = METRICS,
    keep: Sequence[str] = ("case_id",),
    /,
    **columns: str,
) -> pd.DataFrame:
    """The units as one row a metric and case: `metric`, the columns `keep`, and of those of each metric `columns`.

    columns: name -> what follows the metric's name in the units ("" is the score); null where the units have none.
    """
    parts = [
        units[[*keep]].assign(
            metric=m, **{name: units.get(m + end, np.nan) for name, end in columns.items()}
        )
        for m in metrics
    ]
    return pd.concat(parts)
