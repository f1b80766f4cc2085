"""The numbers that the commands write, stored: a change of the code shows which of them it changed.

    python -m tests.fingerprints           run the commands, print what differs from the stored ones
    python -m tests.fingerprints --write   the same, and store the new numbers

Tables and metrics are stored cell by cell. Files with a row for each unit are reduced to a few
numbers for each column. `tests/test_fingerprints.py` compares all of them with the stored ones.
"""

import gzip
import json
import math
import sys
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from tests.app.calling import QUICK, call, without_pages
from tests.conftest import reference_folder
from tests.files import read_json

STORED = Path(__file__).with_name("data") / "fingerprints.json.gz"
REFERENCE = reference_folder()

Cell = float | str | None
Rows = dict[str, dict[str, Cell]]
"""Row key -> column -> value."""
Files = dict[str, Rows]
"""Scenario and path of a file -> its rows."""

RUNS = [f"{m}_memory__seed{s}_proposed" for m in ("no", "with") for s in (1, 2, 3)]
N50 = [f"{{ref}}/cr/cr_n50_m{m}__seed{s}_proposed" for m in (0, 1) for s in (42, 123, 456)]
FINAL = "{ref}/cr/final_260306_s0__seed42_proposed"
LLM = "{ref}/memfin/20260221_085707_llm"

SCENARIOS: dict[str, list[str]] = {
    "examples-cr": ["score", "cr", *(f"example:cr/{r}" for r in RUNS)],
    "examples-cr-v1": [
        "score",
        "cr",
        "example:cr/with_memory__seed1_proposed",
        "--protocol",
        "cr_v1",
    ],
    "examples-cr-percentile": [
        "score",
        "cr",
        "example:cr/no_memory__seed2_proposed",
        "--ci",
        "percentile",
    ],
    "examples-memfin": [
        "score",
        "memfin",
        "example:memfin/memory_agent",
        "example:memfin/plain_llm",
    ],
    "examples-summary": ["score", "summary", "example:summary/cases.jsonl"],
    "examples-summary-seed": ["score", "summary", "example:summary/cases.jsonl", "--rules", "seed"],
    "examples-seeds": ["report", "seeds", *(f"example:cr/{r}" for r in RUNS)],
    "examples-systems": [
        "report",
        "memfin",
        "example:memfin/memory_agent",
        "example:memfin/plain_llm",
    ],
    "examples-compare": [
        "compare",
        "example:cr/no_memory",
        "example:cr/with_memory",
    ],
    "examples-compare-one": [
        "compare",
        "example:cr/no_memory__seed1_proposed",
        "example:cr/with_memory__seed2_proposed",
    ],
    "examples-compare-memfin": [
        "compare",
        "example:memfin/memory_agent",
        "example:memfin/plain_llm",
    ],
    "reference-cr": ["score", "cr", *N50, FINAL],
    "reference-cr-v1": ["score", "cr", *N50, FINAL, "--protocol", "cr_v1"],
    "reference-cr-policy": ["score", "cr", *N50, FINAL, "--match", "reference"],
    "reference-memfin": ["score", "memfin", "{ref}/memfin/20260219_101855"],
    "reference-memfin-llm": ["score", "memfin", LLM, "--ignore-memory-keys"],
    "reference-seeds": ["report", "seeds", *N50],
    "reference-compare": [
        "compare",
        "{ref}/cr/cr_n50_m0",
        "{ref}/cr/cr_n50_m1",
        "--protocol",
        "cr_v1",
    ],
    "reference-compare-one": ["compare", N50[2], N50[5]],
}

FIELDS = (
    "value",
    "ci_low",
    "ci_high",
    "ci_method",
    "numerator",
    "denominator",
    "n_units",
    "group",
    "better",
)
"""What is stored of each metric in metrics.json."""

ROW_KEYS = {
    "structural_metrics.csv": ("run",),
    "compare.csv": ("metric", "candidate"),
    "comparison.csv": ("metric", "candidate"),
    "aggregated_mean_std.csv": ("condition", "metric"),
    "summary_scores.csv": ("case_id", "metric"),
}
"""The columns that name a row of each kind of CSV file."""

SKIPPED = {"eval_policy_hash", "eval_semver"}

OPEN = {
    "ci_low",
    "ci_high",
    "ci_method",
    "p_value",
    "p_adjusted",
    "verdict",
    "mde",
    "equivalence_low",
    "equivalence_high",
    "evidence",
}
"""Columns that are not held against the stored ones: values are, intervals and verdicts have tests of their own."""
FEW_VALUES = 8
"""A column of at most so many different texts is stored as the count of each."""
RELATIVE = 1e-9
ABSOLUTE = 1e-12


# Reading a file -----------------------------------------------------------------------------------


def cell(value: Any) -> Cell:
    """A number with 12 significant digits, a text, or None for every kind of null."""
    if value is None or value is pd.NA:
        return None
    if isinstance(value, str):
        return value
    number = float(value)
    return None if math.isnan(number) else float(f"{number:.12g}")


def csv_cell(text: str) -> Cell:
    """The number that a cell of a CSV file holds, or else its text; None where it is empty."""
    if text == "":
        return None
    try:
        return cell(float(text))
    except ValueError:
        return text


