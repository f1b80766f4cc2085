"""Finding and reading the files of a Conflict Review run. Seed cr_metrics_spec 1, 6, 7."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from ...core.errors import Problems
from ...core.json_files import read_json, read_jsonl
from ...core.records import FirstLines
from ...core.suite import Source
from ...core.text_files import first_line, require_file
from .options import CrOptions
from .schema import Gold, TupleRow, first_id
from .sources import gold_rows

FILES = {
    "scorecards": "scorecards.jsonl",
    "outputs": "outputs.jsonl",
    "gold": "gold.jsonl",
    "override_gate": "override_gate_debug_summary.json",
}

RUNNER = ("run_manifest.json", "outputs.jsonl", "gold.jsonl", "calls.jsonl", "episodes.jsonl")
"""What our own runner makes; the first file marks such a folder."""

MAIN = ("scorecards", "outputs")
"""The roles of a run's main file, the preferred one first."""


def locate(
    path: Path,
    name: str | None,
    options: CrOptions,
    problems: Problems,
) -> Source:
    """The files of a run folder, or of one scorecards or outputs file.

    Outputs go with the gold of the options, or with the folder's own gold.jsonl. InputError where the main file is
    missing.
    """
    if path.is_dir():
        folder = path
        role = _main_role(folder, problems)
        main = folder / FILES[role]
    else:
        require_file(path, problems)
        folder, main = path.parent, path
        role = _role_of_file(path)
    files = {role: main}
    own_gold = folder / FILES["gold"]
    if options.gold is not None:
        files["gold"] = options.gold
    elif role == "outputs" and own_gold.is_file():
        files["gold"] = own_gold
    override = folder / FILES["override_gate"]
    if override.is_file():
        files["override_gate"] = override
    for file in files.values():
        require_file(file, problems)
    return Source(name or folder.resolve().name, files)


def _role_of_file(path: Path) -> str:
    """Whether a file holds outputs or scorecards: by its first line, or by its name."""
    keys: Any = ()
    with suppress(OSError, ValueError):
        keys = from_json(first_line(path))
    is_output = path.name == FILES["outputs"] or (isinstance(keys, dict) and "final_result" in keys)
    return "outputs" if is_output else "scorecards"


def _main_role(folder: Path, problems: Problems) -> str:
    """The role of a folder's main file: scorecards if they are there, else outputs.

    Beside what our own runner made, scorecards are what scoring it left there: outputs come first.
    """
    is_our_run = (folder / RUNNER[0]).is_file()
    for role in reversed(MAIN) if is_our_run else MAIN:
        if (folder / FILES[role]).is_file():
            return role
    message = f"holds neither {FILES['scorecards']} nor {FILES['outputs']}"
    raise problems.fatal("missing-file", message, file=folder)


def read_gold(path: Path, problems: Problems) -> dict[str, list[TupleRow]]:
    """Gold tuples by sample id. A line without an id or with a doubled one is an error."""
    gold: dict[str, list[TupleRow]] = {}
    first_lines = FirstLines(path, problems, code="duplicate-gold")
    for line, row in read_jsonl(path, Gold, problems):
        uid = first_id(row.uid, row.text_id, row.id)
        if not uid:
            problems.error("missing-id", "expected uid, text_id or id", file=path, line=line)
        elif first_lines.is_first(uid, line, id=uid, what="gold line for this sample"):
            gold[uid] = gold_rows(row)
    return gold


def read_override(path: Path, problems: Problems) -> dict[str, float]:
    """The numbers at the top level of an override summary, under override_* names; other values are passed over.

    A number that is not finite is an error. InputError for a file that is no JSON object.
    """
    summary = read_json(path, problems)
    if not isinstance(summary, dict):
        raise problems.fatal("not-an-object", "expected one JSON object", file=path)
    numbers = {}
    for name, value in summary.items():
        if type(value) not in (int, float):
            continue
        if not abs(value) < sys.float_info.max:  # NaN as well
            problems.error("bad-field", "expected a finite number", file=path, field=name)
            continue
        numbers[f"override_{name.removeprefix('override_')}"] = value
    return numbers
