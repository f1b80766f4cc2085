"""What is measured: a row in which a column of a metric is null takes no part in that metric.

A row with a null and a row that is left out are one thing. So metrics are computed in groups, each
on the rows in which its metrics are measured. What one of two sides lacks takes no part in their
comparison; it is counted, and its ends say what it could change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from ..core.metric import MetricTable, subset
from ..core.metric_matrix import Compiled, compile_table, require_columns, require_measured
from .arrays import LARGE, Array
from .design import Grid, Runs
from .influence import Cells, cell_sums, seed_mean


@dataclass(frozen=True)
class MeasuredGroup:
    """Metrics (indices in their table) that are measured in the same rows.

    `columns`: those in which a null means that they are not measured; () where all rows are.
    """

    metrics: list[int]
    columns: tuple[str, ...]

    def rows(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The rows of a frame in which the metrics are measured."""
        if not self.columns:
            return frame
        return frame.dropna(subset=list(self.columns))

    def runs(self, runs: Runs) -> Runs:
        """A condition (seed -> units frame), each frame with its measured rows only."""
        return {seed: self.rows(frame) for seed, frame in runs.items()}


def measured_groups(
    table: MetricTable,
    frames: Sequence[pd.DataFrame],
    unit: str,
) -> list[MeasuredGroup]:
    """The metrics of a table in groups that are measured in the same rows of all frames.

    KeyError names the columns that a frame lacks; ValueError as `require_measured`.

    >>> from evaltools.core.metric import Metric
    >>> accuracy = Metric(name="accuracy", numerator="right", denominator="n", better="higher")
    >>> judge = Metric(name="judge", numerator="score", denominator="scored", better="higher")
    >>> units = pd.DataFrame({"id": [1, 2], "right": 1, "n": 1, "score": [0.5, None], "scored": [1, None]})
    >>> groups = measured_groups([accuracy, judge], [units], "id")
    >>> [(group.metrics, group.columns) for group in groups]
    [([0], ()), ([1], ('score', 'scored'))]
    """
    if not frames:
        raise ValueError("a condition needs at least one run")
    compiled = compile_table(table)
    for frame in frames:
        require_columns(frame, compiled.columns)
        require_measured(frame, compiled, unit)
    is_null = pd.concat([frame[list(compiled.columns)].isna() for frame in frames])
    is_null = is_null.loc[:, is_null.any()]
    groups: dict[bytes, MeasuredGroup] = {}
    for metric in range(len(compiled.metrics)):
        used = _columns_of(compiled, metric)
        columns = [column for column in used if column in is_null]
        rows = is_null[columns].any(axis=1).to_numpy()
        key = rows.tobytes()
        group = groups.setdefault(key, MeasuredGroup([], tuple(columns)))
        group.metrics.append(metric)
    return list(groups.values())


def measured_runs(
    runs: Runs,
    table: MetricTable,
    unit: str,
) -> Runs:
    """A condition with the rows in which the first metric of a table is measured.

    ValueError as `require_measured`.
    """
    first = measured_groups(table, list(runs.values()), unit)[0]
    return first.runs(runs)


def _columns_of(
    compiled: Compiled,
    metric: int,
) -> tuple[str, ...]:
    """The columns of the numerators and denominators that a metric is made of."""
    used = compiled.uses[metric]
    in_numerator = compiled.numerator[:, used].any(axis=1)
    in_denominator = compiled.denominator[:, used].any(axis=1)
    columns = np.array(compiled.columns, dtype=object)
    return tuple(columns[in_numerator | in_denominator])


AT_ONCE = 1_000_000
"""Values (metrics times cells) that are held in memory at a time where there are many units."""


