"""Runner outputs and gold -> scorecards: aspect filtering, and how they stand in the file.

Sources: seed cr_hallucination_rate sections 2-3, seed cr_metrics_spec sections 4.1-4.3; decision D10.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

from .read import CrOptions, at
from .schema import Aspect, Output, TupleRow

DROP_REASONS = ("out_of_text", "span_mismatch", "invalid_target")

STAGE_DELTA = (
    "changed",
    "pairs_changed",
    "label_changed",
    "n_s1_pairs",
    "n_final_pairs",
    "change_type",
)
"""What scoring finds of a change: columns of the units, and fields of the scorecard."""


def drop_reason(
    text: str,
    aspect: Aspect,
    options: CrOptions,
) -> str | None:
    """Why an aspect is dropped, or None where it is kept. Seed cr_hallucination_rate 3.1, D10.

    Kept iff the text under its span is the term, and the term is on the allowlist or is at least two characters long
    and no stop term. out_of_text: the term is nowhere in the text; span_mismatch: it is, but not under its span;
    invalid_target: the span is right and the term is no target. A span is taken in the text as it came (D29).
    """
    term = unicodedata.normalize("NFC", aspect.term or "")
    span = aspect.span
    under_span = None
    if span is not None and 0 <= span.start <= span.end:
        under_span = unicodedata.normalize("NFC", text[span.start : span.end])
    if under_span != term:
        in_text = term and term in unicodedata.normalize("NFC", text)
        return "span_mismatch" if in_text else "out_of_text"
    if term in options.allowlist or (len(term) >= 2 and term not in options.stop_terms):
        return None
    return "invalid_target"


def build_filtered_aspects(
    text: str,
    aspects: Iterable[Aspect],
    options: CrOptions,
) -> list[Aspect]:
    """The aspects with `action` (keep or drop) and `drop_reason` (null where kept). Seed cr_hallucination_rate 3."""
    filtered = []
    for aspect in aspects:
        reason = drop_reason(text, aspect, options)
        action = "drop" if reason else "keep"
        filtered.append(aspect.model_copy(update={"action": action, "drop_reason": reason}))
    return filtered


def scorecard(
    output: Output,
    gold: Sequence[TupleRow],
    options: CrOptions,
) -> dict[str, Any]:
    """One line of scorecards.jsonl; what is in its `stage_delta`, scoring finds.

    The line of the `output` is kept whole under `runtime.parsed_output`.
    """
    raw = output.content
    inputs = raw.get("inputs") or {}
    flags = raw.get("flags") or {}
    aspects = at(output, "stage1_ate", "aspects") or ()
    filtered = build_filtered_aspects(output.meta.input_text or "", aspects, options)
    dropped = [aspect.term for aspect in filtered if aspect.drop_reason]
    validator = []
    for stage in ("stage1", "stage2"):
        verdict = raw.get(f"{stage}_validator")
        if verdict is not None:
            validator.append({**verdict, "stage": stage})
    return {
        "run_id": output.meta.run_id,
        "profile": output.meta.profile,
        "meta": raw["meta"],
        "inputs": {
            **inputs,
            "gold_tuples": [row.model_dump(exclude_unset=True) for row in gold],
            "ate_debug": {
                "raw": [aspect.model_dump(include={"term", "span"}) for aspect in filtered],
                "filtered": [aspect.model_dump() for aspect in filtered],
                "kept_terms": [aspect.term for aspect in filtered if not aspect.drop_reason],
                "dropped_terms": dropped,
            },
            "aspect_sentiments": inputs.get("aspect_sentiments") or [],
        },
        "ate": {"hallucination_flag": bool(dropped)},
        "atsa": {"sentiment_judgements": []},
        "validator": validator,
        "moderator": raw.get("moderator") or {},
        "stage_delta": dict.fromkeys(STAGE_DELTA),
        "flags": {
            name: bool(flags.get(name))
            for name in ("parse_failed", "generate_failed", "fallback_used")
        },
        "latency": {"total_ms": output.meta.latency_ms},
        "runtime": {
            "parsed_output": raw,
            "process_trace": raw.get("process_trace") or [],
            "error": raw.get("error"),
        },
    }
