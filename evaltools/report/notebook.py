"""Running the report notebooks: papermill executes, nbconvert renders, and both files appear whole or not at all.

The gallery is one static, self-contained page with a table of all results of an output folder.
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import current_process
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..core.files import (
    HTML,
    NOTEBOOK,
    Fields,
    asset_dir,
    atomic,
    bytes_hash,
    sha256,
    write_json,
    write_text,
)
from ..core.manifest import NAME, Manifest, changed_files, locked, set_aside
from ..core.messages import UsageError, WorkFailed, say, speak, speaking
from ..core.records import read_model
from ..core.results import METRICS, MetricsFile, spoilt_files
from ..core.suite import FROM_FILES
from . import page, paper
from .study import Study
from .tables import shown_texts

OWN_FILE = re.compile(r"metric_report\.(html|ipynb)|paper\.(tex|md)|figures/\w[\w.-]*")

# says what a report was made from, and vouches for its files
RECORD = ".report.json"

# files of a result that a page links
LINKED = ("*.xlsx", "**/*.csv", "metrics.json")


@dataclass(frozen=True)
class ReportJob:
    """One report to make.

    `notebook`: a file of `notebooks/`, or a path. `parameters`: those that the notebook names. `results`: folder of
    a result -> hash of its files; a finished report of the same ones, with the same parameters, is not made again
    by `--resume`. `paper`: the study that the files for a paper are made from (`report.paper`); None: no files.
    """

    notebook: str | Path
    title: str
    folder: Path
    parameters: Fields
    results: Mapping[str, str]
    paper: Study | None = None


def prepare() -> None:
    """Load what notebooks and pages are made with, before the processes that do so are forked."""
    import seaborn  # noqa: F401

    from . import figures, kernels  # noqa: F401

    page.exporter()
    page.families()
    page.macros()


def parameters_of(notebook: str | Path) -> list[str]:
    """The names that the parameters cell of a notebook sets, in order."""
    from . import kernels

    return list(kernels.papermill.inspect_notebook(asset_dir("notebooks") / notebook))


def is_current(job: ReportJob) -> bool:
    """All files of the report are there, whole, and made from the same inputs, policy and versions."""
    recorded = _recorded(job.folder)
    files = recorded["files"]
    return recorded == {**stamp(job), "files": files} and not changed_files(job.folder, files)


def _recorded(folder: Path) -> Fields:
    """What the report in a folder was made from, and its files with their sha256; no files where none is ours."""
    try:
        recorded = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        return {
            **recorded,
            "files": {n: sha for n, sha in recorded["files"].items() if OWN_FILE.fullmatch(n)},
        }
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {"files": {}}


def stamp(job: ReportJob) -> Fields:
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

    WorkFailed where a cell fails (the notebook is kept, with the error at its top, and an older HTML removed) or the
    kernel dies. What a person changed in an earlier report is kept beside as NAME.yours.
    """
    speak(job.parameters.get("lang", "en"))
    nb, failure = execute(job)
    tidy(nb)
    if failure:
        _write(job.folder, nb, {}, {})
        raise WorkFailed(f"{failure.strip().splitlines()[-1]} (see {job.folder / NOTEBOOK})")
    contents = {} if job.paper is None else paper.files(job.paper)
    links = {NOTEBOOK: "Notebook", **dict.fromkeys(contents, "For a paper")}
    contents[HTML] = page.render(
        nb,
        title=job.title,
        beside=links | _result_links(job),
    ).encode("utf-8", "surrogatepass")
    _write(
        job.folder,
        nb,
        stamp(job),
        contents,
    )
    return job.folder / HTML


def _result_links(job: ReportJob) -> dict[str, str]:
    """Files of the results from the folder of the report -> what they are; of a study those of its conditions."""
    folders = [Path(folder) for folder in job.results]
    if job.paper and len(folders) > 1:
        folders = [
            job.folder.parents[1] / "results" / f"{name}_aggregated"
            for name in job.paper.conditions
        ]
    return {
        os.path.relpath(path, job.folder): folder.name
        for folder in folders
        for pattern in LINKED
        for path in sorted(folder.glob(pattern))
    }


