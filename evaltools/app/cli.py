"""The command line.

Exit status: 0 done; 1 gate not met, or a rerun gives other numbers; 2 wrong usage; 3 bad input; 4 a report failed,
or a run could not be worked on for a reason outside of its input (full disk, killed process); 130 interrupted.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from .. import __version__
from ..core.errors import InputError, UsageError, WorkFailed

# work is spread by --jobs: threads of the linear algebra library would only get in each other's way
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

GATE_NOT_MET, WRONG_USAGE, BAD_INPUT, FAILED, INTERRUPTED = 1, 2, 3, 4, 130

F = TypeVar("F", bound=Callable[..., Any])

_RESAMPLING = (
    click.option(
        "--n-resamples", default=10_000, show_default=True, type=click.IntRange(100), help="Bootstrap resamples."
    ),
    click.option("--confidence", default=0.95, show_default=True, type=click.FloatRange(0, 1, True, True)),
    click.option("--ci", default="bca", show_default=True, type=click.Choice(["bca", "percentile"])),
    click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Seed of the resampling."),
)
_COMMON = (
    click.option("-o", "--out", default="outputs", show_default=True, type=click.Path(path_type=Path)),
    click.option("-j", "--jobs", default=1, show_default=True, type=click.IntRange(1), help="Processes at once."),
    click.option("--name", help="Name of the run instead of its folder's (one run only)."),
    *_RESAMPLING,
    click.option(
        "--on-error",
        default="fail",
        show_default=True,
        type=click.Choice(["fail", "skip"]),
        help="A record that cannot be used: fail, or leave it out, count it and report it.",
    ),
    click.option("--resume/--fresh", default=True, show_default=True, help="Keep what is complete and current."),
    click.option("--scheduler", metavar="ADDRESS", help="Work on the dask cluster at tcp://HOST:PORT (extra dask)."),
    click.option("-q", "--quiet", is_flag=True, help="Print errors only."),
)
_CR = (
    click.option("--protocol", default="cr_v2", show_default=True, type=click.Choice(["cr_v2", "cr_v1"])),
    click.option("--match", default="spec", show_default=True, type=click.Choice(["spec", "reference"])),
    click.option("--gold", type=click.Path(path_type=Path), help="Gold file that replaces the run's own gold."),
)
_MEMFIN = (
    click.option("--ignore-memory-keys", is_flag=True, help="Score a system without memory: M1 is not measured."),
    click.option("--lexicon", help="Word lists to use instead of the bundled ones (JSON)."),
)
_SUMMARY = (
    click.option("--rules", default="ko-insurance", show_default=True, help="ko-insurance, seed, or a rule file."),
    click.option("--judge", default="off", show_default=True, type=click.Choice(["off", "hybrid"])),
    click.option("--judge-model", default="", help="Model of the judge."),
    click.option("--judge-base-url", help="An OpenAI-compatible endpoint."),
    click.option("--judge-mode", default="override", show_default=True, type=click.Choice(["override", "blend"])),
    click.option("--judge-confidence", default=0.8, show_default=True, type=click.FloatRange(0, 1)),
    click.option("--judge-max-calls", type=click.IntRange(0), help="Questions sent to the judge at the most."),
    click.option("--judge-cache", help="Folder of the judge's replies (default: OUT/judge-cache)."),
)
_OPTIONS_OF = {"cr": _CR, "memfin": _MEMFIN, "summary": _SUMMARY}
_WHAT = {"cr": "RUN", "memfin": "TRACE", "summary": "CASES"}


def _with(*options: Callable[[F], F]) -> Callable[[F], F]:
    def add(f: F) -> F:
        for option in reversed(options):
            f = option(f)
        return f

    return add


def _split_options(suite: str, given: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """(suite options, the rest) of a command's parameters."""
    from ..core.suite import get_suite

    names = set(get_suite(suite).options.model_fields)
    if given.get("judge") == "hybrid" and given.get("judge_cache") is None:
        given = {**given, "judge_cache": str(given["out"] / "judge-cache")}
    return {k: v for k, v in given.items() if k in names}, {k: v for k, v in given.items() if k not in names}


