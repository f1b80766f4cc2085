"""What a run and a study have in common: metrics that are asked for by name, checks, and how they show themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..core.check import Check, QuietCheck, check_states
from ..core.errors import UsageError
from ..core.language import say
from ..core.metric import AnyMetric, MetricTable
from ..core.names import nearest
from ..core.suite import Suite
from .tables import Shown
from .trust import input_problems

if TYPE_CHECKING:
    from .run import Run


class Numbers(Shown):
    """Metrics by their names, with a value each: what `Run` and `Study` are."""

    options: Any

    if TYPE_CHECKING:

        @property
        def suite(self) -> Suite: ...

        @property
        def blocked(self) -> frozenset[str]: ...

        @property
        def results(self) -> Sequence[Run]: ...

    @property
    def frame(self) -> pd.DataFrame:
        """All numbers."""
        raise NotImplementedError

    @property
    def checks(self) -> Sequence[Check]:
        """The checks that failed."""
        raise NotImplementedError

    @property
    def quiet_checks(self) -> Sequence[QuietCheck]:
        """The checks that found nothing: each passed, or says why it does not apply."""
        raise NotImplementedError

    @cached_property
    def metrics(self) -> MetricTable:
        """The metric table."""
        return self.suite.metrics(self.options)

    def metric(self, name: str) -> AnyMetric:
        """The metric of that name in the table. UsageError names the nearest for an unknown name.

        No name stands for the primary metric where none can be measured: UsageError.
        """
        if not name:
            raise UsageError(
                f"no headline metric of {self.suite.name} can be measured here: "
                "name a metric; there are "
                f"{', '.join(metric.name for metric in self.metrics if metric.name not in self.blocked)}"
            )
        return self.suite.metric(name, self.options)

    def title(self, name: str) -> str:
        """The title of a metric in the language in force."""
        return say(self.metric(name).shown_title)

    @property
    def failed_checks(self) -> list[Check]:
        """The checks that failed, and what was wrong with the input of the runs."""
        return [*self.checks, *input_problems(self.results)]

    @property
    def doubts(self) -> list[Check]:
        """What failed and is more than a note."""
        return [check for check in self.failed_checks if check.level != "info"]

    @property
    def usual_primary(self) -> str:
        """The metric that leads where no check blocks it and no other is declared."""
        return self.suite.primary_name(self.options, frozenset())

    @property
    def check_states(self) -> pd.DataFrame:
        """Every check as "failed", "passed" or "not applicable": code, state, message."""
        return check_states(self.checks, self.quiet_checks)

    def to_frame(self) -> pd.DataFrame:
        """As `frame`."""
        return self.frame

    def to_dict(self) -> dict[str, float | None]:
        """Metric -> value; of several conditions the difference of the first candidate to the baseline. None for none.

        >>> import evaltools as et
        >>> run = et.evaluate("cr", "example:cr/with_memory__seed1_proposed")
        >>> round(run.to_dict()["tuple_f1_s2_refpol"], 4)
        0.8783
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
