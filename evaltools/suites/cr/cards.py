"""How samples of Conflict Review are browsed: groups of them, and a card a sample with its tuples marked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...core.language import listed, say
from ...report.samples import Layout, Line, Place, Row, SampleView
from ...report.text import interval, number
from .card_rows import FAULTS, card_rows
from .tuples import KEYS, Key
from .units import Action

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

KEY_NAMES: Mapping[Key, str] = {
    "refpol": "(ref, polarity)",
    "otepol": "(term, polarity)",
    "attrpol": "(attribute, polarity)",
}
"""What is compared with the gold under a key."""

LEGEND = "✓ matched, − missing, ✗ wrong against the gold by {key}; all else may differ"

OUTCOMES = {
    "break": ("broken", "bad"),
    "still": ("still wrong", "bad"),
    "fix": ("fixed", "good"),
    "keep": ("right", "good"),
}
"""What became of a sample -> the word for it, and its mark."""

LAYOUT = Layout(
    head="Aspect · term",
    columns={"gold": "Gold", "stage1": "Before review", "final": "After review"},
    fields={"review": ""},
)
"""How a card is laid out."""

REASONS = {
    "EVIDENCE_FOUND": "evidence found",
    "LITERAL_EVIDENCE": "literal evidence",
    "MAJORITY": "majority",
    "POLARITY_MISMATCH": "polarity mismatch",
    "WEAK_EVIDENCE": "weak evidence",
}
"""Reason codes in words; reviewers may write any other, which stays as it is."""

ACTIONS = {
    "KEEP": "keep",
    "DROP": "drop",
    "FLIP": "flip",
    "MERGE": "merge",
    "FLAG": "flag",
}
"""What a reviewer may do to a tuple, in words."""

CARD = ["text_id", "text", "tags", "rows", "places", "review"]

Actions = Iterable[Action]


def sample_view(shown: Run | Study) -> SampleView:
    """How samples are browsed, their tuples marked under the key of the headline."""
    key = leading_key(shown)
    legend = say(LEGEND, key=say(KEY_NAMES[key]))
    return SampleView(
        groups=partial(sample_groups, key=key),
        ids=partial(card_ids, key=key),
        cards=partial(cards, key=key),
        layout=replace(LAYOUT, legend=legend),
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
    rows = run.estimates.set_index("metric")
    names = [f"{name}_{key}" for name in ("delta_f1", "fix_rate", "break_rate", "tuple_f1_s2")]
    if any(name in run.blocked for name in names) or rows.loc[names[:2], "value"].isna().any():
        return None
    delta, fixed, broken, after = (rows.loc[name].to_dict() for name in names)
    text = "Review is not shown to help or harm"
    if delta["ci_low"] > 0:
        text = "Review helps"
    elif delta["ci_high"] < 0:
        text = "Review harms"
    counts = {}
    for word, row in (("fixed", fixed), ("broken", broken)):
        counts[word] = f"{row['numerator'] or 0:.0f}"
        counts[f"of_{word}"] = f"{row['denominator'] or 0:.0f}"
    lead = say(
        "{finding}: fixed {fixed} of {of_fixed}, broke {broken} of {of_broken}",
        finding=say(text),
        **counts,
    )
    details = say(
        "{title} {value} {bounds}; change {change} {ends}.",
        title=run.title(f"tuple_f1_s2_{key}"),
        value=number(after["value"]),
        bounds=interval(after),
        change=number(delta["value"], signed=True),
        ends=interval(delta, signed=True),
    )
    return lead, details


def sample_groups(run: Run, *, key: Key) -> dict[str, tuple[str, str]]:
    """Name of a group -> its query under a key, and its caption."""
    groups = {}
    for name, (query, caption) in GROUPS.items():
        groups[name] = (query.format(key=key), caption)
    return groups


def card_ids(
    run: Run,
    units: pd.DataFrame,
    *,
    key: Key,
) -> pd.Series:
    """The ids of samples, the worst change under a key first."""
    before, after = units[f"f1_s1_{key}"], units[f"f1_s2_{key}"]
    order = pd.DataFrame({"gain": after - before.fillna(0), "text_id": units["text_id"]})
    order = order.sort_values(["gain", "text_id"], kind="stable", na_position="last")
    return order["text_id"]


def cards(
    run: Run,
    units: pd.DataFrame,
    *,
    key: Key,
) -> pd.DataFrame:
    """Samples as cards: text_id, text, tags, rows, places, review.

    The rows are marked under a key and the run's match policy.
    """
    policy = run.options.match_policy
    columns = ["text_id", "text", "gold", "stage1", "final", "protocol", "reviews", "arbiter"]
    measured = [f"f1_s1_{key}", f"f1_s2_{key}", f"outcome_{key}"]
    shown = []
    for sample in units[[*columns, *measured]].itertuples(index=False, name=None):
        text_id, text, gold, stage1, final, is_reviewed, reviews, arbiter, *scores = sample
        stages = {"stage1": stage1, "final": final}
        rows, faults = card_rows(gold, stages, key, policy, "final")
        review = _review(reviews, arbiter) if is_reviewed else ""
        shown.append(
            {
                "text_id": text_id,
                "text": text,
                "tags": _tags(faults, *scores, has_gold=bool(gold)),
                "rows": rows,
                "places": _places(text, rows),
                "review": review,
            }
        )
    return pd.DataFrame(shown, index=units.index, columns=CARD)


def _tags(
    faults: Counter[str],
    before: float,
    after: float,
    outcome: Any,
    *,
    has_gold: bool,
) -> list[Line]:
    """What became of a sample and why, and its F1 before and after review."""
    if not has_gold:
        return [Line(say("no gold"))]
    if pd.isna(after):
        return [Line(say("not measured"))]
    word, mark = OUTCOMES.get(outcome, ("right", "good") if after == 1 else ("wrong", "bad"))
    counts = [say(FAULTS[fault], n=n) for fault, n in faults.items()]
    reason = say(word)
    if counts:
        reason = f"{reason}: {', '.join(counts)}"
    change = f"F1 {after:.2f}"
    if not pd.isna(before):
        change = f"F1 {before:.2f} → {after:.2f}"
    return [Line(reason, mark), Line(change)]


def _places(text: str, rows: Sequence[Row]) -> list[Place]:
    """Where the terms of the rows stand in the text, the wrong ones first."""
    places: list[Place] = []
    for row in sorted(rows, key=lambda row: row.mark != "bad"):
        start = text.find(row.part)
        if row.mark and row.part and start >= 0:
            places.append(("text", start, start + len(row.part), row.mark, 0, ""))
    return places


def _review(reviews: Actions, arbiter: Actions) -> str:
    """Who did what in review, in words."""
    steps = [" · ".join(_in_words(reviews, with_actor=True))]
    decision = " · ".join(_in_words(arbiter))
    if decision:
        steps.append(say("arbiter: {decision}", decision=decision))
    acted = " → ".join(filter(None, steps))
    return say("Review: {actions}.", actions=acted) if acted else say("No reviewer acted.")


def _in_words(actions: Actions, *, with_actor: bool = False) -> list[str]:
    """Review actions in words, equal ones of several reviewers as one: "A, B flip (polarity mismatch)"."""
    actors: dict[str, list[str]] = {}
    for action in actions:
        kind = action.action_type or "?"
        text = say(ACTIONS.get(kind, kind))
        code = action.reason_code
        if code:
            text += f" ({say(REASONS.get(code, code.replace('_', ' ')))})"
        actors.setdefault(text, []).append(action.actor or "?")
    if not with_actor:
        return list(actors)
    return [f"{listed(dict.fromkeys(names))} {text}" for text, names in actors.items()]
