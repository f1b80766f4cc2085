"""The own command of the summary suite: `evaltools check rules FILE...`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import click

BAD_INPUT = 3


@click.command("rules")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
def check_rules(files: Sequence[Path]) -> None:
    """Validate rule files: list every problem, write nothing."""
    from ..core.errors import InputError, Problems
    from .rules import read_rules

    problems = Problems("skip")
    for path in files:
        with suppress(InputError):  # what was wrong is in `problems`
            read_rules(path, problems)
    for problem in problems.kept:
        click.echo(str(problem), err=True)
    for (severity, code), count in sorted(problems.counts.items()):
        shown = sum(p.code == code for p in problems.kept)
        if count > shown:
            click.echo(f"{severity}: {count - shown} more [{code}]")
    errors = problems.count("error")
    click.echo(f"{errors} errors, {problems.count('warning')} warnings in {len(files)} input(s)")
    sys.exit(BAD_INPUT if errors else 0)


COMMANDS = {"check rules": check_rules}
