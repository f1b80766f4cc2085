"""Why a case is in its state, a line a reason, the worst first: the same words on pages, in the workbook and terminal.

30% → source 20% (자기부담금은 손해액의 20%로 하되)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...core.language import listed, say
from .states import JUDGED, TERMS
from .wording import around

Evidence = Mapping[str, Any]

Case = Mapping[Any, Any]
"""A row of the units, its lists and evidence decoded."""

# characters of a sentence that a reason shows on either side of a value of the summary, and of the source
OF_SUMMARY = 12
OF_SOURCE = 24


def in_short(case: Case) -> list[str]:
    """Why a case fails, or what a person must settle: the reasons of the metrics in its state; none of an ok case."""
    lines = []
    for metric in JUDGED:
        state = case[f"{metric}_state"]
        if state != "ok" and state == case["state"]:
            lines += [f"{say(TERMS[metric])}: {line}" for line in judged(case, metric)]
            if case[f"{metric}_decided_by"] == "rule":
                lines += against(case, metric)
    return lines


def why(
    case: Case,
    metric: str,
) -> str:
    """What a judge said of a case and what speaks against its score, in a line; what speaks for it stands in the evidence.

    What the rules say against a case is not told where a judge alone decided.
    """
    lines = judged(case, metric)
    if case[f"{metric}_decided_by"] != "llm":
        lines += against(case, metric)
    return "; ".join(lines)


def judged(
    case: Case,
    metric: str,
) -> list[str]:
    """Who decided a score, and how, where a judge gave one."""
    if math.isnan(case[f"{metric}_llm"]):
        return []
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
    return [said]


def against(
    case: Case,
    metric: str,
) -> list[str]:
    """What speaks against a score, or leaves it open, by the rules."""
    evidence = case[f"{metric}_evidence"]
    lines = []
    if "reason" in evidence:
        reason = say(evidence["reason"])
        if not case[f"{metric}_measured"]:
            template = "not measured (counts as {score:.2f}): {reason}"
            reason = say(template, score=case[metric], reason=reason)
        lines.append(reason)
    contradicted = evidence.get("contradicted", [])
    absent = [entity for entity in evidence.get("unsupported", []) if "why" not in entity]
    for entity in [*contradicted, *absent, *evidence.get("look", [])]:
        lines.append(compared(entity, case))
    if evidence.get("missing"):
        tags = listed(map(say, evidence["missing"]))
        lines.append(say("Risk left out: {tags}", tags=tags))
    if evidence.get("definitive"):
        lines.append(say("Promise: {texts}", texts=_quoted(evidence["definitive"])))
    named = evidence.get("phrases", [])
    is_due = evidence.get("expected", bool(named))
    if is_due and not named:
        lines.append(say("a follow-up is due, and none is named"))
    if named and not is_due:
        text = "a follow-up is named where none is due: {texts}"
        lines.append(say(text, texts=_quoted(named)))
    for tag in evidence.get("unknown_tags", []):
        lines.append(f"{say('unknown tag')}: “{tag}”")
    if evidence.get("unread"):
        figures = listed(f"“{figure}”" for figure in evidence["unread"])
        lines.append(say("not read, compared with nothing: {figures}", figures=figures))
    return lines


def compared(
    entity: Evidence,
    case: Case,
) -> str:
    """What the summary says, and what the source does."""
    if "tag" in entity:
        return say("{tag} is only named: “{text}”", tag=say(entity["tag"]), text=entity["text"])
    says_otherwise = "why" in entity
    said = entity["text"]
    if says_otherwise:
        said = around(case["answer"], entity["at"], OF_SUMMARY)
    if "context" not in entity:
        return say("{said} → not in the source", said=said)
    source = around(case["contexts"][entity["context"]], entity["context_at"], OF_SOURCE)
    if not says_otherwise:
        source = f"{entity['instead']} ({source})"
    return say("{said} → source {source}", said=said, source=source)


def source_sentence(
    place: Evidence | None,
    contexts: Sequence[str],
) -> str:
    """The sentence around a place of the contexts; "" without one."""
    return around(contexts[place["context"]], place["context_at"]) if place else ""


def _quoted(phrases: Iterable[Evidence]) -> str:
    return listed(f"“{phrase['text'].strip()}”" for phrase in phrases)
