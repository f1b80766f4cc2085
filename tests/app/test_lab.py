"""`evaltools lab`: the copy of the notebooks, and JupyterLab itself in a real browser."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evaltools.core.files import asset_dir

from .calling import call


@pytest.mark.parametrize("user", [0, 1000])
def test_a_copy_is_made_once_and_jupyterlab_gets_the_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, user: int
) -> None:
    started = []

    def execve(program: str, arguments: list[str], environment: dict[str, str]) -> None:
        started.append(arguments)
        raise SystemExit(0)

    monkeypatch.setattr(os, "execve", execve)
    monkeypatch.setattr(os, "geteuid", lambda: user)
    folder = tmp_path / "lab"
    call("lab", "--dir", folder)
    names = sorted(path.name for path in asset_dir("notebooks").glob("*.ipynb"))
    assert sorted(p.name for p in folder.iterdir()) == names
    (folder / "cr_run.ipynb").write_text("mine", encoding="utf-8")
    (folder / "memfin.ipynb").unlink()
    call("lab", "--dir", folder, "--port", "9999", "--ip", "::1")
    assert (folder / "cr_run.ipynb").read_text() == "mine"
    whole = (asset_dir("notebooks") / "memfin.ipynb").read_bytes()
    assert (folder / "memfin.ipynb").read_bytes() == whole
    assert started[1][:4] == [sys.executable, "-m", "jupyterlab", str(folder)]
    assert started[1][-4:] == ["--port", "9999", "--ip", "::1"]
    # as in a container: JupyterLab refuses root unless it is told
    assert ("--allow-root" in started[1]) == (user == 0)
    assert "is no folder" in call("lab", "--dir", folder / "cr_run.ipynb", status=2).stderr


def test_nothing_of_the_working_directory_is_run(tmp_path: Path) -> None:
    """Neither as a module of JupyterLab, nor of a kernel that starts there, nor as a configuration."""
    for folder in (tmp_path, tmp_path / "lab"):
        folder.mkdir(exist_ok=True)
        for name in ("jupyterlab", "ipykernel_launcher", "sitecustomize", "jupyter_server_config"):
            planted = f"open({str(tmp_path / f'{name}.ran')!r}, 'w')\n"
            (folder / f"{name}.py").write_text(planted, encoding="utf-8")
    evaltools = [sys.executable, "-P", "-m", "evaltools.app.cli"]
    done = subprocess.run(
        [*evaltools, "lab", "--dir", "lab", "--", "--version"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"^\d+\.\d+\.\d+", done.stdout, re.MULTILINE)
    assert list(tmp_path.glob("*.ran")) == []


TOKEN = "of-the-test"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The address of a JupyterLab started by the command, and its folder."""
    tmp_path = tmp_path_factory.mktemp("lab")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = [
        "--dir",
        "lab",
        "--port",
        str(port),
        "--no-browser",
        "--",
        "--ServerApp.ip=127.0.0.1",
    ]
    options += [
        f"--IdentityProvider.token={TOKEN}",
        "--ServerApp.port_retries=0",
        "--expose-app-in-browser",
    ]
    homes = {f"JUPYTER_{k}_DIR": str(tmp_path / k) for k in ("CONFIG", "DATA", "RUNTIME")}
    env = {
        **os.environ,
        **homes,
        "JUPYTERLAB_SETTINGS_DIR": str(tmp_path / "s"),
        "IPYTHONDIR": str(tmp_path / "i"),
    }
    env |= {"JUPYTERLAB_WORKSPACES_DIR": str(tmp_path / "w")}
    log = (tmp_path / "log").open("wb")
    server = subprocess.Popen(
        [sys.executable, "-m", "evaltools.app.cli", "lab", *options],
        cwd=tmp_path, env=env, stdout=log, stderr=log, start_new_session=True,
    )  # fmt: skip
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(240):
            try:
                urllib.request.urlopen(f"{address}/api/status?token={TOKEN}", timeout=5).close()
                break
            except (urllib.error.URLError, OSError):
                assert server.poll() is None, (tmp_path / "log").read_text()
                time.sleep(0.25)
        yield address, tmp_path / "lab"
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait(10)
        log.close()


RUN = """async () => {
  const panel = window.jupyterapp.shell.currentWidget;
  await panel.sessionContext.ready;
  const ok = await window.jupyterapp.commands.execute("notebook:run-all-cells");
  const cells = Array.from(panel.content.model.cells).map(c => c.toJSON()).filter(c => c.cell_type === "code");
  const outputs = cells.flatMap(c => c.outputs);
  return {
    ok, cells: cells.length,
    run: cells.filter(c => c.execution_count !== null).length,
    errors: outputs.filter(o => o.output_type === "error").map(o => `${o.ename}: ${o.evalue}`),
    figures: outputs.filter(o => o.data && (o.data["image/png"] || o.data["image/svg+xml"])).length,
    tables: outputs.filter(o => o.data && o.data["text/html"]).length,
  };
}"""
SHOWN = """Array.from(document.querySelectorAll('.jp-OutputArea-output img, .jp-OutputArea-output svg'))
           .filter(e => e.getBoundingClientRect().width > 200).length"""


OPENED = """() => {
  const panel = window.jupyterapp?.shell.currentWidget;
  return panel?.context?.path === "NAME" && panel.content.model.cells.length > 5
    && panel.sessionContext.session?.kernel?.status === "idle";
}"""
WHOLE = """() => {
  const notebook = window.jupyterapp.shell.currentWidget.content;
  notebook.notebookConfig = {...notebook.notebookConfig, windowingMode: "none"};
}"""
"""Draws all cells, not only those in the window."""


"""An unseen character is spelled out, in brackets or in a frame."""


def opened(browser: Any, lab: str, name: str) -> Any:
    page = browser.new_page(viewport={"width": 1400, "height": 1000})
    page.set_default_timeout(110_000)
    # a workspace of its own: one opens what the page before had open
    page.goto(f"{lab}/lab/workspaces/{Path(name).stem}/tree/{name}?token={TOKEN}")
    page.wait_for_function(OPENED.replace("NAME", name))
    return page


@pytest.mark.browser
def test_a_notebook_runs_to_its_end_in_jupyterlab(lab: tuple[str, Path], browser: Any) -> None:
    page = opened(browser, lab[0], "cr_run.ipynb")
    page.evaluate(
        "() => { const c = window.jupyterapp.commands; return c.execute('notebook:clear-all-cell-outputs'); }"
    )
    done = page.evaluate(RUN)
    assert done["errors"] == [] and done["ok"] is not False
    assert done["run"] == done["cells"] >= 10 and done["figures"] >= 4 and done["tables"] >= 5
    page.evaluate(WHOLE)
    page.wait_for_function(SHOWN + " >= 1")
    page.close()
