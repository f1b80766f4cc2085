"""evaltools: evaluation metrics with confidence intervals and reproducible reports.

`evaluate` scores a run and estimates every metric of its suite; `study` sees several runs together, `compare` two
sides; `load` reads a result back. What they return shows itself in a notebook. `Metric`, `Difference` and `Mean` make
metrics of one's own, `jsonl_suite` a suite with `SuiteOptions`, `Check` and `Breakdown`, and `Suite` any other; `example`
names a bundled example.
"""

from importlib import import_module
from typing import Any

__version__ = "0.2.0"

# suites that come with the package: name -> its package, whose `suite.py` holds SUITE
BUILT_IN = {
    "cr": "evaltools.suites.cr",
    "memfin": "evaltools.suites.memfin",
    "summary": "evaltools.suites.summary",
    "table": "evaltools.suites.table",
}

# the functions of plain values of a suite, as in evaltools.memfin.score_dialog, and where they stand
_FUNCTIONS = {
    "cr": "suites.cr.tuples",
    "memfin": "suites.memfin.score",
    "summary": "suites.summary.scoring",
}

_LAZY = {
    "evaluate": "report.evaluate",
    "load": "report.evaluate",
    "Run": "report.run",
    "study": "report.evaluate",
    "compare": "report.evaluate",
    "Study": "report.study",
    "estimate": "stats.intervals",
    "pass_at_k": "report.run",
    "notebook": "report.tables",
    "Resampling": "core.estimates",
    "AnyMetric": "core.metric",
    "Metric": "core.metric",
    "Difference": "core.metric",
    "Mean": "core.metric",
    "Suite": "core.suite",
    "SuiteOptions": "core.suite",
    "Source": "core.suite",
    "Breakdown": "core.suite",
    "Workers": "core.workers",
    "Check": "core.estimates",
    "jsonl_suite": "core.suite",
    "get_suite": "core.suite",
    "speak": "core.messages",
    "example": "core.files",
    "InputError": "core.messages",
    "Problems": "core.messages",
    "UsageError": "core.messages",
}

__all__ = ["__version__", *_LAZY]


def __getattr__(name: str) -> Any:
    if name in _FUNCTIONS:
        return import_module(f".{_FUNCTIONS[name]}", __name__)
    if name not in _LAZY:
        raise AttributeError(f"module 'evaltools' has no attribute {name!r}")
    return getattr(import_module(f".{_LAZY[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted([*__all__, *_FUNCTIONS])
