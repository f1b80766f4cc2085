"""Folders of results: nothing of the user's goes, and a kill at any moment leaves a whole result."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import chdir
from pathlib import Path

import pytest

import evaltools as et
from evaltools.core.files import HOST, example
from evaltools.core.folders import put_back, remove_leftovers, whole_folder
from tests.app.calling import QUICK, call, written

NAME = "no_memory__seed1_proposed"


def contents(folder: Path) -> dict[str, bytes]:
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A working folder with a run, and beside it the results folder of its name, empty."""
    shutil.copytree(example(f"cr/{NAME}"), tmp_path / "run")
    (tmp_path / "out/results/run").mkdir(parents=True)
    return tmp_path


def score(here: Path, *more: str, status: int = 0) -> str:
    return call(
        "score", "cr", here / "run", "-o", here / "out", *QUICK, *more, status=status
    ).output


# --- what we did not write


MINE = {
    "labels.csv": "id,label\n",
    "raw/data.jsonl": "{}\n",
    "manifest.json": '{"files": {"labels.csv": ""}, "tool": "another"}',
    ".git/config": "[core]\n",
}


@pytest.mark.parametrize("fresh", [(), ("--fresh",)])
@pytest.mark.parametrize("name", MINE)
def test_a_folder_of_the_users_is_never_replaced(
    here: Path, name: str, fresh: tuple[str, ...]
) -> None:
    file = here / "out/results/run" / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(MINE[name])
    before = contents(here)
    said = score(here, *fresh, status=2)
    assert f"holds what evaltools did not write, and would be replaced: {name};" in said
    assert contents(here) == before


@pytest.mark.parametrize("fresh", [(), ("--fresh",), ("--seed", "3")])
def test_a_file_that_was_put_beside_ours_stays(here: Path, fresh: tuple[str, ...]) -> None:
    score(here)
    for name in ("labels.csv", "derived/notes.txt"):
        (here / "out/results/run" / name).write_text("mine")
    before = contents(here)
    said = score(here, *fresh, status=2)
    assert "would be replaced: derived/notes.txt, labels.csv;" in said
    assert contents(here) == before


def test_many_files_are_counted(here: Path) -> None:
    for n in range(12):
        (here / "out/results/run" / f"f{n:02}.csv").write_text("mine")
    assert "f00.csv, f01.csv, f02.csv, f03.csv, f04.csv and 7 more;" in score(here, status=2)


def test_what_file_managers_leave_is_no_hindrance(here: Path) -> None:
    score(here)
    (here / "out/results/run/.DS_Store").write_text("")
    score(here, "--fresh")


def test_an_aggregate_replaces_nothing_of_the_users(here: Path) -> None:
    target = here / "out/results/no_memory_aggregated"
    target.mkdir()
    (target / "paper.docx").write_text("mine")
    runs = [f"example:cr/no_memory__seed{seed}_proposed" for seed in (1, 2)]
    with pytest.raises(et.UsageError, match=r"would be replaced: paper\.docx"):
        et.study(runs, out=here / "out", resampling=et.Resampling(n_resamples=100))
    assert contents(target) == {"paper.docx": b"mine"}


def test_a_file_that_comes_while_the_result_is_made_stays(tmp_path: Path) -> None:
    target = tmp_path / "results/run"
    target.mkdir(parents=True)
    with pytest.raises(et.UsageError, match="would be replaced: mine"), whole_folder(target) as new:
        (new / "a").write_text("1")
        (target / "mine").write_text("1")
    assert contents(tmp_path / "results") == {"run/mine": b"1", ".lock": b""}


@pytest.mark.parametrize("top", ["results", "reports"])
def test_results_that_are_a_file(here: Path, top: str) -> None:
    shutil.rmtree(here / "out")
    (here / "out").mkdir()
    (here / "out" / top).write_text("mine")
    assert f"out/{top} is no folder" in score(here, status=2)
    assert contents(here / "out") == {top: b"mine"}


def test_a_result_that_is_a_file_or_a_link(here: Path) -> None:
    result = here / "out/results/run"
    result.rmdir()
    result.write_text("mine")
    assert "out/results/run is no folder; move it" in score(here, status=2)
    result.unlink()
    (here / "far").mkdir()
    (here / "far/mine").write_text("mine")
    for there in ("far", "nowhere"):
        result.symlink_to(here / there)
        assert "out/results/run is a link; remove the link" in score(here, status=2)
        assert "is a link" in score(here, "--fresh", status=2)
        result.unlink()
    assert contents(here / "far") == {"mine": b"mine"}
    score(here)


def test_the_result_of_the_first_version_is_replaced(here: Path) -> None:
    """Its manifest lists the names of its files, without hashes."""
    score(here)
    path = here / "out/results/run/manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**manifest, "files": list(manifest["files"])}), encoding="utf-8")
    et.load(here / "out/results/run")
    score(here)
    assert "units.parquet" in et.load(here / "out/results/run").manifest.files


# --- leftovers


def test_only_what_is_ours_is_a_leftover(here: Path) -> None:
    out = here / "out"
    process = subprocess.Popen(["true"])
    process.wait()
    ours = out / f".index.html.{HOST}-{process.pid}.abcdefgh.part"
    theirs = [out / ".download.part", out / "results/.data.part", out / ".x.elsewhere-1.ab.part"]
    for path in (ours, *theirs):
        path.write_text("")
    for path in theirs[:2]:
        os.utime(path, (0, 0))
    (out / f".link.{HOST}-{process.pid}.abcdefgh.part").symlink_to(here)
    remove_leftovers(out)
    assert not ours.exists()
    assert all(path.exists() for path in theirs)
    assert (here / "run").is_dir()


