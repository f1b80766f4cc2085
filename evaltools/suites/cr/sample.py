"""One record -> one Sample: all that the metrics need of it, before anything is counted.

Sources: seed cr_metrics_spec sections 1-4, seed cr_hallucination_rate; decisions D1, D7, D10.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import json

from .options import CrOptions
from .schema import Aspect, ReviewAction, Scorecard, TupleRow
from .scorecard import DROP_REASONS, drop_reason
from .sources import Final, labels, output_of, process_trace, result_of, stage1_rows
from .tuples import (
    POLARITIES,
    EvalTuple,
    collapse,
    eval_tuple,
    given_polarity,
    polarity_of,
    term_key,
)

Rank = tuple[bool, float, bool]

PREDICTIONS = "predictions"
"""The `protocol_mode` of tuples that no review has seen: of any system, not of a run of the protocol (D25)."""


Sample = dict[str, Any]
"""The facts of one record by name: many are columns of the units as they stand.

`tuples` are those of gold, of stage 1 and of the final result without duplicates, in order of appearance, and those
of the final result with them, of which `ranks` says how well each represents its aspect. `implicit` are the true
positives, false positives and false negatives of the predicted polarities against those of implicit gold (zeros where
there are none).
"""


def make_sample(
    line: int,
    text_id: str,
    card: Scorecard,
    gold_in: Sequence[TupleRow],
    used: Final,
    options: CrOptions,
) -> Sample:
    """The Sample of a record with these gold tuples and the predicted ones `used`."""
    output = output_of(card)
    meta = output.meta or card.meta
    protocol = PREDICTIONS not in (card.meta.protocol_mode, meta.protocol_mode)
    gold_read = [eval_tuple(row, gold=True) for row in gold_in]
    final_read = [eval_tuple(row) for row in used.rows]
    stage1_in = stage1_rows(card, used)
    stage1_read = final_read if stage1_in is used.rows else [eval_tuple(row) for row in stage1_in]
    gold, stage1, final = _distinct(gold_read), _distinct(stage1_read), _distinct(final_read)
    flags = output.analysis_flags
    text = card.meta.input_text or meta.input_text or ""
    failed = parse_failed(card)
    implicit, invalid = (0, 0, 0), False
    if not all(t.term for t in gold):
        implicit, invalid = _implicit(gold_in, gold_read, used.rows)
        invalid = invalid or failed or _lacks_polarity(card, used.rows)
    reviews, arbiter = map(
        _actions, (flags.review_actions, flags.arb_actions) if flags else (None, None)
    )
    judgements = (card.atsa.sentiment_judgements if card.atsa else None) or []
    return {
        "line": line,
        "text_id": text_id,
        "run_id": card.run_id or card.meta.run_id,
        "split": card.meta.split,
        "model": meta.model,
        "text": text,
        "protocol": protocol,
        **labels(card),
        "gold": _cell(gold),
        "stage1": _cell(stage1 if protocol else ()),
        "final": _cell(final),
        "tuples": (gold, stage1, final, final_read),
        "ranks": [rank(row, t.term) for row, t in zip(used.rows, final_read)],
        "source": used.source,
        "reviews": _cell(reviews),
        "arbiter": _cell(arbiter),
        "reviewed": bool(reviews),
        "arbitrated": bool(arbiter),
        "implicit": implicit,
        "parse_failed": failed,
        "implicit_invalid": invalid,
        **risks(card),
        "unsupported": any(j.opinion_grounded is False for j in judgements),
        **dropped(card, options),
        "final_out_of_text": _out_of_text(text, final, options),
        "stored_changed": card.stage_delta.changed if card.stage_delta else None,
        "latency_ms": card.meta.latency_ms if card.meta.latency_ms is not None else meta.latency_ms,
    }


_encode = json.Encoder().encode


def _cell(values: Sequence[Any]) -> bytes:
    """The JSON of a list, as `files.dumps` writes it, in a fraction of the time."""
    return json.format(_encode(values), indent=0)


def _distinct(tuples: Sequence[EvalTuple]) -> tuple[EvalTuple, ...]:
    return tuple(dict.fromkeys(tuples))


def _implicit(
    gold_in: Sequence[TupleRow], gold: Sequence[EvalTuple], predicted: Sequence[TupleRow]
) -> tuple[tuple[int, int, int], bool]:
    """(counts of the predicted polarities against those of implicit gold, no valid polarity is predicted)."""
    wanted = {
        t.polarity
        for row, t in zip(gold_in, gold)
        if not t.term and given_polarity(polarity_of(row)) in POLARITIES
    }
    found = {given_polarity(polarity_of(row)) for row in predicted}.intersection(POLARITIES)
    counts = len(wanted & found), len(found - wanted), len(wanted - found)
    return counts if wanted else (0, 0, 0), not found


def _lacks_polarity(card: Scorecard, used: Iterable[TupleRow]) -> bool:
    """Some tuple of the final result carries no polarity."""
    return any(
        not given_polarity(polarity_of(r)) for r in (*used, *(result_of(card).final_aspects or ()))
    )


def rank(row: TupleRow, term: str) -> Rank:
    """How well a tuple represents its aspect: grounded explicitly, confident, not dropped.

    Grounding is explicit where the tuple says so, or says nothing and has a term.
    """
    explicit = row.grounding.strip().lower() == "explicit" if row.grounding else bool(term)
    confidence = row.confidence if row.confidence is not None else -1.0
    return explicit, confidence, not row.drop_reason


def parse_failed(card: Scorecard) -> bool:
    """The runner could not read the model's reply, by any of the signs that it leaves."""
    output = output_of(card)
    flagged = any(
        f.parse_failed or f.generate_failed for f in (card.flags, output.flags) if f is not None
    )
    error = output.error or (card.runtime.error if card.runtime else None)
    said = b"\n".join([e.notes for e in process_trace(card) if e.notes is not None])
    return bool(flagged or error or b"atsa_parse" in said or b"json_parse" in said)


