"""Results of promptfoo: results.json, version 3."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import Field

from ..core.errors import Problems
from ..core.files import dumps
from ..core.records import read_json, require_file
from .rows import Place, Row, Score, fitting, listed, made, number, under

VERSION, KEY = 3, "results.results"

ERROR = 2
"""The failureReason of a call that gave nothing to judge."""


class Provider(Row):
    id: str
    label: str | None = None


class Outcome(Row):
    promptIdx: int
    testIdx: int
    provider: Provider
    vars: dict[str, Any] = Field(default_factory=dict)
    success: bool
    score: float
    namedScores: dict[str, Any] = Field(default_factory=dict)
    failureReason: int = 0


def read(path: Path, problems: Problems) -> Iterator[tuple[Place, Score]]:
    """Metrics success, score and the named scores; the condition is the provider (and the prompt, of several).

    Repeats of a test are seeds, numbered by order. What failed for an error (failureReason 2) is not measured.
    """
    require_file(path, problems)
    content = read_json(path, problems)
    version = under(content, "results.version")
    if version != VERSION:
        message = f"expected results.json of promptfoo, version {VERSION}, got version {str(version)[:20]}"
        raise problems.fatal("wrong-version", message, file=str(path), field="results.version")
    found = list(fitting(listed(content, KEY, path, problems), Outcome, path, problems, KEY))
    prompts = Counter(name for name, _ in {(_name(one), one.promptIdx) for _, one in found})
    tests = Counter((one.promptIdx, one.testIdx) for _, one in found)
    repeated, times = max(tests.values(), default=1) > 1, Counter[tuple[int, int]]()

    def rows(_: int, one: Outcome) -> Iterator[Score]:
        key = (one.promptIdx, one.testIdx)
        times[key] += 1
        condition = _name(one) + (f" prompt {one.promptIdx}" if prompts[_name(one)] > 1 else "")
        for metric, value in {
            "success": one.success,
            "score": one.score,
            **one.namedScores,
        }.items():
            field = f"namedScores.{metric}" if metric in one.namedScores else metric
            measured = None if one.failureReason == ERROR else number(value, field)
            yield Score(
                id=str(one.testIdx),
                metric=metric,
                value=measured,
                condition=condition,
                seed=str(times[key]) if repeated else None,
                text=_text(one.vars),
            )

    return made(found, rows, path, problems)


def _name(one: Outcome) -> str:
    return one.provider.label or one.provider.id


def _text(variables: dict[str, Any]) -> str | None:
    """The only variable where it is a text, else all of them."""
    only = next(iter(variables.values())) if len(variables) == 1 else None
    return only if isinstance(only, str) else (dumps(variables) if variables else None)
