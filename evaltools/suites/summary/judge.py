"""The hybrid judge: a language model's opinion where the rules are unsure, and only there.

    units --trigger--> inputs --prompts--> requests --cache or server--> replies --> decisions --> units

The rule score stands wherever there is no usable reply, and the decision says why. Source: seed
insurance_summary_prd section 10; specification D17.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pandas as pd
from pydantic import BaseModel

from ...core.errors import Problems
from ...core.files import dumps
from ...core.terminal import bar
from ...llm.cache import request_hash
from ...llm.client import Answer, Client, in_background
from .compiled import FOLLOWUP_TAG
from .judge_questions import (
    JudgeInput,
    RiskReply,
    good_score,
    reply_model,
    request,
    system_prompt,
)
from .options import Mode, SummaryOptions
from .passages import around
from .scoring import BARE_NOUN
from .states import JUDGED

DecidedBy = Literal["rule", "llm", "blend"]

RULE_WEIGHT = 0.7
LLM_WEIGHT = 0.3

CONCURRENCY = 4
"""Requests in flight at once."""

IN_EVIDENCE = ("reason", "error", "virtual_tags", "points", "model")
"""What the evidence of a case holds of a decision."""

KEY_VARIABLES = ("EVALTOOLS_JUDGE_API_KEY", "OPENAI_API_KEY")
"""Environment variables that may hold the key; the first one set wins."""


def trigger(
    metric: str,
    case: Mapping[Any, Any],
    evidence: Mapping[str, Any],
) -> str | None:
    """Why a case lies in the metric's uncertain zone, or None. case: its row of the units."""
    score = case[metric]
    measured = case[f"{metric}_measured"]
    if metric == "summary_accuracy":
        if not measured:
            return "no entities to compare"
        if evidence.get("unread"):
            return "a figure was not read"
        if "contradicted" in evidence or "look" in evidence:
            return "a source may say otherwise"
        if 0.3 <= score <= 0.7:
            return "rule score from 0.3 to 0.7"
        if case["n_entities"] <= 1:
            return "at most one entity"
    if metric == "summary_risk_coverage":
        if not measured:
            return "no tags"
        if "look" in evidence:
            return BARE_NOUN
    if metric == "summary_non_definitive" and score == 0.0:
        return "definitive phrase found"
    if metric == "summary_needs_followup":
        if FOLLOWUP_TAG in json.loads(case["tags"]):
            return "tagged needs_followup"
        if case["ambiguous_followup"]:
            return "ambiguous follow-up wording"
    return None


def to_ask(units: pd.DataFrame) -> list[JudgeInput]:
    """The cases and metrics that lie in a trigger zone; a blank summary leaves nothing to ask."""
    items = []
    for case in units[units["answer"].fillna("").str.strip() != ""].to_dict("records"):
        contexts = tuple(json.loads(case["contexts"]))
        for metric in JUDGED:
            evidence = json.loads(case[f"{metric}_evidence"])
            why = trigger(metric, case, evidence)
            if why is None:
                continue
            item = JudgeInput(
                case_id=case["case_id"],
                metric=metric,
                answer=case["answer"],
                contexts=contexts,
                tags=tuple(json.loads(case["tags"])),
                rule_score=case[metric],
                trigger=why,
                points=_points(evidence, case["answer"], contexts),
                measured=bool(case[f"{metric}_measured"]),
            )
            items.append(item)
    return items


def _points(
    evidence: Mapping[str, Any],
    answer: str,
    contexts: Sequence[str],
) -> tuple[Mapping[str, str], ...]:
    """The clauses that the rules could not settle: contradicted, misplaced, or only named."""
    points = []
    for place in (*evidence.get("contradicted", []), *evidence.get("look", [])):
        point = {"summary": around(answer, place["at"])}
        if "context" in place:
            point["source"] = around(contexts[place["context"]], place["context_at"])
        if "tag" in place:
            point["tag"] = place["tag"]
        points.append(point)
    return tuple(points)


@dataclass(frozen=True)
class Decision:
    """The score of one case and metric, and who decided it.

    llm_score: the judge's answer turned so that 1 is good for the metric; confidence, reason: the
    judge's own. All three are None without a usable reply; `error` then says why in one sentence.
    virtual_tags: risk items that the judge, not the input, named (summary_risk_coverage only).
    points: for each clause in question whether it holds. model: the one that answered. cached: the
    reply came from the cache and cost no call.
    """

    item: JudgeInput
    final_score: float
    decided_by: DecidedBy = "rule"
    llm_score: float | None = None
    confidence: float | None = None
    reason: str | None = None
    error: str | None = None
    virtual_tags: tuple[str, ...] = ()
    points: tuple[dict[str, Any], ...] = ()
    model: str = ""
    cached: bool = False


