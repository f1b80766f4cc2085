"""Test runs of deepeval: .latest_run_full.json."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..core.errors import Problems
from .rows import Place, Row, Score, made, number, read_records


class Measured(Row):
    name: str
    score: float | None = None
    success: bool | None = None
    error: str | None = None


class Case(Row):
    name: str | None = None
    input: str | None = None
    metricsData: list[Measured] | None = None


def read(path: Path, problems: Problems) -> Iterator[tuple[Place, Score]]:
    """A metric's score, and `NAME passed`, whose mean is deepeval's pass rate; with an error it is not measured."""

    def rows(count: int, case: Case) -> Iterator[Score]:
        for i, m in enumerate(case.metricsData or ()):
            for metric, value in ((m.name, m.score), (f"{m.name} passed", m.success)):
                measured = None if m.error else number(value, f"metricsData.{i}.score")
                yield Score(
                    id=case.name or str(count), metric=metric, value=measured, text=case.input
                )

    return made(read_records(path, problems, Case, "testCases"), rows, path, problems)
