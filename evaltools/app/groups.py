"""Groups of commands that are loaded when they are asked for, and commands that take the options of a suite."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from .. import BUILT_IN
from ..core.errors import UsageError
from .options import read_suite, suite_options


def added(kind: str) -> dict[str, Any]:
    """What the built-in suites add to the command line: their COMMANDS, or the CHECKS of files of their own."""
    by_name: dict[str, Any] = {}
    for package in BUILT_IN.values():
        if find_spec(f"{package}.commands"):
            module = import_module(f"{package}.commands")
            by_name |= getattr(module, kind, {})
    return by_name


def suite_texts() -> dict[str, str]:
    """The name of every suite, each a command; the help says no more of them."""
    from ..core.plugins import suite_names

    return dict.fromkeys(suite_names(), "")


class LazyGroup(click.Group):
    """A group that has further commands, which are loaded when they are asked for.

    `load(name)` gives such a command, None where there is none. `texts()`: their names -> what the help of the group
    says of them, without loading them.
    """

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
        rows = list(self.texts().items())
        for name, command in self.commands.items():
            rows.append((name, command.get_short_help_str()))
        with formatter.section("Commands"):
            formatter.write_dl(rows)


class RunsCommand(click.Command):
    """A command that takes the options of the suite that its runs belong to.

    Its parameter `suite`, where it has one, is that suite; None where it cannot be told.
    """

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Its own, and the options of the suite once that is known."""
        return [*super().get_params(ctx), *ctx.meta.get("suite_options", [])]

    def parse_args(
        self,
        ctx: click.Context,
        args: list[str],
    ) -> list[str]:
        suite = self._suite_of(ctx, args)
        if suite is not None:
            own_names = [param.name for param in self.params]
            further = [name for name in suite.options.settable() if name not in own_names]
            ctx.meta["suite_options"] = suite_options(suite.options, further)
        rest = super().parse_args(ctx, args)
        if "suite" in ctx.params:
            ctx.params["suite"] = suite
        return rest

    def _suite_of(
        self,
        ctx: click.Context,
        args: list[str],
    ) -> Any:
        """The suite that --suite names, that of --suite-file, or that of the first argument which is a run."""
        from ..core.names import find_runs
        from ..core.plugins import get_suite
        from ..report.run_groups import suite_of_run

        parser = self.make_parser(ctx)
        parser.ignore_unknown_options = True  # those of the suite are not known yet
        values, _, _ = parser.parse_args(list(args))
        of_file = read_suite(Path(values["suite_file"])) if values.get("suite_file") else None
        if values.get("suite"):
            return get_suite(values["suite"])
        if of_file is not None:
            return of_file
        for text in args:  # what an option is given is seldom a run
            with suppress(UsageError, OSError, ValueError):
                return suite_of_run(find_runs(text)[0])
        return None
