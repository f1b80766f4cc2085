"""Suites that other distributions bring: one that works, one that does not import, one with a built-in's name."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from evaltools.core import language

from .calling import call
from .test_own_suites import DATA, QUICK, write_labels

ENTRY_POINTS = """[evaltools.suites]
labels = own_labels:SUITE
broken = own_broken:SUITE
nothing = own_nothing:SUITE
leaving = own_leaving:SUITE
unsure = own_unsure:SUITE
twice = own_labels:SUITE
[31mred = own_broken:SUITE
cr = own_clash:SUITE
"""
MODULES = {
    "own_broken": "raise RuntimeError('needs a library that is not there')",
    "own_nothing": "SUITE = 'a text'",
    "own_leaving": "raise SystemExit(0)",
    "own_unsure": "from dataclasses import replace\nimport own_labels\n"
    "SUITE = replace(own_labels.SUITE, name='unsure', sniff=lambda path: 1 / 0)",
    "own_clash": "raise RuntimeError('asked for although a built-in suite has that name')",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of installed two distributions with their entry points."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "own_labels.py").write_text(
        (DATA / "labels.py").read_text(encoding="utf-8"), encoding="utf-8"
    )
    for name, text in MODULES.items():
        (folder / f"{name}.py").write_text(text + "\n", encoding="utf-8")
    info = folder / "own_suites-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: own-suites\nVersion: 1.0\n", encoding="utf-8"
    )
    (info / "entry_points.txt").write_text(ENTRY_POINTS, encoding="utf-8")
    other = folder / "other_suites-1.0.dist-info"
    other.mkdir()
    (other / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: other-suites\nVersion: 1.0\n", encoding="utf-8"
    )
    entry = "[evaltools.suites]\ntwice = own_labels:SUITE\n"
    (other / "entry_points.txt").write_text(entry, encoding="utf-8")
    return folder


@pytest.fixture
def here(site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working folder for calls that see the folder of distributions."""
    monkeypatch.syspath_prepend(site)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for name in ("own_labels", *MODULES):
        sys.modules.pop(name, None)


def in_a_process(site: Path, folder: Path, *arguments: str) -> str:
    """What the command says in a process of its own that sees the folder of distributions."""
    done = subprocess.run(
        [sys.executable, "-m", "evaltools.app.cli", *arguments],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")]),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_installed_suite_has_its_commands(site: Path, tmp_path: Path) -> None:
    write_labels(tmp_path / "run.jsonl", 0.8)
    assert "Macro F1" in in_a_process(site, tmp_path, "report", "labels", "run.jsonl", *QUICK)
    assert (tmp_path / "outputs/reports/run/metric_report.html").is_file()
    again = in_a_process(site, tmp_path, "rerun", "outputs/results/run")
    assert again.endswith("numbers compared, the same\n")


def test_the_suite_of_a_run_is_found_out(here: Path) -> None:
    for i, name in enumerate(("a__seed1_x", "b__seed1_x")):
        write_labels(here / f"{name}.jsonl", 0.9 - 0.3 * i, i)
    assert "accuracy" in call("compare", "a__seed1_x.jsonl", "b__seed1_x.jsonl", *QUICK).stdout


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "broken",
            "the suite 'broken' is installed but own_broken:SUITE cannot be loaded: RuntimeError: needs a library",
        ),
        (
            "nothing",
            "own_nothing:SUITE cannot be loaded: TypeError: expected a suite (et.jsonl_suite), got str",
        ),
        ("leaving", "own_leaving:SUITE cannot be loaded: SystemExit: 0"),
        ("twice", "several packages install a suite 'twice'; remove all but one"),
    ],
)
@pytest.mark.parametrize("command", ["score", "report", "check"])
def test_one_that_cannot_be_loaded_fails_its_own_commands(
    here: Path, name: str, message: str, command: str
) -> None:
    assert message in call(command, name, "x", status=2).stderr


def test_the_others_go_on(here: Path) -> None:
    listed = call("score", "--help").stdout
    for name in ("cr", "memfin", "summary", "labels", "broken"):
        assert f"\n  {name}" in listed
    assert "\x1b" not in listed
    call("--help")
    call("score", "summary", "example:summary/cases.jsonl", "-q", *QUICK)
    # looked through for the suite of a run, and passed over
    call("compare", "example:memfin/memory_agent", "example:memfin/plain_llm", *QUICK)


def test_a_built_in_suite_keeps_its_name(here: Path) -> None:
    call("score", "cr", "example:cr/no_memory__seed1_proposed", "-q", *QUICK)
    assert "Conflict Review" in call("score", "cr", "--help").stdout


@pytest.mark.parametrize("content", ["no = toml =", '"F1" = 3'])
def test_a_broken_language_file_of_a_stranger_fails_its_suite_alone(
    content: str, here: Path, site: Path
) -> None:
    lang = site / "lang"
    lang.mkdir(exist_ok=True)
    (lang / "ko.toml").write_text(content, encoding="utf-8")
    try:
        assert "ko.toml: expected" in call("score", "labels", "x", status=2).stderr
        call("score", "summary", "example:summary/cases.jsonl", "-q", "--lang", "ko", *QUICK)
    finally:
        (lang / "ko.toml").unlink()


def test_a_stranger_cannot_change_the_words_of_the_package(tmp_path: Path) -> None:
    (tmp_path / "lang").mkdir()
    texts = '"Metric" = "나쁨"\n"a text of mine" = "내 글"\n'
    (tmp_path / "lang" / "ko.toml").write_text(texts, encoding="utf-8")
    before = dict(language._folders)
    try:
        language.use_language_files(tmp_path)
        with language.speaking("ko"):
            assert language.say("Metric") == "지표"
            assert language.say("a text of mine") == "내 글"
    finally:
        language._folders.clear()
        language._folders.update(before)
