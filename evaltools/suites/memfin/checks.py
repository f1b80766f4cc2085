"""What a reader of dialogue measures must know before believing a number.

Replies that are none, and a truth that never varies.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pandas as pd

from ...core.check import AnyCheck, CheckKind, Level
from ...core.common_checks import DUPLICATE_TEXTS, duplicate_texts

if TYPE_CHECKING:
    from ...report.run import Run

ANSWERED = "Where turns were answered."

UNANSWERED_TURNS = CheckKind(
    code="unanswered-turns",
    title="turns that timed out or failed",
    applies="Where dialogues have turns.",
    advice="They take no part in M1, M3, M4 and M5, and may be the harder ones: a system that fails on these looks"
    " better. Ask for them again, and compare only systems that answered the same turns.",
)

ECHO_REPLIES = CheckKind(
    code="echo-replies",
    title="replies that are the user's own text",
    applies=ANSWERED,
    blocks="From half of the turns on the metrics that are read from replies; those of the profile too where replies"
    " filled in most of its fields.",
    advice="The system answers with what it was told: such turns measure the user. Mend how the trace is written, or"
    " the system.",
)

EMPTY_REPLIES = CheckKind(
    code="empty-replies",
    title="answered turns without a text",
    applies=ANSWERED,
    advice="Give turns that failed the status `timeout` or `error`: they then count as failed, not as answered.",
)

DUPLICATE_REPLIES = CheckKind(
    code="duplicate-replies",
    title="one reply on many turns",
    applies=ANSWERED,
    advice="Look at the commonest replies: a stock answer is compliant, and says nothing.",
)

ONE_CLASS_TRUTH = CheckKind(
    code="one-class-truth",
    title="a true compliance label that never varies",
    applies="Where two turns or more were answered.",
    advice="Read the rates of violations instead of compliance accuracy, or add turns of the other classes.",
)

KINDS = (
    DUPLICATE_TEXTS,
    UNANSWERED_TURNS,
    ECHO_REPLIES,
    EMPTY_REPLIES,
    DUPLICATE_REPLIES,
    ONE_CLASS_TRUTH,
)

UNANSWERED = (
    "{n} of {of} turns have no answer, as they timed out or failed: they take no part in the metrics of turns, which "
    "may look better for it"
)
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


def checks(result: Run) -> Iterator[AnyCheck]:
    """The checks of a run; those of replies are over the turns that were answered."""
    units = result.data
    turns = units[units["turn_pair_id"].notna()]
    by_dialog = turns.groupby("dialog_id", sort=False)
    user_texts = by_dialog["user_text"].agg("\n".join).reset_index()
    yield from duplicate_texts(user_texts, "user_text", "dialog_id")
    yield from unanswered_turns(turns)
    answered = turns[turns["turn_status"] == "ok"]
    if answered.empty:
        for kind in (ECHO_REPLIES, EMPTY_REPLIES, DUPLICATE_REPLIES, ONE_CLASS_TRUTH):
            yield kind.not_applicable("no turn was answered")
        return
    yield from check_replies(result, answered)
    yield from one_class_truth(answered)


def unanswered_turns(turns: pd.DataFrame) -> Iterator[AnyCheck]:
    """Turns that timed out or failed: what they would have scored is not known."""
    if turns.empty:
        yield UNANSWERED_TURNS.not_applicable("the dialogues have no turns")
        return
    n = int((turns["turn_status"] != "ok").sum())
    if n:
        yield UNANSWERED_TURNS.failed("warning", UNANSWERED, n=n, of=len(turns))


def check_replies(
    result: Run,
    answered: pd.DataFrame,
) -> Iterator[AnyCheck]:
    """Replies that are the user's own text, that are empty, and that stand on many turns."""
    replies = _with_single_spaces(answered["reply"])
    is_empty = replies == ""
    is_echo = ~is_empty & (replies == _with_single_spaces(answered["user_text"]))
    is_repeated = ~is_empty & replies.duplicated(keep=False)
    total = len(replies)
    for kind, template, is_so in (
        (ECHO_REPLIES, ECHO, is_echo),
        (EMPTY_REPLIES, EMPTY, is_empty),
        (DUPLICATE_REPLIES, REPEATED, is_repeated),
    ):
        n = int(is_so.sum())
        if n <= MANY * total:
            continue
        level: Level = "warning"
        blocks: tuple[str, ...] = ()
        if kind is ECHO_REPLIES and n >= MOST * total:
            level = "blocking"
            blocks = _metrics_of_replies(result)
        yield kind.failed(level, template, {}, n, total, blocks=blocks)


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


def one_class_truth(answered: pd.DataFrame) -> Iterator[AnyCheck]:
    """M4 where every true label is the same, so that the label need not be read to be right."""
    n = len(answered)
    labels = answered["gt_compliance_label"].unique()
    if n < 2:
        yield ONE_CLASS_TRUTH.not_applicable("a single turn was answered")
        return
    if len(labels) > 1:
        return
    values = {"label": str(labels[0]), "value": f"{answered['m4_correct'].mean():.3f}"}
    yield ONE_CLASS_TRUTH.failed("warning", ONE_CLASS, values, n, n)
