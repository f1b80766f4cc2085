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

import pytest

from evaltools.app.lab import command, contents, prepare
from evaltools.core.errors import UsageError
from evaltools.core.files import example


def test_a_fresh_copy_lists_notebooks_and_examples(tmp_path: Path) -> None:
    folder = prepare(tmp_path / "lab")
    assert folder == tmp_path / "lab"
    assert sorted(p.name for p in folder.iterdir()) == sorted(contents())
    readme = (folder / "README.md").read_text(encoding="utf-8")
    for name in ("cr_run.ipynb", "cr_seeds.ipynb", "memfin.ipynb", "summary.ipynb"):
        assert f"[{name}]({name})" in readme
    named = re.findall(r"`example:([^`]+)`", readme)
    assert len(named) >= 5 and all(example(n).exists() for n in named)


def test_a_changed_copy_is_never_overwritten(tmp_path: Path) -> None:
    folder = prepare(tmp_path / "lab")
    assert prepare(tmp_path / "lab") == folder  # untouched: the same again
    (folder / "cr_run.ipynb").write_text("mine", encoding="utf-8")
    (folder / "more.ipynb").write_text("mine too", encoding="utf-8")
    second = prepare(tmp_path / "lab")
    assert second == tmp_path / "lab-2" and (folder / "cr_run.ipynb").read_text() == "mine"
    (second / "memfin.ipynb").unlink()
    assert prepare(tmp_path / "lab") == second and (second / "memfin.ipynb").is_file()


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "lab").write_text("x")
    with pytest.raises(UsageError, match="is a file"):
        prepare(tmp_path / "lab")


def test_options_are_passed_through(tmp_path: Path) -> None:
    given = command(tmp_path, 9999, False, ["--ip", "::1"])
    assert given[:4] == [sys.executable, "-m", "jupyterlab", str(tmp_path)]
    assert {"--ServerApp.port=9999", "--no-browser"} <= set(given) and given[-2:] == ["--ip", "::1"]
    assert not {"--no-browser"} & set(command(tmp_path, None, True))


TOKEN = "of-the-test"


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[str]:
    """The address of a JupyterLab started by the command."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--dir", "lab", "--port", str(port), "--no-browser", "--", "--ServerApp.ip=127.0.0.1"]
    options += [
        f"--IdentityProvider.token={TOKEN}",
        "--ServerApp.port_retries=0",
        "--allow-root",
        "--expose-app-in-browser",
    ]
    homes = {f"JUPYTER_{k}_DIR": str(tmp_path / k) for k in ("CONFIG", "DATA", "RUNTIME")}
    env = {**os.environ, **homes, "JUPYTERLAB_SETTINGS_DIR": str(tmp_path / "s"), "IPYTHONDIR": str(tmp_path / "i")}
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
        yield address
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


@pytest.mark.browser
def test_a_notebook_runs_to_its_end_in_jupyterlab(lab: str, chromium: str) -> None:
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        page.set_default_timeout(110_000)
        page.goto(f"{lab}/lab/tree/cr_run.ipynb?token={TOKEN}")
        page.wait_for_function(
            "window.jupyterapp?.shell.currentWidget?.content?.model?.cells?.length > 5"
            " && window.jupyterapp.shell.currentWidget.sessionContext?.session?.kernel?.status === 'idle'"
        )
        page.evaluate(
            "() => { const c = window.jupyterapp.commands; return c.execute('notebook:clear-all-cell-outputs'); }"
        )
        done = page.evaluate(RUN)
        assert done["errors"] == [] and done["ok"] is not False
        assert done["run"] == done["cells"] > 20 and done["figures"] >= 5 and done["tables"] >= 10
        # cells outside the window are not drawn: scroll until a figure is
        page.locator(".jp-WindowedPanel-outer, .jp-NotebookPanel-notebook").first.hover()
        for _ in range(60):
            if page.evaluate(SHOWN):
                break
            page.mouse.wheel(0, 600)
            page.wait_for_timeout(250)
        assert page.evaluate(SHOWN) >= 1
        browser.close()
