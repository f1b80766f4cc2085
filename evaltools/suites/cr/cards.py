"""How samples of Conflict Review are browsed: groups of them, and a card a sample with its tuples marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...core.language import listed, say
from ...report.samples import Line, Place, Row, SampleView
from .tuples import KEY_NAMES, KEYS, EvalTuple, Key, MatchPolicy, Side, match_pairs, pairs

if TYPE_CHECKING:
    from ...report.run import Run
    from ...report.study import Study

GROUPS = {
    "broken": ("outcome_{key} == 'break'", "Broken: right before review, wrong after"),
    "fixed": ("outcome_{key} == 'fix'", "Fixed: wrong before review, right after"),
    "still": ("outcome_{key} == 'still'", "Still wrong: before review and after"),
    "wrong": ("not protocol & f1_s2_{key} < 1", "Wrong: not the tuples of the gold"),
    "degraded": ("degraded_{key}", "Degraded: changed, and F1 fell"),
    "conflict": (
        "conflict_raw | conflict_raw_refpol",
        "Conflict: one aspect carries two polarities",
    ),
    "implicit-invalid": ("implicit_invalid", "Implicit gold without a valid prediction"),
    "out-of-text": ("final_out_of_text", "Final term that is not in the text"),
    "dropped-out-of-text": (
        "drop_out_of_text & not final_out_of_text",
        "Dropped term that was not in the text",
    ),
}
"""Name of a group -> the query on the units that makes it under a key, and its caption."""

LEGEND = "✓ matched, − missing, ✗ wrong against the gold by {key}; all else may differ"

OUTCOMES = {
    "break": ("broken", "bad"),
    "still": ("still wrong", "bad"),
    "fix": ("fixed", "good"),
    "keep": ("right", "good"),
}
"""What became of a sample -> the word for it, and its mark."""


def sample_view(shown: Run | Study) -> SampleView:
    """How samples are browsed, their tuples marked under the key of the headline."""
    key = leading_key(shown)
    groups = {name: (query.format(key=key), caption) for name, (query, caption) in GROUPS.items()}
    return SampleView(
        groups=lambda run: groups,
        order=partial(in_order, key=key),
        card=partial(card, key=key, policy=shown.options.match_policy),
        id="text_id",
        texts={"text": ""},
        head="Aspect · term",
        columns={"gold": "Gold", "stage1": "Before review", "final": "After review"},
        fields={"review": ""},
        legend=say(LEGEND, key=say(KEY_NAMES[key])),
        cell="final",
        given=("gold",),
    )


def leading_key(shown: Run | Study) -> Key:
    """The key that a page speaks of: that of its primary metric, which is the protocol's unless it is blocked."""
    for name in (shown.primary, *shown.headline):
        for key in KEYS:
            if name.endswith(key):
                return key
    return "refpol"


def finding(run: Run) -> tuple[str, str] | None:
    """Whether review helped, with what it fixed and broke; None where no review was scored."""
    key = leading_key(run)
    names = [f"{name}_{key}" for name in ("delta_f1", "fix_rate", "break_rate")]
    delta, fixed, broken = (run[name] for name in names)
    if run.blocked.intersection(names) or pd.isna([delta["value"], fixed["value"]]).any():
        return None
    text = "Review is not shown to help or harm"
    if delta["ci_low"] > 0:
        text = "Review helps"
    elif delta["ci_high"] < 0:
        text = "Review harms"
    lead = say(
        "{finding}: fixed {fixed:.0f} of {of_fixed:.0f}, broke {broken:.0f} of {of_broken:.0f}",
        finding=say(text),
        fixed=fixed["numerator"],
        of_fixed=fixed["denominator"],
        broken=broken["numerator"],
        of_broken=broken["denominator"],
    )
    return lead, ""


def in_order(
    run: Run,
    units: pd.DataFrame,
    *,
    key: Key,
) -> pd.DataFrame:
    """The samples, the worst change under a key first."""
    gain = units[f"f1_s2_{key}"] - units[f"f1_s1_{key}"].fillna(0)
    return units.assign(gain=gain).sort_values(["gain", "text_id"], kind="stable")


