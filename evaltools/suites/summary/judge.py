"""The hybrid judge: a language model's opinion where the rules are unsure, and only there.

    units --zones--> inputs --prompts--> requests --cache or server--> replies --> decisions --> units

The rule score stands wherever there is no usable reply, and the decision says why. Source: seed
insurance_summary_prd section 10; specification D17.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import pandas as pd
from pydantic import BaseModel

from ...core.errors import Problems, UsageError
from ...core.files import dumps
from ...core.progress import bar
from ...llm.accounting import Call
from ...llm.cache import request_hash
from ...llm.client import Answer, Client, in_background
from .judge_questions import QUESTIONS, Reply, RiskReply, request, system_prompt
from .judge_zones import AUDIT, JudgeInput, to_ask
from .options import Mode, SummaryOptions
from .rules import FOLLOWUP_TAG, METRICS

DecidedBy = Literal["rule", "llm", "blend"]

RULE_WEIGHT = 0.7
LLM_WEIGHT = 0.3

CONCURRENCY = 4
"""Requests in flight at once."""

KEY_VARIABLES = ("EVALTOOLS_JUDGE_API_KEY", "OPENAI_API_KEY")
"""Environment variables that may hold the key; the first one set wins."""

EMPTY_SUMMARY = Answer(None, Call(request=""), "the summary is empty, there is nothing to judge")


@dataclass(frozen=True)
class Decision:
    """The score of one case and metric, and who decided it.

    llm_score: the judge's answer turned so that 1 is good for the metric; confidence, reason: the
    judge's own. All three are None without a usable reply; `error` then says why in one sentence.
    virtual_tags: risk items that the judge, not the input, named (summary_risk_coverage only).
    points: for each clause in question whether it holds. model: the one that answered. cached: the
    reply came from the cache and cost no call.
    """

    case_id: str
    metric: str
    rule_score: float
    final_score: float
    trigger: str
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
) -> tuple[float, DecidedBy]:
    """The final score and who decided it (D17).

    override: the judge's score where its confidence reaches `threshold`, otherwise the blend
    0.7 * rule + 0.3 * llm; blend: always the blend.

    >>> combine(0.0, 1.0, 0.9, "override", 0.8), combine(0.0, 1.0, 0.5, "override", 0.8)
    ((1.0, 'llm'), (0.3, 'blend'))
    """
    if mode == "override" and confidence >= threshold:
        return llm, "llm"
    return RULE_WEIGHT * rule + LLM_WEIGHT * llm, "blend"


def _no_progress(settled: int) -> None:
    """Nobody watches."""


def judge_cases(
    inputs: Sequence[JudgeInput],
    options: SummaryOptions,
    progress: Callable[[int], object] = _no_progress,
    problems: Problems | None = None,
) -> list[Decision]:
    """Judge each input; decisions come in the order of the inputs, whatever CONCURRENCY is.

    Equal questions (same metric and texts) are asked once. A blank summary is not sent. Where the
    server cannot be reached or refuses the key or the model, no other request is sent.

    progress: called with the number of inputs settled since its last call. problems: takes a
    warning for each unusable cache entry (`reply-cache`) and each input without a usable reply
    (`not-judged`). UsageError for an unknown metric, a missing openai package or key, or a cache
    that cannot be written.
    """
    problems = problems or Problems()
    metrics = {item.metric for item in inputs}
    unknown = sorted(metrics - set(QUESTIONS))
    if unknown:
        raise UsageError(
            "no judge for {unknown}; there is one for {names}",
            unknown=tuple(unknown),
            names=tuple(QUESTIONS),
        )
    prompts = {metric: system_prompt(metric) for metric in metrics}
    keys = []
    questions: dict[str, tuple[dict[str, Any], type[BaseModel]]] = {}
    for item in inputs:
        if not item.answer.strip():
            keys.append("")
            continue
        body = request(item, prompts[item.metric], options.judge_model)
        key = request_hash(options.judge_base_url, body)
        questions[key] = (body, QUESTIONS[item.metric].reply)
        keys.append(key)
    waiting = Counter(keys)
    progress(waiting[""])
    answers = {"": EMPTY_SUMMARY}
    answers |= in_background(_ask(questions, options, problems, lambda key: progress(waiting[key])))
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
    settled: Callable[[str], object],
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
    async with client:

        async def ask(number: int, key: str) -> None:
            body, reply = questions[key]
            may_send = budget is None or number < budget
            answers[key] = await client.ask(body, reply, send=may_send)
            settled(key)

        await asyncio.gather(*(ask(number, key) for number, key in enumerate(questions)))
    return answers


def _decide(
    item: JudgeInput,
    answer: Answer,
    options: SummaryOptions,
) -> Decision:
    by_rule = Decision(
        case_id=item.case_id,
        metric=item.metric,
        rule_score=item.rule_score,
        final_score=item.rule_score,
        trigger=item.trigger,
    )
    reply = answer.reply
    if reply is None:
        return replace(by_rule, error=answer.error)
    llm_score = reply.score if _yes_is_good(item) else 1 - reply.score
    final_score, decided_by = combine(
        item.rule_score,
        llm_score,
        reply.confidence,
        options.judge_mode,
        options.judge_confidence,
    )
    if item.trigger == AUDIT:
        final_score, decided_by = item.rule_score, "rule"
    virtual_tags: tuple[str, ...] = ()
    if isinstance(reply, RiskReply):
        virtual_tags = tuple(dict.fromkeys(reply.tags))
    return replace(
        by_rule,
        final_score=final_score,
        decided_by=decided_by,
        llm_score=llm_score,
        confidence=reply.confidence,
        reason=reply.reason,
        virtual_tags=virtual_tags,
        points=_settled(item, reply),
        model=answer.call.model,
        cached=answer.cached,
    )


def _settled(item: JudgeInput, reply: Reply | RiskReply) -> tuple[dict[str, Any], ...]:
    """The clauses that a reply settles, each with whether it holds; numbers that were not asked are left out."""
    settled = []
    for point in reply.points:
        if 0 < point.number <= len(item.points):
            asked = item.points[point.number - 1]
            settled.append({"text": asked["summary"], "holds": point.holds})
    return tuple(settled)


def _yes_is_good(item: JudgeInput) -> bool:
    good = QUESTIONS[item.metric].good
    if good == "by tag":
        return FOLLOWUP_TAG in item.tags
    return good == "yes"


def judge_units(
    units: pd.DataFrame,
    options: SummaryOptions,
    problems: Problems,
    quiet: bool = True,
) -> pd.DataFrame:
    """The frame with the final scores of the cases in a trigger zone; the others keep the rule's.

    A score that the judge decided, alone or in the blend, counts as measured; one of the audit
    stays as it is. Unless `quiet`, a bar shows the progress of the calls in a terminal.
    """
    inputs = to_ask(units, options.judge_audit)
    with bar(len(inputs), "judge", quiet) as step:
        decisions = judge_cases(
            inputs,
            options,
            progress=lambda settled: step(n=settled),
            problems=problems,
        )
    row_of = {case_id: row for row, case_id in enumerate(units["case_id"])}
    columns = {name: units[name].tolist() for name in units.columns if name.startswith(METRICS)}
    for decision in decisions:
        row = row_of[decision.case_id]
        evidence = json.loads(columns[f"{decision.metric}_evidence"][row])
        for name, value in _changed(decision, evidence).items():
            columns[name][row] = value
    return units.assign(**columns)


def _changed(decision: Decision, evidence: dict[str, Any]) -> dict[str, Any]:
    """What a decision changes in the row of its case: column -> value."""
    metric = decision.metric
    evidence["judge"] = {
        "reason": decision.reason,
        "error": decision.error,
        "virtual_tags": list(decision.virtual_tags),
        "points": list(decision.points),
        "model": decision.model,
    }
    changed: dict[str, Any] = {
        f"{metric}_trigger": decision.trigger,
        f"{metric}_evidence": dumps(evidence),
    }
    if decision.llm_score is not None:
        changed[f"{metric}_llm"] = decision.llm_score
        changed[f"{metric}_confidence"] = decision.confidence
    if decision.decided_by != "rule":
        changed[metric] = decision.final_score
        changed[f"{metric}_measured"] = True
        changed[f"{metric}_decided_by"] = decision.decided_by
    return changed
