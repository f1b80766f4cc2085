"""What is counted in one sample: a row of the units frame, before F1 and outcomes are added (`units`).

Sources: seed cr_metrics_spec sections 3-4, seed cr_hallucination_rate; decisions D7, D9, D10.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import json

from .matching import (
    Match,
    conflicts,
    f1_score,
    match_pairs,
    match_tuples,
    pairs,
    representatives,
)
from .options import CrOptions
from .sample import Sample
from .schema import ReviewAction, Scorecard
from .scorecard import DROP_REASONS, drop_reason, stage_delta
from .sources import FINAL_SOURCES, labels, output_of, process_trace, profile_of, result_of
from .tuples import (
    KEYS,
    POLARITIES,
    EvalTuple,
    Key,
    MatchPolicy,
    collapse,
    eval_tuple,
    given_polarity,
    polarity_of,
    term_key,
)

NAN = float("nan")

COUNTS = ("tp", "fp", "fn")
CONFLICTS = ("conflict_raw", "conflict", "conflict_raw_refpol", "conflict_refpol")


def unit_row(sample: Sample, options: CrOptions) -> dict[str, Any]:
    """What is counted in one sample, column by column; null means that the sample takes no part."""
    policy = options.match_policy
    card = sample.card
    flags = sample.output.analysis_flags
    reviews = flags.review_actions if flags is not None else None
    arbiter = flags.arb_actions if flags is not None else None
    label_stage1, label_final = labels(card)
    has_gold = bool(sample.gold)
    before, after = _matches(sample, policy)
    of_conflicts = _conflict_columns(sample, policy)
    return {
        "line": sample.line,
        "text_id": sample.text_id,
        "run_id": card.run_id or card.meta.run_id,
        "split": card.meta.split,
        "profile": profile_of(card) or None,
        "text": sample.text,
        "label_stage1": label_stage1,
        "label_final": label_final,
        "gold": _cell(sample.gold),
        "stage1": _cell(sample.stage1 if sample.protocol else ()),
        "final": _cell(sample.final),
        "model": (sample.output.meta or card.meta).model,
        "reviews": _actions_cell(reviews),
        "arbiter": _actions_cell(arbiter),
        "n": True,
        "protocol": sample.protocol,
        "has_gold": has_gold,
        "reviewable": has_gold and sample.protocol,
        "n_gold_tuples": len(sample.gold),
        "n_pred_used": len(sample.final) if has_gold else 0,
        "n_invalid_ref": sum(not t.ref for t in sample.final) if has_gold else 0,
        **{f"from_{source}": sample.final_rows.source == source for source in FINAL_SOURCES},
        **_count_columns("_s1", before),
        **_count_columns("", after),
        **_explicit_columns(sample, after, policy),
        **_implicit_columns(sample),
        "f1_after_rep": _representative_f1(sample, after, options),
        **of_conflicts,
        **_delta_columns(sample, label_stage1, label_final, bool(reviews or arbiter), policy),
        "reviewed": bool(reviews),
        "arbitrated": bool(arbiter),
        **_risk_columns(card, of_conflicts["conflict"]),
        **_drop_columns(card, options),
        "final_out_of_text": _out_of_text(sample.text, sample.final, policy),
        **_latency_columns(sample),
    }


_encode = json.Encoder().encode


def _cell(values: Sequence[Any]) -> bytes:
    """The JSON of a list, as `files.dumps` writes it, in a fraction of the time."""
    return json.format(_encode(values), indent=0)


def _actions_cell(actions: Iterable[ReviewAction] | None) -> bytes:
    """Review actions as `units.read_actions` reads them."""
    cells = []
    for action in actions or ():
        targets = action.target_tuple_ids or ()
        cells.append((action.actor, action.action_type, targets, action.reason_code))
    return _cell(cells)


def _matches(sample: Sample, policy: MatchPolicy) -> tuple[dict[Key, Match], dict[Key, Match]]:
    """How the tuples of stage 1, and those of the final result, agree with the gold under every key."""
    before: dict[Key, Match] = {}
    after: dict[Key, Match] = {}
    for key in KEYS:
        gold = pairs(sample.gold, key, policy)
        stage1 = pairs(sample.stage1, key, policy)
        final = pairs(sample.final, key, policy)
        after[key] = match_pairs(gold, final)
        # review often changes terms only, or nothing
        before[key] = after[key] if stage1 == final else match_pairs(gold, stage1)
    return before, after


def _count_columns(stage: str, matches: Mapping[Key, Match]) -> dict[str, int]:
    """The counts under every key: tp_s1_refpol, ..., fn_s1_attrpol of stage "_s1"."""
    columns = {}
    for key, match in matches.items():
        columns[f"tp{stage}_{key}"] = match.tp
        columns[f"fp{stage}_{key}"] = match.fp
        columns[f"fn{stage}_{key}"] = match.fn
    return columns


def _explicit_columns(
    sample: Sample,
    after: Mapping[Key, Match],
    policy: MatchPolicy,
) -> dict[str, Any]:
    """F1 of the final tuples, or of those with a term, against explicit gold. Seed cr_f1_metrics_examples 1."""
    gold = [t for t in sample.gold if t.term]
    if not gold:
        return {
            "has_explicit_gold": False,
            "has_explicit_gold_refpol": False,
            "f1_explicit_gold_refpol": NAN,
            "f1_explicit_gold_otepol": NAN,
            "f1_explicit_both_otepol": NAN,
        }
    by_ref, by_term = after["refpol"], after["otepol"]
    if len(gold) < len(sample.gold):
        by_ref = match_tuples(gold, sample.final, "refpol", policy)
        by_term = match_tuples(gold, sample.final, "otepol", policy)
    by_ref_measured = by_ref.has_gold or policy.pairless == "zero"
    both = by_term
    with_term = [t for t in sample.final if t.term]
    if len(with_term) < len(sample.final):
        both = match_tuples(gold, with_term, "otepol", policy)
    return {
        "has_explicit_gold": True,
        "has_explicit_gold_refpol": by_ref_measured,
        "f1_explicit_gold_refpol": by_ref.f1 if by_ref_measured else NAN,
        "f1_explicit_gold_otepol": by_term.f1,
        "f1_explicit_both_otepol": both.f1,
    }


def _implicit_columns(sample: Sample) -> dict[str, Any]:
    """F1 of the predicted polarities against those of implicit gold. Seed cr_metrics_spec 3.2, 3.5.

    Counted are the valid polarities (positive, negative, neutral) of implicit gold and of all final tuples. Invalid
    means: no valid polarity is predicted, the reply could not be read, or some final tuple lacks its polarity.
    """
    failed = _parse_failed(sample.card)
    has_implicit_gold = not all(t.term for t in sample.gold)
    invalid = False
    f1 = NAN
    if has_implicit_gold:
        implicit = [row for row in sample.gold_rows if not eval_tuple(row, gold=True).term]
        wanted = {given_polarity(polarity_of(row)) for row in implicit} & POLARITIES
        final = sample.final_rows.rows
        predicted = {given_polarity(polarity_of(row)) for row in final} & POLARITIES
        invalid = failed or not predicted or _lacks_polarity(sample)
        if wanted:
            f1 = f1_score(
                tp=len(wanted & predicted),
                fp=len(predicted - wanted),
                fn=len(wanted - predicted),
            )
    return {
        "has_implicit_gold": has_implicit_gold,
        "has_valid_implicit_gold": f1 == f1,
        "f1_implicit": f1,
        "parse_failed": failed,
        "implicit_invalid": invalid,
    }


def _parse_failed(card: Scorecard) -> bool:
    """Whether the runner could not read the model's reply, by any of the signs that it leaves. Section 3.5."""
    output = output_of(card)
    for flags in (card.flags, output.flags):
        if flags is not None and (flags.parse_failed or flags.generate_failed):
            return True
    if output.error or (card.runtime is not None and card.runtime.error):
        return True
    for entry in process_trace(card):
        notes = bytes(entry.notes) if entry.notes is not None else b""
        if b"atsa_parse" in notes or b"json_parse" in notes:
            return True
    return False


