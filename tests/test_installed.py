"""The wheel that the checkout builds works where the checkout is not.

Beside the packages of this environment; scripts/test.sh sees that those that it declares are enough.
"""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def run(folder: Path, *words: str | Path, **environment: str) -> str:
    """What a command prints in the folder; it must end well."""
    done = subprocess.run(
        words, cwd=folder, env=os.environ | environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = ("-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT)
    run(folder, sys.executable, *build)
    (file,) = folder.glob("evaltools-*.whl")
    return file


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


def test_an_installed_package_scores_and_reports(wheel: Path, tmp_path: Path) -> None:
    place, example = tmp_path / "installed", "example:cr/no_memory__seed1_proposed"
    pip = ("-m", "pip", "install", "-q", "--no-deps", "--target", place, wheel)
    run(tmp_path, sys.executable, *pip)
    where = (sys.executable, "-c", "import evaltools; print(evaltools.__file__)")
    report = (place / "bin" / "evaltools", "report", "cr", example)
    file, _ = (run(tmp_path, *words, PYTHONPATH=str(place)) for words in (where, report))
    assert Path(file.strip()).is_relative_to(place)
    out = tmp_path / "outputs"
    assert (out / "results" / "no_memory__seed1_proposed" / "metrics.json").is_file()
    assert (out / "reports" / "no_memory__seed1_proposed" / "metric_report.html").is_file()
