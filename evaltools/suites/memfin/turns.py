"""A dialogue as rows of the turn table: every intermediate field that the metrics rest on.

table.toml lists the columns. A column that metrics sum is null where the turn is not eligible.

Source: memfin_metrics 3 and 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import rules
from .keys import SOURCES, History, align, hit_sources, memories, resolve_key
from .lexicon import Lexicon
from .profile import score_profile
from .schema import Dialog, Turn, TurnTags

STATUSES = ("ok", "timeout", "error")

CONTEXT_LIMIT = 1_000
"""Characters of each memory source that the turn table keeps for display."""


def dialog_rows(
    dialog: Dialog, lexicon: Lexicon, ignore_memory_keys: bool = False
) -> list[dict[str, Any]]:
    """The rows of a valid dialogue, in the order of its turns; the dialogue's own values (M2) stand in the first.

    A dialogue without turns gives one row whose `turn_pair_id` is null, so that its profile counts.
    `ignore_memory_keys` reads every turn as asking for no memory (the memory-free baseline).
    """
    history = align(dialog.raw_turns or ())
    rows = [
        turn_row(dialog, turn, history, lexicon, ignore_memory_keys) for turn in dialog.turns or ()
    ]
    rows = rows or [_identity(dialog)]
    rows[0].update(_profile_columns(dialog, lexicon))
    return rows


def turn_row(
    dialog: Dialog, turn: Turn, history: History, lexicon: Lexicon, ignore_memory_keys: bool
) -> dict[str, Any]:
    """One row of the turn table."""
    ok = turn.turn_status == "ok"
    reply = turn.pred_assistant_text or ""
    tags = turn.gt_turn_tags or TurnTags()
    constraints = (dialog.profile_gt and dialog.profile_gt.constraints_gt) or ()

    raw_keys = [] if ignore_memory_keys else list(tags.memory_required_keys_gt or ())
    keys = [resolve_key(key, dialog.profile_gt, history) for key in dict.fromkeys(raw_keys)]
    memory = memories(turn.recall)
    sources = [hit_sources(key.target_text, memory) if key.target_text else [] for key in keys]
    source_hits = {source: sum(source in s for s in sources) for source in SOURCES}
    resolvable, hits = sum(key.resolvable for key in keys), sum(map(bool, sources))
    contradicted = rules.contradictions(reply, constraints, lexicon.contradiction)

    required = rules.required_tags(tags.risk_disclosure_required_gt or (), lexicon.risk)
    predicted = rules.predicted_tags(reply, lexicon.risk)
    covered = rules.covered_tags(required, predicted, lexicon.risk)

    forbidden = rules.forbidden_hits(
        reply, (dialog.blueprint and dialog.blueprint.forbidden_list) or ()
    )
    violations = (turn.compliance and turn.compliance.violations) or []
    label = rules.compliance_label(forbidden, violations, lexicon.compliance)
    truth = (
        tags.compliance_label_gt if tags.compliance_label_gt in rules.LABELS else rules.LABELS[0]
    )

    elements = list(dict.fromkeys(e for e in tags.explainability_rubric_gt or () if e))
    hit_elements = rules.rubric_hits(reply, elements, lexicon.explainability)

    m1, m3, m5 = ok and resolvable > 0, ok and bool(required), ok and bool(elements)
    score = 1 + 4 * len(hit_elements) / len(elements) if m5 else 0
    return {
        **_identity(dialog),
        "turn_pair_id": turn.turn_pair_id,
        "eligible_m1": m1,
        "eligible_m3": m3,
        "eligible_m4": ok,
        "eligible_m5": m5,
        "required_keys_raw": raw_keys,
        "resolved_keys": [vars(key) for key in keys],
        # null: the key could not be resolved and takes no part
        "key_hit_flags": [
            int(bool(s)) if key.resolvable else None for key, s in zip(keys, sources)
        ],
        "key_hit_sources": sources,
        "m1_source_hits": source_hits,
        "constraint_contradiction": int(bool(contradicted)),
        "risk_required_tags": required,
        "risk_pred_tags": predicted,
        "risk_tag_hits": len(covered),
        "forbidden_hits": forbidden,
        "pred_compliance_label": label,
        "gt_compliance_label": truth,
        "rubric_required": elements,
        "rubric_hit_items": hit_elements,
        "judge_score_1_5": score or None,
        "turn_status": turn.turn_status,
        "user_text": turn.user_text or "",
        "context": _context(memory),
        "reply": reply,
        "error": turn.error,
        "violations": [v.model_dump() for v in violations],
        "contradicted_constraints": contradicted,
        "missed_tags": [tag for tag in required if tag not in covered],
        "missed_elements": [element for element in elements if element not in hit_elements],
        "turn": 1,
        "turn_failed": int(not ok),
        **_if(m1, m1_keys=resolvable, m1_hits=hits, m1_strict=hits == resolvable),
        **_if(m1, m1_contradiction=bool(contradicted)),
        **_if(m1, **{f"m1_{source}_hits": n for source, n in source_hits.items()}),
        **_if(
            m3, m3_tags=len(required), m3_hits=len(covered), m3_strict=len(covered) == len(required)
        ),
        **_if(
            ok,
            m4_correct=label == truth,
            m4_severe=label == rules.LABELS[2],
            m4_forbidden=bool(forbidden),
        ),
        **_if(m5, m5_elements=len(elements), m5_hits=len(hit_elements), m5_score=score),
    }


def _identity(dialog: Dialog) -> dict[str, Any]:
    names = ("trace_version", "run_id", "dialog_id", "scenario_type", "difficulty")
    return {name: getattr(dialog, name) for name in names}


def _if(eligible: bool, **columns: float) -> dict[str, float | None]:
    return {name: float(value) if eligible else None for name, value in columns.items()}


def _profile_columns(dialog: Dialog, lexicon: Lexicon) -> dict[str, Any]:
    """The M2 columns of a dialogue: `m2_dialog` is 0 and the scores are null where there is no truth."""
    if dialog.profile_gt is None or not dialog.profile_gt.available:
        return {"m2_dialog": 0.0}
    turns = dialog.turns or ()
    snapshot = next(
        (t.profile_snapshot for t in reversed(turns) if t.profile_snapshot is not None), None
    )
    replies = "\n".join(t.pred_assistant_text for t in turns if t.pred_assistant_text)
    fields = score_profile(dialog.profile_gt, snapshot, replies, lexicon.profile)
    scores = {f"m2_{f.metric}": f.score for f in fields}
    profile_score = sum(scores.values()) / len(scores)
    return {
        "m2_dialog": 1.0,
        **scores,
        "m2_profile_score": profile_score,
        "profile": [vars(f) for f in fields],
    }


def _context(memory: Mapping[str, str]) -> str:
    """What the system remembered, one part a source, each cut to its end and saying so."""
    return "\n\n".join(f"[{source}] {_last(text)}" for source, text in memory.items() if text)


def _last(text: str) -> str:
    left_out = len(text) - CONTEXT_LIMIT
    return text if left_out <= 0 else f"({left_out} characters before) … {text[-CONTEXT_LIMIT:]}"
