"""The sha256 of files; that of a large input by a process of its own (this file), while libraries are imported."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

BLOCK_BYTES = 1 << 22
"""Read at once for a hash: much, as a thread that hashes beside other work waits its turn after each."""

LARGE_BYTES = 64 << 20
"""A file of more takes longer to hash than a process to start."""

_ahead: dict[tuple[Any, ...], Any] = {}
"""(process that asked, path, state of the file) -> the process that hashes it."""


def sha256(path: Path, wanted: Callable[[], bool] = lambda: True) -> str:
    """The hash of a file; "" where it is no longer `wanted`."""
    if not path.is_file():  # a pipe would be waited for
        raise FileNotFoundError(f"{path}: no such file")
    digest, block = hashlib.sha256(), memoryview(bytearray(BLOCK_BYTES))
    with path.open("rb", buffering=0) as f:
        while n := f.readinto(block):
            digest.update(block[:n])
            if not wanted():
                return ""
    return digest.hexdigest()


def file_hashes(folder: Path) -> dict[str, str]:
    """The sha256 of every file below a folder but its manifest and hidden ones, by relative path."""
    found = {p.relative_to(folder).as_posix(): p for p in folder.rglob("[!.]*") if p.is_file()}
    return {name: sha256(found[name]) for name in sorted(found) if name != "manifest.json"}


def state(path: Path) -> tuple[int, int, int]:
    """What changes when a file does: time, size and place."""
    stat = path.stat()
    return stat.st_mtime_ns, stat.st_size, stat.st_ino


def content_hash(path: Path) -> str:
    """The sha256 of an input, computed once for as long as the file stays as it is."""
    return _hashed(path, *state(path))


@lru_cache(maxsize=1024)
def _hashed(path: Path, *as_it_was: int) -> str:
    begun = _ahead.pop((os.getpid(), path, *as_it_was), None)
    found = begun.communicate()[0] if begun is not None else ""
    return found if found and begun.returncode == 0 else sha256(path)


def hash_ahead(arguments: Iterable[str]) -> None:
    """Begin with the `content_hash` of the one large input among the arguments of a command.

    That is a file, or the JSONL of a folder; where there are several, they are hashed where they are scored.
    """
    with suppress(OSError):  # whoever needs the file is told what is wrong with it
        found = [
            p
            for path in map(Path, arguments)
            for p in (path.glob("*.jsonl") if path.is_dir() else [path])
        ]
        large = [p for p in found if p.is_file() and p.stat().st_size > LARGE_BYTES]
        if len(large) == 1:
            _ahead[os.getpid(), large[0], *state(large[0])] = _begun(large[0])


def _begun(path: Path) -> Any:
    from subprocess import DEVNULL, PIPE, Popen

    command = [sys.executable, "-I", "-S", __file__, str(path), str(os.getpid())]
    # in a session of its own: Ctrl-C is for the one that asked
    return Popen(
        command, stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL, text=True, start_new_session=True
    )


if __name__ == "__main__":
    # who asked may be gone: nobody reads what is found then
    answer = sha256(Path(sys.argv[1]), wanted=lambda: os.getppid() == int(sys.argv[2]))
    os.write(sys.stdout.fileno(), answer.encode())
