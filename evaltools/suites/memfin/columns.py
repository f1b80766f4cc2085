"""The columns of the units of a trace (one row a turn), in their order.

Kinds: a pandas dtype; "text"; or "json": a list or an object, which is stored as text.
"""

from __future__ import annotations

TURN_EVAL = {
    "trace_version": "text",
    "run_id": "text",
    "dialog_id": "text",
    "turn_pair_id": "Int64",
    "eligible_m1": "bool",
    "eligible_m2": "bool",
    "eligible_m3": "bool",
    "eligible_m4": "bool",
    "eligible_m5": "bool",
    "required_keys_raw": "json",
    "resolved_keys": "json",
    "key_hit_flags": "json",
    "key_hit_sources": "json",
    "m1_source_hits": "json",
    "constraint_contradiction": "Int64",
    "risk_required_tags": "json",
    "risk_pred_tags": "json",
    "risk_tag_hits": "Int64",
    "forbidden_hits": "json",
    "pred_compliance_label": "text",
    "gt_compliance_label": "text",
    "rubric_required": "json",
    "rubric_hit_items": "json",
    "judge_score_1_5": "float64",
}
"""The columns of turn_eval.jsonl: what score_dialog finds in a turn."""

EVIDENCE = {
    "scenario_type": "text",
    "difficulty": "text",
    "turn_status": "text",
    "user_text": "text",
    "context": "text",
    "reply": "text",
    "error": "text",
    "violations": "json",
    "contradicted_constraints": "json",
    "missed_tags": "json",
    "missed_elements": "json",
    "profile": "json",
}
"""What a reader needs to see why a turn falls short, and what breakdowns go by."""

SUMS = (
    "turn",
    "turn_failed",
    "m1_keys",
    "m1_hits",
    "m1_strict",
    "m1_contradiction",
    "m1_short_term_hits",
    "m1_long_term_hits",
    "m1_profile_hits",
    "m2_dialog",
    "m2_skipped",
    "m2_risk_level_acc",
    "m2_horizon_acc",
    "m2_liquidity_acc",
    "m2_constraints_f1",
    "m2_preferences_f1",
    "m2_profile_score",
    "m3_tags",
    "m3_hits",
    "m3_strict",
    "m4_correct",
    "m4_severe",
    "m4_forbidden",
    "m5_elements",
    "m5_hits",
    "m5_score",
)
"""The numbers that the metrics sum; null where the turn is not eligible."""

COLUMNS: dict[str, str] = {**TURN_EVAL, **EVIDENCE, **dict.fromkeys(SUMS, "float64")}
"""All columns and their kinds."""

JSON = [name for name, kind in COLUMNS.items() if kind == "json"]
"""The columns that hold lists and objects."""
