"""Signals at random moments: SIGINT, SIGTERM and SIGHUP end commands, SIGSTOP and SIGCONT hold them up.

    python benchmarks/signals.py [--kills 60] [--seed 15] [--holds 6]

Each kind of command is run once undisturbed, then again and again in a folder that holds an older result, and ended
at a moment drawn between its start and its usual end. Afterwards must hold: status 130 (or 0, where it was done
already), one line and no traceback, the older result or the new one whole, no process left, and after the same
command once more nothing left of the ended one, and the files of the undisturbed run to the byte. Prints a line a
command, and every violation; status 1 where there is one.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.model_server import Answer, ModelServer, Seen  # noqa: E402
from tests.suites.cr.inference.test_run import sensible, write  # noqa: E402

RUNS = [f"example:cr/{c}__seed1_proposed" for c in ("no_memory", "with_memory")]
QUICK = ("-q", "--n-resamples", "100")
COMMANDS = {
    "score": ("score", "cr", RUNS[0], *QUICK),
    "report": ("report", "summary", "example:summary/cases.jsonl", *QUICK),
    "batch": ("report", "cr", *RUNS, "-j", "2", *QUICK),
    "run cr": ("run", "cr", "run.toml", "-q"),
}
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
TIMED = {
    "manifest.json",
    "run_manifest.json",
    "calls.jsonl",
    "index.html",
    "outputs.jsonl",
    ".lock",
}
"""Files that hold times."""


def files(folder: Path) -> dict[str, bytes]:
    return {
        p.relative_to(folder).as_posix(): b""
        if p.name in TIMED or "llm-cache" in p.parts
        else p.read_bytes()
        for p in sorted(folder.rglob("*"))
        if p.is_file() and p.name != ".lock"
    }


def alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def begin(command: tuple[str, ...], folder: Path) -> subprocess.Popen[str]:
    # what is kept from a terminal or from nohup must not decide
    default = lambda: [signal.signal(s, signal.SIG_DFL) for s in SIGNALS]  # noqa: E731
    env = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "OPENAI_API_KEY": "",  # the server of this script needs no key
        "NO_PROXY": "127.0.0.1",
    }
    return subprocess.Popen(
        [sys.executable, "-m", "evaltools.app.cli", *command], cwd=folder, env=env, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, preexec_fn=default,
    )  # fmt: skip


def whole(folder: Path) -> list[str]:
    """What is half-written below outputs: parts, JSON that ends early, results whose hashes differ."""
    out = folder / "outputs"
    found = [f"left: {p.relative_to(folder)}" for p in out.rglob(".*") if p.name != ".lock"]
    for path in out.rglob("*.json*"):
        try:
            for text in (
                path.read_text("utf-8").splitlines()
                if path.suffix == ".jsonl"
                else [path.read_text("utf-8")]
            ):
                json.loads(text)
        except ValueError:
            found.append(f"cut: {path.relative_to(folder)}")
    for page in out.rglob("*.html"):
        if not page.read_text("utf-8").rstrip().endswith("</html>"):
            found.append(f"cut: {page.relative_to(folder)}")
    from evaltools.core.files import file_hashes

    for manifest in out.glob("results/*/manifest.json"):
        if json.loads(manifest.read_text("utf-8")).get("files") != file_hashes(manifest.parent):
            found.append(f"mixed: {manifest.parent.relative_to(folder)}")
    return found


def attack(
    name: str, folder: Path, expected: dict[str, bytes], usual: float, draw: random.Random
) -> tuple[str, list[str]]:
    """One kill of a command; which signal, and what is wrong after it."""
    how, group = draw.choice(SIGNALS), draw.random() < 0.5
    moment, old = draw.uniform(0.02, 1.0) * usual, draw.random() < 0.5
    shutil.rmtree(folder / "outputs", ignore_errors=True)
    again = COMMANDS[name]
    fresh = (*again, "--fresh", *(("--seed", "3") if name != "run cr" else ()))
    if old:
        shutil.copytree(folder / "whole", folder / "outputs")
    before = files(folder / "outputs") if old else {}
    running = begin(fresh if old else again, folder)
    time.sleep(moment)
    below: list[psutil.Process] = []
    with suppress(psutil.Error):
        below = psutil.Process(running.pid).children(recursive=True)
    with suppress(ProcessLookupError):
        (os.killpg if group else os.kill)(running.pid, how)
    _, errors = running.communicate(timeout=300)
    wrong = []
    # before Python has its handlers the system's own answer is the status
    early = running.returncode == -how and not errors
    status = running.returncode
    if (
        status == -signal.SIGINT and errors
    ):  # how Python itself ends after an interrupt, 130 to a shell
        status = 130
    if status not in (0, 130) and not early:
        wrong.append(f"status {status}")
    if not early and ("Traceback" in errors or len(errors.splitlines()) > 1 or "error" in errors):
        wrong.append(f"said {errors[-600:]!r}")
    wrong += [f"alive: {p}" for p in below if alive(p)] + whole(folder)
    if old:
        results = {n: b for n, b in before.items() if n.startswith("results/")}
        now = files(folder / "outputs")
        wrong += [f"lost: {n}" for n in results if n not in now]
    ended = "early" if early else str(status)
    after = begin(again, folder)
    _, errors = after.communicate(timeout=300)
    if (after.returncode, errors) != (0, ""):
        wrong.append(f"then status {after.returncode}, {errors[-600:]!r}")
    found = files(folder / "outputs")
    wrong += [
        f"then {'differs' if n in found else 'lacks'}: {n}"
        for n in expected
        if found.get(n) != expected[n]
    ]
    wrong += [f"then left: {n}" for n in found if n not in expected] + whole(folder)
    what = f"{how.name} to {'all' if group else 'one'} after {moment:.2f} of {usual:.1f} s, older result {old}"
    return ended, [f"{name}: {what}: {w}" for w in wrong]


def hold(
    name: str, folder: Path, expected: dict[str, bytes], usual: float, draw: random.Random
) -> list[str]:
    """Stop and continue a command and all of its processes three times."""
    shutil.rmtree(folder / "outputs", ignore_errors=True)
    running = begin(COMMANDS[name], folder)
    for _ in range(3):
        time.sleep(draw.uniform(0.02, 0.3) * usual)
        for order in (signal.SIGSTOP, signal.SIGCONT):
            with suppress(ProcessLookupError, psutil.Error):
                for p in [
                    *psutil.Process(running.pid).children(recursive=True),
                    psutil.Process(running.pid),
                ]:
                    p.send_signal(order)
            time.sleep(draw.uniform(0.05, 1.0) if order == signal.SIGSTOP else 0)
    _, errors = running.communicate(timeout=300)
    same = files(folder / "outputs") == expected
    return (
        []
        if (running.returncode, errors, same) == (0, "", True)
        else [f"{name}: held: {running.returncode} {errors}"]
    )


def sensibly_slow(seen: Seen) -> Answer:
    return Answer(body=sensible(seen).body, delay=0.05)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--holds", type=int, default=6)
    parser.add_argument("--seed", type=int, default=15)
    parser.add_argument("--only", choices=COMMANDS)
    given: Any = parser.parse_args()
    draw, wrong = random.Random(given.seed), list[str]()
    names = [given.only] if given.only else [*COMMANDS]
    with tempfile.TemporaryDirectory() as scratch, ModelServer(sensibly_slow) as server:
        for name in names:
            folder = Path(scratch) / name.replace(" ", "_")
            folder.mkdir()
            write(
                folder, server.url, conditions=["s0", "m0"], seeds=[1, 2], model="concurrency = 2"
            )
            began = time.monotonic()
            first = begin(COMMANDS[name], folder)
            _, errors = first.communicate()
            usual = time.monotonic() - began
            assert first.returncode == 0, errors
            expected = files(folder / "outputs")
            (folder / "outputs").rename(folder / "whole")
            ended: Counter[str] = Counter()
            for _ in range(given.kills // len(names)):
                how, found = attack(name, folder, expected, usual, draw)
                ended[how] += 1
                wrong += found
                for line in found:
                    print(line, flush=True)
            for _ in range(given.holds // len(names)):
                found = hold(name, folder, expected, usual, draw)
                wrong += found
                for line in found:
                    print(line, flush=True)
            print(
                f"{name}: {ended.total()} kills: {dict(ended)}; held {given.holds // len(names)} times",
                flush=True,
            )
    print(f"{len(wrong)} violations")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
