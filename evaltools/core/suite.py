"""What a suite is, and where suites come from: built in, installed (entry points), or in a file of the user's.

A suite brings a record model, a `score` function and a metric table; nothing outside of the suites' own
packages knows which suites there are.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import Any, TypeVar

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field
from pydantic.fields import FieldInfo

from .. import BUILT_IN
from .check import Check
from .errors import Problems, UsageError
from .files import sha256
from .language import bring
from .metric import AnyMetric, Difference, Mean, Metric, MetricTable, make_metric
from .names import nearest
from .records import first_line, read_jsonl, require_file

ENTRY_POINTS = "evaltools.suites"

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, kw_only=True)
class Workers:
    """Where work is done: here in this process, elsewhere by `app.workers`. Results never depend on it.

    `label` names the work in a progress bar; "" shows none.
    """

    label: str = ""

    def map(self, call: Callable[[T], R], tasks: Sequence[T]) -> list[R]:
        """call(task) for every task, in the order of the tasks."""
        return [call(task) for task in tasks]


Derived = Field("", json_schema_extra={"derived": True})
"""An option that follows from the content of a file: not to be given, and no option of the command line."""


COSTLY: dict[str, Any] = {"costly": True}
"""The mark (json_schema_extra) of options that stay out where nothing may be spent, as in `check`."""


def mark(option: FieldInfo) -> Mapping[str, Any]:
    """What an option is marked as: derived, costly, below_out, shared, single."""
    return option.json_schema_extra if isinstance(option.json_schema_extra, dict) else {}


class SuiteOptions(BaseModel):
    """Options of a suite that change its numbers. Every field goes into the policy and its hash.

    The fields become options of the command line: their descriptions are the help texts.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    def policy(self) -> dict[str, Any]:
        """All that decides the numbers, as JSON; a suite adds the hashes of its rule files."""
        return self.model_dump(mode="json")

    def signature(self) -> dict[str, str]:
        """The suite's own parts of the signature line, in order."""
        return {}

    @classmethod
    def shared(cls) -> set[str]:
        """The names of the options that are numbers spent by all runs of a command together."""
        return {n for n, f in cls.model_fields.items() if "shared" in mark(f)}

    @classmethod
    def given(cls, *, costly: bool = True) -> list[str]:
        """The names of the options that a user gives; without those marked as costly, where nothing may be spent."""
        marks = {n: mark(f) for n, f in cls.model_fields.items()}
        return [
            n
            for n, marked in marks.items()
            if "derived" not in marked and (costly or "costly" not in marked)
        ]


