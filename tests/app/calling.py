"""The command line, called in this process."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner, Result

from evaltools.app.cli import main
from evaltools.core.language import language, speaking

QUICK = ("--n-resamples", "100")


def call(*arguments: str | Path, status: int = 0) -> Result:
    """What a command says; it must end with this status, and without a traceback. Its language ends with it."""
    with speaking(language()):
        done = CliRunner().invoke(main, [str(a) for a in arguments])
    unexpected = done.exception if not isinstance(done.exception, SystemExit) else None
    assert unexpected is None, repr(unexpected)
    assert done.exit_code == status, done.output
    assert "Traceback" not in done.output
    return done


def written(folder: Path) -> set[str]:
    """The files below a folder, but the one by which processes wait for one another."""
    found = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
    return found - {f for f in found if f.endswith(".lock")}
