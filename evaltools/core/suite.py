"""What a suite is: the kind of records it reads, how it scores them, its metrics, and what its pages show.

The built-in suites and a stranger's are made of the same `Suite`; nothing outside `evaltools/suites` knows which
suites there are. `jsonl_suite` makes one for JSON Lines files, from a record model and a function that gives what the
metrics sum.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import Any, ClassVar, NamedTuple

import pandas as pd
from pandas import DataFrame
from pydantic import BaseModel

from .. import BUILT_IN
from .estimates import Check
from .files import Fields, Names, code_hash, resolve, sha256
from .messages import InputError, Problems, UsageError, WorkFailed, reason
from .metric import AnyMetric, MetricTable
from .records import File, read_jsonl, short

# keywords of `evaluate`, `study` and `compare`, and options of the commands
TAKEN = {
    "all", "baseline", "better", "candidate", "ci", "confidence", "csv", "difference", "fresh", "jobs", "lang", "margin",
    "metric", "metrics", "n_resamples", "name", "on_error", "out", "paper", "power", "primary", "query", "quiet",
    "resampling", "resume", "run", "runs", "scheduler", "seed", "seeds", "suite", "suite_file", "verbose", "workers",
}  # fmt: skip


class SuiteOptions(BaseModel, frozen=True, extra="forbid"):
    """Options of a suite that change its numbers. Every field goes into the policy and its hash.

    The fields become options of the command line and keywords of `evaluate`, whose own names (TAKEN) they cannot have;
    their descriptions are the help texts.

    >>> class Options(SuiteOptions):
    ...     threshold: float = 0.5
    >>> Options(threshold=0.8).policy(), Options.settable()
    ({'threshold': 0.8}, ['threshold'])
    """

    derived: ClassVar[Names] = ()
    """Options that follow from the content of a file: `locate` sets them, users do not."""

    costly: ClassVar[Names] = ()
    """Options by which something may be spent or sent to somebody. `check` lacks them, and no manifest sets them."""

    def policy(self) -> Fields:
        """All that decides the numbers, as JSON; a suite adds the hashes of its rule files."""
        return self.model_dump(mode="json")

    def signature(self) -> dict[str, str]:
        """The suite's own parts of the signature line, in order."""
        return {}

    @classmethod
    def settable(cls) -> list[str]:
        """The names of the options that a user sets."""
        return [name for name in cls.model_fields if name not in cls.derived]

    @classmethod
    def free(cls) -> list[str]:
        """Those of them that spend nothing and send nothing to anybody."""
        return [name for name in cls.settable() if name not in cls.costly]


@dataclass(frozen=True)
class Source:
    """One run to score.

    `files`: its input files by role, all hashed into the manifest, the main one first. `options`: the options with
    what follows from the content of the files; None where nothing does. `out`: the folder under which results are written,
    None where none are.

    >>> Source("seed1", {"records": Path("seed1.jsonl")}).name
    'seed1'
    """

    name: str
    files: Mapping[str, Path]
    options: SuiteOptions | None = None
    out: Path | None = None

    @property
    def main(self) -> Path:
        """The path of the main file."""
        return next(iter(self.files.values()))


class Scored(NamedTuple):
    """What scoring a run gives: its units, and further fields of the manifest."""

    units: DataFrame
    recorded: Mapping[str, Any] = {}


@dataclass(frozen=True)
class Breakdown:
    """Units split by `column`: the generic notebook shows the named metrics in each part.

    >>> Breakdown("Language", "language", ("accuracy",)).column
    'language'
    """

    title: str
    column: str
    metrics: Names


