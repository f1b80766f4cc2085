"""What a reader of dialogue measures must know before believing a number.

Replies that are none, and a truth that never varies.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pandas as pd

from ...core.check import Check, Level
from ...core.common_checks import duplicate_texts
from ...core.language import say

if TYPE_CHECKING:
    from ...report.run import Run

UNANSWERED = (
    "{n} of {of} turns have no answer, as they timed out or failed: they take no part in the metrics of turns, which "
    "may look better for it"
)
IGNORED = "the run_manifest.json beside the trace says that memory keys were ignored: context continuity is not measured"
ECHO = "{n} of {of} replies are the user's own text: on these turns, metrics of replies describe the user"
EMPTY = "{n} of {of} turns count as answered but have an empty reply"
REPEATED = "{n} of {of} turns have a reply that stands on other turns too"
ONE_CLASS = (
    "the true compliance label counts as “{label}” on all {n} answered turns: giving "
    "always that one would score 1.000 on compliance accuracy, this run has {value}"
)

MANY = 0.05
"""More than this share matters: the interval of a rate over 300 turns is about 0.05 wide to
either side."""

MOST = 0.5
"""From this share on a number says more of the echo than of the rest."""

FROM_REPLIES = ("m1_contradiction", "m3_", "m4_", "m5_")
"""How the names of the metrics begin that are read from what the system replied."""


def checks(result: Run) -> Iterator[Check]:
    """The checks of a run; those of replies are over the turns that were answered."""
    units = result.data
    turns = units[units["turn_pair_id"].notna()]
    by_dialog = turns.groupby("dialog_id", sort=False)
    user_texts = by_dialog["user_text"].agg("\n".join).reset_index()
    yield from duplicate_texts(user_texts, "user_text", "dialog_id")
    yield from memory_ignored(result, len(turns))
    yield from unanswered_turns(turns)
    answered = turns[turns["turn_status"] == "ok"]
    if answered.empty:
        return
    yield from check_replies(result, answered)
    yield from one_class_truth(answered)


def memory_ignored(result: Run, n: int) -> Iterator[Check]:
    """The run_manifest.json beside the trace says that there was no memory to score (D44)."""
    if any(entry.role == "run_manifest" for entry in result.manifest.inputs):
        yield Check("memory-ignored", "info", say(IGNORED), n, n)


def unanswered_turns(turns: pd.DataFrame) -> Iterator[Check]:
    """Turns that timed out or failed: what they would have scored is not known."""
    n, of = int((turns["turn_status"] != "ok").sum()), len(turns)
    if n:
        message = say(UNANSWERED, n=f"{n:,}", of=f"{of:,}")
        yield Check("unanswered-turns", "warning", message, n, of)


def check_replies(
    result: Run,
    answered: pd.DataFrame,
) -> Iterator[Check]:
    """Replies that are the user's own text, that are empty, and that stand on many turns."""
    replies = _with_single_spaces(answered["reply"])
    is_empty = replies == ""
    is_echo = ~is_empty & (replies == _with_single_spaces(answered["user_text"]))
    is_repeated = ~is_empty & replies.duplicated(keep=False)
    total = len(replies)
    for code, template, is_so in (
        ("echo-replies", ECHO, is_echo),
        ("empty-replies", EMPTY, is_empty),
        ("duplicate-replies", REPEATED, is_repeated),
    ):
        n = int(is_so.sum())
        if n <= MANY * total:
            continue
        level: Level = "warning"
        blocks: tuple[str, ...] = ()
        if code == "echo-replies" and n >= MOST * total:
            level = "blocking"
            blocks = _metrics_of_replies(result)
        message = say(template, n=f"{n:,}", of=f"{total:,}")
        yield Check(code, level, message, n, total, blocks)


def _with_single_spaces(texts: pd.Series) -> pd.Series:
    """Every run of white space one blank, none at the ends."""
    return texts.fillna("").astype(str).map(lambda text: " ".join(text.split()))


def _metrics_of_replies(result: Run) -> tuple[str, ...]:
    """The metrics that are read from replies.

    Those of the profile (M2) too, where replies have filled in most of its fields.
    """
    n_known = 0
    n_from_replies = 0
    for fields in result.data["profile"].dropna():
        for field in json.loads(fields) or ():
            n_known += field["origin"] != "none"
            n_from_replies += field["origin"] in ("replies", "both")
    begins: tuple[str, ...] = FROM_REPLIES
    if n_from_replies and n_from_replies >= MOST * n_known:
        begins = (*FROM_REPLIES, "m2_")
    names = []
    for metric in result.metrics:
        if metric.name.startswith(begins) and metric.group != "Run":
            names.append(metric.name)
    return tuple(names)


def one_class_truth(answered: pd.DataFrame) -> Iterator[Check]:
    """M4 where every true label is the same, so that the label need not be read to be right."""
    n = len(answered)
    labels = answered["gt_compliance_label"].unique()
    if n < 2 or len(labels) > 1:
        return
    value = f"{answered['m4_correct'].mean():.3f}"
    message = say(ONE_CLASS, label=str(labels[0]), n=f"{n:,}", value=value)
    yield Check("one-class-truth", "warning", message, n, n)
