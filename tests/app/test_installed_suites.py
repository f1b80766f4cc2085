"""Suites that other distributions bring: one that works, one that does not import, one with a built-in's name."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .test_own_suites import DATA, QUICK, write_labels

ENTRY_POINTS = """[evaltools.suites]
labels = own_labels:SUITE
broken = own_broken:SUITE
nothing = own_nothing:SUITE
cr = own_clash:SUITE
"""
MODULES = {
    "own_broken": "raise RuntimeError('needs a library that is not there')",
    "own_nothing": "SUITE = 'a text'",
    "own_clash": "raise RuntimeError('asked for although a built-in suite has that name')",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of installed distributions with four entry points."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "own_labels.py").write_text((DATA / "labels.py").read_text(encoding="utf-8"), encoding="utf-8")
    for name, text in MODULES.items():
        (folder / f"{name}.py").write_text(text + "\n", encoding="utf-8")
    info = folder / "own_suites-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: own-suites\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(ENTRY_POINTS, encoding="utf-8")
    return folder


@pytest.fixture
def evaltools(site: Path, tmp_path: Path):
    """Calls the command in a process of its own that sees the folder."""

    def run(*arguments: str, status: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "evaltools.app.cli", *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(site)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == status, done.stderr
        assert "Traceback" not in done.stderr
        return done

    return run


def test_an_installed_suite_has_its_commands(evaltools, tmp_path: Path) -> None:
    write_labels(tmp_path / "run.jsonl", 0.8)
    assert "Macro F1" in evaltools("report", "labels", "run.jsonl", *QUICK).stdout
    assert (tmp_path / "outputs/reports/run/metric_report.html").is_file()
    again = evaltools("rerun", "outputs/results/run").stdout
    assert again.endswith("numbers compared, the same to the last digit\n")


def test_the_suite_of_a_run_is_found_out(evaltools, tmp_path: Path) -> None:
    for i, name in enumerate(("a__seed1_x", "b__seed1_x")):
        write_labels(tmp_path / f"{name}.jsonl", 0.9 - 0.3 * i, i)
    assert "accuracy" in evaltools("compare", "a__seed1_x.jsonl", "b__seed1_x.jsonl", *QUICK).stdout


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "broken",
            "the suite 'broken' is installed but own_broken:SUITE cannot be loaded: RuntimeError: needs a library",
        ),
        ("nothing", "own_nothing:SUITE of the installed suite 'nothing' is str; expected a suite"),
    ],
)
@pytest.mark.parametrize("command", ["score", "report", "check"])
def test_one_that_cannot_be_loaded_fails_its_own_commands(evaltools, name: str, message: str, command: str) -> None:
    assert message in evaltools(command, name, "x", status=2).stderr


def test_the_others_go_on(evaltools, tmp_path: Path) -> None:
    listed = evaltools("score", "--help").stdout
    for name in ("cr", "memfin", "summary", "labels", "broken"):
        assert f"\n  {name}" in listed
    evaltools("--help")
    evaltools("score", "summary", "example:summary/cases.jsonl", "-q", *QUICK)
    # looked through for the suite of a run, and passed over
    evaltools("compare", "example:memfin/memory_agent", "example:memfin/plain_llm", *QUICK)


def test_a_built_in_suite_keeps_its_name(evaltools) -> None:
    evaltools("score", "cr", "example:cr/no_memory__seed1_proposed", "-q", *QUICK)
    assert "Conflict Review" in evaltools("score", "cr", "--help").stdout
