"""The first command of README with pip and with uv, side by side, each in a fresh clone and environment.

python benchmarks/install.py [--rounds N]

A round installs with every way twice: with an empty cache (cold) and with what that left (warm). Seconds of the clock
and of the processor for making the environment and installing, and of `evaltools demo` after a warm install;
megabytes of the environment, of byte code before and after the demo, and of the largest packages. With uv a warm
environment shares its files with the cache where both are on one file system.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

HERE = Path(__file__).parents[1]
WAYS = {
    "pip": ".venv/bin/pip install -q .",
    "pip, no byte code": ".venv/bin/pip install -q --no-compile .",
    "uv": ".venv/bin/pip install -q uv && .venv/bin/uv pip install -q --python .venv/bin/python .",
}
VENV = "python3 -m venv .venv && "


def took(command: str, clone: Path, cache: Path) -> tuple[float, float]:
    """Seconds of the clock and of the processor."""
    env = {**os.environ, "PIP_CACHE_DIR": str(cache / "pip"), "UV_CACHE_DIR": str(cache / "uv")}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    before, clock = os.times(), time.perf_counter()
    subprocess.run(command, shell=True, cwd=clone, env=env, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    user, system = (
        after.children_user - before.children_user,
        after.children_system - before.children_system,
    )
    return time.perf_counter() - clock, user + system


def megabytes(files: Iterable[Path]) -> float:
    return sum(f.lstat().st_size for f in files if not f.is_dir()) / 1e6


def packages(venv: Path) -> dict[str, float]:
    """Megabytes of each folder of the installed libraries, and of the programs."""
    libraries = next(venv.glob("lib/python*/site-packages"))
    sizes = {p.name: megabytes(p.rglob("*")) for p in libraries.iterdir() if p.is_dir()}
    joined: dict[str, float] = {}
    for name, size in sizes.items():
        name = name.removesuffix(".libs")
        joined[name] = joined.get(name, 0) + size
    return {**joined, "bin": megabytes((venv / "bin").iterdir())}


def table(found: Mapping[str, list[float]], form: str) -> str:
    return " | ".join(
        form.format(statistics.median(found[k])) if k in found else "" for k in COLUMNS
    )


COLUMNS = (
    "cold s",
    "cold CPU s",
    "warm s",
    "warm CPU s",
    "demo s",
    "demo CPU s",
    "MB",
    "byte code",
    "after demo",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=1)
    found: dict[str, dict[str, list[float]]] = {way: {} for way in WAYS}
    largest: dict[str, float] = {}
    for _ in range(parser.parse_args().rounds):
        for way, command in WAYS.items():
            with tempfile.TemporaryDirectory() as place:
                cache, notes = Path(place, "cache"), found[way]
                for state in ("cold", "warm"):
                    clone = Path(place, state)
                    subprocess.run(["git", "clone", "-q", HERE, clone], check=True)
                    measured = [*zip(("s", "CPU s"), took(VENV + command, clone, cache))]
                    venv = clone / ".venv"
                    if state == "warm":
                        notes.setdefault("MB", []).append(megabytes(venv.rglob("*")))
                        notes.setdefault("byte code", []).append(megabytes(venv.rglob("*.pyc")))
                        largest = packages(venv)
                        demo = took(".venv/bin/evaltools demo", clone, cache)
                        notes.setdefault("demo s", []).append(demo[0])
                        notes.setdefault("demo CPU s", []).append(demo[1])
                        notes.setdefault("after demo", []).append(megabytes(venv.rglob("*.pyc")))
                    for what, seconds in measured:
                        notes.setdefault(f"{state} {what}", []).append(seconds)
    print(f"| way | {' | '.join(COLUMNS)} |\n| --- |{' ---: |' * len(COLUMNS)}")
    for way, notes in found.items():
        print(f"| {way} | {table(notes, '{:.0f}')} |")
    print(
        "\n"
        + ", ".join(f"{k} {v:.0f}" for k, v in sorted(largest.items(), key=lambda x: -x[1])[:25])
    )


if __name__ == "__main__":
    main()
