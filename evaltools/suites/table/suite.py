"""The suite of long tables: any benchmark with a score for each sample.

Its metrics follow from the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ...core.check import Check
from ...core.common_checks import duplicate_texts
from ...core.errors import Problems, UsageError
from ...core.language import say
from ...core.memory import shown_path
from ...core.metric import MetricTable
from ...core.suite import Source, Suite
from .options import TableOptions
from .score import score
from .survey import survey

if TYPE_CHECKING:
    from ...report.run import Run

# metrics that lead every page
LEADING = 10


def runs(
    path: Path,
    problems: Problems,
) -> list[str]:
    """The names of the runs of a file, in order of appearance. InputError for no long file."""
    return survey(path, problems).runs


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
        raise UsageError(
            f"{path} holds {len(names)} runs, name one of them: {', '.join(names[:10])}"
        )
    problems.merge(content.problems)
    problems.raise_if_failed()
    options = options.with_metrics(content.metrics, shown_path(path))
    return Source(name or names[0], {"scores": path}, options)


def metrics(options: TableOptions) -> MetricTable:
    """The metrics of the file."""
    return options.found


def headline(
    options: TableOptions,
    blocked: frozenset[str],
) -> tuple[str, ...]:
    """The first metrics of the file: the one that is named, those that have a direction, the others."""
    metrics = sorted(options.found, key=lambda metric: metric.better == "none")
    names = [metric.name for metric in metrics]
    if options.primary:
        names = list(dict.fromkeys([options.primary, *names]))
    return tuple(names[:LEADING])


def checks(run: Run) -> Iterator[Check]:
    """The checks of a run: texts that come twice, and units that failed, by the cause."""
    yield from duplicate_texts(run.data, "text", "id")
    if "error" not in run.data:
        return
    causes = run.data["error"].dropna().astype(str).str.slice(0, 60).value_counts()
    n, of = int(causes.sum()), len(run.data)
    if n:
        listed = "; ".join(f"{cause} ({count})" for cause, count in causes.head(3).items())
        template = "{n} of {of} rows failed with an error and are not measured: {causes}"
        message = say(template, n=f"{n:,}", of=f"{of:,}", causes=listed)
        yield Check("errored-rows", "warning", message, n, of)


SUITE = Suite(
    name="table",
    title="Scores",
    unit="id",
    input="FILE",
    options=TableOptions,
    locate=locate,
    runs=runs,
    score=score,
    metrics=metrics,
    headline=headline,
    checks=checks,
)
