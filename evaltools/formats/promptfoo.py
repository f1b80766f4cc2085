"""Results of promptfoo: results.json, version 3, or the same results line by line."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

from pydantic import Field

from ..core.files import bytes_hash
from .rows import Row, Score, Scored, number
from .source import Records, Source

VERSIONS = (3,)

ERROR = 2
"""The failureReason of a call that gave nothing to judge."""

OF_SESSION = "sessionId"
"""A variable that promptfoo sets itself, as those that begin with _: no part of the test."""

ID_SIGNS = 12
"""Characters of the hash that names a test."""

LABEL = 60
"""Characters of a prompt's label in the name of its condition."""

OTHER_FORMS = (".csv", ".html", ".txt", ".xml", ".yaml", ".yml")
"""Files that promptfoo writes, too, and that hold less than the JSON."""


Column = tuple[str, str, str]
"""Provider, id of the prompt, and its label: what a column of promptfoo's table is of."""


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
    def label(self) -> str:
        """What promptfoo shows of the prompt."""
        label = self.prompt.label or self.prompt.raw if self.prompt else ""
        return label or f"prompt {self.promptIdx}"

    @property
    def column(self) -> Column:
        """The column of promptfoo's table in which the result stands."""
        return self.provider.name, self.promptId, self.label

    @property
    def test(self) -> str:
        """The hash of what is asked and what is asserted: the same for repeats, and in another file."""
        asked = {}
        for name, value in self.vars.items():
            if name != OF_SESSION and not name.startswith("_"):
                asked[name] = value
        content = json.dumps([asked, self.testCase.assert_], sort_keys=True)
        return bytes_hash(content.encode())[:ID_SIGNS]

    @property
    def further(self) -> dict[str, Any]:
        """Output, error and what describes the test, whose variables have columns of their own."""
        return {
            "testIdx": self.testIdx,
            "output": self.response.output if self.response else None,
            "error": self.error if self.failureReason == ERROR else None,
            "description": self.testCase.description,
            **(self.vars if len(self.vars) > 1 else {}),
            **(self.testCase.metadata or {}),
        }


def read(source: Source) -> Records:
    """Metrics success, score and the named scores; the condition is the provider (and the prompt,
    of several).

    A test is named by a hash of its variables and assertions, so that it pairs with the same one in another file;
    repeats are trials of it. What failed for an error (failureReason 2) is no success, as
    in promptfoo's pass rate; its other scores are not measured.
    """
    suffix = source.path.suffix.lower()
    if suffix in OTHER_FORMS:
        text = "{suffix} does not hold all scores: promptfoo eval -o results.json"
        raise source.fatal("wrong-format", text, suffix=suffix)
    n_errors = 0
    columns: dict[Column, None] = {}
    times: Counter[tuple[Column, str]] = Counter()
    for outcome in source.first_look(_outcomes):
        test = outcome.test
        n_errors += outcome.failureReason == ERROR
        columns[outcome.column] = None
        times[outcome.column, test] += 1
    if n_errors:
        text = (
            "{n} of {of} results are errors: no success, as promptfoo counts them; "
            "their other scores are not measured"
        )
        source.warn("errors", text, n=n_errors, of=times.total())
    is_repeated = times.total() > len(times)
    conditions = _conditions(columns)
    repeats: Counter[tuple[Column, str]] = Counter()

    def scored(
        _: int,
        outcome: Outcome,
    ) -> Scored:
        column, test = outcome.column, outcome.test
        repeats[column, test] += 1
        trial = str(repeats[column, test]) if is_repeated else None
        values = {"success": outcome.success, "score": outcome.score}
        for name, value in outcome.namedScores.items():
            values[f"{name} (named)" if name in values else name] = value
        scores = []
        for metric, value in values.items():
            if outcome.failureReason == ERROR and metric != "success":
                value = None
            scores.append(Score(metric, number(value, metric), True))
        return Scored(
            id=test,
            scores=scores,
            condition=conditions[column],
            trial=trial,
            text=_text(outcome.vars),
            further=outcome.further,
        )

    return source.rows(_outcomes(source), scored)


def _outcomes(source: Source) -> Records:
    """The results, of a JSON document or line by line."""
    if source.path.suffix.lower() == ".jsonl":
        return source.json_lines(Outcome)
    field = "results.version"
    source.require_version(source.value(field), VERSIONS, field)
    return source.records(Outcome, "results.results")


def _conditions(columns: Iterable[Column]) -> dict[Column, str]:
    """Column -> the name of the condition: the provider, and the prompt's label of several."""
    n_prompts = Counter(provider for provider, _, _ in columns)
    times: Counter[str] = Counter()
    conditions = {}
    for column in columns:
        provider, _, label = column
        name = f"{provider} {label[:LABEL]}" if n_prompts[provider] > 1 else provider
        times[name] += 1
        conditions[column] = f"{name} ({times[name]})" if times[name] > 1 else name
    return conditions


def _text(variables: dict[str, Any]) -> str | None:
    """The only variable where it is a text, else all of them."""
    values = list(variables.values())
    if len(values) == 1 and isinstance(values[0], str):
        return values[0]
    return json.dumps(variables, ensure_ascii=False) if variables else None
