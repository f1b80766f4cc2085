"""A dialogue as rows: one row a turn, with every field that the metrics rest on.

Source: memfin_metrics 3 and 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...core.errors import Problems
from ...core.records import fitted
from .memory import continuity, profile_columns
from .replies import compliance, disclosure, explainability
from .schema import Dialog

# The columns of turn_eval.jsonl, what score_dialog finds in a turn -> their dtypes; "json" is a list or an object, which
# the units hold as text.
TURN_EVAL = {
    "trace_version": "str",
    "run_id": "str",
    "dialog_id": "str",
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
    "pred_compliance_label": "str",
    "gt_compliance_label": "str",
    "rubric_required": "json",
    "rubric_hit_items": "json",
    "judge_score_1_5": "float64",
}

# what a reader needs to see why a turn falls short, and what breakdowns go by
EVIDENCE = {
    "scenario_type": "str",
    "difficulty": "str",
    "turn_status": "str",
    "user_text": "str",
    "context": "str",
    "reply": "str",
    "error": "str",
    "violations": "json",
    "contradicted_constraints": "json",
    "missed_tags": "json",
    "missed_elements": "json",
    "profile": "json",
}

# the numbers that the metrics sum; null where the turn is not eligible
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

COLUMNS = {**TURN_EVAL, **EVIDENCE, **dict.fromkeys(SUMS, "float64")}

JSON = [name for name, kind in COLUMNS.items() if kind == "json"]


def score_dialog(
    dialog: Mapping[str, Any],
    ignore_memory_keys: bool = False,
) -> list[dict[str, Any]]:
    """The measures M1, M3, M4 and M5 of every turn of a dialogue (memfin_metrics 3 and 4).

    dialog: a line of dialog_trace.jsonl, as a dict.
    ignore_memory_keys: reads every turn as asking for no memory, for a system without memory.

    Gives a row a turn with the columns of turn_eval.jsonl; [] for a dialogue that is not valid. A
    turn takes part in a measure where its `eligible_m1` to `eligible_m5` is true: it was answered
    (turn_status ok) and something is required of it. `eligible_m2` is false always: M2 is measured
    by dialogue. InputError for a dialogue that does not fit the format.

    M1, context continuity (3.1): one of the two required keys stands in a memory, and the reply
    speaks against a constraint of the user.

    >>> turn = {
    ...     "turn_pair_id": 1,
    ...     "turn_status": "ok",
    ...     "pred_assistant_text": "可以适当用杠杆。净值有波动，不构成投资建议。",
    ...     "gt_turn_tags": {
    ...         "memory_required_keys_gt": ["profile_gt.risk_level_gt", "profile_gt.horizon_gt"],
    ...         "risk_disclosure_required_gt": ["波动风险", "不保证收益"],
    ...         "compliance_label_gt": "compliant",
    ...         "explainability_rubric_gt": ["边界声明", "信息依据"],
    ...     },
    ...     "recall": {"short_term_context": "用户偏稳健"},
    ... }
    >>> user = {"risk_level_gt": "稳健", "horizon_gt": "2年以上", "constraints_gt": ["不使用杠杆"]}
    >>> dialog = {"dialog_id": "d1", "valid_dialog": True, "profile_gt": user, "turns": [turn]}
    >>> [row] = score_dialog(dialog)
    >>> row["key_hit_flags"], row["constraint_contradiction"]
    ([1, 0], 1)

    M3, risk disclosure (3.3): one of two required tags is disclosed.

    >>> row["risk_required_tags"], row["risk_tag_hits"]
    (['volatility_risk', 'no_guaranteed_return'], 1)

    M4, compliance (3.4): no forbidden entry, no violation. M5, explainability (3.5): one of two
    elements is present, so that the score is 1 + 4 * 1/2.

    >>> row["pred_compliance_label"], row["rubric_hit_items"], row["judge_score_1_5"]
    ('compliant', ['边界声明'], 3.0)
    """
    problems = Problems()
    record = fitted(
        Dialog,
        dialog,
        problems.error,
        id=str(dialog.get("dialog_id", "")),
    )
    if record is None:
        raise problems.failed()
    if not record.valid_dialog or not record.turns:
        return []
    rows = dialog_units(record, ignore_memory_keys)
    return [{name: row[name] for name in TURN_EVAL} for row in rows]


def dialog_units(dialog: Dialog, ignore_memory_keys: bool) -> list[dict[str, Any]]:
    """The units of a valid dialogue, one a turn, with the columns of COLUMNS.

    A sum that is left out of a row is null: the turn is not eligible. The values of the dialogue
    (M2) stand in its first row. A dialogue without turns has one row, whose `turn_pair_id` is null,
    so that its profile counts.
    """
    of_dialog = {
        "trace_version": dialog.trace_version,
        "run_id": dialog.run_id,
        "dialog_id": dialog.dialog_id,
        "scenario_type": dialog.scenario_type,
        "difficulty": dialog.difficulty,
    }
    rows: list[dict[str, Any]] = []
    for turn in dialog.turns:
        row: dict[str, Any] = {
            **of_dialog,
            "turn_pair_id": turn.turn_pair_id,
            "turn_status": turn.turn_status,
            "user_text": turn.user_text,
            "reply": turn.pred_assistant_text,
            "error": turn.error,
            "turn": 1,
            "turn_failed": turn.turn_status != "ok",
            "eligible_m2": False,
        }
        measures = {
            "m1": continuity(dialog, turn, ignore_memory_keys),
            "m3": disclosure(turn),
            "m4": compliance(dialog, turn),
            "m5": explainability(turn),
        }
        for name, (columns, sums) in measures.items():
            is_eligible = turn.turn_status == "ok" and bool(sums)
            row |= columns | {f"eligible_{name}": is_eligible}
            if is_eligible:
                row |= {f"{name}_{part}": value for part, value in sums.items()}
        row["judge_score_1_5"] = row.get("m5_score")
        rows.append(row)
    if not rows:
        rows = [of_dialog]
    rows[0].update(profile_columns(dialog))
    return rows
