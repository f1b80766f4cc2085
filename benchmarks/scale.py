"""Scoring large files of scorecards: time and memory beside the plain loop of json.loads; and the other limits.

    python benchmarks/scale.py                     files of 500, 5,000 and 50,000 rows, -j 2, three rounds
    python benchmarks/scale.py --sizes 500,5000 --rounds 5
    python benchmarks/scale.py --only commands     start-up, one small run, reports

The files are made under --folder from the rows of the reference scorecards (EVALTOOLS_REFERENCE) with new ids,
or, where there is no reference, from the bundled examples padded to the same size; syllables are exchanged, so that
no text, term or reference comes back when the rows run out. In each round the loop runs
before and after the command, so that whatever else the machine does falls on both; medians are printed. Memory
is the peak of the largest process. Prints Markdown tables.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

REFERENCE = Path(
    os.environ.get("EVALTOOLS_REFERENCE", Path(__file__).parents[2] / "shared" / "reference")
)
ROW_BYTES = 29_000
"""What a scorecard of a real run has; rows of the examples are padded to it."""

LOOP = "import json, sys\nfor line in open(sys.argv[1], 'rb'): json.loads(line)"


def rows() -> list[bytes]:
    """Scorecards of the reference runs, or of the bundled examples padded to the size of real ones."""
    files = sorted((REFERENCE / "cr").glob("cr_n50_*/scorecards.jsonl"))
    if files:
        return [
            line
            for f in files
            for line in f.read_bytes().removeprefix(b"\xef\xbb\xbf").splitlines()
        ]
    # a large parent would show in the peak memory of the commands
    from evaltools.core.files import EXAMPLES
    from evaltools.core.messages import Problems
    from evaltools.suites.cr.suite import write_scorecards

    found = []
    with tempfile.TemporaryDirectory() as name:
        for folder in sorted((EXAMPLES / "cr").glob("*__seed*")):
            path = Path(name) / "scorecards.jsonl"
            write_scorecards(
                folder / "outputs.jsonl", folder / "gold.jsonl", path, Problems("skip")
            )
            for line in path.read_bytes().splitlines():
                trace = [{"stage": "review", "text": "x" * 500}] * max(
                    0, (ROW_BYTES - len(line)) // 540
                )
                found.append(
                    json.dumps({**json.loads(line), "padding": trace}, ensure_ascii=False).encode()
                )
    return found


def exchanged(text: str, by: int) -> str:
    """The text with every Hangul syllable replaced by the one `by` places further on."""
    first, count = ord("가"), 11172
    return re.sub("[가-힣]", lambda c: chr(first + (ord(c[0]) - first + by) % count), text)


def make(path: Path, n: int) -> None:
    """A file of `n` scorecards with ids of their own, and each round of them with words of its own."""
    originals = [row.decode() for row in rows()]
    with path.open("w", encoding="utf-8") as f:
        for i in range(n):
            turn, place = divmod(i, len(originals))
            uid = re.search(r'"text_id": "([^"]+)"', originals[place])
            assert uid is not None
            row = originals[place].replace(uid[1], f"{uid[1]}-{i:06}")
            f.write(exchanged(row, 37 * turn) + "\n")


@dataclass(frozen=True)
class Run:
    seconds: float
    cpu: float
    peak_mb: float


def run(command: Sequence[str | Path]) -> Run:
    """Run a command to its end; its peak memory is that of its largest process."""
    before = os.times()
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, list(map(str, command)))
    after = os.times()
    cpu = (after.children_user + after.children_system) - (
        before.children_user + before.children_system
    )
    return Run(seconds, cpu, usage.ru_maxrss / 1024)


def median(runs: Sequence[Run], of: Callable[[Run], float]) -> float:
    return statistics.median(of(r) for r in runs)


def evaltools(*arguments: str | Path) -> list[str | Path]:
    return [sys.executable, "-m", "evaltools.app.cli", *arguments]


def sizes(folder: Path, counts: Sequence[int], rounds: int, jobs: int) -> None:
    print(f"`score cr -j {jobs}` beside the loop of json.loads, median of {rounds} rounds.\n")
    print(
        "| rows | MB | loop, s | score, s | score / loop | loop, CPU s | score, CPU s | peak MB | growth of peak |"
    )
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    first = None
    for n in counts:
        path = folder / f"scorecards_{n}.jsonl"
        make(path, n)
        out, loops, scores, ratios = folder / "out", [], [], []
        for _ in range(rounds):
            shutil.rmtree(out, ignore_errors=True)
            around = [run([sys.executable, "-c", LOOP, path])]
            scores.append(
                run(evaltools("score", "cr", path, "--name", "x", "-o", out, "-j", str(jobs), "-q"))
            )
            around.append(run([sys.executable, "-c", LOOP, path]))
            ratios.append(2 * scores[-1].seconds / sum(r.seconds for r in around))
            loops += around
        peak = median(scores, lambda r: r.peak_mb)
        first = first or peak
        print(
            f"| {n:,} | {path.stat().st_size / 1e6:,.0f} | {median(loops, lambda r: r.seconds):.2f} "
            f"| {median(scores, lambda r: r.seconds):.2f} | {statistics.median(ratios):.2f} "
            f"| {median(loops, lambda r: r.cpu):.2f} | {median(scores, lambda r: r.cpu):.2f} "
            f"| {peak:.0f} | {peak / first:.2f} |",
            flush=True,
        )
        path.unlink()


def commands(folder: Path, rounds: int) -> None:
    small = folder / "run"
    small.mkdir()
    make(small / "scorecards.jsonl", 50)
    many = [folder / f"run{i}" for i in range(8)]
    for copy in many:
        shutil.copytree(small, copy)
    out = folder / "out"
    rows: list[tuple[str, Sequence[str | Path], str]] = [
        ("`import evaltools`", [sys.executable, "-c", "import evaltools"], "< 0.1 s"),
        ("`evaltools --help`", evaltools("--help"), "< 0.15 s"),
        (
            "`evaltools score cr` of 50 samples",
            evaltools("score", "cr", small, "-o", out, "-q"),
            "< 1 s",
        ),
        (
            "`evaltools report cr` of 50 samples",
            evaltools("report", "cr", small, "-o", out, "-q"),
            "",
        ),
        (
            "`evaltools report cr -j 2` of eight such runs",
            evaltools("report", "cr", *many, "-o", out, "-j", "2", "-q"),
            "",
        ),
    ]
    print(f"\nCommands, median of {rounds} rounds.\n")
    print("| command | s | CPU s | peak MB | limit |")
    print("| --- | ---: | ---: | ---: | --- |")
    for name, command, limit in rows:
        found = []
        for _ in range(rounds):
            shutil.rmtree(out, ignore_errors=True)
            found.append(run(command))
        shown = (
            median(found, lambda r: r.seconds),
            median(found, lambda r: r.cpu),
            median(found, lambda r: r.peak_mb),
        )
        print(
            f"| {name} | {shown[0]:.2f} | {shown[1]:.2f} | {shown[2]:.0f} | {limit} |", flush=True
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", help="rows of scorecards; default: those above")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--folder", type=Path, help="where the files are made (1.6 GB); default: a temporary one"
    )
    parser.add_argument("--only", choices=["sizes", "commands"])
    args = parser.parse_args()
    counts = [int(n) for n in args.sizes.split(",")] if args.sizes else []
    with tempfile.TemporaryDirectory(dir=args.folder) as name:
        if args.only in (None, "sizes"):
            sizes(Path(name), counts or [500, 5_000, 50_000], args.rounds, args.jobs)
        if args.only in (None, "commands"):
            commands(Path(name), args.rounds)


if __name__ == "__main__":
    main()