@dataclass(frozen=True, kw_only=True)
class Suite:
    """All that the package needs to know of a suite. `docs/extending.md` makes one step by step.

    >>> from evaltools.core.suite import get_suite
    >>> suite = get_suite("memfin")
    >>> suite.unit, suite.title
    ('dialog_id', 'MemFin: financial dialogues')

    Reading

    - `name`, `title`: on the command line, and on pages.
    - `unit`: the column of the units frame that names the resampling unit.
    - `options`: the model of its options.
    - `recognised`: of built-in suites, patterns of the names of files by which an input is known without `--suite`.
    - `locate(path, name, options, problems)`: the `Source` of a run. `name` replaces the name that the path gives.
    - `runs(path, problems)`: where one input may hold several runs, their names; `locate` then gets each of them.
    - `score(source, options, problems, workers, aside)`: the units, a frame with one row a unit, or `Scored`. It reports
      bad records to `problems`. Into the folder `aside` (None: nowhere, as under a query) it may write files that belong
      to the result.

    Numbers

    - `metrics(options)`: the metric table.
    - `headline(options, blocked)`: the names of the metrics that lead every page, that which the verdict is about first.
      `blocked` holds the metrics that a check blocks; those are left out of what it gives.
    - `checks(run)`: what a reader must know before believing a number, besides the checks of every suite.
    - `verdicts(run)`: for a suite that judges single metrics, a frame with a row a metric: `metric`, `title`,
      `verdict` ("pass", "look", "fail", "not measured", or "no threshold" where it is not judged), `said` (what it
      rests on, half a sentence), and further columns of its own. It stands in metrics.json; pages, terminal and
      `gate` show it.

    What is written and shown

    - `artifacts(run, folder)`: writes the suite's own files of results/<run>/.
    - `notebook`, `study_notebook`: the report of one run, and of several: a file of `notebooks/`, or a path; by default,
      and for None, run.ipynb and seeds.ipynb.
    - `paper`: the metrics of the table for a paper; by default the headline.
    - `together`: whether the runs of one `report` command are systems of one report.
    - `sample_view(shown)`: how the samples of a run or study are browsed (`report.samples.SampleView`); by default a
      card a unit. `finding(run)`: the title of a run's page and the numbers behind it; None for the usual one.
    - `decode`: columns that the files hold as text -> the function that reads them for `run.units`.
    - `breakdowns`: by which columns the generic notebook splits the units, and which metrics it shows in each part.

    For the package itself

    - `runner`: the files of a run that its own inference makes; the first marks such a folder. `file`: the Python file
      that the suite came from; `code`: the hash of its code. `metrics_file`: a Python file of the user's with
      metrics, which are `further`.
    """

    name: str
    title: str
    unit: str
    locate: Callable[..., Source]
    score: Callable[..., DataFrame | Scored]
    metrics: Callable[[Any], MetricTable]
    headline: Callable[..., Names]
    recognised: Names = ()
    options: type[SuiteOptions] = SuiteOptions
    runs: Callable[..., Sequence[str | None]] | None = None
    checks: Callable[[Any], Iterable[Check]] | None = None
    verdicts: Callable[[Any], DataFrame] | None = None
    artifacts: Callable[[Any, Path], None] | None = None
    notebook: str | Path | None = None
    study_notebook: str | Path | None = None
    paper: Names = ()
    together: bool = False
    sample_view: Callable[[Any], Any] | None = None
    finding: Callable[[Any], tuple[str, str] | None] | None = None
    decode: Mapping[str, Callable[[str], Any]] = field(default_factory=dict)
    breakdowns: tuple[Breakdown, ...] = ()
    runner: Names = ()
    file: Path | None = None
    code: str = ""
    metrics_file: Path | None = None
    further: tuple[AnyMetric, ...] = ()

    def __post_init__(self) -> None:
        if clash := sorted(TAKEN.intersection(self.options.model_fields)):
            raise UsageError(
                f"suite {self.name!r}: an option cannot be named {', '.join(clash)}; the names that are taken: "
                f"{', '.join(sorted(TAKEN))}"
            )

    def table(self, options: Any) -> MetricTable:
        """The metric table, with the metrics of a file."""
        return (*self.metrics(options), *self.further)


def decoded(
    units: DataFrame,
    suite: Suite,
) -> DataFrame:
    """The units as people read them: lists instead of the text that the files hold."""
    return units.assign(
        **{
            name: units[name].map(read, "ignore")
            for name, read in suite.decode.items()
            if name in units
        }
    )


