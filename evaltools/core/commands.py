"""What commands of the command line share with those that suites add to it: the type of a path, common options, groups.

The commands of a group are loaded when they are asked for.
"""

from collections.abc import Callable
from contextlib import redirect_stdout
from importlib import import_module
from importlib.util import find_spec
from io import StringIO
from math import isfinite
from pathlib import Path
from typing import Any

import click

from .. import BUILT_IN
from .files import Fields, require_nameable
from .messages import LANGUAGES, speak

# what adds options to the function of a command
Decorator = Callable[[Any], Any]


class NameablePath(click.Path):
    """A path that can stand in the files, pages and notebooks that name it."""

    def convert(self, value: Any, *place: Any) -> Any:
        require_nameable(value)
        return super().convert(value, *place)


PATH = NameablePath(path_type=Path)


class Number(click.FloatRange):
    """A finite number within limits."""

    name = "number"

    def convert(self, value: Any, *place: Any) -> Any:
        number = super().convert(value, *place)
        if not isfinite(number):
            self.fail(f"{value!r} is not a finite number.", *place)
        return number


number = Number()


# a run may also be example:NAME, a common prefix, or several joined by commas
RUN = NameablePath(path_type=str)


files_argument = click.argument(
    "files",
    metavar="FILE...",
    nargs=-1,
    required=True,
    type=PATH,
)

runs_argument = click.argument(
    "runs",
    metavar="RUN...",
    nargs=-1,
    required=True,
    type=RUN,
)


def together(*options: Decorator) -> Decorator:
    """One decorator for several options, which the help lists in this order."""

    def decorate(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


out_option = click.option(
    "-o",
    "--out",
    type=NameablePath(
        file_okay=False,
        writable=True,
        path_type=Path,
    ),
    default=Path("outputs"),
    help="Folder of all results.",
)

on_error_option = click.option(
    "--on-error",
    type=click.Choice(["fail", "skip"]),
    default="fail",
    help="A record that cannot be used: fail, or leave it out, count it and report it.",
)

lang_option = click.option(
    "--lang",
    type=click.Choice(LANGUAGES),
    default="en",
    expose_value=False,
    callback=lambda ctx, param, lang: speak(lang),
    help="Language of pages, figures and workbooks.",
)

n_resamples_option = click.option(
    "--n-resamples",
    type=click.IntRange(100, 10_000_000),
    default=10_000,
    help="Bootstrap resamples.",
)


def _hush(
    context: click.Context,
    option: click.Parameter,
    quiet: bool,
) -> bool:
    if quiet:
        context.with_resource(redirect_stdout(StringIO()))
    return quiet


quiet_option = click.option(
    "-q",
    "--quiet",
    is_flag=True,
    callback=_hush,
    help="Print errors only.",
)

verbose_option = click.option(
    "-v",
    "--verbose",
    is_flag=True,
    help="Print every line: ids, signature and notes too.",
)


def added(kind: str) -> Fields:
    """What the built-in suites add to the command line: their COMMANDS, or the CHECKS of files of their own."""
    by_name: Fields = {}
    for package in BUILT_IN.values():
        if find_spec(f"{package}.commands"):
            by_name |= getattr(import_module(f"{package}.commands"), kind, {})
    return by_name


def _read_suite(
    context: click.Context,
    option: click.Parameter,
    path: Path | None,
) -> None:
    from .suite import load_suite_file

    if path:
        context.meta["suite"] = load_suite_file(path)


suite_file_option = click.option(
    "--suite-file",
    type=PATH,
    is_eager=True,
    expose_value=False,
    callback=_read_suite,
    help="Python file with a SUITE of your own (docs/extending.md).",
)


class Later(click.Command):
    """A command that `callback(name)` gives when it is asked for."""

    callback: Callable[[str], click.Command]

    def make_context(self, *arguments: Any, **settings: Any) -> click.Context:
        return self.callback(arguments[0]).make_context(*arguments, **settings)


class SuiteGroup(click.Group):
    """A group with a command for every suite, which `load(name)` gives."""

    def __init__(
        self,
        *arguments: Any,
        load: Callable[[str], click.Command],
        **attributes: Any,
    ) -> None:
        super().__init__(*arguments, **attributes)
        self.load = load

    def list_commands(self, ctx: click.Context) -> list[str]:
        from .suite import suite_names

        return suite_names() + super().list_commands(ctx)

    def get_command(self, ctx: click.Context, name: str) -> click.Command:
        return super().get_command(ctx, name) or Later(name, callback=self.load)
