"""What a run and a study have in common: metrics that are asked for by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype

from ..core.check import Check
from ..core.errors import UsageError
from ..core.estimates import Resampling
from ..core.files import first_names, nearest
from ..core.metric import AnyMetric
from . import paper
from .samples import sample_view
from .tables import HtmlTable
from .trust import all_checks, provenance, signature

if TYPE_CHECKING:
    from .figures import Plots
    from .run import Run


class Result:
    """Metrics by their names, with a value each: what `Study` is, and `Run`, a study of one condition without seeds."""

    # fields of the one are properties of the other
    name: Any
    suite: Any
    options: Any
    metrics: Any
    units: Any
    estimates: Any
    frame: Any
    checks: Any
    blocked: Any
    headline: Any
    primary: Any
    conditions: Any
    baseline: Any
    margin: Any

    def metric(self, name: str) -> AnyMetric:
        """The metric of that name. UsageError names the nearest for an unknown name.

        No name stands for the primary metric where none can be measured: UsageError.
        """
        names = [metric.name for metric in self.metrics]
        if name in names:
            return self.metrics[names.index(name)]
        if name:
            raise UsageError(f"no metric {name!r} in {self.suite.name}; {nearest(name, names)}")
        raise UsageError(
            f"no metric is named, or no headline metric of {self.suite.name} can be measured here; there are "
            f"{first_names(name for name in names if name not in self.blocked)}"
        )

    def title(self, name: str) -> str:
        """The title of a metric in the language in force."""
        return self.metric(name).shown_title

    def queried(self, query: str) -> pd.DataFrame:
        """The units that a query finds, all for "". UsageError for a query that the units cannot answer."""
        if not query:
            return self.units
        try:
            return self.units.query(query)
        except Exception as e:  # pandas raises many kinds, and each means that the query is wrong
            first = self.results[0]
            raise UsageError(
                f"{query!r} is no query on the units ({type(e).__name__}: {e}); groups: "
                f"{', '.join(sample_view(first).groups(first))}; columns: {', '.join(map(str, self.units))}"
            ) from e

    def where_true(self, part: Any) -> Any:
        """The units for which a Series of truth values is true; anything else as it is."""
        if (
            isinstance(part, pd.Series)
            and is_bool_dtype(part)
            and part.index.equals(self.units.index)
        ):
            return self.units[part]
        return part

    @cached_property
    def n_units(self) -> int:
        """Number of different resampling units."""
        return n_distinct(self.results, self.suite.unit)

    @cached_property
    def n_clustered(self) -> int:
        """Number of different samples (column `item`) where the resampling units are their clusters, else 0."""
        return n_distinct(self.results, "item")

    def estimates_of(self, *names: str) -> pd.DataFrame:
        """The rows of `estimates` on these metrics, condition by condition. UsageError for an unknown name."""
        return rows_of(self.estimates, [self.metric(name).name for name in names])

    @property
    def plot(self) -> Plots:
        """The figures: forest(*metrics), paired(metric) and, of a run, spread(*metrics)."""
        from .figures import Plots  # loads matplotlib

        return Plots(self)

    @property
    def results(self) -> list[Run]:
        """All runs."""
        return [run for of_seed in self.conditions.values() for run in of_seed.values()]

    @property
    def seeded(self) -> bool:
        """Whether the runs are told apart by seeds, and not systems of one run each."""
        return any(seed for of_seed in self.conditions.values() for seed in of_seed)

    @property
    def candidates(self) -> list[str]:
        """The conditions that are compared with the baseline."""
        return [condition for condition in self.conditions if condition != self.baseline]

    def differences_of(self, *names: str) -> pd.DataFrame:
        """Every candidate against the baseline on these metrics, without those of no direction."""
        return rows_of(self.frame, names) if self.candidates else pd.DataFrame()

    @property
    def usual(self) -> tuple[str, ...]:
        """The headline, and the metrics that would be in it if no check blocked them."""
        usual = self.suite.headline(self.options, frozenset())
        return tuple(dict.fromkeys([*self.headline, *usual]))

    @property
    def resampling(self) -> Resampling:
        """How intervals are made."""
        return self.results[0].manifest.resampling

    def doubts(self, *metrics: str) -> list[Check]:
        """The checks that failed and are more than notes, and what was wrong with the input of the runs.

        `metrics`: as `study_checks` takes them.
        """
        return [check for check in all_checks(self, *metrics) if check.level != "info"]

    def to_frame(self) -> pd.DataFrame:
        """As `frame`."""
        return self.frame

    def to_dict(self) -> dict[str, float | None]:
        """Metric -> value; of several conditions the difference of the first candidate to the baseline. None for none.

        >>> import evaltools as et
        >>> run = et.evaluate("cr", "example:cr/with_memory__seed1_proposed")
        >>> round(run.to_dict()["tuple_f1_s2_refpol"], 4)
        0.9133
        """
        rows = self._rows()
        values = rows["delta" if "delta" in rows else "value"]
        return {name: None if pd.isna(value) else float(value) for name, value in values.items()}

    @property
    def signature(self) -> str:
        """One line that says how a number was made (after sacreBLEU); of a study by its first run, with all seeds."""
        return signature(self)

    def provenance(self) -> HtmlTable:
        """Inputs with their hashes, policy, methods of intervals and signature."""
        return provenance(self)

    def to_latex(self) -> str:
        """The headline as a LaTeX table with intervals, differences (bold for better), and a note."""
        return paper.latex(self)

    def _rows(self) -> pd.DataFrame:
        """The first row of `frame` on each metric, by its name."""
        frame = self.frame
        key = "metric" if "metric" in frame else "name"
        return frame.drop_duplicates(key).set_index(key, drop=False)

    def __getitem__(self, metric: str) -> pd.Series:
        """The first row of `frame` on a metric: an estimate, or the difference of the first candidate to the baseline.

        KeyError that names the nearest for an unknown name, and one for a metric without a direction in a comparison.
        """
        rows = self._rows()
        if metric in rows.index:
            return rows.loc[metric]
        if any(entry.name == metric for entry in self.metrics):
            raise KeyError(
                f"{metric!r} has no direction and is not compared; its values are those of each run: run[{metric!r}]"
            )
        raise KeyError(
            f"no metric {metric!r} in {self.suite.name}; {nearest(metric, list(rows.index))}"
        )

    def __iter__(self) -> Iterator[str]:
        """The names of the metrics."""
        return iter(self._rows().index)

    def __len__(self) -> int:
        """Number of metrics."""
        return len(self._rows())

    def __contains__(self, metric: object) -> bool:
        return metric in self._rows().index


def n_distinct(runs: Iterable[Run], column: str) -> int:
    """Number of different values in a column of the units of some runs; 0 where none has it."""
    values = [run.data[column] for run in runs if column in run.data]
    return int(pd.concat(values).nunique(dropna=False)) if values else 0


def rows_of(
    rows: pd.DataFrame,
    names: Sequence[str],
) -> pd.DataFrame:
    """The rows on some metrics in the order of these, for each condition, or candidate, in its own order."""
    rows = rows[rows["metric"].isin(names)]
    order = [np.array([names.index(name) for name in rows["metric"]])]
    for column in {"condition", "candidate"} & set(rows):
        order.append(pd.factorize(rows[column])[0])
    return rows.iloc[np.lexsort(order)].reset_index(drop=True)


def require_comparable(first: Run, runs: Sequence[Run]) -> None:
    """UsageError for runs of several suites, and for runs that were scored under different policies."""
    for run in runs:
        if run.suite.name != first.suite.name:
            raise UsageError(
                f"{run.name} is a run of {run.suite.name}, {first.name} of {first.suite.name}"
            )
        mine, theirs = first.manifest.policy, run.manifest.policy
        if mine != theirs:
            different = [key for key in mine | theirs if mine.get(key) != theirs.get(key)]
            raise UsageError(
                f"{run.name} and {first.name} were scored under different policies ({', '.join(different)}) and cannot "
                "be compared"
            )
