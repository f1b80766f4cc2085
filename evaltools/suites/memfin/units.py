"""A dialogue as rows of the units: what score_dialog finds, the evidence for it, and the sums.

Source: memfin_metrics 3 and 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import rules
from .keys import SOURCES, memories
from .lexicon import Lexicon
from .profile import score_profile
from .schema import Dialog, Turn
from .turns import constraints_of, identity, score_dialog, violations_of

CONTEXT_LIMIT = 1_000
"""Characters of each memory that the units keep for display."""


def dialog_units(
    dialog: Dialog,
    lexicon: Lexicon,
    ignore_memory_keys: bool = False,
) -> list[dict[str, Any]]:
    """The units of a valid dialogue, one a turn, with the columns of columns.py.

    The values of the dialogue (M2) stand in its first row. A dialogue without turns has one row,
    whose `turn_pair_id` is null, so that its profile counts.
    """
    rows = score_dialog(dialog, lexicon, ignore_memory_keys)
    for turn, row in zip(dialog.turns or (), rows):
        row.update(_evidence(dialog, turn, row, lexicon))
        row.update(_sums(row))
    if not rows:
        rows = [identity(dialog)]
    for row in rows:
        row["scenario_type"] = dialog.scenario_type
        row["difficulty"] = dialog.difficulty
    rows[0].update(_profile_columns(dialog, lexicon))
    return rows


def _evidence(
    dialog: Dialog,
    turn: Turn,
    row: Mapping[str, Any],
    lexicon: Lexicon,
) -> dict[str, Any]:
    """What a reader needs to see why a turn falls short."""
    reply = turn.pred_assistant_text or ""
    broken: list[str] = []
    if row["constraint_contradiction"]:
        broken = rules.contradictions(reply, constraints_of(dialog), lexicon.contradiction)
    required_tags = row["risk_required_tags"]
    covered = rules.covered_tags(required_tags, row["risk_pred_tags"], lexicon.risk)
    present = row["rubric_hit_items"]
    return {
        "turn_status": turn.turn_status,
        "user_text": turn.user_text or "",
        "context": _context(memories(turn.recall)),
        "reply": reply,
        "error": turn.error,
        "violations": [violation.model_dump() for violation in violations_of(turn)],
        "contradicted_constraints": broken,
        "missed_tags": [tag for tag in required_tags if tag not in covered],
        "missed_elements": [e for e in row["rubric_required"] if e not in present],
    }


def _context(memory: Mapping[str, str]) -> str:
    """What the system remembered, one part a source; a long one is cut to its end and says so."""
    parts = []
    for source, text in memory.items():
        n_cut = len(text) - CONTEXT_LIMIT
        if n_cut > 0:
            text = f"({n_cut} characters before) … {text[-CONTEXT_LIMIT:]}"
        if text:
            parts.append(f"[{source}] {text}")
    return "\n\n".join(parts)


def _sums(row: Mapping[str, Any]) -> dict[str, float]:
    """The numbers that the metrics sum. One that is left out is null: the turn is not eligible."""
    sums: dict[str, float] = {"turn": 1, "turn_failed": row["turn_status"] != "ok"}
    if row["eligible_m1"]:
        flags = [flag for flag in row["key_hit_flags"] if flag is not None]
        sums["m1_keys"] = len(flags)
        sums["m1_hits"] = sum(flags)
        sums["m1_strict"] = all(flags)
        sums["m1_contradiction"] = row["constraint_contradiction"]
        for source in SOURCES:
            sums[f"m1_{source}_hits"] = row["m1_source_hits"][source]
    if row["eligible_m3"]:
        sums["m3_tags"] = len(row["risk_required_tags"])
        sums["m3_hits"] = row["risk_tag_hits"]
        sums["m3_strict"] = sums["m3_hits"] == sums["m3_tags"]
    if row["eligible_m4"]:
        label = row["pred_compliance_label"]
        sums["m4_correct"] = label == row["gt_compliance_label"]
        sums["m4_severe"] = label == "severe_violation"
        sums["m4_forbidden"] = bool(row["forbidden_hits"])
    if row["eligible_m5"]:
        sums["m5_elements"] = len(row["rubric_required"])
        sums["m5_hits"] = len(row["rubric_hit_items"])
        sums["m5_score"] = row["judge_score_1_5"]
    return sums


def _profile_columns(dialog: Dialog, lexicon: Lexicon) -> dict[str, Any]:
    """The M2 columns of a dialogue; without a true profile it is skipped and the scores are null."""
    truth = dialog.profile_gt
    if truth is None or not truth.available:
        return {"m2_dialog": 0, "m2_skipped": 1}
    snapshot = None
    replies = []
    for turn in dialog.turns or ():
        if turn.profile_snapshot is not None:
            snapshot = turn.profile_snapshot  # the last one counts
        if turn.pred_assistant_text:
            replies.append(turn.pred_assistant_text)
    fields = score_profile(truth, snapshot, "\n".join(replies), lexicon.profile)
    columns: dict[str, Any] = {f"m2_{field.metric}": field.score for field in fields}
    scores = [field.score for field in fields]
    return {
        **columns,
        "m2_dialog": 1,
        "m2_skipped": 0,
        "m2_profile_score": sum(scores) / len(scores),
        "profile": [vars(field) for field in fields],
    }