def combine(
    rule: float,
    llm: float,
    confidence: float,
    mode: Mode,
    threshold: float,
    measured: bool = True,
) -> tuple[float, DecidedBy]:
    """The final score and who decided it (D17).

    override: the judge's score where its confidence reaches `threshold`, otherwise the blend
    0.7 * rule + 0.3 * llm; blend: always the blend. Where the rules measured nothing there is nothing to blend: a
    confident judge decides alone, and the case stays as it is without one.

    >>> combine(0.0, 1.0, 0.9, "override", 0.8), combine(0.0, 1.0, 0.5, "override", 0.8)
    ((1.0, 'llm'), (0.3, 'blend'))
    """
    is_confident = confidence >= threshold
    if is_confident and (mode == "override" or not measured):
        return llm, "llm"
    if not measured:
        return rule, "rule"
    return RULE_WEIGHT * rule + LLM_WEIGHT * llm, "blend"


def judge_cases(
    inputs: Sequence[JudgeInput],
    options: SummaryOptions,
    problems: Problems | None = None,
    quiet: bool = True,
) -> list[Decision]:
    """Judge each input; decisions come in the order of the inputs, whatever CONCURRENCY is.

    Equal questions (same metric and texts) are asked once. Where the server cannot be reached or
    refuses the key or the model, no other request is sent.

    problems: takes a warning for each unusable cache entry (`reply-cache`) and each input without a
    usable reply (`not-judged`). Unless `quiet`, a bar shows the progress in a terminal. UsageError
    for a missing openai package or key, or a cache that cannot be written.
    """
    problems = problems or Problems()
    keys = []
    questions = {}
    for item in inputs:
        body = request(item, system_prompt(item.metric), options.judge_model)
        key = request_hash(options.judge_base_url, body)
        questions[key] = (body, reply_model(item.metric))
        keys.append(key)
    answers = in_background(_ask(questions, options, problems, quiet))
    decisions = []
    for item, key in zip(inputs, keys):
        decision = _decide(item, answers[key], options)
        if decision.error:
            message = f"{decision.error}; the rule score stands"
            problems.warn("not-judged", message, id=item.case_id, field=item.metric)
        decisions.append(decision)
    return decisions


async def _ask(
    questions: Mapping[str, tuple[dict[str, Any], type[BaseModel]]],
    options: SummaryOptions,
    problems: Problems,
    quiet: bool,
) -> dict[str, Answer]:
    """The answer to each question; only the first `judge_max_calls` of them may be sent."""
    cache = Path(options.judge_cache) if options.judge_cache else None
    budget = options.judge_max_calls
    answers: dict[str, Answer] = {}
    client = Client(
        options.judge_base_url,
        cache,
        problems,
        keys=KEY_VARIABLES,
        concurrency=CONCURRENCY,
    )
    with bar(len(questions), "judge", quiet) as step:
        async with client:

            async def ask(number: int, key: str) -> None:
                body, reply = questions[key]
                may_send = budget is None or number < budget
                answers[key] = await client.ask(body, reply, send=may_send)
                step()

            await asyncio.gather(*(ask(number, key) for number, key in enumerate(questions)))
    return answers


def _decide(
    item: JudgeInput,
    answer: Answer,
    options: SummaryOptions,
) -> Decision:
    reply = answer.reply
    if reply is None:
        return Decision(item, item.rule_score, error=answer.error)
    llm_score = good_score(item, reply.score)
    final_score, decided_by = combine(
        item.rule_score,
        llm_score,
        reply.confidence,
        options.judge_mode,
        options.judge_confidence,
        item.measured,
    )
    points = []
    for point in reply.points:
        if 0 < point.number <= len(item.points):  # others were not asked
            clause = item.points[point.number - 1]["summary"]
            points.append({"text": clause, "holds": point.holds})
    tags = reply.tags if isinstance(reply, RiskReply) else ()
    return Decision(
        item,
        final_score,
        decided_by,
        llm_score=llm_score,
        confidence=reply.confidence,
        reason=reply.reason,
        virtual_tags=tuple(dict.fromkeys(tags)),
        points=tuple(points),
        model=answer.call.model,
        cached=answer.cached,
    )


def judge_units(
    units: pd.DataFrame,
    options: SummaryOptions,
    problems: Problems,
    quiet: bool = True,
) -> tuple[pd.DataFrame, dict[str, int]]:
    """(the frame with the final scores of the cases in a trigger zone, model -> number of its replies).

    The other cases keep the rule's. A score that the judge decided, alone or in the blend, counts as measured.
    """
    judged = units.set_index("case_id", drop=False)
    models: Counter[str] = Counter()
    for decision in judge_cases(to_ask(units), options, problems, quiet):
        case_id, metric = decision.item.case_id, decision.item.metric
        evidence = json.loads(judged.at[case_id, f"{metric}_evidence"])
        if decision.decided_by == "llm" and metric == "summary_accuracy":
            judged.at[case_id, "any_unsupported"] &= decision.final_score < 1
        evidence["judge"] = {name: getattr(decision, name) for name in IN_EVIDENCE}
        columns: dict[str, Any] = {"_evidence": dumps(evidence), "_trigger": decision.item.trigger}
        if decision.llm_score is not None:
            models[decision.model or "not named"] += 1
            columns |= {
                "": decision.final_score,
                "_measured": decision.item.measured or decision.decided_by != "rule",
                "_llm": decision.llm_score,
                "_confidence": decision.confidence,
                "_decided_by": decision.decided_by,
            }
        for ending, value in columns.items():
            judged.at[case_id, metric + ending] = value
    judged = judged.reset_index(drop=True)
    return judged, dict(models)
