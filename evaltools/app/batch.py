"""Many runs in one command: each scored and reported on its own, in parallel, with a summary at the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

from pydantic_core import to_jsonable_python

from ..core import plugins
from ..core.errors import (
    BAD_INPUT,
    FAILED,
    WRONG_USAGE,
    InputError,
    OnError,
    Problems,
    UsageError,
    tell,
)
from ..core.files import resolve
from ..core.folders import remove_leftovers, require_out
from ..core.language import language, say, speak, speaking
from ..core.names import condition_of, find_runs, natural, safe_name
from ..core.results import manifest_of_run, result_hash
from ..core.scoring import locate, make_options, run_names
from ..core.terminal import bar, echo, paragraph
from ..core.workers import Workers
from ..report.evaluate import evaluate, load
from ..report.gallery import build, replaceable
from ..report.make_study import study
from ..report.notebook import HTML, ReportJob, is_current, parameters_of, prepare
from ..report.notebook import run as make_report
from ..report.study import Study
from ..report.study_sentences import outcomes
from .options import suite_languages
from .show import show_run


@dataclass
class Batch:
    """The settings of one command, the reports that are to be made, and what became of its runs and reports.

    `settings`: those of `evaluate`, and the options of the suite. `lost`: the name of a run or report -> the exit
    status that says why it could not be made.
    """

    suite: Any
    out: Path = Path("outputs")
    name: str | None = None
    jobs: int = 1
    scheduler: str | None = None
    fresh: bool = False
    quiet: bool = False
    verbose: bool = False
    paper: bool = False
    on_error: OnError = "fail"
    settings: dict[str, Any] = field(default_factory=dict)
    reports: dict[str, ReportJob] = field(default_factory=dict)
    done: list[str] = field(default_factory=list)
    lost: dict[str, int] = field(default_factory=dict)

    @property
    def options(self) -> dict[str, Any]:
        """The options of the suite."""
        names = self.suite.options.model_fields
        return {name: self.settings[name] for name in names if name in self.settings}

    @property
    def workers(self) -> Workers:
        """Where the work is done."""
        return Workers(self.jobs, self.scheduler, label="" if self.quiet else "scoring")

    @property
    def status(self) -> int:
        """Exit status: bad input before failed work before wrong usage."""
        worst_first = (BAD_INPUT, FAILED, WRONG_USAGE)
        return next((status for status in worst_first if status in self.lost.values()), 0)


class Input(NamedTuple):
    """One run of a command.

    `path`: as it was typed. `folder`: where its result is to stand, or stands where it `is_scored`. `located_as`: the
    name that `Suite.locate` gets, None where the path names the run.
    """

    name: str
    path: str
    folder: Path
    located_as: str | None = None
    is_scored: bool = False


def make_batch(suite: Any, **options: Any) -> Batch:
    """The batch of a suite with the options of a command line."""
    own = {entry.name for entry in fields(Batch)} & options.keys()
    settings = {name: value for name, value in options.items() if name not in own}
    return Batch(suite, settings=settings, **{name: options[name] for name in own})


# --- what the commands ask for


def score(batch: Batch, paths: Sequence[str]) -> None:
    """Score every run; bad input of one does not stop the others."""
    _show(batch, _score(batch, _find(batch, paths, batch.name)))


def report(batch: Batch, paths: Sequence[str]) -> None:
    """Score every run, and plan its report, or one report of all where the suite sees its runs together."""
    suite = batch.suite
    is_study = suite.together and len(paths) > 1  # --name names the report then
    found = _find(batch, paths, None if is_study else batch.name, stored=suite.together)
    runs = _score(batch, found)
    if len(runs) > 1 and suite.together:
        _report_study(batch, suite.notebook, runs, baseline=runs[0].name)
        return
    if len(runs) > 1 and suite.runs is not None:
        _report_study(batch, suite.study_notebook, runs, primary=batch.options.get("primary"))
        return
    _show(batch, runs)
    for one in runs:
        title = batch.name if batch.name and len(runs) == 1 else one.name
        inputs: dict[str, Any] = {"run": one.path, "scored": str(one.folder)}
        if suite.together:
            inputs = {"runs": [one.path], "scored": [str(one.folder)]}
        _plan_report(
            batch, suite.notebook, title, [one], inputs, one.folder if batch.paper else None
        )


def report_seeds(
    batch: Batch,
    runs: Sequence[str],
    **declared: Any,
) -> None:
    """Score the runs, aggregate them over seeds, compare the conditions, and plan the cross-seed report.

    `declared`: baseline, primary and margin as `study` takes them.
    """
    paths = [str(path) for text in runs for path in find_runs(text)]
    found = _find(batch, paths, stored=True)
    for one in found:
        condition_of(one.name)  # says what is wrong with a name that tells no seed
    scored = _score(batch, found)
    if not batch.lost:
        scored.sort(key=lambda one: natural(one.path))
        _report_study(batch, batch.suite.study_notebook, scored, **declared)


def end(batch: Batch) -> int:
    """Make the planned reports that are not there yet, rebuild the gallery, say what became of it all."""
    reports = batch.reports
    todo = {title: (job,) for title, job in reports.items() if batch.fresh or not is_current(job)}
    if reports:
        if batch.scheduler is None and len(todo) > 1:
            prepare()  # once, before the processes fork
        run_all(batch, make_report, todo, batch.workers, "reports")
        build(batch.out)
    counts = [f"{len(batch.done)} done"]
    if len(todo) < len(reports):
        counts.append(f"{len(reports) - len(todo)} reports already current")
    for is_input, what in ((True, "with bad input"), (False, "failed")):
        names = sorted(n for n, of in batch.lost.items() if (of == BAD_INPUT) == is_input)
        if names:
            counts.append(f"{len(names)} {what} ({', '.join(names)})")
    if not batch.quiet:
        echo()
        for title, job in reports.items():
            if title not in batch.lost:
                echo(f"report  {job.folder / HTML}")
        if reports:
            echo(f"gallery {batch.out / 'index.html'}")
    if batch.status or not batch.quiet:
        echo("; ".join(counts), err=bool(batch.status))
    return batch.status


def run_all(
    batch: Batch,
    call: Callable[..., Any],
    tasks: Mapping[str, tuple[Any, ...]],
    workers: Workers,
    label: str = "",
) -> list[str]:
    """The names of the calls that came to an end; one failure, which is printed, does not stop the others."""
    ended = []
    names = list(tasks)
    with (
        bar(len(tasks), label, batch.quiet) as step,
        closing(workers.ended(call, list(tasks.values()))) as futures,
    ):
        for index, future in futures:
            name, error = names[index], future.exception()
            if isinstance(error, UsageError) and len(tasks) == 1:
                raise error
            if error is None:
                ended.append(name)
            else:
                batch.lost[name] = tell(error, name)
            step(name)
    return ended


# --- finding and scoring runs


def _find(
    batch: Batch,
    paths: Sequence[str],
    name: str | None = None,
    stored: bool = False,
) -> list[Input]:
    """The runs at these paths; those that cannot be read are lost.

    `name`: of a single run, instead of its folder's or file's. With `stored` a results folder is a run too.
    UsageError where two runs would write to the same place, and where an option makes no sense.
    """
    suite = batch.suite
    languages = suite_languages(suite)
    if language() not in languages:
        raise UsageError(f"--lang: pages of {suite.name} speak {', '.join(languages)}")
    require_out(batch.out)
    replaceable(batch.out)
    if name is not None and len(paths) > 1:
        raise UsageError("--name goes with one run only")
    by_name: dict[str, Input] = {}
    for path in paths:
        try:
            runs = (stored and _stored_at(batch, path)) or _runs_at(batch, path, name)
        except InputError as e:
            batch.lost[path] = tell(e)
            continue
        for one in runs:
            # on some file systems capitals are not told from small letters
            other = by_name.setdefault(one.name.casefold(), one)
            if other is not one:
                raise UsageError(
                    f"{other.path} and {one.path} would both be named {one.name!r}; "
                    "give them names with --name"
                )
    for option in suite.options.single_run if len(by_name) > 1 else ():
        if batch.options.get(option) is not None:
            raise UsageError(f"--{option} goes with one run only")
    return list(by_name.values())


def _stored_at(batch: Batch, path: str) -> list[Input]:
    """The run whose result stands at a path; UsageError where it is one of another suite."""
    folder = resolve(path)
    result = manifest_of_run(folder)
    if result is None:
        return []
    if result.suite != batch.suite.name:
        raise UsageError(f"{path} holds a result of {result.suite}, not of {batch.suite.name}")
    return [Input(safe_name(result.run), path, folder, is_scored=True)]


def _runs_at(
    batch: Batch,
    path: str,
    name: str | None,
) -> list[Input]:
    """The runs of the input at a path, each with the folder that it may write to."""
    runs = []
    problems = Problems(batch.on_error)  # noted again when a run is scored
    options = make_options(batch.suite, batch.options)
    for located_as in [name] if name else run_names(batch.suite, path, problems):
        source = locate(batch.suite, path, located_as, options, problems)
        runs.append(Input(source.name, path, batch.out / "results" / source.name, located_as))
    return runs


def _score(batch: Batch, runs: Sequence[Input]) -> list[Input]:
    """Those of the runs that could be scored."""
    remove_leftovers(batch.out)
    suite = batch.suite
    settings = {
        **batch.settings,
        "on_error": batch.on_error,
        "out": batch.out,
        "fresh": batch.fresh,
    }
    workers = batch.workers
    if len(runs) == 1:  # its shards are spread over the processes, else the runs are
        settings["workers"] = workers
        workers = Workers()
    file = suite.file if suite.name in plugins.FROM_FILES else None
    tasks = {one.name: (one, suite.name, file, language(), settings) for one in runs}
    ended = run_all(batch, _score_run, tasks, workers, "scoring" if len(runs) > 1 else "")
    batch.done += [name for name in ended if name not in batch.done]
    return [one for one in runs if one.name in ended]


def _score_run(
    run: Input,
    suite: str,
    suite_file: Path | None,
    lang: str,
    settings: Mapping[str, Any],
) -> None:
    """Score one run, perhaps in another process: the suite goes there by its name and file."""
    speak(lang)
    if suite_file is not None:
        plugins.load_suite_file(suite_file)
    if not run.is_scored:
        evaluate(suite, run.path, name=run.located_as, **settings)


def _show(batch: Batch, runs: Sequence[Input]) -> None:
    if not batch.quiet:
        with speaking("en"):
            for one in runs:
                show_run(load(one.folder), batch.verbose)
                echo(f"-> {one.folder}")


# --- reports


def _report_study(
    batch: Batch,
    notebook: str | Path,
    runs: Sequence[Input],
    **declared: Any,
) -> None:
    """Write the files of the study of runs that are scored, and plan its report."""
    folders = [str(one.folder) for one in runs]
    result = study(folders, name=batch.name, out=batch.out, **declared)
    batch.done.append(result.name)
    if not batch.quiet:
        echo(f"\n{result.name}")
        with speaking("en"):
            for sentence in outcomes(result):
                paragraph(sentence)
    inputs = {
        "runs": list(dict.fromkeys(one.path for one in runs)),
        "scored": folders,
        "baseline": result.baseline,
        "primary": result.declared,
        "margin": dict(result.margin),
    }
    _plan_report(batch, notebook, result.name, runs, inputs, result)


def _plan_report(
    batch: Batch,
    notebook: str | Path,
    title: str,
    runs: Sequence[Input],
    inputs: Mapping[str, Any],
    paper: Study | Path | None,
) -> None:
    """Plan the report of runs that are scored; `inputs`: the parameters of the notebook that name them."""
    suite = batch.suite
    values = {
        **batch.settings,
        "on_error": batch.on_error,
        "suite": str(suite.file) if suite.name in plugins.FROM_FILES else suite.name,
        "options": {n: value for n, value in batch.options.items() if n not in inputs},
        "out": batch.out,
        "name": batch.name,
        "lang": language(),
        **inputs,
    }
    parameters = {name: values[name] for name in parameters_of(notebook) if name in values}
    batch.reports[title] = ReportJob(
        name=safe_name(title),
        notebook=notebook,
        title=f"{say(suite.title)}: {title}",
        folder=batch.out / "reports" / title,
        parameters=to_jsonable_python(parameters),
        results={str(one.folder): result_hash(one.folder) for one in runs},
        paper=paper,
    )
