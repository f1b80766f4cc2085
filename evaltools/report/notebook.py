"""Running the report notebooks: papermill executes, nbconvert renders, and both files appear whole or not at all."""

from __future__ import annotations

import json
import logging
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from ..core.errors import WorkFailed
from ..core.files import asset_dir, atomic, bytes_hash, dumps, sha256, write_text
from ..core.folders import LOCK
from ..core.language import say, speak
from ..core.results import result_hash
from ..core.terminal import echo
from . import page, paper
from .display import names_set
from .kernels import (
    connection,
    end_kernels,
    kernel_manager,
    kernels_are_forked,
    load_libraries,
    without,
)
from .make_study import study
from .study import Study

NOTEBOOK = "metric_report.ipynb"
HTML = "metric_report.html"
OWN_FILE = re.compile(r"metric_report\.html|paper\.(tex|md)|figures/\w[\w.-]*")
EDITED = "metric_report.edited-{}.ipynb"


@dataclass(frozen=True)
class ReportJob:
    """One report to make.

    `notebook`: a file of `notebooks/`, or a path. `parameters`: those that the notebook names. `results`: folder of
    a result -> hash of its files; a finished report of the same ones, with the same parameters, is not made again
    by `--resume`. `paper`: the study that the files for a paper are made from (`report.paper`), or the results folder
    of a run; None: no files.
    """

    name: str
    notebook: str | Path
    title: str
    folder: Path
    parameters: Mapping[str, Any]
    results: Mapping[str, str]
    paper: Study | Path | None = None


def load_papermill() -> Any:
    """Import papermill and, through it, nbformat, which imported before this takes longer."""
    # jsonschema's optional URI checker builds parsers at import, for 0.8 of 1.7 seconds; notebook schemas use none
    with without("rfc3987_syntax"):
        import papermill

    return papermill


def prepare() -> None:
    """Load what executes notebooks and renders their pages, before the processes that do so are forked."""
    load_papermill()
    kernel_manager()
    if kernels_are_forked():
        load_libraries()
    page.prepare()


def parameters_of(notebook: str | Path) -> list[str]:
    """The names that the parameters cell of a notebook sets, in order."""
    path = asset_dir("notebooks") / notebook
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if "parameters" in cell["metadata"].get("tags", []):
            return names_set("".join(cell["source"]))
    return []


def is_current(job: ReportJob) -> bool:
    """Both files of the report are there, whole, and made from the same inputs, policy and versions."""
    cells, recorded, files = _earlier(job.folder)
    expected = {**stamp(job), "files": files, "cells_sha256": cells}
    return HTML in files and recorded == expected


def _earlier(folder: Path) -> tuple[str, dict[str, Any], dict[str, str]]:
    """The report in a folder: the hash of its notebook's cells, what that recorded, and name -> hash of its other files.

    Files are those that stand there as they were written. All is empty where there is no report, or somebody else's.
    """
    try:
        nb = json.loads((folder / NOTEBOOK).read_text(encoding="utf-8"))
        recorded = nb["metadata"]["evaltools"]
        whole = {}
        for name, known in recorded["files"].items():
            is_own = OWN_FILE.fullmatch(name) and (folder / name).is_file()
            if is_own and sha256(folder / name) == known:
                whole[name] = known
        return _cells_hash(nb), recorded, whole
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return "", {}, {}


def _cells_hash(nb: Any) -> str:
    """The sha256 of what the cells of a notebook say, whatever they show."""
    sources = ["".join(cell["source"]) for cell in nb["cells"]]
    return bytes_hash(dumps(sources).encode("utf-8", "surrogatepass"))


def stamp(job: ReportJob) -> dict[str, Any]:
    """What a finished report records of its job."""
    return {
        "parameters": job.parameters,
        "results": job.results,
        "paper_files": job.paper is not None,
        "notebook": str(job.notebook),
        "notebook_sha256": sha256(asset_dir("notebooks") / job.notebook),
    }


