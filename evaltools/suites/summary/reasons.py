"""What the score of a case rests on, in words of the reader's language, from its evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from ...core.language import say
from .passages import around

Evidence = Mapping[str, Any]


def whys(units: pd.DataFrame, metric: str) -> list[str]:
    """What the score of each case rests on; of one not measured, what stands for it, and why."""
    columns = [metric, f"{metric}_measured", f"{metric}_evidence", "answer", "contexts"]
    reasons = []
    for case in units[columns].itertuples(index=False, name=None):
        score, measured, evidence, answer, contexts = case
        parts = _why(metric, score, measured, evidence, answer or "", contexts)
        reasons.append("; ".join(parts))
    return reasons


def scores_with_reasons(units: pd.DataFrame, metric: str) -> list[str]:
    """The score of each case with what it rests on; one that was not measured leads with that."""
    texts = []
    for score, measured, why in zip(
        units[metric],
        units[f"{metric}_measured"],
        whys(units, metric),
    ):
        if measured:
            texts.append(f"{score:.2f}; {why}" if why else f"{score:.2f}")
        else:
            texts.append(why)
    return texts


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
    else:
        parts = _phrases(evidence)
    unread = [f"“{figure}”" for figure in evidence.get("unread", [])]
    if unread:
        figures = ", ".join(unread)
        parts.append(say("not read, compared with nothing: {figures}", figures=figures))
    return parts


def _entities(
    kinds: Sequence[str], evidence: Evidence, answer: str, contexts: Sequence[str]
) -> list[str]:
    """The entities of each kind, in their sentence, with the passage of the same value."""
    parts = []
    for kind in kinds:
        entities = evidence.get(kind, [])
        if entities:
            shown = [_entity(entity, answer, contexts) for entity in entities]
            parts.append(f"{say(kind)}: {', '.join(shown)}")
    return parts


def _entity(entity: Evidence, answer: str, contexts: Sequence[str]) -> str:
    text = entity["text"]
    source = source_sentence(entity, contexts) if "context" in entity else ""
    if not entity["at"]:  # lost: it stands in the contexts only
        return say("“{text}” in “{said}”", text=text, said=source) if source else ""
    stated = say("“{text}” in “{said}”", text=text, said=around(answer, entity["at"]))
    if not source:
        return stated
    return say("{stated}, from “{source}”", stated=stated, source=source)


def _tags(evidence: Evidence, contexts: Sequence[str]) -> list[str]:
    """The missing tags with the passage that names them, the covered ones with their phrases."""
    missing = []
    for tag, let_off in evidence["missing"].items():
        text = tag
        if let_off:
            text = say("{tag} (taken back: {texts})", tag=tag, texts=_quoted(let_off))
        source = source_sentence(evidence.get("due", {}).get(tag), contexts)
        if source:
            text = say("{tag}, from “{source}”", tag=text, source=source)
        missing.append(text)
    covered = []
    for tag, phrases in evidence["covered"].items():
        covered.append(say("{tag} by {texts}", tag=tag, texts=_quoted(phrases)))
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
    return ", ".join(texts)
