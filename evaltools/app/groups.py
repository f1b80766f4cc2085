"""Groups of commands that are loaded when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from .. import BUILT_IN
from ..core.commands import PATH


def added(kind: str) -> dict[str, Any]:
    """What the built-in suites add to the command line: their COMMANDS, or the CHECKS of files of their own."""
    by_name: dict[str, Any] = {}
    for package in BUILT_IN.values():
        if find_spec(f"{package}.commands"):
            module = import_module(f"{package}.commands")
            by_name |= getattr(module, kind, {})
    return by_name


def _read_suite(
    context: click.Context,
    option: click.Parameter,
    path: Path | None,
) -> Any:
    from ..core.plugins import load_suite_file

    return load_suite_file(path) if path else None


suite_file_option = click.option(
    "--suite-file",
    type=PATH,
    is_eager=True,
    expose_value=False,
    callback=_read_suite,
    help="Python file with a SUITE of your own (docs/extending.md).",
)


def suite_texts() -> dict[str, str]:
    """The name of every suite, each a command; the help says no more of them."""
    from ..core.plugins import suite_names

    return dict.fromkeys(suite_names(), "")


class LazyGroup(click.Group):
    """A group with further commands: `load(name)` gives one, or None; `texts()` says what the help has of each."""

    def __init__(
        self,
        *arguments: Any,
        load: Callable[[str], click.Command | None],
        texts: Callable[[], Mapping[str, str]] = suite_texts,
        **attributes: Any,
    ) -> None:
        super().__init__(*arguments, **attributes)
        self.load = load
        self.texts = texts

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*self.texts(), *super().list_commands(ctx)]

    def get_command(
        self,
        ctx: click.Context,
        name: str,
    ) -> click.Command | None:
        return super().get_command(ctx, name) or self.load(name)

    def format_commands(
        self,
        ctx: click.Context,
        formatter: click.HelpFormatter,
    ) -> None:
        of_commands = {name: each.get_short_help_str() for name, each in self.commands.items()}
        with formatter.section("Commands"):
            formatter.write_dl([*self.texts().items(), *of_commands.items()])