def column_summary(values: list[Any]) -> dict[str, Cell]:
    """A few numbers that change with every change of a column.

    Numbers: their sum, and the sum weighted by the row number, so that the order matters.
    Texts: the count of each, or, of many different ones, their length and a checksum.
    """
    cells = [cell(value) for value in values]
    numbers = [(row, c) for row, c in enumerate(cells, start=1) if isinstance(c, float)]
    texts = [c for c in cells if isinstance(c, str)]
    summary: dict[str, Cell] = {"nulls": float(cells.count(None))}
    if numbers:
        summary["sum"] = cell(math.fsum(number for _, number in numbers))
        summary["sum by row"] = cell(math.fsum(row * number for row, number in numbers))
    counts = Counter(texts)
    if len(counts) <= FEW_VALUES and all(len(text) < 40 for text in counts):
        for text in sorted(counts):
            summary[f"count of {text!r}"] = float(counts[text])
    else:
        summary["different texts"] = float(len(counts))
        summary["characters"] = float(sum(len(text) for text in texts))
        summary["checksum"] = float(zlib.crc32("\n".join(texts).encode()))
    return summary


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """(path, value) of every leaf of a JSON value; the items of a list share one path."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        yield f"{path}.length", len(value)
        for item in value:
            yield from leaves(item, f"{path}[]")
    else:
        yield path, value


def read_metrics(path: Path) -> Rows:
    rows: Rows = {}
    for metric in read_json(path)["metrics"]:
        rows[metric["name"]] = {f: cell(metric[f]) for f in FIELDS if f in metric}
    return rows


def read_metrics_summary(path: Path) -> Rows:
    rows: Rows = {}
    for name, value in leaves(read_json(path)["metrics"]):
        row, _, column = name.rpartition(".")
        rows.setdefault(row, {})[column] = cell(value)
    return rows


def read_json_lines(path: Path) -> Rows:
    columns: dict[str, list[Any]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        for name, value in leaves(json.loads(line)):
            columns.setdefault(name, []).append(value)
    return {name: column_summary(values) for name, values in columns.items()}


def read_csv(path: Path) -> Rows:
    rows: Rows = {}
    for record in pd.read_csv(path, dtype=str, keep_default_na=False).to_dict("records"):
        keys = [record[key] for key in ROW_KEYS[path.name]]
        cells = {str(c): csv_cell(text) for c, text in record.items() if c not in SKIPPED}
        rows[" / ".join(keys)] = cells
    return rows


def read_units(path: Path) -> Rows:
    frame = pd.read_parquet(path)
    return {str(c): column_summary(frame[c].astype(object).tolist()) for c in frame.columns}


READERS = {
    "metrics.json": read_metrics,
    "metrics_summary.json": read_metrics_summary,
    "turn_eval.jsonl": read_json_lines,
    "scorecards.jsonl": read_json_lines,
    "units.parquet": read_units,
    **dict.fromkeys(ROW_KEYS, read_csv),
}


# Running, storing, comparing ----------------------------------------------------------------------


def measure(folder: Path, scenario: str, reference: Path = REFERENCE) -> Files:
    """Run the command of a scenario in `folder` and read all the numbers that it wrote."""
    words = [word.format(ref=reference) for word in SCENARIOS[scenario]]
    out = ("--csv", folder / "compare.csv") if words[0] == "compare" else ("--out", folder)
    # few resamples: the intervals are not held against the stored ones
    with without_pages():  # which have no numbers of their own
        call(*words, *out, *QUICK)
    files: Files = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.name in READERS and not name.startswith("reports/"):
            files[f"{scenario}/{name}"] = READERS[path.name](path)
    return files


def read_stored() -> Files:
    return json.loads(gzip.decompress(STORED.read_bytes()))


def same(old: Cell, new: Cell) -> bool:
    if isinstance(old, int | float) and isinstance(new, int | float):
        return math.isclose(old, new, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    return old == new


def differences(old: Files, new: Files) -> list[str]:
    """A line for each stored number that is another one now; new files, rows and columns may be there."""
    lines = []
    for file, rows in old.items():
        if file not in new:
            lines.append(f"{file}: not written")
            continue
        for row, cells in rows.items():
            if row not in new[file]:
                lines.append(f"{file}: no row {row}")
                continue
            new_cells = new[file][row]
            for column, value in cells.items():
                if column in OPEN:
                    continue
                if column not in new_cells:
                    lines.append(f"{file}: {row}: no {column} (was {value})")
                elif not same(value, new_cells[column]):
                    lines.append(f"{file}: {row}: {column}: {value} -> {new_cells[column]}")
    return lines


def main() -> None:
    old = read_stored()
    new: Files = {}
    for scenario in SCENARIOS:
        if scenario.startswith("reference") and not REFERENCE.is_dir():
            print(f"{scenario}: left out, no folder {REFERENCE}", file=sys.stderr)
            new |= {f: rows for f, rows in old.items() if f.startswith(f"{scenario}/")}
            continue
        with tempfile.TemporaryDirectory() as folder:
            new |= measure(Path(folder), scenario)
    lines = differences(old, new)
    print("\n".join(lines))
    print(f"{len(lines)} numbers differ")
    if "--write" in sys.argv:
        text = json.dumps(new, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        STORED.write_bytes(gzip.compress(text.encode(), mtime=0))
    elif lines:
        sys.exit(1)


if __name__ == "__main__":
    main()
