"""The five scores of a summary by rule, with their evidence, and the units frame of a file of cases.

    cases --rules--> five verdicts a case --judge, where asked--> final scores --> units frame

A verdict that could measure nothing keeps the number that the source document gives it, with `measured`
False and the reason in its evidence. Source: seed insurance_summary_prd section 5; specification D2, D14.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache, lru_cache, partial
from typing import Any

import pandas as pd

from ..app.workers import Workers
from ..core.errors import Problems
from ..core.jsonl import dumps
from .entities import Entity, by_key, extractor
from .rules import FOLLOWUP_TAG, METRICS, Compiled, Rules, compile_rules
from .schema import Case
from .text import normalise
from .wording import Match, matches

CHUNK = 500
"""Cases that one process scores at a time."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One metric of one case. score: 0..1, the source document's number where not `measured`.

    numerator, denominator: what the score is a ratio of (0, 0 where not measured). evidence: JSON values.
    """

    score: float
    measured: bool
    numerator: int
    denominator: int
    evidence: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Scored:
    """The verdicts of a case by metric; `n_entities` of the summary; `ambiguous`: a follow-up wording was let off."""

    verdicts: Mapping[str, Verdict]
    n_entities: int
    ambiguous: bool
    unknown_tags: tuple[str, ...]


def _unmeasured(score: float, reason: str, **evidence: Any) -> Verdict:
    return Verdict(score, False, 0, 0, {"reason": reason, **evidence})


def score_case(answer: str | None, contexts: Sequence[str], tags: Sequence[str], rules: Rules | Compiled) -> Scored:
    """Score one summary against its contexts and tags (in normal form).

    The order of the contexts does not matter to any score.
    """
    compiled = compile_rules(rules) if isinstance(rules, Rules) else rules
    answer = answer or ""
    summary = extractor(compiled).entities(answer)
    sources = [_entities(compiled, c) for c in contexts]
    known = [t for t in tags if t in compiled.tags or t == FOLLOWUP_TAG]
    unknown = tuple(t for t in tags if t not in known)
    text = normalise(answer, compiled.fold)
    blank = not text.norm.strip()
    followups = matches(compiled.followup, text, answer, compiled)
    verdicts = {
        "summary_accuracy": _accuracy(blank, summary, sources),
        "summary_risk_coverage": _risk_coverage(known, unknown, followups, text, answer, compiled),
        "summary_non_definitive": _non_definitive(blank, text, answer, compiled),
        "summary_needs_followup": _needs_followup(blank, known, unknown, followups),
        "entity_recall": _recall(summary, sources),
    }
    n_entities = len({e.key for e in summary if not e.support_only})
    return Scored(verdicts, n_entities, bool(followups) and all(m.let_off for m in followups), unknown)


@lru_cache(maxsize=4096)
def _entities(compiled: Compiled, context: str) -> tuple[Entity, ...]:
    return tuple(extractor(compiled).entities(context))


def _accuracy(blank: bool, summary: Iterable[Entity], sources: Sequence[Sequence[Entity]]) -> Verdict:
    """Supported entities of the summary over its entities, each value once (seed 5.1, D14)."""
    if blank:
        return Verdict(0.0, True, 0, 0, {"reason": "empty summary"})
    stated = {k: e for k, e in by_key(summary).items() if not e.support_only}
    places = _places(sources)
    supported = [_found(e, places[k]) for k, e in stated.items() if k in places]
    if not any(not e.support_only for source in sources for e in source) and not supported:
        return _unmeasured(0.0, "no context entities", unsupported=[_shown(e) for e in stated.values()])
    if not stated:
        return _unmeasured(0.5, "no summary entities")
    unsupported = [_shown(e) for k, e in stated.items() if k not in places]
    n = len(stated)
    return Verdict(len(supported) / n, True, len(supported), n, {"supported": supported, "unsupported": unsupported})


def _recall(summary: Iterable[Entity], sources: Sequence[Sequence[Entity]]) -> Verdict:
    """Context entities that the summary keeps over context entities, each value once."""
    there = by_key(e for source in sources for e in source)
    asked = {k: e for k, e in there.items() if not e.support_only}
    if not asked:
        return _unmeasured(0.0, "no context entities")
    stated, places = by_key(summary), _places(sources)
    kept = [_found(stated[k], places[k]) for k in asked if k in stated]
    lost = [
        {**_shown(asked[k]), "at": None, "context": places[k][0], "context_at": places[k][1]}
        for k in asked
        if k not in stated
    ]
    return Verdict(len(kept) / len(asked), True, len(kept), len(asked), {"kept": kept, "lost": lost})


def _places(sources: Sequence[Sequence[Entity]]) -> dict[str, tuple[int, list[int]]]:
    """Key of each context entity -> (number of the context from 0, [start, end)) of its first occurrence."""
    out: dict[str, tuple[int, list[int]]] = {}
    for i, source in enumerate(sources):
        for e in source:
            out.setdefault(e.key, (i, [e.start, e.end]))
    return out


def _shown(e: Entity) -> dict[str, Any]:
    return {"kind": e.kind, "text": e.text, "value": e.shown, "at": [e.start, e.end]}


def _found(e: Entity, place: tuple[int, list[int]]) -> dict[str, Any]:
    return {**_shown(e), "context": place[0], "context_at": place[1]}


def _risk_coverage(
    known: Sequence[str],
    unknown: Sequence[str],
    followups: Sequence[Match],
    text: Any,
    answer: str,
    compiled: Compiled,
) -> Verdict:
    """Expected tags that the summary covers over expected tags (seed 5.2). Unknown tags are expected of nobody."""
    more = {"unknown_tags": list(unknown)} if unknown else {}
    if not known:
        return _unmeasured(1.0, "no known tags" if unknown else "no tags", **more)
    covered, missing = {}, {}
    for tag in known:
        found = followups if tag == FOLLOWUP_TAG else matches(compiled.tags[tag], text, answer, compiled)
        holds = [m.as_json() for m in found if not m.let_off]
        if holds:
            covered[tag] = holds
        else:
            missing[tag] = [m.as_json() for m in found]
    score = len(covered) / len(known)
    return Verdict(score, True, len(covered), len(known), {"covered": covered, "missing": missing, **more})


def _non_definitive(blank: bool, text: Any, answer: str, compiled: Compiled) -> Verdict:
    """1 unless a definitive phrase stands that nothing takes back (seed 5.3)."""
    if blank:
        return _unmeasured(1.0, "empty summary")
    found = sorted(
        (m for group in compiled.definitive for m in matches(group, text, answer, compiled)), key=lambda m: m.start
    )
    definitive = [m.as_json() for m in found if not m.let_off]
    let_off = [m.as_json() for m in found if m.let_off]
    good = not definitive
    return Verdict(float(good), True, int(good), 1, {"definitive": definitive, "let_off": let_off})


def _needs_followup(blank: bool, known: Sequence[str], unknown: Sequence[str], followups: Sequence[Match]) -> Verdict:
    """1 where a follow-up is named exactly if the tag asks for one (seed 5.4).

    Without any known tag nobody said whether a follow-up was due: the number is the seed's, and not measured.
    """
    phrases = [m.as_json() for m in followups if not m.let_off]
    evidence = {"phrases": phrases, "let_off": [m.as_json() for m in followups if m.let_off]}
    expected = FOLLOWUP_TAG in known
    good = bool(phrases) == expected
    if blank and not expected:
        return _unmeasured(1.0, "empty summary", **evidence)
    if not known:
        return _unmeasured(float(good), "no known tags" if unknown else "no tags", **evidence)
    return Verdict(float(good), True, int(good), 1, {"expected": expected, **evidence})


def score_cases(
    cases: Sequence[tuple[int, Case]], rules: Rules, problems: Problems, workers: Workers, file: str = ""
) -> tuple[pd.DataFrame, list[Scored]]:
    """The units frame by rule alone, a row a case in the order given, and the verdicts behind it.

    The verdicts come without their evidence, which stands in the frame as JSON.
    """
    chunks = [cases[i : i + CHUNK] for i in range(0, len(cases), CHUNK)] or [[]]
    parts = workers.map(partial(_score_chunk, rules=rules.model_dump_json()), chunks)
    scored = [s for _, part in parts for s in part]
    hint = cache(partial(_hint, rules.known_tags))
    for (place, case), s in zip(cases, scored):
        for tag in s.unknown_tags:
            message = f"unknown tag {tag!r}, left out of what is expected; {hint(tag)}"
            problems.warn("unknown-tag", message, file=file, line=place, field="summary_tags", id=case.id)
    columns = {name: [v for part, _ in parts for v in part[name]] for name in parts[0][0]}
    return pd.DataFrame(columns), scored


def _hint(known: Sequence[str], tag: str) -> str:
    near = get_close_matches(tag, known, 1)
    return f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"


def _score_chunk(chunk: Sequence[tuple[int, Case]], rules: str) -> tuple[dict[str, list[Any]], list[Scored]]:
    """Columns of the frame, and the verdicts without evidence."""
    compiled = compile_rules(_rules(rules))
    columns: dict[str, list[Any]] = {name: [] for name in _row(_EMPTY, score_case(None, [], [], compiled))}
    out = []
    for _, case in chunk:
        scored = score_case(case.answer, case.texts, case.tags, compiled)
        for name, value in _row(case, scored).items():
            columns[name].append(value)
        out.append(replace(scored, verdicts={m: replace(v, evidence={}) for m, v in scored.verdicts.items()}))
    return columns, out


_EMPTY = Case(id="0")


@lru_cache(maxsize=4)
def _rules(source: str) -> Rules:
    return Rules.model_validate_json(source)


def _row(case: Case, scored: Scored) -> dict[str, Any]:
    row: dict[str, Any] = {
        "case_id": case.id,
        "question": case.question,
        "answer": case.answer,
        "contexts": dumps(case.texts),
        "ground_truth": case.ground_truth,
        "tags": dumps(case.tags),
        "unknown_tags": dumps(list(scored.unknown_tags)),
        "intent": case.intent,
        "cases": 1,
    }
    for metric in METRICS:
        v = scored.verdicts[metric]
        row |= {
            metric: v.score,
            f"{metric}_measured": v.measured,
            f"{metric}_rule": v.score,
            f"{metric}_llm": float("nan"),
            f"{metric}_confidence": float("nan"),
            f"{metric}_decided_by": "rule",
            f"{metric}_trigger": None,
            f"{metric}_num": v.numerator,
            f"{metric}_den": v.denominator,
            f"{metric}_evidence": dumps(v.evidence),
        }
    return row


def finish(units: pd.DataFrame, rules: Rules) -> pd.DataFrame:
    """Add the columns that follow from the final scores: passed, and the score where it was measured."""
    added = {}
    for metric in METRICS:
        threshold = rules.thresholds.get(metric)
        if threshold is not None:
            added[f"{metric}_passed"] = units[metric] >= threshold - 1e-12
            added[f"{metric}_measured_passed"] = added[f"{metric}_passed"] & units[f"{metric}_measured"]
        added[f"{metric}_if_measured"] = units[metric].where(units[f"{metric}_measured"])
        added[f"{metric}_not_measured"] = ~units[f"{metric}_measured"]
    return pd.concat([units, pd.DataFrame(added, index=units.index)], axis=1)
