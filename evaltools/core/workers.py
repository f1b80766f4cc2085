"""One map over tasks: in this process, in several of this machine, or on a dask cluster."""

import logging
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import chdir, closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import active_children, parent_process
from pathlib import Path
from threading import Lock, Thread
from typing import Any

from .manifest import versions
from .messages import UsageError, WorkFailed, bar

Call = Callable[..., Any]

CONNECT_SECONDS = 10  # a scheduler answers, and has a worker, within this time


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
        call: Call,
        tasks: Sequence[Any],
    ) -> list[Any]:
        """call(task) for every task, in the order of the tasks; `call` and the tasks must be picklable.

        Raises what a call raises, and WorkFailed where the process of a task was killed twice.
        """
        results = [None] * len(tasks)
        ended = self.ended(call, [(task,) for task in tasks])
        with bar(len(tasks), self.label) as step, closing(ended):
            for index, future in ended:
                results[index] = future.result()
                step()
        return results

    def ended(
        self,
        call: Call,
        tasks: Sequence[tuple[Any, ...]],
    ) -> Generator[tuple[int, Future[Any]], None, None]:
        """Yields (index of the task, its future) as the calls end.

        A call that fails is a future with an exception and stops no other. A task whose process is killed is tried
        once more, in a pool of its own. Closing the generator stops what still runs.
        """
        n_processes = min(self.jobs, len(tasks))
        start: Call = _pool
        if self.scheduler and tasks:
            start = partial(_cluster, self.scheduler)
            call = partial(_like_here, Path.cwd(), versions(), call)
        elif n_processes < 2:
            for index, task in enumerate(tasks):
                future: Future[Any] = Future()
                try:
                    future.set_result(call(*task))
                except (Exception, SystemExit) as e:  # noqa: BLE001 - whoever asks for the result gets it
                    future.set_exception(e)
                yield index, future
            return
        lost = set(range(len(tasks)))
        indices = {}
        with start(n_processes) as pool:
            with suppress(BrokenProcessPool):
                for index, task in enumerate(tasks):
                    indices[pool.submit(call, *task)] = index
            for future in as_completed(indices):
                if not _is_lost(future):
                    lost.remove(indices[future])
                    yield indices[future], future
        for index in sorted(lost):
            with start(1) as pool:
                future = pool.submit(call, *tasks[index])
                wait([future])
            if _is_lost(future):
                future = Future()
                future.set_exception(
                    WorkFailed("the process that worked on it was killed (out of memory?)")
                )
            yield index, future


@contextmanager
def _pool(n_processes: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that end with the block; at once, when it is left by an exception."""
    others = set(active_children())
    # forked where that is safe: what is loaded, and suites of files, are there at once (Python 3.14 would not fork)
    method = "fork" if sys.platform == "linux" else None
    pool = ProcessPoolExecutor(n_processes, multiprocessing.get_context(method), _begin)
    try:
        yield pool
    except BaseException:
        for child in set(active_children()) - others:
            child.terminate()
        raise
    finally:
        # without waiting, the thread of the pool would still be at work when this process ends
        pool.shutdown(cancel_futures=True)


def _begin() -> None:
    """Set up a process of a pool: its parent decides when it ends, and it does not outlive its parent."""
    # Ctrl-C and a closed terminal reach all of its processes, and are for the parent
    for name in ("SIGINT", "SIGHUP"):
        if hasattr(signal, name):
            # not SIG_IGN, which the kernels that are started from here would inherit
            signal.signal(getattr(signal, name), lambda *_: None)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    Thread(target=_end_with, args=[parent_process()], daemon=True).start()


def _end_with(parent: Any) -> None:
    """End this process when the one that asked for it ends."""
    parent.join()
    os._exit(1)


def _is_lost(future: Future[Any]) -> bool:
    """Whether the process of a future was killed, or is out of reach."""
    if future.cancelled():
        return True
    error = future.exception()
    return isinstance(error, BrokenProcessPool) or type(error).__name__ == "KilledWorker"


# --- on a cluster of dask.distributed (extra `dask`)


@contextmanager
def _cluster(address: str, _: int) -> Iterator[Executor]:
    """The workers of the cluster, which try a lost task again. WorkFailed where it does not answer or has none."""
    try:
        from distributed import Client
        from distributed.comm import resolve_address
    except ImportError as e:
        raise UsageError("--scheduler needs more packages: pip install dask distributed") from e
    # what is wrong is said here, in a line
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        resolve_address(address)  # a client that has none leaves a traceback behind
        client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as e:
        raise WorkFailed(f"no dask scheduler answers at {address!r}: {e}") from e
    with client:
        try:
            client.wait_for_workers(1, timeout=CONNECT_SECONDS)
        except OSError:  # a TimeoutError too
            raise WorkFailed(f"the dask scheduler at {address!r} has no workers") from None
        yield client.get_executor(pure=False)


# the working directory is the whole process's: one task at a time
_FOLDER = Lock()


def _like_here(
    folder: Path,
    wanted: dict[str, str],
    call: Call,
    *task: Any,
) -> Any:
    """call(*task) with the versions, and in the folder, of the process that asks for it: all machines must see that."""
    if versions() != wanted:
        raise UsageError("a worker of the cluster has other versions of the libraries than here")
    with _FOLDER, chdir(folder):
        return call(*task)