def jsonl_suite(
    name: str,
    *,
    title: str,
    record: type[BaseModel],
    unit: str,
    columns: Callable[..., Fields],
    metrics: Sequence[AnyMetric],
    headline: Sequence[str],
    options: type[SuiteOptions] = SuiteOptions,
    **fields: Any,
) -> Suite:
    """A suite for JSON Lines files: `record` reads a line, `columns(record)` gives the columns that metrics sum.

    `unit` is the field of the record that names it; records are the resampling units. `headline` names the metrics
    that lead every page, the first being the primary one. Numbers, booleans and texts of the record stand in the
    units beside the columns.

    `columns(record, options)` gets the options too where there is a model of them. Further `fields` are those of
    `Suite`: checks, breakdowns, notebook, verdicts, artifacts, study_notebook and the like.

    A line that does not fit, a doubled id and an error in `columns` are problems of the input, reported with their
    line. UsageError for the name of a built-in suite, for a `record` without the field `unit`, and for a headline of
    what is no metric. docs/extending.md makes one.

    >>> from evaltools.core.metric import Metric
    >>> class Record(BaseModel):
    ...     id: str; gold: str; pred: str
    >>> labels = jsonl_suite(
    ...     "labels", title="Labels", record=Record, unit="id",
    ...     columns=lambda r: {"n": 1, "right": r.gold == r.pred},
    ...     metrics=[Metric(name="accuracy", numerator="right", denominator="n", better="higher")],
    ...     headline=("accuracy",),
    ... )
    >>> labels.name
    'labels'
    """
    table, names = tuple(metrics), tuple(headline)
    if name in BUILT_IN:
        raise UsageError(f"suite {name!r}: that is the name of a built-in suite")
    if not hasattr(record, unit) and unit not in getattr(record, "model_fields", {}):
        raise UsageError(
            f"suite {name!r}: expected record as a pydantic model with the field {unit}"
        )
    unknown = sorted({*names} - {metric.name for metric in table})
    if unknown:
        raise UsageError(
            f"suite {name!r}: headline names {', '.join(unknown)}, which is no metric of it"
        )
    return Suite(
        name=name,
        title=title,
        unit=unit,
        options=options,
        locate=_locate,
        score=partial(_score, record, unit, columns),
        metrics=lambda opts: table,
        headline=lambda opts, blocked: names,
        **fields,
    )


def _locate(
    path: Path,
    name: str | None,
    options: SuiteOptions,
    problems: Problems,
) -> Source:
    File(path, problems)
    return Source(name or path.stem, {"records": path})


def _score(
    record: type[BaseModel],
    unit: str,
    columns: Callable[..., Fields],
    source: Source,
    options: SuiteOptions,
    problems: Problems,
    *_: Any,
) -> DataFrame:
    """The units of a file of records: its numbers, booleans and texts, and the columns that metrics sum."""
    file = File(source.files["records"], problems)
    arguments = () if type(options) is SuiteOptions else (options,)
    rows = []
    nulls: Fields = {}
    records = file.unique(
        read_jsonl(file, record), lambda entry: str(getattr(entry, unit)), f"record of this {unit}"
    )
    for line, entry in records:
        uid = str(getattr(entry, unit))
        fields = entry.model_dump().items()
        plain = {name: value for name, value in fields if isinstance(value, str | int | float)}
        try:
            sums = columns(entry, *arguments)
            for name, value in sums.items():
                if not pd.api.types.is_scalar(value):
                    raise TypeError(
                        f"{short(name)}: expected a number or a text, got {short(value)}"
                    )
            nulls |= dict.fromkeys(sums)
            rows.append(({"line": line, **plain}, {**sums, unit: uid}))
        except Exception as e:  # noqa: BLE001 - the user's own code may raise anything
            file.error(
                "bad-columns",
                f"columns(record): {reason(e)}",
                line=line,
                id=uid,
            )
    # a column that a record does not have is null, not a field of that name
    return DataFrame([plain | nulls | sums for plain, sums in rows])


# the group of entry points under which installed packages name their suites
ENTRY_POINTS = "evaltools.suites"

# the suites of files that were read, by name
FROM_FILES: dict[str, Suite] = {}


# --- where suites come from: built in, installed (entry points), or in a file of the user's, whose code is run here alone


def suite_names() -> list[str]:
    """The names of all suites, built-in ones first."""
    installed = sorted(entry_points(group=ENTRY_POINTS).names)
    return list(dict.fromkeys([*BUILT_IN, *FROM_FILES, *installed]))


