"""Test runs of deepeval: .latest_run_full.json and .latest_test_run.json."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import chain
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
    """A test case; the last three fields are of a conversation."""

    name: str | None = None
    input: str | None = None
    actualOutput: Any = None
    expectedOutput: Any = None
    additionalMetadata: Any = None
    metricsData: list[Measured] | None = None
    scenario: str | None = None
    expectedOutcome: str | None = None
    metadata: Any = None


def read(source: Source) -> Records:
    """A metric's score, and `NAME passed`, whose mean is deepeval's pass rate.

    With an error it is not measured. The direction of a score is that in which its threshold is
    passed, where all cases agree. A case is named by its number where several share a name.
    """
    names: Counter[str | None] = Counter()
    votes: defaultdict[str, set[bool]] = defaultdict(set)
    for case in source.first_look(_cases):
        names[case.name] += 1
        for measured in case.metricsData or ():
            if measured.passes_above is not None:
                votes[measured.name].add(measured.passes_above)

    def scored(
        count: int,
        case: Case,
    ) -> Scored:
        scores = []
        times: Counter[str] = Counter()
        for index, measured in enumerate(case.metricsData or ()):
            score, success = measured.score, measured.success
            if measured.error:
                score = success = None
            value = number(score, f"metricsData.{index}.score")
            of_name = votes[measured.name]
            is_higher = True in of_name if len(of_name) == 1 else None
            times[measured.name] += 1
            metric = measured.name
            if times[metric] > 1:
                metric = f"{metric} ({times[metric]})"
            passed = number(success, "success")
            error = measured.error or None
            scores.append(Score(metric, value, is_higher, error=error))
            scores.append(Score(f"{metric} passed", passed, True, error=error))
        texts = {
            "output": case.actualOutput,
            "target": case.expectedOutput or case.expectedOutcome,
        }
        return Scored(
            id=case.name if case.name and names[case.name] == 1 else str(count),
            scores=scores,
            text=case.input or case.scenario,
            further={**texts, **mapping(case.additionalMetadata), **mapping(case.metadata)},
        )

    return source.rows(_cases(source), scored)


def _cases(source: Source) -> Records:
    """The test cases, then the conversations."""
    # of .latest_test_run.json
    above = "" if source.value("testRunData") is None else "testRunData."
    conversations = above + "conversationalTestCases"
    cases = source.records(Case, f"{above}testCases")
    if source.value(conversations):
        return chain(cases, source.records(Case, conversations))
    return cases
