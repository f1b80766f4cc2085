"""Test runs of deepeval: .latest_run_full.json and .latest_test_run.json."""

from collections import Counter
from typing import Any

from pydantic import Field

from .source import Records, Row, Score, Source, at, score_rows


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
    additionalMetadata: dict[str, Any] | None = None
    metrics: list[Measured] | None = Field(None, alias="metricsData")


def read(source: Source) -> Records:
    """A metric's score, and `NAME passed`, whose mean is deepeval's pass rate.

    With an error it is not measured. The direction of a score is that in which its threshold is
    passed, where all cases agree. A case is named by its number where several share a name.
    """
    above = "testRunData." if at(source.document, "testRunData") else ""
    cases = list(source.records(Case, f"{above}testCases"))
    names = Counter(case.name for _, case in cases)
    for number, (place, case) in enumerate(cases, 1):
        scores = []
        for measured in case.metrics or ():
            score, threshold, success = measured.score, measured.threshold, measured.success
            is_higher, error = None, measured.error
            if score is not None and threshold is not None and score != threshold:
                is_higher = None if success is None else (score > threshold) == success
            scores += [
                Score(
                    measured.name,
                    score,
                    is_higher,
                    error,
                ),
                Score(
                    f"{measured.name} passed",
                    success,
                    True,
                    error,
                ),
            ]
        texts = {"output": case.actualOutput, "target": case.expectedOutput}
        name = case.name if case.name and names[case.name] == 1 else str(number)
        rows = score_rows(
            name,
            scores,
            texts | (case.additionalMetadata or {}),
            text=case.input,
        )
        yield place, rows
