"""Many runs in one command: in parallel, each on its own, with progress and a summary at the end."""

from __future__ import annotations

import json
import re
import shutil
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd

from ..core.errors import InputError, OnError, Problems, UsageError, WorkFailed
from ..core.evaluate import make_options
from ..core.files import EXAMPLES, resolve
from ..core.manifest import Found
from ..core.names import condition_of, natural, safe_name
from ..core.progress import bar
from ..core.resampling import Resampling
from ..core.suite import Here, Suite, get_suite, load_suite_file, require_input
from ..report.run import Run, evaluate
from ..report.study import StudyView, study
from .execute import ReportJob, is_current, load_papermill, parameters_of, run
from .workers import Workers, cluster_size

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
    metrics: Path | None = None

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
            **({"metrics": str(self.metrics)} if self.metrics else {}),
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
    """What a worker sends back of one run: its name, the headline numbers, what the input held.

    `current` is what a report on it depends on, for `--resume`.
    """

    name: str
    path: str
    headline: pd.DataFrame
    problems: list[Found]
    current: dict[str, Any]
    signature: str


def plan(
    suite: Suite, runs: Sequence[str], settings: Settings, options: dict[str, Any]
) -> tuple[dict[str, str], list[InputError]]:
    """Run name -> path for the inputs that are there, and the errors of the others.

    Raises UsageError where two runs would write to the same place, or an option makes no sense.
    """
    if settings.name is not None and len(runs) > 1:
        raise UsageError("--name goes with one run only")
    named: dict[str, str] = {}
    errors: list[InputError] = []
    opts = make_options(suite, options)
    for path in runs:
        if re.search(r"[\x00-\x1f\x7f\ud800-\udfff]", path):
            raise UsageError(f"{path!a}: the path of an input must be text without control characters")
        place = resolve(path)
        require_input(suite, place)
        try:
            name = safe_name(suite.locate(place, settings.name, opts, Problems()).name)
        except InputError as e:
            errors.append(e)
            continue
        if name in named:
            raise UsageError(f"{named[name]} and {path} would both be named {name!r}; give them names with --name")
        named[name] = path
    return named, errors


def score_one(
    suite: str, file: Path | None, path: str, settings: Settings, options: dict[str, Any], workers: Workers
) -> Scored:
    """Score one run, perhaps in another process: the suite goes there by its name and file."""
    if file is not None:
        load_suite_file(file)
    result = evaluate(
        suite,
        path,
        name=settings.name,
        out=settings.out,
        resampling=settings.resampling,
        on_error=settings.on_error,
        workers=workers,
        fresh=not settings.resume,
        metrics=settings.metrics,
        **options,
    )
    lead = result.rows(*result.headline)
    return Scored(result.name, path, lead, result.manifest.problems, current(result), result.signature)


