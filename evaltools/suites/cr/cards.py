"""How samples of Conflict Review are browsed: groups of them, and a card a sample with its tuples marked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...core.language import Message, say
from ...report.view import SampleView
from .matching import Mark, marks
from .tuples import KEYS, EvalTuple, Key
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

LEGEND = "✓ matched, − missing, + spurious against the gold by {key}; all else may differ"

BROWSER: Mapping[str, Any] = {
    "page": 5,
    "chips": ["change"],
    "sides": {"stage1": "before review", "final": "after review"},
    "fields": {"reviewers": "reviewers", "arbiter": "arbiter"},
}
"""How a card is laid out: the keywords of `report.samples.samples`."""


def sample_views(shown: Run | Study) -> tuple[SampleView, ...]:
    """A view for each key, that of the headline first."""
    leading = leading_key(shown)
    views = []
    for key in sorted(KEYS, key=lambda key: key != leading):
        name = KEY_NAMES[key]
        view = SampleView(
            groups=partial(sample_groups, key=key),
            cards=partial(cards, key=key),
            browser=BROWSER,
            compared=("final",),
            name=key,
            label=say(name),
            legend=say(Message(LEGEND, {"key": Message(name)})),
        )
        views.append(view)
    return tuple(views)


def leading_key(shown: Run | Study) -> Key:
    """The key that a page speaks of: that of its primary metric, which is the protocol's unless it is blocked."""
    for name in (shown.primary, *shown.headline):
        for key in KEYS:
            if name.endswith(key):
                return key
    return "refpol"


def sample_groups(run: Run, *, key: Key) -> dict[str, tuple[str, str]]:
    """Name of a group -> its query under a key, and its caption."""
    groups = {}
    for name, (query, caption) in GROUPS.items():
        groups[name] = (query.format(key=key), caption)
    return groups


def cards(run: Run, units: pd.DataFrame, *, key: Key) -> pd.DataFrame:
    """Samples, the worst change first: text_id, text, gold, stage1, final, change, reviewers, arbiter.

    The tuples carry their marks under a key and the run's match policy, those of the gold against `final`.
    """
    policy = run.options.match_policy
    rows = []
    for gold, stage1, final in zip(units["gold"], units["stage1"], units["final"]):
        marks_of_gold, marks_of_final = marks(gold, final, key, policy)
        _, marks_of_stage1 = marks(gold, stage1, key, policy)
        if not gold:
            marks_of_gold, marks_of_stage1, marks_of_final = [], [], []
        rows.append(
            (
                _marked(gold, marks_of_gold),
                _marked(stage1, marks_of_stage1),
                _marked(final, marks_of_final),
            )
        )
    shown = pd.DataFrame(rows, columns=["gold", "stage1", "final"], index=units.index)
    shown.insert(0, "text_id", units["text_id"])
    shown.insert(1, "text", units["text"])
    before, after = units[f"f1_s1_{key}"], units[f"f1_s2_{key}"]
    has_gold = units["n_gold_tuples"] > 0
    shown["change"] = [_change(*values) for values in zip(before, after, has_gold)]
    shown["reviewers"] = units["reviews"].map(_in_words)
    shown["arbiter"] = units["arbiter"].map(_in_words)
    shown["gain"] = after - before.fillna(0)
    shown = shown.sort_values(["gain", "text_id"], kind="stable", na_position="last")
    return shown.drop(columns="gain")


def _change(before: float, after: float, has_gold: bool) -> str:
    """F1 before and after review; one value for predictions that no review has seen.

    A sample whose gold has no pair under the key is not measured.
    """
    if not has_gold:
        return say("no gold")
    if pd.isna(after):
        return say("not measured")
    if pd.isna(before):
        return f"F1 {after:.2f}"
    return f"F1 {before:.2f} → {after:.2f}"


def _marked(tuples: Iterable[EvalTuple], marks_of_tuples: list[Mark]) -> list[list[str]]:
    """[ref, term, polarity, mark] of each tuple; without marks there is nothing to mark."""
    entries = []
    for index, evaluated in enumerate(tuples):
        mark = marks_of_tuples[index] if marks_of_tuples else ""
        entries.append([*evaluated, mark])
    return entries


def _in_words(actions: Iterable[Action]) -> str:
    """Review actions in words: "A: FLIP t0 (POLARITY_MISMATCH)"."""
    texts = []
    for action in actions:
        what = " ".join([action.action_type or "?", *action.target_tuple_ids])
        reason = f" ({action.reason_code})" if action.reason_code else ""
        texts.append(f"{action.actor or '?'}: {what}{reason}")
    return "; ".join(texts)
