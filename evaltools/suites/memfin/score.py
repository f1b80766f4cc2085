"""From a trace to the units frame: one row a turn, read a dialogue at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import Field

from ...core.errors import Problems, UsageError
from ...core.files import dumps
from ...core.json_files import read_json, read_jsonl
from ...core.names import first_names
from ...core.records import File, unique_records
from ...core.suite import Source, SuiteOptions
from ...core.workers import Workers
from .measures import add_dialog_ratios
from .memory import VALUES
from .replies import LABELS
from .schema import Dialog
from .turns import COLUMNS, JSON, dialog_units

PATTERN = "dialog_trace*.jsonl"

MANIFEST = "run_manifest.json"
# the `m1_handling` of a manifest beside the trace that says that the system had no memory to score (D13, D44)
MEMORY_IGNORED = "ignored_memory_required_keys"

# values of `dialog_status` that say that the dialogue failed
FAILED = ("error", "failed", "timeout")


class MemfinOptions(SuiteOptions):
    """What decides the numbers."""

    ignore_memory_keys: bool = Field(
        False, description="Score a system without memory: M1 is not measured."
    )

    def signature(self) -> dict[str, str]:
        """What the signature of a run says of its options."""
        return {"memory": "ignored" if self.ignore_memory_keys else "scored"}


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
            listed = first_names(traces.values())
            raise UsageError(f"{path} holds several traces; name one: {listed}")
        trace = traces.get(name or "", next(iter(traces.values())))
    File(trace, problems)
    folder = trace.resolve().parent
    files = {"trace": trace}
    manifest = folder / MANIFEST
    if manifest.is_file():
        content = read_json(File(manifest, problems))
        if isinstance(content, dict) and content.get("m1_handling") == MEMORY_IGNORED:
            files["run_manifest"] = manifest
            options = MemfinOptions(ignore_memory_keys=True)
    has_others = _traces(folder).keys() - {trace.stem}
    return Source(name or (trace.stem if has_others else folder.name), files, options)


def _traces(folder: Path) -> dict[str, Path]:
    """The traces in a folder by their stems."""
    return {trace.stem: trace for trace in sorted(folder.glob(PATTERN))}


def runs(path: Path, problems: Problems) -> Sequence[str | None]:
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

    The values of a dialogue stand in its first row; `skipped_dialogs` and `failed_dialogs`, the numbers of those that
    are not valid, in every row. Reading the trace is most of the work and is done in one process: `workers` and `aside`
    change nothing. InputError where no valid dialogue is left.
    """
    file = File(source.files["trace"], problems)
    rows: list[dict[str, Any]] = []
    states: Counter[str] = Counter()
    dialogs = unique_records(
        read_jsonl(file, Dialog),
        lambda dialog: dialog.dialog_id,
        file,
        "record of this dialog_id",
    )
    for line, dialog in dialogs:
        if not dialog.valid_dialog:
            states["failed" if dialog.dialog_status in FAILED else "skipped"] += 1
            continue
        of_dialog = dialog_units(dialog, options.ignore_memory_keys)
        for code, message, field in _gaps(dialog, of_dialog):
            file.warn(
                code,
                message,
                line=line,
                field=field,
                id=dialog.dialog_id,
            )
        for row in of_dialog:
            # many small lists keep the garbage collector busy for a sixth of the time
            rows.append(row | {name: dumps(row[name]) for name in JSON if name in row})
    problems.raise_if_failed()
    if not rows:
        message = "no valid dialogue in this trace: nothing to score"
        raise file.fatal("no-valid-dialogue", message)
    columns = {}
    for name, kind in COLUMNS.items():
        dtype = "str" if kind == "json" else kind
        columns[name] = pd.Series([row.get(name) for row in rows], dtype=dtype)
    units = add_dialog_ratios(pd.DataFrame(columns))
    return units.assign(skipped_dialogs=states["skipped"], failed_dialogs=states["failed"])


def _gaps(
    dialog: Dialog,
    rows: Sequence[dict[str, Any]],
) -> Iterator[tuple[str, str, str]]:
    """(code, message, field) of each thing that a dialogue lacks but can be scored without; `rows`: one a turn."""
    for scored in rows[0].get("profile", ()):
        if scored["truth"] is None:
            name, _ = VALUES[scored["metric"]]
            value = dumps(getattr(dialog.profile_gt, name))
            message = f"the true value {value} is none that the word lists know; it scores 0"
            yield "unknown-truth", message, f"profile_gt.{name}"
    for turn, row in zip(dialog.turns, rows):
        field = f"turn {turn.turn_pair_id}"
        label = turn.gt_turn_tags.compliance_label_gt
        if label not in LABELS:
            known = ", ".join(LABELS)
            message = f"compliance_label_gt {label!r} is none of {known}; it counts as compliant"
            yield "unknown-label", message, field
        for key in row["resolved_keys"]:
            if not key["resolvable"]:
                message = f"the memory key {key['key']!r} points at nothing; it takes no part"
                yield "unresolvable-key", message, field
