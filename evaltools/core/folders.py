"""Folders of results: each appears whole or not at all, and nothing goes that this package did not write."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path

from .errors import UsageError
from .files import HOST, beside, require_writable

LOCK = ".lock"
"""Beside the folders of results: who swaps one in holds it."""

OLD = "old"
"""Within a part: the folder in which the old result waits, under its name, while the new one takes its place."""

PART = re.compile(r"\..+\.([\w-]+)-(\d+)\.\w+\.part")
"""The name of what is half-written: of which host and process."""

OF_DESKTOPS = (".DS_Store", "Thumbs.db", "desktop.ini")
"""Files that file managers leave in any folder."""

LEFTOVER_SECONDS = 24 * 3600
"""What is half-written and of this age is nobody's, whichever machine its process was on."""

NAMED = 5
"""So many files that are not ours are named."""


def require_out(out: Path) -> None:
    """UsageError where the results and reports of a command could not be written below `out`."""
    for folder in (out, out / "results", out / "reports"):
        require_writable(folder)


def require_replaceable(
    folder: Path,
    carried: Sequence[str] = (),
) -> None:
    """UsageError where a folder is in the way of a result: something in it was not written by this package.

    `carried`: files that stay when the folder is replaced.
    """
    if folder.is_symlink():
        raise UsageError(f"{folder} is a link; remove the link, or give another --out or --name")
    if not folder.exists():
        return
    if not folder.is_dir():
        raise UsageError(f"{folder} is no folder; move it, or give another --out or --name")
    foreign = [name for name in foreign_files(folder) if name not in carried]
    if not foreign:
        return
    names = ", ".join(foreign[:NAMED])
    n_more = len(foreign) - NAMED
    if n_more > 0:
        names = f"{names} and {n_more} more"
    raise UsageError(
        f"{folder} holds what evaltools did not write, and would be replaced: "
        f"{names}; move it, or give another --out or --name"
    )


def foreign_files(folder: Path) -> list[str]:
    """The files below a folder, hidden ones too, that the manifest of a result in it does not name."""
    from .results import read_manifest  # which reads what stands in such folders

    manifest = read_manifest(folder)
    ours = {"manifest.json", *manifest.files} if manifest is not None else set()
    foreign = []
    for path in folder.rglob("*"):
        if path.is_dir() and not path.is_symlink():
            continue
        name = path.relative_to(folder).as_posix()
        is_half_written = any(map(PART.fullmatch, path.relative_to(folder).parts))
        if name not in ours and not is_half_written and path.name not in OF_DESKTOPS:
            foreign.append(name)
    return sorted(foreign)


@contextmanager
def whole_folder(
    target: Path,
    carried: Sequence[str] = (),
) -> Iterator[Path]:
    """A folder to fill that takes the place of `target` whole when the block ends well, and goes when it does not.

    What was there before stays until then. One process at a time swaps a folder in; a process that is killed leaves
    the old or the new result (`put_back`). Where the block fails, folders above that were made for it are gone too.

    UsageError where `target` holds what this package did not write, but for the files `carried`, which the block
    takes over.
    """
    from filelock import FileLock

    require_replaceable(target, carried)
    new_parents = [path for path in target.parents if not path.exists()]
    target.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(**beside(target)))
    try:
        new = part / "new"
        new.mkdir()
        yield new
        with FileLock(target.parent / LOCK):
            require_replaceable(target, carried)
            _swap(new, target, part / OLD / target.name)
            _settle(part)
    except BaseException:
        with suppress(OSError):
            _settle(part)
        with suppress(OSError):  # somebody else's by now
            for folder in new_parents:
                folder.rmdir()
        raise


def _swap(
    new: Path,
    target: Path,
    old: Path,
) -> None:
    """Put `new` in the place of `target`, which waits as `old`: where this is cut off, `put_back` ends it."""
    if target.exists():
        old.parent.mkdir()
        target.rename(old)
    new.rename(target)


def _settle(part: Path) -> None:
    """Remove a part; an old result in it whose place is empty returns there first."""
    _put_back(part)
    shutil.rmtree(part, ignore_errors=True)


def _put_back(part: Path) -> None:
    for old in part.glob(f"{OLD}/*"):
        place = part.parent / old.name
        if not os.path.lexists(place):
            old.rename(place)


def put_back(target: Path) -> None:
    """Put a result back in its place where a process was killed while it replaced it."""
    from filelock import FileLock

    if os.path.lexists(target) or not any(target.parent.glob(f".*.part/{OLD}")):
        return
    with suppress(OSError), FileLock(target.parent / LOCK):  # nobody is at it while we hold this
        for part in target.parent.glob(".*.part"):
            _put_back(part)


def remove_leftovers(out: Path) -> None:
    """Remove below `out` what processes left half-written that are gone; results that they took away return."""
    from filelock import FileLock

    below = [(out / folder).rglob(".*.part") for folder in ("results", "reports")]
    for path in [*out.glob(".*.part"), *chain.from_iterable(below)]:
        with suppress(OSError):
            if path.is_symlink() or not _is_leftover(path):
                continue
            if (path / OLD).is_dir():
                with FileLock(path.parent / LOCK):
                    _put_back(path)
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink()


def _is_leftover(path: Path) -> bool:
    """Whether a path is a half-written file or folder whose process is gone, or of another machine and a day old."""
    import psutil

    match = PART.fullmatch(path.name)
    if match is None:
        return False
    host, process = match[1], int(match[2])
    if host == HOST and not psutil.pid_exists(process):
        return True
    return time.time() - path.stat().st_mtime > LEFTOVER_SECONDS
