"""Runs by conditions and seeds, and the units of all of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pandas as pd

from ..core.errors import UsageError
from ..core.metric import AnyMetric, Metric, MetricTable
from ..core.resampling import Resampling
from ..core.suite import Suite
from ..stats.agreement import COLUMNS as AGREEMENT
from ..stats.influence import Runs
from .result import Result
from .run import Run

# columns of the units of a study that tell of which run a unit is
OF_RUN = ["condition", "seed", "run"]

# condition -> seed -> run; the seed of a system of one run is ""
Conditions = dict[str, dict[str, Run]]


@dataclass(frozen=True, eq=False, repr=False)
class RunSet(Result):
    """Conditions by seeds, or systems of one run each; what a study is made of."""

    name: str
    conditions: Conditions
    baseline: str

    @cached_property
    def results(self) -> list[Run]:
        """All runs."""
        return [run for of_seed in self.conditions.values() for run in of_seed.values()]

    @cached_property
    def suite(self) -> Suite:
        """The suite of all runs."""
        return self.results[0].suite

    @cached_property
    def options(self) -> Any:
        """The options of the suite."""
        return self.results[0].options

    @cached_property
    def metrics(self) -> MetricTable:
        """The metric table; a proportion is what is one in every run."""
        metrics: list[AnyMetric] = []
        for metric, *others in zip(*(run.metrics for run in self.results)):
            if isinstance(metric, Metric) and not all(other.proportion for other in others):
                metric = replace(metric, proportion=False)
            metrics.append(metric)
        return metrics

    @property
    def resampling(self) -> Resampling:
        """How intervals are made."""
        return self.results[0].resampling

    @cached_property
    def seeded(self) -> bool:
        """Whether the runs are told apart by seeds, and not systems of one run each."""
        return any(seed for of_seed in self.conditions.values() for seed in of_seed)

    @property
    def candidates(self) -> list[str]:
        """The conditions that are compared with the baseline."""
        return [condition for condition in self.conditions if condition != self.baseline]

    @cached_property
    def units(self) -> pd.DataFrame:
        """The units of all runs, one below the other, with the columns condition, seed and run."""
        frames = []
        for condition, of_seed in self.conditions.items():
            for seed, run in of_seed.items():
                frames.append(run.units.assign(condition=condition, seed=seed, run=run.name))
        return pd.concat(frames, ignore_index=True)

    def _of_runs(self, units: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
        """Condition, seed and rows of each run among `units`, which are `self.units` or some of them, with its own index.

        Columns that none of its rows has are those of other runs. UsageError for rows of something else.
        """
        first = 0
        for condition, of_seed in self.conditions.items():
            for seed, run in of_seed.items():
                rows = units[units.index.isin(range(first, first + len(run.data)))]
                if "run" not in rows or rows["run"].ne(run.name).any():
                    raise UsageError(f"expected rows of the units of {run.name}, with their index")
                rows = rows.drop(columns=OF_RUN).set_axis(run.data.index[rows.index - first])
                is_of_others = rows.isna().all() & ~rows.columns.isin(run.units.columns)
                first += len(run.data)
                yield condition, seed, rows.loc[:, ~is_of_others]

    def candidate(self, name: str | None = None) -> str:
        """The candidate of that name, by default the first; UsageError for another name, and where there is none."""
        if not self.candidates:
            raise UsageError("one condition only: nothing to compare")
        if name is not None and name not in self.candidates:
            raise UsageError(f"no candidate {name!r}; there is {', '.join(self.candidates)}")
        return name or self.candidates[0]

    def frames(self, condition: str) -> Runs:
        """Seed -> units of one condition, as stored."""
        return {seed: run.data for seed, run in self.conditions[condition].items()}

    @cached_property
    def blocked(self) -> frozenset[str]:
        """The metrics that mean nothing in some run, as a check says."""
        return frozenset().union(*(run.blocked for run in self.results))

    @cached_property
    def unit_names(self) -> frozenset[Any]:
        """The names of the units of all runs."""
        return frozenset().union(*(run.data[self.suite.unit] for run in self.results))

    @property
    def n_units(self) -> int:
        """Number of units of all runs, each counted once."""
        return len(self.unit_names)

    @cached_property
    def agreement(self) -> pd.DataFrame:
        """How far the seeds of each condition agree: condition, then the columns of `stats.agreement`."""
        frames = [pd.DataFrame(columns=["condition", *AGREEMENT])]
        for condition, of_seed in self.conditions.items():
            if self.suite.agreement is not None and len(of_seed) > 1:
                units = {seed: run.units for seed, run in of_seed.items()}
                frame = self.suite.agreement(units, self.resampling).assign(condition=condition)
                frames.append(frame[["condition", *AGREEMENT]])
        return pd.concat(frames[1:] or frames, ignore_index=True)

    def __getstate__(self) -> dict[str, Any]:
        """All but what holds the suite, whose functions cannot be pickled; the runs bring it back."""
        of_suite = ("suite", "options", "metrics")
        return {name: value for name, value in vars(self).items() if name not in of_suite}
