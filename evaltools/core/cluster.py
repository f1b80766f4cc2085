"""Work in the processes of a dask.distributed cluster (extra `dask`)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from contextlib import chdir, contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

from .errors import UsageError, WorkFailed
from .futures import LOST, Ended, failed, is_lost
from .manifest import versions

# how long a scheduler may take to answer, and to have a worker
CONNECT_SECONDS = 10

GIVEN_UP = "the cluster gave it up: its scheduler does not answer any more, or has no workers left"


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


def on_cluster(
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
                        yield index, failed(GIVEN_UP)
                    else:
                        yield index, failed(LOST) if is_lost(future, KilledWorker) else future
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
