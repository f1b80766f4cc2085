"""Test runs of deepeval: .latest_run_full.json and .latest_test_run.json."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ..core.errors import Problems
from .rows import Row, Score, further_columns, number
from .source import Records, Source


class Measured(Row):
    """One metric on a test case."""

    name: str
    score: float | None = None
    threshold: float | None = None
    success: bool | None = None
    error: str | None = None


class Case(Row):
    """A test case."""

    name: str | None = None
    input: str | None = None
    actualOutput: Any = None
    expectedOutput: Any = None
    additionalMetadata: Any = None
    metricsData: list[Measured] | None = None

    @property
    def further(self) -> dict[str, Any]:
        metadata = self.additionalMetadata
        fields = metadata if isinstance(metadata, dict) else {}
        texts = {"output": self.actualOutput, "target": self.expectedOutput}
        return further_columns({**texts, **fields})


def read(source: Source) -> Records:
    """A metric's score, and `NAME passed`, whose mean is deepeval's pass rate.

    With an error it is not measured. The direction of a score is that in which its threshold is
    passed.
    """
    key = "testRunData.testCases"  # of .latest_test_run.json
    if source.part(key) is None:
        key = "testCases"
    # what is wrong with a case is reported when its scores are read
    cases = Source(source.path, Problems("skip")).records(Case, key)
    directions = _directions(case for _, case in cases)

    def scores(count: int, case: Case) -> Iterator[Score]:
        for index, measured in enumerate(case.metricsData or ()):
            score, success = measured.score, measured.success
            if measured.error:
                score = success = None
            sample: dict[str, Any] = {
                "id": case.name or str(count),
                "text": case.input,
                "further": case.further,
            }
            yield Score(
                metric=measured.name,
                value=number(score, f"metricsData.{index}.score"),
                higher_is_better=directions.get(measured.name),
                **sample,
            )
            yield Score(
                metric=f"{measured.name} passed",
                value=number(success, f"metricsData.{index}.success"),
                higher_is_better=True,
                **sample,
            )

    return source.rows(source.records(Case, key), scores)


def _directions(cases: Iterable[Case]) -> dict[str, bool]:
    """Metric -> whether higher is better, where successes and failures agree on it."""
    votes: dict[str, set[bool]] = {}
    for case in cases:
        for measured in case.metricsData or ():
            score, threshold = measured.score, measured.threshold
            if measured.error or measured.success is None or score is None or threshold is None:
                continue
            if score != threshold:
                passes_above = (score > threshold) == measured.success
                votes.setdefault(measured.name, set()).add(passes_above)
    return {metric: vote.pop() for metric, vote in votes.items() if len(vote) == 1}
