"""What a reader of dialogue measures must know before believing a number.

Replies that are none, and a truth that never varies.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pandas as pd

from ...core.check import Check, share_check
from ...core.common_checks import duplicate_texts
from ...core.language import say

if TYPE_CHECKING:
    from ...report.run import Run

# more than this share matters: the interval of a rate over 300 turns is about 0.05 wide to either side
MANY = 0.05

# from this share on a number says more of the echo than of the rest
MOST = 0.5

# how the names of the metrics begin that are read from what the system replied
FROM_REPLIES = ("m1_contradiction", "m3_", "m4_", "m5_")


def checks(result: Run) -> Iterator[Check]:
    """The checks of a run; those of replies are over the turns that were answered."""
    units = result.data
    turns = units[units["turn_pair_id"].notna()]
    by_dialog = turns.groupby("dialog_id", sort=False)
    user_texts = by_dialog["user_text"].agg("\n".join).reset_index()
    yield from duplicate_texts(user_texts, "user_text", "dialog_id")
    of = len(turns)
    if any(entry.role == "run_manifest" for entry in result.manifest.inputs):  # D44
        text = (
            "the run_manifest.json beside the trace says that memory keys were ignored: context "
            "continuity is not measured"
        )
        yield Check("memory-ignored", "info", say(text), of, of)
    answered = turns[turns["turn_status"] == "ok"]
    n = of - len(answered)
    if n:
        text = (
            "{n} of {of} turns have no answer, as they timed out or failed: they take no part in the "
            "metrics of turns, which may look better for it"
        )
        yield share_check("unanswered-turns", "warning", text, n, of)
    yield from check_replies(result, answered)
    yield from one_class_truth(answered)


def check_replies(result: Run, answered: pd.DataFrame) -> Iterator[Check]:
    """Replies that are the user's own text, that are empty, and that stand on many turns."""
    replies = answered["reply"].map(_with_single_spaces)
    is_empty = replies == ""
    is_echo = ~is_empty & (replies == answered["user_text"].map(_with_single_spaces))
    is_repeated = ~is_empty & replies.duplicated(keep=False)
    for code, text, is_so in (
        (
            "echo-replies",
            "{n} of {of} replies are the user's own text: on these turns, metrics of replies describe the user",
            is_echo,
        ),
        (
            "empty-replies",
            "{n} of {of} turns count as answered but have an empty reply",
            is_empty,
        ),
        (
            "duplicate-replies",
            "{n} of {of} turns have a reply that stands on other turns too",
            is_repeated,
        ),
    ):
        n, of = int(is_so.sum()), len(replies)
        if code == "echo-replies" and n > MANY * of and n >= MOST * of:
            yield share_check(code, "blocking", text, n, of, _metrics_of_replies(result))
        elif n > MANY * of:
            yield share_check(code, "warning", text, n, of)


def _with_single_spaces(text: str) -> str:
    return " ".join(text.split())


def _metrics_of_replies(result: Run) -> tuple[str, ...]:
    """The metrics that are read from replies.

    Those of the profile (M2) too, where replies have filled in most of its fields.
    """
    fields = [field for fields in result.data["profile"].dropna() for field in json.loads(fields)]
    origins = Counter(field["origin"] for field in fields)
    n_from_replies = origins["replies"] + origins["both"]
    begins: tuple[str, ...] = FROM_REPLIES
    if n_from_replies and n_from_replies >= MOST * (len(fields) - origins["none"]):
        begins += ("m2_",)
    metrics = [metric for metric in result.metrics if metric.group != "Run"]
    return tuple(metric.name for metric in metrics if metric.name.startswith(begins))


def one_class_truth(answered: pd.DataFrame) -> Iterator[Check]:
    """M4 where every true label is the same, so that the label need not be read to be right."""
    n = len(answered)
    labels = answered["gt_compliance_label"].unique()
    if n < 2 or len(labels) > 1:
        return
    text = (
        "the true compliance label counts as “{label}” on all {n} answered turns: giving "
        "always that one would score 1.000 on compliance accuracy, this run has {value}"
    )
    value = f"{answered['m4_correct'].mean():.3f}"
    message = say(text, label=str(labels[0]), n=f"{n:,}", value=value)
    yield Check("one-class-truth", "warning", message, n, n)
