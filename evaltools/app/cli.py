"""The command line.

Exit status: 0 done; 1 gate not met; 2 wrong usage; 3 bad input; 4 a report failed, a rerun found other numbers, or
a run could not be worked on for a reason outside of its input (full disk, killed process); 130 interrupted.
"""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from .. import BUILT_IN, __version__
from ..core.commands import COMMON, PATH, RESAMPLING, options
from ..core.errors import BAD_INPUT, FAILED, GATE_NOT_MET, INTERRUPTED, InputError, Problems, tell
from ..core.language import speak
from ..core.terminal import echo
from .options import OfSomeSuite, SuiteGroup, of_model, parse_margins, parse_seeds

# work is spread by --jobs: threads of the linear algebra library would only get in each other's way
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# what is left at the end goes with the process: looking through all of it for cycles takes 0.2 s
atexit.register(gc.freeze)

STUDY = ("jobs", "metrics", "on_error", "lang", *RESAMPLING)
"""Options of the commands that see several runs together."""


@contextmanager
def _told() -> Iterator[None]:
    """Turns exceptions into messages and exit statuses."""
    try:
        yield
    except KeyboardInterrupt:
        echo("interrupted: what is finished is kept, the same command goes on from there", err=True)
        sys.exit(INTERRUPTED)
    except (click.ClickException, click.exceptions.Exit, click.Abort):
        raise
    except Exception as e:  # noqa: BLE001 - a defect too: Python's own status 1 would be read as a gate not met
        sys.exit(tell(e))


class _Main(click.Group):
    """Finds the commands of suites, and ends as `_told` says, whatever signal asks for it."""

    def __call__(self, *args: Any, **how: Any) -> Any:
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)  # not every system has both
            if (
                number is not None and signal.getsignal(number) is signal.SIG_DFL
            ):  # `nohup` has it ignored
                signal.signal(number, signal.default_int_handler)
        return super().__call__(*args, **how)

    def make_context(self, *args: Any, **how: Any) -> click.Context:
        with _told():
            return super().make_context(*args, **how)

    def invoke(self, ctx: click.Context) -> Any:
        with _told():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), *suite_commands()])

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        return super().get_command(ctx, name) or suite_commands().get(name)


def suite_commands(kind: str = "COMMANDS") -> dict[str, Any]:
    """What the built-in suites add to the command line: their COMMANDS, or the CHECKS of files of their own."""
    found: dict[str, Any] = {}
    for package in BUILT_IN.values():
        if find_spec(f"{package}.commands"):
            found |= getattr(import_module(f"{package}.commands"), kind, {})
    return found


class _Runs(SuiteGroup):
    """`score SUITE RUN...` and `report SUITE RUN...`."""

    def make(self, suite: Any) -> click.Command:
        def command(runs: tuple[str, ...], **given: Any) -> None:
            from .batch import Batch, Settings

            chosen, rest = _split_options(suite, given)
            exports = {k: rest.pop(k) for k in ("flat_file", "inspect_file") if k in rest}
            batch = Batch(Settings(**rest))
            (batch.score if self.name == "score" else batch.report)(suite, runs, chosen, **exports)
            sys.exit(batch.end())

        return click.Command(
            suite.name,
            callback=command,
            help=f"{str(self.name).capitalize()} runs of {suite.title}.",
            params=[
                click.Argument(["runs"], metavar=f"{suite.input}...", nargs=-1, required=True),
                *of_model(suite.options),
                *options(
                    *COMMON,
                    *(["paper"] if self.name == "report" else ["flat_file", "inspect_file"]),
                ),
            ],
        )


class _Check(SuiteGroup):
    """`check SUITE FILE...`, and checks of other files of suites."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), *suite_commands("CHECKS")]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        check = suite_commands("CHECKS").get(name)
        return (
            self._command(name, str(check.__doc__), check, [])
            if check
            else super().get_command(ctx, name)
        )

    def make(self, suite: Any) -> click.Command:
        def check(path: Path, problems: Any, **given: Any) -> None:
            from .batch import check_input

            check_input(suite, path, given, problems)

        free = suite.options.settable(costly=False)
        text = f"List every problem of inputs of {suite.title}, write nothing."
        return self._command(suite.name, text, check, of_model(suite.options, free))

    def _command(
        self, name: str, text: str, check: Any, more: list[click.Parameter]
    ) -> click.Command:
        def command(files: Sequence[Path], **given: Any) -> None:
            problems = Problems("skip")
            for path in files:
                found = Problems("skip")
                with suppress(InputError):  # a fatal problem is in `found` like every other
                    check(path, found, **given)
                problems.merge(found)
            for line, bad in problems.lines(len(files)):
                echo(line, err=bad)
            sys.exit(BAD_INPUT if problems.count("error") else 0)

        files = click.Argument(["files"], metavar="FILE...", nargs=-1, required=True, type=PATH)
        return click.Command(name, callback=command, help=text, params=[files, *more])


def _split_options(suite: Any, given: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """(suite options, the rest) of a command's parameters."""
    names = set(suite.options.model_fields)
    return {k: v for k, v in given.items() if k in names}, {
        k: v for k, v in given.items() if k not in names
    }


