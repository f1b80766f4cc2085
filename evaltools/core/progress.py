"""Progress of long work: a bar in a terminal, nothing with --quiet or where there is no terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def bar(
    total: int,
    label: str,
    quiet: bool = False,
    unit: str = "it",
    after: float = 0.0,
) -> Iterator[Callable[..., None]]:
    """Yields a function to call when something is done: `step("its name")`, or `step(n=1024)`.

    Work that ends within `after` seconds shows no bar. The bar is written to standard error, and only where
    that is a terminal: a notebook's output holds none.
    """
    if quiet or not sys.stderr.isatty():
        yield lambda name="", n=1: None
        return
    from tqdm import tqdm

    tqdm.monitor_interval = 0  # its thread would be copied, half alive, into forked processes
    with tqdm(
        total=total,
        desc=label,
        unit=unit,
        leave=False,
        delay=after,
    ) as shown:

        def step(name: str = "", n: int = 1) -> None:
            if name:
                shown.set_postfix_str(name[-40:], refresh=False)
            shown.update(n)

        yield step
