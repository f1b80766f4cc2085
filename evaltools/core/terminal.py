"""What reaches a terminal: lines, tables that fit it, and bars of progress."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from shutil import get_terminal_size


def printable(text: str) -> str:
    """The text with control, bidirectional and unpaired characters spelt out; line ends and tabs stay."""
    stays = {letter for letter in text if letter.isprintable()} | {"\n", "\t"}
    return "".join(letter if letter in stays else ascii(letter)[1:-1] for letter in text)


def echo(text: object = "", err: bool = False) -> None:
    """Print a line to standard output or error, whatever names, files and replies in it hold."""
    _write(printable(str(text)), err)


def paragraph(text: str) -> None:
    """Print a sentence in lines that fit the terminal, those from the second on indented."""
    width = get_terminal_size().columns
    wrapper = textwrap.TextWrapper(
        width,
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    for line in text.splitlines():
        echo(wrapper.fill(line))


def table(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    most: int = 10**9,
) -> int:
    """Print a table that fits the terminal, as many of its rows as fit into so many lines; returns how many.

    The first column stands at its left and is folded, the others at their right.
    """
    shown = len(rows)
    while (text := _table_text(heads, rows[:shown])).count("\n") >= most:
        shown -= 1
    _write(text)
    return shown


def _table_text(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=None, pad_edge=False)
    for index, head in enumerate(heads):
        grid.add_column(
            Text(head),
            justify="right" if index else "left",
            overflow="fold",
            no_wrap=index > 0 and head != "verdict",
        )
    for row in rows:
        grid.add_row(*(Text(printable(cell.replace("\u00a0", " "))) for cell in row))
    console = Console()
    with console.capture() as captured:
        console.print(grid)
    lines = [line.rstrip() for line in captured.get().splitlines()]
    return "\n".join(lines)


def _write(text: str, err: bool = False) -> None:
    """Print where there is a stream, and a reader who has not gone; letters that it lacks are spelt out."""
    stream = sys.stderr if err else sys.stdout
    if stream is None:
        return
    encoding = stream.encoding or "utf-8"
    try:
        print(text.encode(encoding, "backslashreplace").decode(encoding), file=stream, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@contextmanager
def bar(
    total: int,
    label: str,
    quiet: bool = False,
) -> Iterator[Callable[..., None]]:
    """Yields a function to call when something is done: `step("its name")`.

    There is a bar where there is a label and standard error is a terminal: a notebook's output holds none.
    """
    if quiet or not label or sys.stderr is None or not sys.stderr.isatty():
        yield lambda name="": None
        return
    from rich.console import Console
    from rich.progress import Progress

    # without a thread of its own, which would be copied, half alive, into forked processes
    with Progress(console=Console(stderr=True), auto_refresh=False, transient=True) as progress:
        task = progress.add_task(label, total=total)

        def step(name: str = "") -> None:
            progress.update(task, advance=1, description=f"{label} {printable(name)[-40:]}")
            progress.refresh()

        yield step
