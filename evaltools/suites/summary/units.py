"""The units frame of a file of cases: a row a case, with columns for each metric.

cases --rules--> scores --columns--> frame --judge, where asked--> final scores --finish--> frame
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache, partial

import pandas as pd

from ...core.files import Fields, dumps
from ...core.workers import Workers
from .entities import read_text
from .options import SummaryOptions, rules_in_force
from .read import Case
from .rules import METRICS, Rules
from .scoring import score_case, stated
from .states import FIGURES, with_states

CHUNK = 500
"""Cases that one process scores at a time."""


def score_cases(
    cases: Sequence[tuple[int, Case]],
    options: SummaryOptions,
    warn: Callable[..., None],
    workers: Workers,
) -> pd.DataFrame:
    """The units frame by rule alone, a row a case in their order; evidence and lists are JSON text.

    cases: (line, case). Each unknown tag or product is a warning, as `Problems.warn`. InputError for rules that changed
    since the options were made.
    """
    rules = rules_in_force(options)
    alone = [case for _, case in cases]
    chunks = [alone[start : start + CHUNK] for start in range(0, len(alone), CHUNK)]
    parts = workers.map(partial(_score_chunk, options=options), chunks)
    units = pd.concat(parts, ignore_index=True)
    hint = cache(rules.nearest_tag)
    product_hint = cache(rules.unknown_product)
    for (line, case), unknown in zip(cases, units["unknown_tags"]):
        where = {"line": line, "id": case.id}
        for tag in json.loads(unknown):
            message = f"unknown tag {tag!r}, left out of what is expected; {hint(tag)}"
            warn("unknown-tag", message, field="summary_tags", **where)
        if message := product_hint(case.metadata.product):
            warn("unknown-product", message, field="product", **where)
    return units


def _score_chunk(
    chunk: Sequence[Case],
    options: SummaryOptions,
) -> pd.DataFrame:
    """The rows of some cases: a hundred thousand as dictionaries would take a gigabyte."""
    rules = rules_in_force(options)
    return pd.DataFrame([_row(case, rules) for case in chunk])


def _row(case: Case, rules: Rules) -> Fields:
    tags = rules.expected_tags(case.tags, case.metadata.product)
    scores = score_case(
        case.answer,
        case.contexts,
        tags,
        rules,
    )
    accuracy, coverage, _, followup, _ = scores.values()
    unsupported = accuracy.evidence.get("unsupported", []) if accuracy.denominator else []
    row: Fields = {
        "case_id": case.id,
        "question": case.question,
        "answer": case.answer,
        "contexts": dumps(case.contexts),
        "ground_truth": case.ground_truth,
        "tags": dumps(tags or []),
        "unknown_tags": dumps(coverage.evidence.get("unknown_tags", [])),
        "intent": case.metadata.summary_intent,
        "product": case.metadata.product,
        "channel": case.metadata.channel,
        "cases": 1,
        "any_unsupported": any(entity["kind"] in FIGURES for entity in unsupported),
        "any_unsupported_measured": accuracy.denominator > 0,
        "n_entities": len(stated([read_text(rules, case.answer or "")])),
        "ambiguous_followup": bool(followup.evidence["let_off"])
        and not followup.evidence["phrases"],
        "unread_figures": dumps(accuracy.evidence.get("unread", [])),
    }
    for metric, score in scores.items():  # a judge may change them
        row |= {
            metric: score.score,
            f"{metric}_measured": score.measured,
            f"{metric}_rule": score.score,
            f"{metric}_llm": float("nan"),
            f"{metric}_confidence": float("nan"),
            f"{metric}_decided_by": "rule",
            f"{metric}_trigger": None,
            f"{metric}_num": score.numerator,
            f"{metric}_den": score.denominator,
            f"{metric}_evidence": dumps(score.evidence),
        }
    return row


def finish(units: pd.DataFrame, rules: Rules) -> pd.DataFrame:
    """Add the columns that follow from the final scores: passed, the score where measured, state."""
    added = {}
    for metric in METRICS:
        if metric in rules.thresholds:
            added[f"{metric}_passed"] = units[metric] >= rules.thresholds[metric] - 1e-12
        added[f"{metric}_if_measured"] = units[metric].where(units[f"{metric}_measured"])
    return with_states(pd.concat([units, pd.DataFrame(added, index=units.index)], axis=1))
