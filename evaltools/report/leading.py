"""Which metrics lead several runs that are seen together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..core.errors import UsageError

if TYPE_CHECKING:
    from .run import Run


def blocked_of(runs: Sequence[Run]) -> frozenset[str]:
    """The metrics that a check blocks in any of the runs."""
    blocked: set[str] = set()
    for run in runs:
        blocked |= run.blocked
    return frozenset(blocked)


def headline_of(runs: Sequence[Run]) -> tuple[str, ...]:
    """The headline of runs seen together, without what a check blocks in any of them."""
    first = runs[0]
    blocked = blocked_of(runs)
    return first.suite.headline_names(first.options, blocked)


def with_primary(headline: tuple[str, ...], declared: str | None) -> tuple[str, ...]:
    """The headline, led by the declared primary metric if that is not in it."""
    if declared is None or declared in headline:
        return headline
    return (declared, *headline)


def primary_of(runs: Sequence[Run]) -> str:
    """The primary metric of the suite; the first of the headline that has a direction where that one has none."""
    first = runs[0]
    blocked = blocked_of(runs)
    primary = first.suite.primary_name(first.options, blocked)
    undirected = {metric.name for metric in first.metrics if metric.better == "none"}
    for name in (primary, *headline_of(runs)):
        if name not in undirected:
            return name
    return primary


def refuse_blocked(
    metric: str | None,
    runs: Sequence[Run],
    what: str = "",
) -> None:
    """UsageError where a check says that a metric means nothing in one of the runs."""
    for run in runs:
        for check in run.checks:
            if metric in check.blocks:
                raise UsageError(
                    "{what}{metric} means nothing here: {reason}",
                    what=what,
                    metric=metric,
                    reason=check.sentence,
                )
