"""Samples -> the units frame: one row a sample, with the columns that metrics sum and people filter by.

What a metric sums, and the section that defines it, stand in metrics.toml and metrics_by_key.toml.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
from msgspec import json

from .matching import Match, conflicts, match_pairs, pairs, pred_pairs, representatives
from .options import CrOptions
from .sample import (
    Sample,
    dropped,
    implicit_polarities,
    out_of_text,
    parse_failed,
    risks,
    unsupported,
)
from .schema import ReviewAction
from .scorecard import DROP_REASONS, StageDelta, stage_delta
from .sources import FINAL_SOURCES, labels
from .tuples import KEYS, EvalTuple, Key, MatchPolicy, term_key

NAN = float("nan")

OUTCOMES = ("fix", "break", "keep", "still")


class Action(NamedTuple):
    """Who did what to which tuples, and why."""

    actor: str | None
    action_type: str | None
    target_tuple_ids: tuple[str, ...]
    reason_code: str | None


def unit_row(sample: Sample, options: CrOptions) -> dict[str, Any]:
    """The row of the units frame of one sample, column by column; null means that the sample takes no part."""
    policy = options.match_policy
    card = sample.card
    flags = sample.output.analysis_flags
    reviews = flags.review_actions if flags is not None else None
    arbiter = flags.arb_actions if flags is not None else None
    label = labels(card)
    delta = stage_delta(
        sample.stage1,
        sample.final,
        label.stage1,
        label.final,
        reviewed=bool(reviews or arbiter),
        policy=policy,
    )
    reviewable = bool(sample.gold) and sample.protocol
    final_conflicts = _conflicts(sample, policy)
    reasons = dropped(card, options)
    return {
        "line": sample.line,
        "text_id": sample.text_id,
        "run_id": card.run_id or card.meta.run_id,
        "split": card.meta.split,
        "text": sample.text,
        "label_stage1": label.stage1,
        "label_final": label.final,
        "gold": _cell(sample.gold),
        "stage1": _cell(sample.stage1 if sample.protocol else ()),
        "final": _cell(sample.final),
        "model": (sample.output.meta or card.meta).model,
        "reviews": _actions_cell(reviews),
        "arbiter": _actions_cell(arbiter),
        "n": True,
        "protocol": sample.protocol,
        "has_gold": bool(sample.gold),
        "reviewable": reviewable,
        "n_gold_tuples": len(sample.gold),
        "n_pred_used": len(sample.final),
        **{f"from_{source}": sample.final_rows.source == source for source in FINAL_SOURCES},
        **_f1_columns(sample, options, reviewable, delta.changed),
        **final_conflicts,
        **_delta_columns(sample, delta),
        "reviewed": bool(reviews),
        "arbitrated": bool(arbiter),
        **_risk_columns(sample, final_conflicts["conflict"]),
        "hallucinated": reasons.hallucinated,
        **{f"drop_{reason}": reason in reasons.reasons for reason in DROP_REASONS},
        "final_out_of_text": out_of_text(sample.text, sample.final, options),
        **_latency_columns(sample),
    }


def units_frame(rows: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """The rows as a frame, with the same types of columns whatever values are null."""
    frame = pd.DataFrame(rows)
    for column in frame.columns:
        if column in TEXTS or column.startswith("outcome_"):
            frame[column] = _texts(frame[column])
        elif column in NUMBERS or column.startswith("f1_"):
            frame[column] = frame[column].astype(float)
    return frame


TEXTS = {
    "text_id",
    "run_id",
    "split",
    "text",
    "label_stage1",
    "label_final",
    "gold",
    "stage1",
    "final",
    "model",
    "reviews",
    "arbiter",
    "change_type",
}
"""The columns of texts; those of several values as JSON."""

NUMBERS = {"latency_ms"}


def _texts(values: Iterable[str | bytes | None]) -> Any:
    # one type, whether or not a shard holds a null, or nothing else
    return pd.array(pa.array(list(values), pa.large_string()), dtype="str")


_encode = json.Encoder().encode


def _cell(values: Sequence[Any]) -> bytes:
    """The JSON of a list, as `files.dumps` writes it, in a fraction of the time."""
    return json.format(_encode(values), indent=0)


def _actions_cell(actions: Iterable[ReviewAction] | None) -> bytes:
    """Review actions as `read_actions` reads them."""
    return _cell(
        [
            (action.actor, action.action_type, action.target_tuple_ids or (), action.reason_code)
            for action in actions or ()
        ]
    )


def read_tuples(text: str) -> list[EvalTuple]:
    """The tuples of a `gold`, `stage1` or `final` cell of the units as stored."""
    return [EvalTuple(*values) for values in json.decode(text)]


def read_actions(text: str) -> list[Action]:
    """The actions of a `reviews` or `arbiter` cell of the units as stored."""
    return [
        Action(actor, kind, tuple(targets), reason)
        for actor, kind, targets, reason in json.decode(text)
    ]


def _f1_columns(
    sample: Sample, options: CrOptions, reviewable: bool, changed: bool
) -> dict[str, Any]:
    """F1, counts and outcomes under every key, then against explicit and implicit gold, and of representatives."""
    policy = options.match_policy
    has_gold = bool(sample.gold)
    explicit = [t for t in sample.gold if t.term]
    columns: dict[str, Any] = {}
    of_explicit: dict[str, Any] = {"has_explicit_gold": bool(explicit)}
    for key in KEYS:
        gold = pairs(sample.gold, key, policy)
        final = pred_pairs(sample.final, key, policy)
        after = match_pairs(gold, final)
        before = after
        if sample.stage1 != sample.final:
            before = match_pairs(gold, pred_pairs(sample.stage1, key, policy))
        columns |= _key_columns(key, before, after, has_gold, reviewable, changed)
        if key != "attrpol":
            match = match_pairs(pairs(explicit, key, policy), final)
            of_explicit[f"f1_explicit_gold_{key}"] = match.f1 if explicit else NAN
        if key == "otepol":
            predicted = [t for t in sample.final if t.term]
            match = match_pairs(pairs(explicit, key, policy), pred_pairs(predicted, key, policy))
            of_explicit["f1_explicit_both_otepol"] = match.f1 if explicit else NAN
    return columns | of_explicit | _implicit_columns(sample) | _representative(sample, options)


def _key_columns(
    key: Key, before: Match, after: Match, has_gold: bool, reviewable: bool, changed: bool
) -> dict[str, Any]:
    """Scores before and after review under a key, and what review did to the sample, if it has seen it."""
    f1_before = before.f1 if reviewable else NAN
    f1_after = after.f1 if has_gold else NAN
    outcome = None
    if reviewable:
        outcome = _outcome(before.exact, after.exact)
    return {
        f"f1_s1_{key}": f1_before,
        f"f1_s2_{key}": f1_after,
        f"tp_{key}": after.tp if has_gold else 0,
        f"fp_{key}": after.fp if has_gold else 0,
        f"fn_{key}": after.fn if has_gold else 0,
        f"outcome_{key}": outcome,
        **{f"{name}_{key}": name == outcome for name in OUTCOMES},
        f"improved_{key}": changed and f1_after > f1_before,
        f"degraded_{key}": changed and f1_after < f1_before,
    }


def _outcome(right_before: bool, right_after: bool) -> str:
    """What review did to a sample. Seed cr_metrics_spec 3.3."""
    if right_before:
        return "keep" if right_after else "break"
    return "fix" if right_after else "still"


def _implicit_columns(sample: Sample) -> dict[str, Any]:
    """F1 of the predicted polarities against those of implicit gold. Seed cr_metrics_spec 3.2, 3.5."""
    implicit = implicit_polarities(sample)
    measured = implicit.tp + implicit.fn > 0
    denominator = 2 * implicit.tp + implicit.fp + implicit.fn
    return {
        "has_implicit_gold": not all(t.term for t in sample.gold),
        "has_valid_implicit_gold": measured,
        "f1_implicit": 2 * implicit.tp / denominator if measured else NAN,
        "parse_failed": parse_failed(sample.card),
        "implicit_invalid": implicit.invalid,
    }


def _representative(sample: Sample, options: CrOptions) -> dict[str, Any]:
    """F1 when one tuple is chosen for each aspect, under the protocol's key. Seed cr_metrics_spec 3.2, 3.4."""
    if not sample.gold:
        return {"f1_after_rep": NAN}
    policy, key = options.match_policy, options.key
    if key == "refpol":
        aspects = [t.ref or t.term for t in sample.final_read]
    else:
        aspects = [term_key(t.term, policy) or t.ref for t in sample.final_read]
    chosen = representatives(sample.final_read, sample.ranks, aspects)
    match = match_pairs(pairs(sample.gold, key, policy), pred_pairs(chosen, key, policy))
    return {"f1_after_rep": match.f1}


