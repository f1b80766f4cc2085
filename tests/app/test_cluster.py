"""Work on a dask cluster: order, refusals, killed workers, a scheduler that is lost."""

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evaltools.core import workers
from evaltools.core.messages import InputError, UsageError, WorkFailed
from evaltools.core.workers import Workers

from .processes import until
from .small_report import GATE, NAMES, REPORT, TIMED, files, make_gates, open_gates, start
from .test_workers import DIE, double, refuse

distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """The address of a scheduler with two workers of one thread each; the last test kills one of them."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
    ) as two:
        yield two.scheduler_address


def test_no_scheduler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "CONNECT_SECONDS", 0.5)
    with pytest.raises(WorkFailed, match=r"no dask scheduler answers at 'tcp://127\.0\.0\.1:9'"):
        Workers(2, "tcp://127.0.0.1:9").map(double, [1, 2])
    gc.collect()  # dask does not survive that its lost client is collected while it makes the next


def test_cluster_maps_in_order_in_the_folder_of_the_caller(
    cluster: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Workers(2, cluster).map(double, [4, 0, 2, 1, 9]) == [8, 0, 4, 2, 18]
    monkeypatch.chdir(tmp_path)
    assert Workers(2, cluster).map(here, [1, 2, 3]) == [str(tmp_path)] * 3
    with pytest.raises(InputError, match="f:1: no"):
        Workers(2, cluster).map(refuse, [0, 1, 2])


def here(x: int) -> str:
    return str(Path.cwd())


def test_cluster_with_other_versions_is_refused(
    cluster: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "versions", lambda: {"evaltools": "0.0.1"})
    with pytest.raises(UsageError, match="other versions of the libraries"):
        Workers(2, cluster).map(double, [1, 2])


class KilledWorker(Exception):
    """Stands for the one of dask, which it raises of a task that its workers did not survive."""


def lost(x: int) -> int:
    if x == DIE:
        raise KilledWorker
    return x


def test_task_that_kills_its_workers_fails_alone(cluster: str) -> None:
    ended = dict(Workers(2, cluster).ended(lost, [(1,), (DIE,), (2,)]))
    assert isinstance(ended[1].exception(), WorkFailed)
    assert [ended[index].result() for index in (0, 2)] == [1, 2]


class SmallNotebook(distributed.WorkerPlugin):
    """Puts the small notebook in the place of the real one on every worker, also on later ones."""

    name = "small-notebook"

    def __init__(self, notebooks: Path, gate: Path) -> None:
        self.notebooks = notebooks
        self.gate = gate

    def setup(self, worker: Any) -> None:
        import evaltools.report.notebook

        evaltools.report.notebook.asset_dir = lambda name: self.notebooks
        os.environ[GATE] = str(self.gate)


def test_a_batch_on_a_cluster_is_the_same_to_the_byte(
    cluster: str, undisturbed: Path, tmp_path: Path
) -> None:
    """A worker is killed while both of them make a report; another makes it again."""
    gate = make_gates(tmp_path / "gate")
    with distributed.Client(cluster, set_as_default=False) as client:
        client.register_plugin(SmallNotebook(undisturbed / "notebooks", gate))
        running = start(undisturbed / "notebooks", tmp_path, *REPORT, "--scheduler", cluster)
        until(lambda: running.poll() is not None or len(list(gate.glob("*.begun"))) == 2)
        assert running.poll() is None
        os.kill(min(client.run(os.getpid).values()), signal.SIGKILL)
        open_gates(gate, *NAMES)
        output, errors = running.communicate(timeout=120)
        client.unregister_worker_plugin(SmallNotebook.name)
    assert (running.returncode, errors) == (0, "")
    assert output.endswith("3 done\n")
    assert files(tmp_path / "outputs", *TIMED) == files(undisturbed / "outputs", *TIMED)
