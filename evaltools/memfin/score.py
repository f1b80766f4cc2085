"""From a trace to the units frame: one row a turn, read a dialogue at a time, every problem named."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from ..core.errors import Problems, UsageError
from ..core.jsonl import dumps, read_jsonl, require_file
from ..core.suite import Source
from .keys import align
from .lexicon import Lexicon
from .rules import LABELS
from .schema import Dialog, Turn
from .turns import COLUMNS, STATUSES, dialog_rows

PATTERN = "dialog_trace*.jsonl"

FAILED = ("error", "failed", "timeout")
DIALOG_STATUSES = ("ok", "skipped", *FAILED)

CHUNK = 2_000
"""Rows that are held as Python objects at a time; in a frame their texts take a fraction of the memory."""

DTYPES = {
    "id": "Int64",
    "count": "Int64",
    "flag": "bool",
    "number": "float64",
    # what pandas itself makes of texts, also for a column of nulls
    **dict.fromkeys(("text", "json"), pd.Series(["text"]).dtype),
}


def locate(path: Path, name: str | None, options: Any, problems: Problems) -> Source:
    """The trace of a run: a file, or the one `dialog_trace*.jsonl` of a folder.

    Raises UsageError where a folder holds several, InputError where it holds none.
    """
    if path.is_dir():
        traces = sorted(path.glob(PATTERN))
        if not traces:
            raise problems.fatal("missing-file", f"no {PATTERN} in this folder", file=str(path))
        if len(traces) > 1:
            raise UsageError(f"{path} holds several traces; name one: {', '.join(map(str, traces))}")
        path = traces[0]
    files = {"trace": path}
    require_file(path, problems)
    if options.lexicon is not None:
        files["lexicon"] = Path(options.lexicon)
    return Source(name or path.resolve().parent.name, files)


def score_trace(path: Path, lexicon: Lexicon, ignore_memory_keys: bool, problems: Problems) -> pd.DataFrame:
    """The turns of all valid dialogues of a trace.

    `attrs` holds `rows` (lines read, by role), `counters` (dialogues and turns, as in
    metrics_summary.json) and `left_out` (JSON: the dialogues that yield no turns, and why).
    A dialogue with an error in it is left out whole. InputError where no valid dialogue is left.
    """
    frames: list[pd.DataFrame] = []
    rows: list[dict[str, Any]] = []
    counters = dict.fromkeys(("total_dialogs", "valid_dialogs", "skipped_dialogs", "failed_dialogs"), 0)
    left_out: list[dict[str, Any]] = []
    lines: dict[str, int] = {}
    for line, dialog in read_jsonl(path, Dialog, problems, id_field="dialog_id"):
        where = {"file": str(path), "line": line, "id": dialog.dialog_id}
        first = lines.setdefault(dialog.dialog_id, line)
        if first != line:
            problems.error("duplicate-id", f"this dialog_id stands in line {first} already", **where)
            continue
        state = _state(dialog, problems, where)
        if state != "rejected":
            counters["total_dialogs"] += 1
            counters[f"{state}_dialogs"] += 1
        if state != "valid":
            left_out.append({"dialog_id": dialog.dialog_id, "state": state, "reason": _reason(dialog, state)})
            continue
        _warn(dialog, problems, where)
        for row in dialog_rows(dialog, lexicon, ignore_memory_keys):
            rows.append(row)
            _warn_keys(row, problems, where)
        if len(rows) >= CHUNK:
            frames.append(_frame(rows))
            rows = []
    problems.raise_if_failed()
    if rows:
        frames.append(_frame(rows))
    if not frames:
        raise problems.fatal("no-valid-dialogue", "no valid dialogue in this trace: nothing to score", file=str(path))
    units = pd.concat(frames, ignore_index=True)
    units.attrs = {
        "rows": {"trace": len(lines)},
        "counters": {**counters, "total_turn_pairs": int(units["turn_pair_id"].notna().sum())},
        "left_out": dumps(left_out),
    }
    return units


def _frame(rows: list[dict[str, Any]]) -> pd.DataFrame:
    return pd.DataFrame(
        {name: pd.Series([row.get(name) for row in rows], dtype=DTYPES[kind]) for name, kind in COLUMNS.items()}
    )


def _state(dialog: Dialog, problems: Problems, where: Mapping[str, Any]) -> str:
    """valid, skipped, failed (both: not valid) or rejected (valid, with an error in a turn)."""
    if dialog.dialog_status not in (None, *DIALOG_STATUSES):
        message = f"{dialog.dialog_status!r} is none of {', '.join(DIALOG_STATUSES)}"
        problems.warn("unknown-dialog-status", message, field="dialog_status", **where)
    if not dialog.valid_dialog:
        return "failed" if dialog.dialog_status in FAILED else "skipped"
    bad = False
    doubled = Counter(turn.turn_pair_id for turn in dialog.turns or ())
    for turn in dialog.turns or ():
        place = {**where, "field": f"turn {turn.turn_pair_id}"}
        if turn.turn_status not in STATUSES:
            message = f"turn_status {turn.turn_status!r} is none of {', '.join(STATUSES)}"
            problems.error("unknown-status", message, **place)
            bad = True
        if doubled[turn.turn_pair_id] > 1:
            problems.error("duplicate-turn", "turn_pair_id is not unique in this dialogue", **place)
            bad = True
    return "rejected" if bad else "valid"


def _reason(dialog: Dialog, state: str) -> str:
    if state == "rejected":
        return "an error in a turn"
    return dialog.skip_reason or f"valid_dialog is false, dialog_status {dialog.dialog_status or 'not given'}"


def _warn(dialog: Dialog, problems: Problems, where: Mapping[str, Any]) -> None:
    """Count what a dialogue lacks but can be scored without."""
    turns = dialog.turns or ()
    if not turns:
        problems.warn("no-turns", "a valid dialogue without turns; only its profile (M2) counts", **where)
    if dialog.profile_gt is None or not dialog.profile_gt.available:
        problems.warn("no-profile", "no profile_gt; M2 is not measured for this dialogue", **where)
    if dialog.raw_turns is not None:
        history = align(dialog.raw_turns)
        if history.unpaired:
            message = f"{history.unpaired} user turn(s) without an assistant turn of their own"
            problems.warn("unpaired-turn", message, field="raw_turns", **where)
        if len(history.user) != len(turns):
            message = f"{len(turns)} turn(s) for {len(history.user)} user/assistant pairs of raw_turns"
            problems.warn("turn-count", message, field="turns", **where)
    for turn in turns:
        _warn_turn(turn, problems, {**where, "field": f"turn {turn.turn_pair_id}"})


def _warn_turn(turn: Turn, problems: Problems, place: Mapping[str, Any]) -> None:
    if turn.turn_status == "ok" and not turn.pred_assistant_text:
        problems.warn("no-reply", "turn_status is ok but there is no reply; it is scored as an empty one", **place)
    if turn.gt_turn_tags is None:
        message = "no gt_turn_tags; nothing is required of this turn and its true label counts as compliant"
        problems.warn("no-tags", message, **place)
    elif turn.gt_turn_tags.compliance_label_gt not in LABELS:
        message = f"{turn.gt_turn_tags.compliance_label_gt!r} is none of {', '.join(LABELS)}; it counts as compliant"
        problems.warn("unknown-label", f"compliance_label_gt {message}", **place)


def _warn_keys(row: Mapping[str, Any], problems: Problems, where: Mapping[str, Any]) -> None:
    if "resolved_keys" not in row:
        return
    for key in json.loads(row["resolved_keys"]):
        if key["resolvable"]:
            continue
        place = {**where, "field": f"turn {row['turn_pair_id']}"}
        if key["resolver"] == "not_a_key":
            message = (
                f"the memory key {key['key']!r} is none of profile_gt.FIELD, profile_gt.LIST[i], history_turn_index:n"
            )
            problems.warn("bad-key", f"{message}; it takes no part", **place)
        else:
            problems.warn(
                "unresolvable-key", f"the memory key {key['key']!r} points at nothing; it takes no part", **place
            )
