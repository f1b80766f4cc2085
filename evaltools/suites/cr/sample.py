"""What is counted in one sample: a row of the units frame, before what follows from it is added (`units`).

Sources: seed cr_metrics_spec sections 1-4, seed cr_hallucination_rate; decisions D7, D9, D10.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import json

from .matching import (
    Ranked,
    Side,
    conflicts,
    explicit,
    make_side,
    match_pairs,
    rank,
    representatives,
    sample_f1,
    set_f1,
    takes_part_in,
)
from .options import CrOptions
from .schema import ReviewAction, Scorecard, TupleRow
from .scorecard import DROP_REASONS, drop_reason, stage_delta
from .sources import (
    FINAL_SOURCES,
    at,
    final_rows,
    labels,
    output_of,
    process_trace,
    profile_of,
    stage1_rows,
    text_id,
)
from .tuples import (
    KEYS,
    POLARITIES,
    MatchPolicy,
    collapse,
    polarity_of,
    read_tuple,
    term_key,
)

NAN = float("nan")

# the `protocol_mode` of tuples that no review has seen: of any system, not of a run of the protocol (D25)
PREDICTIONS = "predictions"

# right before review, right after it -> what review did
OUTCOMES = {
    (False, True): "fix",
    (True, False): "break",
    (True, True): "keep",
    (False, False): "still",
}

# found by what its ends have in common: notes are long, and two searches of them would be most of scoring
PARSE_FAILED = re.compile(rb"_parse(?<=atsa_parse|json_parse)")

_as_json = json.Encoder().encode


def unit_row(
    card: Scorecard,
    gold_rows: Sequence[TupleRow],
    line: int,
    options: CrOptions,
) -> dict[str, Any]:
    """What is counted in one sample with these gold tuples, name by name; null means that it takes no part.

    The tuples of a stage are in order of appearance, each normal form once.
    """
    policy, meta = options.match_policy, card.meta
    text = meta.input_text or ""
    protocol = meta.protocol_mode != PREDICTIONS
    source, rows = final_rows(card)
    predicted = [read_tuple(row) for row in rows]
    ranked = [(rank(row, named.term), named) for row, named in zip(rows, predicted)]
    gold = make_side([read_tuple(row, gold=True) for row in gold_rows], policy)
    stage1 = make_side([read_tuple(row) for row in stage1_rows(card) or rows], policy)
    final = make_side(predicted, policy)
    conflict_columns = _conflict_columns(ranked, policy)
    return {
        "line": line,
        "text_id": text_id(card),
        "run_id": card.run_id or meta.run_id,
        "split": meta.split,
        "profile": profile_of(card) or None,
        "text": text,
        "gold": _as_json(gold.tuples).decode(),
        "stage1": _as_json(stage1.tuples if protocol else ()).decode(),
        "final": _as_json(final.tuples).decode(),
        "model": meta.model,
        "protocol": protocol,
        "n": True,
        "n_gold_tuples": len(gold.tuples),
        "has_gold": bool(gold.tuples),
        "reviewable": protocol and bool(gold.tuples),
        "n_pred_used": len(final.tuples) if gold.tuples else 0,
        "n_invalid_ref": [ref for ref, _, _ in final.tuples].count("") if gold.tuples else 0,
        **{f"from_{name}": source == name for name in FINAL_SOURCES},
        **_key_columns(gold, stage1, final, protocol, policy),
        **_explicit_columns(gold, final, policy),
        **_implicit_columns(card, gold_rows, rows),
        "f1_after_rep": _representative_f1(gold, final, ranked, options),
        **conflict_columns,
        **_review_columns(card, stage1, final, protocol),
        **_risk_columns(card, conflict_columns["conflict"]),
        **_drop_columns(card, text, options),
        "final_out_of_text": _out_of_text(final, text, policy),
        "latency_ms": NAN if meta.latency_ms is None else meta.latency_ms,
        "has_latency": meta.latency_ms is not None,
    }


def _key_columns(
    gold: Side,
    stage1: Side,
    final: Side,
    protocol: bool,
    policy: MatchPolicy,
) -> dict[str, Any]:
    """F1 before and after review under every key, pairs after it, and what review did to a sample that it has seen.

    A sample without gold has no F1 and counts nothing; neither does, by the policy, one whose gold has no pair under
    the key (D26). Seed cr_metrics_spec 3.1, 3.3, 4.1.
    """
    columns: dict[str, Any] = {}
    for key in KEYS:
        before = after = match_pairs(gold.pairs[key], final.pairs[key])
        if stage1.pairs[key] != final.pairs[key]:  # review often changes nothing
            before = match_pairs(gold.pairs[key], stage1.pairs[key])
        takes_part = takes_part_in(gold, key, policy)
        columns[f"f1_s1_{key}"] = before.f1 if takes_part and protocol else NAN
        columns[f"f1_s2_{key}"] = after.f1 if takes_part else NAN
        for count, n in zip(("tp", "fp", "fn"), after):
            columns[f"{count}_{key}"] = n if takes_part else 0
        outcome = OUTCOMES[before.is_right, after.is_right]
        columns[f"outcome_{key}"] = outcome if gold.tuples and protocol else None
    return columns


def _review_columns(
    card: Scorecard,
    stage1: Side,
    final: Side,
    protocol: bool,
) -> dict[str, Any]:
    """What reviewers and arbiter did, and what changed. Seed cr_metrics_spec 4.1, 4.2."""
    output = output_of(card)
    reviews = at(output, "analysis_flags", "review_actions") or ()
    arbiter = at(output, "analysis_flags", "arb_actions") or ()
    label_stage1, label_final = labels(output)
    delta = stage_delta(
        stage1.pairs["otepol"],
        final.pairs["otepol"],
        label_stage1,
        label_final,
        reviewed=bool(reviews or arbiter),
    )
    stored = at(card, "stage_delta", "changed")
    return {
        "label_stage1": label_stage1,
        "label_final": label_final,
        "reviews": _actions(reviews),
        "arbiter": _actions(arbiter),
        **delta,
        "change_type": delta["change_type"] if protocol else None,
        "guided": delta["change_type"] == "guided_by_review",
        "stage_delta_mismatch": stored not in (None, delta["changed"]),
        "reviewed": bool(reviews),
        "arbitrated": bool(arbiter),
    }


def _actions(actions: Iterable[ReviewAction]) -> str:
    """Review actions as `units.read_actions` reads them."""
    cells = []
    for action in actions:
        targets = action.target_tuple_ids or ()
        cells.append((action.actor, action.action_type, targets, action.reason_code))
    return _as_json(cells).decode()


def _explicit_columns(
    gold: Side,
    final: Side,
    policy: MatchPolicy,
) -> dict[str, float]:
    """F1 of the final tuples, or of those with a term, against explicit gold. Seed cr_f1_metrics_examples 1."""
    wanted = explicit(gold, policy)
    return {
        "has_explicit_gold": takes_part_in(wanted, "otepol", policy),
        "has_explicit_gold_refpol": takes_part_in(wanted, "refpol", policy),
        "f1_explicit_gold_refpol": sample_f1(wanted, final, "refpol", policy),
        "f1_explicit_gold_otepol": sample_f1(wanted, final, "otepol", policy),
        "f1_explicit_both_otepol": sample_f1(wanted, explicit(final, policy), "otepol", policy),
    }


def _implicit_columns(
    card: Scorecard,
    gold_rows: Sequence[TupleRow],
    rows: Sequence[TupleRow],
) -> dict[str, Any]:
    """F1 of the predicted polarities against those of implicit gold. Seed cr_metrics_spec 3.2, 3.5.

    Counted are the valid polarities (positive, negative, neutral) of implicit gold and of all final tuples. Invalid
    means: no valid polarity is predicted, the reply could not be read, or some final tuple lacks its polarity.
    """
    parse_failed = _parse_failed(card)
    implicit = {polarity_of(row) for row in gold_rows if not read_tuple(row, gold=True).term}
    invalid = False
    valid: set[str] = set()
    if implicit:
        aspects = at(output_of(card), "final_result", "final_aspects") or ()
        predicted = {polarity_of(row) for row in rows}
        valid = predicted & POLARITIES
        lacks_polarity = "" in predicted or not all(map(polarity_of, aspects))
        invalid = parse_failed or lacks_polarity or not valid
    return {
        "has_implicit_gold": bool(implicit),
        "has_valid_implicit_gold": bool(implicit & POLARITIES),
        "f1_implicit": set_f1(implicit & POLARITIES, valid),
        "parse_failed": parse_failed,
        "implicit_invalid": invalid,
    }


def _parse_failed(card: Scorecard) -> bool:
    """Whether the runner could not read the model's reply, by any of the signs that it leaves. Section 3.5."""
    output = output_of(card)
    for flags in (card.flags, at(output, "flags")):
        if flags and (flags.parse_failed or flags.generate_failed):
            return True
    if at(output, "error") or at(card, "runtime", "error"):
        return True
    return any(PARSE_FAILED.search(entry.notes or b"") for entry in process_trace(card))


