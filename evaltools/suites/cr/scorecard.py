"""Runner outputs and gold -> scorecards: aspect filtering, stage delta, and how they stand in the file.

Sources: seed cr_hallucination_rate sections 2-3, seed cr_metrics_spec sections 4.1-4.3; decision D10.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ... import __version__
from .matching import Bools, Ints, Tuples, match_terms
from .options import CrOptions
from .schema import Aspect, Ate, AteDebug, Inputs, Output, Runtime, Scorecard, TupleRow

LATENCY_GATE_MS = 15_000

DROP_REASONS = ("out_of_text", "span_mismatch", "invalid_target")


def drop_reason(text: str, aspect: Aspect, options: CrOptions) -> str | None:
    """Why an aspect is dropped, or None where it is kept.

    Kept iff the text under its span is the term and the term is on the allowlist, or is at least two
    characters long and no stop term. out_of_text: the term is nowhere in the text; span_mismatch: it
    is, but not under its span; invalid_target: the span is right and the term is no target (D10).
    """
    text, term = (unicodedata.normalize("NFC", t) for t in (text, aspect.term or ""))
    span = aspect.span
    if span is None or not 0 <= span.start <= span.end or text[span.start : span.end] != term:
        return "span_mismatch" if term and term in text else "out_of_text"
    if term in options.allowlist or (len(term) >= 2 and term not in options.stop_terms):
        return None
    return "invalid_target"


def build_filtered_aspects(
    text: str, aspects: Iterable[Aspect], options: CrOptions
) -> list[Aspect]:
    """The aspects with `action` (keep or drop) and `drop_reason` (null where kept). Seed cr_hallucination_rate 3."""
    reasons = [(a, drop_reason(text, a, options)) for a in aspects]
    return [
        a.model_copy(update={"action": "drop" if why else "keep", "drop_reason": why})
        for a, why in reasons
    ]


def hallucinated(filtered: Iterable[Aspect]) -> bool:
    """Some aspect was dropped."""
    return any(a.action == "drop" for a in filtered)


class StageDelta(NamedTuple):
    """What changed between the stages, one value of each a sample."""

    changed: Bools
    pairs_changed: Bools
    label_changed: Bools
    n_s1_pairs: Ints
    n_final_pairs: Ints
    change_type: np.ndarray


def stage_delta(
    stage1: Tuples,
    final: Tuples,
    labels1: Sequence[str | None],
    labels2: Sequence[str | None],
    reviewed: Bools,
) -> StageDelta:
    """Whether review changed each sample: its (term, polarity) pairs differ, or both labels exist and differ.

    change_type is guided_by_review (changed, and a reviewer or the arbiter acted), unguided (changed
    without) or none. The scorecard builder and the aggregator share this function (seed
    cr_metrics_spec section 4.1).
    """
    pairs = match_terms(stage1, final)
    pairs_changed = ~pairs.exact
    label_changed = np.array(
        [a is not None and b is not None and a != b for a, b in zip(labels1, labels2)]
    )
    changed = pairs_changed | label_changed
    kind = np.where(changed, np.where(reviewed, "guided_by_review", "unguided"), "none")
    return StageDelta(
        changed, pairs_changed, label_changed, pairs.tp + pairs.fn, pairs.tp + pairs.fp, kind
    )


def wrap(output: Output, gold: Sequence[TupleRow], options: CrOptions) -> Scorecard:
    """The typed scorecard of an output with these gold tuples; a validator verdict for each stage that has one."""
    aspects = (output.stage1_ate.aspects if output.stage1_ate else None) or []
    filtered = build_filtered_aspects(output.meta.input_text or "", aspects, options)
    verdicts = {"stage1": output.stage1_validator, "stage2": output.stage2_validator}
    return Scorecard(
        run_id=output.meta.run_id,
        profile=output.meta.profile,
        meta=output.meta,
        inputs=Inputs(
            gold_tuples=list(gold),
            ate_debug=AteDebug(filtered=filtered),
            aspect_sentiments=output.inputs.aspect_sentiments if output.inputs else None,
        ),
        ate=Ate(hallucination_flag=hallucinated(filtered)),
        validator=[
            v.model_copy(update={"stage": stage}) for stage, v in verdicts.items() if v is not None
        ],
        flags=output.flags,
        runtime=Runtime(parsed_output=output, error=output.error),
    )


def as_json(
    raw: Mapping[str, Any],
    card: Scorecard,
    gold: Sequence[TupleRow] | None,
    delta: Mapping[str, Any],
    provenance: Mapping[str, str | None],
) -> dict[str, Any]:
    """One line of scorecards.jsonl.

    `card` wraps the output of which `raw` is the line, kept whole under `runtime.parsed_output`. `gold` are the
    tuples of the gold file where it names the sample (None: the output's own count), `delta` the values of its
    StageDelta; `provenance` is added to `meta`.
    """
    inputs, flags = raw.get("inputs") or {}, raw.get("flags") or {}
    filtered = (card.inputs and card.inputs.ate_debug and card.inputs.ate_debug.filtered) or []
    latency = card.meta.latency_ms
    return {
        "run_id": card.run_id,
        "profile": card.profile,
        "meta": {
            **raw["meta"],
            "scorecard_source": f"evaltools {__version__}",
            "gold_injected": gold is not None,
            **provenance,
        },
        "inputs": {
            **inputs,
            "gold_tuples": _raw_gold(raw)
            if gold is None
            else [t.model_dump(exclude_unset=True) for t in gold],
            "ate_debug": {
                "raw": [a.model_dump(include={"term", "span"}) for a in filtered],
                "filtered": [a.model_dump() for a in filtered],
            },
            "aspect_sentiments": inputs.get("aspect_sentiments") or [],
        },
        "ate": {
            "hallucination_flag": hallucinated(filtered),
            "valid_aspect_rate": sum(a.action == "keep" for a in filtered) / len(filtered)
            if filtered
            else None,
        },
        "atsa": {"sentiment_judgements": []},
        "validator": [
            {**(raw.get(f"{v.stage}_validator") or {}), "stage": v.stage}
            for v in card.validator or []
        ],
        "moderator": raw.get("moderator") or {},
        "stage_delta": dict(delta),
        "flags": {
            name: bool(flags.get(name))
            for name in ("parse_failed", "generate_failed", "fallback_used")
        },
        "latency": {
            "total_ms": latency,
            "gate_threshold_ms": LATENCY_GATE_MS,
            "gate_status": None
            if latency is None
            else ("WARN" if latency > LATENCY_GATE_MS else "PASS"),
        },
        "runtime": {
            "parsed_output": raw,
            "process_trace": raw.get("process_trace") or [],
            "error": raw.get("error"),
        },
    }


def _raw_gold(raw: Mapping[str, Any]) -> list[Any]:
    holders = (raw, raw.get("inputs") or {})
    return next(
        (list(g) for h in holders if (g := h.get("gold_tuples") or h.get("gold_triplets"))), []
    )
