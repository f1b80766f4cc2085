"""What is wrong with a dialogue, and what it lacks but can be scored without."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...core.language import Message
from .keys import align
from .rules import LABELS
from .schema import Dialog, Turn

STATUSES = ("ok", "timeout", "error")
"""What `turn_status` may be."""

FAILED = ("error", "failed", "timeout")
DIALOG_STATUSES = ("ok", "skipped", *FAILED)
"""What `dialog_status` may be; FAILED of them say that the dialogue failed."""

Finding = tuple[str, str, Message]
"""Code, field and message of a problem."""

UNKNOWN_STATUS = "turn_status {status} is none of {known}"
DUPLICATE_TURN = "turn_pair_id is not unique in this dialogue"
UNKNOWN_DIALOG_STATUS = "{status} is none of {known}"
NO_TURNS = "a valid dialogue without turns; only its profile (M2) counts"
NO_PROFILE = "no profile_gt; M2 is not measured for this dialogue"
UNPAIRED_TURN = "{n} user turn(s) without an assistant turn of their own"
TURN_COUNT = "{n} turn(s) for {pairs} user/assistant pairs of raw_turns"
NO_REPLY = "turn_status is ok but there is no reply; it is scored as an empty one"
NO_TAGS = "no gt_turn_tags; nothing is required of this turn and its true label counts as compliant"
UNKNOWN_LABEL = "compliance_label_gt {label} is none of {known}; it counts as compliant"
BAD_KEY = (
    "the memory key {key} is none of profile_gt.FIELD, profile_gt.LIST[i], history_turn_index:n; "
    "it takes no part"
)
UNRESOLVABLE_KEY = "the memory key {key} points at nothing; it takes no part"


def dialog_errors(dialog: Dialog) -> Iterator[Finding]:
    """What keeps a dialogue that says it is valid from being scored."""
    if not dialog.valid_dialog:
        return
    turns = dialog.turns or ()
    times = Counter(turn.turn_pair_id for turn in turns)
    for turn in turns:
        field = f"turn {turn.turn_pair_id}"
        if turn.turn_status not in STATUSES:
            values = {"status": repr(turn.turn_status), "known": STATUSES}
            yield "unknown-status", field, Message(UNKNOWN_STATUS, values)
        if times[turn.turn_pair_id] > 1:
            yield "duplicate-turn", field, Message(DUPLICATE_TURN)


def dialog_warnings(dialog: Dialog, rows: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    """What a dialogue lacks but can be scored without.

    `rows` are those of a dialogue that is scored: one a turn, or one in all if it has no turns. []
    for a dialogue that is not scored.
    """
    status = dialog.dialog_status
    if status is not None and status not in DIALOG_STATUSES:
        values: dict[str, Any] = {"status": repr(status), "known": DIALOG_STATUSES}
        yield "unknown-dialog-status", "dialog_status", Message(UNKNOWN_DIALOG_STATUS, values)
    if not rows:
        return
    turns = dialog.turns or ()
    if not turns:
        yield "no-turns", "", Message(NO_TURNS)
    if dialog.profile_gt is None or not dialog.profile_gt.available:
        yield "no-profile", "", Message(NO_PROFILE)
    if dialog.raw_turns is not None:
        history = align(dialog.raw_turns)
        if history.unpaired:
            values = {"n": history.unpaired}
            yield "unpaired-turn", "raw_turns", Message(UNPAIRED_TURN, values)
        if len(history.user) != len(turns):
            values = {"n": len(turns), "pairs": len(history.user)}
            yield "turn-count", "turns", Message(TURN_COUNT, values)
    for turn, row in zip(turns, rows):
        yield from _turn_warnings(turn, row)


def _turn_warnings(turn: Turn, row: Mapping[str, Any]) -> Iterator[Finding]:
    field = f"turn {turn.turn_pair_id}"
    if turn.turn_status == "ok" and not turn.pred_assistant_text:
        yield "no-reply", field, Message(NO_REPLY)
    if turn.gt_turn_tags is None:
        yield "no-tags", field, Message(NO_TAGS)
    elif turn.gt_turn_tags.compliance_label_gt not in LABELS:
        label = turn.gt_turn_tags.compliance_label_gt
        values = {"label": repr(label), "known": LABELS}
        yield "unknown-label", field, Message(UNKNOWN_LABEL, values)
    for key in row["resolved_keys"]:
        values = {"key": repr(key["key"])}
        if key["resolver"] == "not_a_key":
            yield "bad-key", field, Message(BAD_KEY, values)
        elif not key["resolvable"]:
            yield "unresolvable-key", field, Message(UNRESOLVABLE_KEY, values)
