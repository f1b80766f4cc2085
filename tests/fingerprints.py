"""Fingerprints of every value that the commands write, so that a redesign can show that it changed none.

    python -m tests.fingerprints FOLDER            run the commands, write FOLDER/exact.json (to the last bit)
    python -m tests.fingerprints FOLDER --check F  the same, and list what differs from the exact.json F
    python -m tests.fingerprints FOLDER --store    the same, and store tests/data/fingerprints.json (9 digits)

A fingerprint is a hash of one column of one file, or of one metric. `tests/test_fingerprints.py` compares the stored
ones, at nine significant digits, as other processors sum in another order.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

STORED = Path(__file__).with_name("data") / "fingerprints.json"
REFERENCE = Path(
    os.environ.get(
        "EVALTOOLS_REFERENCE", Path(__file__).resolve().parents[2] / "shared" / "reference"
    )
)

RUNS = [f"{m}_memory__seed{s}_proposed" for m in ("no", "with") for s in (1, 2, 3)]
N50 = [f"{{ref}}/cr/cr_n50_m{m}__seed{s}_proposed" for m in (0, 1) for s in (42, 123, 456)]
FINAL = "{ref}/cr/final_260306_s0__seed42_proposed"
LLM = "{ref}/memfin/20260221_085707_llm"

SCENARIOS: dict[str, list[str]] = {
    "examples-cr": ["score", "cr", *(f"example:cr/{r}" for r in RUNS)],
    "examples-cr-v1": ["score", "cr", "example:cr/with_memory__seed1_proposed", "--protocol", "cr_v1"],
    "examples-cr-percentile": ["score", "cr", "example:cr/no_memory__seed2_proposed", "--ci", "percentile"],
    "examples-memfin": ["score", "memfin", "example:memfin/memory_agent", "example:memfin/plain_llm"],
    "examples-summary": ["score", "summary", "example:summary/cases.jsonl"],
    "examples-summary-seed": ["score", "summary", "example:summary/cases.jsonl", "--rules", "seed"],
    "examples-seeds": ["report", "seeds", *(f"example:cr/{r}" for r in RUNS)],
    "examples-systems": ["report", "memfin", "example:memfin/memory_agent", "example:memfin/plain_llm"],
    "examples-compare": ["compare", "example:cr/no_memory", "example:cr/with_memory", "--csv", "{out}/compare.csv"],
    "examples-compare-one": [
        "compare", "example:cr/no_memory__seed1_proposed", "example:cr/with_memory__seed2_proposed",
        "--csv", "{out}/compare.csv", "--ci", "percentile",
    ],
    "examples-compare-memfin": [
        "compare", "example:memfin/memory_agent", "example:memfin/plain_llm", "--csv", "{out}/compare.csv",
    ],
    "reference-cr": ["score", "cr", *N50, FINAL],
    "reference-cr-v1": ["score", "cr", *N50, FINAL, "--protocol", "cr_v1"],
    "reference-cr-policy": ["score", "cr", *N50, FINAL, "--match", "reference"],
    "reference-memfin": ["score", "memfin", "{ref}/memfin/20260219_101855"],
    "reference-memfin-llm": ["score", "memfin", LLM, "--ignore-memory-keys"],
    "reference-seeds": ["report", "seeds", *N50],
    "reference-compare": [
        "compare", "{ref}/cr/cr_n50_m0", "{ref}/cr/cr_n50_m1", "--csv", "{out}/compare.csv", "--protocol", "cr_v1",
    ],
    "reference-compare-one": ["compare", N50[2], N50[5], "--csv", "{out}/compare.csv"],
}  # fmt: skip

SKIPPED = {"eval_policy_hash", "eval_semver"}
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


def text(value: Any, digits: int | None) -> str:
    """A value as text: numbers to the last bit, or to so many significant digits; one text for every null."""
    if value is None or value is pd.NA or (isinstance(value, float) and value != value):
        return "null"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return repr(float(value)) if digits is None else f"{float(value):.{digits}g}"


def digest(values: Any, digits: int | None) -> str:
    return hashlib.sha256("\n".join(text(v, digits) for v in values).encode()).hexdigest()[:12]


def of_frame(frame: pd.DataFrame, digits: int | None) -> Iterator[tuple[str, str]]:
    for column in frame.columns:
        if column not in SKIPPED:
            yield str(column), digest(frame[column].astype(object).tolist(), digits)


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """(path, value) of every leaf of a JSON value."""
    if isinstance(value, dict):
        for k, v in value.items():
            yield from leaves(v, f"{path}.{k}")
    elif isinstance(value, list):
        for i, v in enumerate(value):
            yield from leaves(v, f"{path}.{i}")
    else:
        yield path, value


def of_file(path: Path, digits: int | None) -> Iterator[tuple[str, str]]:
    """(what, fingerprint) of all that a file says."""
    if path.name == "metrics.json":
        for m in json.loads(path.read_text(encoding="utf-8"))["metrics"]:
            yield m["name"], digest([m[f] for f in FIELDS if f in m], digits)
    elif path.name == "metrics_summary.json":
        found = list(leaves(json.loads(path.read_text(encoding="utf-8"))["metrics"]))
        yield "metrics", digest([x for pair in found for x in pair], digits)
    elif path.name in {"turn_eval.jsonl", "scorecards.jsonl"}:
        lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        yield (
            "lines",
            digest(
                [x for r in lines for k, v in leaves(r) if "sha256" not in k for x in (k, v)],
                digits,
            ),
        )
    elif path.suffix == ".csv":
        yield from of_frame(pd.read_csv(path, keep_default_na=False), digits)
    elif path.name == "units.parquet":
        yield from of_frame(pd.read_parquet(path), digits)


def in_a_process(command: list[str]) -> None:
    """Call evaltools as a user does."""
    words = [sys.executable, "-m", "evaltools.app.cli", *command]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, timeout=600)


def measure(
    folder: Path, *scenarios: str, call: Callable[[list[str]], Any] = in_a_process
) -> dict[str, dict[str, Path]]:
    """Run the scenarios; name -> {place: file written}."""
    found = {}
    for name in scenarios:
        out = folder / name
        out.mkdir(parents=True)
        command = [a.format(ref=REFERENCE, out=out) for a in SCENARIOS[name]]
        more = [] if command[0] == "compare" else ["--out", str(out)]
        # the first edition had no other intervals
        more += [] if "--ci" in command else ["--ci", "bca"]
        call([*command, *more])
        found[name] = {
            p.relative_to(out).as_posix(): p for p in sorted(out.rglob("*")) if p.is_file()
        }
    return found


def fingerprints(files: dict[str, Path], digits: int | None) -> dict[str, str]:
    return {
        f"{place}: {what}": value
        for place, path in files.items()
        if not place.startswith("reports/")
        for what, value in of_file(path, digits)
    }


def stored(
    files: dict[str, dict[str, Path]], names: dict[str, list[str]] | None = None
) -> dict[str, Any]:
    """One fingerprint a file, over `names` (kind of file -> what is looked at in it; by default all there is)."""
    found = {
        s: {p: dict(of_file(path, 9)) for p, path in places.items()} for s, places in files.items()
    }
    if names is None:
        names = {}
        for places in found.values():
            for place, values in places.items():
                names.setdefault(kind(place), list(values))
    return {
        "names": {k: v for k, v in names.items() if v},
        "files": {
            f"{s}/{place}": digest([values.get(n) for n in names.get(kind(place), ())], None)
            for s, places in found.items()
            for place, values in places.items()
            if values and not place.startswith("reports/")
        },
    }


def kind(place: str) -> str:
    """Files of one kind have the same columns: the suite is told by what stands beside them."""
    suite = next((s for s in ("memfin", "systems", "summary") if s in place.split("/")[0]), "")
    return f"{suite}{Path(place).name}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--check", type=Path)
    parser.add_argument("--store", action="store_true")
    given = parser.parse_args()
    names = [s for s in SCENARIOS if REFERENCE.is_dir() or not s.startswith("reference")]
    files = measure(given.folder, *names)
    exact = {name: fingerprints(found, None) for name, found in files.items()}
    (given.folder / "exact.json").write_text(
        json.dumps(exact, indent=0, ensure_ascii=False), encoding="utf-8"
    )
    if given.store:
        STORED.parent.mkdir(exist_ok=True)
        STORED.write_text(
            json.dumps(stored(files), indent=0, ensure_ascii=False) + "\n", encoding="utf-8"
        )
    if given.check:
        before = json.loads(given.check.read_text(encoding="utf-8"))
        differ = [
            f"{name} / {what}"
            for name, found in before.items()
            for what, value in found.items()
            if exact.get(name, {}).get(what) != value
        ]
        print("\n".join(differ[:200]))
        print(f"{sum(map(len, before.values()))} fingerprints, {len(differ)} differ")
        sys.exit(bool(differ))


if __name__ == "__main__":
    main()
