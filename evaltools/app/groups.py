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


class LazyGroup(click.Group):
    """A group whose help lists its commands without loading them."""

    def lazy(self) -> Mapping[str, str]:
        """Name of a command that is loaded when it is asked for -> what the help says of it."""
        raise NotImplementedError

    def load(self, name: str) -> click.Command:
        """The command of such a name."""
        raise NotImplementedError

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*self.lazy(), *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        return super().get_command(ctx, name) or self.load(name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = list(self.lazy().items())
        rows += [(name, own.get_short_help_str()) for name, own in self.commands.items()]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


class SuiteGroup(LazyGroup):
    """A group with a command for every suite, which `make(suite)` makes, besides its own."""

    def __init__(
        self,
        *arguments: Any,
        make: Callable[[Any], click.Command],
        **attributes: Any,
    ) -> None:
        super().__init__(*arguments, **attributes)
        self.make = make

    def lazy(self) -> Mapping[str, str]:
        from ..core.plugins import suite_names

        return dict.fromkeys(suite_names(), "")

    def load(self, name: str) -> click.Command:
        from ..core.plugins import get_suite

        return self.make(get_suite(name))


class RunsCommand(click.Command):
    """A command that takes the options of the suite that its runs belong to.

    Its parameter `suite`, where it has one, is that suite; None where it cannot be told. With `costly` it takes
    those options alone by which something may be spent.
    """

    def __init__(self, *arguments: Any, costly: bool = False, **attributes: Any) -> None:
        super().__init__(*arguments, **attributes)
        self.costly = costly

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Its own, and the options of the suite once that is known."""
        return [*super().get_params(ctx), *ctx.meta.get("suite_options", [])]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        suite = self._suite_of(ctx, args)
        if suite is not None:
            names = suite.options.costly if self.costly else suite.options.settable()
            taken = [param.name for param in self.params]
            names = [name for name in names if name not in taken]
            ctx.meta["suite_options"] = suite_options(suite.options, names)
        rest = super().parse_args(ctx, args)
        if "suite" in ctx.params:
            ctx.params["suite"] = suite
        return rest

    def _suite_of(self, ctx: click.Context, args: list[str]) -> Any:
        """The suite that --suite names, or that the first of the arguments which is a run belongs to."""
        from ..core.names import find_runs
        from ..core.plugins import get_suite
        from ..report.run_groups import suite_of_run

        parser = self.make_parser(ctx)
        parser.ignore_unknown_options = True  # those of the suite are not known yet
        values, _, _ = parser.parse_args(list(args))
        suite_file = values.get("suite_file")
        read_suite(Path(suite_file) if suite_file else None)
        if values.get("suite"):
            return get_suite(values["suite"])
        for text in args:  # what an option is given is seldom a run
            with suppress(UsageError, OSError, ValueError):
                return suite_of_run(find_runs(text)[0])
        return None
