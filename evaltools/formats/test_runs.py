"""Test runs: results.json of promptfoo, version 3; .latest_run_full.json and .latest_test_run.json of deepeval."""

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

from pydantic import Field

from ..core.files import Fields, bytes_hash
from ..core.records import short
from .source import Records, Row, Score, Source, at, score_rows

# the failureReason of a call that gave nothing to judge
ERROR = 2

# a variable that promptfoo sets itself, as those that begin with _: no part of the test
OF_SESSION = "sessionId"

# provider, label of the prompt and number: a column of promptfoo's table
Column = tuple[str, str, int]


class Provider(Row):
    """What gave the output."""

    id: str
    label: str | None = None


class Outcome(Row):
    """One test of one prompt with one provider. `prompt.label` is the template, or its name."""

    promptIdx: int
    testIdx: int
    provider: Provider
    prompt: Any = None
    vars: Fields = Field({})
    testCase: Any = None
    response: Any = None
    success: bool
    score: float
    namedScores: Fields = Field({})
    failureReason: int = 0
    error: str | None = None

    @property
    def column(self) -> Column:
        """The column of promptfoo's table in which the result stands."""
        label = at(self.prompt, "label", kind=str) or f"prompt {self.promptIdx}"
        return self.provider.label or self.provider.id, label, self.promptIdx

    @property
    def test(self) -> str:
        """The hash of what is asked and what is asserted: the same for repeats, and in another file."""
        asked = {
            name: value
            for name, value in self.vars.items()
            if name != OF_SESSION and not name.startswith("_")
        }
        content = json.dumps([asked, at(self.testCase, "assert")], sort_keys=True)
        return bytes_hash(content.encode())[:12]


def promptfoo(source: Source) -> Records:
    """Metrics success, score and the named scores; the condition is the provider (and the prompt, of several).

    A test is named by a hash of its variables and assertions, so that it pairs with the same one in another file;
    repeats are trials of it. What failed for an error (failureReason 2) is not measured; promptfoo's
    own pass rate counts it as no success.
    """
    version = at(source.document, "results", "version")
    if version != 3:
        message = f"expected results of promptfoo of version 3, got {short(version)}"
        if isinstance(version, int) and version < 3:
            message += ", which an older promptfoo wrote: with a newer one, promptfoo export eval ID -o results.json"
        raise source.fatal(
            "wrong-version",
            message,
            field="results.version",
        )
    outcomes = list(source.records(Outcome, "results.results"))
    conditions = _conditions(outcome.column for _, outcome in outcomes)
    tests = {(outcome.column, outcome.test) for _, outcome in outcomes}
    repeats = Counter[Any]()
    for place, outcome in outcomes:
        test = outcome.column, outcome.test
        repeats[test] += 1
        error = (outcome.error or "error") if outcome.failureReason == ERROR else None
        own = {"success": outcome.success, "score": outcome.score}
        values = own | outcome.namedScores | own
        variables = outcome.vars
        text = json.dumps(variables, ensure_ascii=False) if variables else None
        if len(variables) == 1:
            (only,) = variables.values()
            text, variables = (only if isinstance(only, str) else text), {}
        rows = score_rows(
            outcome.test,
            [
                Score(
                    name,
                    value,
                    True,
                    error,
                )
                for name, value in values.items()
            ],
            {
                "testIdx": outcome.testIdx,
                "output": at(outcome.response, "output"),
                "description": at(outcome.testCase, "description"),
                **variables,
                **(at(outcome.testCase, "metadata", kind=dict) or {}),
            },
            condition=conditions[outcome.column],
            trial=str(repeats[test]) if len(outcomes) > len(tests) else None,
            text=text,
        )
        yield place, rows


def _conditions(columns: Iterable[Column]) -> dict[Column, str]:
    """Column -> the name of the condition: the provider, and the prompt's label of several."""
    distinct = dict.fromkeys(columns)
    n_prompts = Counter(provider for provider, _, _ in distinct)
    names: dict[Column, str] = {}
    for column in distinct:
        provider, label, _ = column
        name = f"{provider} {label[:60]}" if n_prompts[provider] > 1 else provider
        names[column] = f"{name} ({len(names) + 1})" if name in names.values() else name
    return names


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


def deepeval(source: Source) -> Records:
    """A metric's score, and `NAME passed`, whose mean is deepeval's pass rate.

    With an error it is not measured. The direction of a score is that in which its threshold is
    passed, where all cases agree. A case is named by its number where several share a name.
    """
    above = "testRunData." if at(source.document, "testRunData") else ""
    cases = list(source.records(Case, f"{above}testCases"))
    names = Counter(case.name for _, case in cases)
    for place, case in cases:
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
        rows = score_rows(
            case.name
            if case.name and names[case.name] == 1
            else str(int(place.rpartition(".")[2]) + 1),
            scores,
            {"output": case.actualOutput, "target": case.expectedOutput}
            | (case.additionalMetadata or {}),
            text=case.input,
        )
        yield place, rows
