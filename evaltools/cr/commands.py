"""The own command of Conflict Review: runner outputs to scorecards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

PATH = click.Path(path_type=Path)


@click.command()
@click.argument("outputs", type=PATH)
@click.option("--gold", required=True, type=PATH, help="The gold file.")
@click.option("-o", "--out", "target", required=True, type=PATH, help="The scorecards file to write.")
@click.option(
    "--on-error",
    default="fail",
    show_default=True,
    type=click.Choice(["fail", "skip"]),
    help="A line that cannot be used: fail, or skip (left out, counted, reported).",
)
@click.option("-q", "--quiet", is_flag=True, help="Print errors only.")
def scorecards(outputs: Path, gold: Path, target: Path, on_error: Any, quiet: bool) -> None:
    """Write the scorecards of a file of runner outputs (or of a run folder)."""
    from ..core.errors import Problems
    from .score import write_scorecards

    problems = Problems(on_error)
    n = write_scorecards(outputs, gold, target, problems)
    for problem in problems.kept:
        if problem.severity == "error" or not quiet:
            click.echo(str(problem), err=True)
    if not quiet:
        click.echo(f"{n} scorecards -> {target}")


COMMANDS = {"scorecards": scorecards}