def test_the_process_of_another_container_is_not_taken_for_gone(here: Path) -> None:
    """A container with the name of this host counts processes anew: its numbers say nothing here."""
    node = HOST.rpartition("-")[0]
    theirs = here / f"out/.index.html.{node}-4026539999-7.abcdefgh.part"
    theirs.write_text("")
    remove_leftovers(here / "out")
    assert theirs.exists()


# --- kills

KILLS = """
import os, signal, sys
from pathlib import Path
import filelock, psutil
import evaltools.core.results
from evaltools.core import folders

def at_nth(n, events):
    '''Kill this process before the n-th change of the file system; count them in `events`.'''
    def hook(event, args):
        is_change = event in ("os.rename", "os.remove", "os.rmdir", "os.mkdir") or (
            event == "open" and isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR)
        )
        if is_change:
            step(event)
    def step(event):
        events.append(event)
        if len(events) == n:
            os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(hook)

def in_child(work):
    pid = os.fork()
    if pid == 0:
        try:
            work()
        except BaseException:
            import traceback; traceback.print_exc(); os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
"""

SWAPS = (
    KILLS
    + """
target = Path("results/run")
n, ended = 0, 1
while ended != 0:
    n += 1
    def replace():
        at_nth(n, [])
        with folders.whole_folder(target, ["a", "b", "c"]) as new:
            for name in ("a", "b", "c"):
                (new / name).write_text("new")
    target.mkdir(parents=True, exist_ok=True)
    for name in ("a", "b", "c"):
        (target / name).write_text("old")
    ended = in_child(replace)
    assert ended in (0, -signal.SIGKILL), ended
    folders.put_back(target)
    held = {path.name: path.read_text() for path in target.iterdir()}
    assert held in ({x: "old" for x in "abc"}, {x: "new" for x in "abc"}), (n, held)
    folders.remove_leftovers(Path("."))
    assert {path.name for path in Path("results").iterdir()} - {".lock"} == {"run"}, n
print(n)
"""
)


def test_a_kill_at_any_change_leaves_the_old_or_the_new_folder(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SWAPS],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 10, "so many moments were tried"


RESULTS = (
    KILLS
    + """
import evaltools as et
from evaltools.core.files import file_hashes
result = Path("out/results/run")
def score(seed):
    return et.evaluate("cr", sys.argv[1], name="run", out="out", n_resamples=100, seed=seed, fresh=True)
n, ended, seed = 0, 1, 1
while ended != 0:
    n += 1
    def again():
        at_nth(n, [])
        score(1)
    if seed == 1:
        score(0)
    ended = in_child(again)
    assert ended in (0, -signal.SIGKILL), ended
    manifest = et.load(result).manifest
    assert manifest.files == file_hashes(result), n
    seed = manifest.bootstrap.seed
print(n)
"""
)


def test_a_kill_at_any_change_leaves_a_whole_result(tmp_path: Path) -> None:
    run = tmp_path / "three_samples"
    run.mkdir()
    for name in ("outputs.jsonl", "gold.jsonl"):
        lines = (example(f"cr/{NAME}") / name).read_text(encoding="utf-8").splitlines()
        (run / name).write_text("\n".join(lines[:3]), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", RESULTS, str(run)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 20


COMMANDS = {
    "gate": ("gate", "out/results/run", "--min", "tuple_f1_s2=0"),
    "gate of the file": ("gate", "out/results/run/metrics.json", "--min", "tuple_f1_s2=0"),
    "compare": ("compare", "out/results/run", "run", *QUICK),
    "gallery": ("gallery", "out"),
    "the same": ("score", "cr", "run", "-o", "out", *QUICK),
    "another": ("score", "cr", "run", "--name", "another", "-o", "out", *QUICK),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_next_command_puts_back_what_a_killed_one_took_away(here: Path, command: str) -> None:
    """Killed between two renames: the old result lies aside, and its place is empty."""
    score(here)
    result = here / "out/results/run"
    before = contents(result)
    process = subprocess.Popen(["true"])
    process.wait()
    aside = result.parent / f".run.{HOST}-{process.pid}.abcdefgh.part/old/run"
    aside.parent.mkdir(parents=True)
    result.rename(aside)
    with chdir(here):
        call(*COMMANDS[command])
    assert contents(result) == before


def test_a_folder_is_replaced_whole(tmp_path: Path) -> None:
    target = tmp_path / "results/run"
    for name in ("a", "b"):
        with whole_folder(target, ["a"]) as new:
            (new / name).write_text(name)
    assert contents(tmp_path / "results") == {"run/b": b"b", ".lock": b""}


def test_an_interrupt_between_two_renames_puts_the_old_one_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "results/run"
    with whole_folder(target) as new:
        (new / "a").write_text("old")
    rename = Path.rename

    def interrupted(path: Path, other: Path) -> None:
        if path.name == "new":
            raise KeyboardInterrupt
        rename(path, other)

    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt), whole_folder(target, ["a"]) as new:
        (new / "a").write_text("new")
    assert contents(tmp_path / "results") == {"run/a": b"old", ".lock": b""}


def test_nothing_is_put_back_where_something_stands(tmp_path: Path) -> None:
    aside = tmp_path / ".run.host-1.abcdefgh.part/old/run"
    aside.mkdir(parents=True)
    (tmp_path / "run").mkdir()
    (tmp_path / "run/mine").write_text("1")
    put_back(tmp_path / "run")
    assert written(tmp_path / "run") == {"mine"}
