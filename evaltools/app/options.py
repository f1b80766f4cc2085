"""Options of the command line: those that commands share, and those made from a suite's model."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union, get_args, get_origin

import click

from ..core.words import LANGUAGES

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

F = TypeVar("F", bound=Callable[..., Any])


class _Path(click.Path):
    """A path that can stand in the files, pages and notebooks that name it, which are UTF-8."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            str(value).encode()
        except UnicodeEncodeError:
            self.fail(f"{str(value)!a} is no UTF-8, and could not be named in a file", param, ctx)
        return super().convert(value, param, ctx)


PATH = _Path(path_type=Path)

NAME = click.option("--name", help="Name of the run instead of its folder's or file's (one run only).")
OUT = click.option("-o", "--out", default="outputs", show_default=True, type=PATH, help="Folder of all results.")
JOBS = click.option("-j", "--jobs", default=1, show_default=True, type=click.IntRange(1), help="Processes at once.")
LANG = click.option(
    "--lang",
    default="en",
    show_default=True,
    type=click.Choice(LANGUAGES),
    help="Language of pages, tables and workbooks; CSV, JSON and ids stay as they are.",
)
QUIET = click.option("-q", "--quiet", is_flag=True, help="Print errors only.")
ON_ERROR = click.option(
    "--on-error",
    default="fail",
    show_default=True,
    type=click.Choice(["fail", "skip"]),
    help="A record that cannot be used: fail, or leave it out, count it and report it.",
)
METRICS = click.option(
    "--metrics", type=PATH, help="Python file with METRICS = [...] of your own, and columns(units) if they need any."
)
PAPER = click.option(
    "--paper", is_flag=True, help="Figures as SVG and PDF, and tables and words for a paper, beside the report."
)
EXPORTS = (
    click.option("--flat", "flat_file", type=PATH, help="Write {metric: value} there as JSON, for a tracker."),
    click.option(
        "--inspect-scores", "inspect_file", type=PATH, help="Write the units' values there, as Inspect reads scores."
    ),
)
SUITE_FILE = click.option(
    "--suite-file",
    type=PATH,
    expose_value=False,
    is_eager=True,
    callback=lambda ctx, param, path: _read_suite(path),
    help="Python file with a SUITE of your own (docs/extending.md).",
)
RESAMPLING = (
    click.option(
        "--n-resamples", default=10_000, show_default=True, type=click.IntRange(100), help="Bootstrap resamples."
    ),
    click.option(
        "--confidence",
        default=0.95,
        show_default=True,
        type=click.FloatRange(0, 1, True, True),
        help="Level of the intervals, between 0 and 1.",
    ),
    click.option(
        "--ci",
        default="auto",
        show_default=True,
        type=click.Choice(["auto", "bca", "percentile"]),
        help="Kind of interval: auto is BCa where the data carry a bootstrap, and score intervals where not.",
    ),
    click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Seed of the resampling."),
)
COMMON = (
    OUT,
    JOBS,
    NAME,
    *RESAMPLING,
    METRICS,
    ON_ERROR,
    click.option("--resume/--fresh", default=True, show_default=True, help="Keep what is complete and current."),
    click.option("--scheduler", metavar="ADDRESS", help="Work on the dask cluster at tcp://HOST:PORT (extra dask)."),
    LANG,
    QUIET,
)


DECLARED = (
    click.option("--primary", metavar="METRIC", help="The metric that is tested alone (default: the suite's own)."),
    click.option(
        "--margin",
        multiple=True,
        metavar="NAME=X",
        help="Largest difference of a metric, in its own unit, that does not matter: equivalence is tested.",
    ),
)


def _read_suite(path: Path | None) -> None:
    if path is not None:
        from ..core.suite import load_suite_file

        load_suite_file(path)


def using(*options: Callable[[F], F]) -> Callable[[F], F]:
    """All these options, in this order."""

    def add(f: F) -> F:
        for option in reversed(options):
            f = option(f)
        return f

    return add


def params(*options: Callable[[Any], Any]) -> list[click.Parameter]:
    """Options given as decorators, as click's parameters."""

    @using(*options)
    def command() -> None: ...

    return list(reversed(command.__click_params__))


def of_model(model: Any, names: Sequence[str] | None = None) -> list[click.Parameter]:
    """An option for every field of a suite's options that is given, with its description, type and default."""
    return [_option(name, model.model_fields[name]) for name in (model.given() if names is None else names)]


def _option(name: str, field: FieldInfo) -> click.Option:
    flag = f"--{name.replace('_', '-')}"
    kind, many = _without_none(field.annotation)
    default = field.default
    how: dict[str, Any] = {"help": field.description or "", "default": default}
    if kind is bool:
        return click.Option([flag], is_flag=True, **how)
    how["show_default"] = default not in (None, "", ())
    if many:
        return click.Option([flag], multiple=True, type=_type(kind, field), **{**how, "show_default": False})
    return click.Option([flag], type=_type(kind, field), **how)


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


class SuiteGroup(click.Group):
    """A group with a command for every suite, made when it is asked for by `make(suite)`, besides its own."""

    make: Callable[[Any], click.Command]

    def list_commands(self, ctx: click.Context) -> list[str]:
        from ..core.suite import suite_names

        return [*suite_names(), *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        from ..core.suite import get_suite, suite_names

        own = super().get_command(ctx, name)
        return own or (self.make(get_suite(name)) if name in suite_names() else None)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        # the suites are named without being loaded
        with formatter.section("Commands"):
            names = self.list_commands(ctx)
            formatter.write_dl(
                [(n, self.commands[n].get_short_help_str() if n in self.commands else "") for n in names]
            )


class OfSomeSuite(click.Command):
    """A command that takes the options of the suite that its arguments belong to; `ctx.obj` is that suite or None.

    With `costly` those alone by which something may be spent.
    """

    def __init__(self, *arguments: Any, costly: bool = False, **how: Any) -> None:
        super().__init__(*arguments, **how)
        self.costly = costly

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.obj = suite_among(args)
        own = list(self.params)
        try:
            self.params = [*own, *(self._of_suite(ctx.obj.options) if ctx.obj is not None else [])]
            return super().parse_args(ctx, args)
        finally:
            self.params = own

    def _of_suite(self, model: Any) -> list[click.Parameter]:
        free = model.given(costly=False) if self.costly else ()
        return of_model(model, [name for name in model.given() if name not in free])


def suite_among(args: Sequence[str]) -> Any:
    """The suite that a command line names (--suite), or that the first of its arguments which is a run belongs to."""
    from ..core.errors import UsageError
    from ..core.suite import get_suite

    named = [a.partition("=")[2] for a in args if a.startswith("--suite=")]
    named += [b for a, b in pairwise(args) if a == "--suite"]
    files = [b for a, b in pairwise(args) if a == "--suite-file"]
    for file in files:
        _read_suite(Path(file))
    if named:
        return get_suite(named[0])
    for one in _runs(args):
        from ..report.study import suite_of_run

        try:
            return suite_of_run(one)
        except UsageError:
            continue
    return None


def _runs(args: Sequence[str]) -> Iterator[Path]:
    from ..core.errors import UsageError
    from ..core.names import find_runs

    for arg in args:
        if not arg.startswith("-"):
            try:
                yield from find_runs(arg)[:1]
            except (UsageError, OSError, ValueError):
                continue
