"""Options that several commands take, those of suites, and the commands whose runs say which suite that is."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from copy import copy
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import click
from click.core import ParameterSource

from .. import BUILT_IN
from ..core.commands import (
    PATH,
    Decorator,
    Number,
    lang_option,
    n_resamples_option,
    number,
    on_error_option,
    out_option,
    quiet_option,
    suite_file_option,
    together,
    verbose_option,
)
from ..core.files import find_runs, resolve, safe_name
from ..core.manifest import read_manifest
from ..core.messages import LANGUAGES, PACKAGE, UsageError, echo
from ..core.suite import get_suite
from ..core.workers import Workers
from ..report.evaluate import suite_of_run

# a probability that is neither 0 nor 1
PROBABILITY = Number(
    0,
    1,
    min_open=True,
    max_open=True,
)

confidence_option = click.option(
    "--confidence",
    type=PROBABILITY,
    default=0.95,
    help="Level of the intervals, between 0 and 1.",
)

resampling_options = together(
    n_resamples_option,
    confidence_option,
    click.option(
        "--ci",
        type=click.Choice(["auto", "bca", "percentile"]),
        default="auto",
        help="Kind of interval: auto is BCa where the data carry it, and score intervals where not.",
    ),
    click.option(
        "--seed",
        type=click.IntRange(0),
        default=0,
        help="Seed of the resampling.",
    ),
)


def jobs_option(
    *name: str,
    default: int = 1,
    **attributes: Any,
) -> Decorator:
    """-j, --jobs."""
    return click.option(
        "-j",
        "--jobs",
        *name,
        type=click.IntRange(1),
        default=default,
        help="Processes at once.",
        **attributes,
    )


workers_option = jobs_option(
    "workers", callback=lambda context, option, jobs: Workers(jobs, label="scoring")
)

metrics_option = click.option(
    "--metrics",
    type=PATH,
    help="Python file with METRICS = [...] of your own, and columns(units) if they need any.",
)

# of the commands that score and report runs
batch_options = together(
    out_option,
    jobs_option(),
    click.option(
        "--name",
        type=safe_name,
        metavar="NAME",
        help="Name of the run instead of its folder's or file's (one run only).",
    ),
    resampling_options,
    metrics_option,
    on_error_option,
    click.option(
        "--fresh/--resume",
        default=False,
        help="Make all anew, or keep what is complete and current.",
    ),
    click.option(
        "--scheduler",
        metavar="ADDRESS",
        help="Work on the dask cluster at tcp://HOST:PORT (extra dask).",
    ),
    lang_option,
    quiet_option,
    verbose_option,
)

suite_option = click.option(
    "--suite", help="Suite of the runs (default: known by the names of their files)."
)

# of the commands that see several runs together: keywords of `report.evaluate.study`
study_options = together(
    suite_option,
    suite_file_option,
    workers_option,
    metrics_option,
    on_error_option,
    resampling_options,
    quiet_option,
)


def _named_number(text: str) -> tuple[str, float]:
    """(name of a metric, finite number) of "NAME=X"."""
    name, _, value = text.rpartition("=")
    if not name:
        raise click.BadParameter(f"{text!r}: expected NAME=X with a finite number X")
    return name.strip(), number(value)


def named_numbers(
    flag: str,
    text: str,
    *name: str,
    **attributes: Any,
) -> Decorator:
    """An option that takes NAME=X, once for each metric."""
    return click.option(
        flag,
        *name,
        multiple=True,
        type=_named_number,
        metavar="NAME=X",
        help=text,
        **attributes,
    )


def margin_option(text: str) -> Decorator:
    """--margin: metric -> margin."""
    return named_numbers(
        "--margin", text, callback=lambda context, option, pairs: dict(sorted(pairs, reverse=True))
    )


declared_options = together(
    click.option(
        "--primary",
        metavar="METRIC",
        help="The metric that is tested alone (default: the suite's own).",
    ),
    margin_option(
        "Largest difference of a metric, in its own unit, that does not matter: equivalence is tested."
    ),
)


# --- the options of suites


def suite_languages(suite: Any) -> list[str]:
    """The languages of a suite's pages: those of its files, and for a suite of the user's all that the package speaks."""
    if suite.name not in BUILT_IN:
        return list(LANGUAGES)
    folder = PACKAGE / "suites" / suite.name / "lang"
    return ["en", *sorted(path.stem for path in folder.glob("*.toml"))]


def suite_options(
    model: Any,
    names: Sequence[str],
) -> Iterator[click.Parameter]:
    """An option for each of these fields of a suite's options: its description, type and default."""
    click_types = {bool: None, Path: PATH, float: number}
    for name in names:
        field = model.model_fields[name]
        kind = field.annotation
        multiple = False
        while get_origin(kind) not in (None, Literal):  # X | None, or several X
            multiple |= get_origin(kind) in (tuple, list)
            kind = get_args(kind)[0]
        flag = f"--{name.replace('_', '-')}"
        if kind is bool:
            flag += f"/--no-{flag[2:]}"
        choices = click.Choice(get_args(kind)) if get_origin(kind) is Literal else kind
        yield click.Option(
            [flag],
            multiple=multiple,
            type=click_types.get(kind, choices),
            default=field.default,
            help=field.description,
        )


class RunsCommand(click.Command):
    """A command that takes the options of the suite that its runs belong to.

    Its parameter `suite` is that suite; None where it cannot be told.
    """

    def parse_args(
        self,
        ctx: click.Context,
        args: list[str],
    ) -> list[str]:
        """As usual, with the options of the suite; says which options make nothing of runs that are scored already."""
        suite = self._suite_of(ctx, args)
        ctx.command = copy(self)
        names = suite.options.settable() if suite else []
        if names:
            ctx.command.params = [*self.params, *suite_options(suite.options, names)]
        rest = click.Command.parse_args(ctx.command, ctx, args)
        typed = [
            f"--{name.replace('_', '-')}"
            for name in ("n_resamples", "confidence", "ci", "seed", *names)
            if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
        ]
        if typed and not ctx.params["quiet"]:
            for run in ctx.params.get("runs") or [ctx.params["baseline"], ctx.params["candidate"]]:
                if any(read_manifest(resolve(path)) for path in find_runs(run)):
                    echo(
                        f"warning: {run}: scored already, kept as it is without {', '.join(typed)}",
                        err=True,
                    )
        ctx.params["suite"] = suite
        return rest

    def _suite_of(
        self,
        ctx: click.Context,
        args: list[str],
    ) -> Any:
        """The suite of --suite-file, that which --suite names, or that of the first argument which is a run."""
        parser = self.make_parser(ctx)
        parser.ignore_unknown_options = True  # those of the suite are not known yet
        values, _, _ = parser.parse_args(list(args))
        suite = values.get("suite_file", values.get("suite", ctx.meta.get("suite")))
        if suite is not None:
            return get_suite(suite)
        for text in args:  # what an option is given is seldom a run
            with suppress(UsageError, OSError, ValueError):
                return suite_of_run(find_runs(text)[0])
        return None
