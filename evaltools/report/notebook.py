"""Running the report notebooks: papermill executes, nbconvert renders, and both files appear whole or not at all."""

from __future__ import annotations

import json
import logging
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..core.errors import WorkFailed
from ..core.files import asset_dir, sha256, write_text
from ..core.language import say, speak
from . import paper
from .kernels import connection, end_kernels, kernel_manager, without
from .make_study import study
from .parameters import names_set
from .study import Study

NOTEBOOK = "metric_report.ipynb"
HTML = "metric_report.html"


@dataclass(frozen=True)
class ReportJob:
    """One report to make.

    `notebook`: a file of `notebooks/`, or a path. `parameters`: those that the notebook names. `depends_on`: input
    hashes, policy, versions; a finished report that carries the same is not made again by `--resume`. `paper`: the
    study that the files for a paper are made from (`report.paper`), or the results folder of a run; None: no files.
    """

    name: str
    notebook: str | Path
    title: str
    folder: Path
    parameters: Mapping[str, Any]
    depends_on: Mapping[str, Any]
    paper: Study | Path | None = None


class ReportFailed(WorkFailed):
    """A cell of a report raised, or its kernel died. `notebook` is kept, with the error at its top."""

    def __init__(self, name: str, notebook: Path, reason: str):
        self.name, self.notebook, self.reason = name, notebook, reason
        super().__init__(f"{reason} (see {notebook})")

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.name, self.notebook, self.reason))


def load_papermill() -> Any:
    """Import papermill and, through it, nbformat, which imported before this takes longer."""
    # jsonschema's optional URI checker builds parsers at import, for 0.8 of 1.7 seconds; notebook schemas use none
    with without("rfc3987_syntax"):
        import papermill

    return papermill


def prepare() -> None:
    """Load what executes notebooks and renders their pages."""
    load_papermill()
    kernel_manager()
    from .page import prepare as prepare_pages

    prepare_pages()


def parameters_of(notebook: str | Path) -> list[str]:
    """The names that the parameters cell of a notebook sets, in order."""
    path = asset_dir("notebooks") / notebook
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if "parameters" in cell["metadata"].get("tags", []):
            return names_set("".join(cell["source"]))
    return []


def is_current(job: ReportJob) -> bool:
    """Both files of the report are there, whole, and made from the same inputs, policy and versions."""
    try:
        nb = json.loads((job.folder / NOTEBOOK).read_text(encoding="utf-8"))
        recorded = nb["metadata"].get("evaltools")
        return bool(recorded == {**stamp(job), **_hashes(job.folder)})
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return False


def stamp(job: ReportJob) -> dict[str, Any]:
    """What a finished report records of its job."""
    return {
        **job.depends_on,
        "notebook": str(job.notebook),
        "notebook_sha256": sha256(asset_dir("notebooks") / job.notebook),
    }


def _hashes(folder: Path) -> dict[str, Any]:
    """The sha256 of what stands beside a report's notebook."""
    hashes: dict[str, Any] = {"html_sha256": sha256(folder / HTML)}
    files = paper.present(folder)
    if files:
        hashes["paper"] = {path.relative_to(folder).as_posix(): sha256(path) for path in files}
    return hashes


def run(job: ReportJob) -> Path:
    """Execute the notebook, write it and its HTML under `job.folder`; returns the HTML's path.

    Raises ReportFailed where a cell fails or the kernel dies: the notebook is kept, an older HTML is removed.
    """
    load_papermill()
    import nbformat

    speak(job.parameters.get("lang", "en"))
    from .page import prepare as prepare_pages
    from .page import render

    # the kernel works in a process of its own: what renders its notebook can be loaded meanwhile
    with ThreadPoolExecutor(1) as meanwhile:
        meanwhile.submit(prepare_pages)
        nb, failure = execute(job)
    tidy(nb)
    if failure is not None:
        write_text(job.folder / NOTEBOOK, nbformat.writes(nb) + "\n")
        (job.folder / HTML).unlink(missing_ok=True)
        last_line = str(failure).strip().splitlines()[-1]
        raise ReportFailed(job.name, job.folder / NOTEBOOK, last_line) from failure
    paper_files = _paper_files(job)
    paper.write(job.folder, paper_files)
    labels = {name: label for name, (label, _) in paper_files.items()}
    html = render(nb, title=job.title, beside=labels)
    # the notebook comes last: it vouches for the HTML beside it
    write_text(job.folder / HTML, html)
    nb.metadata["evaltools"] = {**stamp(job), **_hashes(job.folder)}
    write_text(job.folder / NOTEBOOK, nbformat.writes(nb) + "\n")
    return job.folder / HTML


