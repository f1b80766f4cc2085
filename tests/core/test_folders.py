"""Folders of results: nothing of the user's goes, and a kill at any moment leaves a whole result."""

import json
import shutil
from pathlib import Path

import pytest

import evaltools as et
from evaltools.core.files import bytes_hash, example
from evaltools.core.manifest import whole_folder
from tests.app.calling import QUICK, call
from tests.files import contents

NAME = "no_memory__seed1_proposed"


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


@pytest.mark.parametrize("name", MINE)
def test_a_folder_of_the_users_is_never_replaced(here: Path, name: str) -> None:
    file = here / "out/results/run" / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(MINE[name])
    before = contents(here)
    said = score(here, "--fresh", status=2)
    assert f"holds what evaltools did not write, and would be replaced: {name};" in said
    assert contents(here) == before


def test_a_file_that_comes_while_the_result_is_made_stays(tmp_path: Path) -> None:
    target = tmp_path / "results/run"
    target.mkdir(parents=True)
    with pytest.raises(et.UsageError, match="would be replaced: mine"), whole_folder(target) as new:
        (new / "a").write_text("1")
        (target / "mine").write_text("1")
    assert contents(tmp_path / "results") == {"run/mine": b"1", ".lock": b""}


def test_a_result_that_is_a_file_or_a_link(here: Path) -> None:
    result = here / "out/results/run"
    result.rmdir()
    result.write_text("mine")
    assert "out/results/run is a link or no folder; move it" in score(here, status=2)
    result.unlink()
    (here / "far").mkdir()
    (here / "far/mine").write_text("mine")
    for there in ("far", "nowhere"):
        result.symlink_to(here / there)
        assert "out/results/run is a link or no folder; move it" in score(here, status=2)
        result.unlink()
    assert contents(here / "far") == {"mine": b"mine"}
    score(here)


# --- what a person changed


def test_what_a_person_changed_is_set_aside(here: Path) -> None:
    score(here)
    table = here / "out/results/run/derived/metrics/structural_metrics.csv"
    ours = table.read_bytes()
    table.write_text("my remark\n")
    assert "structural_metrics.csv was changed by hand" in score(here, "--fresh")
    assert table.read_bytes() == ours
    assert table.with_name(table.name + ".yours").read_text() == "my remark\n"
    table.write_text("another remark\n")
    score(here, "--fresh")
    kept = [path.read_text() for path in sorted(table.parent.glob("*.yours*"))]
    assert kept == ["my remark\n", "another remark\n"]


# --- a folder appears whole or not at all


def test_a_block_that_fails_leaves_the_old_folder(tmp_path: Path) -> None:
    with whole_folder(tmp_path / "r") as folder:
        (folder / "manifest.json").write_text(manifest("old"))
        (folder / "f").write_text("old")
    with pytest.raises(OSError), whole_folder(tmp_path / "r") as folder:
        (folder / "f").write_text("new")
        raise OSError("the disk is full")
    assert (tmp_path / "r/f").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir() if path.name != ".lock"] == ["r"]


def manifest(text: str) -> str:
    """A manifest of a folder with the file f, as `Manifest` reads it."""
    content = {
        "suite": "cr",
        "run": "r",
        "inputs": [],
        "options": {},
        "policy": {},
        "resampling": {},
        "versions": {},
        "files": {"f": bytes_hash(text.encode())},
    }
    return json.dumps(content)
