"""Where work on shards of one input is done: in this process or in several on this machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class Workers:
    """`jobs` processes. Results never depend on how many there are."""

    jobs: int = 1

    def map(self, call: Callable[[T], R], tasks: Sequence[T]) -> list[R]:
        """call(task) for every task, in the order of the tasks; `call` and the tasks must be picklable."""
        if self.jobs <= 1 or len(tasks) <= 1:
            return [call(task) for task in tasks]
        with ProcessPoolExecutor(min(self.jobs, len(tasks))) as pool:
            return list(pool.map(call, tasks))
