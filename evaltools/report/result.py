"""What a run and a study have in common: metrics that are asked for by name, and checks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..core.check import Check
from ..core.errors import UsageError
from ..core.language import say
from ..core.metric import AnyMetric, MetricTable
from ..core.names import nearest
from ..core.suite import Suite
from .browse import sample_view
from .trust import all_checks

if TYPE_CHECKING:
    from .run import Run


class Result:
    """Metrics by their names, with a value each: what `Run` and `Study` are."""

    options: Any

    if TYPE_CHECKING:

        @property
        def suite(self) -> Suite: ...

        @property
        def checks(self) -> Sequence[Check]: ...

        @property
        def blocked(self) -> frozenset[str]: ...

        @property
        def results(self) -> Sequence[Run]: ...

        @property
        def units(self) -> pd.DataFrame: ...

        @property
        def frame(self) -> pd.DataFrame: ...

    @cached_property
    def metrics(self) -> MetricTable:
        """The metric table."""
        return self.suite.metrics(self.options)

    def metric(self, name: str) -> AnyMetric:
        """The metric of that name in the table. UsageError names the nearest for an unknown name.

        No name stands for the primary metric where none can be measured: UsageError.
        """
        if not name:
            usable = [metric.name for metric in self.metrics if metric.name not in self.blocked]
            raise UsageError(
                f"no headline metric of {self.suite.name} can be measured here: name a metric; there are "
                f"{', '.join(usable)}"
            )
        return self.suite.metric(name, self.options)

    def title(self, name: str) -> str:
        """The title of a metric in the language in force."""
        return say(self.metric(name).shown_title)

    @property
    def usual_primary(self) -> str:
        """The metric that leads where no check blocks it and no other is declared."""
        return self.suite.primary_name(self.options, frozenset())

    @property
    def doubts(self) -> list[Check]:
        """The checks that failed and are more than notes, and what was wrong with the input of the runs."""
        return [check for check in all_checks(self) if check.level != "info"]

    def queried(self, query: str) -> pd.DataFrame:
        """The units that a query finds, all for "". UsageError for a query that the units cannot answer."""
        if not query:
            return self.units
        try:
            return self.units.query(query)
        except Exception as e:  # pandas raises many kinds, and each means that the query is wrong
            columns = ", ".join(map(str, self.units.columns))
            raise UsageError(
                f"{query!r} is no query on the units ({type(e).__name__}: {e}); groups: "
                f"{', '.join(sample_view(self.results[0]).groups(self.results[0]))}; columns: {columns}"
            ) from e

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

    def _rows(self) -> pd.DataFrame:
        """The first row of `frame` on each metric, by its name."""
        frame = self.frame
        key = "metric" if "metric" in frame else "name"
        return frame.drop_duplicates(key).set_index(key, drop=False)

    def __getitem__(self, metric: str) -> pd.Series:
        """The first row of `frame` on a metric. KeyError that names the nearest for an unknown name."""
        if metric not in self:
            raise KeyError(
                f"no metric {metric!r} in {self.suite.name}; {nearest(str(metric), list(self))}"
            )
        return self._rows().loc[metric]

    def __iter__(self) -> Iterator[str]:
        """The names of the metrics."""
        return iter(self._rows().index)

    def __len__(self) -> int:
        """Number of metrics."""
        return len(self._rows())

    def __contains__(self, metric: object) -> bool:
        return metric in self._rows().index

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)


def require_comparable(
    first: Run,
    runs: Sequence[Run],
) -> None:
    """UsageError for runs of several suites, and for runs that were scored under different policies."""
    for run in runs:
        if run.suite.name != first.suite.name:
            raise UsageError(
                f"{run.name} is a run of {run.suite.name}, {first.name} of {first.suite.name}"
            )
        different = [key for key in first.policy if run.policy.get(key) != first.policy[key]]
        if different or len(run.policy) > len(first.policy):
            raise UsageError(
                f"{run.name} and {first.name} were scored under different policies ({', '.join(different)}) and cannot be "
                "compared"
            )
