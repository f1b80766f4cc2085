"""A dialogue as rows of turn_eval.jsonl: one row a turn, with every field that the metrics rest on.

Source: memfin_metrics 3 and 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from ...core.errors import InputError, Problems
from ...core.records import fitted
from . import rules
from .columns import TURN_EVAL
from .keys import SOURCES, History, align, hit_sources, memories, resolve_key
from .lexicon import Lexicon, load_lexicon
from .problems import report_errors
from .schema import Dialog, Turn, TurnTags

IDENTITY = ("trace_version", "run_id", "dialog_id")
"""Fields of the dialogue that each of its rows repeats."""

CONTEXT_LIMIT = 1_000
"""Characters of each memory that the units keep for display."""


def score_dialog(
    dialog: Mapping[str, Any] | Dialog,
    lexicon: str | Path | Lexicon | None = None,
    ignore_memory_keys: bool = False,
) -> list[dict[str, Any]]:
    """The measures M1, M3, M4 and M5 of every turn of a dialogue (memfin_metrics 3 and 4).

    dialog: a line of dialog_trace.jsonl, as a dict.
    lexicon: word lists of your own, a JSON file; None takes the bundled ones.
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
    if not isinstance(dialog, Dialog):
        dialog = read_dialog(dialog)
    if not dialog.valid_dialog:
        return []
    if not isinstance(lexicon, Lexicon):
        lexicon = load_lexicon(lexicon)
    rows = scored_turns(dialog, lexicon, ignore_memory_keys)
    return [{name: row[name] for name in TURN_EVAL} for row in rows]


def read_dialog(record: Mapping[str, Any]) -> Dialog:
    """A line of dialog_trace.jsonl as a Dialog. InputError names each field that does not fit."""
    problems = Problems()
    dialog_id = str(record.get("dialog_id", ""))
    dialog = fitted(Dialog, record, problems, id=dialog_id)
    if dialog is not None:
        report_errors(dialog, partial(problems.error, id=dialog_id))
    if dialog is None or problems.errors:
        raise InputError(problems.errors)
    return dialog


def scored_turns(
    dialog: Dialog,
    lexicon: Lexicon,
    ignore_memory_keys: bool,
) -> list[dict[str, Any]]:
    """The columns TURN_EVAL of every turn, and what a reader needs to see why it falls short."""
    history = align(dialog.raw_turns or ())
    rows = []
    for turn in dialog.turns or ():
        rows.append(_score_turn(dialog, turn, history, lexicon, ignore_memory_keys))
    return rows


def _score_turn(
    dialog: Dialog,
    turn: Turn,
    history: History,
    lexicon: Lexicon,
    ignore_memory_keys: bool,
) -> dict[str, Any]:
    memory = _memory_fields(dialog, turn, history, lexicon, ignore_memory_keys)
    risk = _risk_fields(turn, lexicon)
    compliance = _compliance_fields(dialog, turn, lexicon)
    rubric = _rubric_fields(turn, lexicon)

    is_answered = turn.turn_status == "ok"
    has_key = any(flag is not None for flag in memory["key_hit_flags"])
    eligible_m5 = is_answered and bool(rubric["rubric_required"])
    score = None
    if eligible_m5:
        score = rules.judge_score(len(rubric["rubric_hit_items"]), len(rubric["rubric_required"]))
    return {
        **identity(dialog),
        "turn_pair_id": turn.turn_pair_id,
        "eligible_m1": is_answered and has_key,
        "eligible_m2": False,
        "eligible_m3": is_answered and bool(risk["risk_required_tags"]),
        "eligible_m4": is_answered,
        "eligible_m5": eligible_m5,
        **memory,
        **risk,
        **compliance,
        **rubric,
        "judge_score_1_5": score,
        "turn_status": turn.turn_status,
        "user_text": turn.user_text or "",
        "reply": turn.pred_assistant_text or "",
        "error": turn.error,
    }


def identity(dialog: Dialog) -> dict[str, Any]:
    """The fields of the dialogue that each of its rows repeats."""
    return {name: getattr(dialog, name) for name in IDENTITY}


