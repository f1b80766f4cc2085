"""Commands on runs: `check`, `score`, `report`, `demo`, `gallery`, `compare`, `rank` and `plan`."""

import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
from click.exceptions import Exit
from pandas import DataFrame

from ...core.commands import (
    PATH,
    RUN,
    SuiteGroup,
    added,
    files_argument,
    lang_option,
    number,
    out_option,
    quiet_option,
    runs_argument,
    suite_file_option,
    verbose_option,
)
from ...core.files import EXAMPLES, Names, find_runs, refuse_input, write_csv
from ...core.messages import (
    BAD_INPUT,
    InputError,
    Problems,
    UsageError,
    echo,
    language,
    paragraph,
    speak,
)
from ...core.results import locate, run_names, score_units
from ...core.suite import get_suite
from ...core.workers import Workers
from ...report import evaluate
from ...report.notebook import build
from .. import batch
from ..options import (
    PROBABILITY,
    RunsCommand,
    batch_options,
    declared_options,
    jobs_option,
    study_options,
    suite_languages,
    suite_option,
    suite_options,
)
from ..show import show_checks, show_frame, show_result


def check_suite(name: str) -> click.Command:
    """The command for inputs of a suite, found bad by the same readers that score them."""
    suite = get_suite(name)

    def check_file(
        path: Path,
        problems: Problems,
        **values: Any,
    ) -> None:
        for name in run_names(suite, path, problems):
            score_units(
                suite,
                locate(suite, path, name, values, problems),
                problems,
                Workers(),
            )

    return _check_command(
        suite.name,
        f"Inputs of {suite.title}: list every problem.",
        check_file,
        suite_options(suite.options, suite.options.free()),
    )


def _check_command(
    name: str, text: str, check_file: Callable[..., None], options: Iterable[click.Parameter] = ()
) -> click.Command:
    """The command for files in which check_file(path, problems, **options) finds problems."""

    @click.command(name, params=list(options), help=text)
    @files_argument
    def command(files: Sequence[Path], **values: Any) -> None:
        problems = Problems("skip")
        for path in files:
            with suppress(InputError):  # what is fatal is among the others
                check_file(path, problems, **values)
        problems.tell()
        n_errors, n_warnings = problems.count("error"), problems.count("warning")
        echo(f"errors: {n_errors}, warnings: {n_warnings}, inputs: {len(files)}")
        raise Exit(BAD_INPUT if n_errors else 0)

    return command


@click.group(cls=SuiteGroup, load=check_suite)
@suite_file_option
def check() -> None:
    """List every problem of input files; write nothing."""


for name, check_file in added("CHECKS").items():
    check.add_command(_check_command(name, str(check_file.__doc__), check_file))


metric_option = click.option(
    "--metric", required=True, metavar="NAME", help="The metric that is looked at."
)

csv_option = click.option(
    "--csv",
    "csv_file",
    type=PATH,
    help="Write all of it there as well.",
)


def _require_target(csv_file: Path | None, *runs: str) -> None:
    if csv_file:
        refuse_input(csv_file, [path for run in runs for path in find_runs(run)])


def _write(csv_file: Path | None, table: DataFrame) -> None:
    if csv_file:
        write_csv(csv_file, table)
        echo(csv_file)


@click.command(cls=RunsCommand)
@click.argument("baseline", metavar="A", type=RUN)
@click.argument("candidate", metavar="B", type=RUN)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Every metric, not only the headline.",
)
@csv_option
@declared_options
@verbose_option
@study_options
def compare(
    baseline: str,
    candidate: str,
    everything: bool,
    csv_file: Path | None,
    verbose: bool,
    quiet: bool,
    **settings: Any,
) -> None:
    """Is B better than A? Two runs, or two sets of seeds, in pairs.

    A and B are a run, a results folder, a run_id (the common prefix of the folders <run_id>__seed<N>_<mode>),
    or several runs joined by commas. The options of the suite are taken too (evaltools score SUITE --help).
    """
    _require_target(csv_file, baseline, candidate)
    study = evaluate.compare(baseline, candidate, **settings)
    show_result(study, verbose, everything)
    _write(csv_file, study.comparison)


@click.command(cls=RunsCommand)
@runs_argument
@metric_option
@out_option
@verbose_option
@study_options
def rank(
    runs: Names,
    metric: str,
    out: Path,
    verbose: bool,
    quiet: bool,
    **settings: Any,
) -> None:
    """Which condition is best on one metric: ranks.

    Every pair is compared, all pairs together. Writes results/<baseline>_aggregated/ with ranks.csv in
    it; the baseline is that of report seeds.
    """
    study = evaluate.study(runs, **settings, primary=metric, name="ranks")
    ranks = study.rank()
    measured = ranks.dropna(subset="rank_low")
    if len(measured) < 2:
        raise UsageError(f"{metric} is measured in fewer than two conditions: nothing to rank")
    (folder,) = study.save(out, [study.baseline])
    first = " or ".join(measured.loc[measured["rank_low"] == 1, "condition"])
    paragraph(f"Best of {len(measured)} conditions on “{study.title(study.primary)}”: {first}.")
    paragraph(
        f"All ranks lie within their intervals at once, with {study.resampling.percent} confidence."
    )
    echo()
    show_frame(ranks, verbose)
    echo()
    show_checks(study.doubts(), verbose)
    echo(folder / "ranks.csv")


