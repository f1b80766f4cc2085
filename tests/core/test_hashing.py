"""Hashes of inputs, and those that a process of its own begins with."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from click.testing import CliRunner

from evaltools.app.cli import main
from evaltools.core import hashing
from evaltools.core.files import example
from evaltools.core.hashing import content_hash, hash_ahead


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """More than 100 bytes are large."""
    monkeypatch.setattr(hashing, "LARGE_BYTES", 100)
    monkeypatch.setattr(hashing, "_ahead", {})


def _file(path: Path, text: str = "가나다\n" * 100) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def _true(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _not_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> str:
        raise AssertionError("hashed in this process")

    monkeypatch.setattr(hashing, "sha256", refuse)


def test_a_large_file_is_hashed_by_another_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _file(tmp_path / "-a b.jsonl")
    hash_ahead(["cr", "--name", "x", str(path), "-o", str(tmp_path / "out")])
    _not_here(monkeypatch)
    assert content_hash(path) == _true(path)
    assert content_hash(path) == _true(path), "once"


def test_of_a_folder_it_is_the_one_large_file_of_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _file(tmp_path / "outputs.jsonl")
    _file(tmp_path / "gold.jsonl", "{}\n")
    _file(tmp_path / "notes.txt")
    hash_ahead([str(tmp_path)])
    _not_here(monkeypatch)
    assert content_hash(path) == _true(path)


@pytest.mark.parametrize(
    "names", [(), ("a", "b"), ("small",), ("missing",), ("x" * 5000,), ("a\0b",)]
)
def test_otherwise_nothing_is_begun(tmp_path: Path, names: tuple[str, ...]) -> None:
    for name in ("a", "b"):
        _file(tmp_path / name)
    _file(tmp_path / "small", "x")
    hash_ahead([str(tmp_path / name) for name in names])
    assert hashing._ahead == {}


def test_a_file_that_changed_since_is_hashed_again(tmp_path: Path) -> None:
    path = _file(tmp_path / "a")
    hash_ahead([str(path)])
    _file(path, "라마바\n" * 200)
    assert content_hash(path) == _true(path)


def test_where_that_process_was_killed_this_one_hashes(tmp_path: Path) -> None:
    path = _file(tmp_path / "a")
    hash_ahead([str(path)])
    (begun,) = hashing._ahead.values()
    begun.kill()
    assert content_hash(path) == _true(path)


def test_a_forked_process_does_not_read_the_answer_of_its_parent(tmp_path: Path) -> None:
    path = _file(tmp_path / "a")
    hash_ahead([str(path)])
    asked, begun = hashing._ahead.popitem()
    hashing._ahead[os.getpid() + 1, *asked[1:]] = begun
    assert content_hash(path) == _true(path)
    assert begun.communicate()[0] == _true(path)


def test_that_process_does_not_outlive_who_asked(tmp_path: Path) -> None:
    path = tmp_path / "sparse.jsonl"
    with path.open("wb") as f:
        f.truncate(40 << 30)  # takes longer than the test
    code = f"from evaltools.core.hashing import _ahead, hash_ahead\nhash_ahead([{str(path)!r}])\n"
    code += "(begun,) = _ahead.values()\nprint(begun.pid)"
    asked = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    end = time.monotonic() + 20
    while psutil.pid_exists(int(asked.stdout)) and time.monotonic() < end:
        time.sleep(0.05)
    assert not psutil.pid_exists(int(asked.stdout))


def test_a_command_begins_with_its_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = tmp_path / "cases.jsonl"  # no other test has hashed it
    run.write_bytes(example("summary/cases.jsonl").read_bytes())
    begun: list[str] = []
    monkeypatch.setattr(
        "evaltools.app.cli.hash_ahead", lambda found: (begun.extend(found), hash_ahead(found))
    )
    done = CliRunner().invoke(
        main, ["score", "summary", str(run), "-o", str(tmp_path / "out"), "--name", "x", "-q"]
    )
    assert done.exit_code == 0, done.output
    assert str(run) in begun
    assert hashing._ahead == {}, "the answer was used"
    (found,) = json.loads((tmp_path / "out" / "results" / "x" / "manifest.json").read_text())[
        "inputs"
    ]
    assert found["sha256"] == _true(run)
