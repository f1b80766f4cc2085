"""What is counted in one sample: a row of the units frame, before what follows from it is added (`units`).

Sources: seed cr_metrics_spec sections 3-4, seed cr_hallucination_rate; decisions D7, D9, D10.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import json

from .matching import Match, Rank, compared, conflicts, f1_score, match_pairs, representatives
from .options import CrOptions
from .sample import Sample, rank
from .schema import ReviewAction, Scorecard
from .scorecard import DROP_REASONS, drop_reason, stage_delta
from .sources import labels, process_trace, profile_of, text_id
from .tuples import (
    KEYS,
    POLARITIES,
    Key,
    MatchPolicy,
    ReadTuple,
    collapse,
    read_tuple,
    term_key,
)

NAN = float("nan")

EXPLICIT = ("f1_explicit_gold_refpol", "f1_explicit_gold_otepol", "f1_explicit_both_otepol")
CONFLICTS = ("conflict_raw", "conflict", "conflict_raw_refpol", "conflict_refpol")


def unit_row(sample: Sample, line: int, options: CrOptions) -> dict[str, Any]:
    """What is counted in one sample, name by name; null means that the sample takes no part.

    `counts` are true positives, false positives and false negatives before review, then after it, under every key.
    """
    policy = options.match_policy
    card, gold, stage1, final = sample.card, sample.gold, sample.stage1, sample.final
    flags = sample.output.analysis_flags
    reviews = flags.review_actions if flags is not None else None
    arbiter = flags.arb_actions if flags is not None else None
    label_stage1, label_final = labels(sample.output)
    delta = stage_delta(
        stage1,
        final,
        label_stage1,
        label_final,
        reviewed=bool(reviews or arbiter),
    )
    stored_delta = card.stage_delta.changed if card.stage_delta is not None else None
    counts, after = _matches(sample)
    return {
        "line": line,
        "text_id": text_id(card),
        "run_id": card.run_id or card.meta.run_id,
        "split": card.meta.split,
        "profile": profile_of(card) or None,
        "text": sample.text,
        "label_stage1": label_stage1,
        "label_final": label_final,
        "gold": _tuples_cell(gold),
        "stage1": _tuples_cell(stage1 if sample.protocol else ()),
        "final": _tuples_cell(final),
        "model": card.meta.model,
        "reviews": _actions_cell(reviews),
        "arbiter": _actions_cell(arbiter),
        "protocol": sample.protocol,
        "n_gold_tuples": len(gold),
        "n_pred_used": len(final) if gold else 0,
        "n_invalid_ref": sum(not read.normal.ref for read in final) if gold else 0,
        "source": sample.source,
        "counts": counts,
        **_explicit_columns(sample, after, policy),
        **_implicit_columns(sample, policy),
        "f1_after_rep": _representative_f1(sample, after, options),
        **_conflict_columns(sample),
        **delta._asdict(),
        "stage_delta_mismatch": stored_delta not in (None, delta.changed),
        "reviewed": bool(reviews),
        "arbitrated": bool(arbiter),
        **_risk_columns(card),
        **_drop_columns(sample, options),
        "final_out_of_text": _out_of_text(sample, policy),
        "latency_ms": card.meta.latency_ms,
    }


def _matches(sample: Sample) -> tuple[list[int], dict[Key, Match]]:
    """(counts before and after review under every key, the match after review under each)."""
    counts: list[int] = []
    after: dict[Key, Match] = {}
    for key in KEYS:
        of_gold, of_stage1, of_final = (
            compared(read, key) for read in (sample.gold, sample.stage1, sample.final)
        )
        before = after[key] = match_pairs(of_gold, of_final)
        # review often changes terms only, or nothing
        if of_stage1 != of_final:
            before = match_pairs(of_gold, of_stage1)
        counts += (*before[:3], *after[key][:3])
    return counts, after


_cell = json.Encoder().encode


def _actions_cell(actions: Iterable[ReviewAction] | None) -> bytes:
    """Review actions as `units.read_actions` reads them."""
    cells = []
    for action in actions or ():
        targets = action.target_tuple_ids or ()
        cells.append((action.actor, action.action_type, targets, action.reason_code))
    return _cell(cells)


def _tuples_cell(tuples: Iterable[ReadTuple]) -> bytes:
    """Tuples as `units.read_tuples` reads them."""
    return _cell([read.normal for read in tuples])


def _match(
    gold: Iterable[ReadTuple],
    pred: Iterable[ReadTuple],
    key: Key,
) -> Match:
    return match_pairs(compared(gold, key), compared(pred, key))


def _explicit_columns(
    sample: Sample,
    after: Mapping[Key, Match],
    policy: MatchPolicy,
) -> dict[str, float]:
    """F1 of the final tuples, or of those with a term, against explicit gold. Seed cr_f1_metrics_examples 1."""
    gold = [read for read in sample.gold if read.term]
    if not gold:
        return dict.fromkeys(EXPLICIT, NAN)
    by_ref, by_term = after["refpol"], after["otepol"]
    if len(gold) < len(sample.gold):
        by_ref = _match(gold, sample.final, "refpol")
        by_term = _match(gold, sample.final, "otepol")
    by_ref_f1 = by_ref.f1
    if not by_ref.has_gold and policy.pairless == "out":
        by_ref_f1 = NAN
    both = by_term
    with_term = [read for read in sample.final if read.term]
    if len(with_term) < len(sample.final):
        both = _match(gold, with_term, "otepol")
    return dict(zip(EXPLICIT, (by_ref_f1, by_term.f1, both.f1)))


def _implicit_columns(sample: Sample, policy: MatchPolicy) -> dict[str, Any]:
    """F1 of the predicted polarities against those of implicit gold. Seed cr_metrics_spec 3.2, 3.5.

    Counted are the valid polarities (positive, negative, neutral) of implicit gold and of all final tuples. Invalid
    means: no valid polarity is predicted, the reply could not be read, or some final tuple lacks its polarity.
    """
    failed = _parse_failed(sample)
    implicit = [read.polarity for read in sample.gold_read if not read.term]
    invalid = False
    f1 = NAN
    if implicit:
        given = {read.polarity for read in sample.final_read}
        predicted = given & POLARITIES
        invalid = failed or not predicted or "" in given or _aspect_lacks_polarity(sample, policy)
        wanted = POLARITIES.intersection(implicit)
        if wanted:
            f1 = f1_score(
                tp=len(wanted & predicted),
                fp=len(predicted - wanted),
                fn=len(wanted - predicted),
            )
    return {
        "has_implicit_gold": bool(implicit),
        "f1_implicit": f1,
        "parse_failed": failed,
        "implicit_invalid": invalid,
    }


def _aspect_lacks_polarity(sample: Sample, policy: MatchPolicy) -> bool:
    """Whether some final aspect carries no polarity (forbidden neutral fallback)."""
    result = sample.output.final_result
    aspects = result.final_aspects if result is not None else None
    return any(not read_tuple(row, policy).polarity for row in aspects or ())


def _parse_failed(sample: Sample) -> bool:
    """Whether the runner could not read the model's reply, by any of the signs that it leaves. Section 3.5."""
    card, output = sample.card, sample.output
    for flags in (card.flags, output.flags):
        if flags is not None and (flags.parse_failed or flags.generate_failed):
            return True
    if output.error or (card.runtime is not None and card.runtime.error):
        return True
    for entry in process_trace(card):
        notes = bytes(entry.notes or b"")
        if b"atsa_parse" in notes or b"json_parse" in notes:
            return True
    return False