@click.command(cls=RunsCommand)
@runs_argument
@metric_option
@click.option(
    "--difference",
    required=True,
    type=number,
    metavar="X",
    help="The difference, in the metric's own unit.",
)
@click.option(
    "--power",
    type=PROBABILITY,
    default=0.8,
    help="Probability of finding it, 0 to 1.",
)
@click.option(
    "--seeds",
    default="1,3,5",
    metavar="N,...",
    type=lambda text: list(map(click.INT, text.split(","))),
    help="Numbers of seeds to plan for.",
)
@csv_option
@study_options
def plan(
    runs: Names,
    metric: str,
    difference: float,
    power: float,
    seeds: Sequence[int],
    csv_file: Path | None,
    quiet: bool,
    **settings: Any,
) -> None:
    """How many samples and seeds would show a difference.

    RUN... are the pilot: the runs of two conditions (named as for `compare`).
    """
    _require_target(csv_file, *runs)
    pilot = evaluate.study(runs, **settings)
    planned = pilot.plan(
        metric,
        difference,
        power=power,
        seeds=seeds,
    )
    paragraph(
        f"To show {pilot.candidates[0]} better than {pilot.baseline} by {difference:g} on “{pilot.title(metric)}” with "
        f"{power:.0%} power, as the primary metric at level {pilot.resampling.level:.2g}:"
    )
    echo()
    show_frame(planned.dropna(axis="columns", how="all"))
    echo()
    paragraph(
        f"samples: units ({pilot.suite.unit}), of clusters their samples; samples_low to samples_high: what these "
        "runs leave open."
    )
    if 1 in seeds:
        paragraph(
            "1 seed: a claim about these two runs only; more seeds: about the two systems, which may need more."
        )
    lacking = planned.loc[planned["samples"].isna(), "seeds"].astype(str)
    if len(lacking):
        paragraph(
            f"No number of samples is known for {', '.join(lacking)} seeds: the pilot has one seed a side, or its seeds "
            "differ so far that the power stays below what is asked."
        )
    _write(csv_file, planned)


paper_option = click.Option(
    ["--paper"],
    is_flag=True,
    help="Figures as SVG and PDF, and tables and words for a paper, beside the report.",
)


def _command(
    name: str, verb: str, make: Callable[[batch.Batch, Sequence[str]], None], *more: click.Parameter
) -> click.Command:
    """The command that makes something of runs of a suite."""
    suite = get_suite(name)

    @click.command(
        suite.name,
        params=[*suite_options(suite.options, suite.options.settable()), *more],
        help=f"{verb} runs of {suite.title}.",
    )
    @runs_argument
    @batch_options
    def command(runs: Names, **options: Any) -> None:
        work = batch.Batch(suite, options)
        make(work, runs)
        raise Exit(batch.end(work))

    lang = next(each for each in command.params if each.name == "lang")
    lang.type = click.Choice(suite_languages(suite))
    return command


@click.group(cls=SuiteGroup, load=lambda name: _command(name, "Score", batch.score))
@suite_file_option
def score() -> None:
    """Numbers of runs, without notebook and page.

    Writes results/<run>/. `evaltools score SUITE --help` lists the options of a suite.
    """


@click.group(
    cls=SuiteGroup,
    load=lambda name: _command(name, "Report", batch.report, paper_option),
)
@suite_file_option
def report() -> None:
    """Numbers, notebook and HTML page of runs.

    Writes results/<run>/ and reports/<run>/. `evaltools report SUITE --help` lists the options of a suite.
    """


@report.command(cls=RunsCommand)
@runs_argument
@suite_option
@suite_file_option
@click.option(
    "--baseline",
    help="Condition that the others are compared with (default: the first by name, of those under which checks "
    "block least of the headline).",
)
@declared_options
@batch_options
def seeds(
    runs: Names,
    suite: Any,
    **options: Any,
) -> None:
    """Means over seeds, and conditions compared (any suite).

    RUN... are named <run_id>__seed<N>_<mode>; runs of one run_id are seeds of one condition. The options of the suite
    are taken too (evaltools report SUITE --help).
    """
    if suite is None:
        suite = evaluate.suite_of_run(find_runs(runs[0])[0])  # says why it cannot be told
    declared = {name: options.pop(name) for name in ("baseline", "primary", "margin")}
    work = batch.Batch(suite, options)
    batch.report_seeds(work, runs, **declared)
    raise Exit(batch.end(work))


@click.command()
@out_option
@lang_option
@quiet_option
@jobs_option(default=2)
def demo(**options: Any) -> None:
    """All reports and the gallery on the bundled examples."""
    lang = language()
    entries = json.loads((EXAMPLES / "demo.json").read_text(encoding="utf-8"))
    work = batch.Batch(get_suite(entries[0]["suite"]), options)
    for entry in entries:
        # the settings of the same report by itself, which is then current
        usual = report.load(entry["suite"]).make_context("report", list(entry["runs"])).params
        runs = usual.pop("runs")
        work.suite = get_suite(entry["suite"])
        work.options = usual | options
        speak(lang if lang in suite_languages(work.suite) else "en")
        make = batch.report_seeds if entry["seeds"] else batch.report
        make(work, runs)
    speak(lang)
    raise Exit(batch.end(work))


@click.command()
@click.argument("outputs", default="outputs", type=PATH)
@lang_option
def gallery(outputs: Path) -> None:
    """Make index.html of all results under OUTPUTS again.

    The page finds, filters and compares them.
    """
    echo(build(outputs))
