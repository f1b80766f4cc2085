"""Options of the command line: made from a suite's model, the commands that take them, and what their texts say."""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin

import click

from ..core.commands import PATH, read_suite
from ..core.errors import UsageError

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo


def of_model(model: Any, names: Sequence[str] | None = None) -> list[click.Parameter]:
    """An option for every field of a suite's options that is given, with its description, type and default."""
    return [
        _option(name, model.model_fields[name])
        for name in (model.settable() if names is None else names)
    ]


def _option(name: str, field: FieldInfo) -> click.Option:
    kind, many = _without_none(field.annotation)
    how: dict[str, Any] = {"help": field.description or "", "default": field.default}
    if kind is bool:
        how["is_flag"] = True
    else:
        shown = not many and field.default not in (None, "", ())
        how |= {"multiple": many, "type": _type(kind, field), "show_default": shown}
    return click.Option([f"--{name.replace('_', '-')}"], **how)


def _without_none(annotation: Any) -> tuple[Any, bool]:
    """(the type that is given, whether it may be given several times)."""
    if get_origin(annotation) in (Union, types.UnionType):
        annotation = next(a for a in get_args(annotation) if a is not type(None))
    if get_origin(annotation) in (tuple, list):
        return get_args(annotation)[0], True
    return annotation, False


def _type(kind: Any, field: FieldInfo) -> Any:
    if get_origin(kind) is Literal:
        return click.Choice(list(get_args(kind)))
    if kind in (int, float):
        marks = [(k, getattr(m, k, None)) for m in field.metadata for k in ("ge", "le", "gt", "lt")]
        limits = {k: v for k, v in marks if v is not None}
        low, high = limits.get("ge", limits.get("gt")), limits.get("le", limits.get("lt"))
        range_type = click.IntRange if kind is int else click.FloatRange
        return range_type(low, high, "gt" in limits, "lt" in limits)
    return PATH if kind is Path else str


Bound = tuple[str, str, float]
"""Metric, "min" or "max", and the limit."""


def parse(text: str, option: str) -> Bound:
    """(name, option, number) from "NAME=X"; UsageError for anything else."""
    name, sign, number = text.partition("=")
    try:
        limit = float(number)
    except ValueError:
        limit = math.nan
    if not name or not sign or not math.isfinite(limit):
        raise UsageError(f"--{option} {text!r}: expected NAME=X with a finite number X")
    return name.strip(), option, limit


def parse_margins(texts: Sequence[str]) -> dict[str, float]:
    """Metric -> margin, from "NAME=X" each; UsageError for anything else, and for a metric that comes twice."""
    found = {name: margin for name, _, margin in (parse(text, "margin") for text in texts)}
    if len(found) < len(texts):
        raise UsageError("--margin: a metric can have one margin only")
    return found


def parse_seeds(text: str) -> list[int]:
    """Numbers of seeds from "1,3,5"; UsageError for anything else."""
    try:
        found = [int(part) for part in text.split(",")]
    except ValueError:
        found = []
    if not found or min(found) < 1:
        raise UsageError(f"--seeds {text!r}: expected whole numbers from 1 on, joined by commas")
    return found


class SuiteGroup(click.Group):
    """A group with a command for every suite, made when it is asked for by `make(suite)`, besides its own."""

    make: Callable[[Any], click.Command]

    def list_commands(self, ctx: click.Context) -> list[str]:
        from ..core.plugins import suite_names

        return [*suite_names(), *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        from ..core.plugins import get_suite, suite_names

        own = super().get_command(ctx, name)
        return own or (self.make(get_suite(name)) if name in suite_names() else None)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        # the suites are named without being loaded
        with formatter.section("Commands"):
            names = self.list_commands(ctx)
            formatter.write_dl(
                [
                    (n, self.commands[n].get_short_help_str() if n in self.commands else "")
                    for n in names
                ]
            )


class OfSomeSuite(click.Command):
    """A command that takes the options of the suite that its arguments belong to: its `suite` is that, or None.

    With `costly` those alone by which something may be spent.
    """

    def __init__(self, *arguments: Any, costly: bool = False, **how: Any) -> None:
        super().__init__(*arguments, **how)
        self.costly = costly

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        suite, own = self._suite_among(ctx, args), list(self.params)
        try:
            self.params = [*own, *(self._of_suite(suite.options) if suite is not None else [])]
            return super().parse_args(ctx, args)
        finally:
            self.params = own
            if "suite" in ctx.params:
                ctx.params["suite"] = suite

    def _suite_among(self, ctx: click.Context, args: list[str]) -> Any:
        """The suite that --suite names, or that the first of the arguments which is a run belongs to."""
        from ..core.names import find_runs
        from ..core.plugins import get_suite

        parser = self.make_parser(ctx)
        parser.ignore_unknown_options = True
        given, rest, _ = parser.parse_args(list(args))
        read_suite(given.get("suite_file") and Path(given["suite_file"]))
        if name := given.get("suite"):
            return get_suite(name)
        named = [given.get(str(p.name)) for p in self.params if isinstance(p, click.Argument)]
        texts = [[n] if isinstance(n, str) else n if isinstance(n, tuple) else () for n in named]
        for text in [*chain.from_iterable(texts), *rest]:
            from ..report.run_groups import suite_of_run

            with suppress(UsageError, OSError, ValueError):
                return suite_of_run(find_runs(text)[0])
        return None

    def _of_suite(self, model: Any) -> list[click.Parameter]:
        free = model.settable(costly=False) if self.costly else ()
        return of_model(model, [name for name in model.settable() if name not in free])
