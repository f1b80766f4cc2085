"""What a reader of dialogue measures must know before believing a number.

Replies that are none, and a truth that never varies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pandas as pd

from ...core.check import Check, duplicate_texts, share_check

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
    turns = result.data[result.data["turn_pair_id"].notna()]
    user_texts = turns.groupby("dialog_id", sort=False)["user_text"].agg("\n".join).reset_index()
    yield from duplicate_texts(user_texts, "user_text", "dialog_id")
    of = len(turns)
    if any(entry.role == "run_manifest" for entry in result.manifest.inputs):  # D44
        text = (
            "the run_manifest.json beside the trace says that memory keys were ignored: context "
            "continuity is not measured"
        )
        yield from share_check(
            "memory-ignored",
            "info",
            text,
            of,
            of,
        )
    answered = turns[turns["turn_status"] == "ok"]
    n = len(answered)
    text = (
        "{n} of {of} turns have no answer, as they timed out or failed: they take no part in the "
        "metrics of turns, which may look better for it"
    )
    yield from share_check(
        "unanswered-turns",
        "warning",
        text,
        of - n,
        of,
    )
    yield from check_replies(result, answered)
    if n > 1 and answered["gt_compliance_label"].nunique() == 1:
        text = (
            "the true compliance label is the same on all {of} answered turns: giving always that one "
            "would score 1.000 on compliance accuracy"
        )
        yield from share_check(
            "one-class-truth",
            "warning",
            text,
            n,
            n,
        )


def check_replies(result: Run, answered: pd.DataFrame) -> Iterator[Check]:
    """Replies that are the user's own text, that are empty, and that stand on many turns."""
    replies, questions = (
        answered[column].str.split().str.join(" ") for column in ("reply", "user_text")
    )
    of = len(replies)
    for code, text, is_so in (
        (
            "echo-replies",
            "{n} of {of} replies are the user's own text: on these turns, metrics of replies describe the user",
            (replies != "") & (replies == questions),
        ),
        (
            "empty-replies",
            "{n} of {of} turns count as answered but have an empty reply",
            replies == "",
        ),
        (
            "duplicate-replies",
            "{n} of {of} turns have a reply that stands on other turns too",
            (replies != "") & replies.duplicated(keep=False),
        ),
    ):
        n = is_so.sum()
        if code == "echo-replies" and n > 0 and n >= MOST * of:
            yield from share_check(
                code,
                "blocking",
                text,
                n,
                of,
                _metrics_of_replies(result),
            )
        else:
            yield from share_check(
                code,
                "warning",
                text,
                n,
                of,
                above=MANY,
            )


def _metrics_of_replies(result: Run) -> tuple[str, ...]:
    """The metrics that are read from replies: those of the profile (M2) too, where replies have filled in most of it."""
    origins = Counter(field["origin"] for of in result.units["profile"].dropna() for field in of)
    begins: tuple[str, ...] = FROM_REPLIES
    if origins["replies"] > origins["snapshot"]:
        begins += ("m2_",)
    metrics = [metric for metric in result.metrics if metric.group != "Run"]
    return tuple(metric.name for metric in metrics if metric.name.startswith(begins))