def _lacks_polarity(sample: Sample) -> bool:
    """Whether some tuple of the final result carries no polarity (forbidden neutral fallback)."""
    rows = [*sample.final_rows.rows, *(result_of(sample.card).final_aspects or ())]
    return any(not given_polarity(polarity_of(row)) for row in rows)


def _representative_f1(
    sample: Sample,
    after: Mapping[Key, Match],
    options: CrOptions,
) -> float:
    """F1 when one tuple is chosen for each aspect, under the protocol's key. Seed cr_metrics_spec 3.2, 3.4."""
    if not sample.gold:
        return NAN
    policy, key = options.match_policy, options.key
    if key == "refpol":
        aspects = [t.ref or t.term for t in sample.final_read]
    else:
        aspects = [term_key(t.term, policy) or t.ref for t in sample.final_read]
    chosen = representatives(sample.final_read, sample.ranks, aspects)
    match = after[key]
    if len(chosen) < len(sample.final):
        match = match_tuples(sample.gold, chosen, key, policy)
    if not match.has_gold and policy.pairless == "out":
        return NAN
    return match.f1


def _conflict_columns(sample: Sample, policy: MatchPolicy) -> dict[str, bool]:
    """Whether some term, or some ref, carries two polarities. Seed cr_metrics_spec 3.4, D7."""
    tuples, ranks = sample.final_read, sample.ranks
    if len({t.polarity for t in tuples}) < 2:  # most samples
        return dict.fromkeys(CONFLICTS, False)
    by_term = conflicts(tuples, ranks, [term_key(t.term, policy) for t in tuples])
    by_ref = conflicts(tuples, ranks, [t.ref for t in tuples])
    return dict(zip(CONFLICTS, (*by_term, *by_ref)))


