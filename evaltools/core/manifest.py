"""Folders of results: what went in, under which policy, which files came out. Each appears whole or not at all."""

import ctypes
import os
import platform
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib.metadata import version
from itertools import count
from pathlib import Path
from typing import Final, Literal, Self

from filelock import FileLock, Timeout
from pydantic import BaseModel

from .. import __version__
from .estimates import Resampling
from .files import (
    YOURS,
    Fields,
    Names,
    beside,
    bytes_hash,
    content_hash,
    dumps,
    first_names,
    sha256,
    write_json,
)
from .messages import Severity, UsageError, echo

NAME = "manifest.json"
SCHEMA_VERSION: Final = 1
LIBRARIES = ("numpy", "scipy", "pandas", "pydantic", "pyarrow")


class _Part(BaseModel, frozen=True, allow_inf_nan=False):
    """A part of a manifest."""


class Input(_Part):
    """One input file."""

    role: str
    path: str
    sha256: str
    bytes: int


class Found(_Part):
    """How often one kind of problem was found in the input, and the first places."""

    severity: Severity
    code: str
    count: int
    examples: list[str] = []


class Member(_Part):
    """One run: what it can be made again from."""

    suite: str
    run: str
    inputs: list[Input]
    options: Fields


class Manifest(Member):
    """manifest.json of results/<run>/, or (`kind` "aggregate") of the folder of one condition of a study.

    `files`: sha256 of every other file of the folder; a result whose files do not match is not current. `suite_title` and
    `headline`, the metric that the verdict is about first, say what leads a page, so that a gallery needs no suite. Of a
    study: `report` its name, `verdict` that on the primary metric of this condition ("baseline" of that),
    `baseline`, `primary` and `margin` as declared, `runs` those of this condition and `folders` where their results
    stand, from this folder; `members` those of all conditions. `metrics`: those that come from no
    suite of this package, as data, so that a result can be read without the file they came from.
    `answered_by`: the models that answered a judge's questions, each with the number of its replies.
    `lang`: the language of the files for readers (Markdown, workbook), where it is not English.
    """

    schema_version: int = SCHEMA_VERSION
    kind: Literal["run", "aggregate"] = "run"
    suite_title: str = ""
    headline: list[str] = []
    metrics: list[Fields] = []
    answered_by: dict[str, int] = {}
    lang: str = "en"
    policy: Fields
    resampling: Resampling
    unit: str = ""
    n_units: int = 0
    problems: list[Found] = []
    versions: dict[str, str]
    started: str = ""
    report: str = ""
    condition: str = ""
    verdict: str = ""
    baseline: str = ""
    primary: str = ""
    margin: dict[str, float] = {}
    runs: list[str] = []
    folders: list[str] = []
    members: list[Member] = []
    files: dict[str, str] = {}

    @property
    def incomplete(self) -> bool:
        """Samples that the gold names are missing, or records were left out."""
        return any(p.severity == "error" or p.code == "unknown-gold" for p in self.problems)

    def write(self, folder: Path) -> Self:
        """Write it, the last file of a folder, with the hashes of all that are not hidden; returns it with these."""
        hashes = {
            path.relative_to(folder).as_posix(): sha256(path)
            for path in sorted(folder.rglob("[!.]*"))
            if path.is_file()
        }
        manifest = self.model_copy(update={"files": hashes})
        write_json(folder / NAME, manifest.model_dump(mode="json", exclude_unset=True))
        return manifest


def read_manifest(folder: Path) -> Manifest | None:
    """The manifest of a results folder; None where there is none or it cannot be read."""
    try:
        return Manifest.model_validate_json((folder / NAME).read_bytes())
    except (OSError, ValueError):
        return None


def policy_hash(policy: Fields) -> str:
    """First 12 hex digits of the sha256 of the policy as canonical JSON."""
    return bytes_hash(dumps(dict(sorted(policy.items()))).encode())[:12]