def _representative_f1(
    sample: Sample,
    after: Mapping[Key, Match],
    options: CrOptions,
) -> float:
    """F1 when one tuple is chosen for each aspect, under the protocol's key. Seed cr_metrics_spec 3.2, 3.4."""
    if not sample.gold:
        return NAN
    key = options.key
    if key == "refpol":
        aspects = [read.normal.ref or read.normal.term for read in sample.final_read]
    else:
        aspects = [read.term or read.normal.ref for read in sample.final_read]
    match = after[key]
    if len(set(aspects)) < len(sample.final):
        chosen = representatives(sample.final_read, _ranks(sample), aspects)
        match = _match(sample.gold, chosen, key)
    if not match.has_gold and options.match_policy.pairless == "out":
        return NAN
    return match.f1


def _ranks(sample: Sample) -> list[Rank]:
    return [rank(row, read.term) for row, read in zip(sample.final_rows, sample.final_read)]


def _conflict_columns(sample: Sample) -> dict[str, bool]:
    """Whether some term, or some ref, carries two polarities. Seed cr_metrics_spec 3.4, D7."""
    tuples = sample.final_read
    polarities = [read.normal.polarity for read in tuples]
    if len(set(polarities)) < 2:  # most samples
        return dict.fromkeys(CONFLICTS, False)
    ranks = _ranks(sample)
    by_term = conflicts(polarities, ranks, [read.term for read in tuples])
    by_ref = conflicts(polarities, ranks, [read.normal.ref for read in tuples])
    return dict(zip(CONFLICTS, (*by_term, *by_ref)))


def _risk_columns(card: Scorecard) -> dict[str, bool]:
    """Risks that the validator found, and a final polarity that was judged unsupported. Seed cr_metrics_spec 4.3, D9."""
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
    judgements = card.atsa.sentiment_judgements if card.atsa is not None else None
    unsupported = any(judgement.opinion_grounded is False for judgement in judgements or ())
    return {
        "risk_s1": in_stage1,
        "risk_s2": in_stage2,
        "negation_contrast": negation_contrast,
        "unsupported": unsupported,
    }


def _drop_columns(sample: Sample, options: CrOptions) -> dict[str, bool]:
    """Whether aspect filtering dropped something, and why. Seed cr_hallucination_rate 2.

    The stored reason counts where it is one of DROP_REASONS, else the one that the term and its span give.
    """
    card = sample.card
    debug = card.inputs.ate_debug if card.inputs is not None else None
    filtered = debug.filtered if debug is not None else None
    reasons = set()
    for aspect in filtered or ():
        if aspect.action == "drop":
            reason = aspect.drop_reason
            if reason not in DROP_REASONS:
                reason = drop_reason(sample.text, aspect, options) or "invalid_target"
            reasons.add(reason)
    ate = card.ate or card.ate_score
    columns = {"hallucinated": bool(reasons) or (ate is not None and bool(ate.hallucination_flag))}
    for reason in DROP_REASONS:
        columns[f"drop_{reason}"] = reason in reasons
    return columns


def _out_of_text(sample: Sample, policy: MatchPolicy) -> bool:
    """Whether some predicted term is nowhere in the text. D10."""
    text = term_key(collapse(sample.text), policy)
    return any(read.term not in text for read in sample.final)
