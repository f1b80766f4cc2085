"""Runs that are ended, limited, refused or started again: nothing is paid twice, nothing is lost."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from filelock import FileLock

from evaltools.core.messages import UsageError, WorkFailed
from evaltools.llm import client as llm
from evaltools.report.evaluate import evaluate
from tests.app.calling import call
from tests.app.processes import until
from tests.files import contents
from tests.model_server import Answer, ModelServer, Seen, refuses, says

from .runs import TEXTS, rows, sensible, timeless, work, write


def test_limits_and_a_later_start(tmp_path: Path) -> None:
    with ModelServer(sensible) as server:
        config = write(
            tmp_path, server.url, price={"input": 1.0, "output": 1.0}, model="concurrency = 1"
        )
        with pytest.raises(WorkFailed, match="limit of 5 requests"):
            work(config, tmp_path / "out", max_requests=5)
        assert len(server.seen) == 5
        with pytest.raises(WorkFailed, match="in cost is reached"):
            work(config, tmp_path / "out", max_cost=0.001)
        work(config, tmp_path / "out")
        assert len(server.seen) == 4 * 3 + 2 * 3


def test_a_folder_of_another_config_is_refused_before_anything_is_sent(tmp_path: Path) -> None:
    with ModelServer(sensible) as server:
        work(write(tmp_path, server.url), tmp_path / "out")
        n = len(server.seen)
        other = write(tmp_path, server.url, model="temperature = 0.1")
        with pytest.raises(UsageError, match="--fresh replaces it"):
            work(other, tmp_path / "out")
        assert len(server.seen) == n
        work(other, tmp_path / "out", fresh=True)
        assert len(server.seen) == 2 * n


CHILD = """
import sys
from pathlib import Path
from evaltools.core.messages import Problems
from evaltools.suites.cr.inference.plan import Plan
from evaltools.suites.cr.inference.run import run
problems = Problems()
run(Plan(Path(sys.argv[1]), None, problems), Path(sys.argv[2]), problems, quiet=True)
"""


def test_killed_at_any_moment_nothing_is_paid_twice_and_the_rows_are_equal(tmp_path: Path) -> None:
    def slowly(seen: Seen) -> Answer:
        return Answer(body=sensible(seen).body, delay=0.03)

    rng = random.Random(1)
    with ModelServer(slowly) as server:
        config = write(
            tmp_path, server.url, conditions=["s0", "m0"], seeds=[1, 2], model="concurrency = 2"
        )
        whole_rows = {f.name: timeless(rows(f)) for f, *_ in work(config, tmp_path / "whole")}
        asked = len(server.seen)
        answered: set[str] = set()
        for _ in range(2):
            command = [sys.executable, "-c", CHILD, str(config), str(tmp_path / "out")]
            child = subprocess.Popen(command, stderr=subprocess.DEVNULL, env={**os.environ})
            n = len(server.seen) + rng.randrange(1, 8)
            until(lambda n=n, child=child: len(server.seen) >= n or child.poll() is not None)
            child.send_signal(signal.SIGKILL)
            child.wait()
            # an entry that was being written lies in a folder of its own
            entries = (tmp_path / "out" / "llm-cache").rglob("*.json")
            stored = {p.stem for p in entries if p.stem.startswith(p.parent.name)}
            assert answered <= stored
            answered = stored
        sent = -1
        while sent != len(server.seen):  # what the last child sent may be read after its end
            sent = len(server.seen)
            time.sleep(0.5)
        found = work(config, tmp_path / "out")
        # what was answered is not asked again
        assert len(server.seen) - sent == asked - len(answered)
    assert {f.name: timeless(rows(f)) for f, *_ in found} == whole_rows


def test_a_run_of_which_every_row_failed_ends_with_status_4_and_the_commonest_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(llm, "ATTEMPTS", 1)

    def script(seen: Seen) -> Answer:
        broken = seen.data["text"] != TEXTS[0][1]
        return refuses(500) if broken else says("무엇이든")

    with ModelServer(script) as server:
        done = call("run", "cr", write(tmp_path, server.url), "-o", tmp_path / "out", status=4)
    assert done.stdout.splitlines()[-1] == f"4 rows in 1 runs, 4 failed -> {tmp_path}/out/results"
    reason, nothing = done.stderr.splitlines()[-2:]
    assert reason == "3 of 4 failed rows: the server answered with HTTP status 500"
    assert nothing == "every row failed: there is nothing to score"
    (folder,) = (tmp_path / "out" / "results").glob("[!.]*")
    assert len(rows(folder)) == 4
    assert all(row["flags"]["generate_failed"] for row in rows(folder))


def test_a_run_that_is_made_again_keeps_its_scores_and_never_takes_away_a_file_of_the_users(
    tmp_path: Path,
) -> None:
    with ModelServer(sensible) as server:
        config = write(tmp_path, server.url)
        ((folder, *_),) = work(config, tmp_path / "out")
        evaluate("cr", folder, out=tmp_path / "out", n_resamples=100)
        before = contents(folder)
        assert "metrics.json" in before
        work(config, tmp_path / "out")
        assert contents(folder) == before
        n = len(server.seen)
        (folder / "notes.txt").write_text("mine", encoding="utf-8")
        with pytest.raises(UsageError, match=r"did not write, and would be replaced: notes\.txt"):
            work(config, tmp_path / "out", fresh=True)
        assert len(server.seen) == n


def test_a_second_run_on_the_same_folder_says_who_has_it(tmp_path: Path) -> None:
    with ModelServer(lambda seen: says("[]")) as server:
        config = write(tmp_path, server.url)
        folder = tmp_path / "out" / "llm-cache"
        folder.mkdir(parents=True)
        (folder / "exp.pid").write_text("4711")
        with FileLock(folder / "exp.lock"):
            done = call("run", "cr", config, "-o", tmp_path / "out", status=2)
        assert "by process 4711" in done.output and not server.seen
