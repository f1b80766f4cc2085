"""Many runs in one command: each scored and reported on its own, in parallel, with a summary at the end."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from pydantic_core import to_jsonable_python

from ..core.files import RUN_NAME, Fields, condition_of, find_runs, first_names, resolve, safe_name
from ..core.messages import (
    InputError,
    Problems,
    UsageError,
    bar,
    echo,
    language,
    say,
    speak,
    tell,
)
from ..core.results import locate, result_hash, run_folders, run_names
from ..core.suite import FROM_FILES, Suite
from ..core.workers import Workers
from ..report.evaluate import evaluate, load, study
from ..report.notebook import (
    HTML,
    ReportJob,
    build,
    is_current,
    parameters_of,
    prepare,
    replaceable,
)
from ..report.notebook import run as make_report
from ..report.study import Study
from ..report.study_sentences import whole_sentence
from .options import suite_languages
from .show import show_result


@dataclass
class Batch:
    """The suite and the options of a command, the reports to be made, and what became of its runs and reports.

    `lost`: the name of a run or report -> the exit status that says why it could not be made.
    """

    suite: Suite
    options: Fields
    reports: dict[str, ReportJob] = field(default_factory=dict)
    done: set[str] = field(default_factory=set)
    lost: dict[str, int] = field(default_factory=dict)

    @property
    def suite_name(self) -> str:
        """What other processes know the suite by: its name, or the file that it came from."""
        suite = self.suite
        return str(suite.file) if suite.name in FROM_FILES else suite.name

    @property
    def suite_options(self) -> Fields:
        """The options of the suite."""
        return {
            name: self.options[name]
            for name in self.suite.options.model_fields
            if name in self.options
        }

    def workers(self, label: str) -> Workers:
        """Where work is done, and what the progress bar calls it."""
        return Workers(
            self.options["jobs"],
            self.options["scheduler"],
            "" if self.options["quiet"] else label,
        )


class Input(NamedTuple):
    """One run of a command.

    `path`: as it was typed. `folder`: where its result stands, or is to stand. `located_as`: the name that
    `Suite.locate` gets, None where the path names the run.
    """

    name: str
    path: str
    folder: Path
    located_as: str | None = None
    is_scored: bool = False


def score(batch: Batch, paths: Sequence[str]) -> None:
    """Score every run; bad input of one does not stop the others."""
    _show(batch, _score(batch, _find(batch, paths, batch.options["name"])))


def report(batch: Batch, paths: Sequence[str]) -> None:
    """Score every run, and plan its report, or one report of all where the suite sees its runs together."""
    suite, name = batch.suite, batch.options["name"]
    is_study = suite.together and len(paths) > 1  # --name names the report then
    runs = _score(
        batch,
        _find(
            batch,
            paths,
            None if is_study else name,
            suite.together,
        ),
    )
    if len(runs) > 1 and (is_study or suite.runs):
        _report_study(batch, suite.notebook if is_study else suite.study_notebook, runs)
        return
    _show(batch, runs)
    for one in runs:
        paper = study([one.folder], name=one.name) if batch.options["paper"] else None
        _plan_report(
            batch,
            suite.notebook,
            one.name,
            [one],
            paper,
        )


def report_seeds(
    batch: Batch,
    runs: Sequence[str],
    **declared: Any,
) -> None:
    """Score the runs, aggregate them over seeds, compare the conditions, and plan the cross-seed report.

    `declared`: baseline, primary and margin as `study` takes them.
    """
    found = _find(batch, [str(path) for text in runs for path in find_runs(text)], stored=True)
    names = [one.name for one in found]
    # a file of several runs may tell their conditions alone
    if not batch.suite.runs or any(map(RUN_NAME.match, names)):
        for name in names:
            condition_of(name)  # says what is wrong with a name that tells no seed
    _report_study(
        batch,
        batch.suite.study_notebook,
        _score(batch, found),
        **declared,
    )


def end(batch: Batch) -> int:
    """Make the planned reports that are not there yet, rebuild the gallery, say what became of it all; the exit status."""
    reports = batch.reports
    todo = {
        title: (job,)
        for title, job in reports.items()
        if batch.options["fresh"] or not is_current(job)
    }
    if reports:
        if todo:
            prepare()  # once, before the processes fork
        run_all(batch, make_report, todo, batch.workers("reports"))
        build(batch.options["out"])
    counts = [f"{len(batch.done)} done"]
    if len(todo) < len(reports):
        counts.append(f"{len(reports) - len(todo)} already current")
    if batch.lost:
        counts.append(f"{len(batch.lost)} failed ({first_names(sorted(batch.lost))})")
    echo()
    for title, job in reports.items():
        if title not in batch.lost:
            echo(f"report  {job.folder / HTML}")
    if reports:
        echo(f"gallery {batch.options['out'] / 'index.html'}")
    # failed work before bad input before wrong usage
    status = max(batch.lost.values(), default=0)
    echo("; ".join(counts), err=status > 0)
    return status


def run_all(
    batch: Batch, call: Callable[..., Any], tasks: Mapping[str, tuple[Any, ...]], workers: Workers
) -> None:
    """Make these calls, by their names; one failure, which is printed, does not stop the others."""
    names = list(tasks)
    with (
        bar(len(tasks), workers.label) as step,
        closing(workers.ended(call, list(tasks.values()))) as futures,
    ):
        for index, future in futures:
            name, error = names[index], future.exception()
            if error is not None:
                batch.lost[name] = tell(error, name)
            step(name)


# --- finding and scoring runs


def _find(
    batch: Batch, paths: Sequence[str], name: str | None = None, stored: bool = False
) -> list[Input]:
    """The runs at these paths; those that cannot be read are lost.

    `name`: of a single run, instead of its folder's or file's. `stored`: a results folder is a run too. UsageError
    where two runs would write to the same place, and where an option makes no sense.
    """
    suite, out = batch.suite, batch.options["out"]
    languages = suite_languages(suite)
    if language() not in languages:
        raise UsageError(f"--lang: pages of {suite.name} speak {', '.join(languages)}")
    replaceable(out)
    if name and len(paths) > 1:
        raise UsageError("--name goes with one run only")
    by_name: dict[str, Input] = {}
    for path in paths:
        try:
            runs = list(_runs_at(batch, path, name, stored))
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
    return list(by_name.values())


def _score(batch: Batch, runs: Sequence[Input]) -> list[Input]:
    """Those of the runs that could be scored, or were before."""
    settings = {
        name: value
        for name, value in batch.options.items()
        # those that `evaluate` does not take
        if name not in ("jobs", "scheduler", "name", "paper", "quiet", "verbose")
    }
    workers = batch.workers("scoring")
    if len(runs) == 1:  # its shards are spread over the processes, else the runs are
        settings["workers"] = workers
        workers = Workers()
    tasks = {
        one.name: (batch.suite_name, one.path, language(), {**settings, "name": one.located_as})
        for one in runs
        if not one.is_scored
    }
    run_all(batch, _score_run, tasks, workers)
    found = [one for one in runs if one.name not in batch.lost]
    batch.done.update(one.name for one in found)
    return found


def _runs_at(
    batch: Batch,
    path: str,
    name: str | None,
    stored: bool,
) -> Iterator[Input]:
    """The runs of the input at a path, or those whose results stand there."""
    suite = batch.suite
    folders = run_folders(resolve(path)) if stored else []
    for folder in folders:
        yield Input(
            safe_name(load(folder, suite=suite).name),
            path,
            folder,
            is_scored=True,
        )
    if folders:
        return
    problems = Problems(batch.options["on_error"])  # noted again when a run is scored
    for located_as in [name] if name else run_names(suite, path, problems):
        source = locate(
            suite,
            path,
            located_as,
            batch.suite_options,
            problems,
        )
        yield Input(
            source.name,
            path,
            batch.options["out"] / "results" / source.name,
            located_as,
        )


def _score_run(
    suite: str,
    path: str,
    lang: str,
    settings: Fields,
) -> None:
    """Score one run, perhaps in another process."""
    speak(lang)
    evaluate(suite, path, **settings)


def _show(batch: Batch, runs: Sequence[Input]) -> None:
    if not batch.options["quiet"]:
        for one in runs:
            echo(f"\n{one.name}")
            show_result(load(one.folder), batch.options["verbose"])
            echo(f"-> {one.folder}")


# --- reports


def _report_study(
    batch: Batch, notebook: str | Path | None, runs: Sequence[Input], **declared: Any
) -> None:
    """Write the files of the study of runs that are scored, and plan its report; neither where a run is lost."""
    if batch.lost:
        return
    options = batch.options
    result = study(
        [one.folder for one in runs], name=options["name"], out=options["out"], **declared
    )
    batch.done.add(result.name)
    echo(f"\n{result.name}")
    show_result(result, options["verbose"])
    _plan_report(
        batch,
        notebook,
        result.name,
        runs,
        result,
        baseline=result.baseline,
        primary=result.declared,
        margin=dict(result.margin),
    )


def _plan_report(
    batch: Batch,
    notebook: str | Path | None,
    title: str,
    runs: Sequence[Input],
    paper: Study | None,
    **declared: Any,
) -> None:
    """Plan the report of runs that are scored; `declared`: parameters of a notebook of several runs."""
    notebook = notebook or ("seeds.ipynb" if declared else "run.ipynb")
    names = parameters_of(notebook)
    folders = [str(one.folder) for one in runs]
    values = {
        **batch.options,
        "suite": batch.suite_name,
        "options": batch.suite_options,
        "lang": language(),
        "run": runs[0].path,
        "runs": list(dict.fromkeys(one.path for one in runs)),
        "scored": folders if "runs" in names else folders[0],
        **declared,
    }
    batch.reports[title] = ReportJob(
        notebook=notebook,
        title=whole_sentence(say(batch.suite.title), title),
        folder=batch.options["out"] / "reports" / title,
        parameters=to_jsonable_python({name: values[name] for name in names if name in values}),
        results={folder: result_hash(Path(folder)) for folder in folders},
        paper=paper,
    )
