"""Low and high bounds of all metrics of a table, filled in rule by rule."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .arrays import Array

Values = Array | float
"""One value for each metric, or one for all."""


@dataclass
class Intervals:
    """Interval of every metric; nan and the method "none" where there is none."""

    low: Array
    high: Array
    method: Array

    @classmethod
    def none(cls, n_metrics: int) -> Intervals:
        """No interval for any metric."""
        return cls(
            low=np.full(n_metrics, np.nan),
            high=np.full(n_metrics, np.nan),
            method=np.full(n_metrics, "none", dtype=object),
        )

    def fill(
        self,
        where: Array,
        low: Values,
        high: Values,
        method: Array | str,
    ) -> None:
        """Give this interval to the metrics in `where` that have none yet.

        >>> intervals = Intervals.none(2)
        >>> intervals.fill(np.array([True, False]), 0.1, 0.2, "bca")
        >>> intervals.fill(np.array([True, True]), 0.0, 1.0, "wilson")
        >>> intervals.low.tolist(), intervals.method.tolist()
        ([0.1, 0.0], ['bca', 'wilson'])
        """
        use = where & (self.method == "none")
        self.low = np.where(use, low, self.low)
        self.high = np.where(use, high, self.high)
        self.method = np.where(use, method, self.method).astype(object)
