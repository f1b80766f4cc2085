"""Running the report notebooks: papermill executes, nbconvert renders, and both files appear whole or not at all."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .assets import asset_dir
from .jsonl import sha256, write_text

NOTEBOOK = "metric_report.ipynb"
HTML = "metric_report.html"


@dataclass(frozen=True)
class ReportJob:
    """One report to make: which notebook, under which name, with which parameters.

    `current` is what the report depends on (input hashes, policy, versions): a finished report that
    carries the same is not made again by `--resume`.
    """

    name: str
    notebook: str
    title: str
    folder: Path
    parameters: Mapping[str, Any]
    current: Mapping[str, Any]


class ReportFailed(Exception):
    """A cell of a report raised. `notebook` is kept, with the error at its top."""

    def __init__(self, name: str, notebook: Path, reason: str):
        self.name, self.notebook, self.reason = name, notebook, reason
        super().__init__(f"{name}: {reason} (see {notebook})")


@contextmanager
def _without_uri_grammars() -> Iterator[None]:
    # jsonschema's optional URI checker builds parsers for a second at import; notebook schemas use none of it
    absent = "rfc3987_syntax" not in sys.modules
    if absent:
        sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        if absent:
            del sys.modules["rfc3987_syntax"]


def load_papermill() -> Any:
    with _without_uri_grammars():
        import papermill

    return papermill


def is_current(job: ReportJob) -> bool:
    """Both files of the report are there, whole, and made from the same inputs, policy and versions."""
    import nbformat

    path = job.folder / NOTEBOOK
    if not path.is_file() or not (job.folder / HTML).is_file():
        return False
    try:
        nb = nbformat.read(path, as_version=4)
    except (ValueError, OSError):
        return False
    return bool(nb.metadata.get("evaltools") == stamp(job))


def stamp(job: ReportJob) -> dict[str, Any]:
    return {**job.current, "notebook": job.notebook, "notebook_sha256": sha256(asset_dir("notebooks") / job.notebook)}


def run(job: ReportJob) -> Path:
    """Execute the notebook, write it and its HTML under `job.folder`; returns the HTML's path.

    Raises ReportFailed where a cell fails: the notebook is kept, an older HTML is removed.
    """
    papermill = load_papermill()
    import nbformat

    from .report.html import render

    job.folder.mkdir(parents=True, exist_ok=True)
    source = asset_dir("notebooks") / job.notebook
    with tempfile.TemporaryDirectory(prefix=".run-", dir=job.folder) as scratch, kernel_config() as config:
        draft = Path(scratch) / NOTEBOOK
        failure: Exception | None = None
        try:
            papermill.execute_notebook(
                source,
                draft,
                parameters=dict(job.parameters),
                kernel_name="python3",
                progress_bar=False,
                log_output=False,
                request_save_on_cell_execute=False,
                autosave_cell_every=0,
                shutdown_kernel="immediate",
                config=config,
            )
        except papermill.PapermillException as e:
            failure = e
        if not draft.is_file():
            raise ReportFailed(job.name, source, f"{type(failure).__name__}: {failure}") from failure
        nb = nbformat.read(draft, as_version=4)
    tidy(nb)
    if failure is not None:
        write_text(job.folder / NOTEBOOK, nbformat.writes(nb) + "\n")
        (job.folder / HTML).unlink(missing_ok=True)
        last = str(failure).strip().splitlines()[-1]
        raise ReportFailed(job.name, job.folder / NOTEBOOK, last) from failure
    nb.metadata["evaltools"] = stamp(job)
    html = render(nb, title=job.title)
    write_text(job.folder / NOTEBOOK, nbformat.writes(nb) + "\n")
    write_text(job.folder / HTML, html)
    return job.folder / HTML


@contextmanager
def kernel_config() -> Iterator[Any]:
    """Settings by which a kernel is reached through sockets in a private folder, where the system has such."""
    from traitlets.config import Config

    if os.name != "posix":
        yield Config()
        return
    with tempfile.TemporaryDirectory(prefix="evaltools-") as sockets:
        yield Config({"KernelManager": {"transport": "ipc", "ip": f"{sockets}/kernel"}})


def tidy(nb: Any) -> None:
    """Remove what differs between two runs of the same thing: times, random cell ids, machine details."""
    nb.metadata.pop("papermill", None)
    nb.metadata.get("language_info", {}).pop("version", None)
    for number, cell in enumerate(nb.cells):
        cell["id"] = f"cell-{number}"
        cell.metadata.pop("papermill", None)
        cell.metadata.pop("execution", None)
