"""The suite of long tables: any benchmark with a score a sample. Its metrics follow from the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...core.errors import InputError, Problems, UsageError
from ...core.metric import MetricTable
from ...core.records import first_line
from ...core.suite import Source, Suite
from .options import TableOptions
from .read import Line, columns, is_json_lines
from .score import score
from .survey import survey

LEADING = 10
"""Metrics that lead every page."""


def runs(path: Path, problems: Problems) -> list[str]:
    """The names of the runs of a file, in order of appearance. InputError for no long file."""
    return list(survey(path, problems).runs)


def locate(path: Path, name: str | None, options: TableOptions, problems: Problems) -> Source:
    """A run of a file: the only one, or the one of that name."""
    names = runs(path, problems)
    if len(names) > 1 and name not in names:
        listed = ", ".join(names[:10])
        if len(names) > 10:
            listed += ", ..."
        raise UsageError(f"{path} holds {len(names)} runs, name one of them: {listed}")
    return Source(name or names[0], {"scores": path})


def fit(source: Source, options: TableOptions, problems: Problems) -> TableOptions:
    """The options with the metrics of the file."""
    path = source.files["scores"]
    content = survey(path, problems)
    problems.merge(content.problems)
    problems.raise_if_failed()
    return options.with_metrics(content.metrics, str(path))


def metrics(options: TableOptions) -> MetricTable:
    """The metrics of the file."""
    return options.found


def headline(options: TableOptions) -> tuple[str, ...]:
    """The first metrics of the file; those that have a direction lead."""
    directed = [metric.name for metric in options.found if metric.better != "none"]
    others = [metric.name for metric in options.found if metric.better == "none"]
    return tuple([*directed, *others][:LEADING])


def sniff(path: Path) -> bool:
    """Whether a file is in the long form."""
    try:
        if is_json_lines(path):
            line: Any = Line.model_validate_json(first_line(path))
            return "value" in line.model_fields_set or "num" in line.model_fields_set
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
