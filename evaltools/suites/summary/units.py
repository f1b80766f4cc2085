"""The units frame of a file of cases: a row a case, with columns for each metric.

cases --rules--> scores --columns--> frame --judge, where asked--> final scores --finish--> frame
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache, partial
from typing import Any

import pandas as pd

from ...core.errors import Problems
from ...core.files import dumps
from ...core.workers import Workers
from .rules import METRICS, Rules
from .schema import Case
from .scoring import score_case
from .states import FIGURES, with_states

CHUNK = 500
"""Cases that one process scores at a time."""


def score_cases(
    cases: Sequence[tuple[int, Case]],
    rules: Rules,
    problems: Problems,
    workers: Workers,
    file: str = "",
) -> pd.DataFrame:
    """The units frame by rule alone, a row a case in their order; evidence and lists are JSON text.

    cases: (line, case). Each unknown tag or product is a warning in `problems`.
    """
    alone = [case for _, case in cases] or [Case(id="0")]  # no usable case has the same columns
    chunks = [alone[start : start + CHUNK] for start in range(0, len(alone), CHUNK)]
    parts = workers.map(partial(_score_chunk, rules=rules), chunks)
    units = pd.concat(parts, ignore_index=True).head(len(cases))
    hint = cache(rules.nearest_tag)
    product_hint = cache(rules.unknown_product)
    for (line, case), unknown in zip(cases, units["unknown_tags"]):
        place: dict[str, Any] = {"file": file, "line": line, "id": case.id}
        for tag in json.loads(unknown):
            message = f"unknown tag {tag!r}, left out of what is expected; {hint(tag)}"
            problems.warn(
                "unknown-tag",
                message,
                field="summary_tags",
                **place,
            )
        said = product_hint(case.metadata.product)
        if said:
            problems.warn(
                "unknown-product",
                said,
                field="product",
                **place,
            )
    return units


def _score_chunk(chunk: Sequence[Case], rules: Rules) -> pd.DataFrame:
    """The rows of some cases: a hundred thousand as dictionaries would take a gigabyte."""
    return pd.DataFrame([_row(case, rules) for case in chunk])


def _row(case: Case, rules: Rules) -> dict[str, Any]:
    tags = rules.expected_tags(case.tags, case.metadata.product)
    found = score_case(
        case.answer,
        case.contexts,
        tags,
        rules,
    )
    accuracy, coverage, _, followup, _ = found.scores.values()
    row: dict[str, Any] = {
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
    }
    for metric, score in found.scores.items():
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
    unsupported = accuracy.evidence.get("unsupported", []) if accuracy.denominator else []
    phrases = followup.evidence
    row["any_unsupported"] = any(entity["kind"] in FIGURES for entity in unsupported)
    row["any_unsupported_measured"] = accuracy.denominator > 0
    row["n_entities"] = found.n_entities
    row["ambiguous_followup"] = bool(phrases["let_off"]) and not phrases["phrases"]
    row["unread_figures"] = dumps(accuracy.evidence.get("unread", []))
    return row


def finish(units: pd.DataFrame, rules: Rules) -> pd.DataFrame:
    """Add the columns that follow from the final scores: passed, the score where measured, state."""
    added = {}
    for metric in METRICS:
        if metric in rules.thresholds:
            added[f"{metric}_passed"] = units[metric] >= rules.thresholds[metric] - 1e-12
        added[f"{metric}_if_measured"] = units[metric].where(units[f"{metric}_measured"])
    return with_states(pd.concat([units, pd.DataFrame(added, index=units.index)], axis=1))