def _write(
    folder: Path,
    nb: Any,
    made_from: Fields,
    others: Mapping[str, bytes],
) -> None:
    """Write the notebook of a report, its other files, and last what vouches for them.

    One process at a time does so. Of an earlier report, files that are not among these are removed.
    """
    import nbformat

    contents = {**others, NOTEBOOK: f"{nbformat.writes(nb)}\n".encode("utf-8", "surrogatepass")}
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder.parent):
        earlier = _recorded(folder)["files"]
        for name in changed_files(folder, dict.fromkeys(contents, "") | earlier):
            set_aside(folder / name, folder / name)
        for name in earlier.keys() - contents.keys():
            (folder / name).unlink(missing_ok=True)
        for name, content in contents.items():
            with atomic(folder / name) as f:
                f.write(content)
        files = {name: bytes_hash(content) for name, content in contents.items()}
        write_json(folder / RECORD, {**made_from, "files": files})


def execute(job: ReportJob) -> tuple[Any, str]:
    """The executed notebook of a report, and what made it stop; "" where it came to its end."""
    from . import kernels

    nbformat = kernels.nbformat
    nb = nbformat.read(asset_dir("notebooks") / job.notebook, as_version=4)
    nb.metadata["papermill"] = {"parameters": job.parameters}
    for cell in nb.cells:
        if cell.cell_type == "markdown":
            cell.source = say(cell.source)
        if cell.cell_type == "code":  # what was stored is of another run
            cell.outputs, cell.execution_count = [], None
    # a private folder outside of the results
    with tempfile.TemporaryDirectory(prefix="evaltools-", ignore_cleanup_errors=True) as folder:
        draft = Path(folder) / NOTEBOOK
        draft.write_text(json.dumps(nb))  # nbformat would sort the parameters
        run_kernel(draft)
        with suppress(ValueError):  # a process that was killed while it wrote
            nb = nbformat.read(draft, as_version=4)
    errors = [
        f"{output.ename}: {output.evalue}"
        for cell in nb.cells
        for output in cell.get("outputs", ())
        if output.output_type == "error"
    ]
    if not errors and "end_time" not in nb.metadata.papermill:
        errors = ["Kernel died"]
    return nb, "".join(errors[:1])


def run_kernel(draft: Path) -> None:
    """Execute a notebook in a process of its own, which ends with an interrupt of this one.

    On Linux it is forked from this one. With a suite of the user's it is
    started anew, as is that of a process that may have no children.
    """
    from . import kernels

    process: Any
    if FROM_FILES or current_process().daemon or sys.platform != "linux":
        process = subprocess.Popen(
            # -P leaves the working directory out of sys.path
            [sys.executable, "-P", "-m", kernels.__name__, draft],
            stdin=subprocess.DEVNULL,
        )
        wait = process.wait
    else:
        process = ForkProcess(target=kernels.run, args=(draft,))
        process.start()
        wait = process.join
    try:
        wait()
    finally:
        process.kill()
        wait()
        if os.name == "posix":
            with suppress(OSError):  # processes of its own, which nobody else ends
                os.killpg(process.pid, signal.SIGKILL)


def tidy(nb: Any) -> None:
    """Remove what differs between two runs of the same thing: times and random cell ids."""
    nb.metadata.pop("papermill", None)
    for number, cell in enumerate(nb.cells):
        cell["id"] = f"cell-{number}"
        cell.metadata.pop("papermill", None)


# --- the gallery

# stands in a page that this package made
OURS = b'<meta name="generator" content="evaltools gallery">'

# level of a note, the worst first -> what it says of a result, and its colour
LEVELS = {
    "spoilt": ("not as it was written", "error"),
    "incomplete": ("incomplete", "error"),
    "blocking": ("cannot be measured", "error"),
    "warning": ("cautions: {n}", "warning"),
    "info": ("no caution", "good"),
}


