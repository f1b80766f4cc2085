"""Progress of long work: a bar in a terminal, nothing with --quiet or where there is no terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SLOW_SECONDS = 1.0
"""Work that ends sooner shows no bar."""


@contextmanager
def bar(
    total: int,
    label: str,
    quiet: bool = False,
    unit: str = "it",
) -> Iterator[Callable[..., None]]:
    """Yields a function to call when something is done: `step("its name")`, or `step(n=1024)`.

    Without a label there is no bar, nor where the work ends within a second. It is written to standard error, and
    only where that is a terminal: a notebook's output holds none.
    """
    if quiet or not label or not sys.stderr.isatty():
        yield lambda name="", n=1: None
        return
    from tqdm import tqdm

    tqdm.monitor_interval = 0  # its thread would be copied, half alive, into forked processes
    with tqdm(
        total=total,
        desc=label,
        unit=unit,
        leave=False,
        delay=SLOW_SECONDS,
    ) as shown:

        def step(name: str = "", n: int = 1) -> None:
            if name:
                shown.set_postfix_str(name[-40:], refresh=False)
            shown.update(n)

        yield step
