"""What is wrong with a dialogue, and what it lacks but can be scored without."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .compliance import LABELS
from .memory import align
from .schema import Dialog

STATUSES = ("ok", "timeout", "error")
"""What `turn_status` may be."""

FAILED = ("error", "failed", "timeout")
"""Values of `dialog_status` that say that the dialogue failed."""

Report = Callable[..., None]
"""`error` or `warn` of Problems, with the place of the dialogue."""

UNKNOWN_STATUS = "turn_status {status} is none of {known}"
DUPLICATE_TURN = "turn_pair_id is not unique in this dialogue"
TURN_COUNT = "{n} turn(s) for {pairs} user/assistant pairs of raw_turns"
NO_TAGS = "no gt_turn_tags; nothing is required of this turn and its true label counts as compliant"
UNKNOWN_LABEL = "compliance_label_gt {label} is none of {known}; it counts as compliant"
BAD_KEY = (
    "the memory key {key} is none of profile_gt.FIELD, profile_gt.LIST[i], history_turn_index:n; "
    "it takes no part"
)
UNRESOLVABLE_KEY = "the memory key {key} points at nothing; it takes no part"


def report_errors(dialog: Dialog, error: Report) -> bool:
    """Report what keeps a dialogue that says it is valid from being scored; whether there is anything."""
    if not dialog.valid_dialog:
        return False
    has_errors = False
    turns = dialog.turns or ()
    times = Counter(turn.turn_pair_id for turn in turns)
    for turn in turns:
        field = f"turn {turn.turn_pair_id}"
        if turn.turn_status not in STATUSES:
            status = repr(turn.turn_status)
            error("unknown-status", UNKNOWN_STATUS, status=status, known=STATUSES, field=field)
            has_errors = True
        if times[turn.turn_pair_id] > 1:
            error("duplicate-turn", DUPLICATE_TURN, field=field)
            has_errors = True
    return has_errors


def report_gaps(
    dialog: Dialog,
    rows: Sequence[Mapping[str, Any]],
    warn: Report,
) -> None:
    """Report what a scored dialogue lacks but can be scored without; `rows`: one a turn."""
    turns = dialog.turns or ()
    if dialog.raw_turns is not None:
        n_pairs = len(align(dialog.raw_turns).user)
        if n_pairs != len(turns):
            warn("turn-count", TURN_COUNT, n=len(turns), pairs=n_pairs, field="turns")
    for turn, row in zip(turns, rows):
        field = f"turn {turn.turn_pair_id}"
        if turn.gt_turn_tags is None:
            warn("no-tags", NO_TAGS, field=field)
        elif turn.gt_turn_tags.compliance_label_gt not in LABELS:
            label = repr(turn.gt_turn_tags.compliance_label_gt)
            warn("unknown-label", UNKNOWN_LABEL, label=label, known=LABELS, field=field)
        for key in row["resolved_keys"]:
            name = repr(key["key"])
            if key["resolver"] == "not_a_key":
                warn("bad-key", BAD_KEY, key=name, field=field)
            elif not key["resolvable"]:
                warn("unresolvable-key", UNRESOLVABLE_KEY, key=name, field=field)
