"""One metric unit by unit: of one run, and under both conditions, where it tells which units carry a difference."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..core.metric import MetricTable, subset
from ..core.metric_matrix import compile_table
from .influence import (
    Array,
    Cells,
    Runs,
    cells,
    measured_groups,
    rounded,
    unit_differences,
    without_nulls,
)
from .pairs import NothingPaired, common_rows, label_rows, nothing_paired, pairs_by_seed


def unit_values(
    units: pd.DataFrame,
    table: MetricTable,
    unit: str,
    metric: str,
) -> pd.Series:
    """The metric of each unit alone, its own ratio of sums, by the name of the unit; nan where it has none.

    KeyError for a metric that the table lacks.

    >>> from evaltools.core.metric import Metric
    >>> units = pd.DataFrame({"id": ["a", "a", "b"], "right": [1, 0, 1], "n": 1})
    >>> table = [Metric(name="accuracy", numerator="right", denominator="n", better="higher")]
    >>> unit_values(units, table, "id", "accuracy").to_dict()
    {'a': 0.5, 'b': 1.0}
    """
    compiled = compile_table(subset(table, [metric]))
    run = cells({"": units}, compiled, unit)
    values = pd.Series(compiled.values(run.sums[0])[:, 0], run.units, name=metric)
    return values.reindex(units[unit].unique()).rename_axis(unit)


def unit_changes(
    baseline: Runs,
    candidate: Runs,
    table: MetricTable,
    unit: str,
    metric: str,
    names: tuple[str, str] = ("baseline", "candidate"),
) -> pd.DataFrame:
    """The paired values of one metric, a row a unit.

    Columns: `unit`, baseline, candidate, change, influence, differs (in some seed).

    A unit's value is the metric of that unit alone (its own ratio of sums), averaged over the
    paired seeds in which both sides have it. `change` is candidate less baseline. `influence` is
    what the unit brings into the difference of the whole, linearised at the mean of both sides: its
    change / n for a mean over n units. It is 0 for a unit whose numerator and denominator do not
    differ. Where a unit has a value on one side only (0 / 0 on the other), the other value and the
    change are nan; units without any value are left out.

    ValueError for a metric that the table lacks; NothingPaired, with the `names` of the sides, for
    sides without a unit in common.

    >>> from evaltools.core.metric import Metric
    >>> table = [Metric(name="accuracy", numerator="right", denominator="n", better="higher")]
    >>> old = pd.DataFrame({"id": ["a", "b"], "right": [0, 1], "n": 1})
    >>> unit_changes({"": old}, {"": old.assign(right=1)}, table, "id", "accuracy")
      id  baseline  candidate  change  influence  differs
    0  a       0.0        1.0     1.0        0.5     True
    1  b       1.0        1.0     0.0        0.0    False
    """
    if metric not in {m.name for m in table}:
        raise ValueError(f"no metric {metric!r} in the table")
    by_seed = pairs_by_seed(baseline, candidate)
    labelled_a, labelled_b = label_rows([baseline, candidate], unit)
    frames = [*labelled_a.values(), *labelled_b.values()]
    _, compiled, columns = next(iter(measured_groups(subset(table, [metric]), frames, unit)))
    a, b = without_nulls(labelled_a, columns), without_nulls(labelled_b, columns)
    a, b = common_rows(a, b, by_seed)
    before, after = cells(a, compiled, unit), cells(b, compiled, unit)
    if not len(before.units):
        raise NothingPaired(nothing_paired(labelled_a, labelled_b, unit, names))
    values_before, values_after = _values_of_cells(before), _values_of_cells(after)
    if by_seed:
        on_both = ~np.isnan(values_before) & ~np.isnan(values_after)
        is_left_out = on_both.any(axis=0) & ~on_both
        values_before[is_left_out] = np.nan
        values_after[is_left_out] = np.nan
    mean_before, mean_after = _mean(values_before), _mean(values_after)
    # each seed by itself: a gain in one does not hide a loss in another
    sides_of = (before.num, before.den, after.num, after.den)
    if not by_seed:
        sides_of = tuple(side.mean(axis=0, keepdims=True) for side in sides_of)
    of_cells = compiled.combined(unit_differences(*sides_of))[:, :, 0]
    of_cells = rounded(of_cells.reshape(-1, 1)).reshape(of_cells.shape)
    frame = pd.DataFrame(
        {
            unit: before.units.astype(object),
            "baseline": mean_before,
            "candidate": mean_after,
            "change": mean_after - mean_before,
            "influence": of_cells.mean(axis=0),
            "differs": (of_cells != 0).any(axis=0),
        }
    )
    has_value = frame[["baseline", "candidate"]].notna().any(axis=1)
    return frame[has_value].reset_index(drop=True)


def _mean(values: Array) -> Array:
    """Mean over the seeds that have a value; nan for none."""
    n = (~np.isnan(values)).sum(axis=0)
    return np.where(n > 0, np.nansum(values, axis=0) / np.maximum(n, 1), np.nan)


def _values_of_cells(cells: Cells) -> Array:
    """(seeds, units): the first metric of each cell alone; nan where it has none."""
    values = cells.compiled.values(cells.sums)[:, :, 0]
    return np.where(cells.present, values, np.nan)


def differing(changes: pd.DataFrame) -> pd.DataFrame:
    """The units of `unit_changes` that carry the difference, the largest influence first.

    These are the units that `n_differ` of a comparison counts.
    """
    carrying = changes[changes["differs"]]
    return carrying.sort_values(
        "influence",
        key=abs,
        ascending=False,
        kind="stable",
        ignore_index=True,
    )
