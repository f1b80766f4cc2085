"""Test runs of deepeval: .latest_run_full.json and .latest_test_run.json."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from .rows import Row, Score, Scored, mapping, number
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
    def measured(self) -> list[tuple[str, Measured]]:
        """Metrics under names of their own."""
        times: Counter[str] = Counter()
        named = []
        for measured in self.metricsData or ():
            name = measured.name
            times[name] += 1
            if times[name] > 1:
                name += f" ({times[name]})"
            named.append((name, measured))
        return named

    @property
    def further(self) -> dict[str, Any]:
        texts = {"output": self.actualOutput, "target": self.expectedOutput}
        return {**texts, **mapping(self.additionalMetadata)}


@dataclass
class Overview:
    """What must be known of all cases before the first row.

    `names`: how many cases have a name, as parametrized tests share one. `directions`: metric ->
    the directions in which its thresholds are passed.
    """

    names: Counter[str | None] = field(default_factory=Counter)
    directions: dict[str, set[bool]] = field(default_factory=dict)

    def higher_is_better(self, metric: str) -> bool | None:
        """The direction on which successes and failures agree."""
        votes = self.directions.get(metric, set())
        return next(iter(votes)) if len(votes) == 1 else None


def read(source: Source) -> Records:
    """A metric's score, and `NAME passed`, whose mean is deepeval's pass rate.

    With an error it is not measured. The direction of a score is that in which its threshold is
    passed. A case is named by its number where several share a name; the second metric of a name
    on a case is `NAME (2)`.
    """
    overview = _overview(source.first_look(_cases))

    def scored(count: int, case: Case) -> Scored:
        scores = []
        for index, (metric, measured) in enumerate(case.measured):
            score, success = measured.score, measured.success
            if measured.error:
                score = success = None
            value = number(score, f"metricsData.{index}.score")
            is_higher = overview.higher_is_better(metric)
            passed = number(success, "success")
            scores.append(Score(metric, value, is_higher))
            scores.append(Score(f"{metric} passed", passed, True))
        name = case.name if overview.names[case.name] == 1 else None
        return Scored(
            id=name or str(count),
            scores=scores,
            text=case.input,
            further=case.further,
        )

    return source.rows(_cases(source), scored)


def _cases(source: Source) -> Records:
    key = "testRunData.testCases"  # of .latest_test_run.json
    if source.part(key) is None:
        key = "testCases"
    return source.records(Case, key)


def _overview(cases: Iterable[Case]) -> Overview:
    overview = Overview()
    for case in cases:
        overview.names[case.name] += 1
        for metric, measured in case.measured:
            score, threshold = measured.score, measured.threshold
            if measured.error or measured.success is None:
                continue
            if score is None or threshold is None:
                continue
            if score != threshold:
                passes_above = (score > threshold) == measured.success
                overview.directions.setdefault(metric, set()).add(passes_above)
    return overview
