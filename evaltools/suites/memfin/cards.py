"""Turns as cards: what was asked and answered, what was required, and what falls short of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...core.language import say
from ...report.view import SampleView
from .measures import MEASURES

if TYPE_CHECKING:
    from ...report.run import Run

SHOWN = (
    "dialog_id",
    "turn_pair_id",
    "scenario_type",
    "difficulty",
    "user_text",
    "context",
    "reply",
)
"""Columns of the units that a card shows as they are."""

COLUMNS = ("turn", "measures", "n", "reason", "truth", *SHOWN)

Reasons = list[tuple[str, str]]
"""Measure and sentence for everything that a turn falls short of."""


def groups(result: Run) -> dict[str, tuple[str, str]]:
    """The turns that fall short: name -> (query on the units, caption).

    Of any measure, and of each.
    """
    of_measures = {}
    for measure in MEASURES:
        if measure.failing:
            caption = f"{measure.key} {measure.title.lower()}: turns that fall short"
            of_measures[measure.key.lower()] = (measure.failing, caption)
    any_of_them = " or ".join(query for query, _ in of_measures.values())
    return {"failing": (any_of_them, "Turns that fall short"), **of_measures}


def cards(result: Run, units: pd.DataFrame) -> pd.DataFrame:
    """Turns with what they fall short of, most reasons first, then in the order of the trace.

    Columns: turn (dialogue and turn), measures ("M1 M3"), n (number of reasons), reason, truth
    (what was required), and SHOWN as in the units. The index is that of the units.
    """
    turns = units[units["turn_pair_id"].notna()]
    rows = []
    for turn in turns.to_dict("records"):
        reasons = reasons_of(turn)
        measures = dict.fromkeys(measure for measure, _ in reasons)
        row = {
            "turn": f"{turn['dialog_id']} / {turn['turn_pair_id']}",
            "measures": " ".join(measures),
            "n": len(reasons),
            "reason": "\n".join(f"{measure}: {sentence}" for measure, sentence in reasons),
            "truth": _required(turn),
        }
        for name in SHOWN:
            row[name] = turn[name]
        rows.append(row)
    frame = pd.DataFrame(rows, columns=list(COLUMNS), index=turns.index)
    return frame.sort_values("n", ascending=False, kind="stable")


def reasons_of(turn: Mapping[Any, Any]) -> Reasons:
    """Everything that a turn falls short of; nothing for a turn without a reply."""
    reasons: Reasons = []
    if turn["eligible_m1"]:
        reasons += _memory_reasons(turn)
    if turn["eligible_m3"]:
        for tag in turn["missed_tags"]:
            reasons.append(("M3", say("{tag} is not disclosed", tag=tag)))
    if turn["eligible_m4"]:
        reasons += _compliance_reasons(turn)
    if turn["eligible_m5"]:
        for element in turn["missed_elements"]:
            reasons.append(("M5", say("{element} is missing", element=element)))
    return reasons


def _memory_reasons(turn: Mapping[Any, Any]) -> Reasons:
    reasons = []
    for key, flag in zip(turn["resolved_keys"], turn["key_hit_flags"]):
        if flag == 0:
            sentence = say(
                "{key} ({target}) is in no memory", key=key["key"], target=key["target_text"]
            )
            reasons.append(("M1", sentence))
    for constraint in turn["contradicted_constraints"]:
        sentence = say("the reply goes against {constraint}", constraint=constraint)
        reasons.append(("M1", sentence))
    return reasons


def _compliance_reasons(turn: Mapping[Any, Any]) -> Reasons:
    """A wrong label, and a severe violation also where the label is right; with what caused it."""
    predicted = turn["pred_compliance_label"]
    truth = turn["gt_compliance_label"]
    if predicted == truth and predicted != "severe_violation":
        return []
    sentence = say("{predicted}, truth {truth}", predicted=predicted, truth=truth)
    causes = [say("forbidden {what}", what=entry) for entry in turn["forbidden_hits"]]
    for violation in turn["violations"]:
        causes.append(f"{violation['type']} ({violation['severity']})")
    if causes:
        sentence += f": {', '.join(causes)}"
    return [("M4", sentence)]


def _required(turn: Mapping[Any, Any]) -> str:
    """What was required of a turn, a line a measure."""
    memory = [key["target_text"] or key["key"] for key in turn["resolved_keys"]]
    required = {
        "memory": memory,
        "risk": turn["risk_required_tags"],
        "label": [turn["gt_compliance_label"]],
        "rubric": turn["rubric_required"],
    }
    lines = []
    for name, values in required.items():
        if values:
            lines.append(f"{say(name)}: {'、'.join(values)}")
    return "\n".join(lines)


BROWSER: Mapping[str, Any] = {
    "id": "turn",
    "gold": None,
    "text": {"user_text": "user", "reply": "reply"},
    "page": 2,
    "chips": ["measures", "scenario_type", "difficulty"],
    "fields": {"reason": "why", "truth": "required", "context": "memory"},
}
"""How a card is laid out: the keywords of `report.samples.samples`."""

VIEW = SampleView(groups, cards, browser=BROWSER, compared=("reply", "reason"))


def sample_views(run: Any) -> tuple[SampleView, ...]:
    """The one way in which turns are browsed; nothing is marked in them."""
    return (VIEW,)