@cache
def versions() -> dict[str, str]:
    return {
        "evaltools": __version__,
        "python": platform.python_version(),
        **{lib: version(lib) for lib in LIBRARIES},
    }


LOCK = ".lock"  # beside the folders of results: who puts one in its place holds it
OF_DESKTOPS = (".DS_Store", "Thumbs.db", "desktop.ini")  # file managers leave these in any folder
RENAME_EXCHANGE = 2  # of renameat2(2)


def require_replaceable(
    folder: Path,
    carried: Names = (),
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
    ours = {*carried, NAME, *stored.files} if stored else set(carried)
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
    target: Path, carried: Names = (), written: Mapping[str, str] = {}
) -> Iterator[Path]:
    """A folder to fill that takes the place of `target` whole when the block ends well, and goes when it does not.

    What was there before stays until then. One process at a time puts a folder in its place. A file of the old
    result that a person changed stands in the new one as NAME.yours, and a line says so.

    UsageError where nothing can be written there, or `target` holds what this package did not write. `carried`: files
    that stand in the new folder too, and may be replaced there; `written`: the sha256 of those that are, as they were
    written.
    """
    existing = next(folder for folder in target.parents if folder.exists())
    if not os.access(f"{existing}/.", os.W_OK):
        raise UsageError(f"{existing} is no folder that can be written to; give another --out")
    aside = beside(existing / target.name)
    with tempfile.TemporaryDirectory(**aside, ignore_cleanup_errors=True) as part:
        new = Path(part) / "new"
        new.mkdir()
        for name in carried:
            if (target / name).is_file():
                shutil.copy2(target / name, new / name)
        yield new
        target.parent.mkdir(parents=True, exist_ok=True)
        with locked(target.parent):
            stored = require_replaceable(target, carried)
            for kept in sorted(target.rglob(f"*{YOURS}*")):
                copy = new / kept.relative_to(target)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(kept, copy)
            files = stored.files if stored else {}
            ours = {name: files[name] for name in files.keys() - carried} | dict(written)
            for name in changed_files(target, ours):
                set_aside(target / name, new / name)
            _exchange(new, target)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """One process at a time is in the block; one that waits says so, and for what."""
    lock = FileLock(folder / LOCK)
    try:
        held = lock.acquire(timeout=2)
    except Timeout:
        echo(f"waiting for another process that writes to {folder} ({folder / LOCK})", err=True)
        held = lock.acquire()
    with held:
        yield


def changed_files(folder: Path, files: Mapping[str, str]) -> list[str]:
    """Those of the files (name -> sha256) that are gone from a folder, lie elsewhere, or are not as they were written."""
    changed = []
    for name, written in files.items():
        path = folder / name
        try:
            is_inside = path.resolve().is_relative_to(folder.resolve())
            is_whole = is_inside and path.is_file() and content_hash(path) == written
        except (OSError, ValueError):  # a name that no file can have
            is_whole = False
        if not is_whole:
            changed.append(name)
    return changed


def set_aside(path: Path, copy: Path) -> None:
    """Copy a file that a person changed, if it is there, beside the one that replaces it, as NAME.yours, and say so."""
    if path.is_file():
        places = (copy.with_name(f"{copy.name}{YOURS}{n if n > 1 else ''}") for n in count(1))
        kept = next(place for place in places if not place.exists())
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, kept)
        echo(f"{path} was changed by hand: it is kept as {path.with_name(kept.name)}", err=True)


def _exchange(new: Path, target: Path) -> None:
    """Put `new` in the place of `target`; what stood there is where `new` was. At once where the system can."""
    if target.exists():
        swap = getattr(ctypes.CDLL(None), "renameat2", None) if os.name == "posix" else None
        there, here = os.fsencode(target.absolute()), os.fsencode(new.absolute())
        if swap and swap(0, here, 0, there, RENAME_EXCHANGE) == 0:
            return
        target.rename(new.with_name("old"))
    new.rename(target)