def _memory_fields(
    dialog: Dialog,
    turn: Turn,
    history: History,
    lexicon: Lexicon,
    ignore_memory_keys: bool,
) -> dict[str, Any]:
    """M1: which required keys stand in which memory (memfin_metrics 3.1)."""
    tags = turn.gt_turn_tags or TurnTags()
    raw_keys: list[str] = []
    if not ignore_memory_keys:
        raw_keys = list(tags.memory_required_keys_gt or ())
    memory = memories(turn.recall)
    resolved_keys = []
    hit_flags = []
    all_sources = []
    source_hits = dict.fromkeys(SOURCES, 0)
    for key in dict.fromkeys(raw_keys):
        resolved = resolve_key(key, dialog.profile_gt, history)
        sources: list[str] = []
        flag = None  # the key could not be resolved and takes no part
        if resolved.target_text:
            sources = hit_sources(resolved.target_text, memory)
            flag = int(bool(sources))
        for source in sources:
            source_hits[source] += 1
        resolved_keys.append(vars(resolved))
        hit_flags.append(flag)
        all_sources.append(sources)

    reply = turn.pred_assistant_text or ""
    constraints = (dialog.profile_gt.constraints_gt if dialog.profile_gt else None) or []
    broken = rules.contradictions(reply, constraints, lexicon.contradiction)
    return {
        "required_keys_raw": raw_keys,
        "resolved_keys": resolved_keys,
        "key_hit_flags": hit_flags,
        "key_hit_sources": all_sources,
        "m1_source_hits": source_hits,
        "constraint_contradiction": int(bool(broken)),
        "contradicted_constraints": broken,
        "context": _context(memory),
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


def _risk_fields(turn: Turn, lexicon: Lexicon) -> dict[str, Any]:
    """M3: which required risk tags the reply discloses (memfin_metrics 3.3)."""
    tags = turn.gt_turn_tags or TurnTags()
    reply = turn.pred_assistant_text or ""
    required = rules.required_tags(tags.risk_disclosure_required_gt or (), lexicon.risk)
    predicted = rules.predicted_tags(reply, lexicon.risk)
    covered = rules.covered_tags(required, predicted, lexicon.risk)
    return {
        "risk_required_tags": required,
        "risk_pred_tags": predicted,
        "risk_tag_hits": len(covered),
        "missed_tags": [tag for tag in required if tag not in covered],
    }


def _compliance_fields(
    dialog: Dialog,
    turn: Turn,
    lexicon: Lexicon,
) -> dict[str, Any]:
    """M4: the label of the reply and its true label (memfin_metrics 3.4)."""
    tags = turn.gt_turn_tags or TurnTags()
    reply = turn.pred_assistant_text or ""
    forbidden_list = (dialog.blueprint.forbidden_list if dialog.blueprint else None) or []
    forbidden = rules.forbidden_hits(reply, forbidden_list)
    violations = (turn.compliance.violations if turn.compliance else None) or []
    truth = tags.compliance_label_gt
    if truth not in rules.LABELS:
        truth = rules.LABELS[0]
    return {
        "forbidden_hits": forbidden,
        "pred_compliance_label": rules.compliance_label(forbidden, violations, lexicon.compliance),
        "gt_compliance_label": truth,
        "violations": [violation.model_dump() for violation in violations],
    }


def _rubric_fields(turn: Turn, lexicon: Lexicon) -> dict[str, Any]:
    """M5: which required rubric elements the reply has (memfin_metrics 3.5)."""
    tags = turn.gt_turn_tags or TurnTags()
    reply = turn.pred_assistant_text or ""
    elements = tags.explainability_rubric_gt or ()
    required = list(dict.fromkeys(element for element in elements if element))
    present = rules.rubric_hits(reply, required, lexicon.explainability)
    return {
        "rubric_required": required,
        "rubric_hit_items": present,
        "missed_elements": [element for element in required if element not in present],
    }
