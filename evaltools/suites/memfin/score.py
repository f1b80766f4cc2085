"""From a trace to the units frame: one row a turn, read a dialogue at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic_core import from_json

from ...core.errors import Problems, UsageError
from ...core.files import dumps
from ...core.jsonl import read_jsonl
from ...core.records import unique_records
from ...core.suite import Source
from ...core.text_files import first_line, require_file
from ...core.workers import Workers
from .columns import COLUMNS, JSON
from .lexicon import load_lexicon
from .measures import add_dialog_ratios
from .options import MemfinOptions
from .problems import FAILED, report_errors, report_gaps
from .schema import Dialog
from .turns import dialog_units

PATTERN = "dialog_trace*.jsonl"

NO_DIALOGUE = "no valid dialogue in this trace: nothing to score"

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
    trace = _chosen_trace(path, name, problems) if path.is_dir() else path
    require_file(trace, problems)
    files = {"trace": trace}
    if options.lexicon is not None:
        files["lexicon"] = Path(options.lexicon)
    folder = trace.resolve().parent
    has_others = _traces(folder).keys() - {trace.stem}
    return Source(name or (trace.stem if has_others else folder.name), files)


def _traces(folder: Path) -> dict[str, Path]:
    """The traces in a folder by their stems."""
    return {trace.stem: trace for trace in sorted(folder.glob(PATTERN))}


def _chosen_trace(
    folder: Path,
    name: str | None,
    problems: Problems,
) -> Path:
    traces = _traces(folder)
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


def runs(path: Path, problems: Problems) -> Sequence[str | None]:
    """The stems of the traces of a folder of several; [None] for a trace that names itself."""
    traces = _traces(path)
    return list(traces) if len(traces) > 1 else [None]


def sniff(path: Path) -> bool:
    """Whether a path looks like a trace: a folder with one, or a file whose first line is a
    dialogue."""
    try:
        if path.is_dir():
            return bool(_traces(path))
        if not path.is_file():
            return False
        record = from_json(first_line(path))
    except (OSError, ValueError):
        return False
    if not isinstance(record, dict):
        return False
    return "dialog_id" in record and ("valid_dialog" in record or "turns" in record)


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
    trace = source.files["trace"]
    rows: list[dict[str, Any]] = []
    states: Counter[str] = Counter()
    left_out = []
    records = read_jsonl(trace, Dialog, problems, id_field="dialog_id")
    for line, _, dialog in unique_records(records, "dialog_id", problems, trace):
        where = {"file": trace, "line": line, "id": dialog.dialog_id}
        has_errors = report_errors(dialog, partial(problems.error, **where))
        state, reason = _state(dialog, has_errors)
        states[state] += 1
        if state != "valid":
            left_out.append({"dialog_id": dialog.dialog_id, "state": state, "reason": reason})
            continue
        of_dialog = dialog_units(dialog, lexicon, options.ignore_memory_keys)
        report_gaps(dialog, of_dialog, partial(problems.warn, **where))
        rows += map(_with_texts, of_dialog)
    problems.raise_if_failed()
    if not rows:
        raise problems.fatal("no-valid-dialogue", NO_DIALOGUE, file=trace)
    units = _frame(rows)
    units.attrs = {
        "rows": {"trace": states.total()},
        "counters": {
            "total_dialogs": states.total() - states["rejected"],
            "valid_dialogs": states["valid"],
            "skipped_dialogs": states["skipped"],
            "failed_dialogs": states["failed"],
            "total_turn_pairs": int(units["turn_pair_id"].notna().sum()),
        },
        "left_out": dumps(left_out),
    }
    return add_dialog_ratios(units)


def _with_texts(row: dict[str, Any]) -> dict[str, Any]:
    """The row with its lists as text: many small lists keep the garbage collector busy for a sixth of the time."""
    return row | {name: dumps(row[name]) for name in JSON if name in row}


def _frame(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """The rows as a frame with the columns of columns.py."""
    columns = {}
    for name, kind in COLUMNS.items():
        dtype = TEXT if kind in ("text", "json") else kind
        columns[name] = pd.Series([row.get(name) for row in rows], dtype=dtype)
    return pd.DataFrame(columns)


def _state(dialog: Dialog, has_errors: bool) -> tuple[str, str]:
    """The state of a dialogue, and why.

    valid; skipped or failed, which are not valid; or rejected: valid, but with an error in a turn.
    """
    if dialog.valid_dialog:
        return ("rejected", "an error in a turn") if has_errors else ("valid", "")
    state = "failed" if dialog.dialog_status in FAILED else "skipped"
    status = dialog.dialog_status or "not given"
    return state, dialog.skip_reason or f"valid_dialog is false, dialog_status {status}"
