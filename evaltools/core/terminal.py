"""What reaches a terminal: one line of ours stays one line, whatever names, files and replies hold."""

from __future__ import annotations

import os
import sys


def printable(text: str) -> str:
    """The text with control, bidirectional and unpaired characters spelt out; line ends and tabs stay."""
    shown = []
    for letter in text:
        stays = letter.isprintable() or letter in "\n\t"
        shown.append(letter if stays else ascii(letter)[1:-1])
    return "".join(shown)


def echo(text: object, err: bool = False) -> None:
    """Print to standard output or error; letters that the terminal's encoding lacks are spelt out.

    A reader that has seen enough and is gone changes nothing: what follows is printed nowhere.
    """
    stream = sys.stderr if err else sys.stdout
    encoding = stream.encoding or "utf-8"
    try:
        print(
            printable(str(text)).encode(encoding, "backslashreplace").decode(encoding),
            file=stream,
            flush=True,
        )
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