def _delta_columns(
    sample: Sample,
    label_stage1: str | None,
    label_final: str | None,
    reviewed: bool,
    policy: MatchPolicy,
) -> dict[str, Any]:
    """What changed between the stages, and whether the stored value disagrees. Seed cr_metrics_spec 4.1, 4.2."""
    delta = stage_delta(
        sample.stage1,
        sample.final,
        label_stage1,
        label_final,
        reviewed=reviewed,
        policy=policy,
    )
    stored = sample.card.stage_delta.changed if sample.card.stage_delta is not None else None
    return {
        **delta._asdict(),
        "change_type": delta.change_type if sample.protocol else None,
        "guided": delta.change_type == "guided_by_review",
        "stage_delta_mismatch": stored is not None and stored != delta.changed,
    }


def _risk_columns(card: Scorecard, conflict: bool) -> dict[str, bool]:
    """Risks that the validator found, and any that is left in the final result. Seed cr_metrics_spec 4.3, D9."""
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
        "risk_cleared": in_stage1 and not in_stage2,
        "residual_risk": in_stage2 or negation_contrast or conflict or unsupported,
    }


def _drop_columns(card: Scorecard, options: CrOptions) -> dict[str, bool]:
    """Whether aspect filtering dropped something, and why. Seed cr_hallucination_rate 2.

    The stored reason counts where it is one of DROP_REASONS, else the one that the term and its span give.
    """
    debug = card.inputs.ate_debug if card.inputs is not None else None
    filtered = debug.filtered if debug is not None else None
    text = card.meta.input_text or ""
    reasons = set()
    for aspect in filtered or ():
        if aspect.action == "drop":
            reason = aspect.drop_reason
            if reason not in DROP_REASONS:
                reason = drop_reason(text, aspect, options) or "invalid_target"
            reasons.add(reason)
    flagged = any(ate is not None and ate.hallucination_flag for ate in (card.ate, card.ate_score))
    columns = {"hallucinated": flagged or bool(reasons)}
    for reason in DROP_REASONS:
        columns[f"drop_{reason}"] = reason in reasons
    return columns


def _out_of_text(
    text: str,
    predicted: Iterable[EvalTuple],
    policy: MatchPolicy,
) -> bool:
    """Whether some predicted term is nowhere in the text. D10."""
    text = term_key(collapse(text), policy)
    return any(t.term and term_key(t.term, policy) not in text for t in predicted)


def _latency_columns(sample: Sample) -> dict[str, Any]:
    latency = sample.card.meta.latency_ms
    if latency is None and sample.output.meta is not None:
        latency = sample.output.meta.latency_ms
    return {"latency_ms": latency, "has_latency": latency is not None}
