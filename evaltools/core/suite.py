"""What a suite is, the registry of the three, and the result of one run.

A suite brings a record model, a `score` function, a metric table and a notebook; nothing else in the
package knows which suites there are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import BaseModel, ConfigDict

from .. import __version__
from ..app.workers import Workers
from ..stats.intervals import Resampling
from .errors import Problems, UsageError
from .metric import MetricTable

SCHEMA_VERSION = 1

REGISTRY = {
    "cr": "evaltools.cr.metrics:SUITE",
    "memfin": "evaltools.memfin.metrics:SUITE",
    "summary": "evaltools.summary.metrics:SUITE",
}


class SuiteOptions(BaseModel):
    """Options of a suite that change its numbers. Every field goes into the policy and its hash."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def policy(self) -> dict[str, Any]:
        """All that decides the numbers, as JSON; a suite adds the hashes of its rule files."""
        return self.model_dump(mode="json")

    def signature(self) -> dict[str, str]:
        """The suite's own parts of the signature line, in order."""
        return {}


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


@dataclass(frozen=True)
class Suite:
    """What the package needs to know of a suite.

    `unit`: the column that names the resampling unit; `row`: the columns that identify a row of the
    units frame. `locate(path, name, options, problems)` finds the files of a run.
    `score(source, options, problems, workers)` makes the units frame. `metrics(options)` and
    `headline(options)` are the metric table and the names that lead every page. `artifacts(result, folder)`
    writes the suite's own files under results/<run>/. `agreement` names the columns of predicted tuples
    and label in which seeds can agree, where the suite has such.
    """

    name: str
    title: str
    unit: str
    row: tuple[str, ...]
    options: type[SuiteOptions]
    locate: Callable[[Path, str | None, Any, Problems], Source]
    score: Callable[[Source, Any, Problems, Workers], pd.DataFrame]
    metrics: Callable[[Any], MetricTable]
    headline: Callable[[Any], tuple[str, ...]]
    artifacts: Callable[[Result, Path], None]
    notebook: str
    breakdowns: tuple[Breakdown, ...] = ()
    agreement: tuple[str, str] | None = None


@cache
def get_suite(name: str) -> Suite:
    """The suite of that name; UsageError for another."""
    if name not in REGISTRY:
        raise UsageError(f"no suite {name!r}; there are {', '.join(REGISTRY)}")
    module, attribute = REGISTRY[name].split(":")
    return getattr(import_module(module), attribute)


@dataclass(frozen=True)
class Result:
    """The numbers of one run: `units` (a row a unit), `estimates` (a row a metric), and where they came from."""

    suite: Suite
    name: str
    options: Any
    resampling: Resampling
    units: pd.DataFrame = field(repr=False)
    estimates: pd.DataFrame = field(repr=False)
    manifest: dict[str, Any] = field(repr=False)

    @property
    def policy(self) -> dict[str, Any]:
        return self.manifest["policy"]

    @property
    def n_units(self) -> int:
        """Number of resampling units."""
        return int(self.units[self.suite.unit].nunique(dropna=False))

    @property
    def signature(self) -> str:
        return signature(self.suite, self.options, self.policy, self.n_units, self.resampling)

    def __getitem__(self, metric: str) -> pd.Series:
        """The estimate of one metric; KeyError for an unknown name."""
        found = self.estimates[self.estimates["name"] == metric]
        if found.empty:
            raise KeyError(f"{metric!r} is no metric of {self.suite.name}")
        return found.iloc[0]

    def value(self, metric: str) -> float:
        """The value of one metric; nan is not measured."""
        return float(self[metric]["value"])

    @property
    def headline(self) -> pd.DataFrame:
        names = self.suite.headline(self.options)
        return self.estimates.set_index("name").loc[list(names)].reset_index()

    def _repr_html_(self) -> str:
        from ..report.tables import result_html

        return result_html(self)


def signature(suite: Suite, options: Any, policy: Mapping[str, Any], n: int, resampling: Resampling) -> str:
    """One line that says how a number was made, to be pasted into a paper (after sacreBLEU)."""
    parts = {
        "suite": suite.name,
        **options.signature(),
        "policy": policy["eval_policy_hash"],
        "n": str(n),
        "unit": suite.unit,
        "ci": f"{resampling.method}{100 * resampling.confidence:g}",
        "resamples": str(resampling.n_resamples),
        "seed": str(resampling.seed),
        "version": __version__,
    }
    return "|".join(f"{k}:{v}" for k, v in parts.items())
