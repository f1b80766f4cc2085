"""Turns as cards: what was asked and answered, what was required, and what falls short of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from ...core.estimates import is_null
from ...core.language import listed, say
from ...report.samples import Layout, Line, Place, Row, SampleView
from .measures import MEASURES

if TYPE_CHECKING:
    from ...report.run import Run

CARD = ("turn", "dialog_id", "user_text", "reply", "tags", "rows", "places", "context")

# what before a forbidden word says that it is denied, up to the word itself
DENIAL = re.compile(r"(?:不|没有|无法|并非|绝非|禁止|避免|切勿)[^，。！？；,.!?;]{0,6}$")

SENTENCE = re.compile(r"[^。！？!?\n]*(?:[。！？!?\n]+|$)")

TITLES = {measure.key: measure.title for measure in MEASURES}


class Outcome(NamedTuple):
    """What a measure required of a turn, what the turn made of it, and what it falls short of."""

    measure: str
    required: str
    found: str
    reasons: list[str]


def groups(result: Run) -> dict[str, tuple[str, str]]:
    """The turns that fall short: name -> (query on the units, caption).

    Of any measure, and of each.
    """
    of_measures = {}
    for measure in MEASURES:
        if measure.failing:
            caption = f"{measure.key} {say(measure.title)}: {say('Turns that fall short')}"
            of_measures[measure.key.lower()] = (measure.failing, caption)
    any_of_them = " or ".join(query for query, _ in of_measures.values())
    return {"failing": (any_of_them, "Turns that fall short"), **of_measures}


def card_ids(
    result: Run,
    units: pd.DataFrame,
) -> pd.Series:
    """Dialogue and turn of each turn, most reasons to be wrong first, then in the order of the trace."""
    turns = units[units["turn_pair_id"].notna()]
    n_reasons = []
    for turn in turns.to_dict("records"):
        reasons = [reason for outcome in outcomes(turn) for reason in outcome.reasons]
        n_reasons.append(len(reasons))
    counts = pd.Series(n_reasons, index=turns.index, dtype=int)
    ordered = counts.sort_values(ascending=False, kind="stable")
    return _names(turns.loc[ordered.index])


def _names(turns: pd.DataFrame) -> pd.Series:
    """Dialogue and turn."""
    return turns["dialog_id"] + " / " + turns["turn_pair_id"].astype(str)


def cards(
    result: Run,
    units: pd.DataFrame,
) -> pd.DataFrame:
    """Turns with their scores.

    Columns: turn (dialogue and turn), dialog_id, user_text, reply, tags, rows (one a measure: what was
    required, the turn's score and what it falls short of), places (forbidden words of the reply) and context. The index
    is that of the units.
    """
    shown = []
    for turn in units.to_dict("records"):
        of_turn = list(outcomes(turn))
        card = {
            **turn,
            "tags": _tags(turn, of_turn),
            "rows": [_row(outcome) for outcome in of_turn],
            "places": _places(turn),
        }
        shown.append(card)
    frame = pd.DataFrame(shown, index=units.index).assign(turn=_names(units))
    return frame.reindex(columns=CARD)


def _tags(
    turn: Mapping[Any, Any],
    of_turn: list[Outcome],
) -> list[Line]:
    """The measures of which a turn falls short, and of what kind it is."""
    tags = []
    short_of = [outcome.measure for outcome in of_turn if outcome.reasons]
    if short_of:
        text = say("fails {measures}", measures=" ".join(short_of))
        tags.append(Line(text, "bad"))
    for name in ("scenario_type", "difficulty"):
        if not is_null(turn[name]):
            tags.append(Line(str(turn[name])))
    return tags


def _places(turn: Mapping[Any, Any]) -> list[Place]:
    """Where the forbidden words stand in the reply; one that the reply denies is to be looked at."""
    places: list[Place] = []
    for word, start, denial in forbidden_words(turn):
        tip = say("denied: {words}", words=denial) if denial else say("forbidden {what}", what=word)
        end = start + len(word)
        places.append(("reply", start, end, "look" if denial else "bad", 0, tip))
    return places


def forbidden_words(turn: Mapping[Any, Any]) -> Iterator[tuple[str, int, str]]:
    """Each forbidden word of a reply with its place, and the words that deny it ("" for none), as in 不承诺保本."""
    reply = turn["reply"] or ""
    for word in turn["forbidden_hits"]:
        for found in re.finditer(re.escape(word), reply):
            denial = DENIAL.search(reply[: found.start()])
            yield word, found.start(), denial[0] + word if denial else ""


def sentence_at(text: str, start: int) -> str:
    """The sentence of a text in which this place stands, without white space around it.

    >>> sentence_at("您好。本产品不承诺保本！谢谢", 7)
    '本产品不承诺保本！'
    """
    for sentence in SENTENCE.finditer(text):
        if start < sentence.end():
            return sentence[0].strip()
    return text


def _row(outcome: Outcome) -> Row:
    """A row of a card: what was required, the score, and what is wrong."""
    mark = "bad" if outcome.reasons else "good"
    title = say(TITLES[outcome.measure])
    lines = {
        "required": [Line(outcome.required)],
        "found": [Line(outcome.found, mark, listed(outcome.reasons, "; "))],
    }
    return Row(f"{outcome.measure} {title}", lines, mark=mark)


def outcomes(turn: Mapping[Any, Any]) -> Iterator[Outcome]:
    """What came of a turn under each measure that it takes part in; nothing for one without a reply."""
    if turn["eligible_m1"]:
        keys = [key["target_text"] or key["key"] for key in turn["resolved_keys"]]
        found = _of(turn["m1_hits"], turn["m1_keys"])
        yield Outcome("M1", listed(keys), found, _memory_reasons(turn))
    if turn["eligible_m3"]:
        tags = map(say, turn["risk_required_tags"])
        found = _of(turn["m3_hits"], turn["m3_tags"])
        missed = [say("{tag} is not disclosed", tag=say(tag)) for tag in turn["missed_tags"]]
        yield Outcome("M3", listed(tags), found, missed)
    if turn["eligible_m4"]:
        truth = say(turn["gt_compliance_label"])
        predicted = say(turn["pred_compliance_label"])
        denials = [denial != "" for *_, denial in forbidden_words(turn)]
        if any(denials):
            of_hits = say("denied: {n} of {of} forbidden words", n=sum(denials), of=len(denials))
            predicted = f"{predicted} ({of_hits})"
        yield Outcome("M4", truth, predicted, _compliance_reasons(turn))
    if turn["eligible_m5"]:
        elements = turn["rubric_required"]
        found = _of(turn["m5_hits"], turn["m5_elements"])
        missed = [say("{element} is missing", element=name) for name in turn["missed_elements"]]
        yield Outcome("M5", listed(elements), found, missed)


def _of(
    n: float,
    total: float,
) -> str:
    return say("{n:.0f} of {total:.0f}", n=n, total=total)


def _memory_reasons(turn: Mapping[Any, Any]) -> list[str]:
    reasons = []
    for key, flag in zip(turn["resolved_keys"], turn["key_hit_flags"]):
        if flag == 0:
            what = key["target_text"] or key["key"]
            reasons.append(say("not remembered: {what}", what=what))
    for constraint in turn["contradicted_constraints"]:
        reasons.append(say("the reply goes against {constraint}", constraint=constraint))
    return reasons


def _compliance_reasons(turn: Mapping[Any, Any]) -> list[str]:
    """Why a label is wrong, or a violation severe: what is forbidden in the reply, and each violation."""
    label = turn["pred_compliance_label"]
    truth = turn["gt_compliance_label"]
    if label == truth and label != "severe_violation":
        return []
    reasons = [say("truth {truth}", truth=say(truth))]
    hits = list(forbidden_words(turn))
    for word in turn["forbidden_hits"]:
        # a word that stands in several places is told by the first that is not denied
        places = [(denial != "", start, denial) for found, start, denial in hits if found == word]
        _, start, denial = min(places)
        reason = say("forbidden {what}", what=word) + f": “{sentence_at(turn['reply'], start)}”"
        if denial:
            reason += f" ({say('denied: {words}', words=denial)})"
        reasons.append(reason)
    for violation in turn["violations"]:
        reasons.append(f"{violation['type']} ({say(violation['severity'])})")
    return reasons


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
    """How turns are browsed."""
    return VIEW
