"""Many runs in one command: in parallel, each on its own, with progress and a summary at the end."""

from __future__ import annotations

import re
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd

from ..core.errors import InputError, OnError, Problems, UsageError, WorkFailed
from ..core.evaluate import evaluate, make_options, resolve
from ..core.names import condition_of, natural, safe_name
from ..core.progress import bar
from ..core.suite import Result, get_suite
from ..stats.intervals import Resampling
from .execute import ReportJob, is_current, load_papermill, run
from .workers import Workers, cluster_size

HEADLINE_DIGITS = 4

LEFTOVER_SECONDS = 24 * 3600
"""A half-written file of this age belongs to a process that was killed."""


@dataclass(frozen=True)
class Settings:
    """The options that every batch command shares, named as on the command line."""

    out: Path = Path("outputs")
    jobs: int = 1
    name: str | None = None
    n_resamples: int = 10_000
    confidence: float = 0.95
    ci: Any = "bca"
    seed: int = 0
    on_error: OnError = "fail"
    resume: bool = True
    quiet: bool = False
    scheduler: str | None = None

    def workers(self) -> Workers:
        """Where the work is done."""
        jobs = self.jobs if self.scheduler is None else cluster_size(self.scheduler)
        return Workers(jobs, self.scheduler, "" if self.quiet else "scoring")

    @property
    def resampling(self) -> Resampling:
        return Resampling(self.ci, self.n_resamples, self.confidence, self.seed)

    def parameters(self) -> dict[str, Any]:
        """What a report notebook takes of these."""
        return {
            "out": str(self.out),
            "n_resamples": self.n_resamples,
            "confidence": self.confidence,
            "ci": self.ci,
            "seed": self.seed,
            "on_error": self.on_error,
        }


@dataclass
class Outcome:
    """What became of a batch."""

    done: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    bad_input: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def add_failure(self, name: str, error: BaseException) -> None:
        """Note what went wrong with one run or report, and say it. UsageError concerns all of them: it is raised."""
        if isinstance(error, UsageError):
            raise error
        if isinstance(error, InputError):
            self.bad_input.append(name)
            for problem in error.problems:
                print(problem, file=sys.stderr)
            return
        self.failed.append(name)
        if not isinstance(error, WorkFailed | OSError):
            traceback.print_exception(error)  # a defect of this package: its place is needed to mend it
        print(f"error: {name}: {error or type(error).__name__}", file=sys.stderr)


@dataclass(frozen=True)
class Scored:
    """What a worker sends back of one run: its name, the headline numbers, what the input held."""

    name: str
    path: str
    headline: pd.DataFrame
    problems: list[dict[str, Any]]
    current: dict[str, Any]
    signature: str


def run_name(suite: str, path: str, name: str | None, options: dict[str, Any]) -> str:
    """The name that a run will have; InputError where there is no such input."""
    s = get_suite(suite)
    return safe_name(s.locate(resolve(path), name, make_options(s, options), Problems()).name)


def plan(
    suite: str, runs: Sequence[str], settings: Settings, options: dict[str, Any]
) -> tuple[dict[str, str], list[InputError]]:
    """Run name -> path for the inputs that are there, and the errors of the others.

    Raises UsageError where two runs would write to the same place, or an option makes no sense.
    """
    if settings.name is not None and len(runs) > 1:
        raise UsageError("--name goes with one run only")
    named: dict[str, str] = {}
    errors: list[InputError] = []
    for path in runs:
        if re.search(r"[\x00-\x1f\x7f\ud800-\udfff]", path):
            raise UsageError(f"{path!a}: the path of an input must be text without control characters")
        try:
            name = run_name(suite, path, settings.name, options)
        except InputError as e:
            errors.append(e)
            continue
        if name in named:
            raise UsageError(f"{named[name]} and {path} would both be named {name!r}; give them names with --name")
        named[name] = path
    return named, errors


def score_one(suite: str, path: str, settings: Settings, options: dict[str, Any], workers: Workers) -> Scored:
    result = evaluate(
        suite,
        path,
        name=settings.name,
        out=settings.out,
        resampling=settings.resampling,
        on_error=settings.on_error,
        workers=workers,
        fresh=not settings.resume,
        **options,
    )
    return Scored(result.name, path, result.headline, result.manifest["problems"], current(result), result.signature)


def current(result: Result) -> dict[str, Any]:
    """What a report on this result depends on, for `--resume`."""
    return {
        "run": result.name,
        "signature": result.signature,
        "policy": result.policy,
        "inputs": [[i["role"], i["sha256"]] for i in result.manifest["inputs"]],
        "on_error": result.manifest["options"]["on_error"],
        "versions": result.manifest["versions"],
    }


