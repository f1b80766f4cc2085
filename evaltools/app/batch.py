"""Many runs in one command: in parallel, each on its own, with progress and a summary at the end."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic_core import to_jsonable_python

from ..core.errors import BAD_INPUT, FAILED, InputError, UsageError, tell
from ..core.folders import remove_leftovers, require_out
from ..core.language import say
from ..core.names import find_runs, natural, safe_name
from ..core.progress import bar
from ..core.suite import Suite
from ..core.terminal import echo
from ..core.workers import Workers
from ..report import study_sentences
from ..report.evaluate import load
from ..report.export import write_exports
from ..report.gallery import build, replaceable
from ..report.make_study import study
from ..report.notebook import HTML, ReportJob, is_current, parameters_of, prepare, run
from ..report.study import Study
from ..stats.compare import NothingPaired
from .inputs import find_inputs
from .scoring import Scored, score_run
from .settings import Settings


@dataclass
class Batch:
    """The runs of one command: the reports that are to be made of them, and what became of each.

    `suite`, `options`: of these runs, with the options of the suite. `reports`: the jobs by title. `done`, `skipped`,
    `bad_input`, `failed`: names of runs and reports. `new_folders`: the results folders that were not there before.
    `lines`: what the terminal says at the end.
    """

    settings: Settings
    suite: Any = None
    options: Mapping[str, Any] = field(default_factory=dict)
    reports: dict[str, ReportJob] = field(default_factory=dict)
    done: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    bad_input: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    new_folders: list[Path] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    @property
    def status(self) -> int:
        """Exit status: bad input before failed reports."""
        if self.bad_input:
            return BAD_INPUT
        return FAILED if self.failed else 0

    def fail(
        self,
        name: str,
        error: BaseException,
    ) -> None:
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
        quiet = self.settings.quiet or not label
        with (
            bar(len(tasks), label, quiet) as step,
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

    def score(
        self,
        runs: Sequence[str],
        *,
        flat_file: Path | None = None,
        inspect_file: Path | None = None,
    ) -> None:
        """Score every run; bad input of one does not stop the others.

        The numbers of a single one also go to the files, in the shapes of other tools (`write_exports`). UsageError
        for several runs then, and for a file that is an input.
        """
        files = [file for file in (flat_file, inspect_file) if file is not None]
        scored = self._score_runs(runs, name=self.settings.name, files=files)
        self._show(scored)
        if files:
            for one in scored:
                write_exports(load(one.folder), flat_file=flat_file, inspect_file=inspect_file)

    def report(self, runs: Sequence[str]) -> None:
        """Score every run, and plan its report, or one report of all where the suite sees its runs together."""
        suite = self.suite
        is_together = suite.together and len(runs) > 1
        name = None if is_together else self.settings.name  # else it names the report
        scored = self._score_runs(runs, name=name, stored=suite.together)
        if len(scored) > 1 and suite.together:
            try:
                self._report_study(suite.notebook, scored, baseline=scored[0].name)
            except NothingPaired as e:
                self._report_each(scored)
                self.lines += ["", say("Not compared: {reason}", reason=e.args[0])]
        elif len(scored) > 1 and suite.runs is not None:
            primary = self.options.get("primary")
            self._report_study(suite.study_notebook, scored, primary=primary)
        else:
            self._report_each(scored)

    def _report_each(self, scored: Sequence[Scored]) -> None:
        """Plan a report of every run by itself."""
        self._show(scored)
        for one in scored:
            title = one.name
            if len(scored) == 1 and self.settings.name:
                title = self.settings.name
            self.reports[title] = self._report_job(self.suite.notebook, title, [one])

    def report_seeds(
        self,
        runs: Sequence[str],
        **declared: Any,
    ) -> None:
        """Score the runs, aggregate them over seeds, compare the conditions, and plan the cross-seed report.

        `declared`: baseline, primary and margin as `study` takes them.
        """
        paths = [str(path) for run in runs for path in find_runs(run)]
        scored = self._score_runs(paths, seeds=True, stored=True)
        if not self.status:
            scored.sort(key=lambda one: natural(one.path))
            notebook = self.suite.study_notebook
            self._report_study(notebook, scored, is_named=True, **declared)

    def end(self) -> int:
        """Make the planned reports that are not there yet, rebuild the gallery, say what became of it all."""
        if self.reports:
            self._make_reports()
            try:
                build(self.settings.out)
            except OSError as e:
                self.fail("index.html", e)
        self._say()
        return self.status

    # --- steps

    def _score_runs(
        self,
        paths: Sequence[str],
        **how: Any,
    ) -> list[Scored]:
        """Score the runs at these paths; `how`: the keywords of `find_inputs`."""
        settings, suite, options = self.settings, self.suite, self.options
        out = settings.out
        require_out(out)
        replaceable(out)
        inputs, errors = find_inputs(
            suite,
            paths,
            settings,
            options,
            **how,
        )
        for error in errors:
            self.fail(error.problems[0].file, error)
        remove_leftovers(out)
        of_run, of_runs = Workers(), settings.workers()
        is_single = len(inputs) == 1
        if is_single:  # its shards are spread over the processes, else the runs are
            of_run, of_runs = of_runs, of_run
        tasks = {}
        for one in inputs:
            tasks[one.name] = (
                suite.name,
                suite.file,
                one,
                settings,
                options,
                of_run,
            )
        new_folders = {one.folder for one in inputs if not one.folder.exists()}
        results = self.run_all(score_run, tasks, of_runs, "" if is_single else "scoring")
        scored: list[Scored] = [results[name] for name in tasks if name in results]
        self.new_folders += [one.folder for one in scored if one.folder in new_folders]
        self.done += [result.name for result in scored if result.name not in self.done]
        return scored

    def _report_study(
        self,
        notebook: str | Path,
        scored: Sequence[Scored],
        *,
        is_named: bool = False,
        **declared: Any,
    ) -> None:
        """Write the files of the study of runs that are scored, and plan its report.

        `declared`: baseline, primary and margin. `is_named`: whether the study counts as a thing done.
        UsageError for runs that cannot be put together: then what was written for them is gone again.
        """
        name, out = self.settings.name, self.settings.out
        try:
            made = study(
                [one.folder for one in scored],
                name=name,
                out=out,
                **declared,
            )
        except UsageError as e:
            # systems of which no pair can be compared are reported each by itself
            if not (self.suite.together and isinstance(e, NothingPaired)):
                self._remove_new_folders()
            raise
        except (InputError, OSError) as e:
            self.fail(name or "study", e)
            return
        lines = study_sentences.outcomes(made)
        self.lines += ["", made.name, *lines]
        self.reports[made.name] = self._report_job(notebook, made.name, scored, made)
        if is_named:
            self.done.append(made.name)

    def _report_job(
        self,
        notebook: str | Path,
        title: str,
        scored: Sequence[Scored],
        study: Study | None = None,
    ) -> ReportJob:
        """The report of a run that is scored, or of several as a study: its paper is made from that."""
        settings, suite = self.settings, self.suite
        folders = [str(one.folder) for one in scored]
        paths = list(dict.fromkeys(one.path for one in scored))
        inputs: dict[str, Any] = {"runs": paths, "scored": folders}
        paper: Study | Path | None = study
        if study is not None:
            inputs["baseline"] = study.baseline
            inputs["primary"] = study.declared
            inputs["margin"] = dict(study.margin)
        elif settings.paper:
            paper = scored[0].folder
        if study is None and not suite.together:  # a notebook of one run
            inputs = {"run": paths[0], "scored": folders[0]}
        options = {name: value for name, value in self.options.items() if name not in inputs}
        values = {
            **options,
            "suite": suite.name,
            "options": options,
            **inputs,
            **vars(settings),
        }
        named = parameters_of(notebook)
        parameters = {name: value for name, value in values.items() if name in named}
        return ReportJob(
            name=safe_name(title),
            notebook=notebook,
            title=f"{say(suite.title)}: {title}",
            folder=settings.out / "reports" / title,
            parameters=to_jsonable_python(parameters),
            results={str(one.folder): one.result for one in scored},
            paper=paper,
        )

    def _remove_new_folders(self) -> None:
        for folder in self.new_folders:
            shutil.rmtree(folder, ignore_errors=True)
        results = self.settings.out / "results"
        with suppress(OSError):  # there is more in them, which stays
            if [path.name for path in results.iterdir()] == [".lock"]:
                (results / ".lock").unlink()
            results.rmdir()
            self.settings.out.rmdir()

    def _make_reports(self) -> None:
        settings = self.settings
        todo = {}
        for title, job in self.reports.items():
            if settings.resume and is_current(job):
                self.skipped.append(title)
            else:
                todo[title] = (job,)
        if settings.scheduler is None and len(todo) > 1:
            prepare()  # once, before the processes fork
        self.run_all(run, todo, settings.workers(), "reports")

    # --- what the terminal says

    def _show(self, scored: Sequence[Scored]) -> None:
        for one in scored:
            self.lines += ["", *one.lines, f"  -> {one.folder}"]

    def _say(self) -> None:
        quiet = self.settings.quiet
        if not quiet:
            for line in self.lines:
                echo(line)
            for title, job in self.reports.items():
                if title not in self.failed:
                    echo(f"  {say('report'):<7} {job.folder / HTML}")
            if self.reports:
                echo(f"  {say('gallery'):<7} {self.settings.out / 'index.html'}")
        if self.status or not quiet:
            text = "; ".join(self._counts())
            echo(text if quiet else f"\n{text}", err=bool(self.status))

    def _counts(self) -> list[str]:
        counts = [say("{n} done", n=len(self.done))]
        if self.skipped:
            counts.append(say("{n} reports already current", n=len(self.skipped)))
        lost = {
            "{n} with bad input ({names})": self.bad_input,
            "{n} failed ({names})": self.failed,
        }
        for text, names in lost.items():
            if names:
                counts.append(say(text, n=len(names), names=sorted(names)))
        return counts


def make_batch(
    suite: Suite,
    values: Mapping[str, Any],
) -> Batch:
    """The batch of a command whose values are options of the suite, and fields of `Settings`."""
    settings = dict(values)
    options = {}
    for name in suite.options.settable():
        if name in settings:
            options[name] = settings.pop(name)
    return Batch(Settings(**settings), suite, options)
