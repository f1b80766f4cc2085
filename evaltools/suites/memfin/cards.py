"""Turns as cards: what was asked and answered, what was required, and what falls short of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...core.language import listed, say
from ...report.samples import Layout, Line, Place, Row, SampleView
from .measures import MEASURES

if TYPE_CHECKING:
    from ...report.run import Run

Turn = Mapping[Any, Any]

# what before a forbidden word says that it is denied, up to the word itself, as in 不承诺保本
DENIAL = re.compile(r"(?:不|没有|无法|并非|绝非|禁止|避免|切勿)[^，。！？；,.!?;]{0,6}$")

ENDS = re.compile(r"[。！？!?\n]")


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
    """Dialogue and turn of each turn, those that fall short of most measures first, then in the order of the trace."""
    turns = units[units["turn_pair_id"].notna()]
    queries = [measure.failing for measure in MEASURES if measure.failing]
    n_failed = turns.assign(n_failed=sum(turns.eval(query).astype(int) for query in queries))
    return _names(n_failed.sort_values("n_failed", ascending=False, kind="stable"))


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
        forbidden = list(forbidden_words(turn))
        rows = list(_rows(turn, forbidden))
        failed = " ".join(row.label.partition(" ")[0] for row in rows if row.mark == "bad")
        tags = [Line(say("fails {measures}", measures=failed), "bad")] if failed else []
        shown["tags"].append(tags)
        shown["rows"].append(rows)
        shown["places"].append([place for place, _ in forbidden])
    return units.assign(turn=_names(units), **shown)


def forbidden_words(turn: Turn) -> Iterator[tuple[Place, str]]:
    """Where the forbidden words stand in a reply, each with its sentence; one that is denied is to be looked at (D50).

    >>> turn = {"reply": "您好。本产品不承诺保本！谢谢", "forbidden_hits": ["保本"]}
    >>> next(forbidden_words(turn))
    (('reply', 9, 11, 'look', 0, 'denied: 不承诺保本'), '本产品不承诺保本')
    """
    reply = turn["reply"]
    for word in turn["forbidden_hits"] or ():
        for found in re.finditer(re.escape(word), reply):
            start, end = found.span()
            denial = DENIAL.search(reply[:start])
            mark, tip = "bad", say("forbidden {what}", what=word)
            if denial:
                mark, tip = "look", say("denied: {words}", words=denial[0] + word)
            sentence = ENDS.split(reply[:start])[-1] + word + ENDS.split(reply[end:])[0]
            yield ("reply", start, end, mark, 0, tip), sentence.strip()


def _rows(turn: Turn, forbidden: list[tuple[Place, str]]) -> Iterator[Row]:
    """What each measure that a turn takes part in required, and what the turn falls short of."""
    resolved = zip(turn["resolved_keys"], turn["key_hit_flags"])
    keys = [(key["target_text"], is_hit) for key, is_hit in resolved if key["resolvable"]]
    tags, missed_tags = (list(map(say, turn[n])) for n in ("risk_required_tags", "missed_tags"))
    broken = turn["contradicted_constraints"]
    reasons = {
        "M1": [say("the reply goes against {constraint}", constraint=name) for name in broken],
        "M4": _compliance_reasons(turn, forbidden),
    }
    found = {"M4": (say(turn["gt_compliance_label"]), say(turn["pred_compliance_label"]))}
    for measure, required, missed in (
        (
            "M1",
            [key for key, _ in keys],
            [key for key, is_hit in keys if not is_hit],
        ),
        (
            "M3",
            tags,
            missed_tags,
        ),
        (
            "M5",
            turn["rubric_required"],
            turn["missed_elements"],
        ),
    ):
        n, total = len(required) - len(missed), len(required)
        found[measure] = listed(required), say("{n} of {total}", n=n, total=total)
        if missed:
            missing = say("missing: {what}", what=listed(missed))
            reasons[measure] = [missing, *reasons.get(measure, [])]
    for of in MEASURES:
        if of.key in found and turn[of.eligible]:
            why = reasons.get(of.key, [])
            mark = "bad" if why else "good"
            required_text, found_text = found[of.key]
            cells = {
                "required": [Line(required_text)],
                "found": [Line(found_text, mark, listed(why, "; "))],
            }
            yield Row(f"{of.key} {say(of.title)}", cells, mark=mark)


def _compliance_reasons(turn: Turn, forbidden: list[tuple[Place, str]]) -> list[str]:
    """Why a label is wrong, or a violation severe: how much is denied, what is forbidden, and each violation."""
    label, truth = turn["pred_compliance_label"], turn["gt_compliance_label"]
    if label == truth and label != "severe_violation":
        return []
    n_denied = [place[3] for place, _ in forbidden].count("look")
    text = "denied: {n} of {of} forbidden words"
    reasons = [say("truth {truth}", truth=say(truth))]
    if n_denied:
        reasons.append(say(text, n=n_denied, of=len(forbidden)))
    reasons += [f"{place[5]}: “{sentence}”" for place, sentence in forbidden]
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
