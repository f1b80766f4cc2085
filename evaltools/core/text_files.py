"""Files of text: which ones can be read at all, their lines, and what is wrong with their encoding."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO

from .errors import Problems

BOM = b"\xef\xbb\xbf"

FOREIGN = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16", b"\x1f\x8b": "compressed (gzip)"}
"""How files begin that are no UTF-8, whatever their names say."""

READ_BYTES = 1 << 18
"""Read at a time: lines of tens of kilobytes are put together from few pieces."""

LINE_BYTES = 256 << 20
"""A longer line is no record."""

FILE_BYTES = 1 << 30
"""A JSON value is held in memory whole: a larger file is refused."""


def require_file(path: Path, problems: Problems) -> None:
    """Raise InputError unless `path` is a file with something in it."""
    if not path.is_file():
        raise problems.fatal("missing-file", "no such file", file=path)
    if path.name.startswith("~$"):
        message = f"the lock file of a workbook that is open in Excel; give {path.name[2:]}"
        raise problems.fatal("lock-file", message, file=path)
    if not os.access(path, os.R_OK):
        raise problems.fatal("unreadable-file", "cannot be read: permission denied", file=path)
    with path.open("rb") as f:
        start = f.read(4)
    if not start:
        raise problems.fatal("empty-file", "the file is empty", file=path)
    for mark, encoding in FOREIGN.items():
        if start.startswith(mark):
            raise problems.fatal(
                "wrong-encoding", f"the file is {encoding}; expected text in UTF-8", file=path
            )


def lines_of(f: IO[bytes]) -> Iterator[bytes]:
    """The lines of a file; of one that is too long its first LINE_BYTES + 1."""
    return iter(partial(f.readline, LINE_BYTES + 1), b"")


def first_line(path: Path) -> bytes:
    """The first line of a file that is not blank, without its byte-order mark.

    b"" where there is no file or no such line, or the line is too long for a record.
    """
    if not path.is_file():
        return b""
    with path.open("rb") as f:
        for line in lines_of(f):
            text = line.removeprefix(BOM)
            if text.strip():
                return text if len(line) <= LINE_BYTES else b""
    return b""


def pass_line(f: IO[bytes]) -> None:
    """Read to the end of a line, in pieces."""
    for piece in iter(partial(f.readline, READ_BYTES), b""):
        if piece.endswith(b"\n"):
            break


def read_utf8(path: Path, problems: Problems) -> str:
    """The text of a whole file, without its byte-order mark.

    InputError where it cannot be read, is not UTF-8 or larger than FILE_BYTES.
    """
    if path.exists() and not path.is_file():  # a pipe would be waited for
        raise problems.fatal("unreadable-file", "is no file", file=path)
    try:
        if path.stat().st_size > FILE_BYTES:
            raise problems.fatal(
                "file-too-large",
                f"of more than {FILE_BYTES >> 20} MB, which would have to be held in memory whole",
                file=path,
            )
        raw = path.read_bytes().removeprefix(BOM)
    except OSError as e:
        reason = e.strerror or str(e)
        raise problems.fatal("unreadable-file", f"cannot be read: {reason}", file=path) from e
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as e:
        line = raw.count(b"\n", 0, e.start) + 1
        raise problems.fatal("not-utf8", not_utf8(raw, e, "file"), file=path, line=line) from None


def not_utf8(
    raw: bytes,
    error: UnicodeDecodeError,
    of: str,
) -> str:
    """Where some bytes are no UTF-8, and that they read as the encoding which Korean files often have."""
    text = f"byte {error.start} of the {of} is not UTF-8 (0x{raw[error.start]:02x})"
    try:
        korean = re.search("[가-힣]{2}", raw.decode("cp949"))
    except UnicodeDecodeError:
        korean = None
    return f"{text}; {'it reads as CP949: ' if korean else ''}save it as UTF-8"
