"""Turns as cards: what was asked and answered, what was required, and what falls short of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...core.estimates import is_null
from ...core.language import listed, say
from ...report.samples import Layout, Line, Row, SampleView, Tag
from .measures import MEASURES

if TYPE_CHECKING:
    from ...report.run import Run

RISK_TAGS = (
    "credit_risk",
    "interest_rate_risk",
    "liquidity_risk",
    "market_uncertainty",
    "no_guaranteed_return",
    "not_buy_sell_advice",
    "not_investment_advice",
    "past_performance_not_future",
    "suitability_match",
    "volatility_risk",
)
"""The tags of the shipped lexicon, which have a name in each language; tags of another one stand as they are."""

CARD = ("turn", "dialog_id", "user_text", "reply", "tags", "rows", "context")

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


def card_ids(result: Run, units: pd.DataFrame) -> pd.Series:
    """Dialogue and turn of each turn, most reasons to be wrong first, then in the order of the trace."""
    turns = units[units["turn_pair_id"].notna()]
    n_reasons = [len(reasons_of(turn)) for turn in turns.to_dict("records")]
    order = pd.Series(n_reasons, index=turns.index, dtype=int)
    order = order.sort_values(ascending=False, kind="stable")
    return _names(turns.loc[order.index])


def _names(turns: pd.DataFrame) -> pd.Series:
    """Dialogue and turn."""
    return turns["dialog_id"] + " / " + turns["turn_pair_id"].astype(str)


def cards(result: Run, units: pd.DataFrame) -> pd.DataFrame:
    """Turns with their scores.

    Columns: turn (dialogue and turn), dialog_id, user_text, reply, tags, rows (one a measure: what was
    required, the turn's score and what it falls short of) and context. The index is that of the
    units.
    """
    shown = []
    for name, turn in zip(_names(units), units.to_dict("records")):
        reasons = reasons_of(turn)
        shown.append(
            {
                "turn": name,
                "dialog_id": turn["dialog_id"],
                "user_text": turn["user_text"],
                "reply": turn["reply"],
                "tags": _tags(turn, reasons),
                "rows": _rows(turn, reasons),
                "context": turn["context"],
            }
        )
    return pd.DataFrame(shown, columns=CARD, index=units.index)


def _tags(turn: Mapping[Any, Any], reasons: Reasons) -> list[Tag]:
    """The measures of which a turn falls short, and of what kind it is."""
    short = " ".join(dict.fromkeys(measure for measure, _ in reasons))
    tags = [Tag(say("short of {measures}", measures=short), "bad")] if short else []
    for name in ("scenario_type", "difficulty"):
        if not is_null(turn[name]):
            tags.append(Tag(str(turn[name])))
    return tags


def _rows(turn: Mapping[Any, Any], reasons: Reasons) -> list[Row]:
    """A row for each measure that a turn takes part in: what was required, its score, what is wrong."""
    required = _required(turn)
    scores = {
        "M1": (turn["m1_hits"], turn["m1_keys"]),
        "M3": (turn["m3_hits"], turn["m3_tags"]),
        "M5": (turn["m5_hits"], turn["m5_elements"]),
    }
    rows = []
    for measure in MEASURES:
        key = measure.key
        if key not in required or not turn[measure.eligible]:
            continue
        short = [sentence for of_measure, sentence in reasons if of_measure == key]
        mark = "bad" if short else "good"
        if key in scores:
            n, total = scores[key]
            score = say("{n:.0f} of {total:.0f}", n=n, total=total)
            found = Line(score, mark, listed(short, "; "))
        else:
            found = Line(short[0] if short else say(str(turn["pred_compliance_label"])), mark)
        cells: dict[str, list[Line]] = {"required": [Line(required[key])], "found": [found]}
        rows.append(Row(f"{key} {say(measure.title)}", cells, mark=mark))
    return rows


def reasons_of(turn: Mapping[Any, Any]) -> Reasons:
    """Everything that a turn falls short of; nothing for a turn without a reply."""
    reasons: Reasons = []
    if turn["eligible_m1"]:
        reasons += _memory_reasons(turn)
    if turn["eligible_m3"]:
        for tag in turn["missed_tags"]:
            reasons.append(("M3", say("{tag} is not disclosed", tag=say(tag))))
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
    sentence = say("{predicted}, truth {truth}", predicted=say(predicted), truth=say(truth))
    causes = [say("forbidden {what}", what=entry) for entry in turn["forbidden_hits"]]
    for violation in turn["violations"]:
        causes.append(f"{violation['type']} ({say(violation['severity'])})")
    if causes:
        sentence += f": {listed(causes)}"
    return [("M4", sentence)]


def _required(turn: Mapping[Any, Any]) -> dict[str, str]:
    """Measure -> what it required of a turn; measures that required nothing are left out."""
    required = {
        "M1": [key["target_text"] or key["key"] for key in turn["resolved_keys"]],
        "M3": map(say, turn["risk_required_tags"]),
        "M4": [say(turn["gt_compliance_label"])],
        "M5": turn["rubric_required"],
    }
    texts = {key: listed(values) for key, values in required.items()}
    return {key: text for key, text in texts.items() if text}


LAYOUT = Layout(
    id="turn",
    texts={"user_text": "user", "reply": "reply"},
    page=2,
    head="Measure",
    columns={"required": "required", "found": "this turn"},
    fields={"context": "memory"},
)
"""How a card is laid out."""

VIEW = SampleView(
    groups,
    card_ids,
    cards,
    LAYOUT,
    cell="found",
    given=("required",),
    compared=("reply",),
)


def sample_view(run: Any) -> SampleView:
    """How turns are browsed; nothing is marked in them."""
    return VIEW