def run_all(
    call: Callable[..., Any],
    tasks: dict[str, tuple[Any, ...]],
    workers: Workers | None,
    outcome: Outcome,
    label: str = "",
) -> dict[str, Any]:
    """The results of the calls that came to an end, by name; one failure does not stop the others.

    Without `workers` the calls are made in this process, and an exception of an unknown kind is raised.
    """
    found: dict[str, Any] = {}
    with bar(len(tasks), label, quiet=not label) as step:
        if workers is None:
            for name, task in tasks.items():
                try:
                    found[name] = call(*task)
                except (InputError, WorkFailed, OSError) as e:
                    outcome.add_failure(name, e)
                step(name)
            return found
        names = list(tasks)
        with closing(workers.ended(call, list(tasks.values()))) as futures:
            for place, future in futures:
                error = future.exception()
                if error is None:
                    found[names[place]] = future.result()
                else:
                    outcome.add_failure(names[place], error)
                step(names[place])
    return found


def score_runs(suite: str, runs: Sequence[str], settings: Settings, options: dict[str, Any]) -> Outcome:
    """Score every run; print a headline a run. Bad input of one run does not stop the others."""
    outcome, scored = _score(suite, runs, settings, options)
    if not settings.quiet:
        for s in scored:
            print_headline(s, settings.out)
    _print_summary(outcome, settings)
    return outcome


def _score(
    suite: str, runs: Sequence[str], settings: Settings, options: dict[str, Any]
) -> tuple[Outcome, list[Scored]]:
    named, errors = plan(suite, runs, settings, options)
    outcome = Outcome()
    for error in errors:
        outcome.add_failure(error.problems[0].file, error)
    # one run: its shards are spread; several: the runs are, each in a process of its own
    single = len(named) == 1
    inner = settings.workers() if single else Workers(label="")
    tasks = {name: (suite, path, settings, options, inner) for name, path in named.items()}
    remove_leftovers(settings.out)
    if single:
        scored = run_all(score_one, tasks, None, outcome)
    else:
        scored = run_all(score_one, tasks, settings.workers(), outcome, "" if settings.quiet else "scoring")
    ordered = [scored[name] for name in named if name in scored]
    outcome.done += [one.name for one in ordered]
    return outcome, ordered


def remove_leftovers(out: Path) -> None:
    """Remove files that killed processes left half-written, once they are old enough to be nobody's."""
    for path in chain(out.glob(".*.part"), *((out / f).rglob(".*.part") for f in ("results", "reports"))):
        with suppress(FileNotFoundError):
            if time.time() - path.stat().st_mtime > LEFTOVER_SECONDS:
                path.unlink()


def report_runs(suite: str, runs: Sequence[str], settings: Settings, options: dict[str, Any]) -> Outcome:
    """Score every run, then make its report (memfin: one report, which compares several traces as systems)."""
    outcome, scored, jobs = plan_reports(suite, runs, settings, options)
    make_reports(jobs, settings, outcome)
    if not settings.quiet:
        for one in scored:
            print_headline(one, settings.out)
    _print_summary(outcome, settings)
    return outcome


def plan_reports(
    suite: str, runs: Sequence[str], settings: Settings, options: dict[str, Any]
) -> tuple[Outcome, list[Scored], dict[str, ReportJob]]:
    """Score the runs; what came of it, and the reports that are to be made of those that could be scored."""
    together = suite == "memfin" and len(runs) > 1
    outcome, scored = _score(suite, runs, replace(settings, name=None) if together else settings, options)
    if not scored:
        return outcome, [], {}
    from ..studies.study import save_systems

    s = get_suite(suite)
    shared = {**_plain(options), **settings.parameters()}
    if suite == "memfin":
        names = [one.name for one in scored]
        name = save_systems(names, settings.out, settings.name).name if together else settings.name or names[0]
        parameters = {"traces": [one.path for one in scored], "name": settings.name, **shared}
        current = {"runs": [one.current for one in scored]}
        jobs = [ReportJob(safe_name(name), s.notebook, f"{s.title}: {name}", Path(), parameters, current)]
    else:
        jobs = [
            ReportJob(
                one.name,
                s.notebook,
                f"{s.title}: {one.name}",
                Path(),
                {"run": one.path, "name": settings.name, **shared},
                one.current,
            )
            for one in scored
        ]
    return outcome, scored, {j.name: replace(j, folder=settings.out / "reports" / j.name) for j in jobs}


def _plain(options: dict[str, Any]) -> dict[str, Any]:
    return {k: str(v) if isinstance(v, Path) else v for k, v in options.items()}


def make_reports(jobs: dict[str, ReportJob], settings: Settings, outcome: Outcome) -> None:
    """Make the reports that are not there yet, and rebuild the gallery."""
    todo = {name: job for name, job in jobs.items() if not (settings.resume and is_current(job))}
    outcome.skipped += [name for name in jobs if name not in todo]
    local = settings.scheduler is None and len(todo) <= 1
    tasks = {name: (job,) for name, job in todo.items()}
    if not local and settings.scheduler is None:
        load_papermill()  # once, before the processes fork
    run_all(run, tasks, None if local else settings.workers(), outcome, "" if settings.quiet else "reports")
    from ..report.gallery import build

    try:
        build(settings.out)
    except OSError as e:
        outcome.add_failure("index.html", e)


