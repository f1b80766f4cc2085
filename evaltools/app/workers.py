"""Where work is done: in this process, in several on this machine, or in those of a dask.distributed cluster."""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, as_completed, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import chdir, closing, contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import active_children, parent_process
from pathlib import Path
from threading import Lock, Thread, Timer
from typing import Any, TypeVar

from ..core import suite
from ..core.errors import UsageError, WorkFailed
from ..core.progress import bar

T = TypeVar("T")
R = TypeVar("R")

SLOW_SECONDS = 1.0
"""Work that ends sooner shows no progress."""

GRACE_SECONDS = 10
"""How long a process that was told to stop may take to clean up."""

CONNECT_SECONDS = 10
"""How long a scheduler may take to answer, and to have a worker."""

_LOST = "the process that worked on it was killed (out of memory?)"
_GIVEN_UP = "the cluster gave it up: its scheduler does not answer any more, or has no workers left"


@dataclass(frozen=True)
class Workers(suite.Workers):
    """`jobs` processes on this machine or, with the address of a `scheduler`, those of a cluster.

    Results never depend on how many there are, nor on where. `label` names the work in the progress bar that
    slow work shows in a terminal; "" shows none.
    """

    jobs: int = 1
    scheduler: str | None = None
    label: str = field(default="scoring", kw_only=True)

    def map(self, call: Callable[[T], R], tasks: Sequence[T]) -> list[R]:
        """call(task) for every task, in the order of the tasks; `call` and the tasks must be picklable.

        Raises what a call raises, and WorkFailed where the process of a task was killed.
        """
        alone = self.jobs <= 1 and self.scheduler is None
        ended = in_this_process if alone or len(tasks) <= 1 else self.ended
        found: dict[int, R] = {}
        with (
            bar(len(tasks), self.label, quiet=not self.label, after=SLOW_SECONDS) as step,
            closing(ended(call, [(task,) for task in tasks])) as futures,
        ):
            for place, future in futures:
                found[place] = future.result()
                step()
        return [found[place] for place in range(len(tasks))]

    def ended(
        self, call: Callable[..., Any], tasks: Sequence[tuple[Any, ...]]
    ) -> Generator[tuple[int, Future[Any]]]:
        """(place of the task, its future) as the calls end: several outside this process, one alone in it.

        A call that fails is a future with an exception and stops no other. What is still running when the
        iterator is closed is stopped.
        """
        if self.scheduler is not None:
            return _on_cluster(self.scheduler, call, tasks)
        return (
            in_this_process(call, tasks)
            if len(tasks) <= 1
            else _in_processes(self.jobs, call, tasks)
        )


def in_this_process(
    call: Callable[..., Any], tasks: Sequence[tuple[Any, ...]]
) -> Generator[tuple[int, Future[Any]]]:
    """As `Workers.ended`, one after the other here."""
    for place, task in enumerate(tasks):
        future: Future[Any] = Future()
        try:
            future.set_result(call(*task))
        except Exception as e:  # noqa: BLE001 - whoever asks for the result gets it
            future.set_exception(e)
        yield place, future


def _in_processes(
    jobs: int, call: Callable[..., Any], tasks: Sequence[tuple[Any, ...]]
) -> Generator[tuple[int, Future[Any]]]:
    waiting = dict(enumerate(tasks))
    while waiting:
        places: dict[Future[Any], int] = {}
        with _pool(min(jobs, len(waiting))) as pool:
            with suppress(BrokenProcessPool):
                for place, task in waiting.items():
                    places[pool.submit(_working, call, *task)] = place
            for future in as_completed(places):
                if not isinstance(future.exception(), BrokenProcessPool):
                    del waiting[places[future]]
                    yield (
                        places[future],
                        _or_failed(future, SystemExit),
                    )  # somebody told that process to end
        # a process that dies takes its pool along: what may have run then (one more is queued) is tried again one by
        # one, so that only the task at fault is lost, and the rest goes on in a new pool
        for place in [*waiting][: jobs + 1]:
            with _pool(1) as pool:
                future = pool.submit(_working, call, *waiting.pop(place))
                wait([future])
            yield place, _or_failed(future, BrokenProcessPool, SystemExit)


