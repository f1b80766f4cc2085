"""What is counted in one sample, and the units frame of those counts: one row a sample.

Which columns a metric sums, and the section that defines it, stand in metrics.toml.
Sources: seed cr_metrics_spec sections 1-4, seed cr_hallucination_rate; decisions D7, D9, D10.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from msgspec import json
from pandas import DataFrame

from ...core.files import Fields, Names, grouped
from ...core.metric import set_f1
from .read import FINAL_SOURCES, CrOptions, at, final_rows, process_trace, stage1_rows
from .schema import Aspect, ReviewAction, Scorecard, Text, TupleRow
from .tuples import (
    KEYS,
    POLARITIES,
    EvalTuple,
    Key,
    Rank,
    Ranked,
    Side,
    collapse,
    conflicts,
    match_pairs,
    polarity_of,
    rank,
    read_tuple,
    term_key,
)

NAN = float("nan")

# the `protocol_mode` of tuples that no review has seen: of any system, not of a run of the protocol (D25)
PREDICTIONS = "predictions"

DROP_REASONS = ("out_of_text", "span_mismatch", "invalid_target")

# right before review, right after it -> what review did
OUTCOMES = {
    (False, True): "fix",
    (True, False): "break",
    (True, True): "keep",
    (False, False): "still",
}

# found by what its ends have in common: notes are long, and two searches of them would be most of scoring
PARSE_FAILED = re.compile(rb"_parse(?<=atsa_parse|json_parse)")


class Action(NamedTuple):
    """Who did what to which tuples, and why."""

    actor: Text
    action_type: Text
    target_tuple_ids: Names
    reason_code: Text


def unit_row(
    card: Scorecard,
    gold_rows: Sequence[TupleRow],
    line: int,
    options: CrOptions,
) -> Fields:
    """What is counted in one sample with these gold tuples, name by name; null means that it takes no part.

    The tuples of a stage are in order of appearance, each normal form once.
    """
    policy, meta = options.match_policy, card.meta
    text = meta.input_text or ""
    source, rows = final_rows(card)
    before_review = stage1_rows(card)
    predicted = [read_tuple(row) for row in rows]
    ranked = [(rank(row, named.term), named) for row, named in zip(rows, predicted)]
    gold = Side([read_tuple(row, gold=True) for row in gold_rows], policy)
    stage1 = Side([read_tuple(row) for row in before_review or rows], policy)
    final = Side(predicted, policy)
    has_gold = bool(gold.tuples)
    protocol = meta.protocol_mode != PREDICTIONS
    return {
        "line": line,
        "text_id": str(meta.text_id),
        "run_id": card.run_id or meta.run_id,
        "split": meta.split,
        "profile": meta.profile or card.profile or None,
        "text": text,
        "gold": _cell(gold.tuples),
        "compared_gold": _cell([*map(sorted, gold.pairs.values())]) if has_gold else None,
        "stage1": _cell(stage1.tuples if protocol else ()),
        "final": _cell(final.tuples),
        "model": meta.model,
        "protocol": protocol,
        # null in predictions, so that these are missing beside rows of a run
        "is_reviewed": float(protocol) or NAN,
        "n": True,
        "n_gold_tuples": len(gold.tuples),
        "has_gold": has_gold,
        "reviewable": protocol and has_gold,
        "n_pred_used": len(final.tuples) * has_gold,
        "n_invalid_ref": sum(not named.ref for named in final.tuples) * has_gold,
        **{f"from_{name}": source == name for name in FINAL_SOURCES},
        **_tuple_columns(gold, stage1, final, ranked, protocol, options.key),
        **_implicit_columns(card, gold_rows, rows),
        **_review_columns(
            card,
            stage1,
            final,
            protocol,
        ),
        "empty_stage1": protocol and bool(predicted) and not before_review,
        **_risk_columns(
            card,
            text,
            final,
            options,
        ),
        "latency_ms": NAN if meta.latency_ms is None else meta.latency_ms,
        "has_latency": meta.latency_ms is not None,
    }


def _cell(values: Sequence[Any]) -> str:
    """A list as a cell of the units holds it."""
    return json.encode(values).decode()


def _tuple_columns(
    gold: Side,
    stage1: Side,
    final: Side,
    ranked: Ranked,
    protocol: bool,
    protocol_key: Key,
) -> Fields:
    """F1 before and after review under every key, pairs after it, what review did to a sample, and conflicts.

    A sample without gold has no F1 and counts nothing; neither does, by the policy, one whose gold has no pair under
    the key (D26). Explicit F1 compares the final tuples, or those with a term, with the gold that has a term; F1 after
    representatives keeps one tuple an aspect of the protocol's key. A conflict: some term or ref carries two polarities.
    Seeds cr_metrics_spec 3.1, 3.3, 3.4, 4.1, cr_f1_metrics_examples 1; D7.
    """
    columns: Fields = {}
    for key in KEYS:
        before = after = match_pairs(gold.pairs[key], final.pairs[key])
        if stage1.pairs[key] != final.pairs[key]:  # review often changes nothing
            before = match_pairs(gold.pairs[key], stage1.pairs[key])
        takes_part = gold.takes_part(key)
        columns[f"f1_s1_{key}"] = before.f1 if takes_part and protocol else NAN
        columns[f"f1_s2_{key}"] = after.f1 if takes_part else NAN
        for count, n in zip(("tp", "fp", "fn"), after):
            columns[f"{count}_{key}"] = n if takes_part else 0
        # right: precision and recall are both 1, or there are no pairs
        outcome = OUTCOMES[not before.fp + before.fn, not after.fp + after.fn]
        columns[f"outcome_{key}"] = outcome if gold.tuples and protocol else None
    wanted, found = (
        Side([named for named in side.tuples if named.term], side.policy) for side in (gold, final)
    )

    def term(member: tuple[Rank, EvalTuple]) -> str:
        return term_key(member[1].term, final.policy)

    by_term = grouped(ranked, term)
    by_ref = aspects = grouped(ranked, lambda member: member[1].ref)
    if protocol_key == "otepol":
        aspects = grouped(ranked, lambda member: term(member) or member[1].ref)
    # of each aspect the tuple of the highest rank, the first of equals
    highest = [max(members, key=itemgetter(0))[1] for members in aspects.values()]
    columns |= {
        "has_explicit_gold": wanted.takes_part("otepol"),
        "has_explicit_gold_refpol": wanted.takes_part("refpol"),
        "f1_explicit_gold_refpol": wanted.f1(final, "refpol"),
        "f1_explicit_gold_otepol": wanted.f1(final, "otepol"),
        "f1_explicit_both_otepol": wanted.f1(found, "otepol"),
        "f1_after_rep": gold.f1(Side(highest, final.policy), protocol_key),
    }
    columns["conflict_raw"], columns["conflict"] = conflicts(by_term)
    columns["conflict_raw_refpol"], columns["conflict_refpol"] = conflicts(by_ref)
    return columns


def _implicit_columns(
    card: Scorecard, gold_rows: Sequence[TupleRow], rows: Sequence[TupleRow]
) -> Fields:
    """F1 of the predicted polarities against those of implicit gold. Seed cr_metrics_spec 3.2, 3.5.

    Counted are the valid polarities (positive, negative, neutral) of implicit gold and of all final tuples. Invalid
    means: no valid polarity is predicted, the reply could not be read, or some final tuple lacks its polarity.
    """
    flags = at(card, "flags", "runtime.parsed_output.flags")
    failure = at(flags, "parse_failed", "generate_failed")
    failure = failure or at(card, "runtime.parsed_output.error", "runtime.error")
    parse_failed = bool(failure) or any(
        map(PARSE_FAILED.search, (entry.notes or b"" for entry in process_trace(card)))
    )
    implicit = {polarity_of(row) for row in gold_rows if not read_tuple(row, gold=True).term}
    predicted = {polarity_of(row) for row in rows}
    wanted, valid = implicit & POLARITIES, predicted & POLARITIES
    lacks_polarity = "" in predicted or not all(
        map(polarity_of, at(card, "runtime.parsed_output.final_result.final_aspects") or ())
    )
    return {
        "has_implicit_gold": bool(implicit),
        "has_valid_implicit_gold": bool(wanted),
        "f1_implicit": set_f1(wanted, valid) if wanted else NAN,
        "parse_failed": parse_failed,
        "implicit_invalid": bool(implicit) and (parse_failed or lacks_polarity or not valid),
    }


def _review_columns(
    card: Scorecard,
    stage1: Side,
    final: Side,
    protocol: bool,
) -> Fields:
    """What reviewers and arbiter did, and whether review changed the sample. Seed cr_metrics_spec 4.1, 4.2.

    Changed: the (term, polarity) pairs differ, where an implicit tuple is one whatever its ref, or both labels exist and
    differ. `change_type`: guided_by_review (a reviewer or the arbiter acted), unguided (none did), none (no change).
    """
    output = at(card, "runtime.parsed_output")
    reviews = at(output, "analysis_flags.review_actions") or ()
    arbiter = at(output, "analysis_flags.arb_actions") or ()
    label_stage1 = at(output, "stage1_ate.label")
    label_final = at(output, "final_result.label", "stage2_ate.label")
    before, after = ({pair[:2] for pair in side.pairs["otepol"]} for side in (stage1, final))
    label_changed = bool(label_stage1 and label_final) and label_stage1 != label_final
    changed = before != after or label_changed
    change_type = "none"
    if changed:
        change_type = "guided_by_review" if reviews or arbiter else "unguided"
    return {
        "label_stage1": label_stage1,
        "label_final": label_final,
        "reviews": _actions(reviews),
        "arbiter": _actions(arbiter),
        "changed": changed,
        "pairs_changed": before != after,
        "label_changed": label_changed,
        "n_s1_pairs": len(before),
        "n_final_pairs": len(after),
        "change_type": change_type if protocol else None,
        "guided": change_type == "guided_by_review",
        "stage_delta_mismatch": getattr(card.stage_delta, "changed", None) not in (None, changed),
        "reviewed": bool(reviews),
        "arbitrated": bool(arbiter),
    }


def _actions(actions: Iterable[ReviewAction]) -> str:
    """Review actions as a cell of the units holds them: a list of `Action`."""
    return _cell(
        [(a.actor, a.action_type, a.target_tuple_ids or (), a.reason_code) for a in actions]
    )


def _risk_columns(
    card: Scorecard,
    text: str,
    final: Side,
    options: CrOptions,
) -> Fields:
    """Risks that the validator found, opinions without ground, aspects that filtering dropped, terms beyond the text.

    Of a dropped aspect the stored reason counts where it is one of DROP_REASONS, else the one that its term and span
    give. Seeds cr_metrics_spec 4.3, cr_hallucination_rate 2; D9, D10.
    """
    risks = [
        ("2" in (verdict.stage or ""), (risk.risk_id or "").upper())
        for verdict in card.validator or ()
        for risk in verdict.structural_risks or ()
    ]
    in_stage2 = any(is_second for is_second, _ in risks)
    negation_contrast = any("NEGATION" in name or "CONTRAST" in name for _, name in risks)
    judgements = at(card, "atsa.sentiment_judgements") or ()
    unsupported = any(judgement.opinion_grounded is False for judgement in judgements)
    reasons = set()
    debug = at(card, "inputs.ate_debug")
    aspects = at(debug, "filtered") or ()
    for aspect in aspects:
        if aspect.action == "drop":
            found = aspect.drop_reason
            if found not in DROP_REASONS:
                found = drop_reason(text, aspect, options) or "invalid_target"
            reasons.add(found)
    flag = at(card, "ate.hallucination_flag", "ate_score.hallucination_flag")
    # scorecards hold a flag and an empty list of aspects also where there is no such stage
    has_record = card.ate or card.ate_score
    compared_text = term_key(collapse(text), final.policy)
    return {
        "has_validator": bool(card.validator),
        "has_ate": bool(flag or aspects or (has_record and not debug)),
        "risk_s1": not all(is_second for is_second, _ in risks),
        "risk_s2": in_stage2,
        "risk_cleared": bool(risks) and not in_stage2,
        "negation_contrast": negation_contrast,
        "residual_risk": in_stage2 or negation_contrast or unsupported,
        "hallucinated": bool(reasons or flag),
        **{f"drop_{reason}": reason in reasons for reason in DROP_REASONS},
        "final_out_of_text": any(p[0] not in compared_text for p in final.pairs["otepol"]),
    }


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
    if span and 0 <= span.start <= span.end:
        under_span = unicodedata.normalize("NFC", text[span.start : span.end])
    if under_span != term:
        in_text = term and term in unicodedata.normalize("NFC", text)
        return "span_mismatch" if in_text else "out_of_text"
    if term in options.allowlist or (len(term) >= 2 and term not in options.stop_terms):
        return None
    return "invalid_target"


def units_frame(rows: DataFrame) -> DataFrame:
    """The units of a frame of rows of `unit_row`, with the columns that follow from those."""
    # a column of texts of which some or all are null
    texts = rows.select_dtypes(exclude=["number", "bool"]).columns
    units = rows.astype(dict.fromkeys(texts, "str"))
    columns = {"residual_risk": units["residual_risk"] | units["conflict"]}
    for key in KEYS:
        before, after, outcome = (units[f"{name}_{key}"] for name in ("f1_s1", "f1_s2", "outcome"))
        columns[f"reviewable_{key}"] = before.notna().where(outcome.notna())
        columns[f"has_gold_{key}"] = after.notna()
        for name in OUTCOMES.values():
            columns[f"{name}_{key}"] = outcome == name
        columns[f"improved_{key}"] = units["changed"] & (after > before)
        columns[f"degraded_{key}"] = units["changed"] & (after < before)
    return units.assign(**columns)
