"""Where suites come from: built in, installed (entry points), or in a file of the user's.

Files of the user's are run here, and nowhere else: suites (`--suite-file`) and metrics (`--metrics`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import Any

import pandas as pd

from .. import BUILT_IN
from .errors import UsageError, reason
from .files import resolve, sha256
from .metric import AnyMetric
from .suite import Suite, decoded

# the group of entry points under which installed packages name their suites
ENTRY_POINTS = "evaltools.suites"

# the suites of files that were read, by name
FROM_FILES: dict[str, Suite] = {}


def suite_names() -> list[str]:
    """The names of all suites, built-in ones first."""
    installed = sorted(entry_points(group=ENTRY_POINTS).names)
    return list(dict.fromkeys([*BUILT_IN, *FROM_FILES, *installed]))


def get_suite(name: Any) -> Suite:
    """A suite as it is, or that of a name: built in, of a file that was read or whose path the name is, or installed.

    UsageError for an unknown name, and for a suite that cannot be loaded.

    >>> get_suite("cr").title
    'Conflict Review'
    """
    if isinstance(name, Suite):
        return name
    name = str(name)
    if name in BUILT_IN:
        return import_module(f"{BUILT_IN[name]}.suite").SUITE
    if name in FROM_FILES:
        return FROM_FILES[name]
    if name.endswith(".py"):
        return load_suite_file(resolve(name))
    entry = next(iter(entry_points(group=ENTRY_POINTS, name=name)), None)
    if entry is None:
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
    return replace(suite, file=Path(str(sys.modules[entry.module].__file__)))


def load_suite_file(path: Path) -> Suite:
    """The SUITE of a Python file, from then on known by its name. UsageError for a file without one."""
    suite = load_file(path).get("SUITE")
    if not isinstance(suite, Suite):
        raise UsageError(f"{path}: expected SUITE = et.jsonl_suite(...)")
    FROM_FILES[suite.name] = replace(suite, file=path)
    return FROM_FILES[suite.name]


def load_file(path: Path) -> Mapping[str, Any]:
    """What a Python file of the user's defines; it is run once. UsageError with file and line where it cannot be run."""
    if not path.is_file():
        raise UsageError(f"{path}: no such file, or none that can be run")
    if path.suffix != ".py":
        raise UsageError(f"{path}: expected a Python file (.py)")
    return _run_file(path, sha256(path))


@cache
def _run_file(path: Path, content: str) -> Mapping[str, Any]:
    # among the modules, where pydantic looks for what is defined below a model
    module = sys.modules[f"_evaltools_{content}"] = ModuleType(f"_evaltools_{content}")
    module.__file__ = str(path.absolute())
    with own_code(path):
        exec(compile(path.read_bytes(), module.__file__, "exec"), vars(module))  # noqa: S102 - the user's own code
    return vars(module)


@contextmanager
def own_code(path: Path, what: str = "") -> Iterator[None]:
    """UsageError with file and line for whatever code of a file of the user's raises, sys.exit too."""
    try:
        yield
    except (Exception, SystemExit) as e:
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
    is_table = isinstance(further, list | tuple) and len(further) > 0
    if not is_table or not all(isinstance(metric, AnyMetric) for metric in further):
        raise UsageError(f"{path}: expected METRICS = [et.Metric(...), ...]")
    return replace(suite, further=tuple(further), metrics_file=path)


def with_columns(units: pd.DataFrame, suite: Suite) -> pd.DataFrame:
    """The units with the columns that a file of metrics makes of them. UsageError where it makes none."""
    path = suite.metrics_file
    make_columns = load_file(path).get("columns") if path else None
    if path is None or make_columns is None:
        return units
    with own_code(path, "columns(units): "):
        columns = make_columns(decoded(units, suite))
        if not columns.index.equals(units.index):
            raise ValueError("expected a DataFrame with the index of the units")
        return units.join(columns)


def suite_of_path(path: Path) -> str:
    """The name of the suite whose files are named as an input is. UsageError where that is none.

    >>> from .files import example
    >>> suite_of_path(example("cr/no_memory__seed1_proposed"))
    'cr'
    """
    for name in BUILT_IN:
        for pattern in get_suite(name).recognised:
            if path.match(pattern) or (path.is_dir() and next(path.glob(pattern), None)):
                return name
    raise UsageError(f"{path} does not say by its name which suite it is of: name it with --suite")
