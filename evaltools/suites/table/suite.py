"""The suite of long tables: any benchmark with a score for each sample.

Its metrics follow from the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field, field_validator

from ...core.check import Checks, duplicate_texts, share_check
from ...core.errors import Problems, UsageError, shown_path
from ...core.files import Fields, Names, first_names, nearest
from ...core.metric import Metric
from ...core.suite import Source, Suite, SuiteOptions
from ...report.run import Run
from .score import score, survey

# metrics that lead every page
LEADING = 10


class TableOptions(SuiteOptions):
    """What the file does not say of its metrics. `found` are its metrics: they follow from it."""

    derived: ClassVar = ("found",)

    bounds: Names = Field(
        (), description="NAME=LOW,HIGH: the least and greatest value of a metric."
    )
    lower: Names = Field((), description="NAME of a metric that is better the lower it is.")
    higher: Names = Field((), description="NAME of a metric that is better the higher it is.")
    found: tuple[Metric, ...] = ()

    @field_validator("bounds", mode="before")
    @classmethod
    def _as_texts(cls, bounds: Any) -> Any:
        """The texts of the command line, also of {metric: (low, high)}."""
        if isinstance(bounds, Mapping):
            return tuple(f"{name}={str(ends).strip('()[]')}" for name, ends in bounds.items())
        if not isinstance(bounds, list | tuple) or not all(isinstance(t, str) for t in bounds):
            raise ValueError("expected {metric: (low, high)}, or texts NAME=LOW,HIGH in a list")
        return bounds

    def policy(self) -> Fields:
        """The options, and of each metric what decides its numbers; its texts do not.

        Whether all its values are 0 or 1 is no policy: two runs may be otherwise in that (`Study.metrics`).
        """
        options = self.model_dump(mode="json", exclude={"found"})
        metrics = [
            [metric.name, metric.better, metric.bounds and list(metric.bounds)]
            for metric in self.found
        ]
        return {**options, "found": metrics}

    def with_metrics(
        self,
        metrics: tuple[Metric, ...],
        source: str,
    ) -> TableOptions:
        """The options with the metrics of a file, limits and directions as declared.

        UsageError for an option that names a metric which the file, `source`, does not have.
        """
        changes: dict[str, Fields] = {metric.name: {} for metric in metrics}

        def change(name: str, **fields: Any) -> None:
            if name not in changes:
                raise UsageError(f"{source} has no metric {name!r}; {nearest(name, list(changes))}")
            if changes[name].keys() & fields.keys():
                raise UsageError(f"{name!r}: give its bounds once, and --lower or --higher once")
            changes[name] |= fields

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
            change(name, bounds=(low, high), proportion=False)
        for name in self.lower:
            change(name, better="lower")
        for name in self.higher:
            change(name, better="higher")
        found = [replace(metric, **changes[metric.name]) for metric in metrics]
        return self.model_copy(update={"found": tuple(found)})


def locate(
    path: Path,
    name: str | None,
    options: TableOptions,
    problems: Problems,
) -> Source:
    """A run of a file: the only one, or the one of that name."""
    content = survey(path, problems)
    names = content.runs
    if len(names) > 1 and name not in names:
        raise UsageError(f"{path} holds {len(names)} runs, name one of them: {first_names(names)}")
    problems.merge(content.problems)
    problems.raise_if_failed()
    options = options.with_metrics(content.metrics, shown_path(path))
    return Source(name or names[0], {"scores": path}, options)


def headline(
    options: TableOptions,
    blocked: frozenset[str],
) -> Names:
    """The first metrics of the file, those that have a direction before the others."""
    metrics = sorted(options.found, key=lambda metric: metric.better == "none")
    return tuple(metric.name for metric in metrics[:LEADING])


def checks(run: Run) -> Checks:
    """The checks of a run: texts that come twice, and units that failed, by the cause."""
    yield from duplicate_texts(run.data, "text", "id")
    if "error" not in run.data:
        return
    causes = run.data["error"].dropna().astype(str).str.slice(0, 60).value_counts()
    listed = "; ".join(f"{cause} ({count})" for cause, count in causes.head(3).items())
    n, of = causes.sum(), len(run.data)
    yield from share_check(
        "errored-rows",
        "warning",
        "{n} of {of} rows failed with an error and are not measured: {causes}",
        n,
        of,
        causes=listed,
    )


SUITE = Suite(
    name="table",
    title="Scores",
    unit="id",
    options=TableOptions,
    locate=locate,
    runs=lambda path, problems: survey(path, problems).runs,  # in order of appearance
    score=score,
    metrics=lambda options: options.found,
    headline=headline,
    checks=checks,
)
