"""`evaltools lab`: the copy of the notebooks, and JupyterLab itself in a real browser."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.exceptions import Exit

from evaltools.core.files import asset_dir

from .calling import call


def test_a_copy_is_made_once_and_jupyterlab_gets_the_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = []

    def execve(program: str, arguments: list[str], environment: dict[str, str]) -> None:
        started.append(arguments)
        raise Exit(0)

    monkeypatch.setattr(os, "execve", execve)
    monkeypatch.chdir(tmp_path)
    folder, source = Path("evaltools-lab"), asset_dir("notebooks")
    call("lab")
    assert {p.name for p in folder.iterdir()} == {p.name for p in source.glob("*.ipynb")}
    (folder / "cr_run.ipynb").write_text("mine", encoding="utf-8")
    call("lab", "--port", "9999", "--ip", "::1")
    assert (folder / "cr_run.ipynb").read_text() == "mine"
    assert started[1][:4] == [sys.executable, "-m", "jupyterlab", str(folder)]
    assert started[1][-4:] == ["--port", "9999", "--ip", "::1"]


def test_nothing_of_the_working_directory_is_run(tmp_path: Path) -> None:
    """Neither as a module of JupyterLab, nor of a kernel that starts there, nor as a configuration."""
    for folder in (tmp_path, tmp_path / "evaltools-lab"):
        folder.mkdir(exist_ok=True)
        for name in ("jupyterlab", "ipykernel_launcher", "sitecustomize", "jupyter_server_config"):
            planted = f"open({str(tmp_path / f'{name}.ran')!r}, 'w')\n"
            (folder / f"{name}.py").write_text(planted, encoding="utf-8")
    evaltools = [sys.executable, "-P", "-m", "evaltools.app.cli"]
    done = subprocess.run(
        [*evaltools, "lab", "--", "--version"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert re.search(r"^\d+\.\d+\.\d+", done.stdout, re.MULTILINE)
    assert list(tmp_path.glob("*.ran")) == []
