"""Which way the metrics of other tools go: directions.toml."""

from __future__ import annotations

import tomllib
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from pathlib import Path

HIGHER_IS_BETTER = {"unknown": None, "lower": False, "higher": True}
"""Direction -> what it means. Of patterns that fit one name the first direction counts."""


@cache
def directions() -> dict[str, dict[str, list[str]]]:
    """Tool -> direction -> names and patterns of metrics."""
    file = Path(__file__).with_suffix(".toml")
    return tomllib.loads(file.read_text(encoding="utf-8"))


@lru_cache(maxsize=4096)
def direction(
    tool: str,
    metric: str,
) -> str | None:
    """The direction under which a metric of a tool is listed; None where it is not.

    >>> direction("ragas", "exact_match"), direction("ragas", "coherence")
    ('higher', 'unknown')
    """
    listed = directions()[tool]
    for name in HIGHER_IS_BETTER:
        if metric in listed[name]:
            return name
    for name in HIGHER_IS_BETTER:
        if any(fnmatchcase(metric, pattern) for pattern in listed[name]):
            return name
    return None


def higher_is_better(
    tool: str,
    metric: str,
) -> bool | None:
    """Whether more is better of a metric of a tool; None where that is not known.

    >>> higher_is_better("ragas", "noise_sensitivity")
    False
    """
    return HIGHER_IS_BETTER.get(direction(tool, metric) or "unknown")
