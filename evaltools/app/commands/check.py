"""`evaltools check SUITE FILE...`, and checks of other files that suites add."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
from click.exceptions import Exit

from ...core.commands import SuiteGroup, added, files_argument, suite_file_option
from ...core.errors import BAD_INPUT, InputError, Problems, echo
from ...core.results import locate, run_names, score_units
from ...core.suite import get_suite
from ...core.workers import Workers
from ..options import suite_options


def check_suite(name: str) -> click.Command:
    """The command for inputs of a suite, found bad by the same readers that score them."""
    suite = get_suite(name)

    def check_file(
        path: Path,
        problems: Problems,
        **values: Any,
    ) -> None:
        for name in run_names(suite, path, problems):
            source = locate(
                suite,
                path,
                name,
                values,
                problems,
            )
            score_units(suite, source, problems, Workers())

    options = suite_options(suite.options, suite.options.free())
    return _check_command(
        suite.name, f"Inputs of {suite.title}: list every problem.", check_file, options
    )


def _check_command(
    name: str,
    text: str,
    check_file: Callable[..., None],
    options: Iterable[click.Parameter] = (),
) -> click.Command:
    """The command for files in which check_file(path, problems, **options) finds problems."""

    @click.command(name, params=list(options), help=text)
    @files_argument
    def command(files: Sequence[Path], **values: Any) -> None:
        problems = Problems("skip")
        for path in files:
            with suppress(InputError):  # what is fatal is among the others
                check_file(path, problems, **values)
        problems.tell()
        n_errors, n_warnings = problems.count("error"), problems.count("warning")
        echo(f"errors: {n_errors}, warnings: {n_warnings}, inputs: {len(files)}")
        raise Exit(BAD_INPUT if n_errors else 0)

    return command


@click.group(cls=SuiteGroup, load=check_suite)
@suite_file_option
def check() -> None:
    """List every problem of input files; write nothing."""


for name, check_file in added("CHECKS").items():
    check.add_command(_check_command(name, str(check_file.__doc__), check_file))
