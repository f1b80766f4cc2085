"""Results of promptfoo: results.json, version 3, or the same results line by line."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

from pydantic import Field

from ..core.files import bytes_hash
from ..core.records import short
from .rows import Row, Score, Scored, number
from .source import Records, Source

VERSION = 3

# the failureReason of a call that gave nothing to judge
ERROR = 2

# a variable that promptfoo sets itself, as those that begin with _: no part of the test
OF_SESSION = "sessionId"

# characters of the hash that names a test
ID_SIGNS = 12

# characters of a prompt's label in the name of its condition
LABEL = 60

# files that promptfoo writes, too, and that hold less than the JSON
OTHER_FORMS = (".csv", ".html", ".txt", ".xml", ".yaml", ".yml")

# provider, id of the prompt, and its label: what a column of promptfoo's table is of
Column = tuple[str, str, str]


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
        """Output and what describes the test, whose variables have columns of their own."""
        return {
            "testIdx": self.testIdx,
            "output": self.response.output if self.response else None,
            "description": self.testCase.description,
            **(self.vars if len(self.vars) > 1 else {}),
            **(self.testCase.metadata or {}),
        }


def read(source: Source) -> Records:
    """Metrics success, score and the named scores; the condition is the provider (and the prompt,
    of several).

    A test is named by a hash of its variables and assertions, so that it pairs with the same one in another file;
    repeats are trials of it. What failed for an error (failureReason 2) is not measured; promptfoo's
    own pass rate counts it as no success.
    """
    suffix = source.path.suffix.lower()
    if suffix in OTHER_FORMS:
        message = f"{suffix} does not hold all scores: promptfoo eval -o results.json"
        raise source.fatal("wrong-format", message)
    n_errors = 0
    columns: dict[Column, None] = {}
    times: Counter[tuple[Column, str]] = Counter()
    for outcome in source.first_look(_outcomes):
        test = outcome.test
        n_errors += outcome.failureReason == ERROR
        columns[outcome.column] = None
        times[outcome.column, test] += 1
    if n_errors:
        message = (
            f"{n_errors} of {times.total()} results are errors: not measured "
            "(promptfoo's own pass rate counts them as no success)"
        )
        source.warn("errors", message)
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
            error = (outcome.error or "error") if outcome.failureReason == ERROR else None
            measured = None if error else number(value, metric)
            scores.append(Score(metric, measured, True, error=error))
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
    version = source.value("results.version")
    if isinstance(version, int) and version < VERSION:
        message = (
            f"results of version {version}, which an older promptfoo wrote; expected {VERSION}: "
            "with a newer one, promptfoo export eval ID -o results.json"
        )
        raise source.fatal("wrong-version", message, field="results.version")
    if version != VERSION:
        message = f"expected results of promptfoo of version {VERSION}, got {short(version)}"
        raise source.fatal("wrong-version", message, field="results.version")
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