def run(job: ReportJob) -> Path:
    """Execute the notebook, write it and its HTML under `job.folder`; returns the HTML's path.

    WorkFailed where a cell fails or the kernel dies (the notebook is kept, with the error at its top, and an older HTML
    removed), and where another process replaced a result meanwhile. A notebook there that was edited is kept beside.
    """
    speak(job.parameters.get("lang", "en"))
    nb, failure = execute(job)
    tidy(nb)
    if failure is not None:
        (job.folder / HTML).unlink(missing_ok=True)
        _write(
            job.folder,
            nb,
            {"failed": True},
            {},
        )
        last_line = str(failure).strip().splitlines()[-1]
        raise WorkFailed(f"{last_line} (see {job.folder / NOTEBOOK})") from failure
    # the notebook may have read a result or the one that replaced it
    for folder, digest in job.results.items():
        if result_hash(Path(folder)) != digest:
            raise WorkFailed(
                f"{folder} was replaced while its report was made: make the report again"
            )
    paper_files = {}
    if isinstance(job.paper, Study):
        paper_files = paper.files(job.paper)
    elif job.paper is not None:
        paper_files = paper.files(study([job.paper], name=job.name))
    labels = {name: label for name, (label, _) in paper_files.items()}
    html = page.render(nb, title=job.title, beside=labels)
    contents = {name: content for name, (_, content) in paper_files.items()}
    contents[HTML] = html.encode("utf-8", "surrogatepass")
    _write(
        job.folder,
        nb,
        stamp(job),
        contents,
    )
    return job.folder / HTML


def _write(
    folder: Path,
    nb: Any,
    recorded: Mapping[str, Any],
    contents: Mapping[str, bytes],
) -> None:
    """Write the files of a report, its notebook last: it vouches for the others, `contents`.

    One process at a time does so. Of an earlier report, files that are not among these are removed.
    """
    import nbformat
    from filelock import FileLock

    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.parent / LOCK):
        cells, earlier, files = _earlier(folder)
        for name in files.keys() - contents.keys():
            (folder / name).unlink()
        for name, content in contents.items():
            with atomic(folder / name, "wb") as f:
                f.write(content)
        _keep_edited(folder, earlier.get("cells_sha256") != cells)
        nb.metadata["evaltools"] = {
            **recorded,
            "files": {name: bytes_hash(content) for name, content in contents.items()},
            "cells_sha256": _cells_hash(nb),
        }
        write_text(folder / NOTEBOOK, nbformat.writes(nb) + "\n")


def _keep_edited(
    folder: Path,
    is_edited: bool,
) -> None:
    """Give the notebook in a folder another name where it is not as an earlier report wrote it."""
    notebook = folder / NOTEBOOK
    if notebook.exists() and is_edited:
        numbers = map(EDITED.format, count(1))
        kept = folder / next(name for name in numbers if not (folder / name).exists())
        notebook.rename(kept)
        echo(f"{notebook} was edited: kept as {kept}", err=True)


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
    # a private folder outside of the results
    with tempfile.TemporaryDirectory(prefix="evaltools-", ignore_cleanup_errors=True) as folder:
        draft = Path(folder) / NOTEBOOK
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
                config=connection(draft.parent),
                kernel_manager_class=kernel_manager(),
            )
        except papermill.PapermillException as e:
            failure = e
        except DeadKernelError as e:
            failure = e
            papermill.execute_notebook(
                source,
                target,
                **settings,
                prepare_only=True,
            )
        finally:
            end_kernels()  # which are still alive, as after an interrupt
        nb = nbformat.read(draft, as_version=4)
    return nb, failure


def _translated(notebook: str | Path) -> Any:
    """The notebook, its texts in the language in force."""
    import nbformat

    nb = nbformat.read(asset_dir("notebooks") / notebook, as_version=4)
    for cell in nb.cells:
        if cell.cell_type == "markdown":
            cell.source = say(cell.source)
    return nb


def tidy(nb: Any) -> None:
    """Remove what differs between two runs of the same thing: times, random cell ids, machine details."""
    nb.metadata.pop("papermill", None)
    nb.metadata.get("language_info", {}).pop("version", None)
    for number, cell in enumerate(nb.cells):
        cell["id"] = f"cell-{number}"
        cell.metadata.pop("papermill", None)
        cell.metadata.pop("execution", None)
