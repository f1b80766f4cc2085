"""Names of runs: as folders, and as <run_id>__seed<N>_<mode>."""

from __future__ import annotations

import re
from typing import Any

from .errors import UsageError

RUN_NAME = re.compile(r"^(?P<run_id>.+)__seed(?P<seed>[^_]+)_(?P<mode>.+)$")
NATURAL = re.compile(r"(\d+)")


def natural(text: str) -> list[Any]:
    """Sort key under which seed 9 comes before seed 10."""
    return [(1, int(part), "") if part.isdigit() else (0, 0, part) for part in NATURAL.split(text)]


def condition_of(name: str) -> tuple[str, str, str]:
    """(run_id, seed, mode) of a run's name; UsageError where it is not <run_id>__seed<N>_<mode>."""
    found = RUN_NAME.match(name)
    if not found:
        raise UsageError(f"{name!r} is not named <run_id>__seed<N>_<mode>")
    return found["run_id"], found["seed"], found["mode"]


def safe_name(name: str) -> str:
    """A run's name as a folder name: it cannot leave the folder it is put in. UsageError where it would."""
    bad = re.search(r'[/\\:*?"<>|\x00-\x1f\ud800-\udfff]', name)
    if not name or name in {".", ".."} or bad or len(name.encode()) > 200:
        raise UsageError(f"{name!r} cannot be the name of a run: it must be usable as a folder name")
    return name
