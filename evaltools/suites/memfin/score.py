"""From a trace to the units frame: one row a turn, read a dialogue at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from ...core.errors import Problems, UsageError
from ...core.files import dumps
from ...core.json_files import read_json, read_jsonl
from ...core.records import unique_records
from ...core.suite import Source
from ...core.text_files import require_file
from ...core.workers import Workers
from .columns import COLUMNS, JSON
from .lexicon import load_lexicon
from .measures import add_dialog_ratios
from .options import MemfinOptions
from .profile import VALUES
from .replies import LABELS
from .schema import Dialog
from .turns import dialog_units

PATTERN = "dialog_trace*.jsonl"

MANIFEST = "run_manifest.json"
# the `m1_handling` of a manifest beside the trace that says that the system had no memory to score (D13, D44)
MEMORY_IGNORED = "ignored_memory_required_keys"

FAILED = ("error", "failed", "timeout")
"""Values of `dialog_status` that say that the dialogue failed."""


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
    and `name` is none of their stems, InputError where it holds none. Where the run_manifest.json beside the trace says
    that memory keys were ignored, so do the options (D44).
    """
    trace = path
    if path.is_dir():
        traces = _traces(path)
        if not traces:
            raise problems.fatal("missing-file", f"no {PATTERN} in this folder", file=path)
        if len(traces) > 1 and name not in traces:
            raise UsageError(
                f"{path} holds several traces; name one: {', '.join(map(str, traces.values()))}"
            )
        first, *_ = traces.values()
        trace = traces.get(name or "", first)
    require_file(trace, problems)
    folder = trace.resolve().parent
    has_others = _traces(folder).keys() - {trace.stem}
    files = {"trace": trace}
    if options.lexicon is not None:
        files["lexicon"] = Path(options.lexicon)
    manifest = folder / MANIFEST
    if manifest.is_file():
        content = read_json(manifest, problems)
        if isinstance(content, dict) and content.get("m1_handling") == MEMORY_IGNORED:
            files["run_manifest"] = manifest
            options = options.model_copy(update={"ignore_memory_keys": True})
    return Source(name or (trace.stem if has_others else folder.name), files, options)


def _traces(folder: Path) -> dict[str, Path]:
    """The traces in a folder by their stems."""
    return {trace.stem: trace for trace in sorted(folder.glob(PATTERN))}


def runs(
    path: Path,
    problems: Problems,
) -> Sequence[str | None]:
    """The stems of the traces of a folder of several; [None] for a trace that names itself."""
    traces = _traces(path)
    return list(traces) if len(traces) > 1 else [None]


def score(
    source: Source,
    options: MemfinOptions,
    problems: Problems,
    workers: Workers,
    aside: Path | None,
) -> pd.DataFrame:
    """The units frame of a trace: one row a turn of a valid dialogue.

    The values of a dialogue stand in its first row. `attrs` holds `rows` (lines read, by role) and
    `counters` (dialogues and turns, as in metrics_summary.json). Reading the trace is most of the
    work and is done in one process: `workers` and `aside` change nothing. InputError where no valid
    dialogue is left.
    """
    trace = source.files["trace"]
    lexicon = load_lexicon(options.lexicon)
    rows: list[dict[str, Any]] = []
    states: Counter[str] = Counter()
    records = read_jsonl(trace, Dialog, problems, id_field="dialog_id")
    for line, name, dialog in unique_records(records, "dialog_id", problems, trace):
        if not dialog.valid_dialog:
            states["failed" if dialog.dialog_status in FAILED else "skipped"] += 1
            continue
        states["valid"] += 1
        of_dialog = dialog_units(dialog, lexicon, options.ignore_memory_keys)
        _warn_of_gaps(dialog, of_dialog, partial(problems.warn, file=trace, line=line, id=name))
        rows += map(_with_texts, of_dialog)
    problems.raise_if_failed()
    if not rows:
        raise problems.fatal(
            "no-valid-dialogue", "no valid dialogue in this trace: nothing to score", file=trace
        )
    units = _frame(rows)
    counters = {"total_dialogs": states.total()}
    for state in ("valid", "skipped", "failed"):
        counters[f"{state}_dialogs"] = states[state]
    counters["total_turn_pairs"] = int(units["turn_pair_id"].notna().sum())
    units.attrs = {"rows": {"trace": states.total()}, "counters": counters}
    return add_dialog_ratios(units)


def _warn_of_gaps(
    dialog: Dialog,
    rows: Sequence[Mapping[str, Any]],
    warn: Any,
) -> None:
    """Report what a dialogue lacks but can be scored without; `rows`: one a turn."""
    if not dialog.turns:
        warn("no-turns", "a valid dialogue without turns; only its profile counts", field="turns")
    for scored in rows[0].get("profile") or ():
        if scored["truth"] is None:
            name, *_ = VALUES[scored["metric"]]
            value = dumps(getattr(dialog.profile_gt, name))
            warn(
                "unknown-truth",
                f"the true value {value} is none that the word lists know; it scores 0",
                field=f"profile_gt.{name}",
            )
    for turn, row in zip(dialog.turns or (), rows):
        field = f"turn {turn.turn_pair_id}"
        label = turn.tags.compliance_label_gt
        if label not in LABELS:
            warn(
                "unknown-label",
                f"compliance_label_gt {label!r} is none of {', '.join(LABELS)}; it counts "
                "as compliant",
                field=field,
            )
        for key in row["resolved_keys"]:
            if not key["resolvable"]:
                warn(
                    "unresolvable-key",
                    f"the memory key {key['key']!r} points at nothing; it takes no part",
                    field=field,
                )


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
