"""Results of promptfoo: results.json, version 3, or the same results line by line."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from pydantic import Field

from ..core.files import bytes_hash
from ..core.language import Message
from .rows import Row, Score, Scored, but_got, number
from .source import Records, Source

VERSION = 3

ERROR = 2
"""The failureReason of a call that gave nothing to judge."""

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
        """What repeats of a test have in common, as a hash."""
        return bytes_hash(repr(self.vars).encode())

    @property
    def further(self) -> dict[str, Any]:
        """Output, error and what describes the test, whose variables have columns of their own."""
        return {
            "output": self.response.output if self.response else None,
            "error": self.error if self.failureReason == ERROR else None,
            "description": self.testCase.description,
            **(self.vars if len(self.vars) > 1 else {}),
            **(self.testCase.metadata or {}),
        }


def read(source: Source) -> Records:
    """Metrics success, score and the named scores; the condition is the provider (and the prompt,
    of several).

    Repeats are trials of their test. What failed for an error (failureReason 2) is no success, as
    in promptfoo's pass rate; its other scores are not measured.
    """
    _require_results(source)
    overview = _overview(source.first_look(_outcomes))
    if overview.n_errors:
        text = (
            "{n} of {of} results are errors: no success, as promptfoo counts them; "
            "their other scores are not measured"
        )
        source.warn("errors", text, n=overview.n_errors, of=overview.n_results)
    conditions = _conditions(overview.columns)
    repeats: Counter[tuple[Column, str]] = Counter()

    def scored(_: int, outcome: Outcome) -> Scored:
        column, test = outcome.column, outcome.test
        repeats[column, test] += 1
        trial = str(repeats[column, test]) if overview.is_repeated else None
        values = {"success": outcome.success, "score": outcome.score, **outcome.namedScores}
        scores = []
        for metric, value in values.items():
            if outcome.failureReason == ERROR and metric != "success":
                value = None
            scores.append(Score(metric, number(value, metric), True))
        return Scored(
            id=str(overview.names[test]),
            scores=scores,
            condition=conditions[column],
            trial=trial,
            text=_text(outcome.vars),
            further=outcome.further,
        )

    return source.rows(_outcomes(source), scored)


def _require_results(source: Source) -> None:
    """InputError for a file of another form or version."""
    suffix = source.path.suffix.lower()
    if suffix in OTHER_FORMS:
        text = "{suffix} does not hold all scores: promptfoo eval -o results.json"
        raise source.fatal("wrong-format", text, suffix=suffix)
    if suffix == ".jsonl":
        return
    version = source.value("results.version")
    if version != VERSION:
        expected = Message("expected results.json of promptfoo, version {n}", {"n": VERSION})
        message = but_got(expected, version)
        raise source.fatal("wrong-version", message, field="results.version")


def _outcomes(source: Source) -> Records:
    """The results, of a JSON document or line by line."""
    if source.path.suffix.lower() == ".jsonl":
        return source.json_lines(Outcome)
    return source.records(Outcome, "results.results")


@dataclass
class Overview:
    """What must be known of all results before the first row.

    `columns`: those of promptfoo's table, in order. `names`: test -> its least testIdx, by which it
    is named. `is_repeated`: whether a test has several results in a column.
    """

    n_results: int = 0
    n_errors: int = 0
    columns: dict[Column, None] = field(default_factory=dict)
    names: dict[str, int] = field(default_factory=dict)
    is_repeated: bool = False


def _overview(outcomes: Iterable[Outcome]) -> Overview:
    overview = Overview()
    cells = set()
    for outcome in outcomes:
        test, index = outcome.test, outcome.testIdx
        overview.n_results += 1
        overview.n_errors += outcome.failureReason == ERROR
        overview.columns[outcome.column] = None
        least = overview.names.get(test, index)
        overview.names[test] = min(index, least)
        cells.add((outcome.column, test))
    overview.is_repeated = overview.n_results > len(cells)
    return overview


def _conditions(columns: Iterable[Column]) -> dict[Column, str]:
    """Column -> the name of the condition: the provider, and the prompt's label of several."""
    n_prompts = Counter(provider for provider, _, _ in columns)
    conditions: dict[Column, str] = {}
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
    return json.dumps(variables, ensure_ascii=False) if variables else None
