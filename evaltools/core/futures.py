"""The ends of calls that ran elsewhere: as futures, also where a process was killed."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from .errors import WorkFailed

LOST = "the process that worked on it was killed (out of memory?)"

# (index of a task, its future), as the calls end
Ended = Generator[tuple[int, Future[Any]], None, None]


def failed(message: str) -> Future[Any]:
    """A future of work that failed."""
    future: Future[Any] = Future()
    future.set_exception(WorkFailed(message))
    return future


def is_lost(future: Future[Any], *kinds: type[BaseException]) -> bool:
    """Whether the process of a future was killed, or ended itself."""
    return isinstance(future.exception(), (BrokenProcessPool, SystemExit, *kinds))