def _settings(given: dict[str, Any]) -> dict[str, Any]:
    """The options STUDY of a command as `study` takes them; the language is spoken from here on."""
    from ..core.resampling import Resampling
    from .workers import Workers

    speak(given.pop("lang"))
    jobs, n, level, ci, seed = (given.pop(name) for name in ("jobs", *RESAMPLING))
    return {
        **given,
        "workers": Workers(jobs),
        "resampling": Resampling(method=ci, n_resamples=n, confidence=level, seed=seed),
    }


@click.group(
    cls=_Main,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    params=options("suite_file"),
)
@click.version_option(__version__, prog_name="evaltools")
def main() -> None:
    """Evaluation metrics with confidence intervals, and reproducible reports."""
    # importing libraries makes many objects and no garbage: collecting as often as usual takes a tenth of a report
    gc.set_threshold(200_000)


@main.group(cls=_Runs, params=options("suite_file"))
def score() -> None:
    """Numbers only, no notebook: results/<run>/."""


@main.group(cls=_Runs, params=options("suite_file"))
def report() -> None:
    """Numbers, notebook and HTML: results/<run>/ and reports/<run>/."""


@main.group(cls=_Check, params=options("suite_file"))
def check() -> None:
    """Validate inputs: list every problem, write nothing."""


@report.command(
    "seeds",
    cls=OfSomeSuite,
    params=options("suite", "suite_file", "condition_baseline", "primary", "margin", *COMMON),
)
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
def report_seeds(runs: tuple[str, ...], suite: Any, margin: tuple[str, ...], **given: Any) -> None:
    """Aggregate runs named <run_id>__seed<N>_<mode> over seeds, and compare the run_ids.

    Takes the options of the suite besides (evaltools report SUITE --help).
    """
    from .batch import Batch, Settings

    declared = {
        "baseline": given.pop("baseline"),
        "primary": given.pop("primary"),
        "margin": parse_margins(margin),
    }
    if suite is None:
        from ..core.names import find_runs
        from ..report.run_groups import suite_of_run

        suite = suite_of_run(find_runs(runs[0])[0])  # says why it cannot be told
    chosen, rest = _split_options(suite, given)
    batch = Batch(Settings(**rest))
    batch.report_seeds(suite, runs, chosen, **declared)
    sys.exit(batch.end())


@main.command(
    cls=OfSomeSuite,
    params=options(
        "suite", "suite_file", "everything", "comparison_file", "primary", "margin", *STUDY
    ),
)
@click.argument("baseline", metavar="A")
@click.argument("candidate", metavar="B")
def compare(baseline: str, candidate: str, **given: Any) -> None:
    """Paired comparison of two runs, or of two sets of seeds.

    A and B are a run, a results folder, a run_id (the common prefix of the folders <run_id>__seed<N>_<mode>),
    or several runs joined by commas. Takes the options of the suite besides (evaltools score SUITE --help).
    """
    from .compare import compare_command

    echo(compare_command(baseline, candidate, **_settings(given)))


@main.command(
    cls=OfSomeSuite,
    params=options(
        "metric",
        "difference",
        "power",
        "seeds",
        "plan_file",
        "suite",
        "suite_file",
        *STUDY,
        "quiet",
    ),
)
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
def plan(runs: tuple[str, ...], seeds: str, **given: Any) -> None:
    """How many samples, for each number of seeds, show a difference, the runs given being the pilot.

    The runs of two conditions (named as for `compare`); or of one, whose seeds then stand in for the other.
    """
    from .plan import plan_command

    echo(plan_command(runs, seeds=parse_seeds(seeds), **_settings(given)))


@main.command(cls=OfSomeSuite, params=options("rank_metric", "suite", "suite_file", "out", *STUDY))
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
def rank(runs: tuple[str, ...], **given: Any) -> None:
    """Every pair of conditions on one metric: tie groups, and ranks that hold together.

    Writes results/<condition>_aggregated/ as `report seeds` does, ranks.csv in that of the baseline (the first by
    name).
    """
    from .plan import rank_command

    echo(rank_command(runs, **_settings(given)))


