"""Test runs of deepeval: .latest_run_full.json and .latest_test_run.json."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from .source import Records, Row, Score, Scored, Source, mapping, number


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


def read(source: Source) -> Records:
    """A metric's score, and `NAME passed`, whose mean is deepeval's pass rate.

    With an error it is not measured. The direction of a score is that in which its threshold is
    passed, where all cases agree. A case is named by its number where several share a name.
    """
    above = "" if source.value("testRunData") is None else "testRunData."
    cases = list(source.records(Case, f"{above}testCases"))
    names = Counter(case.name for _, case in cases)
    # metric -> whether the threshold was passed above it, in the cases that tell
    votes: defaultdict[str, set[bool]] = defaultdict(set)
    for _, case in cases:
        for measured in case.metricsData or ():
            score, threshold, success = measured.score, measured.threshold, measured.success
            is_known = None not in (score, threshold, success) and score != threshold
            if is_known and not measured.error:
                votes[measured.name].add((score > threshold) == success)

    def scored(count: int, case: Case) -> Scored:
        scores = []
        times: Counter[str] = Counter()
        for index, measured in enumerate(case.metricsData or ()):
            times[measured.name] += 1
            n = times[measured.name]
            metric = f"{measured.name} ({n})" if n > 1 else measured.name
            is_higher = True in votes[measured.name] if len(votes[measured.name]) == 1 else None
            error = measured.error or None
            score, success = measured.score, measured.success
            if error:
                score = success = None
            value = number(score, f"metricsData.{index}.score")
            scores.append(Score(metric, value, is_higher, error=error))
            scores.append(Score(f"{metric} passed", number(success, "success"), True, error=error))
        texts = {"output": case.actualOutput, "target": case.expectedOutput}
        return Scored(
            id=case.name if case.name and names[case.name] == 1 else str(count),
            scores=scores,
            text=case.input,
            further={**texts, **mapping(case.additionalMetadata)},
        )

    return source.rows(cases, scored)
