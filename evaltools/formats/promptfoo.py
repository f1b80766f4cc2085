"""Results of promptfoo: results.json, version 3."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import Field

from ..core.files import dumps
from .rows import Row, Score, number
from .source import Records, Source, under

VERSION = 3

ERROR = 2
"""The failureReason of a call that gave nothing to judge."""


class Provider(Row):
    """What gave the output."""

    id: str
    label: str | None = None

    @property
    def name(self) -> str:
        return self.label or self.id


class Outcome(Row):
    """One test of one prompt with one provider."""

    promptIdx: int
    testIdx: int
    provider: Provider
    vars: dict[str, Any] = Field(default_factory=dict)
    success: bool
    score: float
    namedScores: dict[str, Any] = Field(default_factory=dict)
    failureReason: int = 0

    @property
    def test(self) -> tuple[int, int]:
        """What repeats of a test have in common."""
        return self.promptIdx, self.testIdx


def read(source: Source) -> Records:
    """Metrics success, score and the named scores; the condition is the provider (and the prompt,
    of several).

    Repeats of a test are seeds, numbered by order. What failed for an error (failureReason 2) is
    not measured.
    """
    content = source.json()
    version = under(content, "results.version")
    if version != VERSION:
        message = (
            f"expected results.json of promptfoo, version {VERSION}, "
            f"got version {str(version)[:20]}"
        )
        raise source.fatal("wrong-version", message, field="results.version")
    records = list(source.records(content, Outcome, "results.results"))
    outcomes = [outcome for _, outcome in records]
    conditions = _conditions(outcomes)
    tests = Counter(outcome.test for outcome in outcomes)
    is_repeated = max(tests.values(), default=1) > 1
    repeats: Counter[tuple[int, int]] = Counter()

    def scores(_: int, outcome: Outcome) -> Iterator[Score]:
        repeats[outcome.test] += 1
        values = {
            "success": outcome.success,
            "score": outcome.score,
            **outcome.namedScores,
        }
        for metric, value in values.items():
            field = f"namedScores.{metric}" if metric in outcome.namedScores else metric
            if outcome.failureReason == ERROR:
                value = None
            yield Score(
                id=str(outcome.testIdx),
                metric=metric,
                value=number(value, field),
                condition=conditions[outcome.provider.name, outcome.promptIdx],
                seed=str(repeats[outcome.test]) if is_repeated else None,
                text=_text(outcome.vars),
            )

    return source.rows(records, scores)


def _conditions(outcomes: Sequence[Outcome]) -> dict[tuple[str, int], str]:
    """(provider, prompt) -> the name of the condition."""
    pairs = {(outcome.provider.name, outcome.promptIdx) for outcome in outcomes}
    n_prompts = Counter(provider for provider, _ in pairs)
    conditions = {}
    for provider, prompt in pairs:
        several = n_prompts[provider] > 1
        conditions[provider, prompt] = f"{provider} prompt {prompt}" if several else provider
    return conditions


def _text(variables: dict[str, Any]) -> str | None:
    """The only variable where it is a text, else all of them."""
    values = list(variables.values())
    if len(values) == 1 and isinstance(values[0], str):
        return values[0]
    return dumps(variables) if variables else None
