"""What commands of the command line share with those that suites add to it: the type of a path, common options."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from .language import LANGUAGES, speak

Decorator = Callable[[Any], Any]
"""What adds options to the function of a command."""


class NameablePath(click.Path):
    """A path that can stand in the files, pages and notebooks that name it, which are UTF-8."""

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:
        try:
            str(value).encode()
        except UnicodeEncodeError:
            self.fail(f"{str(value)!a} is no UTF-8, and could not be named in a file", param, ctx)
        return super().convert(value, param, ctx)


PATH = NameablePath(path_type=Path)


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
    show_default=True,
    help="Folder of all results.",
)

on_error_option = click.option(
    "--on-error",
    type=click.Choice(["fail", "skip"]),
    default="fail",
    show_default=True,
    help="A record that cannot be used: fail, or leave it out, count it and report it.",
)


lang_option = click.option(
    "--lang",
    type=click.Choice(LANGUAGES),
    default="en",
    show_default=True,
    expose_value=False,
    callback=lambda ctx, param, lang: speak(lang),
    help="Language of pages, tables, workbooks and messages; CSV, JSON and ids stay as they are.",
)

quiet_option = click.option("-q", "--quiet", is_flag=True, help="Print errors only.")
