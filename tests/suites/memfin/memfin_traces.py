"""Traces for tests: dialogues with the parts that a test is about."""

from pathlib import Path
from typing import Any

from tests.files import write_lines

PROFILE = {
    "risk_level_gt": "稳健",
    "horizon_gt": "2年以上",
    "liquidity_need_gt": "中",
    "constraints_gt": ["不使用杠杆", "最大回撤<10%"],
    "preferences_gt": ["宽基指数基金", "高等级信用债"],
}


def turn(
    n: int = 1, reply: str | None = "好的。", status: str = "ok", **parts: Any
) -> dict[str, Any]:
    """`keys`, `risk`, `label`, `rubric` fill the tags; `context`, `items`, `profile` the recall."""
    return {
        "turn_pair_id": n,
        "turn_status": status,
        "user_text": f"问题{n}",
        "pred_assistant_text": reply,
        "gt_turn_tags": {
            "memory_required_keys_gt": parts.get("keys", []),
            "risk_disclosure_required_gt": parts.get("risk", []),
            "compliance_label_gt": parts.get("label", "compliant"),
            "explainability_rubric_gt": parts.get("rubric", []),
        },
        "recall": {
            "short_term_context": parts.get("context", ""),
            "profile_context": parts.get("profile", ""),
            "items": [{"content": text} for text in parts.get("items", [])],
        },
        "compliance": {"violations": parts.get("violations", [])},
        "profile_snapshot": parts.get("snapshot"),
    }


def dialog(
    name: str = "d1", turns: list[dict[str, Any]] | None = None, **parts: Any
) -> dict[str, Any]:
    turns = [turn()] if turns is None else turns
    raw = [
        t
        for n in range(1, len(turns) + 1)
        for t in (("user", f"问题{n}"), ("assistant", f"回答{n}"))
    ]
    return {
        "dialog_id": name,
        "valid_dialog": True,
        "dialog_status": "ok",
        "scenario_type": "投资教育",
        "difficulty": "easy",
        "profile_gt": PROFILE,
        "blueprint": {"forbidden_list": ["保本保收益", "稳赚不赔"]},
        "raw_turns": [{"role": role, "text": text} for role, text in raw],
        "turns": turns,
        **parts,
    }


def write(folder: Path, *dialogs: dict[str, Any], name: str = "dialog_trace.jsonl") -> Path:
    return write_lines(folder / name, dialogs)
