"""What was declared to be tested: the primary metric, the headline, and margins.

A metric is meant by its position in the table, and an alias by the metric that it is another name
of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..core.errors import UsageError
from ..core.metric import MetricTable
from ..core.metric_matrix import Compiled, compile_table
from ..core.names import nearest
from .arrays import Array


@dataclass(frozen=True)
class Declared:
    """What is tested; arrays are over metrics.

    `directed`: whether a metric can be better or worse. `target`: the metric that it is another
    name of, or itself. `family`: the primary metric, then the others of the headline. `margins`:
    nan where none is declared. `leading`: whether a metric is primary or in the headline.
    """

    compiled: Compiled
    directed: Array
    target: Array
    family: list[int]
    margins: Array
    leading: list[bool]


def declare(
    table: MetricTable,
    headline: Sequence[str],
    primary: str | None,
    margin: Mapping[str, float],
    confidence: float,
) -> Declared:
    """What is tested. The first metric of the headline with a direction is primary by default.

    ValueError for a headline name that the table lacks, UsageError as `require_declared`.
    """
    compiled = compile_table(table)
    names = compiled.names
    unknown = sorted(set(headline) - set(names))
    if unknown:
        raise ValueError(f"headline metrics that the table lacks: {unknown}")
    require_declared(
        table,
        primary,
        margin,
        confidence,
    )
    position = {name: index for index, name in enumerate(names)}
    target = []
    for index, metric in enumerate(compiled.metrics):
        target.append(position.get(metric.alias_of, index))
    directed = _directed(compiled)
    leading = [primary, *headline] if primary else list(headline)
    family = []
    for name in leading:
        index = target[position[name]]
        if directed[index] and index not in family:
            family.append(index)
    margins = np.full(len(names), np.nan)
    for name, size in margin.items():
        margins[target[position[name]]] = size
    return Declared(
        compiled=compiled,
        directed=directed,
        target=np.array(target, dtype=int),
        family=family,
        margins=margins,
        leading=[name in leading for name in names],
    )


def _directed(compiled: Compiled) -> Array:
    """(metrics,): whether each metric can be better or worse."""
    has_direction = [metric.better != "none" for metric in compiled.metrics]
    return np.array(has_direction, dtype=bool) & ~compiled.counts


def require_declared(
    table: MetricTable,
    primary: str | None,
    margin: Mapping[str, float],
    confidence: float = 0.95,
) -> None:
    """UsageError unless a primary metric and margins, as declared, can be tested.

    >>> from evaltools.core.metric import Metric
    >>> table = [Metric(name="f1", numerator="tp", denominator="n", better="higher")]
    >>> require_declared(table, "f1", {"f1": 0.02})
    """
    compiled = compile_table(table)
    directed = dict(zip(compiled.names, _directed(compiled)))
    declared = [("margin", name) for name in margin]
    if primary:
        declared.insert(0, ("primary", primary))
    for what, name in declared:
        if name not in directed:
            raise UsageError(f"{what}: no metric {name!r}; {nearest(str(name), compiled.names)}")
        if not directed[name]:
            raise UsageError(
                f"{what}: {name} has no direction, so that it can be neither better nor worse"
            )
    for name, size in margin.items():
        if not 0 < size < np.inf:
            raise UsageError(f"margin of {name}: expected a finite number above 0, got {size:g}")
    targets = {metric.name: metric.alias_of or metric.name for metric in compiled.metrics}
    if len({targets[name] for name in margin}) < len(margin):
        raise UsageError("margin: a metric and its aliases can have one margin only")
    if margin and confidence <= 0.5:
        raise UsageError(f"a margin needs intervals of more than 50%, not {confidence:.0%}")