def build(out: Path) -> Path:
    """(Re)build `<out>/index.html` from what stands under `<out>/results` and `<out>/reports`; returns its path.

    The page loads nothing from anywhere and is written whole or not at all. The same files give the same bytes. A
    results folder that cannot be read is listed as incomplete, with the reason; hidden folders are passed over.
    UsageError where there is no folder `out`, or somebody else's index.html in it.
    """
    if not out.is_dir():
        raise UsageError(f"{out}: no such folder")
    path = replaceable(out)
    cards, incomplete = collect(out)
    members = {name for card in cards for name in card["manifest"].runs}
    # by suite, the newest first; a run of a condition only where it has a page, or is spoilt
    shown = [
        card
        for card in sorted(cards, key=lambda card: card["manifest"].started, reverse=True)
        if card["report"] or card["is_spoilt"] or card["name"] not in members
    ]
    if path.exists():
        text, _, mark = path.read_text("utf-8", "replace").rpartition("<!--")
        if mark != _seal(text):
            set_aside(path, path)
    html = page.page("gallery/gallery.html.j2", cards=shown, incomplete=incomplete)
    write_text(path, f"{html}<!--{_seal(html)}")
    return path


def _seal(html: str) -> str:
    """The end of a page, by which a change of a person is known."""
    return f" {bytes_hash(html.encode())} -->\n"


def replaceable(out: Path) -> Path:
    """The path of `<out>/index.html`; UsageError where a page stands there that this package did not make."""
    path = out / "index.html"
    if path.exists() and not (path.is_file() and OURS in path.read_bytes()):
        raise UsageError(
            f"{path} was not made by evaltools and is left as it is: move it, or choose another folder"
        )
    return path


def collect(out: Path) -> tuple[list[Fields], list[tuple[str, str]]]:
    """(the results in an output folder by name, name and reason of each folder that is incomplete)."""
    cards = []
    incomplete = []
    for folder in sorted((out / "results").glob("[!.]*/")):
        try:
            cards.append(_card(out, folder))
        # whatever stands in a folder, it shall not take the others from the page
        except Exception as e:  # noqa: BLE001
            incomplete.append((folder.name, str(e).replace(f"{folder}{os.sep}", "")))
    return cards, incomplete


def _card(
    out: Path,
    folder: Path,
) -> Fields:
    """What the page shows of one results folder, which it clips and escapes; raises whatever is wrong with its files.

    `lead`: the texts of the metric that leads; empty where a check blocks all. `verdict`: what it is called, and what it
    is; `trust`: (words, colour). All words are in the language of the report.
    """
    manifest = read_model(folder / NAME, Manifest)
    stored = read_model(folder / METRICS, MetricsFile)
    usable = {row.name: row for row in stored.metrics if not row.blocked}
    lead = next((usable[name] for name in manifest.headline if name in usable), None)
    # of a condition that of its comparison, else the worst of its suite: fail, look, pass
    verdict = manifest.verdict or min((row.verdict for row in stored.verdicts), default="")
    # a difference without a verdict is no number that means nothing
    levels = [
        "warning" if check.code == "missing-not-random" else str(check.level)
        for check in stored.checks
    ]
    levels += ["incomplete"] * manifest.incomplete
    levels += ["spoilt"] * any(spoilt_files(folder, manifest))
    study = manifest.report or folder.name
    report = f"reports/{study}/{HTML}"
    is_there = Path(study).name == study != ".." and (out / report).is_file()
    worst = min(levels, key=list(LEVELS).index, default="info")
    words, colour = LEVELS[worst]
    with speaking(manifest.lang, manifest.suite):
        return {
            "name": folder.name,
            "title": manifest.condition or folder.name,
            "manifest": manifest,
            "suite": say(manifest.suite_title or manifest.suite),
            "lead": shown_texts({**lead.model_dump(), "metric": lead.name}) if lead else {},
            "verdict": (say(verdict), verdict),
            "trust": (say(words, n=levels.count(worst)), colour),
            "is_spoilt": worst == "spoilt",
            "report": quote(os.fsencode(report)) if is_there else "",
            "files": quote(os.fsencode(f"results/{folder.name}/")),
        }
