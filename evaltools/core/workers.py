"""One map over tasks: in this process, in several of this machine, or on a dask cluster."""

from __future__ import annotations

import gc
import logging
import multiprocessing
import os
import signal
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    Future,
    ProcessPoolExecutor,
    as_completed,
    wait,
)
from concurrent.futures.process import BrokenProcessPool
from contextlib import chdir, closing, contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import active_children, parent_process
from pathlib import Path
from threading import Lock, Thread
from typing import Any

from .errors import UsageError, WorkFailed
from .manifest import versions
from .terminal import bar, echo

LOST = "the process that worked on it was killed (out of memory?)"

# (index of a task, its future), as the calls end
Ended = Generator[tuple[int, Future[Any]], None, None]

# how long a scheduler may take to answer, and to have a worker
CONNECT_SECONDS = 10

GIVEN_UP = "the cluster gave it up: its scheduler does not answer any more, or has no workers left"


@dataclass(frozen=True)
class Workers:
    """Where work is done: `jobs` processes of this machine or, with the address of a `scheduler`, a dask cluster.

    Results never depend on how many there are, nor on where. `label` names the work in the progress bar; "" shows none.

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

        Raises what a call raises, and WorkFailed where the process of a task was killed twice.
        """
        results: dict[int, Any] = {}
        ended = self.ended(call, [(task,) for task in tasks])
        with bar(len(tasks), self.label) as step, closing(ended):
            for index, future in ended:
                results[index] = future.result()
                step()
        return [results[index] for index in range(len(tasks))]

    def ended(
        self,
        call: Callable[..., Any],
        tasks: Sequence[tuple[Any, ...]],
    ) -> Ended:
        """Yields (index of the task, its future) as the calls end.

        A call that fails is a future with an exception and stops no other. A task whose process is killed is tried
        once more. Closing the generator stops what still runs.
        """
        if self.scheduler is not None and tasks:
            return _on_cluster(self.scheduler, call, tasks)
        n_processes = min(self.jobs, len(tasks))
        if n_processes > 1 and _has_semaphores():
            return _in_processes(n_processes, call, tasks)
        return _in_this_process(call, tasks)


def _has_semaphores() -> bool:
    """Whether processes can be started that wait for one another; where not, that is said."""
    try:
        multiprocessing.Lock()
    except OSError as e:
        echo(f"warning: working in one process, as there can be no others: /dev/shm: {e}", err=True)
        return False
    return True


def _in_this_process(
    call: Callable[..., Any],
    tasks: Sequence[tuple[Any, ...]],
) -> Ended:
    for index, task in enumerate(tasks):
        future: Future[Any] = Future()
        try:
            future.set_result(call(*task))
        except Exception as e:  # noqa: BLE001 - whoever asks for the result gets it
            future.set_exception(e)
        yield index, future


def _in_processes(
    n_processes: int,
    call: Callable[..., Any],
    tasks: Sequence[tuple[Any, ...]],
) -> Ended:
    remaining = dict(enumerate(tasks))
    indices: dict[Future[Any], int] = {}
    with _pool(n_processes) as pool:
        with suppress(BrokenProcessPool):
            for index, task in remaining.items():
                indices[pool.submit(call, *task)] = index
        for future in as_completed(indices):
            if not _is_lost(future):
                del remaining[indices[future]]
                yield indices[future], future
    # a process that dies takes its pool along: what did not end then gets a pool of its own
    for index, task in remaining.items():
        with _pool(1) as pool:
            future = pool.submit(call, *task)
            wait([future])
        yield index, _failed(LOST) if _is_lost(future) else future


@contextmanager
def _pool(n_processes: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that end with the block; at once, when it is left by an exception."""
    others = set(active_children())
    pool = ProcessPoolExecutor(n_processes, initializer=_begin)
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


def _failed(message: str) -> Future[Any]:
    """A future of work that failed."""
    future: Future[Any] = Future()
    future.set_exception(WorkFailed(message))
    return future


def _is_lost(future: Future[Any], *kinds: type[BaseException]) -> bool:
    """Whether the process of a future was killed, or ended itself."""
    return isinstance(future.exception(), (BrokenProcessPool, SystemExit, *kinds))


# --- on a cluster of dask.distributed (extra `dask`)


@contextmanager
def _client(address: str) -> Iterator[Any]:
    """A client of the cluster. WorkFailed where it does not answer or has no workers."""
    try:
        from distributed import Client
    except ImportError as e:
        raise UsageError("--scheduler needs more packages: pip install dask distributed") from e
    # what is wrong is said here, in a line
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as e:
        raise WorkFailed(f"no dask scheduler answers at {address!r}: {e}") from e
    with client:
        if not _has_workers(client):
            raise WorkFailed(f"the dask scheduler at {address!r} has no workers")
        yield client


def _has_workers(client: Any) -> bool:
    """Whether the cluster has workers, or gets some soon: killed ones are often started again."""
    try:
        client.wait_for_workers(1, timeout=CONNECT_SECONDS)
    except (OSError, TimeoutError):
        return False
    return True


def _on_cluster(
    address: str,
    call: Callable[..., Any],
    tasks: Sequence[tuple[Any, ...]],
) -> Ended:
    """As `Workers.ended`, on a cluster. WorkFailed where it does not answer or has no workers."""
    with _client(address) as client:
        from distributed import KilledWorker

        pool = client.get_executor(pure=False)
        indices = {}
        try:
            for index, task in enumerate(tasks):
                indices[pool.submit(_like_here, Path.cwd(), versions(), call, *task)] = index
            while indices:
                ended = wait(indices, CONNECT_SECONDS, return_when=FIRST_COMPLETED).done
                if not ended and not _has_workers(client):
                    ended = {future for future in indices if future.cancel() or future.done()}
                for future in ended:
                    index = indices.pop(future)
                    if future.cancelled():
                        yield index, _failed(GIVEN_UP)
                    else:
                        yield index, _failed(LOST) if _is_lost(future, KilledWorker) else future
        finally:
            pool.shutdown(wait=False)


# the working directory is the whole process's: one task at a time
_FOLDER = Lock()


def _like_here(
    folder: Path,
    wanted: dict[str, str],
    call: Callable[..., Any],
    *task: Any,
) -> Any:
    """call(*task) with the versions, and in the folder, of the process that asks for it: all machines must see that."""
    if versions() != wanted:
        raise UsageError("a worker of the cluster has other versions of the libraries than here")
    with _FOLDER, chdir(folder):
        return call(*task)
