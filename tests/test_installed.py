"""The wheel that the checkout builds works where the checkout is not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

NO_INDEX = (
    "dns error",
    "error sending request",
    "Failed to fetch",
    "Could not connect",
    "Temporary failure in name resolution",
    "Failed to establish a new connection",
    "network connectivity is disabled",
)
"""What uv and pip write when they cannot reach a package index."""


OF_THIS_PROCESS = {"PYTHONPATH", "VIRTUAL_ENV", "PYTHONDONTWRITEBYTECODE"}


def run(words: list[str | Path], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in the folder, without what this process was told about modules."""
    environment = {k: v for k, v in os.environ.items() if k not in OF_THIS_PROCESS}
    return subprocess.run(
        [str(word) for word in words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT]
    done = run(build, folder)
    assert done.returncode == 0, done.stdout + done.stderr
    (file,) = folder.glob("evaltools-*.whl")
    return file


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the commands of a fresh environment that the wheel was installed into."""
    folder = tmp_path_factory.mktemp("installed")
    uv = shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    venv = folder / "venv"
    if uv:
        create = [uv, "venv", "-q", "--python", sys.executable, venv]
        install = [uv, "pip", "install", "-q", "--python", venv / "bin" / "python", wheel]
    else:
        create = [sys.executable, "-m", "venv", venv]
        install = [venv / "bin" / "python", "-m", "pip", "install", "-q", wheel]
    done = run(create, folder)
    assert done.returncode == 0, done.stderr
    done = run(install, folder)
    if done.returncode != 0 and any(words in done.stderr for words in NO_INDEX):
        pytest.skip(f"no package index can be reached: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    return venv / "bin"


def test_the_wheel_holds_the_package_alone(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    folders = {name.partition("/")[0] for name in names}
    assert folders == {"evaltools", next(n for n in folders if n.endswith(".dist-info"))}
    for name in (
        "evaltools/notebooks/cr_run.ipynb",
        "evaltools/templates/report/macros.html.j2",
        "evaltools/py.typed",
    ):
        assert name in names
    assert not [name for name in names if name.endswith(".pyc")]


def test_an_installed_package_scores_and_reports(installed: Path, tmp_path: Path) -> None:
    example = "example:cr/no_memory__seed1_proposed"
    where = run(
        [installed / "python", "-c", "import evaltools; print(evaltools.__file__)"], tmp_path
    )
    assert Path(where.stdout.strip()).is_relative_to(installed.parent)

    done = run([installed / "evaltools", "report", "cr", example], tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    out = tmp_path / "outputs"
    assert (out / "results" / "no_memory__seed1_proposed" / "metrics.json").is_file()
    assert (out / "reports" / "no_memory__seed1_proposed" / "metric_report.html").is_file()