def current(result: Run) -> dict[str, Any]:
    """What a report on this result depends on, for `--resume`."""
    m = result.manifest
    return {
        "run": result.name,
        "signature": result.signature,
        "files": m.files,
        "inputs": [[i.role, i.sha256] for i in m.inputs],
        "versions": m.versions,
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


def score_runs(suite: Suite, runs: Sequence[str], settings: Settings, options: dict[str, Any]) -> Outcome:
    """Score every run; print a headline a run. Bad input of one run does not stop the others."""
    outcome, scored = _score(suite, runs, settings, options)
    if not settings.quiet:
        for s in scored:
            print_headline(s, settings.out)
    _print_summary(outcome, settings)
    return outcome


def _score(
    suite: Suite, runs: Sequence[str], settings: Settings, options: dict[str, Any]
) -> tuple[Outcome, list[Scored]]:
    options = _under_out(suite, settings.out, options)
    named, errors = plan(suite, runs, settings, options)
    outcome = Outcome()
    for error in errors:
        outcome.add_failure(error.problems[0].file, error)
    # one run: its shards are spread; several: the runs are, each in a process of its own
    single = len(named) == 1
    inner = settings.workers() if single else Workers(label="")
    tasks = {name: (suite.name, suite.file, path, settings, options, inner) for name, path in named.items()}
    remove_leftovers(settings.out)
    if single:
        scored = run_all(score_one, tasks, None, outcome)
    else:
        scored = run_all(score_one, tasks, settings.workers(), outcome, "" if settings.quiet else "scoring")
    ordered = [scored[name] for name in named if name in scored]
    outcome.done += [one.name for one in ordered]
    return outcome, ordered


def _under_out(suite: Suite, out: Path, options: dict[str, Any]) -> dict[str, Any]:
    """The options, with the folders that stand under `out` where none is given."""
    marks: dict[str, Any] = {n: f.json_schema_extra or {} for n, f in suite.options.model_fields.items()}
    folders = {n: str(out / mark["below_out"]) for n, mark in marks.items() if "below_out" in mark}
    return {**options, **{n: folder for n, folder in folders.items() if options.get(n) is None}}


def remove_leftovers(out: Path) -> None:
    """Remove what killed processes left half-written, once it is old enough to be nobody's."""
    for path in chain(out.glob(".*.part"), *((out / f).rglob(".*.part") for f in ("results", "reports"))):
        with suppress(FileNotFoundError):
            if time.time() - path.stat().st_mtime > LEFTOVER_SECONDS:
                shutil.rmtree(path) if path.is_dir() else path.unlink()


def report_runs(suite: Suite, runs: Sequence[str], settings: Settings, options: dict[str, Any]) -> Outcome:
    """Score every run, then make its report, or one report of all where the suite sees its runs together."""
    outcome, scored, jobs = plan_reports(suite, runs, settings, options)
    make_reports(jobs, settings, outcome)
    if not settings.quiet:
        for one in scored:
            print_headline(one, settings.out)
    _print_summary(outcome, settings)
    return outcome


def plan_reports(
    suite: Suite, runs: Sequence[str], settings: Settings, options: dict[str, Any]
) -> tuple[Outcome, list[Scored], dict[str, ReportJob]]:
    """Score the runs; what came of it, and the reports that are to be made of those that could be scored."""
    several = suite.together and len(runs) > 1
    outcome, scored = _score(suite, runs, replace(settings, name=None) if several else settings, options)
    if suite.together and scored:
        name = settings.name or scored[0].name
        if len(scored) > 1:
            name = _put_together([one.name for one in scored], settings, scored[0].name).name
        found = [_job(suite, suite.notebook, name, scored, settings, options, name=settings.name)]
    else:
        found = [_job(suite, suite.notebook, s.name, s, settings, options, name=settings.name) for s in scored]
    return outcome, scored, {job.name: job for job in found}


def _job(
    suite: Suite,
    notebook: str,
    called: str,
    scored: Scored | Sequence[Scored],
    settings: Settings,
    options: dict[str, Any],
    **more: Any,
) -> ReportJob:
    """The report on one scored run, or on several."""
    results = settings.out / "results"
    what: dict[str, Any]
    if isinstance(scored, Scored):
        what, made_from = {"run": scored.path, "scored": str(results / scored.name)}, scored.current
    else:
        what = {"runs": [s.path for s in scored], "scored": [str(results / s.name) for s in scored]}
        made_from = {"runs": [s.current for s in scored]}
    if notebook in (Suite.notebook, Suite.study_notebook):
        what |= {"suite": suite.name, "options": _plain(options)}
    parameters = {**what, **_plain(options), **settings.parameters(), **more}
    declared = parameters_of(notebook)
    return ReportJob(
        name=safe_name(called),
        notebook=notebook,
        title=f"{suite.title}: {called}",
        folder=settings.out / "reports" / called,
        parameters={k: v for k, v in parameters.items() if k in declared},
        current={**made_from, **more},
    )


def _put_together(names: Sequence[str], settings: Settings, baseline: str | None) -> StudyView:
    """The study of runs that are scored, its files written."""
    folders = [settings.out / "results" / name for name in names]
    return study(folders, baseline=baseline, name=settings.name, out=settings.out)


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
    if not settings.out.is_dir():
        return
    from ..report.gallery import build

    try:
        build(settings.out)
    except OSError as e:
        outcome.add_failure("index.html", e)


def report_seeds(
    suite: Suite, runs: Sequence[str], baseline: str | None, settings: Settings, options: dict[str, Any]
) -> Outcome:
    """Score the runs, aggregate them over seeds, compare the conditions, and make the cross-seed report."""
    of_run = replace(settings, name=None)
    for name in plan(suite, runs, of_run, options)[0]:
        condition_of(name)
    outcome, scored = _score(suite, runs, of_run, options)
    if len(scored) == len(runs):
        job = _study_job(suite, scored, baseline, settings, options, outcome)
        make_reports({job.name: job} if job else {}, settings, outcome)
    _print_summary(outcome, settings)
    return outcome


def _study_job(
    suite: Suite,
    scored: Sequence[Scored],
    baseline: str | None,
    settings: Settings,
    options: dict[str, Any],
    outcome: Outcome,
) -> ReportJob | None:
    """Put scored runs together, and the report on them; None where it cannot be."""
    ordered = sorted(scored, key=lambda s: natural(s.path))
    try:
        made = _put_together([s.name for s in ordered], settings, baseline)
    except (InputError, OSError) as e:
        outcome.add_failure(settings.name or "study", e)
        return None
    outcome.done.append(made.name)
    more = {"baseline": baseline, "name": settings.name}
    return _job(suite, suite.study_notebook, made.name, ordered, settings, options, **more)


def run_demo(out: Path, jobs: int, quiet: bool) -> Outcome:
    """The reports on the bundled examples that app/examples/demo.json lists."""
    settings = Settings(out=out, jobs=jobs, quiet=quiet)
    outcome = Outcome()
    todo: dict[str, ReportJob] = {}
    for entry in json.loads((EXAMPLES / "demo.json").read_text(encoding="utf-8")):
        suite, runs = get_suite(entry["suite"]), entry["runs"]
        if entry["seeds"]:
            found, scored = _score(suite, runs, settings, {})
            job = _study_job(suite, scored, None, settings, {}, found)
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


def check_input(suite: Suite, path: Path, options: dict[str, Any], problems: Problems) -> None:
    """Every problem of an input, found by the same readers that score it; nothing is written."""
    opts = make_options(suite, options)
    place = resolve(str(path))
    require_input(suite, place)
    suite.score(suite.locate(place, None, opts, problems), opts, problems, Here(), None)


def print_headline(scored: Scored, out: Path) -> None:
    """The headline numbers of one run, on standard output."""
    print(f"\n{scored.name}")
    for row in scored.headline.to_dict("records"):
        value = "N/A" if pd.isna(row["value"]) else f"{row['value']:.4f}"
        interval = "" if pd.isna(row["ci_low"]) else f" [{row['ci_low']:.3f}, {row['ci_high']:.3f}]"
        print(f"  {row['name']:<32} {value}{interval}  n={row['n_units']}")
    for p in scored.problems:
        print(f"  {p.severity}: {p.count} x {p.code}")
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
