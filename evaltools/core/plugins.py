"""Where suites come from: built in, installed (entry points), in a file of the user's, or known from a result only.

Files of the user's are run here, and nowhere else: suites (`--suite-file`) and metrics (`--metrics`).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import Any

import pandas as pd

from .. import BUILT_IN
from .errors import UsageError
from .files import sha256
from .language import use_language_files
from .manifest import NAME, Manifest
from .metric import AnyMetric, make_metric
from .suite import Breakdown, Source, Suite, SuiteOptions, decoded

ENTRY_POINTS = "evaltools.suites"
"""The group of entry points under which installed packages name their suites."""

FROM_FILES: dict[str, Suite] = {}
"""The suites of files that were read, by name."""


def suite_names() -> list[str]:
    """The names of all suites, built-in ones first."""
    names = [entry.name for entry in installed()]
    return list(dict.fromkeys([*BUILT_IN, *FROM_FILES, *names]))


def installed() -> list[EntryPoint]:
    """The suites that installed packages name, none of them loaded; what is no name of a command is passed over."""
    entries = entry_points(group=ENTRY_POINTS)
    return [entry for entry in entries if re.fullmatch(r"\w[\w.-]*", entry.name)]


def get_suite(name: str) -> Suite:
    """The suite of that name: built in, of a file that was read, or installed.

    UsageError for an unknown name, for one that two packages take, and for a suite that cannot be loaded.

    >>> get_suite("cr").title
    'Conflict Review'
    """
    if name in BUILT_IN:
        return import_module(f"{BUILT_IN[name]}.suite").SUITE
    if name in FROM_FILES:
        return FROM_FILES[name]
    entries = [entry for entry in installed() if entry.name == name]
    if len(entries) > 1:
        raise UsageError(f"several packages install a suite {name!r}; remove all but one")
    if entries:
        return _installed_suite(entries[0])
    raise UsageError(
        f"no suite {name!r}; there are {', '.join(suite_names())}, and those of a "
        "file: --suite-file FILE"
    )


def _installed_suite(entry: EntryPoint) -> Suite:
    try:
        suite = entry.load()
        if not isinstance(suite, Suite):
            raise TypeError(f"expected a suite (et.jsonl_suite), got {type(suite).__name__}")
        file = getattr(sys.modules[entry.module], "__file__", None)
        if file:
            use_language_files(Path(file).parent)
            suite = replace(suite, file=Path(file))
    # whatever a stranger raises concerns its own commands only
    except (Exception, SystemExit) as e:
        raise UsageError(
            f"the suite {entry.name!r} is installed but {entry.value} cannot be "
            f"loaded: {type(e).__name__}: {e}"
        ) from e
    return suite


def options(name: str) -> type[SuiteOptions]:
    """The options of a suite as a model: its fields are the named parameters that `evaluate` takes for it.

    >>> options("cr")(protocol="cr_v1").protocol
    'cr_v1'
    """
    return get_suite(name).options


def load_suite_file(path: Path) -> Suite:
    """The SUITE of a Python file, from then on known by its name. UsageError for a file without one."""
    suite = getattr(load_file(path), "SUITE", None)
    if not isinstance(suite, Suite):
        raise UsageError(f"{path}: expected SUITE = et.jsonl_suite(...)")
    if suite.name in BUILT_IN:
        raise UsageError(f"{path}: {suite.name!r} is the name of a built-in suite; give it another")
    FROM_FILES[suite.name] = replace(suite, file=path)
    use_language_files(path.parent)
    return FROM_FILES[suite.name]


def load_file(path: Path) -> ModuleType:
    """A Python file of the user's as a module, run once. UsageError with file and line where it cannot be run."""
    if not path.is_file():
        raise UsageError(f"{path}: no such file")
    name = f"_evaltools_{path.stem}_{sha256(path)[:12]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path}: expected a Python file (.py)")
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as e:  # the user's own code may raise anything
        del sys.modules[name]
        line = e.lineno if isinstance(e, SyntaxError) else _line_in(path, e)
        error = f"{type(e).__name__}: {e}"
        raise UsageError(f"{path}:{line}: {error}") from e
    return module


def _line_in(path: Path, error: BaseException) -> int | str:
    """The last line of a file that an exception went through; "?" where it went through none."""
    line: int | None = None
    for frame in extract_tb(error.__traceback__):
        if Path(frame.filename).resolve() == path.resolve():
            line = frame.lineno
    return line or "?"


