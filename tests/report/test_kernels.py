"""Kernels: forked ones share nothing, end with whoever asked, and stand alone.

That they give the bytes of started ones is seen in tests/report/test_notebook.py.
"""

import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path
from threading import Thread
from typing import Any

import nbformat
import pytest

from evaltools.core.messages import WorkFailed
from evaltools.report.notebook import NOTEBOOK, ReportJob, run
from tests.app.processes import alive, until

from .test_notebook import texts

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="kernels are forked on Linux only")


def shown(made: ReportJob) -> list[str]:
    run(made)
    return texts(made.folder / NOTEBOOK)


WHO = "import os\nprint(os.getpid(), os.getppid(), os.getsid(0))"


def test_kernels_are_forked_from_the_process_that_makes_the_reports(job: Any) -> None:
    said = [shown(job(WHO, name=name))[0] for name in "ab"]
    (a, parent, session), (b, other, _) = (map(int, words.split()) for words in said)
    assert a != b and parent == other == os.getpid()
    assert session == a, "a session of its own: an interrupt from the terminal is not for it"
    assert not any(map(alive, (a, b)))


ISOLATED = """
import sys, colorsys, matplotlib
print(colorsys.__file__, matplotlib.rcParams["font.size"], "planted" in dir(), "" in sys.path)
"""
MAKE = """
import pickle, sys
from pathlib import Path
from evaltools.report import notebook
notebook.asset_dir = lambda name: Path('notebooks')
notebook.FROM_FILES = {'a suite': None} if sys.argv[1] == 'spawn' else {}
notebook.run(pickle.load(sys.stdin.buffer))
"""


@pytest.mark.parametrize("how", ["fork", "spawn"])
def test_nothing_of_the_working_directory_or_of_the_home_takes_part(
    how: str, job: Any, tmp_path: Path
) -> None:
    """Modules, a style, a startup file and a profile are planted where they would be looked for."""
    made, home = job(ISOLATED), tmp_path / "home"
    planted = "from pathlib import Path; Path(__file__).with_suffix('.was_run').touch()\n"
    for module in ("colorsys", "seaborn", "ipykernel"):
        (tmp_path / f"{module}.py").write_text(planted)
    startup = home / ".ipython" / "profile_default" / "startup" / "a.py"
    style = home / ".config" / "matplotlib" / "matplotlibrc"
    for path, text in ((startup, "planted = 1\n"), (style, "font.size: 33\n")):
        path.parent.mkdir(parents=True)
        path.write_text(text)
    # ipykernel leaves the streams of a process alone that a test runs in
    dropped = ("IPYTHONDIR", "MPLCONFIGDIR", "XDG_CONFIG_HOME", "PYTEST_CURRENT_TEST")
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    own = {"HOME": str(home), "PYTHONSTARTUP": str(startup)}
    command = [sys.executable, "-P", "-c", MAKE, how]
    subprocess.run(command, input=pickle.dumps(made), env={**kept, **own}, check=True)
    file, *others = "".join(texts(made.folder / NOTEBOOK)).split()
    assert Path(file).parent != tmp_path and others == ["10.0", "False", "False"]
    assert not list(tmp_path.glob("*.was_run"))


