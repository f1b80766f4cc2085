"""What the score of a case rests on, in words of the reader's language, from its evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from ...core.language import listed, say
from .passages import around
from .states import JUDGED, open_points

Evidence = Mapping[str, Any]


def whys(units: pd.DataFrame, metric: str) -> list[str]:
    """What the score of each case rests on; of one not measured, what stands for it, and why.

    Where a judge decided, its score and reason come first, then what the rules saw (D38).
    """
    columns = [metric, f"{metric}_measured", f"{metric}_evidence", "answer", "contexts"]
    columns += [f"{metric}_decided_by", f"{metric}_rule", f"{metric}_llm"]
    reasons = []
    for case in units[columns].itertuples(index=False, name=None):
        score, measured, evidence, answer, contexts, decided_by, by_rule, by_judge = case
        if decided_by == "rule":
            parts = _why(metric, score, measured, evidence, answer or "", contexts)
        else:
            parts = [_judged(evidence, decided_by, by_rule, by_judge)]
            parts += _why(metric, by_rule, True, evidence, answer or "", contexts)
        reasons.append(listed(parts, "; "))
    return reasons


def _judged(
    evidence: Evidence,
    decided_by: str,
    by_rule: float,
    by_judge: float,
) -> str:
    """Who decided a score, and how."""
    template = "the judge says {judge:.2f} ({reason}) and decides; the rules say {rule:.2f}"
    if decided_by == "blend":
        template = "the judge says {judge:.2f} ({reason}), blended with the rules' {rule:.2f}"
    judge = evidence.get("judge", {})
    reason = judge.get("reason") or ""
    said = say(template, judge=by_judge, reason=reason, rule=by_rule)
    wrong = [f"“{point['text']}”" for point in judge.get("points", []) if not point["holds"]]
    if wrong:
        said += "; " + say("it does not hold: {texts}", texts=listed(wrong))
    return said


def in_short(units: pd.DataFrame) -> list[str]:
    """Why each case is in its state, in a line: what fails, or what a person must settle; "" for ok."""
    ends = ("state", "measured", "evidence", "decided_by", "rule", "llm")
    columns = [f"{metric}_{end}" for metric in JUDGED for end in ends]
    lines = []
    for case in units[["state", *columns]].to_dict("records"):
        parts = []
        for metric in JUDGED:
            if case[f"{metric}_state"] == case["state"] != "ok":
                parts += _in_short(metric, case)
        lines.append(listed(parts, "; "))
    return lines


def _in_short(metric: str, case: Mapping[Any, Any]) -> list[str]:
    """Why one metric of a case is in its state."""
    evidence = case[f"{metric}_evidence"]
    decided_by = case[f"{metric}_decided_by"]
    if decided_by != "rule":
        by_rule, by_judge = case[f"{metric}_rule"], case[f"{metric}_llm"]
        return [_judged(evidence, decided_by, by_rule, by_judge)]
    if case[f"{metric}_state"] == "look":
        points = open_points(metric, evidence, measured=case[f"{metric}_measured"])
        return [_point(point) for point in points]
    if "reason" in evidence:
        return [say(evidence["reason"])]
    if metric == "summary_accuracy":
        return _wrong_figures(evidence)
    if metric == "summary_risk_coverage":
        return [say("left out: {tags}", tags=listed(map(say, evidence["missing"])))]
    if metric == "summary_non_definitive":
        return [say("promised: {texts}", texts=_texts(evidence.get("definitive", [])))]
    return _followup(evidence)


def _wrong_figures(evidence: Evidence) -> list[str]:
    parts = []
    if evidence.get("contradicted"):
        texts = _texts(evidence["contradicted"])
        parts.append(say("a source says the opposite: {texts}", texts=texts))
    opposite = [entity["at"] for entity in evidence.get("contradicted", [])]
    without = [e for e in evidence.get("unsupported", []) if e["at"] not in opposite]
    if without:
        texts = _texts(without)
        parts.append(say("no source supports {texts}", texts=texts))
    return parts


def _followup(evidence: Evidence) -> list[str]:
    """Why the follow-up is wrong: it is due and not named, or named where none is due."""
    if not evidence.get("expected"):
        texts = _texts(evidence.get("phrases", []))
        return [say("a follow-up is named where none is due: {texts}", texts=texts)]
    if evidence.get("let_off"):
        texts = _texts(evidence["let_off"])
        return [say("a follow-up is due, and is taken back: {texts}", texts=texts)]
    return [say("a follow-up is due, and none is named")]


def _point(point: Evidence) -> str:
    """What a person must settle, in words."""
    why = say(point["why"])
    return f"{why}: “{point['text']}”" if point.get("text") else why


def _texts(phrases: Sequence[Evidence]) -> str:
    """The phrases, each with what the source has instead where that is known."""
    texts = []
    for phrase in phrases:
        text = f"“{phrase['text']}”"
        if phrase.get("instead"):
            text = say("{text} (source: “{instead}”)", text=text, instead=phrase["instead"])
        texts.append(text)
    return listed(texts)


def not_measured(score: float, reason: str) -> str:
    """The number that stands for what was not measured, as every page and file words it."""
    return say("not measured (counts as {score:.2f}): {reason}", score=score, reason=say(reason))


def source_sentence(place: Evidence | None, contexts: Sequence[str]) -> str:
    """The sentence around a place of the contexts; "" without one."""
    if not place:
        return ""
    return around(contexts[place["context"]], place["context_at"])


def _why(
    metric: str,
    score: float,
    measured: bool,
    evidence: Evidence,
    answer: str,
    contexts: Sequence[str],
) -> list[str]:
    if "reason" in evidence:
        reason = evidence["reason"]
        parts = [say(reason) if measured else not_measured(score, reason)]
    elif metric == "summary_accuracy":
        parts = _entities(("unsupported", "supported"), evidence, answer, contexts)
    elif metric == "entity_recall":
        parts = _entities(("lost", "kept"), evidence, answer, contexts)
    elif metric == "summary_risk_coverage":
        parts = _tags(evidence, contexts)
    elif metric == "summary_needs_followup" and measured and not score:
        parts = [*_followup(evidence), *_phrases(evidence)]
    else:
        parts = _phrases(evidence)
    unread = [f"“{figure}”" for figure in evidence.get("unread", [])]
    if unread:
        figures = listed(unread)
        parts.append(say("not read, compared with nothing: {figures}", figures=figures))
    return parts


def _entities(
    kinds: Sequence[str],
    evidence: Evidence,
    answer: str,
    contexts: Sequence[str],
) -> list[str]:
    """The entities of each kind, in their sentence, with the passage of the same value."""
    parts = []
    for kind in kinds:
        entities = evidence.get(kind, [])
        if entities:
            shown = [_entity(entity, answer, contexts) for entity in entities]
            parts.append(f"{say(kind)}: {', '.join(shown)}")
    return parts


def _entity(
    entity: Evidence,
    answer: str,
    contexts: Sequence[str],
) -> str:
    text = entity["text"]
    source = source_sentence(entity, contexts) if "context" in entity else ""
    if not entity["at"]:  # lost: it stands in the contexts only
        return say("“{text}” in “{said}”", text=text, said=source) if source else ""
    stated = say("“{text}” in “{said}”", text=text, said=around(answer, entity["at"]))
    if not source:
        return stated
    if "why" in entity or "instead" in entity:
        return say("{stated}, the source says “{source}”", stated=stated, source=source)
    return say("{stated}, from “{source}”", stated=stated, source=source)


def _tags(evidence: Evidence, contexts: Sequence[str]) -> list[str]:
    """The missing tags with the passage that names them, the covered ones with their phrases."""
    missing = []
    for tag, let_off in evidence["missing"].items():
        text = say(tag)
        if let_off:
            text = say("{tag} (taken back: {texts})", tag=text, texts=_quoted(let_off))
        source = source_sentence(evidence.get("due", {}).get(tag), contexts)
        if source:
            text = say("{tag}, from “{source}”", tag=text, source=source)
        missing.append(text)
    covered = []
    for tag, phrases in evidence["covered"].items():
        covered.append(say("{tag} by {texts}", tag=say(tag), texts=_quoted(phrases)))
    parts = []
    if missing:
        parts.append(f"{say('missing')}: {'; '.join(missing)}")
    if covered:
        parts.append(f"{say('covered')}: {'; '.join(covered)}")
    return parts


def _phrases(evidence: Evidence) -> list[str]:
    """The phrases that stand, and those that are let off with what takes them back."""
    parts = []
    standing = evidence.get("definitive") or evidence.get("phrases")
    if standing:
        parts.append(say("found: {texts}", texts=_quoted(standing)))
    for phrase in evidence.get("let_off", []):
        text = say(
            "“{text}” let off: {why} (“{by}”)",
            text=phrase["text"],
            why=say(phrase["let_off"]),
            by=phrase["by"],
        )
        parts.append(text)
    return parts


def _quoted(phrases: Sequence[Evidence]) -> str:
    texts = []
    for phrase in phrases:
        texts.append(say("“{text}” at {at}", text=phrase["text"], at=phrase["at"][0]))
    return listed(texts)
