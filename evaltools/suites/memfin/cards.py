"""Turns as cards: what was asked and answered, what was required, and what falls short of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...core.language import listed, say
from ...report.samples import Line, Place, Row, SampleView
from .measures import MEASURES

if TYPE_CHECKING:
    from ...report.run import Run

Turn = Mapping[Any, Any]

# what before a forbidden word says that it is denied, up to the word itself, as in 不承诺保本
DENIAL = re.compile(r"(?:不|没有|无法|并非|绝非|禁止|避免|切勿)[^，。！？；,.!?;]{0,6}$")

# how a memory begins that was cut (`memory.CONTEXT_LIMIT`)
CUT = re.compile(r"\(\d+ characters before\)")

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


def in_order(result: Run, units: pd.DataFrame) -> pd.DataFrame:
    """The turns, those that fall short of most measures first, then in the order of the trace."""
    turns = units[units["turn_pair_id"].notna()]
    queries = [measure.failing for measure in MEASURES if measure.failing]
    n_failed = sum(turns.eval(query).astype(int) for query in queries)
    return turns.loc[n_failed.sort_values(ascending=False, kind="stable").index]


def card(turn: Turn) -> dict[str, Any]:
    """The card of a turn.

    turn (dialogue and turn), tags, rows (one a measure: what was required, the turn's score and what it falls short
    of), places (forbidden words of the reply), context.
    """
    forbidden = list(forbidden_words(turn))
    rows = list(_rows(turn, forbidden))
    failed = " ".join(row.label.partition(" ")[0] for row in rows if row.mark == "bad")
    return {
        "turn": f"{turn['dialog_id']} / {turn['turn_pair_id']}",
        "tags": [Line(say("fails {measures}", measures=failed), "bad")] if failed else [],
        "rows": rows,
        "places": [place for place, _ in forbidden],
        "context": CUT.sub(lambda cut: say(cut[0]), turn["context"]),
    }


def forbidden_words(turn: Turn) -> Iterator[tuple[Place, str]]:
    """Where the forbidden words stand in a reply, each with its sentence; one that is denied is to be looked at (D50).

    >>> turn = {"reply": "您好。本产品不承诺保本！谢谢", "forbidden_hits": ["保本"]}
    >>> place, sentence = next(forbidden_words(turn))
    >>> place.mark, place.tooltip, sentence
    ('look', 'denied: 不承诺保本', '本产品不承诺保本')
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
            yield (
                Place(
                    "reply",
                    start,
                    end,
                    mark,
                    tooltip=tip,
                ),
                sentence.strip(),
            )


def _rows(turn: Turn, forbidden: list[tuple[Place, str]]) -> Iterator[Row]:
    """What each measure that a turn takes part in required, and what the turn falls short of."""
    resolved = zip(turn["resolved_keys"], turn["key_hit_flags"])
    keys = [(key["target_text"], is_hit) for key, is_hit in resolved if key["resolvable"]]
    tags, missed_tags = (list(map(say, turn[n])) for n in ("risk_required_tags", "missed_tags"))
    found = {
        "M1": _counted([key for key, _ in keys], [key for key, is_hit in keys if not is_hit]),
        "M3": _counted(tags, missed_tags),
        "M4": (
            say(turn["gt_compliance_label"]),
            say(turn["pred_compliance_label"]),
            _compliance_reasons(turn, forbidden),
        ),
        "M5": _counted(turn["rubric_required"], turn["missed_elements"]),
    }
    for name in turn["contradicted_constraints"]:
        found["M1"][2].append(say("the reply goes against {constraint}", constraint=name))
    for of in MEASURES:
        if of.key in found and turn[of.eligible]:
            required, result, why = found[of.key]
            mark = "bad" if why else "good"
            cells = {
                "required": [Line(required)],
                "found": [Line(result, mark, listed(why, "; "))],
            }
            yield Row(f"{of.key} {say(of.title)}", cells, mark=mark)


def _counted(required: Sequence[str], missed: Sequence[str]) -> tuple[str, str, list[str]]:
    """What was required, how much of it there is, and why that falls short."""
    n, total = len(required) - len(missed), len(required)
    why = [say("missing: {what}", what=listed(missed))] if missed else []
    return listed(required), say("{n} of {total}", n=n, total=total), why


def _compliance_reasons(turn: Turn, forbidden: list[tuple[Place, str]]) -> list[str]:
    """Why a label is wrong, or a violation severe: how much is denied, what is forbidden, and each violation."""
    label, truth = turn["pred_compliance_label"], turn["gt_compliance_label"]
    if label == truth and label != "severe_violation":
        return []
    n_denied = [place.mark for place, _ in forbidden].count("look")
    text = "denied: {n} of {of} forbidden words"
    reasons = [say("truth {truth}", truth=say(truth))]
    if n_denied:
        reasons.append(say(text, n=n_denied, of=len(forbidden)))
    reasons += [f"{place.tooltip}: “{sentence}”" for place, sentence in forbidden]
    for violation in turn["violations"]:
        reasons.append(f"{violation['type'] or '?'} ({say(violation['severity'] or '?')})")
    return reasons


VIEW = SampleView(
    groups,
    in_order,
    card,
    id="turn",
    texts={"user_text": "user", "reply": "reply"},
    head="Measure",
    columns={"required": "required", "found": "this turn"},
    fields={"context": "memory"},
    cell="found",
    given=("required",),
    compared=("reply",),
)
