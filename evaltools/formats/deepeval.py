"""Test runs of deepeval: .latest_run_full.json."""

from __future__ import annotations

from collections.abc import Iterator

from .rows import Row, Score, number
from .source import Records, Source


class Measured(Row):
    """One metric on a test case."""

    name: str
    score: float | None = None
    success: bool | None = None
    error: str | None = None


class Case(Row):
    """A test case."""

    name: str | None = None
    input: str | None = None
    metricsData: list[Measured] | None = None


def read(source: Source) -> Records:
    """A metric's score, and `NAME passed`, whose mean is deepeval's pass rate.

    With an error it is not measured.
    """
    return source.rows(source.records(source.json(), Case, "testCases"), _scores)


def _scores(count: int, case: Case) -> Iterator[Score]:
    for index, measured in enumerate(case.metricsData or ()):
        values = {
            measured.name: measured.score,
            f"{measured.name} passed": measured.success,
        }
        for metric, value in values.items():
            if measured.error:
                value = None
            yield Score(
                id=case.name or str(count),
                metric=metric,
                value=number(value, f"metricsData.{index}.score"),
                text=case.input,
            )
