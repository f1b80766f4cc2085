"""Samples -> the units frame: one row a sample, with the columns that metrics sum and people filter by.

What a metric sums, and the section that defines it, stand in metrics.toml and metrics_by_key.toml.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
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
from .sources import FINAL_SOURCES, labels, profile_of
from .tuples import KEYS, EvalTuple, Key, MatchPolicy, term_key

NAN = float("nan")

COUNTS = ("tp", "fp", "fn")
CONFLICTS = ("conflict_raw", "conflict", "conflict_raw_refpol", "conflict_refpol")

Ints = np.ndarray[Any, np.dtype[np.int64]]
Floats = np.ndarray[Any, np.dtype[np.float64]]


class Action(NamedTuple):
    """Who did what to which tuples, and why."""

    actor: str | None
    action_type: str | None
    target_tuple_ids: tuple[str, ...]
    reason_code: str | None


def unit_row(sample: Sample, options: CrOptions) -> dict[str, Any]:
    """What is counted in one sample, column by column; null means that the sample takes no part."""
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
    before, after = _matches(sample, policy)
    final_conflicts = _conflicts(sample, policy)
    reasons = dropped(card, options)
    return {
        "line": sample.line,
        "text_id": sample.text_id,
        "run_id": card.run_id or card.meta.run_id,
        "split": card.meta.split,
        "profile": profile_of(card) or None,
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
        "reviewable": bool(sample.gold) and sample.protocol,
        "n_gold_tuples": len(sample.gold),
        "n_pred_used": len(sample.final) if sample.gold else 0,
        "n_invalid_ref": sum(not t.ref for t in sample.final) if sample.gold else 0,
        **{f"from_{source}": sample.final_rows.source == source for source in FINAL_SOURCES},
        **_counts("_s1", before),
        **_counts("", after),
        **_explicit_columns(sample, after, policy),
        **_implicit_columns(sample),
        "f1_after_rep": _representative_f1(sample, after, options),
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


def units_frame(rows: Iterable[dict[str, Any]], policy: MatchPolicy) -> pd.DataFrame:
    """The frame of these rows of `unit_row`, with the same types of columns whatever values are null.

    Added are the columns that follow from the counts of a row: F1 and outcomes.
    """
    lists: dict[str, list[Any]] = {}
    for row in rows:
        if not lists:
            lists = {name: [] for name in row}
        for values, value in zip(lists.values(), row.values()):
            values.append(value)
    if not lists:
        return pd.DataFrame()
    columns: dict[str, Any] = {}
    for name, values in lists.items():
        columns[name] = _texts(values) if name in TEXTS else np.array(values)
    columns["latency_ms"] = columns["latency_ms"].astype(float)  # None becomes NaN
    for key in KEYS:
        before = [columns.pop(f"{count}_s1_{key}") for count in ("tp", "fp", "fn")]
        after = [columns[f"{count}_{key}"] for count in ("tp", "fp", "fn")]
        columns |= _correction(key, before, after, columns, policy)
    return pd.DataFrame(columns)


def with_override(units: pd.DataFrame, numbers: Mapping[str, float]) -> pd.DataFrame:
    """The units with the counts of the override gate in their first row; these are of the run, not of a sample."""
    counts = [numbers.get(name) for name in OVERRIDE_COUNTS]
    is_measured = None not in counts
    is_first = np.arange(len(units)) == 0
    columns = {"has_override": is_first & is_measured}
    for name, count in zip(OVERRIDE_COUNTS, counts):
        columns[name] = np.where(is_first & is_measured, count or 0.0, 0.0)
    return units.assign(**columns)


OVERRIDE_COUNTS = ("override_candidate_n", "override_applied_n")
"""The numbers of the override gate that make metrics."""


def _correction(
    key: Key,
    before: list[Ints],
    after: list[Ints],
    columns: dict[str, Any],
    policy: MatchPolicy,
) -> dict[str, Any]:
    """F1 before and after review under a key, and what review did to the samples that it has seen.

    `before` and `after` are true positives, false positives and false negatives of each sample. A sample without gold
    has no F1 and counts nothing; neither does, by the policy, one whose gold has no pair under the key (D26). Seed
    cr_metrics_spec 3.1, 3.3, 4.1.
    """
    has_gold, reviewable, changed = (columns[c] for c in ("has_gold", "reviewable", "changed"))
    takes_part = has_gold
    if policy.pairless == "out":
        takes_part = after[0] + after[2] > 0  # the gold has a pair
    right_before = (before[1] == 0) & (before[2] == 0)
    right_after = (after[1] == 0) & (after[2] == 0)
    outcomes = {
        "fix": reviewable & ~right_before & right_after,
        "break": reviewable & right_before & ~right_after,
        "keep": reviewable & right_before & right_after,
        "still": reviewable & ~right_before & ~right_after,
    }
    outcome = np.full(len(changed), None, dtype=object)
    for name, happened in outcomes.items():
        outcome[happened] = name
    f1_before = np.where(takes_part & reviewable, f1_scores(*before), np.nan)
    f1_after = np.where(takes_part, f1_scores(*after), np.nan)
    return {
        f"has_gold_{key}": takes_part,
        f"reviewable_{key}": takes_part & reviewable,
        f"f1_s1_{key}": f1_before,
        f"f1_s2_{key}": f1_after,
        **{f"{count}_{key}": np.where(takes_part, n, 0) for count, n in zip(COUNTS, after)},
        f"outcome_{key}": _texts(outcome),
        **{f"{name}_{key}": happened for name, happened in outcomes.items()},
        f"improved_{key}": changed & (f1_after > f1_before),
        f"degraded_{key}": changed & (f1_after < f1_before),
    }


TEXTS = {
    "text_id",
    "run_id",
    "split",
    "profile",
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


def f1_scores(tp: Ints, fp: Ints, fn: Ints) -> Floats:
    """`matching.f1_score` of many samples."""
    scores = np.zeros(len(tp))
    np.divide(2 * tp, 2 * tp + fp + fn, out=scores, where=tp > 0)
    return scores


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


def _matches(sample: Sample, policy: MatchPolicy) -> tuple[dict[Key, Match], dict[Key, Match]]:
    """How the tuples of stage 1, and those of the final result, agree with the gold under every key."""
    before: dict[Key, Match] = {}
    after: dict[Key, Match] = {}
    reviewed = sample.stage1 != sample.final
    for key in KEYS:
        gold = pairs(sample.gold, key, policy)
        after[key] = match_pairs(gold, pairs(sample.final, key, policy))
        before[key] = after[key]
        if reviewed:
            before[key] = match_pairs(gold, pairs(sample.stage1, key, policy))
    return before, after


def _counts(stage: str, matches: Mapping[Key, Match]) -> dict[str, int]:
    """The counts under every key: tp_s1_refpol, ..., fn_s1_attrpol of stage "_s1"."""
    columns = {}
    for key, match in matches.items():
        columns[f"tp{stage}_{key}"] = match.tp
        columns[f"fp{stage}_{key}"] = match.fp
        columns[f"fn{stage}_{key}"] = match.fn
    return columns


def _explicit_columns(
    sample: Sample, after: Mapping[Key, Match], policy: MatchPolicy
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
    """F1 of the predicted polarities against those of implicit gold. Seed cr_metrics_spec 3.2, 3.5."""
    failed = parse_failed(sample.card)
    implicit = implicit_polarities(sample, failed)
    measured = implicit.tp + implicit.fn > 0
    return {
        "has_implicit_gold": not all(t.term for t in sample.gold),
        "has_valid_implicit_gold": measured,
        "f1_implicit": f1_score(implicit.tp, implicit.fp, implicit.fn) if measured else NAN,
        "parse_failed": failed,
        "implicit_invalid": implicit.invalid,
    }


def _representative_f1(sample: Sample, after: Mapping[Key, Match], options: CrOptions) -> float:
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


def _conflicts(sample: Sample, policy: MatchPolicy) -> dict[str, bool]:
    """Whether some term, or some ref, carries two polarities. Seed cr_metrics_spec 3.4, D7."""
    tuples, ranks = sample.final_read, sample.ranks
    if len({t.polarity for t in tuples}) < 2:  # most samples
        return dict.fromkeys(CONFLICTS, False)
    by_term = conflicts(tuples, ranks, [term_key(t.term, policy) for t in tuples])
    by_ref = conflicts(tuples, ranks, [t.ref for t in tuples])
    return dict(zip(CONFLICTS, (*by_term, *by_ref)))


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
