"""Reports of three runs with a notebook of two cells, each of which takes a second."""

import os
import subprocess
import sys
from contextlib import chdir
from pathlib import Path
from unittest.mock import patch

import nbformat
from click.testing import Result

from tests.files import contents

from .calling import call

CONDITIONS = ("no_memory__seed1", "no_memory__seed2", "with_memory__seed1")
RUNS = [f"example:cr/{condition}_proposed" for condition in CONDITIONS]
NAMES = [run.removeprefix("example:cr/") for run in RUNS]

REPORT = ("report", "cr", *RUNS, "-j", "2", "--n-resamples", "100")

TIMED = ("manifest.json", "index.html")
"""The files that say when something was done."""

MAIN = """
import sys
from pathlib import Path
import evaltools.report.notebook
folder = Path(sys.argv.pop(1))
evaltools.report.notebook.asset_dir = lambda name: folder
from evaltools.app.cli import main
main(prog_name="evaltools")
"""
"""The command line with the notebooks of another folder."""

PARAMETERS = """
run = None
scored = None
out = None
name = None
gold = None
protocol = "cr_v2"
match = "spec"
stop_terms = ()
allowlist = ()
metrics = None
ci = "bca"
n_resamples = 10_000
confidence = 0.95
seed = 0
on_error = "fail"
"""

SCORE = """
import evaltools as et
result = et.load(scored)
print(result.signature, result.value("tuple_f1_s2_refpol"))
"""

GATE = "EVALTOOLS_TEST_GATE"
WAIT = f"""
import os
from pathlib import Path
gate = os.environ.get({GATE!r})
if gate:
    Path(gate, Path(scored).name + ".begun").touch()
    os.close(os.open(Path(gate, Path(scored).name), os.O_RDONLY))
"""
"""A cell that waits for its gate in the folder that the environment variable GATE names, if it does."""

OPENED: list[int] = []


def make_gates(folder: Path) -> Path:
    """A gate for each run: a named pipe, which whoever wants to read waits to open until somebody writes."""
    folder.mkdir()
    for name in NAMES:
        os.mkfifo(folder / name)
    return folder


def open_gates(folder: Path, *names: str) -> None:
    """Open gates for all that wait and will come: this process keeps them open for writing."""
    OPENED.extend(os.open(folder / name, os.O_RDWR) for name in names)


def write_notebook(folder: Path, *cells: str) -> Path:
    """Write a notebook of these cells in the place of that of the suite."""
    folder.mkdir(exist_ok=True)
    write_cells(folder / "cr_run.ipynb", PARAMETERS, *cells)
    return folder


def write_cells(path: Path, parameters: str, *cells: str) -> None:
    """Write a notebook of these parameters and cells."""
    first = nbformat.v4.new_code_cell(parameters, metadata={"tags": ["parameters"]})
    nb = nbformat.v4.new_notebook(cells=[first, *map(nbformat.v4.new_code_cell, cells)])
    nb.metadata["kernelspec"] = {
        "name": "python3",
        "display_name": "Python 3",
        "language": "python",
    }
    nbformat.write(nb, path)


def start(
    notebooks: Path, folder: Path, *arguments: str, **environment: str
) -> subprocess.Popen[str]:
    """A command at work in the folder, in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", MAIN, str(notebooks), *arguments],
        cwd=folder,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def run(notebooks: Path, folder: Path, *arguments: str, status: int = 0) -> Result:
    """What a command says, called in this process in the folder."""
    with chdir(folder), patch("evaltools.report.notebook.asset_dir", lambda name: notebooks):
        return call(*arguments, status=status)


def files(folder: Path, *without: str) -> dict[str, bytes]:
    """Path below the folder -> content, but for files of these names."""
    left_out = (*without, ".lock")
    return {name: raw for name, raw in contents(folder).items() if not name.endswith(left_out)}


def make_undisturbed(folder: Path) -> None:
    """Fill the folder with `notebooks`, and the `outputs` of a batch that nothing disturbed."""
    write_notebook(folder / "notebooks", WAIT, SCORE)
    assert run(folder / "notebooks", folder, *REPORT).stdout.endswith("3 done\n")