def _representative_f1(
    gold: Side,
    final: Side,
    ranked: Ranked,
    options: CrOptions,
) -> float:
    """F1 when one tuple is chosen for each aspect, under the protocol's key. Seed cr_metrics_spec 3.2, 3.4."""
    policy = options.match_policy
    if options.key == "refpol":
        aspects = [named.ref or named.term for _, named in ranked]
    else:
        aspects = [term_key(named.term, policy) or named.ref for _, named in ranked]
    if len(set(aspects)) < len(final.tuples):
        final = make_side(representatives(ranked, aspects), policy)
    return sample_f1(gold, final, options.key, policy)


def _conflict_columns(ranked: Ranked, policy: MatchPolicy) -> dict[str, bool]:
    """Whether some term, or some ref, carries two polarities. Seed cr_metrics_spec 3.4, D7."""
    names = ("conflict_raw", "conflict", "conflict_raw_refpol", "conflict_refpol")
    if len({named.polarity for _, named in ranked}) < 2:  # most samples
        return dict.fromkeys(names, False)
    by_term = conflicts(ranked, [term_key(named.term, policy) for _, named in ranked])
    by_ref = conflicts(ranked, [named.ref for _, named in ranked])
    return dict(zip(names, (*by_term, *by_ref)))


def _risk_columns(card: Scorecard, in_conflict: bool) -> dict[str, bool]:
    """Risks that the validator found or that are left in the final tuples. Seed cr_metrics_spec 4.3, D9."""
    in_stage1 = in_stage2 = negation_contrast = False
    for verdict in card.validator or ():
        if not verdict.structural_risks:
            continue
        if "2" in (verdict.stage or ""):
            in_stage2 = True
        else:
            in_stage1 = True
        for risk in verdict.structural_risks:
            risk_id = (risk.risk_id or "").upper()
            if "NEGATION" in risk_id or "CONTRAST" in risk_id:
                negation_contrast = True
    judgements = at(card, "atsa", "sentiment_judgements") or ()
    unsupported = any(judgement.opinion_grounded is False for judgement in judgements)
    return {
        "risk_s1": in_stage1,
        "risk_s2": in_stage2,
        "risk_cleared": in_stage1 and not in_stage2,
        "negation_contrast": negation_contrast,
        "residual_risk": in_stage2 or negation_contrast or in_conflict or unsupported,
    }


def _drop_columns(
    card: Scorecard,
    text: str,
    options: CrOptions,
) -> dict[str, bool]:
    """Whether aspect filtering dropped something, and why. Seed cr_hallucination_rate 2.

    The stored reason counts where it is one of DROP_REASONS, else the one that the term and its span give.
    """
    reasons = set()
    for aspect in at(card, "inputs", "ate_debug", "filtered") or ():
        if aspect.action == "drop":
            reason = aspect.drop_reason
            if reason not in DROP_REASONS:
                reason = drop_reason(text, aspect, options) or "invalid_target"
            reasons.add(reason)
    ate = card.ate or card.ate_score
    return {
        "hallucinated": bool(reasons or at(ate, "hallucination_flag")),
        **{f"drop_{reason}": reason in reasons for reason in DROP_REASONS},
    }


def _out_of_text(
    final: Side,
    text: str,
    policy: MatchPolicy,
) -> bool:
    """Whether some predicted term is nowhere in the text. D10."""
    compared_text = term_key(collapse(text), policy)
    return any(pair[0] not in compared_text for pair in final.pairs["otepol"])
