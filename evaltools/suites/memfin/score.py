"""From a trace to the units frame: one row a turn, read a dialogue at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic_core import from_json

from ...core.errors import Problems, UsageError
from ...core.files import dumps
from ...core.jsonl import read_jsonl
from ...core.records import unique_records
from ...core.suite import Source, Workers
from ...core.text_files import first_line, require_file
from .columns import COLUMNS, JSON
from .lexicon import Lexicon, load_lexicon
from .measures import add_dialog_ratios
from .options import MemfinOptions
from .problems import FAILED, report_errors, report_gaps
from .schema import Dialog
from .units import dialog_units

PATTERN = "dialog_trace*.jsonl"

NO_DIALOGUE = "no valid dialogue in this trace: nothing to score"

CHUNK = 2_000
"""Rows that are held as Python objects at a time; in a frame their texts take far less memory."""

TEXT = pd.Series(["text"]).dtype
"""The dtype that pandas gives to texts; a column of nulls gets it too."""


def locate(
    path: Path,
    name: str | None,
    options: MemfinOptions,
    problems: Problems,
) -> Source:
    """The trace of a run: a file, or a `dialog_trace*.jsonl` of a folder: its only one, or the one with this stem.

    A trace is named as its folder; one of several in a folder as its file. UsageError where a folder holds several
    and `name` is none of their stems, InputError where it holds none.
    """
    trace = _trace_of_folder(path, name, problems) if path.is_dir() else path
    require_file(trace, problems)
    files = {"trace": trace}
    if options.lexicon is not None:
        files["lexicon"] = Path(options.lexicon)
    return Source(name or _name_of(trace), files)


def _trace_of_folder(
    folder: Path,
    name: str | None,
    problems: Problems,
) -> Path:
    traces = {trace.stem: trace for trace in sorted(folder.glob(PATTERN))}
    if not traces:
        text = "no {pattern} in this folder"
        raise problems.fatal("missing-file", text, pattern=PATTERN, file=folder)
    if len(traces) == 1:
        return next(iter(traces.values()))
    if name not in traces:
        raise UsageError(
            "{folder} holds several traces; name one: {names}",
            folder=folder,
            names=tuple(traces.values()),
        )
    return traces[name]


def _name_of(trace: Path) -> str:
    """The name of the folder of a trace; that of the file where the folder holds other traces, too."""
    folder = trace.resolve().parent
    others = {path.name for path in folder.glob(PATTERN)} - {trace.name}
    return trace.stem if others else folder.name


def runs(path: Path, problems: Problems) -> Sequence[str | None]:
    """The stems of the traces of a folder of several; [None] for a trace that names itself."""
    traces = sorted(path.glob(PATTERN)) if path.is_dir() else []
    if len(traces) < 2:
        return [None]
    return [trace.stem for trace in traces]


def sniff(path: Path) -> bool:
    """Whether a path looks like a trace: a folder with one, or a file whose first line is a
    dialogue."""
    try:
        if path.is_dir():
            return any(path.glob(PATTERN))
        if not path.is_file():
            return False
        record = from_json(first_line(path))
    except (OSError, ValueError):
        return False
    if not isinstance(record, dict):
        return False
    return "dialog_id" in record and ("valid_dialog" in record or "turns" in record)


@dataclass
class _Trace:
    """What has been read of a trace so far."""

    path: Path
    frames: list[pd.DataFrame] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)
    states: Counter[str] = field(default_factory=Counter)
    left_out: list[dict[str, str]] = field(default_factory=list)

    def add_row(self, row: dict[str, Any]) -> None:
        """Keep a row. Its lists become text at once: many small lists keep the garbage collector
        busy for a sixth of the time."""
        for name in JSON:
            if name in row:
                row[name] = dumps(row[name])
        self.rows.append(row)

    def pack(self) -> None:
        """Move the rows to a frame."""
        columns = {}
        for name, kind in COLUMNS.items():
            dtype = TEXT if kind in ("text", "json") else kind
            columns[name] = pd.Series([row.get(name) for row in self.rows], dtype=dtype)
        self.frames.append(pd.DataFrame(columns))
        self.rows = []


def score(
    source: Source,
    options: MemfinOptions,
    problems: Problems,
    workers: Workers,
    aside: Path | None,
) -> pd.DataFrame:
    """The units frame of a trace: one row a turn of a valid dialogue.

    The values of a dialogue stand in its first row. `attrs` holds `rows` (lines read, by role),
    `counters` (dialogues and turns, as in metrics_summary.json) and `left_out` (JSON: the dialogues
    that yield no turns, and why). A dialogue with an error in it is left out whole. Reading the
    trace is most of the work and is done in one process: `workers` and `aside` change nothing.

    InputError where no valid dialogue is left, and for a lexicon that changed after the options
    were made.
    """
    lexicon = load_lexicon(options.lexicon)
    if lexicon.identity != options.lexicon_identity:
        text = "the lexicon is {now} now, the options were made for {before}"
        versions = {"now": lexicon.identity, "before": options.lexicon_identity}
        raise problems.fatal("lexicon-changed", text, **versions, file=options.lexicon or "")
    trace = _Trace(source.files["trace"])
    records = read_jsonl(trace.path, Dialog, problems, id_field="dialog_id")
    for line, _, dialog in unique_records(records, "dialog_id", problems, trace.path):
        _add_dialog(trace, line, dialog, lexicon, options, problems)
        if len(trace.rows) >= CHUNK:
            trace.pack()
    trace.pack()
    problems.raise_if_failed()
    units = pd.concat(trace.frames, ignore_index=True)
    if units.empty:
        raise problems.fatal("no-valid-dialogue", NO_DIALOGUE, file=trace.path)
    states = trace.states
    units.attrs = {
        "rows": {"trace": states.total()},
        "counters": {
            "total_dialogs": states.total() - states["rejected"],
            "valid_dialogs": states["valid"],
            "skipped_dialogs": states["skipped"],
            "failed_dialogs": states["failed"],
            "total_turn_pairs": int(units["turn_pair_id"].notna().sum()),
        },
        "left_out": dumps(trace.left_out),
    }
    return add_dialog_ratios(units)


def _add_dialog(
    trace: _Trace,
    line: int,
    dialog: Dialog,
    lexicon: Lexicon,
    options: MemfinOptions,
    problems: Problems,
) -> None:
    """Add the units of a dialogue, or note why it is left out; report what is wrong with it."""
    where = {"file": trace.path, "line": line, "id": dialog.dialog_id}
    has_errors = report_errors(dialog, partial(problems.error, **where))
    state, reason = _state(dialog, has_errors)
    trace.states[state] += 1
    rows = []
    if state == "valid":
        rows = dialog_units(dialog, lexicon, options.ignore_memory_keys)
    else:
        trace.left_out.append({"dialog_id": dialog.dialog_id, "state": state, "reason": reason})
    report_gaps(dialog, rows, partial(problems.warn, **where))
    for row in rows:
        trace.add_row(row)


def _state(dialog: Dialog, has_errors: bool) -> tuple[str, str]:
    """The state of a dialogue, and why.

    valid; skipped or failed, which are not valid; or rejected: valid, but with an error in a turn.
    """
    if dialog.valid_dialog:
        return ("rejected", "an error in a turn") if has_errors else ("valid", "")
    state = "failed" if dialog.dialog_status in FAILED else "skipped"
    status = dialog.dialog_status or "not given"
    return state, dialog.skip_reason or f"valid_dialog is false, dialog_status {status}"
