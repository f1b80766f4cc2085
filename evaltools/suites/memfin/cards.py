"""Turns as cards: what was asked and answered, what was required, and what falls short of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from ...core.estimates import is_null
from ...core.language import listed, say
from ...report.samples import Layout, Line, Place, Row, SampleView
from .measures import MEASURES

if TYPE_CHECKING:
    from ...report.run import Run

Turn = Mapping[Any, Any]

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
    """The turns that fall short, of any measure and of each: name -> (query on the units, caption)."""
    of_measures = {}
    for measure in MEASURES:
        if measure.failing:
            caption = f"{measure.key} {say(measure.title)}: {say('Turns that fall short')}"
            of_measures[measure.key.lower()] = (measure.failing, caption)
    any_of_them = " or ".join(query for query, _ in of_measures.values())
    return {"failing": (any_of_them, "Turns that fall short"), **of_measures}


def card_ids(result: Run, units: pd.DataFrame) -> pd.Series:
    """Dialogue and turn of each turn, most reasons to be wrong first, then in the order of the trace."""
    turns = units[units["turn_pair_id"].notna()]
    n_reasons = []
    for turn in turns.to_dict("records"):
        n_reasons.append(sum(len(outcome.reasons) for outcome in outcomes(turn)))
    counts = pd.Series(n_reasons, index=turns.index, dtype=int)
    ordered = counts.sort_values(ascending=False, kind="stable")
    return _names(turns.loc[ordered.index])


def _names(turns: pd.DataFrame) -> pd.Series:
    """Dialogue and turn."""
    return turns["dialog_id"] + " / " + turns["turn_pair_id"].astype(str)


def cards(result: Run, units: pd.DataFrame) -> pd.DataFrame:
    """Turns with their scores.

    Columns: those of the units, and turn (dialogue and turn), tags, rows (one a measure: what was required, the turn's
    score and what it falls short of), places (forbidden words of the reply). The index is that of the units.
    """
    shown: dict[str, list[Any]] = {"tags": [], "rows": [], "places": []}
    for turn in units.to_dict("records"):
        of_turn = list(outcomes(turn))
        shown["tags"].append(_tags(turn, of_turn))
        shown["places"].append(_places(turn))
        rows = []
        for measure, required, found, reasons in of_turn:
            mark = "bad" if reasons else "good"
            lines = [Line(found, mark, listed(reasons, "; "))]
            label = f"{measure} {say(TITLES[measure])}"
            rows.append(Row(label, {"required": [Line(required)], "found": lines}, mark=mark))
        shown["rows"].append(rows)
    return units.assign(turn=_names(units), **shown)


def _tags(turn: Turn, of_turn: list[Outcome]) -> list[Line]:
    """The measures of which a turn falls short, and of what kind it is."""
    tags = []
    short_of = [outcome.measure for outcome in of_turn if outcome.reasons]
    if short_of:
        tags.append(Line(say("fails {measures}", measures=" ".join(short_of)), "bad"))
    for name in ("scenario_type", "difficulty"):
        if not is_null(turn[name]):
            tags.append(Line(str(turn[name])))
    return tags


def _places(turn: Turn) -> list[Place]:
    """Where the forbidden words stand in the reply; one that the reply denies is to be looked at."""
    places: list[Place] = []
    for word, start, denial in forbidden_words(turn):
        tip = say("denied: {words}", words=denial) if denial else say("forbidden {what}", what=word)
        places.append(("reply", start, start + len(word), "look" if denial else "bad", 0, tip))
    return places


def forbidden_words(turn: Turn) -> Iterator[tuple[str, int, str]]:
    """Each forbidden word of a reply with its place, and the words that deny it ("" for none), as in 不承诺保本."""
    for word in turn["forbidden_hits"] or ():
        for found in re.finditer(re.escape(word), turn["reply"]):
            denial = DENIAL.search(turn["reply"][: found.start()])
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


def outcomes(turn: Turn) -> Iterator[Outcome]:
    """What came of a turn under each measure that it takes part in; nothing for one without a reply."""
    if turn["eligible_m1"]:
        keys = [key["target_text"] or key["key"] for key in turn["resolved_keys"]]
        flags = zip(keys, turn["key_hit_flags"])
        reasons = [say("not remembered: {what}", what=key) for key, flag in flags if flag == 0]
        for constraint in turn["contradicted_constraints"]:
            reasons.append(say("the reply goes against {constraint}", constraint=constraint))
        yield _counted(
            "M1",
            keys,
            turn["m1_keys"],
            turn["m1_hits"],
            reasons,
        )
    if turn["eligible_m3"]:
        tags = map(say, turn["risk_required_tags"])
        missed = [say("{tag} is not disclosed", tag=say(tag)) for tag in turn["missed_tags"]]
        yield _counted(
            "M3",
            tags,
            turn["m3_tags"],
            turn["m3_hits"],
            missed,
        )
    if turn["eligible_m4"]:
        label = say(turn["pred_compliance_label"])
        denials = [denial != "" for *_, denial in forbidden_words(turn)]
        if any(denials):
            of_hits = say("denied: {n} of {of} forbidden words", n=sum(denials), of=len(denials))
            label = f"{label} ({of_hits})"
        yield Outcome("M4", say(turn["gt_compliance_label"]), label, _compliance_reasons(turn))
    if turn["eligible_m5"]:
        missed = [say("{element} is missing", element=name) for name in turn["missed_elements"]]
        yield _counted(
            "M5",
            turn["rubric_required"],
            turn["m5_elements"],
            turn["m5_hits"],
            missed,
        )


def _counted(
    measure: str,
    required: Iterable[str],
    total: float,
    n: float,
    reasons: list[str],
) -> Outcome:
    """The outcome under a measure that counts how many of the required things are there."""
    found = say("{n:.0f} of {total:.0f}", n=n, total=total)
    return Outcome(measure, listed(required), found, reasons)


def _compliance_reasons(turn: Turn) -> list[str]:
    """Why a label is wrong, or a violation severe: what is forbidden in the reply, and each violation."""
    label, truth = turn["pred_compliance_label"], turn["gt_compliance_label"]
    if label == truth and label != "severe_violation":
        return []
    reasons = [say("truth {truth}", truth=say(truth))]
    # a word that stands in several places is told by the first that is not denied
    hits: dict[str, tuple[int, str]] = {}
    for word, start, denial in sorted(
        forbidden_words(turn), key=lambda hit: (hit[2] != "", hit[1])
    ):
        hits.setdefault(word, (start, denial))
    for word in turn["forbidden_hits"]:
        start, denial = hits[word]
        reason = say("forbidden {what}", what=word) + f": “{sentence_at(turn['reply'], start)}”"
        if denial:
            reason += f" ({say('denied: {words}', words=denial)})"
        reasons.append(reason)
    for violation in turn["violations"]:
        reasons.append(f"{violation['type'] or '?'} ({say(violation['severity'] or '?')})")
    return reasons


VIEW = SampleView(
    groups,
    card_ids,
    cards,
    Layout(
        id="turn",
        texts={"user_text": "user", "reply": "reply"},
        head="Measure",
        columns={"required": "required", "found": "this turn"},
        fields={"context": "memory"},
    ),
    cell="found",
    given=("required",),
    compared=("reply",),
)