def metric_groups(
    table: MetricTable,
    metrics: Sequence[int],
    n_units: int,
    n_cells: int,
) -> Iterator[tuple[list[int], Compiled]]:
    """(indices of metrics, these metrics of the table compiled), some at a time.

    So memory does not grow with the table. All metrics at once for up to LARGE units; else as many
    as `n_cells` cells each allow (AT_ONCE).
    """
    size = len(metrics)
    if n_units > LARGE:
        size = max(1, AT_ONCE // n_cells)
    for start in range(0, len(metrics), size):
        indices = list(metrics[start : start + size])
        names = [table[index].name for index in indices]
        group = compile_table(subset(table, names))
        # a subset ends with the metrics that the named ones are made of
        yield (
            indices,
            replace(
                group,
                metrics=group.metrics[: len(names)],
                parts=group.parts[: len(names)],
            ),
        )


def one_sided(
    baseline: Grid,
    candidate: Grid,
    compiled: Compiled,
    by_seed: bool,
    delta: Array,
) -> dict[str, Any]:
    """What each of two whole conditions lacks of the other's cells, and what that could change.

    - n_cells: cells that either side has: a unit under a seed, of each side where seeds do not pair;
    - missing_baseline, missing_candidate: cells that this side lacks and the other has, where seeds
      do not pair under any seed;
    - delta_worst, delta_best (metrics): the difference if all of them were the worst, or the best,
      for the candidate; nan without limits of the metric.

    `by_seed`: cells pair by seed and unit, else units pair. `delta` is the difference over what
    both have, which stands where nothing is lacking. A cell that is lacking weighs in the
    denominator what it weighs on the other side.
    """
    units = baseline.units.union(candidate.units, sort=False)
    seeds_a, seeds_b = baseline.seeds, candidate.seeds
    if by_seed:
        seeds_a = seeds_b = tuple(seed for seed in seeds_a if seed in seeds_b)
    a = baseline.take(seeds_a, units)
    b = candidate.take(seeds_b, units)
    present_a, present_b = a.present, b.present
    on_a = present_a if by_seed else present_a.any(axis=0, keepdims=True)
    on_b = present_b if by_seed else present_b.any(axis=0, keepdims=True)
    # where seeds do not pair, each of a side's seeds should have what the other side has in any
    lacks_a = on_b & ~present_a
    lacks_b = on_a & ~present_b
    n_a = int(lacks_a.sum())
    n_b = int(lacks_b.sum())
    n_cells = (on_a | on_b).sum()
    if not by_seed:
        n_cells *= len(seeds_a) + len(seeds_b)
    lacking = {
        "n_cells": int(n_cells),
        "missing_baseline": n_a,
        "missing_candidate": n_b,
    }
    if not n_a and not n_b:
        return lacking | {"delta_worst": delta, "delta_best": delta}
    cells_a = cell_sums(a, compiled)
    cells_b = cell_sums(b, compiled)
    low_a, high_a = _ends(cells_a, _weights(cells_b, lacks_a, by_seed))
    low_b, high_b = _ends(cells_b, _weights(cells_a, lacks_b, by_seed))
    directions = compiled.each("better")["better"]
    lower_is_better = np.array(directions) == "lower"
    least = low_b - high_a
    greatest = high_b - low_a
    return lacking | {
        "delta_worst": np.where(lower_is_better, greatest, least),
        "delta_best": np.where(lower_is_better, least, greatest),
    }


def _weights(
    other: Cells,
    lacks: Array,
    by_seed: bool,
) -> Array:
    """Denominators that lacking cells would add to each seed, (seeds or 1, ratios)."""
    den = other.den
    if not by_seed:
        n_seeds = other.present.sum(axis=0)
        total = den.sum(axis=0, keepdims=True)
        den = total / np.maximum(n_seeds, 1)[:, None]
    return np.einsum("ku,kur->kr", lacks.astype(float), den)


def _ends(
    side: Cells,
    added: Array,
) -> tuple[Array, Array]:
    """(least, greatest) value of every metric, if cells that add these denominators were at a limit."""
    compiled = side.compiled
    numerators = side.num.sum(axis=1)
    denominators = side.den.sum(axis=1)
    as_measured = compiled.ratios(side.totals)
    ends = []
    for limit in compiled.limits:
        with np.errstate(divide="ignore", invalid="ignore"):
            with_added = (numerators + limit * added) / (denominators + added)
        with_added = np.where(np.isfinite(with_added), with_added, np.nan)
        ends.append(np.where(added > 0, with_added, as_measured))
    at_least, at_most = ends
    low = compiled.combined(at_least, at_most)
    high = compiled.combined(at_most, at_least)
    return (
        seed_mean(low, ~np.isnan(low)),
        seed_mean(high, ~np.isnan(high)),
    )
