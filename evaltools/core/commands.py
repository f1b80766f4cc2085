"""What commands of the command line share with those that suites add to it: the type of a path, common options."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from .language import LANGUAGES, speak

# what adds options to the function of a command
Decorator = Callable[[Any], Any]

# what no path may hold: it is printed, and stands in files that are UTF-8
CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


class NameablePath(click.Path):
    """A path that can stand in the files, pages and notebooks that name it."""

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:
        if CONTROL.search(str(value)):
            self.fail(f"{str(value)!a}: a path must be text without control characters", param, ctx)
        return super().convert(value, param, ctx)


PATH = NameablePath(path_type=Path)

# a run may also be example:NAME, a common prefix, or several joined by commas
RUN = NameablePath(path_type=str)


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
    type=PATH,
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

quiet_option = click.option("-q", "--quiet", is_flag=True, help="Print errors only.")

verbose_option = click.option(
    "-v",
    "--verbose",
    is_flag=True,
    help="Print every line: ids, signature and notes too.",
)
