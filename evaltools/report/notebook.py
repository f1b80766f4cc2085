"""Running the report notebooks: papermill executes, nbconvert renders, and both files appear whole or not at all."""

from __future__ import annotations

import json
import logging
import re
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

NOTEBOOK = "metric_report.ipynb"
HTML = "metric_report.html"


@dataclass(frozen=True)
class ReportJob:
    """One report to make: which notebook, under which name, with which parameters.

    `current` is what the report depends on (input hashes, policy, versions): a finished report that
    carries the same is not made again by `--resume`.
    """

    name: str
    notebook: str | Path
    title: str
    folder: Path
    parameters: Mapping[str, Any]
    current: Mapping[str, Any]
    paper: bool = False
    """Whether the files for a paper are written as well (`report.paper`)."""


class ReportFailed(WorkFailed):
    """A cell of a report raised, or its kernel died. `notebook` is kept, with the error at its top."""

    def __init__(self, name: str, notebook: Path, reason: str):
        self.name, self.notebook, self.reason = name, notebook, reason
        super().__init__(f"{reason} (see {notebook})")

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.name, self.notebook, self.reason))


def load_papermill() -> Any:
    """Import papermill and, through it, nbformat. Imported before this, nbformat takes a second and a half longer."""
    # jsonschema's optional URI checker builds parsers for a second at import; notebook schemas use none of it
    with without("rfc3987_syntax"):
        import papermill

    return papermill


def prepare() -> None:
    """Load what executes notebooks and renders their pages."""
    load_papermill()
    kernel_manager()
    from .page import prepare as prepare_pages

    prepare_pages()


def parameters_of(notebook: str | Path) -> set[str]:
    """The names that the parameters cell of a notebook sets."""
    cells = json.loads((asset_dir("notebooks") / notebook).read_text(encoding="utf-8"))["cells"]
    source = "".join(
        s for c in cells if "parameters" in c["metadata"].get("tags", []) for s in c["source"]
    )
    return set(re.findall(r"^(\w+)\s*=", source, flags=re.MULTILINE))


def is_current(job: ReportJob) -> bool:
    """Both files of the report are there, whole, and made from the same inputs, policy and versions."""
    try:
        nb = json.loads((job.folder / NOTEBOOK).read_text(encoding="utf-8"))
        made = nb["metadata"].get("evaltools")
        return bool(made == {**stamp(job), **_hashes(job.folder)})
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return False


def stamp(job: ReportJob) -> dict[str, Any]:
    return {
        **job.current,
        "notebook": str(job.notebook),
        "notebook_sha256": sha256(asset_dir("notebooks") / job.notebook),
    }


def _hashes(folder: Path) -> dict[str, Any]:
    """The sha256 of what stands beside a report's notebook."""
    for_paper = {p.relative_to(folder).as_posix(): sha256(p) for p in paper.present(folder)}
    return {"html_sha256": sha256(folder / HTML), **({"paper": for_paper} if for_paper else {})}


def _for_paper(job: ReportJob) -> dict[str, tuple[str, bytes]]:
    """The files for a paper, from the results that the report is on."""
    if not job.paper:
        return {}
    scored = job.parameters["scored"]
    runs = [scored] if isinstance(scored, str) else scored
    return paper.files(study(runs, baseline=job.parameters.get("baseline"), name=job.name))


def run(job: ReportJob) -> Path:
    """Execute the notebook, write it and its HTML under `job.folder`; returns the HTML's path.

    Raises ReportFailed where a cell fails or the kernel dies: the notebook is kept, an older HTML is removed.
    """
    load_papermill()
    import nbformat

    speak(job.parameters.get("lang", "en"))
    from .page import prepare, render

    # the kernel works in a process of its own: what renders its notebook can be loaded meanwhile
    with ThreadPoolExecutor(1) as meanwhile:
        meanwhile.submit(prepare)
        nb, failure = execute(job)
    tidy(nb)
    if failure is not None:
        write_text(job.folder / NOTEBOOK, nbformat.writes(nb) + "\n")
        (job.folder / HTML).unlink(missing_ok=True)
        last = str(failure).strip().splitlines()[-1]
        raise ReportFailed(job.name, job.folder / NOTEBOOK, last) from failure
    beside = _for_paper(job)
    paper.write(job.folder, beside)
    html = render(nb, title=job.title, beside={name: what for name, (what, _) in beside.items()})
    # the notebook comes last: it vouches for the HTML beside it
    write_text(job.folder / HTML, html)
    nb.metadata["evaltools"] = {**stamp(job), **_hashes(job.folder)}
    write_text(job.folder / NOTEBOOK, nbformat.writes(nb) + "\n")
    return job.folder / HTML


def execute(job: ReportJob) -> tuple[Any, Exception | None]:
    """The executed notebook of a report, and what made it stop, if anything did."""
    papermill = load_papermill()
    import nbformat
    from nbclient.exceptions import DeadKernelError

    for library in (
        "asyncio",
        "papermill",
    ):  # of a kernel that ends with an interrupt asyncio prints a traceback
        logging.getLogger(library).setLevel(logging.CRITICAL)
    source = nbformat.read(asset_dir("notebooks") / job.notebook, as_version=4)
    for cell in source.cells:
        if cell.cell_type == "markdown":
            cell.source = say(cell.source)
    with scratch() as folder:
        draft = folder / NOTEBOOK
        target = (
            str(draft).replace("{", "{{").replace("}", "}}")
        )  # papermill fills in parameters there
        how = {"parameters": dict(job.parameters), "kernel_name": "python3", "progress_bar": False}
        failure: Exception | None = None
        try:
            papermill.execute_notebook(
                source,
                target,
                **how,
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
            papermill.execute_notebook(source, target, **how, prepare_only=True)
        nb = nbformat.read(draft, as_version=4)
    if isinstance(failure, DeadKernelError):
        text = "**The kernel died while this notebook was executed (out of memory?).**"
        nb.cells.insert(
            0, nbformat.v4.new_markdown_cell(text, metadata={"tags": ["papermill-error-cell-tag"]})
        )
    return nb, failure


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
