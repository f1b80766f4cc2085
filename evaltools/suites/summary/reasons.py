"""What the score of a case rests on, in words of the reader's language, from its evidence.

What speaks against a case comes first: it alone is the reason in a line.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...core.language import listed, say
from .metric_table import TERMS
from .passages import around
from .states import JUDGED

Evidence = Mapping[str, Any]

Case = Mapping[Any, Any]
"""A row of the units, its lists and evidence decoded."""


def why(case: Case, metric: str) -> str:
    """What the score of a case rests on; of one not measured, what stands for it, and why.

    Where a judge decided, its score and reason come first, then what the rules saw (D38).
    """
    parts = against(case, metric)
    parts += in_favour(case, metric)
    if was_judged(case, metric):
        parts.insert(0, judged(case, metric))
    return listed(parts, "; ")


def in_short(case: Case) -> str:
    """Why a case is in its state, in a line: what fails, or what a person must settle; "" for ok."""
    parts = []
    for metric in JUDGED:
        state = case[f"{metric}_state"]
        if state == "ok" or state != case["state"]:
            continue
        reasons = [judged(case, metric)] if was_judged(case, metric) else []
        if case[f"{metric}_decided_by"] == "rule":
            reasons += against(case, metric)
        parts.append(f"{say(TERMS[metric])}: {listed(reasons, '; ')}")
    return listed(parts, "; ")


def was_judged(case: Case, metric: str) -> bool:
    """Whether a judge gave a score, which it may have been too unsure of to decide."""
    return not math.isnan(case[f"{metric}_llm"])


def judged(case: Case, metric: str) -> str:
    """Who decided a score, and how."""
    template = "the judge says {judge:.2f} ({reason}) and decides; the rules say {rule:.2f}"
    decided_by = case[f"{metric}_decided_by"]
    if decided_by == "rule":
        template = "the judge says {judge:.2f} ({reason}), too unsure to decide alone"
    if decided_by == "blend":
        template = "the judge says {judge:.2f} ({reason}), blended with the rules' {rule:.2f}"
    judge = case[f"{metric}_evidence"]["judge"]
    said = say(
        template,
        judge=case[f"{metric}_llm"],
        reason=judge["reason"],
        rule=case[f"{metric}_rule"],
    )
    denied = [point for point in judge["points"] if not point["holds"]]
    if denied:
        objection = say("it does not hold: {texts}", texts=_quoted(denied))
        said = f"{said}; {objection}"
    return said


def against(case: Case, metric: str) -> list[str]:
    """What speaks against a score, or leaves it open, by the rules."""
    evidence = case[f"{metric}_evidence"]
    parts = []
    if "reason" in evidence:
        reason = say(evidence["reason"])
        if not case[f"{metric}_measured"]:
            template = "not measured (counts as {score:.2f}): {reason}"
            reason = say(template, score=case[metric], reason=reason)
        parts.append(reason)
    contradicted = evidence.get("contradicted", [])
    look = evidence.get("look", [])
    for point in [*contradicted, *look]:
        parts.append(f"{say(point['why'])}: {stated(point, case)}")
    parts += _entities("unsupported", case, evidence)
    parts += _entities("lost", case, evidence)
    parts += _kind("missing", _missing(case, evidence))
    phrases = [f"“{phrase['text']}”" for phrase in evidence.get("definitive", [])]
    parts += _kind("definitive phrases", phrases)
    parts += _wrong_followup(evidence)
    for tag in evidence.get("unknown_tags", []):
        parts.append(f"{say('unknown tag')}: “{tag}”")
    if evidence.get("unread"):
        figures = listed(f"“{figure}”" for figure in evidence["unread"])
        parts.append(say("not read, compared with nothing: {figures}", figures=figures))
    return parts


def in_favour(case: Case, metric: str) -> list[str]:
    """What else a score rests on."""
    evidence = case[f"{metric}_evidence"]
    parts = _entities("supported", case, evidence)
    parts += _entities("kept", case, evidence)
    covered = []
    for tag, phrases in evidence.get("covered", {}).items():
        covered.append(say("{tag} by {texts}", tag=say(tag), texts=_quoted(phrases)))
    parts += _kind("covered", covered)
    if evidence.get("phrases"):
        parts.append(say("found: {texts}", texts=_quoted(evidence["phrases"])))
    for phrase in evidence.get("let_off", []):
        template = "“{text}” let off: {why} (“{by}”)"
        why = say(phrase["let_off"])
        parts.append(say(template, text=phrase["text"], why=why, by=phrase["by"]))
    return parts


def stated(entity: Evidence, case: Case) -> str:
    """A value or clause in its sentence, with the passage of the source that is nearest to it."""
    text = entity["text"]
    source = ""
    if "context" in entity:
        source = source_sentence(entity, case["contexts"])
    if not entity["at"]:  # it stands in the contexts only
        return say("“{text}” in “{said}”", text=text, said=source)
    said = around(case["answer"], entity["at"])
    told = say("“{text}” in “{said}”", text=text, said=said)
    if not source:
        return told
    if "why" in entity or "instead" in entity:
        return say("{stated}, the source says “{source}”", stated=told, source=source)
    return say("{stated}, from “{source}”", stated=told, source=source)


def source_sentence(place: Evidence | None, contexts: Sequence[str]) -> str:
    """The sentence around a place of the contexts; "" without one."""
    if not place:
        return ""
    context = contexts[place["context"]]
    return around(context, place["context_at"])


def _missing(case: Case, evidence: Evidence) -> list[str]:
    """The missing tags, each with what takes it back and the passage that names it."""
    due = evidence.get("due", {})
    missing = []
    for tag, let_off in evidence.get("missing", {}).items():
        text = say(tag)
        if let_off:
            text = say("{tag} (taken back: {texts})", tag=text, texts=_quoted(let_off))
        source = source_sentence(due.get(tag), case["contexts"])
        if source:
            text = say("{tag}, from “{source}”", tag=text, source=source)
        missing.append(text)
    return missing


def _wrong_followup(evidence: Evidence) -> list[str]:
    """Why the follow-up is wrong: it is due and not named, or named where none is due."""
    named = evidence.get("phrases", [])
    is_due = evidence.get("expected", bool(named))
    if is_due and not named:
        return [say("a follow-up is due, and none is named")]
    if named and not is_due:
        texts = _quoted(named)
        return [say("a follow-up is named where none is due: {texts}", texts=texts)]
    return []


def _entities(kind: str, case: Case, evidence: Evidence) -> list[str]:
    """The entities of a kind; what a source says the opposite of was told with that."""
    entities = [entity for entity in evidence.get(kind, []) if "why" not in entity]
    return _kind(kind, [stated(entity, case) for entity in entities])


def _kind(kind: str, texts: Sequence[str]) -> list[str]:
    """One part that lists the texts under their kind; none without texts."""
    if not texts:
        return []
    name = say(kind)
    return [f"{name}: {listed(texts)}"]


def _quoted(phrases: Iterable[Evidence]) -> str:
    return listed(f"“{phrase['text']}”" for phrase in phrases)