def test_a_suite_that_only_the_working_folder_has_is_found_there_last(
    job: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by `python -m evaltools.app.cli`."""
    (tmp_path / "own_suite.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    made = job(
        "import own_suite, sys\nprint(sys.path.index(own_suite.__file__.rpartition('/')[0]) > 3)"
    )
    assert shown(made) == ["True\n"]


SEEN = """
import __main__, asyncio, os, signal, matplotlib as mpl, numpy as np, pandas as pd, evaltools as et
from evaltools.core.messages import language
print(os.environ.get("LEFT"), os.getcwd(), language(), mpl.rcParams["font.size"], hasattr(et, "left"))
print(hasattr(__main__, "left"), signal.getsignal(signal.SIGTERM) == signal.SIG_DFL, os.read(0, 1))
await asyncio.sleep(0.01)
print(np.random.random())
"""
LEFT = """
import os, matplotlib as mpl, numpy as np, evaltools as et
left = et.left = 1
et.speak("ko"); mpl.rcParams["font.size"] = 3; np.random.seed(0)
os.environ["LEFT"] = "1"; os.chdir("/")
"""


def test_nothing_of_one_notebook_or_of_this_process_is_seen_by_the_next(
    job: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("__main__.left", 1, raising=False)
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    found = []
    try:
        for name, cell in (("first", SEEN), ("leaves", LEFT), ("last", SEEN)):
            found.append("".join(shown(job(cell, name=name))).splitlines())
    finally:
        signal.signal(signal.SIGTERM, before)
    first, _, last = found
    assert first[:2] == last[:2]
    assert first[0].startswith(f"None {Path.cwd()} en ") and first[1].startswith("False True")
    assert first[2] != last[2], "what is drawn unseeded differs from kernel to kernel"


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_kernel_ends_with_the_process_that_asked_for_it(
    job: Any, tmp_path: Path, how: signal.Signals
) -> None:
    """And so does what a cell has started."""
    made = job(
        "import os, subprocess, time\nown = subprocess.Popen(['sleep', '600']).pid",
        "open('pid', 'w').write(f'{os.getpid()} {os.getppid()} {own}')\ntime.sleep(60)",
    )
    pid = os.fork()
    if pid == 0:
        try:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            run(made)
        finally:
            os._exit(1)
    there = tmp_path / "pid"
    until(lambda: there.is_file() and len(there.read_text().split()) == 3)
    os.kill(pid, how)
    os.waitpid(pid, 0)
    until(lambda: not any(alive(int(p)) for p in there.read_text().split()))


def test_an_interrupt_leaves_no_kernel(job: Any, tmp_path: Path) -> None:
    made = job("import os\nopen('pid', 'w').write(str(os.getpid()))", "import time\ntime.sleep(60)")
    there, caller = tmp_path / "pid", os.getpid()

    def interrupt() -> None:
        until(lambda: there.is_file() and there.read_text() != "")
        os.kill(caller, signal.SIGINT)

    Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        run(made)
    until(lambda: not alive(int(there.read_text())))


def test_a_killed_kernel_leaves_no_numbers_of_another_run(
    job: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The notebook that is shipped holds outputs of its own; no library has its say."""
    made = job("import os\nos.kill(os.getpid(), 9)")
    shipped = tmp_path / "notebooks" / "n.ipynb"
    nb = nbformat.read(shipped, as_version=4)
    for cell in nb.cells:
        cell.outputs = [nbformat.v4.new_output("stream", text="0.913")]
    nbformat.write(nb, shipped)
    with pytest.raises(WorkFailed, match="Kernel died"):
        run(made)
    assert texts(made.folder / NOTEBOOK) == []
    assert caplog.messages == []


LEAVES = """
import subprocess, threading, time
print(subprocess.Popen(["sleep", "600"]).pid)
threading.Thread(target=time.sleep, args=(600,)).start()
"""


def test_nothing_that_a_cell_left_at_work_goes_on(job: Any) -> None:
    made = job(LEAVES, "raise ValueError")
    with pytest.raises(WorkFailed, match="ValueError"):
        run(made)
    pid, *_ = texts(made.folder / NOTEBOOK)
    until(lambda: not alive(int(pid)))
    (pid,) = shown(job(LEAVES, name="whole"))
    until(lambda: not alive(int(pid)))


SHOWS = """
from IPython.display import clear_output, display
print("gone")
clear_output()
shown = display("first", display_id=True)
shown.update("second")
"""
UPDATES = "shown.update('third')"
THREADS = """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(8) as pool: list(pool.map(print, ["x" * 50] * 4000))
"""


def test_outputs_are_cleared_and_updated_and_threads_print(job: Any) -> None:
    made = job(SHOWS, UPDATES, THREADS)
    run(made)
    *_, cell, later, of_threads = nbformat.read(made.folder / NOTEBOOK, as_version=4).cells
    assert of_threads.outputs[0].text.count("x" * 50) == 4000
    outputs = cell.outputs
    assert later.outputs == []
    assert [dict(o.data) for o in outputs] == [{"text/plain": "'third'"}]


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("import sys\nsys.exit()", "SystemExit:"),
        ("from IPython.display import JSON\nJSON({'a': {(1, 2): 3}})", "keys must be str"),
        ("from IPython.display import JSON\na = {}\na['a'] = a\nJSON(a)", "Circular reference"),
    ],
)
def test_a_cell_that_ends_its_kernel_or_shows_no_json_is_named(
    job: Any, cell: str, message: str
) -> None:
    made = job("1", cell)
    with pytest.raises(WorkFailed, match=message):
        run(made)
    *_, failed = nbformat.read(made.folder / NOTEBOOK, as_version=4).cells
    assert failed.outputs[-1].output_type == "error"