def _conflicts(sample: Sample, policy: MatchPolicy) -> dict[str, bool]:
    """Whether some term, or some ref, carries two polarities. Seed cr_metrics_spec 3.4, D7."""
    tuples, ranks = sample.final_read, sample.ranks
    by_term = conflicts(tuples, ranks, [term_key(t.term, policy) for t in tuples])
    by_ref = conflicts(tuples, ranks, [t.ref for t in tuples])
    return {
        "conflict_raw": by_term.raw,
        "conflict": by_term.unsettled,
        "conflict_raw_refpol": by_ref.raw,
        "conflict_refpol": by_ref.unsettled,
    }


def _delta_columns(sample: Sample, delta: StageDelta) -> dict[str, Any]:
    """What changed between the stages, and whether the stored value disagrees. Seed cr_metrics_spec 4.1, 4.2."""
    stored = sample.card.stage_delta.changed if sample.card.stage_delta is not None else None
    return {
        **delta._asdict(),
        "change_type": delta.change_type if sample.protocol else None,
        "guided": delta.change_type == "guided_by_review",
        "stage_delta_mismatch": stored is not None and stored != delta.changed,
    }


def _risk_columns(sample: Sample, conflict: bool) -> dict[str, bool]:
    """Risks of the validator, and any that is left in the final result. Seed cr_metrics_spec 4.3, D9."""
    found = risks(sample.card)
    residual = found.stage2 or found.negation_contrast or conflict or unsupported(sample.card)
    return {
        "risk_s1": found.stage1,
        "risk_s2": found.stage2,
        "negation_contrast": found.negation_contrast,
        "risk_cleared": found.stage1 and not found.stage2,
        "residual_risk": residual,
    }


def _latency_columns(sample: Sample) -> dict[str, Any]:
    latency = sample.card.meta.latency_ms
    if latency is None and sample.output.meta is not None:
        latency = sample.output.meta.latency_ms
    return {"latency_ms": latency, "has_latency": latency is not None}
