"""Where work is done: in this process, in several on this machine, or on a cluster (`core.cluster`)."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import active_children, parent_process
from threading import Thread
from typing import Any

from .errors import WorkFailed
from .progress import bar

LOST = "the process that worked on it was killed (out of memory?)"

Task = tuple[Any, ...]
"""The arguments of a call."""

Ended = Generator[tuple[int, Future[Any]]]
"""(index of the task, its future), as the calls end."""


@dataclass(frozen=True)
class Workers:
    """Where work is done: `jobs` processes on this machine or, with the address of a `scheduler`, those of a cluster.

    Results never depend on how many there are, nor on where. `label` names the work in the progress bar that
    slow work shows in a terminal; "" shows none.

    >>> Workers().map(len, ["one", "three"])
    [3, 5]
    """

    jobs: int = 1
    scheduler: str | None = None
    label: str = ""

    def map(
        self,
        call: Callable[[Any], Any],
        tasks: Sequence[Any],
    ) -> list[Any]:
        """call(task) for every task, in the order of the tasks; `call` and the tasks must be picklable.

        Raises what a call raises, and WorkFailed where the process of a task was killed.
        """
        is_alone = self.jobs <= 1 and self.scheduler is None
        arguments = [(task,) for task in tasks]
        ended = in_this_process(call, arguments) if is_alone else self.ended(call, arguments)
        results: dict[int, Any] = {}
        with bar(len(tasks), self.label) as step, closing(ended):
            for index, future in ended:
                results[index] = future.result()
                step()
        return [results[index] for index in range(len(tasks))]

    def ended(
        self,
        call: Callable[..., Any],
        tasks: Sequence[Task],
    ) -> Ended:
        """Yields (index of the task, its future) as the calls end.

        Several tasks are worked on outside this process, one alone in it, unless there is a cluster. A call that
        fails is a future with an exception and stops no other. Closing the generator stops what still runs.
        """
        if self.scheduler is not None and len(tasks) > 0:
            from .cluster import on_cluster

            return on_cluster(self.scheduler, call, tasks)
        if len(tasks) <= 1:
            return in_this_process(call, tasks)
        return in_processes(self.jobs, call, dict(enumerate(tasks)))


def in_this_process(
    call: Callable[..., Any],
    tasks: Sequence[Task],
) -> Ended:
    """As `Workers.ended`, one after the other here."""
    for index, task in enumerate(tasks):
        future: Future[Any] = Future()
        try:
            future.set_result(call(*task))
        except Exception as e:  # noqa: BLE001 - whoever asks for the result gets it
            future.set_exception(e)
        yield index, future


def in_processes(
    jobs: int,
    call: Callable[..., Any],
    tasks: dict[int, Task],
) -> Ended:
    """As `Workers.ended`, in `jobs` processes. A task whose process dies is lost alone.

    A process that dies takes its pool along: what did not end then is tried again, each task in a pool of its own.
    """
    indices: dict[Future[Any], int] = {}
    again = dict(tasks) if len(tasks) > 1 else {}
    with _pool(min(jobs, len(tasks))) as pool:
        with suppress(BrokenProcessPool):
            for index, task in tasks.items():
                indices[pool.submit(call, *task)] = index
        for future in as_completed(indices):
            index = indices[future]
            if index in again and isinstance(future.exception(), BrokenProcessPool):
                continue
            again.pop(index, None)
            yield index, or_lost(future)
    for index, task in again.items():
        yield from in_processes(1, call, {index: task})


def or_lost(
    future: Future[Any],
    *lost: type[BaseException],
) -> Future[Any]:
    """The future, or a failed one where its process was killed or ended itself."""
    if isinstance(future.exception(), (BrokenProcessPool, SystemExit, *lost)):
        return failed(LOST)
    return future


def failed(message: str) -> Future[Any]:
    """A future of work that failed."""
    future: Future[Any] = Future()
    future.set_exception(WorkFailed(message))
    return future


@contextmanager
def _pool(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that end with the block; at once, when it is left by an exception.

    What they leave half-written then, the next command removes (`core.files.remove_leftovers`).
    """
    others = set(active_children())
    pool = ProcessPoolExecutor(jobs, initializer=_begin)
    try:
        yield pool
    except BaseException:
        children = set(active_children()) - others
        for child in children:
            child.terminate()
        # without waiting, the thread of the pool would still be at work when this process ends
        pool.shutdown(cancel_futures=True)
        for child in children:
            child.join()
        raise
    finally:
        pool.shutdown()


def _begin() -> None:
    """Set up a process of a pool: its parent decides when it ends, and it does not outlive its parent."""
    # Ctrl-C and a closed terminal reach all of its processes, and are for the parent
    for name in ("SIGINT", "SIGHUP"):
        if hasattr(signal, name):
            # not SIG_IGN, which the kernels that are started from here would inherit
            signal.signal(getattr(signal, name), lambda *_: None)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    # rows make many objects and hardly a cycle: the search for cycles after each 700 objects takes 7% of the time
    gc.set_threshold(50_000, 20, 100)
    end_with_parent()


def end_with_parent() -> None:
    """From now on this process ends when the process that asked `multiprocessing` for it ends."""
    Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
