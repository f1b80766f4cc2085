"""The command line, called in this process."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from click.testing import CliRunner, Result

from evaltools.app.cli import main
from evaltools.core.estimates import Resampling
from evaltools.core.messages import language, speaking
from evaltools.report.notebook import HTML, ReportJob
from evaltools.report.run import Run

QUICK = ("--n-resamples", "100")
FAST = Resampling(n_resamples=100)


def call(*arguments: str | Path, status: int = 0) -> Result:
    """What a command says; it must end with this status, and without a traceback. Its language ends with it."""
    with speaking(language()):
        done = CliRunner().invoke(main, [str(a) for a in arguments])
    unexpected = done.exception if not isinstance(done.exception, SystemExit) else None
    assert unexpected is None, repr(unexpected)
    assert done.exit_code == status, done.output
    assert "Traceback" not in done.output
    return done


def said(*arguments: str | Path, status: int = 0) -> str:
    """What a command prints, its lines joined."""
    return " ".join(call(*arguments, status=status).output.split())


def written(folder: Path) -> set[str]:
    """The files below a folder, but the one by which processes wait for one another."""
    found = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
    return found - {f for f in found if f.endswith(".lock")}


@contextmanager
def without_pages() -> Iterator[None]:
    """Commands run no notebook: an empty file stands for the page of a report. For tests of all else they write."""
    with patch("evaltools.app.batch.make_report", empty_page):
        yield


def empty_page(job: ReportJob) -> Path:
    job.folder.mkdir(parents=True, exist_ok=True)
    page = job.folder / HTML
    page.touch()
    return page


def renamed(run: Run, name: str, **changes: Any) -> Run:
    """A run under another name, with these fields changed."""
    manifest = run.manifest.model_copy(update={"run": name})
    return replace(run, manifest=manifest, **changes)
