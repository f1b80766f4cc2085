"""Folders of results: whole or as they were, current only while nothing was changed, nobody else's replaced."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import pytest
from pydantic import BaseModel

import evaltools as et
from evaltools.core.files import example
from tests.app.calling import FAST, QUICK, call
from tests.files import contents, edit

NAME = "no_memory__seed1_proposed"
OTHER = "no_memory__seed2_proposed"


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Path]:
    """A working folder with a run and its result."""
    shutil.copytree(example(f"cr/{NAME}"), tmp_path / NAME)
    with chdir(tmp_path):
        et.evaluate("cr", NAME, out="out", resampling=FAST)
        yield tmp_path


RESULT = Path("out/results") / NAME


def untimed(folder: Path) -> dict[str, bytes]:
    return {name: raw for name, raw in contents(folder).items() if name != "manifest.json"}


class Identified(BaseModel):
    id: str


def test_an_input_that_changes_while_it_is_read_is_noticed(tmp_path: Path) -> None:
    """Half of one file and half of another make no result."""
    path, grows = tmp_path / "records.jsonl", [True]

    def columns(record: Identified) -> dict[str, int]:
        if grows and record.id == "b":
            path.write_text(path.read_text() + '{"id": "c"}\n')
        return {"n": 1}

    growing = et.jsonl_suite(
        "growing",
        title="T",
        record=Identified,
        unit="id",
        columns=columns,
        metrics=[et.Metric(name="count", numerator="n", denominator="", better="none")],
        headline=("count",),
    )
    path.write_text('{"id": "a"}\n{"id": "b"}\n')
    with pytest.raises(et.InputError, match=r"records\.jsonl: changed while it was read"):
        et.evaluate(growing, path, out=tmp_path / "out", on_error="skip")
    assert not (tmp_path / "out").exists()


def test_a_result_that_is_current_is_read(here: Path) -> None:
    before = {p: p.stat().st_mtime_ns for p in RESULT.rglob("*")}
    again = et.evaluate("cr", NAME, out="out", resampling=FAST)
    assert {p: p.stat().st_mtime_ns for p in RESULT.rglob("*")} == before
    assert again.frame.equals(et.load(RESULT).frame)
    et.evaluate("cr", NAME, out="out", resampling=FAST, fresh=True)
    assert {p: p.stat().st_mtime_ns for p in RESULT.rglob("*")} != before


def test_another_policy_and_new_contents_replace(here: Path) -> None:
    et.evaluate("cr", NAME, out="out", resampling=FAST, protocol="cr_v1")
    assert et.load(RESULT).policy["protocol"] == "cr_v1"
    path = Path(NAME) / "outputs.jsonl"
    path.write_text(
        "".join(path.read_text(encoding="utf-8").splitlines(keepends=True)[:-1]), encoding="utf-8"
    )
    et.evaluate("cr", NAME, out="out", resampling=FAST)
    assert et.load(RESULT).n_units == 59


def test_what_another_input_made_is_kept_unless_fresh_says_so(here: Path) -> None:
    before = contents(RESULT)
    shutil.copytree(example(f"cr/{OTHER}"), here / "elsewhere" / NAME)
    command = ("score", "cr", f"elsewhere/{NAME}", "-o", "out", "-q", *QUICK)
    call(*command, status=2)
    assert contents(RESULT) == before
    call(*command, "--fresh")
    assert et.load(RESULT).manifest.inputs[0].path == f"elsewhere/{NAME}/outputs.jsonl"


def test_an_input_is_never_inside_of_what_is_replaced(here: Path) -> None:
    """A run that lies where its own result would go, under its own name or through a link."""
    place = here / "own/results/run"
    shutil.copytree(example(f"cr/{NAME}"), place)
    (here / "link").symlink_to(place)
    before = contents(here)
    for run in (place, here / "link", RESULT):
        where = ("--name", NAME, "-o", "out") if run is RESULT else ("--name", "run", "-o", "own")
        done = call("score", "cr", run, *where, "-q", *QUICK, "--fresh", status=2)
        assert "holds an input, and would be replaced" in done.stderr
    assert contents(here) == before


SCORE = """
import sys
import evaltools as et
et.evaluate("cr", sys.argv[1], out="out", resampling=et.Resampling(n_resamples=100), fresh=True, protocol=sys.argv[2])
"""


def test_two_processes_at_once_end_in_one_whole_result(here: Path) -> None:
    """Of two policies: the folder is that of one of them."""
    expected = {}
    for protocol in ("cr_v1", "cr_v2"):
        et.evaluate("cr", NAME, out=protocol, resampling=FAST, protocol=protocol)
        expected[protocol] = untimed(Path(protocol) / "results" / NAME)
    running = [
        subprocess.Popen(
            [sys.executable, "-c", SCORE, NAME, protocol], stderr=subprocess.PIPE, text=True
        )
        for protocol in expected
    ]
    for one in running:
        _, errors = one.communicate()
        assert (one.returncode, errors) == (0, "")
    assert untimed(RESULT) == expected[et.load(RESULT).policy["protocol"]]
    assert {p.name for p in RESULT.parent.iterdir()} == {NAME, ".lock"}


def test_what_is_no_result(here: Path) -> None:
    with pytest.raises(et.UsageError, match="holds no complete result"):
        et.load(here / "absent")
    with pytest.raises(et.UsageError, match="holds no complete result"):
        et.load(NAME)
    edit(RESULT / "manifest.json", lambda m: m.update(metrics=[{"name": "half"}]))
    with pytest.raises(et.UsageError, match="names a metric that is none"):
        et.study([RESULT])
    (RESULT / "units.parquet").write_bytes(b"")
    with pytest.raises(et.InputError, match=r"units\.parquet: is not as it was written"):
        et.load(RESULT)
    (RESULT / "manifest.json").unlink()
    with pytest.raises(et.InputError, match="nothing vouches for the result beside it"):
        et.study([RESULT])
