"""Finding and reading the files of a Conflict Review run. Seed cr_metrics_spec 1, 6, 7."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import AliasChoices, Field
from pydantic_core import from_json

from ...core.errors import InputError, Problems
from ...core.json_files import read_json, read_jsonl
from ...core.records import FirstLines, first_line, fitted, require_file
from ...core.suite import Source
from .options import CrOptions
from .schema import Gold, Row, TupleRow, first_id
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


class OverrideGate(Row):
    """The numbers of the debate override, which Conflict Review switches off (seed cr_metrics_spec 6)."""

    candidate_n: float | None = Field(
        None, validation_alias=AliasChoices("override_candidate_n", "candidate_n")
    )
    applied_n: float | None = Field(
        None, validation_alias=AliasChoices("override_applied_n", "applied_n")
    )


def read_override(path: Path | None, problems: Problems) -> dict[str, Any]:
    """The columns of the override gate: override_candidate_n, override_applied_n, has_override.

    A file that does not fit is an error, without which the run can be scored: under on_error="skip" it is left out.
    """
    gate = None
    if path is not None:
        with suppress(InputError):
            gate = fitted(OverrideGate, read_json(path, problems), problems, file=path)
    gate = gate or OverrideGate()
    has_both = None not in (gate.candidate_n, gate.applied_n)
    return {
        "has_override": has_both,
        "override_candidate_n": gate.candidate_n if has_both else 0.0,
        "override_applied_n": gate.applied_n if has_both else 0.0,
    }
