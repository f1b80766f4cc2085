"""Many runs in one command: in parallel, each on its own, with progress and a summary at the end."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from pydantic_core import to_jsonable_python

from ..core.errors import BAD_INPUT, FAILED, InputError, Problems, UsageError, tell
from ..core.evaluate import locate, make_options, require_target, run_names
from ..core.files import resolve
from ..core.folders import remove_leftovers, require_out
from ..core.language import language, say
from ..core.names import condition_of, find_runs, natural, safe_name
from ..core.plugins import FROM_FILES
from ..core.results import manifest_of_run
from ..core.terminal import bar, echo
from ..core.workers import Workers
from ..report import study_sentences
from ..report.gallery import build, replaceable
from ..report.make_study import study
from ..report.notebook import HTML, ReportJob, is_current, parameters_of, prepare, run
from ..report.study import Study
from ..stats.compare import NothingPaired
from .scoring import BatchRun, score_run

DEFAULTS = {
    "n_resamples": 10_000,
    "confidence": 0.95,
    "ci": "auto",
    "seed": 0,
    "on_error": "fail",
    "metrics": None,
}
"""Settings of `evaluate`, as the command line gives them."""

CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
"""What no path of an input may hold: it is printed, and stands in files that are UTF-8."""


class Batch:
    """The runs of one command: the reports that are to be made of them, and what became of each.

    The parameters are options of the command line; `settings` are DEFAULTS and the options of the suite.
    `reports`: the jobs by title. `done`, `skipped`, `bad_input`, `failed`: names of runs and reports. `lines`: what
    the terminal says at the end.
    """

    def __init__(
        self,
        suite: Any = None,
        *,
        out: Path = Path("outputs"),
        name: str | None = None,
        jobs: int = 1,
        scheduler: str | None = None,
        fresh: bool = False,
        quiet: bool = False,
        paper: bool = False,
        **settings: Any,
    ):
        self.suite = suite
        self.out = out
        self.name = name
        self.workers = Workers(jobs, scheduler, label="" if quiet else "scoring")
        self.fresh = fresh
        self.quiet = quiet
        self.paper = paper
        self.settings = {**DEFAULTS, **settings}
        self.reports: dict[str, ReportJob] = {}
        self.done: list[str] = []
        self.skipped: list[str] = []
        self.bad_input: list[str] = []
        self.failed: list[str] = []
        self.lines: list[str] = []
        self.new_folders: list[Path] = []

    @property
    def options(self) -> dict[str, Any]:
        """The options of the suite."""
        return {name: value for name, value in self.settings.items() if name not in DEFAULTS}

    @property
    def status(self) -> int:
        """Exit status: bad input before failed reports."""
        if self.bad_input:
            return BAD_INPUT
        return FAILED if self.failed else 0

    def fail(self, name: str, error: BaseException) -> None:
        """Note what went wrong with one run or report, and say it."""
        if tell(error, name) == BAD_INPUT:
            self.bad_input.append(name)
        else:
            self.failed.append(name)

    def run_all(
        self,
        call: Callable[..., Any],
        tasks: Mapping[str, tuple[Any, ...]],
        workers: Workers,
        label: str = "",
    ) -> dict[str, Any]:
        """The results of the calls that came to an end, by name; one failure does not stop the others.

        A UsageError is raised where nothing was made by any call or before; elsewhere it is one that failed.
        """
        results: dict[str, Any] = {}
        refused: dict[str, UsageError] = {}
        names = list(tasks)
        with (
            bar(len(tasks), label, self.quiet) as step,
            closing(workers.ended(call, list(tasks.values()))) as ended,
        ):
            for index, future in ended:
                name, error = names[index], future.exception()
                if error is None:
                    results[name] = future.result()
                elif isinstance(error, UsageError):
                    refused[name] = error
                else:
                    self.fail(name, error)
                step(name)
        for name, error in refused.items():
            if not results and not self.done:
                raise error
            self.fail(name, error)
        return results

    # --- what the commands ask for

    def score(self, paths: Sequence[str]) -> None:
        """Score every run; bad input of one does not stop the others."""
        self._show(self._score(self._find(paths, name=self.name)))

    def report(self, paths: Sequence[str]) -> None:
        """Score every run, and plan its report, or one report of all where the suite sees its runs together."""
        suite = self.suite
        is_together = suite.together and len(paths) > 1
        name = None if is_together else self.name  # else it names the report
        runs = self._score(self._find(paths, name=name, stored=suite.together))
        if len(runs) > 1 and suite.together:
            try:
                self._report_study(suite.notebook, runs, baseline=runs[0].name)
            except NothingPaired as e:
                self._report_each(runs)
                self.lines += ["", say("Not compared: {reason}", reason=e.args[0])]
        elif len(runs) > 1 and suite.runs is not None:
            primary = self.options.get("primary")
            self._report_study(suite.study_notebook, runs, primary=primary)
        else:
            self._report_each(runs)

    def _report_each(self, runs: Sequence[BatchRun]) -> None:
        """Plan a report of every run by itself."""
        self._show(runs)
        for one in runs:
            title = self.name if self.name and len(runs) == 1 else one.name
            self._plan_report(self.suite.notebook, title, [one])

    def report_seeds(
        self,
        runs: Sequence[str],
        **declared: Any,
    ) -> None:
        """Score the runs, aggregate them over seeds, compare the conditions, and plan the cross-seed report.

        `declared`: baseline, primary and margin as `study` takes them.
        """
        paths: list[str] = []
        for text in runs:
            paths += map(str, find_runs(text))
        found = self._find(paths, seeds=True, stored=True)
        scored = self._score(found)
        if not self.status:
            scored.sort(key=lambda one: natural(one.path))
            self.done += self._report_study(self.suite.study_notebook, scored, **declared)

    def end(self) -> int:
        """Make the planned reports that are not there yet, rebuild the gallery, say what became of it all."""
        if self.reports:
            self._make_reports()
            try:
                build(self.out)
            except OSError as e:
                self.fail("index.html", e)
        self._say()
        return self.status

    # --- finding and scoring runs

    def _find(
        self,
        paths: Sequence[str],
        *,
        name: str | None = None,
        seeds: bool = False,
        stored: bool = False,
    ) -> list[BatchRun]:
        """The runs at these paths; those that cannot be read have failed.

        `name`: of a single run, instead of its folder's or file's. With `stored` a results folder is a run too; with
        `seeds`, for a study over seeds, names tell condition and seed.

        UsageError where two runs would write to the same place or one to a folder or file that it may not
        replace, where a name tells no seed, or an option makes no sense.
        """
        require_out(self.out)
        replaceable(self.out)
        if name is not None and len(paths) > 1:
            raise UsageError("--{name} goes with one run only", name="name")
        options = make_options(self.suite, self.options)
        by_name: dict[str, BatchRun] = {}
        errors: list[InputError] = []
        for path in paths:
            if CONTROL.search(path):
                text = "{path}: the path of an input must be text without control characters"
                raise UsageError(text, path=ascii(path))
            try:
                runs = self._stored_at(path) if stored else []
                runs = runs or self._runs_at(path, name, options)
            except InputError as e:
                errors.append(e)
                continue
            for one in runs:
                if seeds:
                    condition_of(one.name)
                # on some file systems capitals are not told from small letters
                other = by_name.setdefault(one.name.casefold(), one)
                if other is not one:
                    raise UsageError(
                        "{first} and {second} would both be named {name}; give them names with --name",
                        first=other.path,
                        second=one.path,
                        name=repr(one.name),
                    )
        if len(by_name) > 1:
            for option in self.suite.options.single_run:
                if self.options.get(option) is not None:
                    raise UsageError("--{name} goes with one run only", name=option)
        for error in errors:
            self.fail(error.problems[0].file, error)
        return list(by_name.values())

    def _stored_at(self, path: str) -> list[BatchRun]:
        """The run whose result stands at a path; UsageError where it is one of another suite."""
        place = resolve(path)
        result = manifest_of_run(place)
        if result is None:
            return []
        if result.suite != self.suite.name:
            raise UsageError(
                "{path} holds a result of {other}, not of {suite}",
                path=path,
                other=result.suite,
                suite=self.suite.name,
            )
        return [BatchRun(safe_name(result.run), path, place, is_scored=True)]

    def _runs_at(
        self,
        path: str,
        name: str | None,
        options: Any,
    ) -> list[BatchRun]:
        """The runs of the input at a path, each with the folder that it may write to."""
        runs = []
        problems = Problems(self.settings["on_error"])  # told again when a run is scored
        for located_as in [name] if name else run_names(self.suite, path, problems):
            source = locate(self.suite, path, located_as, options, problems)
            inputs = tuple(source.files.values())
            folder = self.out / "results" / source.name
            require_target(folder, self.suite, source, self.fresh)
            runs.append(BatchRun(source.name, path, folder, inputs, located_as=located_as))
        return runs

    def _score(self, runs: Sequence[BatchRun]) -> list[BatchRun]:
        """Those of the runs that could be scored."""
        remove_leftovers(self.out)
        self.new_folders += [one.folder for one in runs if not one.folder.exists()]
        label = "scoring"
        of_run, of_runs = Workers(), self.workers
        if len(runs) == 1:  # its shards are spread over the processes, else the runs are
            label = ""
            of_run, of_runs = of_runs, of_run
        suite = self.suite
        file = suite.file if suite.name in FROM_FILES else None
        settings = {**self.settings, "out": self.out, "fresh": self.fresh}
        tasks = {}
        for one in runs:
            tasks[one.name] = (one, suite.name, file, language(), of_run, settings)
        results = self.run_all(score_run, tasks, of_runs, label)
        scored: list[BatchRun] = [results[name] for name in tasks if name in results]
        self.done += [one.name for one in scored if one.name not in self.done]
        return scored

    # --- reports

    def _report_study(
        self,
        notebook: str | Path,
        runs: Sequence[BatchRun],
        **declared: Any,
    ) -> list[str]:
        """Write the files of the study of runs that are scored, and plan its report; returns its name.

        `declared`: baseline, primary and margin. UsageError for runs that cannot be put together: then what was
        written for them is gone again. What else goes wrong is noted.
        """
        folders = [one.folder for one in runs]
        try:
            made = study(folders, name=self.name, out=self.out, **declared)
        except UsageError as e:
            # systems of which no pair can be compared are reported each by itself
            if not (self.suite.together and isinstance(e, NothingPaired)):
                self._remove_new_folders()
            raise
        except (InputError, OSError) as e:
            self.fail(self.name or "study", e)
            return []
        self.lines += ["", made.name, *study_sentences.outcomes(made)]
        self._plan_report(notebook, made.name, runs, made)
        return [made.name]

    def _plan_report(
        self,
        notebook: str | Path,
        title: str,
        runs: Sequence[BatchRun],
        study: Study | None = None,
    ) -> None:
        """Plan the report of a run that is scored, or of several as a study: its paper is made from that."""
        folders = [str(one.folder) for one in runs]
        paths = list(dict.fromkeys(one.path for one in runs))
        inputs: dict[str, Any] = {"runs": paths, "scored": folders}
        paper: Study | Path | None = study
        if study is not None:
            inputs["baseline"] = study.baseline
            inputs["primary"] = study.declared
            inputs["margin"] = dict(study.margin)
        elif self.paper:
            paper = runs[0].folder
        if study is None and not self.suite.together:  # a notebook of one run
            inputs = {"run": paths[0], "scored": folders[0]}
        values = {
            **self.settings,
            "suite": self.suite.name,
            "options": {n: value for n, value in self.options.items() if n not in inputs},
            "out": self.out,
            "name": self.name,
            "lang": language(),
            **inputs,
        }
        named = parameters_of(notebook)
        parameters = {name: value for name, value in values.items() if name in named}
        self.reports[title] = ReportJob(
            name=safe_name(title),
            notebook=notebook,
            title=f"{say(self.suite.title)}: {title}",
            folder=self.out / "reports" / title,
            parameters=to_jsonable_python(parameters),
            results={str(one.folder): one.result for one in runs},
            paper=paper,
        )

    def _remove_new_folders(self) -> None:
        for folder in self.new_folders:
            shutil.rmtree(folder, ignore_errors=True)
        results = self.out / "results"
        with suppress(OSError):  # there is more in them, which stays
            if [path.name for path in results.iterdir()] == [".lock"]:
                (results / ".lock").unlink()
            results.rmdir()
            self.out.rmdir()

    def _make_reports(self) -> None:
        todo = {}
        for title, job in self.reports.items():
            if not self.fresh and is_current(job):
                self.skipped.append(title)
            else:
                todo[title] = (job,)
        if self.workers.scheduler is None and len(todo) > 1:
            prepare()  # once, before the processes fork
        self.run_all(run, todo, self.workers, "reports")

    # --- what the terminal says

    def _show(self, runs: Sequence[BatchRun]) -> None:
        for one in runs:
            self.lines += ["", *one.lines, f"  -> {one.folder}"]

    def _say(self) -> None:
        if not self.quiet:
            for line in self.lines:
                echo(line)
            for title, job in self.reports.items():
                if title not in self.failed:
                    echo(f"  {say('report'):<7} {job.folder / HTML}")
            if self.reports:
                echo(f"  {say('gallery'):<7} {self.out / 'index.html'}")
        counts = [say("{n} done", n=len(self.done))]
        if self.skipped:
            counts.append(say("{n} reports already current", n=len(self.skipped)))
        lost = {
            "{n} with bad input ({names})": self.bad_input,
            "{n} failed ({names})": self.failed,
        }
        for template, names in lost.items():
            if names:
                counts.append(say(template, n=len(names), names=sorted(names)))
        text = "; ".join(counts)
        if self.status or not self.quiet:
            echo(text if self.quiet else f"\n{text}", err=bool(self.status))
