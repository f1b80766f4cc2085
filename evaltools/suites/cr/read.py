"""Finding and reading the files of a Conflict Review run. Seed cr_metrics_spec 1, 6, 7."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import AliasChoices, Field

from ...core.errors import InputError, Problems
from ...core.json_files import read_json, read_jsonl
from ...core.records import File, fitted, unique_records
from ...core.suite import Source
from .options import CrOptions
from .schema import Gold, Row, TupleRow
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


class FirstRow(Row):
    """What tells outputs from scorecards."""

    final_result: Any = None


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
    folder = path if path.is_dir() else path.parent
    if path.is_dir():
        # beside what our own runner made, scorecards are what scoring it left there
        is_our_run = (folder / RUNNER[0]).is_file()
        roles = [role for role in MAIN if (folder / FILES[role]).is_file()]
        if not roles:
            message = f"holds neither {FILES['scorecards']} nor {FILES['outputs']}"
            raise problems.fatal("missing-file", message, file=folder)
        role = roles[-1 if is_our_run else 0]
        path = folder / FILES[role]
    else:
        File(path, problems)
        _, first = next(read_jsonl(File(path, Problems("skip")), FirstRow), (0, FirstRow()))
        has_result = "final_result" in first.model_fields_set
        is_output = has_result or path.name == FILES["outputs"]
        role = "outputs" if is_output else "scorecards"
    files = {role: path}
    gold, override = folder / FILES["gold"], folder / FILES["override_gate"]
    if options.gold is not None:
        files["gold"] = options.gold
    elif role == "outputs" and gold.is_file():
        files["gold"] = gold
    if override.is_file():
        files["override_gate"] = override
    for file in files.values():
        File(file, problems)
    return Source(name or folder.resolve().name, files)


def read_gold(file: File) -> dict[str, list[TupleRow]]:
    """Gold tuples by sample id. A line without an id or with a doubled one is an error."""
    rows = read_jsonl(file, Gold)
    what = "gold line for this sample"
    first = unique_records(
        rows,
        Gold.name,
        file,
        what,
        "duplicate-gold",
    )
    return {row.name(): gold_rows(row) for _, row in first}


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
    gate = OverrideGate()
    if path is not None:
        with suppress(InputError):
            file = File(path, problems)
            gate = fitted(OverrideGate, read_json(file), file.error) or gate
    has_both = None not in (gate.candidate_n, gate.applied_n)
    return {
        "has_override": has_both,
        "override_candidate_n": gate.candidate_n if has_both else 0.0,
        "override_applied_n": gate.applied_n if has_both else 0.0,
    }
