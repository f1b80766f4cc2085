"""The suite of long tables: any benchmark with a score a sample. Its metrics follow from the file."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

from pydantic import Field

from ...core.errors import InputError, Problems, UsageError
from ...core.metric import Metric, MetricTable
from ...core.names import nearest
from ...core.records import first_line
from ...core.suite import Source, Suite, SuiteOptions
from .read import Line, columns
from .score import score, survey

LEADING = 10
"""Metrics that lead every page."""


class TableOptions(SuiteOptions):
    """What the file does not say of its metrics."""

    bounds: tuple[str, ...] = Field(
        (), description="NAME=LOW,HIGH: the least and greatest value of a metric."
    )
    lower: tuple[str, ...] = Field(
        (), description="NAME of a metric that is better the lower it is."
    )
    found: tuple[Metric, ...] = Field((), json_schema_extra={"derived": True})

    @property
    def declared(self) -> dict[str, tuple[float, float]]:
        """NAME -> (low, high). UsageError for a text that does not say so."""
        found = {}
        for text in self.bounds:
            name, _, limits = text.rpartition("=")
            try:
                low, high = map(float, limits.split(","))
            except ValueError:
                low, high = inf, inf
            if not name or not low < high:
                raise UsageError(f"--bounds {text!r}: expected NAME=LOW,HIGH with LOW below HIGH")
            found[name] = (low, high)
        return found


def runs(path: Path, problems: Problems) -> list[str]:
    """The names of the runs of a file, in order of appearance. InputError for no long file."""
    return list(survey(path, problems).runs)


def locate(path: Path, name: str | None, options: TableOptions, problems: Problems) -> Source:
    """A run of a file: the only one, or the one of that name."""
    names = runs(path, problems)
    if len(names) > 1 and name not in names:
        listed = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
        raise UsageError(f"{path} holds {len(names)} runs, name one of them: {listed}")
    return Source(name or names[0], {"scores": path})


def fit(source: Source, options: TableOptions, problems: Problems) -> TableOptions:
    """The options with the metrics of the file: proportions where all values are 0 or 1, bounds where within 0..1."""
    found = survey(source.files["scores"], problems)
    problems.merge(found.problems)
    problems.raise_if_failed()
    declared, names = options.declared, [m.name for m in found.metrics]
    for name in (*declared, *options.lower):
        if name not in names:
            raise UsageError(
                f"{source.files['scores']} has no metric {name!r}; {nearest(name, names)}"
            )
    bounded = {
        m.name: replace(m, bounds=declared[m.name], proportion=False)
        for m in found.metrics
        if m.name in declared
    }
    metrics = (bounded.get(m.name, m) for m in found.metrics)
    directed = tuple(replace(m, better="lower") if m.name in options.lower else m for m in metrics)
    return options.model_copy(update={"found": directed})


def metrics(options: TableOptions) -> MetricTable:
    return options.found


def headline(options: TableOptions) -> tuple[str, ...]:
    return tuple(m.name for m in options.found[:LEADING])


def sniff(path: Path) -> bool:
    """Whether a file is in the long form."""
    try:
        if path.suffix.lower() in (".jsonl", ".ndjson"):
            line: Any = Line.model_validate_json(first_line(path))
            return {"value", "num"} & line.model_fields_set != set()
        return path.suffix.lower() in (".csv", ".parquet") and bool(columns(path, Problems()))
    except (OSError, ValueError, InputError):
        return False


SUITE = Suite(
    name="table",
    title="Scores",
    unit="id",
    row=("id",),
    input="FILE",
    options=TableOptions,
    locate=locate,
    runs=runs,
    fit=fit,
    sniff=sniff,
    score=score,
    metrics=metrics,
    headline=headline,
    text="text",
)
