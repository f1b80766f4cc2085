"""From a trace to the units frame: one row a turn, read a dialogue at a time, every problem named."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic_core import from_json

from ...core.errors import Problems, UsageError
from ...core.files import dumps
from ...core.records import first_line, read_jsonl, require_file
from ...core.suite import Source, Workers
from .keys import align
from .lexicon import load_lexicon
from .measures import COLUMNS, JSON, add_dialog_ratios
from .options import MemfinOptions
from .rules import LABELS
from .schema import Dialog
from .turns import STATUSES, dialog_rows

PATTERN = "dialog_trace*.jsonl"

FAILED = ("error", "failed", "timeout")
DIALOG_STATUSES = ("ok", "skipped", *FAILED)

CHUNK = 2_000
"""Rows that are held as Python objects at a time; in a frame their texts take a fraction of the memory."""

TEXT = pd.Series(["text"]).dtype
"""What pandas itself makes of texts, also for a column of nulls."""

MESSAGES: dict[str, str] = tomllib.loads(
    Path(__file__).with_name("findings.toml").read_text(encoding="utf-8")
)
"""What can be found in a dialogue: code -> message."""

Finding = tuple[str, str, tuple[Any, ...]]
"""Code and field of a problem of a dialogue, and the values that its message names."""


def locate(path: Path, name: str | None, options: MemfinOptions, problems: Problems) -> Source:
    """The trace of a run: a file, or the one `dialog_trace*.jsonl` of a folder.

    Raises UsageError where a folder holds several, InputError where it holds none.
    """
    traces = sorted(path.glob(PATTERN)) if path.is_dir() else [path]
    if not traces:
        raise problems.fatal("missing-file", f"no {PATTERN} in this folder", file=str(path))
    if len(traces) > 1:
        raise UsageError(f"{path} holds several traces; name one: {', '.join(map(str, traces))}")
    path = traces[0]
    require_file(path, problems)
    lexicon = {} if options.lexicon is None else {"lexicon": Path(options.lexicon)}
    return Source(name or path.resolve().parent.name, {"trace": path, **lexicon})


def sniff(path: Path) -> bool:
    """Whether a path looks like a trace: a folder with one, or a file whose first record is a dialogue."""
    try:
        if path.is_dir():
            return any(path.glob(PATTERN))
        record = from_json(first_line(path)) if path.is_file() else None
    except (OSError, ValueError):
        return False
    return (
        isinstance(record, dict)
        and "dialog_id" in record
        and not {"valid_dialog", "turns"}.isdisjoint(record)
    )


def score(
    source: Source, options: MemfinOptions, problems: Problems, workers: Workers, aside: Path | None
) -> pd.DataFrame:
    """The units frame of a trace: one row a turn of a valid dialogue, its own values in its first row.

    `attrs` holds `rows` (lines read, by role), `counters` (dialogues and turns, as in
    metrics_summary.json) and `left_out` (JSON: the dialogues that yield no turns, and why).
    A dialogue with an error in it is left out whole. Reading the trace is most of the work and is done in
    one process; `workers` and `aside` change nothing.

    Raises InputError where no valid dialogue is left, and for a lexicon that changed after the options were made.
    """
    lexicon = load_lexicon(options.lexicon)
    if lexicon.identity != options.lexicon_identity:
        message = f"the lexicon is {lexicon.identity} now, the options were made for {options.lexicon_identity}"
        raise problems.fatal("lexicon-changed", message, file=options.lexicon or "")
    path = source.files["trace"]
    frames: list[pd.DataFrame] = []
    rows: list[dict[str, Any]] = []
    states: Counter[str] = Counter()
    left_out: list[dict[str, Any]] = []
    lines: dict[str, int] = {}
    for line, dialog in read_jsonl(path, Dialog, problems, id_field="dialog_id"):
        where = {"file": str(path), "line": line, "id": dialog.dialog_id}
        first = lines.setdefault(dialog.dialog_id, line)
        if first != line:
            problems.error(
                "duplicate-id", f"this dialog_id stands in line {first} already", **where
            )
            continue
        errors = list(_errors(dialog))
        state, reason = _state(dialog, errors)
        states[state] += 1
        made = dialog_rows(dialog, lexicon, options.ignore_memory_keys) if state == "valid" else []
        if not made:
            left_out.append({"dialog_id": dialog.dialog_id, "state": state, "reason": reason})
        for code, place, values in errors:
            problems.error(code, MESSAGES[code].format(*values), field=place, **where)
        for code, place, values in _warnings(dialog, made):
            problems.warn(code, MESSAGES[code].format(*values), field=place, **where)
        rows += map(_stored, made)
        if len(rows) >= CHUNK:
            frames.append(_frame(rows))
            rows = []
    problems.raise_if_failed()
    units = pd.concat([*frames, _frame(rows)], ignore_index=True)
    if units.empty:
        raise problems.fatal(
            "no-valid-dialogue", "no valid dialogue in this trace: nothing to score", file=str(path)
        )
    units.attrs = {
        "rows": {"trace": len(lines)},
        "counters": {
            "total_dialogs": states.total() - states["rejected"],
            **{f"{state}_dialogs": states[state] for state in ("valid", "skipped", "failed")},
            "total_turn_pairs": int(units["turn_pair_id"].notna().sum()),
        },
        "left_out": dumps(left_out),
    }
    return add_dialog_ratios(units)


def _stored(row: dict[str, Any]) -> dict[str, Any]:
    # at once, not with the frame: so many small lists at a time cost the garbage collector a sixth of all time
    return row | {name: dumps(row[name]) for name in JSON if name in row}


def _frame(rows: list[dict[str, Any]]) -> pd.DataFrame:
    dtypes = {name: TEXT if kind in ("text", "json") else kind for name, kind in COLUMNS.items()}
    return pd.DataFrame(
        {name: pd.Series([row.get(name) for row in rows], dtype=d) for name, d in dtypes.items()}
    )


def _state(dialog: Dialog, errors: Sequence[Finding]) -> tuple[str, str]:
    """valid, skipped, failed (both: not valid) or rejected (valid, with an error in a turn); and why."""
    if dialog.valid_dialog:
        return ("rejected", "an error in a turn") if errors else ("valid", "")
    given = f"valid_dialog is false, dialog_status {dialog.dialog_status or 'not given'}"
    return "failed" if dialog.dialog_status in FAILED else "skipped", dialog.skip_reason or given


def _errors(dialog: Dialog) -> Iterator[Finding]:
    """What keeps a dialogue that says it is valid from being scored."""
    turns = dialog.turns or () if dialog.valid_dialog else ()
    times = Counter(turn.turn_pair_id for turn in turns)
    for turn in turns:
        place = f"turn {turn.turn_pair_id}"
        if turn.turn_status not in STATUSES:
            yield "unknown-status", place, (turn.turn_status, ", ".join(STATUSES))
        if times[turn.turn_pair_id] > 1:
            yield "duplicate-turn", place, ()


def _warnings(dialog: Dialog, rows: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    """What a dialogue lacks but can be scored without; `rows` are those of a valid one."""
    if dialog.dialog_status not in (None, *DIALOG_STATUSES):
        yield (
            "unknown-dialog-status",
            "dialog_status",
            (dialog.dialog_status, ", ".join(DIALOG_STATUSES)),
        )
    if not rows:
        return
    turns = dialog.turns or ()
    if not turns:
        yield "no-turns", "", ()
    if dialog.profile_gt is None or not dialog.profile_gt.available:
        yield "no-profile", "", ()
    if dialog.raw_turns is not None:
        history = align(dialog.raw_turns)
        if history.unpaired:
            yield "unpaired-turn", "raw_turns", (history.unpaired,)
        if len(history.user) != len(turns):
            yield "turn-count", "turns", (len(turns), len(history.user))
    for turn, row in zip(turns, rows):
        place = f"turn {turn.turn_pair_id}"
        if turn.turn_status == "ok" and not turn.pred_assistant_text:
            yield "no-reply", place, ()
        if turn.gt_turn_tags is None:
            yield "no-tags", place, ()
        elif (label := turn.gt_turn_tags.compliance_label_gt) not in LABELS:
            yield "unknown-label", place, (label, ", ".join(LABELS))
        for key in row["resolved_keys"]:
            if not key["resolvable"]:
                code = "bad-key" if key["resolver"] == "not_a_key" else "unresolvable-key"
                yield code, place, (key["key"],)