def with_metrics(suite: Suite, path: Path) -> Suite:
    """The suite with the metrics of a file: METRICS, and columns(units) -> DataFrame where these need columns.

    UsageError for a file that is no such thing, and for a name or a column that exists.
    """
    module = load_file(path)
    further: Any = getattr(module, "METRICS", None)
    is_table = isinstance(further, list | tuple) and len(further) > 0
    if not is_table or not all(isinstance(metric, AnyMetric) for metric in further):
        raise UsageError(f"{path}: expected METRICS = [et.Metric(...), ...]")
    make_columns = getattr(module, "columns", None)

    def score(source: Source, *arguments: Any) -> pd.DataFrame:
        units = suite.score(source, *arguments)
        if make_columns is None:
            return units
        return _with_columns(units, make_columns, suite, path)

    return replace(
        suite,
        metrics=lambda options: (*suite.metrics(options), *further),
        score=score,
        metrics_file=path,
    )


def _with_columns(
    units: pd.DataFrame,
    make: Callable[[pd.DataFrame], Any],
    suite: Suite,
    path: Path,
) -> pd.DataFrame:
    try:
        columns = make(decoded(units, suite))
    except Exception as e:  # the user's own code may raise anything
        raise UsageError(
            f"{path}:{_line_in(path, e)}: columns(units): {type(e).__name__}: {e}"
        ) from e
    is_frame = isinstance(columns, pd.DataFrame) and columns.index.equals(units.index)
    if not is_frame or units.columns.intersection(columns.columns).any():
        raise UsageError(
            f"{path}: columns(units) must return a DataFrame of new columns with "
            "the index of the units"
        )
    combined = pd.concat([units, columns], axis=1)
    combined.attrs = units.attrs
    return combined


def stored_suite(manifest: Manifest) -> Suite:
    """A suite that only the manifest of a result tells of: numbers can be read, compared and shown, nothing scored."""
    name = manifest.suite

    def unknown(*_: Any) -> Any:
        raise UsageError(
            f"the suite {name!r} is not known here; give its file with --suite-file, or install it"
        )

    table = tuple(make_metric(fields) for fields in manifest.metrics)
    return Suite(
        name=name,
        title=manifest.suite_title or name,
        unit=manifest.bootstrap.unit,
        locate=unknown,
        sniff=lambda path: False,
        score=unknown,
        metrics=lambda options: table,
        headline=lambda options, blocked: tuple(manifest.headline),
        breakdowns=tuple(Breakdown(**fields) for fields in manifest.breakdowns),
    )


def suites_of_path(path: Path) -> list[str]:
    """The names of the suites whose input a path looks like."""
    names = []
    for name in suite_names():
        with suppress(
            Exception
        ):  # one that cannot be loaded is not meant, nor one that cannot tell
            if get_suite(name).sniff(path):
                names.append(name)
    return names


def suite_of_path(path: Path) -> str:
    """The name of the suite that a path looks like an input of; of several, that of the file that was given.

    UsageError where that is none, or several.
    """
    names = suites_of_path(path)
    if len(names) > 1:
        names = [name for name in names if name in FROM_FILES] or names
    if len(names) == 1:
        return names[0]
    if not path.exists():
        raise UsageError(f"{path}: no such run")
    if not names:
        refuse_parent(path, lambda inside: bool(suites_of_path(inside)))
    suites = ", ".join(names) or "no suite"
    raise UsageError(f"{path} looks like an input of {suites}: name it with suite (--suite)")


def require_input(suite: Suite, path: Path) -> None:
    """UsageError that says what a path looks like, where that is no input of the suite but something else."""
    if not path.exists() or suite.sniff(path):
        return
    others = suites_of_path(path)
    if others:
        raise UsageError(f"{path} looks like an input of {', '.join(others)}, not of {suite.name}")
    if (path / NAME).is_file():
        raise UsageError(f"{path} is a results folder; name the input that it was made of")
    refuse_parent(path, suite.sniff)


def refuse_parent(path: Path, is_run: Callable[[Path], bool]) -> None:
    """UsageError that says what to type, where a folder holds runs and is none itself."""
    inside = sorted(path.iterdir()) if path.is_dir() else []
    runs = [run for run in inside if is_run(run)]
    if runs:
        raise UsageError(
            f"{path} is a folder of runs ({len(runs)}), not a run; name them: "
            f"{runs[0]} ... (or {path}/*)"
        )
