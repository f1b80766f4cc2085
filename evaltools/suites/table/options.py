"""The options of the suite of long tables."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any, ClassVar

from pydantic import Field

from ...core.errors import UsageError
from ...core.metric import Metric
from ...core.names import nearest
from ...core.suite import SuiteOptions


class TableOptions(SuiteOptions):
    """What the file does not say of its metrics. `found` are its metrics: they follow from it."""

    derived: ClassVar = ("found",)

    bounds: tuple[str, ...] = Field(
        (), description="NAME=LOW,HIGH: the least and greatest value of a metric."
    )
    lower: tuple[str, ...] = Field(
        (), description="NAME of a metric that is better the lower it is."
    )
    higher: tuple[str, ...] = Field(
        (), description="NAME of a metric that is better the higher it is."
    )
    primary: str | None = Field(
        None, description="NAME of the metric that leads and is tested alone."
    )
    found: tuple[Metric, ...] = ()

    def signature(self) -> dict[str, str]:
        """The metric that leads, where one is named."""
        return {"primary": self.primary} if self.primary else {}

    def policy(self) -> dict[str, Any]:
        """The options, and of each metric what decides its numbers; its texts do not.

        Whether all its values are 0 or 1 is no policy: two runs may be otherwise in that (`Study.metrics`).
        """
        options = self.model_dump(mode="json", exclude={"found"}, exclude_none=True)
        metrics = []
        for metric in self.found:
            limits = list(metric.bounds) if metric.bounds else None
            metrics.append([metric.name, metric.better, limits])
        return {**options, "found": metrics}

    @property
    def declared(self) -> dict[str, tuple[float, float]]:
        """Metric -> (low, high). UsageError for a text that does not say so."""
        limits = {}
        for text in self.bounds:
            name, _, numbers = text.rpartition("=")
            try:
                low, high = map(float, numbers.split(","))
            except ValueError:
                low, high = inf, inf
            if not name or not -inf < low < high < inf:
                raise UsageError(
                    f"--bounds {text!r}: expected NAME=LOW,HIGH with LOW below HIGH, both finite"
                )
            limits[name] = (low, high)
        return limits

    def with_metrics(
        self,
        metrics: tuple[Metric, ...],
        source: str,
    ) -> TableOptions:
        """The options with the metrics of a file, limits and directions as declared.

        UsageError for an option that names a metric which the file, `source`, does not have, and for a metric with
        both directions.
        """
        for name in set(self.lower) & set(self.higher):
            raise UsageError(f"--lower {name} and --higher {name}: a metric has one")
        limits = self.declared
        names = [metric.name for metric in metrics]
        primary = [self.primary] if self.primary else []
        for name in (*limits, *self.lower, *self.higher, *primary):
            if name not in names:
                raise UsageError(f"{source} has no metric {name!r}; {nearest(name, names)}")
        changed = []
        for metric in metrics:
            if metric.name in limits:
                metric = replace(metric, bounds=limits[metric.name], proportion=False)
            if metric.name in self.higher:
                metric = replace(metric, better="higher")
            if metric.name in self.lower:
                metric = replace(metric, better="lower")
            changed.append(metric)
        return self.model_copy(update={"found": tuple(changed)})
