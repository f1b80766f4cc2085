"""Results of promptfoo: results.json, version 3, or the same results line by line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import Field

from ..core.files import dumps
from .rows import Row, Score, further_columns, number
from .source import Records, Source, under

VERSION = 3

ERROR = 2
"""The failureReason of a call that gave nothing to judge."""

LABEL = 60
"""Characters of a prompt's label in the name of its condition."""

OTHER_FORMS = (".csv", ".html", ".txt", ".xml", ".yaml", ".yml")
"""Files that promptfoo writes, too, and that hold less than the JSON."""


class Provider(Row):
    """What gave the output."""

    id: str
    label: str | None = None

    @property
    def name(self) -> str:
        return self.label or self.id


class Prompt(Row):
    """A prompt, filled with the variables of the test; the label is the template, or its name."""

    raw: str = ""
    label: str | None = None


class Assertion(Row):
    """What is held against an output, under the name of a metric."""

    metric: str | None = None


class Case(Row):
    """A test as the config describes it."""

    description: str | None = None
    metadata: dict[str, Any] | None = None
    asserts: list[Assertion] = Field(default_factory=list, alias="assert")


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
    def label(self) -> str:
        """What promptfoo shows of the prompt."""
        label = self.prompt.label or self.prompt.raw if self.prompt else ""
        return label or f"prompt {self.promptIdx}"

    @property
    def column(self) -> tuple[str, str, str]:
        """Provider and prompt, which are a column of promptfoo's table."""
        return self.provider.name, self.promptId, self.label

    @property
    def named_metrics(self) -> list[str]:
        """The named scores that the test has, or would have without an error."""
        declared = [entry.metric for entry in self.testCase.asserts if entry.metric]
        return list(dict.fromkeys([*self.namedScores, *declared]))

    @property
    def test(self) -> str:
        """What repeats of a test have in common."""
        metrics = [entry.metric for entry in self.testCase.asserts]
        return dumps([self.vars, self.testCase.description, metrics])

    @property
    def further(self) -> dict[str, Any]:
        """Output, error and what describes the test, whose variables have columns of their own."""
        return further_columns(
            {
                "output": self.response.output if self.response else None,
                "error": self.error if self.failureReason == ERROR else None,
                "description": self.testCase.description,
                **(self.vars if len(self.vars) > 1 else {}),
                **(self.testCase.metadata or {}),
            }
        )


def read(source: Source) -> Records:
    """Metrics success, score and the named scores; the condition is the provider (and the prompt,
    of several).

    Repeats are trials of their test. What failed for an error (failureReason 2) is no success, as
    in promptfoo's pass rate; its other scores are not measured.
    """
    records = _records(source)
    outcomes = [outcome for _, outcome in records]
    conditions = _conditions(outcomes)
    samples = _samples(outcomes)
    n_errors = sum(outcome.failureReason == ERROR for outcome in outcomes)
    if n_errors:
        message = (
            f"{n_errors} of {len(outcomes)} results are errors: no success, as promptfoo counts "
            "them; their other scores are not measured"
        )
        source.warn("errors", message)

    def scores(count: int, outcome: Outcome) -> Iterator[Score]:
        test, trial = samples[count - 1]
        values: dict[str, Any] = {"success": outcome.success, "score": outcome.score}
        fields = {"success": "success", "score": "score"}
        for metric in outcome.named_metrics:
            values[metric] = outcome.namedScores.get(metric)
            fields[metric] = f"namedScores.{metric}"
        for metric, value in values.items():
            if outcome.failureReason == ERROR and metric != "success":
                value = None
            yield Score(
                id=test,
                metric=metric,
                value=number(value, fields[metric]),
                condition=conditions[outcome.column],
                trial=trial,
                text=_text(outcome.vars),
                higher_is_better=True,
                further=outcome.further,
            )

    return source.rows(records, scores)


def _records(source: Source) -> list[tuple[Any, Outcome]]:
    suffix = source.path.suffix.lower()
    if suffix in OTHER_FORMS:
        message = f"{suffix} does not hold all scores: promptfoo eval -o results.json"
        raise source.fatal("wrong-format", message)
    if suffix == ".jsonl":
        return list(source.json_lines(Outcome))
    content = source.json()
    version = under(content, "results.version")
    if version != VERSION:
        message = (
            f"expected results.json of promptfoo, version {VERSION}, "
            f"got version {str(version)[:20]}"
        )
        raise source.fatal("wrong-version", message, field="results.version")
    return list(source.records(content, Outcome, "results.results"))


def _samples(outcomes: Sequence[Outcome]) -> list[tuple[str, str | None]]:
    """(test, trial) of each outcome; the trial is None where nothing is repeated.

    Each repeat has a number of its own (testIdx); a test is named by the least.
    """
    names: dict[str, int] = {}
    repeats: dict[tuple[str, str, str, str], list[int]] = {}
    for outcome in outcomes:
        names[outcome.test] = min(outcome.testIdx, names.get(outcome.test, outcome.testIdx))
        numbers = repeats.setdefault((*outcome.column, outcome.test), [])
        numbers.append(outcome.testIdx)
    is_repeated = any(len(numbers) > 1 for numbers in repeats.values())
    samples: list[tuple[str, str | None]] = []
    for numbers in repeats.values():
        numbers.sort()
    for outcome in outcomes:
        trial = None
        if is_repeated:
            numbers = repeats[(*outcome.column, outcome.test)]
            trial_index = numbers.index(outcome.testIdx)
            numbers[trial_index] = -1  # older versions number repeats like their test
            trial = str(trial_index + 1)
        samples.append((str(names[outcome.test]), trial))
    return samples


def _conditions(outcomes: Sequence[Outcome]) -> dict[tuple[str, str, str], str]:
    """Column -> the name of the condition: the provider, and the prompt's label of several."""
    columns = list(dict.fromkeys(outcome.column for outcome in outcomes))
    n_prompts = Counter(provider for provider, _, _ in columns)
    conditions: dict[tuple[str, str, str], str] = {}
    for column in columns:
        provider, _, label = column
        name = f"{provider} {label[:LABEL]}" if n_prompts[provider] > 1 else provider
        unique = name
        n_same = 1
        while unique in conditions.values():
            n_same += 1
            unique = f"{name} ({n_same})"
        conditions[column] = unique
    return conditions


def _text(variables: dict[str, Any]) -> str | None:
    """The only variable where it is a text, else all of them."""
    values = list(variables.values())
    if len(values) == 1 and isinstance(values[0], str):
        return values[0]
    return dumps(variables) if variables else None