def get_suite(suite: Any) -> Suite:
    """A suite as it is, that of a name (`named_suite`), or that of a Python file whose path is given.

    UsageError for an unknown name, and for a suite that cannot be loaded.

    >>> get_suite("cr").title
    'Conflict Review'
    """
    if isinstance(suite, Suite):
        return suite
    name = str(suite)
    return load_suite_file(resolve(name)) if name.endswith(".py") else named_suite(name)


def named_suite(name: str) -> Suite:
    """The suite of a name: built in, of a file that was read before, or installed. UsageError as `get_suite`."""
    if name in BUILT_IN:
        return import_module(f"{BUILT_IN[name]}.suite").SUITE
    if name in FROM_FILES:
        return FROM_FILES[name]
    entry = next(iter(entry_points(group=ENTRY_POINTS, name=name)), None)
    if not entry:
        raise UsageError(
            f"no suite {name!r}; there are {', '.join(suite_names())}, and those of a "
            'file: --suite-file FILE, before the name (in Python et.get_suite("FILE"), once)'
        )
    try:
        suite = entry.load()
        if not isinstance(suite, Suite):
            raise TypeError(f"expected a suite (et.jsonl_suite), got {type(suite).__name__}")
    # whatever a stranger raises concerns its own commands only
    except (Exception, SystemExit) as e:
        raise UsageError(
            f"the suite {name!r} is installed but {entry.value} cannot be loaded: {reason(e)}"
        ) from e
    file = Path(str(sys.modules[entry.module].__file__))
    return replace(suite, file=file, code=sha256(file))


def load_suite_file(path: Path) -> Suite:
    """The SUITE of a Python file, from then on known by its name. UsageError for a file without one."""
    suite = load_file(path).get("SUITE")
    if not isinstance(suite, Suite):
        raise UsageError(f"{path}: expected SUITE = et.jsonl_suite(...)")
    suite = FROM_FILES[suite.name] = replace(suite, file=path, code=code_hash(path))
    return suite


def load_file(path: Path) -> Fields:
    """What a Python file of the user's defines; it is run once. UsageError with file and line where it cannot be run."""
    if not path.is_file():
        raise UsageError(f"{path}: no such file, or none that can be run")
    if path.suffix != ".py":
        raise UsageError(f"{path}: expected a Python file (.py)")
    with own_code(path):
        return _run_file(path, code_hash(path))


@cache
def _run_file(path: Path, content: str) -> Fields:
    # among the modules, where pydantic looks for what is defined below a model
    module = sys.modules[f"_evaltools_{content}"] = ModuleType(f"_evaltools_{content}")
    module.__file__ = str(path.absolute())
    exec(compile(path.read_bytes(), module.__file__, "exec"), vars(module))  # noqa: S102 - the user's own code
    return vars(module)


@contextmanager
def own_code(path: Path | None, what: str = "") -> Iterator[None]:
    """UsageError with file and line for whatever code of a file of the user's raises, sys.exit too.

    What the package itself has to say of input or of lost work stays as it is, and so does all of a suite without a
    file (None).
    """
    try:
        yield
    except (Exception, SystemExit) as e:
        if not path or isinstance(e, InputError | WorkFailed):
            raise
        lines = [
            f.lineno for f in extract_tb(e.__traceback__) if f.filename == str(path.absolute())
        ]
        line = [e.lineno] if isinstance(e, SyntaxError) else lines[-1:]
        place = ":".join(map(str, [path, *line]))
        raise UsageError(f"{place}: {what}{reason(e)}") from e


def with_metrics(suite: Suite, path: Path) -> Suite:
    """The suite with the metrics of a file: METRICS, and columns(units) -> DataFrame where these need columns.

    UsageError for a file that is no such thing, and for a name or a column that exists.
    """
    further: Any = load_file(path).get("METRICS")
    is_list = isinstance(further, list | tuple) and further
    if not is_list or not all(isinstance(metric, AnyMetric) for metric in further):
        raise UsageError(f"{path}: expected METRICS = [et.Metric(...), ...]")
    return replace(suite, further=tuple(further), metrics_file=path)
