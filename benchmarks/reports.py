"""Processor time of reports, as ratios to importing the libraries that they are made with.

python benchmarks/reports.py [--rounds N] [--before CHECKOUT]

Every round runs the imports, one report, and eight reports on two processes, with --before by another checkout too:
seconds of user and system of the whole tree of processes.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

LIBRARIES = "import pandas, seaborn, scipy.stats, matplotlib.pyplot, papermill, nbconvert, pyarrow"
HERE = Path(__file__).parents[1]
EXAMPLE = HERE / "evaltools/app/examples/cr/with_memory__seed1_proposed"


PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Become the parent of processes that outlive theirs, as a server of processes may, so that their time is counted."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def cpu(command: list[str], cwd: Path, checkout: Path = HERE) -> float:
    """Seconds of processor time of a command and of all processes that it leaves behind, which are waited for."""
    before = os.times()
    env = {**os.environ, "PYTHONPATH": str(checkout)}
    subprocess.run(command, cwd=cwd, env=env, check=True, stdout=subprocess.DEVNULL)
    with suppress(ChildProcessError):  # until none is left
        while True:
            os.wait()
    after = os.times()
    return (
        after.children_user + after.children_system - before.children_user - before.children_system
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--before", type=Path)
    given = parser.parse_args()
    adopt_orphans()
    ways = [("now", HERE)]
    if given.before:
        ways.insert(0, ("before", given.before.resolve()))
    report = [sys.executable, "-m", "evaltools.app.cli", "report", "cr", "-q", "--fresh"]
    found: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for i in range(8):
            shutil.copytree(EXAMPLE, folder / f"run{i}")
        for _ in range(given.rounds):
            imports = cpu([sys.executable, "-c", LIBRARIES], folder)
            found.setdefault("the imports", []).append(imports / imports)
            for runs, what in ((1, "one report"), (8, "eight reports, `-j 2`")):
                for name, way in ways:
                    command = [
                        *report,
                        *(f"run{i}" for i in range(runs)),
                        *(["-j", "2"] if runs > 1 else []),
                    ]
                    found.setdefault(f"{what}, {name}", []).append(
                        cpu(command, folder, way) / imports
                    )
    print("| what | times the imports |\n| --- | ---: |")
    for what, ratios in found.items():
        print(
            f"| {what} | {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}) |"
        )


if __name__ == "__main__":
    main()
