"""What reaches a terminal: one line of ours stays one line, whatever names, files and replies hold."""

from __future__ import annotations

import sys


def printable(text: str) -> str:
    """The text with control, bidirectional and unpaired characters spelt out; line ends and tabs stay."""
    return "".join(c if c.isprintable() or c in "\n\t" else ascii(c)[1:-1] for c in text)


def echo(text: object, err: bool = False) -> None:
    """Print to standard output or error; letters that the terminal's encoding lacks are spelt out."""
    stream = sys.stderr if err else sys.stdout
    encoding = stream.encoding or "utf-8"
    print(printable(str(text)).encode(encoding, "backslashreplace").decode(encoding), file=stream, flush=True)
