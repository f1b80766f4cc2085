"""Results of promptfoo: results.json, version 3, or the same results line by line."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

from pydantic import Field

from ..core.files import bytes_hash
from ..core.records import short
from .source import Records, Row, Score, Scored, Source, number

VERSION = 3

# the failureReason of a call that gave nothing to judge
ERROR = 2

# a variable that promptfoo sets itself, as those that begin with _: no part of the test
OF_SESSION = "sessionId"

# provider, id of the prompt, and its label: what a column of promptfoo's table is of
Column = tuple[str, str, str]


class Provider(Row):
    """What gave the output."""

    id: str
    label: str | None = None


class Prompt(Row):
    """A prompt, filled with the variables of the test; the label is the template, or its name."""

    raw: str = ""
    label: str | None = None


class Case(Row):
    """A test as the config describes it."""

    assert_: Any = Field(None, alias="assert")
    description: str | None = None
    metadata: dict[str, Any] | None = None


class Response(Row):
    """What the provider answered."""

    output: Any = None


class Outcome(Row):
    """One test of one prompt with one provider."""

    promptIdx: int
    testIdx: int
    provider: Provider
    prompt: Prompt | None = None
    promptId: str = ""
    vars: dict[str, Any] = Field(default_factory=dict)
    testCase: Case = Field(default_factory=Case)
    response: Response | None = None
    success: bool
    score: float
    namedScores: dict[str, Any] = Field(default_factory=dict)
    failureReason: int = 0
    error: str | None = None

    @property
    def column(self) -> Column:
        """The column of promptfoo's table in which the result stands."""
        label = self.prompt.label or self.prompt.raw if self.prompt else ""
        provider = self.provider.label or self.provider.id
        return provider, self.promptId, label or f"prompt {self.promptIdx}"

    @property
    def test(self) -> str:
        """The hash of what is asked and what is asserted: the same for repeats, and in another file."""
        asked = {}
        for name, value in self.vars.items():
            if name != OF_SESSION and not name.startswith("_"):
                asked[name] = value
        content = json.dumps([asked, self.testCase.assert_], sort_keys=True)
        return bytes_hash(content.encode())[:12]


def read(source: Source) -> Records:
    """Metrics success, score and the named scores; the condition is the provider (and the prompt, of several).

    A test is named by a hash of its variables and assertions, so that it pairs with the same one in another file;
    repeats are trials of it. What failed for an error (failureReason 2) is not measured; promptfoo's
    own pass rate counts it as no success.
    """
    outcomes = list(_outcomes(source))
    times = Counter((outcome.column, outcome.test) for _, outcome in outcomes)
    conditions = _conditions(dict.fromkeys(outcome.column for _, outcome in outcomes))
    n_errors = sum(outcome.failureReason == ERROR for _, outcome in outcomes)
    if n_errors:
        message = (
            f"{n_errors} of {len(outcomes)} results are errors: not measured "
            "(promptfoo's own pass rate counts them as no success)"
        )
        source.warn("errors", message)
    repeats: Counter[tuple[Column, str]] = Counter()

    def scored(_: int, outcome: Outcome) -> Scored:
        test = outcome.column, outcome.test
        repeats[test] += 1
        error = (outcome.error or "error") if outcome.failureReason == ERROR else None
        values = {"success": outcome.success, "score": outcome.score}
        for name, value in outcome.namedScores.items():
            values[f"{name} (named)" if name in values else name] = value
        scores = []
        for metric, value in values.items():
            scores.append(
                Score(metric, None if error else number(value, metric), True, error=error)
            )
        variables = list(outcome.vars.values())
        text = json.dumps(outcome.vars, ensure_ascii=False) if variables else None
        if len(variables) == 1 and isinstance(variables[0], str):
            text = variables[0]
        return Scored(
            id=outcome.test,
            scores=scores,
            condition=conditions[outcome.column],
            trial=str(repeats[test]) if len(outcomes) > len(times) else None,
            text=text,
            further={
                "testIdx": outcome.testIdx,
                "output": outcome.response.output if outcome.response else None,
                "description": outcome.testCase.description,
                **(outcome.vars if len(variables) > 1 else {}),
                **(outcome.testCase.metadata or {}),
            },
        )

    return source.rows(outcomes, scored)


def _outcomes(source: Source) -> Records:
    """The results, of a JSON document or line by line."""
    if source.path.suffix.lower() == ".jsonl":
        return source.json_lines(Outcome)
    version = source.value("results.version")
    if version != VERSION:
        message = f"expected results of promptfoo of version {VERSION}, got {short(version)}"
        if isinstance(version, int) and version < VERSION:
            message += ", which an older promptfoo wrote: with a newer one, "
            message += "promptfoo export eval ID -o results.json"
        raise source.fatal("wrong-version", message, field="results.version")
    return source.records(Outcome, "results.results")


def _conditions(columns: Iterable[Column]) -> dict[Column, str]:
    """Column -> the name of the condition: the provider, and the prompt's label of several."""
    n_prompts = Counter(provider for provider, _, _ in columns)
    times: Counter[str] = Counter()
    conditions = {}
    for column in columns:
        provider, _, label = column
        name = f"{provider} {label[:60]}" if n_prompts[provider] > 1 else provider
        times[name] += 1
        conditions[column] = f"{name} ({times[name]})" if times[name] > 1 else name
    return conditions
