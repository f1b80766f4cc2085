"""What is wrong with a dialogue, and what it lacks but can be scored without."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .keys import align
from .rules import LABELS
from .schema import Dialog, Turn

STATUSES = ("ok", "timeout", "error")
"""What `turn_status` may be."""

FAILED = ("error", "failed", "timeout")
DIALOG_STATUSES = ("ok", "skipped", *FAILED)
"""What `dialog_status` may be; FAILED of them say that the dialogue failed."""

Finding = tuple[str, str, str]
"""Code, field and message of a problem."""


def dialog_errors(dialog: Dialog) -> Iterator[Finding]:
    """What keeps a dialogue that says it is valid from being scored."""
    if not dialog.valid_dialog:
        return
    turns = dialog.turns or ()
    times = Counter(turn.turn_pair_id for turn in turns)
    for turn in turns:
        field = f"turn {turn.turn_pair_id}"
        if turn.turn_status not in STATUSES:
            known = ", ".join(STATUSES)
            message = f"turn_status {turn.turn_status!r} is none of {known}"
            yield "unknown-status", field, message
        if times[turn.turn_pair_id] > 1:
            yield "duplicate-turn", field, "turn_pair_id is not unique in this dialogue"


def dialog_warnings(dialog: Dialog, rows: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    """What a dialogue lacks but can be scored without.

    `rows` are those of a dialogue that is scored: one a turn, or one in all if it has no turns. []
    for a dialogue that is not scored.
    """
    status = dialog.dialog_status
    if status is not None and status not in DIALOG_STATUSES:
        known = ", ".join(DIALOG_STATUSES)
        yield "unknown-dialog-status", "dialog_status", f"{status!r} is none of {known}"
    if not rows:
        return
    turns = dialog.turns or ()
    if not turns:
        yield "no-turns", "", "a valid dialogue without turns; only its profile (M2) counts"
    if dialog.profile_gt is None or not dialog.profile_gt.available:
        yield "no-profile", "", "no profile_gt; M2 is not measured for this dialogue"
    if dialog.raw_turns is not None:
        history = align(dialog.raw_turns)
        if history.unpaired:
            message = f"{history.unpaired} user turn(s) without an assistant turn of their own"
            yield "unpaired-turn", "raw_turns", message
        if len(history.user) != len(turns):
            pairs = f"{len(history.user)} user/assistant pairs of raw_turns"
            yield "turn-count", "turns", f"{len(turns)} turn(s) for {pairs}"
    for turn, row in zip(turns, rows):
        yield from _turn_warnings(turn, row)


def _turn_warnings(turn: Turn, row: Mapping[str, Any]) -> Iterator[Finding]:
    field = f"turn {turn.turn_pair_id}"
    if turn.turn_status == "ok" and not turn.pred_assistant_text:
        message = "turn_status is ok but there is no reply; it is scored as an empty one"
        yield "no-reply", field, message
    if turn.gt_turn_tags is None:
        message = "nothing is required of this turn and its true label counts as compliant"
        yield "no-tags", field, f"no gt_turn_tags; {message}"
    elif turn.gt_turn_tags.compliance_label_gt not in LABELS:
        label = turn.gt_turn_tags.compliance_label_gt
        known = ", ".join(LABELS)
        message = f"compliance_label_gt {label!r} is none of {known}; it counts as compliant"
        yield "unknown-label", field, message
    for key in row["resolved_keys"]:
        name = f"the memory key {key['key']!r}"
        if key["resolver"] == "not_a_key":
            known = "profile_gt.FIELD, profile_gt.LIST[i], history_turn_index:n"
            yield "bad-key", field, f"{name} is none of {known}; it takes no part"
        elif not key["resolvable"]:
            yield "unresolvable-key", field, f"{name} points at nothing; it takes no part"