@main.command(params=options("calibration_file", "score", "next_file", "confidence", "lang"))
@click.argument("scores", type=PATH)
@click.argument("labels", type=PATH)
def calibrate(scores: Path, labels: Path, lang: str, **given: Any) -> None:
    """Hold SCORES of a judge or of rules against LABELS that people gave to some of the cases.

    CSV or JSONL, numbers from 0 to 1: SCORES have case_id, metric, score (summary_scores.csv is such a file), LABELS
    case_id, metric, label, and maybe rater and stratum. The corrected mean is what people would give all cases.
    """
    from .calibrate import calibrate_command

    speak(lang)
    echo(calibrate_command(scores, labels, **given))


@main.command(
    params=options("minima", "maxima", "use", "baseline", "margins", "junit_file", "summary_file")
)
@click.argument("result", type=PATH)
def gate(**asked: Any) -> None:
    """Fail (status 1) unless RESULT, a metrics.json or the folder of a run or aggregate, holds what is asked.

    Without any bound or baseline its suite's verdicts must be passes. What is not measured does not pass.
    """
    from .gate import gate as check

    rows = check(**asked)
    for row in rows:
        echo(str(row))
    sys.exit(GATE_NOT_MET if any(row.met is False for row in rows) else 0)


@main.command(
    params=options(
        "target", "as_", "level", "split", "condition", "seed_of_file", "on_error", "quiet"
    )
)
@click.argument("name", metavar="FORMAT")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=PATH)
def convert(
    name: str,
    files: tuple[Path, ...],
    target: Path,
    as_: str,
    on_error: Any,
    quiet: bool,
    **more: Any,
) -> None:
    """Write other tools' FILEs as gold or predictions of Conflict Review, or as rows of the suite `table`.

    FORMAT: nikl, semeval14, semeval15, semeval16, aste, asqp, acos (aspect-based sentiment); inspect, lm-eval,
    promptfoo, deepeval, ragas, helm (scores of any benchmark).
    """
    from ..formats.convert import convert as write

    problems = Problems(on_error)
    n = write(name, files, target, problems, as_=as_, **more)
    for line, bad in problems.lines(len(files)) if problems.kept else ():
        if bad or not quiet:
            echo(line, err=True)
    if not quiet:
        echo(f"{n} rows -> {target}")


@main.command(cls=OfSomeSuite, costly=True, params=options("keep", "jobs", "metrics", "suite_file"))
@click.argument("manifest", type=PATH)
@click.pass_context
def rerun(
    ctx: click.Context,
    manifest: Path,
    out: Path | None,
    jobs: int,
    metrics: Path | None,
    **costly: Any,
) -> None:
    """Make the results of MANIFEST (a manifest.json) again.

    Status 4 where an input, the policy or a number is not the same, each of which is named. What would be sent or
    spent (a judge) is not taken from the manifest, but from options of the suite given here.
    """
    from .rerun import rerun_manifest
    from .workers import Workers

    given = {
        n: v
        for n, v in costly.items()
        if ctx.get_parameter_source(n) is ParameterSource.COMMANDLINE
    }
    found = rerun_manifest(manifest, out, Workers(jobs), metrics, **given)
    echo(str(found))
    sys.exit(0 if found.same else FAILED)


@main.command(params=options("lang"))
@click.argument("outputs", default="outputs", type=PATH)
def gallery(outputs: Path, lang: str) -> None:
    """(Re)build index.html, the page that finds, filters and compares all results under OUTPUTS."""
    from ..report.gallery import build

    speak(lang)
    echo(str(build(outputs)))


@main.command(params=options("folder", "port", "browser"))
@click.argument("more", metavar="[-- JUPYTERLAB OPTIONS]", nargs=-1)
def lab(folder: Path, port: int | None, browser: bool, more: tuple[str, ...]) -> None:
    """Open JupyterLab on a fresh copy of the notebooks, the examples at hand.

    A copy that was changed is never overwritten: the next one goes into DIR-2, DIR-3, ...
    """
    from .lab import open_lab

    open_lab(folder, port, browser, more)


@main.command(params=options("out", "lang", "quiet", "demo_jobs"))
def demo(out: Path, jobs: int, lang: str, quiet: bool) -> None:
    """All reports and the gallery on the bundled examples."""
    from .batch import Settings, run_demo

    sys.exit(run_demo(Settings(out=out, jobs=jobs, lang=lang, quiet=quiet)))


if __name__ == "__main__":
    main()
