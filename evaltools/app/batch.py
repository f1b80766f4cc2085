"""Many runs in one command: in parallel, each on its own, with progress and a summary at the end."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..core.check import check_lines
from ..core.errors import BAD_INPUT, FAILED, InputError, OnError, Problems, UsageError, tell
from ..core.evaluate import make_options, require_target
from ..core.files import EXAMPLES, refuse_input, remove_leftovers, require_writable, resolve
from ..core.language import say, speak
from ..core.names import condition_of, find_runs, natural, safe_name
from ..core.plugins import get_suite, load_suite_file, require_input, with_metrics
from ..core.progress import bar
from ..core.resampling import Resampling
from ..core.results import manifest_of_run
from ..core.suite import Suite
from ..core.terminal import echo
from ..report import study_sentences
from ..report.evaluate import evaluate, load
from ..report.export import write_exports
from ..report.gallery import replaceable
from ..report.make_study import study
from ..report.markdown import ARROWS
from ..report.notebook import HTML, ReportJob, is_current, parameters_of, prepare, run
from ..report.run import Run
from ..report.run_groups import read_runs, result_folder
from ..report.tables import plain_estimates, verdict_line
from ..stats.declared import require_declared
from .cluster import cluster_size
from .workers import Workers

Options = Mapping[str, Any]


@dataclass(frozen=True)
class Settings:
    """The options that every batch command shares, named as on the command line."""

    out: Path = Path("outputs")
    jobs: int = 1
    name: str | None = None
    n_resamples: int = 10_000
    confidence: float = 0.95
    ci: Any = "auto"
    seed: int = 0
    on_error: OnError = "fail"
    resume: bool = True
    quiet: bool = False
    scheduler: str | None = None
    metrics: Path | None = None
    paper: bool = False
    lang: str = "en"

    def workers(self) -> Workers:
        """Where the work is done."""
        jobs = self.jobs if self.scheduler is None else cluster_size(self.scheduler)
        return Workers(jobs, self.scheduler, label="" if self.quiet else "scoring")

    @property
    def resampling(self) -> Resampling:
        return Resampling(
            method=self.ci, n_resamples=self.n_resamples, confidence=self.confidence, seed=self.seed
        )


@dataclass(frozen=True)
class Scored:
    """What a worker sends back of one run: its name, its input, where its result stands, and what to say of it.

    `current` is what a report on it depends on, for `--resume`.
    """

    name: str
    path: str
    folder: Path
    said: list[str]
    current: dict[str, Any]


@dataclass
class Batch:
    """The runs of one command: the reports that are to be made of them, and what became of each.

    `made` are the results folders that were not there before, `said` the lines that say what came out.
    """

    settings: Settings
    jobs: dict[str, ReportJob] = field(default_factory=dict)
    done: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    bad_input: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    made: list[Path] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        speak(self.settings.lang)

    @property
    def status(self) -> int:
        """Exit status: bad input before failed reports."""
        return BAD_INPUT if self.bad_input else FAILED if self.failed else 0

    def fail(self, name: str, error: BaseException) -> None:
        """Note what went wrong with one run or report, and say it."""
        (self.bad_input if tell(error, name) == BAD_INPUT else self.failed).append(name)

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
        found: dict[str, Any] = {}
        refused: dict[str, UsageError] = {}
        names, quiet = list(tasks), self.settings.quiet or not label
        with (
            bar(len(tasks), label, quiet) as step,
            closing(workers.ended(call, list(tasks.values()))) as futures,
        ):
            for place, future in futures:
                name, error = names[place], future.exception()
                if error is None:
                    found[name] = future.result()
                elif isinstance(error, UsageError):
                    refused[name] = error
                else:
                    self.fail(name, error)
                step(name)
        for name, error in refused.items():
            if not (found or self.done):
                raise error
            self.fail(name, error)
        return found

    def score(
        self, suite: Suite, runs: Sequence[str], options: Options, **files: Path | None
    ) -> None:
        """Score every run; bad input of one does not stop the others.

        The numbers of a single one also go to `files`, in the shapes of other tools (`write_exports`). UsageError for
        several runs then, and for a file that is an input.
        """
        scored = self._scored(
            suite, runs, options, self.settings, files=[f for f in files.values() if f]
        )
        self._show(scored)
        for one in scored if any(files.values()) else ():
            write_exports(load(one.folder), **files)

    def report(self, suite: Suite, runs: Sequence[str], options: Options) -> None:
        """Score every run, and plan its report, or one report of all where the suite sees its runs together."""
        given = self.settings.name
        several = suite.together and len(runs) > 1
        scored = self._scored(
            suite, runs, options, replace(self.settings, name=None if several else given)
        )
        if len(scored) > 1 and suite.together:
            self._study(suite, suite.notebook, scored, options, baseline=scored[0].name)
        elif len(scored) > 1 and suite.runs is not None:
            self._study(suite, suite.study_notebook, scored, options)
        else:
            self._show(scored)
            for one in scored:
                self._plan(
                    suite,
                    suite.notebook,
                    given or one.name,
                    [one] if suite.together else one,
                    options,
                )

    def report_seeds(
        self, suite: Suite, runs: Sequence[str], options: Options, **compared: Any
    ) -> None:
        """Score the runs, aggregate them over seeds, compare the conditions, and plan the cross-seed report.

        `compared`: baseline, primary and margin, as `study` takes them.
        """
        runs = [
            run
            for text in runs
            for run in ([text] if _is_there(text) else map(str, find_runs(text)))
        ]
        whole = (
            suite if self.settings.metrics is None else with_metrics(suite, self.settings.metrics)
        )
        declared = compared.get("primary"), compared.get("margin") or {}
        if table := whole.metrics(
            make_options(suite, options)
        ):  # those that follow from the input are not known yet
            require_declared(table, *declared, self.settings.confidence)
        scored = self._scored(suite, runs, options, replace(self.settings, name=None), seeds=True)
        if not self.status:
            scored.sort(key=lambda s: natural(s.path))
            self.done += self._study(suite, suite.study_notebook, scored, options, **compared)

    def _scored(
        self,
        suite: Suite,
        runs: Sequence[str],
        options: Options,
        settings: Settings,
        *,
        seeds: bool = False,
        files: Sequence[Path] = (),
    ) -> list[Scored]:
        require_writable(settings.out)
        replaceable(settings.out)
        named, errors = named_runs(suite, runs, settings, options, seeds=seeds, files=files)
        for error in errors:
            self.fail(error.problems[0].file, error)
        remove_leftovers(settings.out)
        # one run: its shards are spread; several: the runs are, each in a process of its own
        single = len(named) == 1
        inner, outer = (
            (settings.workers(), Workers()) if single else (Workers(label=""), settings.workers())
        )
        _refuse_single(suite, options, len(named))
        tasks = {}
        for name_of_run, place in named.items():
            tasks[name_of_run] = (
                suite.name,
                suite.file,
                *place,
                settings,
                options,
                inner,
                seeds,
            )
        there = {name for name in named if (settings.out / "results" / name).exists()}
        found = self.run_all(score_one, tasks, outer, "" if single else "scoring")
        scored = [found[n] for n in named if n in found]
        self.made += [
            one.folder for one in scored if one.name not in there and one.folder != Path(one.path)
        ]
        self.done += [one.name for one in scored if one.name not in self.done]
        return scored

    def _show(self, scored: Sequence[Scored]) -> None:
        self.said += [line for one in scored for line in ("", *one.said, f"  -> {one.folder}")]

    def _study(
        self,
        suite: Suite,
        notebook: str | Path,
        scored: Sequence[Scored],
        options: Options,
        **compared: Any,
    ) -> list[str]:
        """Write the files of the study of runs that are scored, and plan its report; its name, if it could be made.

        UsageError for runs that cannot be put together: then what was written for them is gone again.
        """
        name, out = self.settings.name, self.settings.out
        try:
            made = study([one.folder for one in scored], name=name, out=out, **compared)
        except UsageError:
            for folder in self.made:
                shutil.rmtree(folder, ignore_errors=True)
            with suppress(OSError):  # there is more in them, which stays
                if [p.name for p in (out / "results").iterdir()] == [".lock"]:
                    (out / "results" / ".lock").unlink()
                (out / "results").rmdir()
                out.rmdir()
            raise
        except (InputError, OSError) as e:
            self.fail(name or "study", e)
            return []
        self.said += [
            "",
            made.name,
            *(study_sentences.verdicts(made) or study_sentences.narrative(made).split("\n\n")),
        ]
        self._plan(suite, notebook, made.name, scored, options, **compared)
        return [made.name]

    def _plan(
        self,
        suite: Suite,
        notebook: str | Path,
        title: str,
        scored: Scored | Sequence[Scored],
        options: Options,
        **compared: Any,
    ) -> None:
        """Plan the report on one scored run, or on several."""
        s, more = self.settings, {**compared, "name": self.settings.name}
        what: dict[str, Any]
        if isinstance(scored, Scored):
            what, made_from = {"run": scored.path, "scored": str(scored.folder)}, scored.current
        else:
            paths = list(dict.fromkeys(one.path for one in scored))
            what = {"runs": paths, "scored": [str(one.folder) for one in scored]}
            made_from = {"runs": [one.current for one in scored]}
        plain = {k: str(v) if isinstance(v, Path) else v for k, v in {**options, **vars(s)}.items()}
        parameters = {"suite": suite.name, "options": dict(options), **plain, **what, **more}
        declared = parameters_of(notebook)
        for_paper = s.paper or len(what.get("runs", [])) > 1
        self.jobs[title] = ReportJob(
            name=safe_name(title),
            notebook=notebook,
            title=f"{say(suite.title)}: {title}",
            folder=s.out / "reports" / title,
            parameters={k: v for k, v in parameters.items() if k in declared},
            current={
                **made_from,
                **more,
                "lang": s.lang,
                **({"paper_files": True} if for_paper else {}),
            },
            paper=for_paper,
        )

    def end(self) -> int:
        """Make the planned reports that are not there yet, rebuild the gallery, say what became of it all."""
        s = self.settings
        if self.jobs:
            todo = {
                name: (job,)
                for name, job in self.jobs.items()
                if not (s.resume and is_current(job))
            }
            self.skipped += [name for name in self.jobs if name not in todo]
            if s.scheduler is None and len(todo) > 1:
                prepare()  # once, before the processes fork
            self.run_all(run, todo, s.workers(), "reports")
            self._gallery()
        self._say()
        return self.status

    def _gallery(self) -> None:
        from ..report.gallery import build

        try:
            build(self.settings.out)
        except OSError as e:
            self.fail("index.html", e)

    def _say(self) -> None:
        quiet, out = self.settings.quiet, self.settings.out
        for line in [] if quiet else self.said:
            echo(line)
        if self.jobs and not quiet:
            for name, job in self.jobs.items():
                if name not in self.failed:
                    echo(f"  report  {job.folder / HTML}")
            echo(f"  gallery {out / 'index.html'}")
        parts = [f"{len(self.done)} done"]
        if self.skipped:
            parts.append(f"{len(self.skipped)} reports already current")
        for names, what in ((self.bad_input, "with bad input"), (self.failed, "failed")):
            if names:
                parts.append(f"{len(names)} {what} ({', '.join(sorted(names))})")
        if self.status or not quiet:
            echo(("" if quiet else "\n") + "; ".join(parts), err=bool(self.status))


def _is_there(run: str) -> bool:
    """Whether a text is a run itself, not the common prefix of several (`find_runs`)."""
    with suppress(UsageError, ValueError):
        return resolve(run).exists()
    return False


def named_runs(
    suite: Suite,
    runs: Sequence[str],
    settings: Settings,
    options: Options,
    *,
    seeds: bool = False,
    files: Sequence[Path] = (),
) -> tuple[dict[str, tuple[str, str | None]], list[InputError]]:
    """Run name -> (path, the name that it is located by) for the inputs that are there, and the errors of the others.

    With `seeds`, for a study over seeds, a results folder is one too. `files` are written besides, of a single run.

    Raises UsageError where two runs would write to the same place (also on file systems that do not tell capitals
    from small letters) or one to a folder or file that it may not replace, a name tells no seed, or an option makes
    no sense.
    """
    name, folders = settings.name, dict[str, str]()
    if name is not None and len(runs) > 1:
        raise UsageError("--name goes with one run only")
    named: dict[str, tuple[str, str | None]] = {}
    errors: list[InputError] = []
    opts = make_options(suite, options)
    for path in runs:
        if re.search(r"[\x00-\x1f\x7f\ud800-\udfff]", path):
            raise UsageError(
                f"{path!a}: the path of an input must be text without control characters"
            )
        place = resolve(path)
        result = manifest_of_run(place) if seeds else None
        if result is None:
            require_input(suite, place)
        try:
            for given in [name] if name or result else suite.run_names(place, Problems()):
                source = None if result else suite.locate(place, given, opts, Problems())
                found = safe_name(source.name if source else result.run)  # type: ignore[union-attr]
                other = folders.setdefault(found.casefold(), found)
                if found in named or other != found:
                    both = f"{named[other][0]} and {path} would both be named {found!r}"
                    raise UsageError(f"{both}; give them names with --name")
                named[found] = (path, given)
                if seeds:
                    condition_of(found)
                if source is not None:
                    for file in files:
                        refuse_input(file, source.files.values())
                    require_target(
                        settings.out / "results" / found, suite, source, not settings.resume
                    )
        except InputError as e:
            errors.append(e)
    if files and len(named) > 1:
        listed = ", ".join(list(named)[:10])
        raise UsageError(f"numbers of one run go into a file, here are {len(named)}: {listed}")
    return named, errors


def score_one(
    suite: str,
    file: Path | None,
    path: str,
    name: str | None,
    settings: Settings,
    options: Options,
    workers: Workers,
    seeds: bool,
) -> Scored:
    """Score one run, perhaps in another process: the suite goes there by its name and file.

    With `seeds`, a results folder is read.
    """
    speak(settings.lang)
    if file is not None:
        load_suite_file(file)
    how: dict[str, Any] = {
        "name": name,
        "out": settings.out,
        "resampling": settings.resampling,
        "on_error": settings.on_error,
        "workers": workers,
        "fresh": not settings.resume,
        "metrics": settings.metrics,
        **options,
    }
    result: Any = read_runs(path, suite, **how)[0] if seeds else evaluate(suite, path, **how)
    folder = result_folder(path if seeds else result, settings.out / "results" / result.name)
    return Scored(result.name, path, folder, list(headline_lines(result)), current(result))


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


def _refuse_single(suite: Suite, options: Options, n_runs: int) -> None:
    """UsageError where an option that goes with one run is given for several."""
    for name in suite.options.single_run:
        if n_runs > 1 and options.get(name) is not None:
            raise UsageError(f"--{name} goes with one run only")


def headline_lines(result: Run) -> Iterator[str]:
    """The headline numbers of one run, and whether they can be believed."""
    yield result.name
    yield from (f"  {line}" for line in check_lines(result.checks))
    rows = result.estimates_of(*result.headline)
    titles = [
        f"{t} {ARROWS.get(b, ('', ''))[0]}".rstrip() for t, b in zip(rows["title"], rows["better"])
    ]
    width = max(map(len, titles), default=0)
    for title, e in zip(
        titles, plain_estimates(rows, resampling=result.resampling).to_dict("records")
    ):
        yield f"  {title:<{width}} {e['value']:>6} {e['interval']:<16} n={e['n']:<5} {e['metric']}"
    if (verdicts := result.verdicts) is not None:
        for row in verdicts.to_dict("records"):
            yield "  " + verdict_line(row["verdict"], row["title"], row.get("said") or "")
    for p in result.manifest.problems:
        yield f"  {p.severity}: {p.count} x {p.code}" + (
            f", first {p.examples[0]}" if p.examples else ""
        )
    yield f"  {result.signature}"


def run_demo(settings: Settings) -> int:
    """The reports on the bundled examples that app/examples/demo.json lists."""
    batch = Batch(settings)
    for entry in json.loads((EXAMPLES / "demo.json").read_text(encoding="utf-8")):
        suite = get_suite(entry["suite"])
        if entry["seeds"]:
            batch.report_seeds(suite, entry["runs"], {}, baseline=None, primary=None, margin={})
        else:
            batch.report(suite, entry["runs"], {})
    return batch.end()


def check_input(suite: Suite, path: Path, options: Options, problems: Problems) -> None:
    """Every problem of an input, found by the same readers that score it; nothing is written."""
    opts = make_options(suite, options)
    place = resolve(str(path))
    require_input(suite, place)
    for name in suite.run_names(place, problems):
        source = suite.locate(place, name, opts, problems)
        suite.score(source, source.options or opts, problems, Workers(label=""), None)