def _paper_files(job: ReportJob) -> dict[str, tuple[str, bytes]]:
    """File -> (label, content) of the files for a paper."""
    if job.paper is None:
        return {}
    if isinstance(job.paper, Study):
        return paper.files(job.paper)
    return paper.files(study([job.paper], name=job.name))


def execute(job: ReportJob) -> tuple[Any, Exception | None]:
    """The executed notebook of a report, and what made it stop, if anything did."""
    papermill = load_papermill()
    import nbformat
    from nbclient.exceptions import DeadKernelError

    # of a kernel that ends with an interrupt asyncio prints a traceback
    for library in ("asyncio", "papermill"):
        logging.getLogger(library).setLevel(logging.CRITICAL)
    source = _translated(job.notebook)
    settings: dict[str, Any] = {
        "parameters": dict(job.parameters),
        "kernel_name": "python3",
        "progress_bar": False,
    }
    failure: Exception | None = None
    with scratch() as folder:
        draft = folder / NOTEBOOK
        # papermill fills in parameters where a path has braces
        target = str(draft).replace("{", "{{").replace("}", "}}")
        try:
            papermill.execute_notebook(
                source,
                target,
                **settings,
                log_output=False,
                request_save_on_cell_execute=False,
                autosave_cell_every=0,
                coalesce_streams=True,  # one print may come in two messages
                shutdown_kernel="immediate",
                config=connection(folder),
                kernel_manager_class=kernel_manager(),
            )
        except papermill.PapermillException as e:
            failure = e
        except DeadKernelError as e:
            failure = e
            papermill.execute_notebook(source, target, **settings, prepare_only=True)
        nb = nbformat.read(draft, as_version=4)
    if isinstance(failure, DeadKernelError):
        nb.cells.insert(0, _dead_kernel_cell())
    return nb, failure


def _translated(notebook: str | Path) -> Any:
    """The notebook, its texts in the language in force."""
    import nbformat

    nb = nbformat.read(asset_dir("notebooks") / notebook, as_version=4)
    for cell in nb.cells:
        if cell.cell_type == "markdown":
            cell.source = say(cell.source)
    return nb


def _dead_kernel_cell() -> Any:
    """What stands at the top of a report whose kernel died, as papermill marks a cell that raised."""
    import nbformat

    text = "**The kernel died while this notebook was executed (out of memory?).**"
    metadata = {"tags": ["papermill-error-cell-tag"]}
    return nbformat.v4.new_markdown_cell(text, metadata=metadata)


@contextmanager
def scratch() -> Iterator[Path]:
    """A private folder outside of the results; kernels that are still alive at its end are ended."""
    with tempfile.TemporaryDirectory(prefix="evaltools-", ignore_cleanup_errors=True) as folder:
        try:
            yield Path(folder)
        finally:
            end_kernels()


def tidy(nb: Any) -> None:
    """Remove what differs between two runs of the same thing: times, random cell ids, machine details."""
    nb.metadata.pop("papermill", None)
    nb.metadata.get("language_info", {}).pop("version", None)
    for number, cell in enumerate(nb.cells):
        cell["id"] = f"cell-{number}"
        cell.metadata.pop("papermill", None)
        cell.metadata.pop("execution", None)
