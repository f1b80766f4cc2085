"""Finding and reading the files of a Conflict Review run."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ...core.errors import Problems
from ...core.records import first_line, read_json, read_jsonl, require_file
from ...core.suite import Source
from .options import CrOptions
from .schema import Gold, Output, TupleRow
from .sources import gold_rows, text_id
from .tuples import KNOWN, given_polarity, polarity_of

FLOAT_LIMIT = sys.float_info.max

FILES = {
    "scorecards": "scorecards.jsonl",
    "outputs": "outputs.jsonl",
    "gold": "gold.jsonl",
    "override_gate": "override_gate_debug_summary.json",
}


RUNNER = ("run_manifest.json", "outputs.jsonl", "gold.jsonl", "calls.jsonl", "episodes.jsonl")
"""What our own runner makes, the file that marks such a folder first."""

MAIN = ("scorecards", "outputs")
"""The roles of a run's main file, the preferred one first."""


def locate(path: Path, name: str | None, options: CrOptions, problems: Problems) -> Source:
    """The files of a run folder, or of one scorecards or outputs file.

    A folder's scorecards.jsonl is used if it is there (and no runner of ours made the folder), else its outputs.jsonl
    with the gold of the options or its own gold.jsonl. A file counts as outputs if its name holds "output", else as
    scorecards.
    """
    if path.is_dir():
        folder = path
        # beside what our own runner made, scorecards are what scoring it left there
        roles = MAIN[::-1] if (folder / RUNNER[0]).is_file() else MAIN
        role = next((r for r in roles if (folder / FILES[r]).is_file()), None)
        if role is None:
            message = f"holds neither {FILES['scorecards']} nor {FILES['outputs']}"
            raise problems.fatal("missing-file", message, file=str(path))
        main = folder / FILES[role]
    else:
        require_file(path, problems)
        folder, main = path.parent, path
        role = "outputs" if "output" in path.name.lower() else "scorecards"
    files = {role: main}
    if options.gold is not None:
        files["gold"] = options.gold
    elif role == "outputs" and (folder / FILES["gold"]).is_file():
        files["gold"] = folder / FILES["gold"]
    if (folder / FILES["override_gate"]).is_file():
        files["override_gate"] = folder / FILES["override_gate"]
    for file in files.values():
        require_file(file, problems)
    return Source(name or folder.resolve().name, files)


def sniff(path: Path) -> bool:
    """Whether a path looks like a run: a folder with a main file, or a file whose first line has an id in `meta`."""
    try:
        if path.is_dir():
            return any((path / FILES[role]).is_file() for role in MAIN)
        return path.is_file() and bool(text_id(Output.model_validate_json(first_line(path))))
    except (OSError, ValueError):
        return False


def read_gold(path: Path, problems: Problems) -> dict[str, list[TupleRow]]:
    """Gold tuples by sample id. A line without an id or with a doubled one is an error."""
    out: dict[str, list[TupleRow]] = {}
    for number, row in read_jsonl(path, Gold, problems):
        where: dict[str, Any] = {"file": str(path), "line": number, "id": row.key}
        if not row.key:
            problems.error("missing-id", "expected uid, text_id or id", **where)
        elif row.key in out:
            problems.error(
                "duplicate-gold", "a second gold line for this sample; the first counts", **where
            )
        else:
            out[row.key] = gold_rows(row)
    return out


def read_override(path: Path, problems: Problems) -> dict[str, float]:
    """The numbers at the top level of an override summary, under override_* names; what is no number is passed over.

    A number that is not finite is an error. Raises InputError for a file that is no JSON object.
    """
    summary = read_json(path, problems)
    if not isinstance(summary, dict):
        raise problems.fatal("not-an-object", "expected one JSON object", file=str(path))
    found = {}
    for name, value in summary.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        if not abs(value) < FLOAT_LIMIT:  # NaN as well
            problems.error("bad-field", "expected a finite number", file=str(path), field=name)
            continue
        found[name if name.startswith("override_") else f"override_{name}"] = value
    return found


def doubts(rows: Iterable[TupleRow], text: str | None) -> Iterator[tuple[str, str]]:
    """(code, message) of each polarity outside the list, and of each span outside the text."""
    for i, row in enumerate(rows):
        polarity, span = polarity_of(row), row.span
        if polarity and polarity not in KNOWN and given_polarity(polarity) not in KNOWN:
            message = f"polarity {polarity!r} of tuple {i} counts as neutral; expected one of "
            yield "unknown-polarity", message + ", ".join(sorted(KNOWN))
        if span is not None and text is not None and not 0 <= span.start <= span.end <= len(text):
            message = f"span [{span.start}, {span.end}] of tuple {i} is not within the text's {len(text)} characters"
            yield "span-outside-text", message
