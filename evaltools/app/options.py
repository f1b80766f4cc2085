"""Options that several commands take, and what their texts say. Those of one command stand with it."""

from __future__ import annotations

import math
import types
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin

import click

from .. import BUILT_IN
from ..core.commands import (
    PATH,
    Decorator,
    lang_option,
    on_error_option,
    out_option,
    quiet_option,
    together,
    verbose_option,
)
from ..core.language import LANGUAGES, PACKAGE

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from ..core.workers import Workers

confidence_option = click.option(
    "--confidence",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="Level of the intervals, between 0 and 1.",
)

resampling_options = together(
    click.option(
        "--n-resamples",
        type=click.IntRange(100, 10_000_000),
        default=10_000,
        show_default=True,
        help="Bootstrap resamples.",
    ),
    confidence_option,
    click.option(
        "--ci",
        type=click.Choice(["auto", "bca", "percentile"]),
        default="auto",
        show_default=True,
        help="Kind of interval: auto is BCa where the data carry it, and score intervals where not.",
    ),
    click.option(
        "--seed",
        type=click.IntRange(0),
        default=0,
        show_default=True,
        help="Seed of the resampling.",
    ),
)


def jobs_option(
    name: str = "jobs",
    default: int = 1,
    **attributes: Any,
) -> Decorator:
    """-j, --jobs."""
    return click.option(
        "-j",
        "--jobs",
        name,
        type=click.IntRange(1),
        default=default,
        show_default=True,
        help="Processes at once.",
        **attributes,
    )


def make_workers(
    context: click.Context,
    option: click.Parameter,
    jobs: int,
) -> Workers:
    """The workers that --jobs stands for."""
    from ..core.workers import Workers

    return Workers(jobs, label="scoring")


workers_option = jobs_option("workers", callback=make_workers)

metrics_option = click.option(
    "--metrics",
    type=PATH,
    help="Python file with METRICS = [...] of your own, and columns(units) if they need any.",
)

# of the commands that score runs: the arguments of `batch.Batch`
batch_options = together(
    out_option,
    jobs_option(),
    click.option(
        "--name",
        help="Name of the run instead of its folder's or file's (one run only).",
    ),
    resampling_options,
    metrics_option,
    on_error_option,
    click.option(
        "--fresh/--resume",
        default=False,
        show_default=True,
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

# of the commands that see several runs together: keywords of `report.make_study.study`
study_options = together(workers_option, metrics_option, on_error_option, resampling_options)

paper_option = click.option(
    "--paper",
    is_flag=True,
    help="Figures as SVG and PDF, and tables and words for a paper, beside the report.",
)

suite_option = click.option(
    "--suite",
    help="Suite of the runs (default: known by the names of their files).",
)

primary_option = click.option(
    "--primary",
    metavar="METRIC",
    help="The metric that is tested alone (default: the suite's own).",
)


class NamedNumber(click.ParamType):
    """NAME=X: the name of a metric, and a finite number."""

    name = "NAME=X"

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> tuple[str, float]:
        name, _, text = value.rpartition("=")
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not name or not math.isfinite(number):
            self.fail(f"{value!r}: expected NAME=X with a finite number X", param, ctx)
        return name.strip(), number


NAMED_NUMBER = NamedNumber()


def as_margins(
    context: click.Context,
    option: click.Parameter,
    pairs: Sequence[tuple[str, float]],
) -> dict[str, float]:
    """Metric -> margin, each once and 0 or more."""
    margins = dict(pairs)
    if len(margins) < len(pairs):
        raise click.BadParameter("a metric can have one margin only", context, option)
    for name, margin in pairs:
        if margin < 0:
            raise click.BadParameter(f"{name}: expected a number of 0 or more", context, option)
    return margins


margin_option = click.option(
    "--margin",
    multiple=True,
    type=NAMED_NUMBER,
    callback=as_margins,
    help="Largest difference of a metric, in its own unit, that does not matter: equivalence is tested.",
)


def read_suite(path: Path | None) -> Any:
    """The suite of a file, from then on known by its name, where one is given."""
    if path is None:
        return None
    from ..core.plugins import load_suite_file

    return load_suite_file(path)


suite_file_option = click.option(
    "--suite-file",
    type=PATH,
    expose_value=False,
    is_eager=True,
    callback=lambda ctx, param, path: read_suite(path),
    help="Python file with a SUITE of your own (docs/extending.md).",
)


def suite_languages(suite: Any) -> list[str]:
    """The languages of a suite's pages: those of its files, and for a suite of the user's all that the package speaks."""
    if suite.name not in BUILT_IN:
        return list(LANGUAGES)
    folder = PACKAGE / "suites" / suite.name / "lang"
    return ["en", *sorted(path.stem for path in folder.glob("*.toml"))]


def suite_options(model: Any, names: Sequence[str]) -> list[click.Parameter]:
    """An option for each of these fields of a suite's options: its description, type and default."""
    return [_suite_option(name, model.model_fields[name]) for name in names]


def _suite_option(name: str, field: FieldInfo) -> click.Option:
    value_type, multiple = _value_type(field.annotation)
    flag = name.replace("_", "-")
    if value_type is bool:
        flags = f"--{flag}/--no-{flag}"
        return click.Option(
            [flags], default=field.default, show_default=True, help=field.description
        )
    click_type = PATH if value_type is Path else value_type
    if get_origin(value_type) is Literal:
        click_type = click.Choice(list(get_args(value_type)))
    return click.Option(
        [f"--{flag}"],
        multiple=multiple,
        type=click_type,
        default=field.default,
        show_default=not multiple and field.default not in (None, "", ()),
        help=field.description,
    )


def _value_type(annotation: Any) -> tuple[Any, bool]:
    """(type of one value, whether the option may be given several times) of a field's annotation."""
    if get_origin(annotation) in (Union, types.UnionType):
        alternatives = [a for a in get_args(annotation) if a is not type(None)]
        annotation = alternatives[0]
    if get_origin(annotation) in (tuple, list):
        return get_args(annotation)[0], True
    return annotation, False


def whole_numbers(
    context: click.Context,
    option: click.Parameter,
    text: str,
) -> list[int]:
    """The whole numbers of an option's "1,3,5"."""
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if not numbers or min(numbers) < 1:
        what = f"{text!r}: expected whole numbers from 1 on, joined by commas"
        raise click.BadParameter(what, context, option)
    return numbers