_NO_RISKS = dict.fromkeys(("risk_s1", "risk_s2", "negation_contrast"), False)


def risks(card: Scorecard) -> dict[str, bool]:
    """Whether the validator found a stage-1 risk, a stage-2 risk, a NEGATION or CONTRAST risk of either."""
    found = [
        (v.stage or "", v.structural_risks) for v in card.validator or [] if v.structural_risks
    ]
    if not found:
        return _NO_RISKS
    late = ["2" in stage for stage, _ in found]
    ids = " ".join((r.risk_id or "").upper() for _, of_stage in found for r in of_stage)
    negation = "NEGATION" in ids or "CONTRAST" in ids
    return {"risk_s1": not all(late), "risk_s2": any(late), "negation_contrast": negation}


def dropped(card: Scorecard, options: CrOptions) -> dict[str, Any]:
    """Whether the sample counts as hallucinated, why its aspects were dropped. Seed cr_hallucination_rate."""
    flagged = any(a is not None and a.hallucination_flag for a in (card.ate, card.ate_score))
    debug = card.inputs.ate_debug if card.inputs else None
    drops = [a for a in (debug.filtered if debug else None) or [] if a.action == "drop"]
    text = card.meta.input_text or ""
    reasons = {_reason(text, a, options) for a in drops} if drops else ()
    return {"hallucinated": flagged or bool(drops), "drop_reasons": reasons}


def _reason(text: str, aspect: Aspect, options: CrOptions) -> str:
    """The stored reason where it is a fine one, else the one that the term and its span give."""
    if aspect.drop_reason in DROP_REASONS:
        return aspect.drop_reason
    return drop_reason(text, aspect, options) or "invalid_target"


def _out_of_text(text: str, predicted: Iterable[EvalTuple], options: CrOptions) -> bool:
    """Some explicit term is nowhere in the text."""
    policy = options.match_policy
    place = term_key(collapse(text), policy)
    return not all(term_key(t.term, policy) in place for t in predicted if t.term)


def _actions(actions: Iterable[ReviewAction] | None) -> list[tuple[Any, ...]]:
    """What `units.Action` is made of, for each action."""
    return [
        (a.actor, a.action_type, a.target_tuple_ids or (), a.reason_code) for a in actions or ()
    ]