@contextmanager
def _pool(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that end with the block; when it is left by an exception, at once, after cleaning up."""
    others = set(active_children())
    pool = ProcessPoolExecutor(jobs, initializer=_begin)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        children = set(active_children()) - others
        for child in children:
            child.terminate()
        for child in children:
            child.join(GRACE_SECONDS)
            child.kill()
        raise
    finally:
        pool.shutdown()


def _begin() -> None:
    """Set up a process of a pool: its parent decides when it ends, and it does not outlive its parent."""
    # a handler, not SIG_IGN, which the kernels started from here would inherit
    for name in {"SIGINT", "SIGHUP"} & set(dir(signal)):
        signal.signal(getattr(signal, name), lambda *_: None)
    signal.signal(signal.SIGTERM, _end)
    sys.unraisablehook = _end_soon
    Thread(target=_end_with_parent, daemon=True).start()


_at_work = _ending = False
"""Whether this process is at a task, and whether it was told to end."""


def _end(*_: Any) -> None:
    """Leave the task, or take no other: who left while a task is handed over would leave half of it to others."""
    global _ending
    again, _ending = _ending, True
    if _at_work and not again:  # a second order does not disturb the cleaning up
        sys.exit(1)


def _working(call: Callable[..., R], *task: Any) -> R:
    global _at_work
    _at_work = True
    try:
        if _ending:
            sys.exit(1)
        return call(*task)
    finally:
        _at_work = False


def _end_soon(lost: Any) -> None:
    """Ask to end once more where the first time came inside a callback, which exceptions cannot leave."""
    global _ending
    if isinstance(lost.exc_value, SystemExit):
        _ending = False
        Timer(0.01, os.kill, [os.getpid(), signal.SIGTERM]).start()
    else:
        sys.__unraisablehook__(lost)


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _or_failed(future: Future[Any], *lost: type[BaseException]) -> Future[Any]:
    """The future, or one that failed with WorkFailed where it was cancelled or its process lost."""
    if not future.cancelled() and not isinstance(future.exception(), lost):
        return future
    failed: Future[Any] = Future()
    failed.set_exception(WorkFailed(_GIVEN_UP if future.cancelled() else _LOST))
    return failed


@contextmanager
def _client(address: str, error: type[Exception]) -> Iterator[Any]:
    """A client of the cluster; `error` where it does not answer or has no workers."""
    try:
        from distributed import Client
    except ImportError as e:
        raise UsageError("--scheduler needs the extra `dask`: pip install 'evaltools[dask]'") from e
    logging.getLogger("distributed").setLevel(
        logging.CRITICAL
    )  # what is wrong is said here, in a line
    try:
        client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as e:
        raise error(f"no dask scheduler answers at {address!r}: {e}") from e
    with client:
        try:
            client.wait_for_workers(1, timeout=CONNECT_SECONDS)
        except TimeoutError as e:
            raise error(f"the dask scheduler at {address!r} has no workers") from e
        yield client


def cluster_size(address: str) -> int:
    """How many tasks the cluster works on at once. UsageError where it does not answer or has no workers."""
    with _client(address, UsageError) as client:
        return sum(client.nthreads().values())


def _on_cluster(
    address: str, call: Callable[..., Any], tasks: Sequence[tuple[Any, ...]]
) -> Generator[tuple[int, Future[Any]]]:
    from ..core.manifest import versions

    with _client(address, WorkFailed) as client:
        from distributed import KilledWorker

        pool = client.get_executor(pure=False)
        here = Path.cwd(), versions()
        try:
            places = {
                pool.submit(_like_here, *here, call, *task): place
                for place, task in enumerate(tasks)
            }
            while places:
                ended = wait(places, CONNECT_SECONDS, return_when=FIRST_COMPLETED).done
                if not ended and not _has_workers(client):
                    ended = {future for future in places if future.cancel() or future.done()}
                for future in ended:
                    yield places.pop(future), _or_failed(future, KilledWorker)
        finally:
            pool.shutdown(wait=False)


def _has_workers(client: Any) -> bool:
    """Whether the cluster still has workers, or gets some soon: killed ones are started again, but not always."""
    try:
        client.wait_for_workers(1, timeout=CONNECT_SECONDS)
    except (OSError, TimeoutError):
        return False
    return True


_FOLDER = Lock()


def _like_here(folder: Path, wanted: dict[str, str], call: Callable[..., R], *task: Any) -> R:
    """call(*task) as the process that asks for it would do it: in its folder, with its versions."""
    from ..core.manifest import versions

    differs = [
        f"{k} {v} (wanted {wanted.get(k)})" for k, v in versions().items() if v != wanted.get(k)
    ]
    if differs:
        raise UsageError(f"a worker of the cluster has other versions: {', '.join(differs)}")
    if not folder.is_dir():
        raise UsageError(
            f"a worker of the cluster does not see {folder}: all machines must share the file system"
        )
    # the folder is the whole process's: one task at a time
    with _FOLDER, chdir(folder):
        return call(*task)