class Budget:
    """The options of the runs of one command, of which those marked as shared are numbers spent by all together."""

    def __init__(self, options: Mapping[str, Any], runs: int):
        self.options, self.runs, self.left = options, runs, dict[str, int]()

    def part(self, model: type[SuiteOptions]) -> dict[str, Any]:
        """The options of the next run: of what is shared it gets an equal part of what is left."""
        shared = {k: v for k, v in self.options.items() if v is not None and k in model.shared()}
        self.left = {**shared, **self.left}
        parts = {k: -(-self.left[k] // max(self.runs, 1)) for k in shared}
        self.left |= {k: self.left[k] - part for k, part in parts.items()}
        self.without()
        return {**self.options, **parts}

    def without(self) -> None:
        """One of the runs spends nothing: there is more for the others."""
        self.runs -= 1

    def back(self, part: Mapping[str, Any], spent: Mapping[str, int]) -> None:
        """What a run did not spend of its part is there for those after it."""
        self.left |= {
            k: self.left[k] + part[k] - min(n, part[k]) for k, n in spent.items() if k in self.left
        }


def spread(model: type[SuiteOptions], options: Mapping[str, Any], n: int) -> list[dict[str, Any]]:
    """The options of each of n runs of one command that do not wait for each other: equal parts of what is shared.

    UsageError where an option is of a single run.
    """
    for name in [
        k for k, v in options.items() if v is not None and "single" in mark(model.model_fields[k])
    ]:
        if n > 1:
            raise UsageError(f"--{name} goes with one run only")
    budget = Budget(options, n)
    return [budget.part(model) for _ in range(n)]


@dataclass(frozen=True)
class Source:
    """One run to score: its name and its input files by role (all hashed into the manifest)."""

    name: str
    files: Mapping[str, Path]


@dataclass(frozen=True)
class Breakdown:
    """Units split by `column`; the named metrics are estimated in each part."""

    title: str
    column: str
    metrics: tuple[str, ...]


Columns = Callable[[pd.DataFrame], pd.DataFrame]


@dataclass(frozen=True, kw_only=True)
class Suite:
    """What the package needs to know of a suite.

    `unit`: the column that names the resampling unit; `row`: the columns that identify a row of the
    units frame. `input` is what a run is called on the command line. `locate(path, name, options, problems)`
    finds the files of a run; `sniff(path)` says whether a path looks like one. Where one input may hold several runs,
    `runs(path, problems)` gives their names, by which they are located. Where metrics follow from the content
    of the files, `fit(source, options, problems)` gives the options with what was found, in fields that are derived.
    `intervals(estimates, units, options, resampling)` gives the estimates with the intervals that the suite makes
    itself. `score(source, options, problems,
    workers, aside)` makes the units frame; into `aside` (None: nowhere) it may write files that belong to the
    result. `metrics(options)` and `headline(options)` are the metric table and the names that lead every page.
    `artifacts(result, folder)` writes the suite's own files under results/<run>/.
    `notebook` reports on one run, `study_notebook` on several; with `together`, the runs of one `report` command
    are systems of one report. `views` names the module with what the suite shows (`report.view`).
    `decode`: columns that stand as text in the files -> what they are in `units`.
    `agreement` names the columns of predicted tuples and label in which seeds can agree, where there are such.
    `text` is the column of the text that units have, "" without one. `given` are the columns of texts that systems
    were given, by which runs of other samples are told apart, `wrote` those of texts that they wrote: people search
    in both. `checks(result)` finds what a reader must know before believing a number; where a blocking check takes
    away a metric of the headline, `instead(options)` leads, by default what is left of it.
    `verdicts(result)`, of a suite that judges single metrics, is a frame with a row a metric: `metric` (its name),
    `title`, `verdict` ("pass", "fail", "not measured", or "no threshold" where it is not judged), `said` (what the
    verdict rests on, half a sentence), and what columns it likes besides. It stands in metrics.json, and pages,
    terminal and `gate` show it.
    `spent(result)` says how much of each shared option a run spent.
    `lead` is the place in the headline of the metric that is shown large and gives the verdict.
    `commands` names the module with the suite's own commands. `runner`: the files of a run that the suite's own
    inference makes, the one that marks such a folder first. `file` is the file that the suite came from, and
    `metrics_file` one with further metrics, both of the user's.
    """

    name: str
    title: str
    unit: str
    row: tuple[str, ...]
    locate: Callable[[Path, str | None, Any, Problems], Source]
    sniff: Callable[[Path], bool]
    score: Callable[[Source, Any, Problems, Workers, Path | None], pd.DataFrame]
    metrics: Callable[[Any], MetricTable]
    headline: Callable[[Any], tuple[str, ...]]
    runs: Callable[[Path, Problems], Sequence[str]] | None = None
    fit: Callable[[Source, Any, Problems], Any] = lambda source, options, problems: options
    intervals: Callable[[pd.DataFrame, pd.DataFrame, Any, Any], pd.DataFrame] | None = None
    options: type[SuiteOptions] = SuiteOptions
    input: str = "INPUT"
    artifacts: Callable[[Any, Path], None] | None = None
    notebook: str = "run.ipynb"
    study_notebook: str = "seeds.ipynb"
    together: bool = False
    views: str = ""
    decode: Mapping[str, Callable[[str], Any]] = field(default_factory=dict)
    breakdowns: tuple[Breakdown, ...] = ()
    agreement: tuple[str, str] | None = None
    lead: int = 0
    text: str = ""
    given: tuple[str, ...] = ()
    wrote: tuple[str, ...] = ()
    checks: Callable[[Any], Iterable[Check]] = lambda result: ()
    verdicts: Callable[[Any], pd.DataFrame] | None = None
    spent: Callable[[Any], Mapping[str, int]] = lambda result: {}
    instead: Callable[[Any], tuple[str, ...]] | None = None
    commands: str = ""
    runner: tuple[str, ...] = ()
    file: Path | None = None
    metrics_file: Path | None = None

    @property
    def metrics_hash(self) -> str:
        """What identifies the metrics of the user's own; "" without any."""
        return sha256(self.metrics_file)[:12] if self.metrics_file else ""

    def leading(self, options: Any, blocked: frozenset[str]) -> tuple[str, ...]:
        """The headline without what checks block, of `instead` where they block its lead."""
        usual = self.headline(options)
        led = self.instead is None or not blocked & set(usual[self.lead : self.lead + 1])
        names = usual if led or self.instead is None else self.instead(options)
        return tuple(name for name in names if name not in blocked)

    def primary(self, options: Any, headline: tuple[str, ...]) -> str:
        """The metric that leads a headline: the suite's own, or what stands in its place; "" where there is none."""
        own = self.headline(options)[self.lead : self.lead + 1]
        return next(
            iter([*(set(own) & set(headline)), *headline[self.lead :], *headline[::-1]]), ""
        )

    def plus(self, own: Sequence[Mapping[str, Any]]) -> Suite:
        """The suite with further metrics, given by their fields."""
        more = tuple(make_metric(m) for m in own)
        return replace(self, metrics=lambda options: (*self.metrics(options), *more))

    def runs_of(self, path: Path, problems: Problems) -> Sequence[str | None]:
        """The names by which the runs of an input are located; of an input that is one run, its own name (None)."""
        return [None] if self.runs is None else self.runs(path, problems)

    def metric(self, name: str, options: Any) -> AnyMetric:
        """The metric of that name; UsageError names those that come closest."""
        table = {m.name: m for m in self.metrics(options)}
        if name not in table:
            raise UsageError(f"no metric {name!r} in {self.name}; {nearest(name, list(table))}")
        return table[name]


FROM_FILES: dict[str, Suite] = {}
"""The suites of files that were read, by name."""


def suite_names() -> list[str]:
    """The names of all suites that there are, built in first."""
    return list(
        dict.fromkeys([*BUILT_IN, *FROM_FILES, *(e.name for e in entry_points(group=ENTRY_POINTS))])
    )


def get_suite(name: str) -> Suite:
    """The suite of that name: built in, of a file that was read, or installed.

    UsageError for an unknown name, and for one that is installed but cannot be loaded.

    >>> get_suite("cr").title
    'Conflict Review'
    """
    if name in BUILT_IN:
        return import_module(f"{BUILT_IN[name]}.suite").SUITE
    if name in FROM_FILES:
        return FROM_FILES[name]
    for entry in entry_points(group=ENTRY_POINTS):
        if entry.name == name:
            try:
                suite = _checked(entry.load(), f"{entry.value} of the installed suite {name!r}")
                bring(Path(str(sys.modules[entry.module].__file__)).parent)
                return suite
            except UsageError:
                raise
            except (
                Exception
            ) as e:  # whatever a stranger's module raises concerns its own commands only
                raise UsageError(
                    f"the suite {name!r} is installed but {entry.value} cannot be loaded: {type(e).__name__}: {e}"
                ) from e
    raise UsageError(
        f"no suite {name!r}; there are {', '.join(suite_names())}, and those of a file: --suite-file FILE"
    )


def options(name: str) -> type[SuiteOptions]:
    """The options of a suite as a model: its fields are the named parameters that `evaluate` takes for it.

    >>> options("cr")(protocol="cr_v1").protocol
    'cr_v1'
    """
    return get_suite(name).options


def _checked(suite: Any, what: str) -> Suite:
    if not isinstance(suite, Suite):
        raise UsageError(f"{what} is {type(suite).__name__}; expected a suite (et.jsonl_suite)")
    return suite


def load_file(path: Path) -> ModuleType:
    """A Python file of the user's as a module. UsageError with file and line where it cannot be run."""
    if not path.is_file():
        raise UsageError(f"{path}: no such file")
    name = f"_evaltools_{path.stem}_{sha256(path)[:12]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path}: expected a Python file (.py)")
    sys.modules[name] = module_from_spec(spec)
    try:
        spec.loader.exec_module(sys.modules[name])
    except Exception as e:  # the user's own code may raise anything
        del sys.modules[name]
        at = e.lineno if isinstance(e, SyntaxError) else _line_in(path, e)
        raise UsageError(f"{path}:{at}: {type(e).__name__}: {e}") from e
    return sys.modules[name]


def _line_in(path: Path, error: BaseException) -> int | str:
    """The line of a file in which an exception arose."""
    lines = [
        f.lineno
        for f in extract_tb(error.__traceback__)
        if Path(f.filename).resolve() == path.resolve()
    ]
    return lines[-1] if lines and lines[-1] is not None else "?"


def load_suite_file(path: Path) -> Suite:
    """The SUITE of a Python file, from then on known by its name. UsageError for a file without one."""
    module = load_file(path)
    if not hasattr(module, "SUITE"):
        raise UsageError(f"{path}: expected SUITE = et.jsonl_suite(...)")
    suite = _checked(module.SUITE, f"SUITE of {path}")
    if suite.name in BUILT_IN:
        raise UsageError(f"{path}: {suite.name!r} is the name of a built-in suite; give it another")
    FROM_FILES[suite.name] = replace(suite, file=path)
    bring(path.parent)
    return FROM_FILES[suite.name]


def with_metrics(suite: Suite, path: Path) -> Suite:
    """The suite with the metrics of a file: METRICS, and columns(units) -> DataFrame where these need columns.

    UsageError for a file that is no such thing, and for a name or a column that exists.
    """
    module = load_file(path)
    own = getattr(module, "METRICS", None)
    if (
        not isinstance(own, list | tuple)
        or not own
        or not all(isinstance(m, Metric | Difference | Mean) for m in own)
    ):
        raise UsageError(f"{path}: expected METRICS = [et.Metric(...), ...]")
    make = getattr(module, "columns", None)

    def metrics(options: Any) -> MetricTable:
        table = suite.metrics(options)
        if taken := {m.name for m in table} & {m.name for m in own}:
            raise UsageError(
                f"{path}: {', '.join(sorted(taken))} is a metric of {suite.name} already"
            )
        return (*table, *own)

    def score(
        source: Source, options: Any, problems: Problems, workers: Workers, aside: Path | None
    ) -> pd.DataFrame:
        units = suite.score(source, options, problems, workers, aside)
        return units if make is None else _with_columns(units, make, suite, path)

    return replace(suite, metrics=metrics, score=score, metrics_file=path)


def _with_columns(units: pd.DataFrame, make: Columns, suite: Suite, path: Path) -> pd.DataFrame:
    try:
        added = make(decoded(units, suite))
    except Exception as e:  # the user's own code may raise anything
        raise UsageError(
            f"{path}:{_line_in(path, e)}: columns(units): {type(e).__name__}: {e}"
        ) from e
    if not isinstance(added, pd.DataFrame) or not added.index.equals(units.index):
        raise UsageError(
            f"{path}: columns(units) must return a DataFrame with the index of the units"
        )
    if taken := [str(c) for c in added.columns if c in units]:
        raise UsageError(f"{path}: the units have the columns {', '.join(taken)} already")
    out = pd.concat([units, added], axis=1)
    out.attrs = units.attrs
    return out


def decoded(units: pd.DataFrame, suite: Suite) -> pd.DataFrame:
    """The units as people read them: lists instead of the text that they stand as in the files."""
    there = {c: f for c, f in suite.decode.items() if c in units}
    return units.assign(
        **{
            c: [f(v) if isinstance(v, str) else v for v in units[c].astype(object)]
            for c, f in there.items()
        }
    )


def stored_suite(
    name: str, title: str, unit: str, headline: Sequence[str], metrics: Sequence[Mapping[str, Any]]
) -> Suite:
    """A suite that only its results are known of: its numbers can be read, compared and shown, nothing scored."""

    def unknown(*_: Any) -> Any:
        raise UsageError(
            f"the suite {name!r} is not known here; give its file with --suite-file, or install it"
        )

    table = tuple(make_metric(m) for m in metrics)
    return Suite(
        name=name,
        title=title or name,
        unit=unit,
        row=(unit,),
        locate=unknown,
        sniff=lambda path: False,
        score=unknown,
        metrics=lambda options: table,
        headline=lambda options: tuple(headline),
    )


def looks_like(path: Path) -> list[str]:
    """The suites whose input a path looks like."""
    found = []
    for name in suite_names():
        with suppress(UsageError, OSError):
            if get_suite(name).sniff(path):
                found.append(name)
    return found


def require_input(suite: Suite, path: Path) -> None:
    """UsageError that says what a path looks like, where that is no input of the suite but something else."""
    if not path.exists() or suite.sniff(path):
        return
    if others := looks_like(path):
        raise UsageError(
            f"{path} looks like an input of {' or '.join(others)}, not of {suite.name}"
        )
    refuse_parent(path, suite.sniff)


def refuse_parent(path: Path, is_run: Callable[[Path], Any]) -> None:
    """UsageError that says what to type where a folder holds runs and is none itself."""
    inside = [p for p in sorted(path.iterdir()) if is_run(p)] if path.is_dir() else []
    if inside:
        runs = "1 run" if len(inside) == 1 else f"{len(inside)} runs"
        raise UsageError(
            f"{path} holds {runs}, it is none; name them: {inside[0]} ... (or {path}/*)"
        )


def jsonl_suite(
    name: str,
    *,
    title: str,
    record: type[BaseModel],
    unit: str,
    columns: Callable[[Any], Mapping[str, Any]],
    metrics: Sequence[AnyMetric],
    headline: Sequence[str],
    input: str = "FILE",
) -> Suite:
    """A suite of one's own for JSON Lines files: `record` reads a line, `columns(record)` gives what metrics sum.

    `unit` is the field of the record that names it; records are the resampling units. `headline` names the metrics
    that lead every page. Numbers, booleans and texts of the record stand in the units beside the columns. A line that
    does not fit the record, an id that comes twice and an error in `columns` are problems of the input, with
    their line. UsageError for a headline that is no metric. docs/extending.md shows one whole.

    >>> class Record(BaseModel):
    ...     id: str
    ...     gold: str
    ...     pred: str
    >>> labels = jsonl_suite("labels", title="Labels", record=Record, unit="id", headline=("accuracy",),
    ...     columns=lambda r: {"n": 1, "right": r.gold == r.pred},
    ...     metrics=[Metric(name="accuracy", numerator="right", denominator="n", better="higher", proportion=True)])
    >>> labels.name
    'labels'
    """
    table, lead = tuple(metrics), tuple(headline)
    if unknown := sorted(set(lead) - {m.name for m in table}):
        raise UsageError(
            f"suite {name!r}: the headline names {', '.join(unknown)}, which is no metric of it"
        )
    return Suite(
        name=name,
        title=title,
        unit=unit,
        row=(unit,),
        input=input,
        locate=_one_file,
        sniff=partial(_fits, record),
        score=partial(_score_records, record, unit, columns),
        metrics=lambda options: table,
        headline=lambda options: lead,
        wrote=tuple(n for n, f in record.model_fields.items() if f.annotation is str and n != unit),
    )


def _one_file(path: Path, name: str | None, options: Any, problems: Problems) -> Source:
    require_file(path, problems)
    return Source(name or path.stem, {"records": path})


def _fits(record: type[BaseModel], path: Path) -> bool:
    """Whether the first record of a file is one."""
    try:
        record.model_validate_json(first_line(path))
    except (OSError, ValueError):
        return False
    return True


def _score_records(
    record: type[BaseModel],
    unit: str,
    columns: Callable[[Any], Mapping[str, Any]],
    source: Source,
    options: Any,
    problems: Problems,
    workers: Workers,
    aside: Path | None,
) -> pd.DataFrame:
    """The units of a file of records."""
    path, seen = source.files["records"], dict[str, int]()
    rows = []
    for line, one in read_jsonl(path, record, problems, id_field=unit):
        uid = str(getattr(one, unit))
        where = {"file": str(path), "line": line, "id": uid}
        if uid in seen:
            message = f"a second record of this {unit}; the first is on line {seen[uid]}"
            problems.error("duplicate-id", message, **where)
            continue
        seen[uid] = line
        try:
            made = dict(columns(one))
        except Exception as e:  # noqa: BLE001 - the user's own code may raise anything
            problems.error("bad-columns", f"columns(record): {type(e).__name__}: {e}", **where)
            continue
        shown = {k: v for k, v in one.model_dump().items() if isinstance(v, str | int | float)}
        rows.append(
            {unit: uid, **{k: v for k, v in shown.items() if k != unit}, **made, "line": line}
        )
    problems.raise_if_failed()
    if not rows:
        raise problems.fatal("no-rows", "no line of the file can be used", file=str(path))
    units = pd.DataFrame(rows)
    units.attrs["rows"] = {"records": len(seen)}
    return units
