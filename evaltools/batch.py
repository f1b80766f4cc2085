"""Many runs in one command: in parallel, each on its own, with progress and a summary at the end."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, ProcessPoolExecutor, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from .bootstrap import Resampling
from .errors import InputError, OnError, Problems, UsageError
from .execute import ReportFailed, ReportJob, is_current, run
from .suite import Result, evaluate, get_suite, resolve, safe_name
from .workers import Workers

HEADLINE_DIGITS = 4


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
    failed_reports: list[str] = field(default_factory=list)


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
    return safe_name(s.locate(resolve(path), name, s.options(**options), Problems()).name)


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
        try:
            name = run_name(suite, path, settings.name, options)
        except InputError as e:
            errors.append(e)
            continue
        if name in named:
            raise UsageError(f"{named[name]} and {path} would both be named {name!r}; give them names with --name")
        named[name] = path
    return named, errors


def score_one(suite: str, path: str, settings: Settings, options: dict[str, Any], jobs: int) -> Scored:
    result = evaluate(
        suite,
        path,
        name=settings.name,
        out=settings.out,
        resampling=settings.resampling,
        on_error=settings.on_error,
        workers=Workers(jobs),
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
        "versions": result.manifest["versions"],
    }


def _pool(kind: type[Executor], jobs: int, tasks: int) -> Executor | None:
    return kind(min(jobs, tasks)) if jobs > 1 and tasks > 1 else None  # type: ignore[call-arg]


def run_all(
    tasks: dict[str, Callable[[], Any]] | dict[str, tuple[Any, ...]],
    call: Callable[..., Any],
    kind: type[Executor],
    jobs: int,
    label: str,
    quiet: bool,
) -> Iterator[tuple[str, Any]]:
    """Yield (name, result or exception) as the tasks end; one failure does not stop the others."""
    from .progress import bar

    with bar(len(tasks), label, quiet) as step:
        pool = _pool(kind, jobs, len(tasks))
        if pool is None:
            for name, args in tasks.items():
                yield name, _caught(call, args)
                step(name)
            return
        with pool:
            pending = {pool.submit(call, *args): name for name, args in tasks.items()}  # type: ignore[misc]
            try:
                while pending:
                    ended, _ = wait(pending, return_when=FIRST_COMPLETED)
                    for future in ended:
                        name = pending.pop(future)
                        yield name, _caught(future.result, ())
                        step(name)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise


def _caught(call: Callable[..., Any], args: Any) -> Any:
    try:
        return call(*args)
    except (InputError, ReportFailed) as e:
        return e


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
        _bad_input(outcome, error.problems[0].file, error)
    inner = settings.jobs if len(named) == 1 else 1
    tasks = {name: (suite, path, settings, options, inner) for name, path in named.items()}
    scored: dict[str, Scored] = {}
    for name, got in run_all(tasks, score_one, ProcessPoolExecutor, settings.jobs, "scoring", settings.quiet):
        if isinstance(got, InputError):
            _bad_input(outcome, name, got)
        else:
            scored[name] = got
            outcome.done.append(name)
    return outcome, [scored[name] for name in named if name in scored]


def _bad_input(outcome: Outcome, name: str, error: InputError) -> None:
    outcome.bad_input.append(name)
    for problem in error.problems:
        print(problem, file=sys.stderr)


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
    from .study import save_systems

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
    for name, got in run_all(
        {name: (job,) for name, job in todo.items()},
        run,
        ThreadPoolExecutor,
        settings.jobs,
        "reports",
        settings.quiet,
    ):
        if isinstance(got, ReportFailed):
            outcome.failed_reports.append(name)
            print(f"error: {got}", file=sys.stderr)
    from .report.gallery import build

    build(settings.out)


def report_seeds(runs: Sequence[str], baseline: str | None, settings: Settings, options: dict[str, Any]) -> Outcome:
    """Aggregate the runs over seeds, compare the conditions, and make the cross-seed report."""
    from .study import study_job

    outcome = Outcome()
    try:
        job = study_job(runs, baseline, settings, options)
    except InputError as e:
        _bad_input(outcome, e.problems[0].file, e)
        _print_summary(outcome, settings)
        return outcome
    outcome.done.append(job.name)
    make_reports({job.name: job}, settings, outcome)
    _print_summary(outcome, settings)
    return outcome


def run_demo(out: Path, jobs: int, quiet: bool) -> Outcome:
    """The four reports on the bundled examples: one run, seeds and conditions, dialogue systems, summaries."""
    from .examples import DEMO
    from .study import study_job

    settings = Settings(out=out, jobs=jobs, quiet=quiet)
    outcome = Outcome()
    todo: dict[str, ReportJob] = {}
    for suite, runs in DEMO.items():
        if suite == "seeds":
            job = study_job(runs, None, settings, {})
            outcome.done.append(job.name)
            todo[job.name] = job
            continue
        found, scored, planned = plan_reports(suite, runs, settings, {})
        outcome.done += found.done
        outcome.bad_input += found.bad_input
        todo |= planned
        if not quiet:
            for one in scored:
                print_headline(one, out)
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
        from .summary.rules import check_rules

        for path in files:
            check_rules(path, problems)
        return problems
    s = get_suite(suite)
    opts = s.options(**{k: v for k, v in options.items() if k in s.options.model_fields})
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
        parts.append(f"{len(outcome.bad_input)} with bad input ({', '.join(outcome.bad_input)})")
    if outcome.failed_reports:
        parts.append(f"{len(outcome.failed_reports)} failed reports ({', '.join(outcome.failed_reports)})")
    failed = outcome.bad_input or outcome.failed_reports
    if failed or not settings.quiet:
        print(("\n" if not settings.quiet else "") + "; ".join(parts), file=sys.stderr if failed else sys.stdout)