def card(
    sample: Mapping[Any, Any],
    *,
    key: Key,
    policy: MatchPolicy,
) -> dict[str, Any]:
    """The card of a sample: tags, rows, places, review. The rows are marked under a key and a match policy."""
    columns = {name: sample[name] for name in ("gold", "stage1", "final")}
    rows = card_rows(columns, key, policy)
    return {
        "tags": _tags(sample, key),
        "rows": rows,
        "places": _places(sample["text"], rows),
        "review": _review(sample),
    }


def card_rows(
    columns: Mapping[str, Sequence[EvalTuple]],
    key: Key,
    policy: MatchPolicy,
) -> list[Row]:
    """The rows of a card, from the tuples of the gold and of each stage.

    A row holds the tuples that are alike in what the key compares besides polarity. Each is matched or wrong, and a
    pair of the gold that a stage lacks is missing there; without gold nothing is right or wrong. What the final
    result makes of a row marks its term in the text.
    """
    gold = Side(columns["gold"], policy).pairs[key]
    groups: dict[str, tuple[EvalTuple, dict[str, list[Line]]]] = {}
    for column, tuples in columns.items():
        match = match_pairs(gold, Side(tuples, policy).pairs[key])
        for named in tuples:
            # a tuple that takes no part stands where nothing is compared
            pair = pairs(named, policy)[key]
            first, cells = groups.setdefault(pair[0] if pair else "", (named, {}))
            mark = "bad" if pair in match.spurious else "good"
            if column == "gold" or not gold or not pair:
                mark = ""
            other = " · ".join(filter(None, named[:2])) if named[:2] != first[:2] else ""
            cells.setdefault(column, []).append(Line(named.polarity, mark, other))
        for text, polarity, *_ in match.missing:
            groups[text][1].setdefault(column, []).append(Line(polarity, "missing"))
    rows = []
    for first, cells in groups.values():
        marks = {line.mark for line in cells.get("final", ())}
        mark = "bad" if marks & {"bad", "missing"} else "good" if marks == {"good"} else ""
        label = first.ref or say("(no ref)")
        if not first.term:
            label = f"{label} · {say('implicit')}"
        rows.append(Row(label, cells, first.term, mark))
    return rows


def _tags(sample: Mapping[Any, Any], key: Key) -> list[Line]:
    """What became of a sample, and its F1 before and after review."""
    before, after = sample[f"f1_s1_{key}"], sample[f"f1_s2_{key}"]
    if pd.isna(after):
        return [Line(say("not measured" if sample["gold"] else "no gold"))]
    unreviewed = ("right", "good") if after == 1 else ("wrong", "bad")
    word, mark = OUTCOMES.get(sample[f"outcome_{key}"], unreviewed)
    change = f"{after:.2f}" if pd.isna(before) else f"{before:.2f} → {after:.2f}"
    return [Line(say(word), mark), Line(f"F1 {change}")]


def _places(text: str, rows: Sequence[Row]) -> list[Place]:
    """Where the terms of the rows stand in the text, the wrong ones first."""
    places: list[Place] = []
    for row in sorted(rows, key=lambda row: row.mark != "bad"):
        start = text.find(row.part)
        if row.mark and row.part and start >= 0:
            places.append(Place("text", start, start + len(row.part), row.mark))
    return places


def _review(sample: Mapping[Any, Any]) -> str:
    """Who did what in review, in words: "A, B flip (polarity mismatch) · arbiter keep"."""
    acts = [(action.actor or "?", action) for action in sample["reviews"]]
    acts += [(say("arbiter"), action) for action in sample["arbiter"]]
    actors: dict[str, list[str]] = {}
    for actor, action in acts:
        text = say((action.action_type or "?").lower())
        if action.reason_code:
            text += f" ({say(action.reason_code.replace('_', ' ').lower())})"
        actors.setdefault(text, []).append(actor)
    acted = [f"{listed(dict.fromkeys(names))} {text}" for text, names in actors.items()]
    return say("Review: {actions}.", actions=" · ".join(acted)) if acted else ""