class _Group(click.Group):
    """Turns the package's own exceptions into messages and exit statuses."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except InputError as e:
            for problem in e.problems:
                click.echo(str(problem), err=True)
            ctx.exit(BAD_INPUT)
        except UsageError as e:
            click.echo(f"error: {e}", err=True)
            ctx.exit(WRONG_USAGE)
        except (WorkFailed, OSError) as e:
            if getattr(e, "errno", None) == errno.EPIPE:
                raise  # whoever read the output has seen enough
            click.echo(f"error: {e}", err=True)
            ctx.exit(FAILED)
        except KeyboardInterrupt:
            click.echo("interrupted: what is finished is kept, the same command goes on from there", err=True)
            ctx.exit(INTERRUPTED)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="evaltools")
def main() -> None:
    """Evaluation metrics with confidence intervals, and reproducible reports."""


@main.group()
def score() -> None:
    """Numbers only, no notebook: results/<run>/."""


@main.group()
def report() -> None:
    """Numbers, notebook and HTML: results/<run>/ and reports/<run>/."""


def _add_suite_commands(suite: str) -> None:
    what = _WHAT[suite]

    @score.command(suite, help=f"Score each {what}.")
    @click.argument("runs", metavar=f"{what}...", nargs=-1, required=True)
    @_with(*_OPTIONS_OF[suite], *_COMMON)
    def score_suite(runs: tuple[str, ...], **given: Any) -> None:
        from .batch import Settings, score_runs

        options, rest = _split_options(suite, given)
        sys.exit(_status(score_runs(suite, runs, Settings(**rest), options)))

    @report.command(suite, help=f"Score and report each {what}.")
    @click.argument("runs", metavar=f"{what}...", nargs=-1, required=True)
    @_with(*_OPTIONS_OF[suite], *_COMMON)
    def report_suite(runs: tuple[str, ...], **given: Any) -> None:
        from .batch import Settings, report_runs

        options, rest = _split_options(suite, given)
        sys.exit(_status(report_runs(suite, runs, Settings(**rest), options)))


for _suite in _OPTIONS_OF:
    _add_suite_commands(_suite)


def _status(outcome: Any) -> int:
    """Exit status of a batch: bad input before failed reports."""
    return BAD_INPUT if outcome.bad_input else FAILED if outcome.failed else 0


@report.command("seeds")
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@click.option("--baseline", help="run_id of the condition that the others are compared with (default: the first).")
@_with(*_CR, *_COMMON)
def report_seeds(runs: tuple[str, ...], baseline: str | None, **given: Any) -> None:
    """Aggregate runs named <run_id>__seed<N>_<mode> over seeds, and compare the run_ids."""
    from .batch import Settings, report_seeds

    options, rest = _split_options("cr", given)
    sys.exit(_status(report_seeds(runs, baseline, Settings(**rest), options)))


@main.command()
@click.argument("outputs", type=click.Path(path_type=Path))
@click.option("--gold", required=True, type=click.Path(path_type=Path))
@click.option(
    "-o", "--out", "target", required=True, type=click.Path(path_type=Path), help="The scorecards file to write."
)
@click.option("--on-error", default="fail", type=click.Choice(["fail", "skip"]), show_default=True)
@click.option("-q", "--quiet", is_flag=True)
def scorecards(outputs: Path, gold: Path, target: Path, on_error: Any, quiet: bool) -> None:
    """Write the scorecards of a file of runner outputs (or of a run folder)."""
    from ..core.errors import Problems
    from ..cr.scorecard import write_scorecards

    problems = Problems(on_error)
    n = write_scorecards(outputs, gold, target, problems)
    _print_problems(problems, quiet)
    if not quiet:
        click.echo(f"{n} scorecards -> {target}")


def _print_problems(problems: Any, quiet: bool) -> None:
    for problem in problems.kept:
        if problem.severity == "error" or not quiet:
            click.echo(str(problem), err=True)


@main.command()
@click.argument("suite", type=click.Choice(["cr", "memfin", "summary", "rules"]))
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--gold", type=click.Path(path_type=Path), help="cr: gold file.")
@click.option("--lexicon", help="memfin: word lists.")
@click.option("--rules", help="summary: rule file.")
def check(suite: str, files: Sequence[Path], **given: Any) -> None:
    """Validate inputs: list every problem, write nothing."""
    from .batch import check_files

    problems = check_files(suite, files, {k: v for k, v in given.items() if v is not None})
    for problem in problems.kept:
        click.echo(str(problem), err=problem.severity == "error")
    for (severity, code), count in sorted(problems.counts.items()):
        shown = sum((p.severity, p.code) == (severity, code) for p in problems.kept)
        if count > shown:
            click.echo(f"{severity}: {count - shown} more [{code}]")
    click.echo(f"{problems.count('error')} errors, {problems.count('warning')} warnings in {len(files)} input(s)")
    sys.exit(BAD_INPUT if problems.count("error") else 0)


@main.command()
@click.argument("baseline", metavar="A")
@click.argument("candidate", metavar="B")
@click.option("--suite", type=click.Choice(list(_OPTIONS_OF)), help="Default: found out from the files.")
@click.option("--all", "everything", is_flag=True, help="Every metric, not only the headline.")
@click.option("--csv", "csv_file", type=click.Path(path_type=Path), help="Write the whole comparison there as well.")
@click.option("-j", "--jobs", default=1, show_default=True, type=click.IntRange(1))
@click.option("--on-error", default="fail", show_default=True, type=click.Choice(["fail", "skip"]))
@_with(*_RESAMPLING, *_CR[:2])
def compare(baseline: str, candidate: str, **given: Any) -> None:
    """Paired comparison of two runs, or of two sets of seeds.

    A and B are a run, a results folder, a run_id (the common prefix of the folders <run_id>__seed<N>_<mode>),
    or several runs joined by commas.
    """
    from .compare import compare_command

    click.echo(compare_command(baseline, candidate, **given))


@main.command()
@click.argument("metrics", type=click.Path(path_type=Path))
@click.option("--min", "minima", multiple=True, metavar="NAME=X", help="The metric must be at least X.")
@click.option("--max", "maxima", multiple=True, metavar="NAME=X", help="The metric must be at most X.")
@click.option("--use", default="value", show_default=True, type=click.Choice(["ci_low", "value", "ci_high"]))
def gate(metrics: Path, minima: tuple[str, ...], maxima: tuple[str, ...], use: str) -> None:
    """Fail (status 1) unless every bound on METRICS.json holds. Not measured does not pass."""
    from .gate import check_gate, parse_bound

    bounds = [parse_bound(text, "min") for text in minima] + [parse_bound(text, "max") for text in maxima]
    if not bounds:
        raise click.UsageError("give at least one --min NAME=X or --max NAME=X")
    rows = check_gate(metrics, bounds, use)
    for row in rows:
        click.echo(str(row))
    sys.exit(0 if all(row.met for row in rows) else GATE_NOT_MET)


@main.command()
@click.argument("manifest", type=click.Path(path_type=Path))
@click.option("-o", "--out", type=click.Path(path_type=Path), help="Keep the new results there (default: nowhere).")
@click.option("-j", "--jobs", default=1, show_default=True, type=click.IntRange(1))
def rerun(manifest: Path, out: Path | None, jobs: int) -> None:
    """Make the results of MANIFEST (a manifest.json) again.

    Status 1 where an input, the policy or a number is not the same, each of which is named.
    """
    from .rerun import rerun_manifest
    from .workers import Workers

    found = rerun_manifest(manifest, out, Workers(jobs))
    click.echo(str(found))
    sys.exit(0 if found.same else GATE_NOT_MET)


@main.command()
@click.argument("outputs", default="outputs", type=click.Path(path_type=Path))
def gallery(outputs: Path) -> None:
    """(Re)build index.html, the page that finds, filters and compares all results under OUTPUTS."""
    from ..report.gallery import build

    click.echo(str(build(outputs)))


@main.command()
@click.option("--dir", "folder", default="evaltools-lab", show_default=True, type=click.Path(path_type=Path))
@click.option("--port", type=click.IntRange(1, 65535), help="Port of JupyterLab (default: the first free from 8888).")
@click.option("--browser/--no-browser", default=True, help="Open a browser, or only print the address.")
@click.argument("more", metavar="[-- JUPYTERLAB OPTIONS]", nargs=-1)
def lab(folder: Path, port: int | None, browser: bool, more: tuple[str, ...]) -> None:
    """Open JupyterLab on a fresh copy of the notebooks, the examples at hand.

    A copy that was changed is never overwritten: the next one goes into DIR-2, DIR-3, ...
    """
    from .lab import open_lab

    open_lab(folder, port, browser, more)


@main.command()
@click.option("-o", "--out", default="outputs", show_default=True, type=click.Path(path_type=Path))
@click.option("-j", "--jobs", default=2, show_default=True, type=click.IntRange(1))
@click.option("-q", "--quiet", is_flag=True)
def demo(out: Path, jobs: int, quiet: bool) -> None:
    """All reports and the gallery on the bundled examples."""
    from .batch import run_demo

    sys.exit(_status(run_demo(out, jobs, quiet)))


if __name__ == "__main__":
    main()
