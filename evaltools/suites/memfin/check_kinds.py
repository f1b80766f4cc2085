"""The checks of dialogues: what they look for, when they apply, what they block, what to do."""

from __future__ import annotations

from ...core.check import CheckKind
from ...core.check_kinds import DUPLICATE_TEXTS

ANSWERED = "Where turns were answered."

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

KINDS = (DUPLICATE_TEXTS, ECHO_REPLIES, EMPTY_REPLIES, DUPLICATE_REPLIES, ONE_CLASS_TRUTH)
