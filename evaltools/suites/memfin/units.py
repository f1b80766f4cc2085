"""A dialogue as rows of the units: its scored turns, their sums, and its profile.

Source: memfin_metrics 3 and 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .keys import SOURCES
from .lexicon import Lexicon
from .profile import score_profile
from .schema import Dialog
from .turns import identity, scored_turns


def dialog_units(
    dialog: Dialog,
    lexicon: Lexicon,
    ignore_memory_keys: bool = False,
) -> list[dict[str, Any]]:
    """The units of a valid dialogue, one a turn, with the columns of columns.py.

    The values of the dialogue (M2) stand in its first row. A dialogue without turns has one row,
    whose `turn_pair_id` is null, so that its profile counts.
    """
    rows = scored_turns(dialog, lexicon, ignore_memory_keys)
    for row in rows:
        row.update(_sums(row))
    if not rows:
        rows = [identity(dialog)]
    for row in rows:
        row["scenario_type"] = dialog.scenario_type
        row["difficulty"] = dialog.difficulty
    rows[0].update(_profile_columns(dialog, lexicon))
    return rows


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
