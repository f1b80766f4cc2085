"""evaltools: evaluation metrics with confidence intervals and reproducible reports.

The public API, as the notebooks use it: `evaluate` scores a run and estimates every metric of its
suite; `study_seeds` and `study_systems` see several runs together; `load` reads a result back; `example`
names a bundled example.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_LAZY = {
    "evaluate": "core.evaluate",
    "Result": "core.suite",
    "get_suite": "core.suite",
    "load": "core.results",
    "Study": "studies.study",
    "study_seeds": "studies.study",
    "study_systems": "studies.study",
    "Resampling": "stats.intervals",
    "estimate": "stats.intervals",
    "Metric": "core.metric",
    "Difference": "core.metric",
    "InputError": "core.errors",
    "Problems": "core.errors",
    "UsageError": "core.errors",
    "example": "app.examples",
}

__all__ = ["__version__", *_LAZY]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'evaltools' has no attribute {name!r}")
    return getattr(import_module(f".{_LAZY[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted(__all__)
