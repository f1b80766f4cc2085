"""Many runs in one command: each scored and reported on its own, in parallel, with a summary at the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from pydantic_core import to_jsonable_python

from ..core import plugins
from ..core.errors import BAD_INPUT, FAILED, InputError, Problems, UsageError, tell
from ..core.files import resolve
from ..core.folders import remove_leftovers, require_out
from ..core.language import language, say, speak, speaking
from ..core.names import condition_of, find_runs, natural, safe_name
from ..core.results import manifest_of_run, result_hash
from ..core.scoring import locate, make_options, require_target, run_names
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

# settings of `evaluate`, as the command line gives them
DEFAULTS = {
    "n_resamples": 10_000,
    "confidence": 0.95,
    "ci": "auto",
    "seed": 0,
    "on_error": "fail",
    "metrics": None,
}


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


class Batch:
    """The runs of one command, the reports that are to be made of them, and what became of each.

    The parameters are options of the command line; `settings` are DEFAULTS and the options of the suite. `lost`: the
    name of a run or report -> the exit status that says why it could not be made.
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
        verbose: bool = False,
        paper: bool = False,
        **settings: Any,
    ):
        self.suite = suite
        self.out = out
        self.name = name
        self.workers = Workers(jobs, scheduler, label="" if quiet else "scoring")
        self.fresh = fresh
        self.quiet = quiet
        self.verbose = verbose
        self.paper = paper
        self.settings = {**DEFAULTS, **settings}
        self.reports: dict[str, ReportJob] = {}
        self.done: list[str] = []
        self.lost: dict[str, int] = {}

    @property
    def options(self) -> dict[str, Any]:
        """The options of the suite."""
        return {name: value for name, value in self.settings.items() if name not in DEFAULTS}

    @property
    def status(self) -> int:
        """Exit status: bad input before failed work before wrong usage."""
        order = [BAD_INPUT, FAILED]
        found = [status for status in order if status in self.lost.values()]
        return found[0] if found else max(self.lost.values(), default=0)

    def run_all(
        self,
        call: Callable[..., Any],
        tasks: Mapping[str, tuple[Any, ...]],
        workers: Workers,
        label: str = "",
    ) -> list[str]:
        """The names of the calls that came to an end; one failure, which is printed, does not stop the others."""
        ended = []
        names = list(tasks)
        with (
            bar(len(tasks), label, self.quiet) as step,
            closing(workers.ended(call, list(tasks.values()))) as futures,
        ):
            for index, future in futures:
                error = future.exception()
                if isinstance(error, UsageError) and len(tasks) == 1:
                    raise error
                if error is None:
                    ended.append(names[index])
                else:
                    self.lost[names[index]] = tell(error, names[index])
                step(names[index])
        return ended

    # --- what the commands ask for

    def score(self, paths: Sequence[str]) -> None:
        """Score every run; bad input of one does not stop the others."""
        self._show(self._score(self._find(paths, name=self.name)))

    def report(self, paths: Sequence[str]) -> None:
        """Score every run, and plan its report, or one report of all where the suite sees its runs together."""
        suite = self.suite
        name = self.name
        if suite.together and len(paths) > 1:
            name = None  # which names the report then
        runs = self._score(self._find(paths, name=name, stored=suite.together))
        if len(runs) > 1 and suite.together:
            self._report_study(suite.notebook, runs, baseline=runs[0].name)
            return
        if len(runs) > 1 and suite.runs is not None:
            self._report_study(suite.study_notebook, runs, primary=self.options.get("primary"))
            return
        self._show(runs)
        for one in runs:
            title = self.name if self.name and len(runs) == 1 else one.name
            inputs: dict[str, Any] = {"run": one.path, "scored": str(one.folder)}
            if suite.together:
                inputs = {"runs": [one.path], "scored": [str(one.folder)]}
            paper = one.folder if self.paper else None
            self._plan_report(suite.notebook, title, [one], inputs, paper)

    def report_seeds(self, runs: Sequence[str], **declared: Any) -> None:
        """Score the runs, aggregate them over seeds, compare the conditions, and plan the cross-seed report.

        `declared`: baseline, primary and margin as `study` takes them.
        """
        paths = [str(path) for text in runs for path in find_runs(text)]
        found = self._find(paths, stored=True)
        for one in found:
            condition_of(one.name)  # says what is wrong with a name that tells no seed
        scored = self._score(found)
        if not self.lost:
            scored.sort(key=lambda one: natural(one.path))
            self._report_study(self.suite.study_notebook, scored, **declared)

    def end(self) -> int:
        """Make the planned reports that are not there yet, rebuild the gallery, say what became of it all."""
        todo = {}
        for title, job in self.reports.items():
            if self.fresh or not is_current(job):
                todo[title] = (job,)
        if self.reports:
            if self.workers.scheduler is None and len(todo) > 1:
                prepare()  # once, before the processes fork
            self.run_all(make_report, todo, self.workers, "reports")
            build(self.out)
        counts = [f"{len(self.done)} done"]
        if len(todo) < len(self.reports):
            counts.append(f"{len(self.reports) - len(todo)} reports already current")
        for is_input, what in ((True, "with bad input"), (False, "failed")):
            names = sorted(n for n, of in self.lost.items() if (of == BAD_INPUT) == is_input)
            if names:
                counts.append(f"{len(names)} {what} ({', '.join(names)})")
        if not self.quiet:
            echo()
            for title, job in self.reports.items():
                if title not in self.lost:
                    echo(f"report  {job.folder / HTML}")
            if self.reports:
                echo(f"gallery {self.out / 'index.html'}")
        if self.status or not self.quiet:
            echo("; ".join(counts), err=bool(self.status))
        return self.status

    # --- finding and scoring runs

    def _find(
        self,
        paths: Sequence[str],
        *,
        name: str | None = None,
        stored: bool = False,
    ) -> list[Input]:
        """The runs at these paths; those that cannot be read are lost.

        `name`: of a single run, instead of its folder's or file's. With `stored` a results folder is a run too.
        UsageError where two runs would write to the same place or one to a folder or file that it may not replace, and
        where an option makes no sense.
        """
        languages = suite_languages(self.suite)
        if language() not in languages:
            raise UsageError(f"--lang: pages of {self.suite.name} speak {', '.join(languages)}")
        require_out(self.out)
        replaceable(self.out)
        if name is not None and len(paths) > 1:
            raise UsageError("--name goes with one run only")
        options = make_options(self.suite, self.options)
        by_name: dict[str, Input] = {}
        for path in paths:
            try:
                runs = self._stored_at(path) if stored else []
                runs = runs or self._runs_at(path, name, options)
            except InputError as e:
                self.lost[path] = tell(e)
                continue
            for one in runs:
                # on some file systems capitals are not told from small letters
                other = by_name.setdefault(one.name.casefold(), one)
                if other is not one:
                    raise UsageError(
                        f"{other.path} and {one.path} would both be named {one.name!r}; "
                        "give them names with --name"
                    )
        for option in self.suite.options.single_run if len(by_name) > 1 else ():
            if self.options.get(option) is not None:
                raise UsageError(f"--{option} goes with one run only")
        return list(by_name.values())

    def _stored_at(self, path: str) -> list[Input]:
        """The run whose result stands at a path; UsageError where it is one of another suite."""
        folder = resolve(path)
        result = manifest_of_run(folder)
        if result is None:
            return []
        if result.suite != self.suite.name:
            raise UsageError(f"{path} holds a result of {result.suite}, not of {self.suite.name}")
        return [Input(safe_name(result.run), path, folder, is_scored=True)]

    def _runs_at(self, path: str, name: str | None, options: Any) -> list[Input]:
        """The runs of the input at a path, each with the folder that it may write to."""
        runs = []
        problems = Problems(self.settings["on_error"])  # told again when a run is scored
        for located_as in [name] if name else run_names(self.suite, path, problems):
            source = locate(self.suite, path, located_as, options, problems)
            folder = self.out / "results" / source.name
            require_target(folder, self.suite, source, self.fresh)
            runs.append(Input(source.name, path, folder, located_as))
        return runs

    def _score(self, runs: Sequence[Input]) -> list[Input]:
        """Those of the runs that could be scored."""
        remove_leftovers(self.out)
        suite = self.suite
        file = suite.file if suite.name in plugins.FROM_FILES else None
        settings = {**self.settings, "out": self.out, "fresh": self.fresh}
        workers = self.workers
        if len(runs) == 1:  # its shards are spread over the processes, else the runs are
            settings["workers"] = workers
            workers = Workers()
        tasks = {}
        for one in runs:
            tasks[one.name] = (one, suite.name, file, language(), settings)
        ended = self.run_all(score_run, tasks, workers, "scoring" if len(runs) > 1 else "")
        self.done += [name for name in ended if name not in self.done]
        return [one for one in runs if one.name in ended]

    def _show(self, runs: Sequence[Input]) -> None:
        if not self.quiet:
            with speaking("en"):
                for one in runs:
                    show_run(load(one.folder), self.verbose)
                    echo(f"-> {one.folder}")

    # --- reports

    def _report_study(
        self,
        notebook: str | Path,
        runs: Sequence[Input],
        **declared: Any,
    ) -> None:
        """Write the files of the study of runs that are scored, and plan its report."""
        folders = [str(one.folder) for one in runs]
        made = study(folders, name=self.name, out=self.out, **declared)
        self.done.append(made.name)
        if not self.quiet:
            echo(f"\n{made.name}")
            with speaking("en"):
                for sentence in outcomes(made):
                    paragraph(sentence)
        inputs = {
            "runs": list(dict.fromkeys(one.path for one in runs)),
            "scored": folders,
            "baseline": made.baseline,
            "primary": made.declared,
            "margin": dict(made.margin),
        }
        self._plan_report(notebook, made.name, runs, inputs, made)

    def _plan_report(
        self,
        notebook: str | Path,
        title: str,
        runs: Sequence[Input],
        inputs: Mapping[str, Any],
        paper: Study | Path | None,
    ) -> None:
        """Plan the report of runs that are scored; `inputs`: the parameters of the notebook that name them."""
        suite = self.suite
        values = {
            **self.settings,
            "suite": str(suite.file) if suite.name in plugins.FROM_FILES else suite.name,
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
            title=f"{say(suite.title)}: {title}",
            folder=self.out / "reports" / title,
            parameters=to_jsonable_python(parameters),
            results={str(one.folder): result_hash(one.folder) for one in runs},
            paper=paper,
        )


def score_run(
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
