"""Folders of results: each appears whole or not at all, and nothing goes that this package did not write."""

from __future__ import annotations

import ctypes
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

from filelock import FileLock, Timeout

from .errors import UsageError
from .files import YOURS, beside, require_writable, sha256
from .manifest import NAME, Manifest, read_manifest
from .names import first_names
from .terminal import echo

LOCK = ".lock"  # beside the folders of results: who puts one in its place holds it
OF_DESKTOPS = (".DS_Store", "Thumbs.db", "desktop.ini")  # file managers leave these in any folder
AT_FDCWD, RENAME_EXCHANGE = -100, 2  # of renameat2(2)


def require_out(out: Path) -> None:
    """UsageError where the results and reports of a command could not be written below `out`."""
    for folder in (out, out / "results", out / "reports"):
        require_writable(folder)


def require_replaceable(
    folder: Path,
    carried: Sequence[str] = (),
) -> Manifest | None:
    """The manifest of a result that a new one would replace; None where there is none.

    UsageError where a folder is in the way: something in it was not written by this package. `carried`: files that stay
    when the folder is replaced.
    """
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise UsageError(
            f"{folder} is a link or no folder; move it, or give another --out or --name"
        )
    stored = read_manifest(folder)
    ours = set(carried) if stored is None else {*carried, NAME, *stored.files}
    foreign = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        is_ours = name in ours or (ours and YOURS in path.name)
        is_file = path.is_symlink() or not path.is_dir()
        if is_file and not is_ours and path.name not in OF_DESKTOPS:
            foreign.append(name)
    if foreign:
        raise UsageError(
            f"{folder} holds what evaltools did not write, and would be replaced: "
            f"{first_names(foreign)}; move it, or give another --out or --name"
        )
    return stored


@contextmanager
def whole_folder(
    target: Path,
    carried: Sequence[str] = (),
    written: Mapping[str, str] | None = None,
) -> Iterator[Path]:
    """A folder to fill that takes the place of `target` whole when the block ends well, and goes when it does not.

    What was there before stays until then. One process at a time puts a folder in its place. A file of the old
    result that a person changed stands in the new one as NAME.yours, and a line says so. Where the block fails,
    folders above that were made for it are gone too.

    UsageError where `target` holds what this package did not write, but for the files `carried`, which stand in the
    new folder too, and may be replaced there; `written`: the sha256 of those that are, as they were written.
    """
    require_replaceable(target, carried)
    new_parents = [path for path in target.parents if not path.exists()]
    target.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(**beside(target)))
    try:
        new = part / "new"
        new.mkdir()
        for name in carried:
            if (target / name).is_file():
                shutil.copy2(target / name, new / name)
        yield new
        with locked(target.parent):
            stored = require_replaceable(target, carried)
            for kept in sorted(target.rglob(f"*{YOURS}*")):
                copy = new / kept.relative_to(target)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(kept, copy)
            known: Mapping[str, str] = {} if stored is None else stored.files
            known = {name: known[name] for name in known.keys() - carried} | dict(written or {})
            for name in changed_files(target, known):
                set_aside(target / name, new / name)
            _exchange(new, target)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        with suppress(OSError):  # somebody else's by now
            for folder in new_parents:
                folder.rmdir()
        raise
    shutil.rmtree(part, ignore_errors=True)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """One process at a time is in the block; one that waits says so, and for what."""
    lock = FileLock(folder / LOCK)
    try:
        lock.acquire(timeout=2)
    except Timeout:
        echo(f"waiting for another process that writes to {folder} ({folder / LOCK})", err=True)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def changed_files(folder: Path, files: Mapping[str, str]) -> list[str]:
    """Those of the files (name -> sha256) that are gone from a folder, or are not as they were written."""
    paths = {name: folder / name for name in files}
    return [n for n, path in paths.items() if not path.is_file() or sha256(path) != files[n]]


def set_aside(path: Path, copy: Path) -> None:
    """Copy a file that a person changed, if it is there, beside the one that replaces it, as NAME.yours, and say so."""
    if path.is_file():
        names = (f"{copy.name}{YOURS}{n if n > 1 else ''}" for n in count(1))
        kept = next(copy.with_name(name) for name in names if not copy.with_name(name).exists())
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, kept)
        echo(f"{path} was changed by hand: it is kept as {path.with_name(kept.name)}", err=True)


def _exchange(new: Path, target: Path) -> None:
    """Put `new` in the place of `target`; what stood there is where `new` was. At once where the system can."""
    if not target.exists():
        new.rename(target)
        return
    swap = getattr(ctypes.CDLL(None), "renameat2", None) if os.name == "posix" else None
    paths = os.fsencode(new.absolute()), os.fsencode(target.absolute())
    if (
        swap is None
        or swap(
            AT_FDCWD,
            paths[0],
            AT_FDCWD,
            paths[1],
            RENAME_EXCHANGE,
        )
        != 0
    ):
        target.rename(new.with_name("old"))
        new.rename(target)
