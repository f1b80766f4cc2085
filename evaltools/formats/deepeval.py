"""Test runs of deepeval: .latest_run_full.json and .latest_test_run.json."""

from __future__ import annotations

from collections import Counter, defaultdict
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

    @property
    def passes_above(self) -> bool | None:
        """Whether the threshold is passed above it; None where this does not tell."""
        if self.error or self.success is None or self.score is None:
            return None
        if self.threshold is None or self.score == self.threshold:
            return None
        return (self.score > self.threshold) == self.success


class Case(Row):
    """A test case."""

    name: str | None = None
    input: str | None = None
    actualOutput: Any = None
    expectedOutput: Any = None
    additionalMetadata: Any = None
    metricsData: list[Measured] | None = None


def read(source: Source) -> Records:
    """A metric's score, and `NAME passed`, whose mean is deepeval's pass rate.

    With an error it is not measured. The direction of a score is that in which its threshold is
    passed, where all cases agree. A case is named by its number where several share a name.
    """
    key = "testCases"
    if source.part("testRunData") is not None:  # of .latest_test_run.json
        key = "testRunData.testCases"
    names: Counter[str | None] = Counter()
    votes: defaultdict[str, set[bool]] = defaultdict(set)
    for case in source.first_look(lambda again: again.records(Case, key)):
        names[case.name] += 1
        for measured in case.metricsData or ():
            if measured.passes_above is not None:
                votes[measured.name].add(measured.passes_above)

    def scored(
        count: int,
        case: Case,
    ) -> Scored:
        scores = []
        for index, measured in enumerate(case.metricsData or ()):
            score, success = measured.score, measured.success
            if measured.error:
                score = success = None
            value = number(score, f"metricsData.{index}.score")
            metric = measured.name
            is_higher = True in votes[metric] if len(votes[metric]) == 1 else None
            scores.append(Score(metric, value, is_higher))
            scores.append(Score(f"{metric} passed", number(success, "success"), True))
        texts = {"output": case.actualOutput, "target": case.expectedOutput}
        return Scored(
            id=case.name if case.name and names[case.name] == 1 else str(count),
            scores=scores,
            text=case.input,
            further={**texts, **mapping(case.additionalMetadata)},
        )

    return source.rows(source.records(Case, key), scored)
