"""Which cases the judge is asked about: those of which the rules are unsure, and some others.

Of the cases of which the rules are sure a random share is asked as well (`AUDIT`): the replies
decide nothing, they show how often the rules are wrong where nobody would look. Source: seed
insurance_summary_prd section 10.2; specification D17.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import pandas as pd

from .passages import around
from .rules import FOLLOWUP_TAG
from .scoring import BARE_NOUN
from .states import JUDGED

AUDIT = "audit"
"""What stands as the trigger of a case of which the rules are sure, drawn at random."""


@dataclass(frozen=True)
class JudgeInput:
    """One case and metric to judge.

    rule_score: 0..1. trigger: the reason that `trigger()` gave, or AUDIT. points: the clauses that
    the rules could not settle, each with the passage of the source or the tag that it stands for.
    """

    case_id: str
    metric: str
    answer: str
    contexts: tuple[str, ...]
    tags: tuple[str, ...]
    rule_score: float
    trigger: str
    points: tuple[Mapping[str, str], ...] = ()


def trigger(
    metric: str,
    rule_score: float,
    measured: bool,
    n_entities: int,
    tags: Sequence[str],
    ambiguous: bool,
    unread: bool = False,
    contested: bool = False,
) -> str | None:
    """Why this case lies in the metric's uncertain zone, or None.

    measured: False where summary or contexts hold no entities, so that the rules compared nothing.
    n_entities: of the summary; "very few" is at most one. ambiguous: the follow-up rules could not
    tell. unread: the summary holds a figure that no rule read, so that nothing compared it (D20).
    contested: a source may say the opposite of a value, or say it of another item (D34), or a risk
    item is named without what it is.

    >>> trigger("summary_accuracy", 0.5, measured=True, n_entities=4, tags=[], ambiguous=False)
    'rule score from 0.3 to 0.7'
    """
    if metric == "summary_accuracy":
        if not measured:
            return "no entities to compare"
        if unread:
            return "a figure was not read"
        if contested:
            return "a source may say otherwise"
        if 0.3 <= rule_score <= 0.7:
            return "rule score from 0.3 to 0.7"
        if n_entities <= 1:
            return "at most one entity"
    if metric == "summary_risk_coverage":
        if set(tags) <= {FOLLOWUP_TAG}:
            return "no tags"
        if contested:
            return BARE_NOUN
    if metric == "summary_non_definitive" and rule_score == 0.0:
        return "definitive phrase found"
    if metric == "summary_needs_followup":
        if FOLLOWUP_TAG in tags:
            return "tagged needs_followup"
        if ambiguous:
            return "ambiguous follow-up wording"
    return None


def to_ask(units: pd.DataFrame, audit: float) -> list[JudgeInput]:
    """The cases and metrics that lie in a trigger zone, then a share `audit` of the others.

    Of the audit, promises come first: a phrase that the rules do not know passes as none. A blank
    summary leaves nothing to ask.
    """
    unsure = []
    promises = []
    others = []
    for case in units.to_dict("records"):
        for item in _of_case(case, audit):
            if item.trigger != AUDIT:
                unsure.append(item)
            elif item.metric == "summary_non_definitive":
                promises.append(item)
            else:
                others.append(item)
    return unsure + promises + others


def _of_case(case: Mapping[Any, Any], audit: float) -> list[JudgeInput]:
    answer = case["answer"]
    if not isinstance(answer, str) or not answer.strip():
        return []
    unknown = json.loads(case["unknown_tags"])
    known = tuple(tag for tag in json.loads(case["tags"]) if tag not in unknown)
    contexts = tuple(json.loads(case["contexts"]))
    unread = bool(json.loads(case["unread_figures"]))
    items = []
    for metric in JUDGED:
        points = _points(metric, case, contexts)
        why = trigger(
            metric,
            case[metric],
            case[f"{metric}_measured"],
            case["n_entities"],
            known,
            case["ambiguous_followup"],
            unread,
            bool(points),
        )
        if why is None and audited(case["case_id"], metric, audit):
            why = AUDIT
        if why is not None:
            item = JudgeInput(
                case["case_id"], metric, answer, contexts, known, case[metric], why, points
            )
            items.append(item)
    return items


def _points(
    metric: str,
    case: Mapping[Any, Any],
    contexts: Sequence[str],
) -> tuple[Mapping[str, str], ...]:
    """The clauses of a case that the rules could not settle: contradicted, misplaced, or only named."""
    evidence = json.loads(case[f"{metric}_evidence"])
    points = []
    for place in (*evidence.get("contradicted", []), *evidence.get("look", [])):
        point = {"summary": around(case["answer"], place["at"])}
        if "context" in place:
            point["source"] = around(contexts[place["context"]], place["context_at"])
        if "tag" in place:
            point["tag"] = place["tag"]
        points.append(point)
    return tuple(points)


def audited(
    case_id: str,
    metric: str,
    share: float,
) -> bool:
    """Whether a case is drawn for the audit: by its hash, whatever other cases there are."""
    digest = sha256(f"{AUDIT}\0{metric}\0{case_id}".encode()).digest()
    return int.from_bytes(digest[:8]) < share * 2**64
