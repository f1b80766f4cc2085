"""Names of runs: as folders, and as <run_id>__seed<N>_<mode>."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from glob import escape
from pathlib import Path
from typing import Any

from .errors import UsageError
from .files import EXAMPLES, resolve
from .language import first_ten, speaking

RUN_NAME = re.compile(r"^(?:(?P<run_id>.+)__)?seed(?P<seed>[^_]+)_(?P<mode>.+)$")
LONGEST_NAME = 200
"""Bytes of the longest name of a folder: with what is added to it, file systems take 255."""

NATURAL = re.compile(r"([0-9]+)")


def natural(text: str) -> list[Any]:
    """Sort key under which seed 9 comes before seed 10."""
    parts: list[Any] = NATURAL.split(text)  # texts and numbers in turn
    parts[1::2] = map(int, parts[1::2])
    return parts


def condition_of(name: str) -> tuple[str, str, str]:
    """(run_id, seed, mode) of a run's name; UsageError where it is not <run_id>__seed<N>_<mode>.

    The mode of a name seed<N>_<mode> stands for its run_id.
    """
    match = RUN_NAME.match(name)
    if not match:
        raise UsageError(f"{name!r} is not named <run_id>__seed<N>_<mode>")
    return match["run_id"] or match["mode"], match["seed"], match["mode"]


def safe_name(name: str) -> str:
    """A run's name as a folder name: it cannot leave the folder it is put in. UsageError where it would."""
    if not isinstance(name, str):
        raise UsageError(
            f"name: expected a text, got {name!r} (papermill -p reads 007 as a number, -r name 007 keeps it)"
        )
    bad = re.search(r'[/\\:*?"<>|\x00-\x1f\ud800-\udfff]', name)
    if not name or name.startswith(".") or bad or len(name.encode()) > LONGEST_NAME:
        raise UsageError(
            f"{name[:80]!r} cannot be the name of a run: it must be usable as a folder name, not hidden"
        )
    return name


def first_names(names: Iterable[Any]) -> str:
    """Names for an error or a line of the terminal: the first ten, and how many more there are."""
    with speaking("en"):
        return ", ".join(first_ten([*names]))


def nearest(
    name: str,
    known: Sequence[str],
) -> str:
    """What to say of a name that is not known: those that come closest, or the first ten."""
    near = get_close_matches(
        name,
        known,
        3,
        0.5,
    )
    if near:
        return f"did you mean {', '.join(near)}?"
    return f"there are {first_names(known)}"


def find_runs(run: str | Path) -> list[Path]:
    """The runs that a path stands for, in natural order; one that is there, or bundled, as it was given.

    Runs joined by commas; a run folder or file; a results folder; or the common prefix of folders, or of
    files, named <run_id>__seed<N>_<mode>. UsageError where nothing is found.
    """
    runs: list[Path] = []
    parts = [str(run)] if Path(run).exists() else str(run).split(",")
    for part in filter(None, map(str.strip, parts)):
        name = part.removeprefix("example:")
        prefix = EXAMPLES / name if name != part else resolve(part)
        seeds = list(prefix.parent.glob(f"{escape(prefix.name)}__seed*"))
        found = [path for path in seeds if path.is_dir()] or seeds
        if prefix.exists():
            found = [prefix if name == part else Path(part)]
        if not found:
            beside = f"{prefix.name}__seed<N>_<mode>"
            raise UsageError(
                f"{part}: no such run, and nothing named {beside} beside it, in {prefix.parent.absolute()}"
            )
        runs += found
    return sorted(runs, key=lambda run: natural(str(run)))