def study_job(runs: Sequence[str], baseline: str | None, settings: Any, options: dict[str, Any]) -> ReportJob:
    """Score and aggregate the runs, and the report that is to be made of them."""
    from ..studies.study import study_seeds

    study = study_seeds(
        runs,
        baseline=baseline,
        name=settings.name,
        out=settings.out,
        resampling=settings.resampling,
        on_error=settings.on_error,
        workers=settings.workers(),
        fresh=not settings.resume,
        **options,
    )
    ordered = sorted(map(str, runs), key=natural)
    return ReportJob(
        name=study.name,
        notebook="cr_seeds.ipynb",
        title=f"{study.suite.title}: {study.name}",
        folder=settings.out / "reports" / study.name,
        parameters={
            "runs": ordered,
            "baseline": baseline,
            "name": settings.name,
            **_plain(options),
            **settings.parameters(),
        },
        current={"baseline": study.baseline, "runs": [current(r) for r in study.results]},
    )


def report_seeds(runs: Sequence[str], baseline: str | None, settings: Settings, options: dict[str, Any]) -> Outcome:
    """Score the runs, aggregate them over seeds, compare the conditions, and make the cross-seed report."""

    settings_of_run = replace(settings, name=None)
    for name in plan("cr", runs, settings_of_run, options)[0]:
        condition_of(name)
    outcome, scored = _score("cr", runs, settings_of_run, options)
    if len(scored) == len(runs):
        job = _study(runs, baseline, settings, options, outcome)
        make_reports({job.name: job} if job else {}, settings, outcome)
    _print_summary(outcome, settings)
    return outcome


def _study(
    runs: Sequence[str], baseline: str | None, settings: Settings, options: dict[str, Any], outcome: Outcome
) -> ReportJob | None:
    """The cross-seed report of runs that have been scored; None where it cannot be."""

    try:
        job = study_job(runs, baseline, replace(settings, resume=True), options)
    except (InputError, OSError) as e:
        outcome.add_failure(settings.name or "study", e)
        return None
    outcome.done.append(job.name)
    return job


def run_demo(out: Path, jobs: int, quiet: bool) -> Outcome:
    """The four reports on the bundled examples: one run, seeds and conditions, dialogue systems, summaries."""
    from .examples import DEMO

    settings = Settings(out=out, jobs=jobs, quiet=quiet)
    outcome = Outcome()
    todo: dict[str, ReportJob] = {}
    for suite, runs in DEMO.items():
        if suite == "seeds":
            found, _ = _score("cr", runs, settings, {})
            job = _study(runs, None, settings, {}, found)
            planned = {job.name: job} if job else {}
        else:
            found, scored, planned = plan_reports(suite, runs, settings, {})
            if not quiet:
                for one in scored:
                    print_headline(one, out)
        outcome.done += [name for name in found.done if name not in outcome.done]
        outcome.bad_input += found.bad_input
        outcome.failed += found.failed
        todo |= planned
    make_reports(todo, settings, outcome)
    _print_summary(outcome, settings)
    if not quiet:
        for name in todo:
            print(f"  report  {out / 'reports' / name / 'metric_report.html'}")
        print(f"  gallery {out / 'index.html'}")
    return outcome


def check_files(suite: str, files: Iterable[Path], options: dict[str, Any]) -> Problems:
    """Every problem of the inputs, found by the same readers that score them; nothing is written."""
    problems = Problems("skip")
    if suite == "rules":
        from ..summary.rules import check_rules

        for path in files:
            check_rules(path, problems)
        return problems
    s = get_suite(suite)
    opts = make_options(s, {k: v for k, v in options.items() if k in s.options.model_fields})
    for path in files:
        found = Problems("skip")
        with suppress(InputError):  # a fatal problem is in `found` like every other
            s.score(s.locate(resolve(str(path)), None, opts, found), opts, found, Workers())
        problems.merge(found)
    return problems


def print_headline(scored: Scored, out: Path) -> None:
    """The headline numbers of one run, on standard output."""
    print(f"\n{scored.name}")
    for row in scored.headline.to_dict("records"):
        value = "N/A" if pd.isna(row["value"]) else f"{row['value']:.{HEADLINE_DIGITS}f}"
        interval = "" if pd.isna(row["ci_low"]) else f" [{row['ci_low']:.3f}, {row['ci_high']:.3f}]"
        print(f"  {row['name']:<32} {value}{interval}  n={row['n_units']}")
    for p in scored.problems:
        print(f"  {p['severity']}: {p['count']} x {p['code']}")
    print(f"  {scored.signature}")
    print(f"  -> {out / 'results' / scored.name}")


def _print_summary(outcome: Outcome, settings: Settings) -> None:
    parts = [f"{len(outcome.done)} done"]
    if outcome.skipped:
        parts.append(f"{len(outcome.skipped)} reports already current")
    if outcome.bad_input:
        parts.append(f"{len(outcome.bad_input)} with bad input ({', '.join(sorted(outcome.bad_input))})")
    if outcome.failed:
        parts.append(f"{len(outcome.failed)} failed ({', '.join(sorted(outcome.failed))})")
    failed = outcome.bad_input or outcome.failed
    if failed or not settings.quiet:
        print(("\n" if not settings.quiet else "") + "; ".join(parts), file=sys.stderr if failed else sys.stdout)
