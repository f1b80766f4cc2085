"""One metric unit by unit: of one run, and under both conditions, where it tells which units carry a difference."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..core.metric import MetricTable, subset
from .differences import common_cells, paired, same_questions
from .influence import Array, Cells, Runs, label


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
    (run,) = label(
        [{"": units}],
        subset(table, [metric]),
        unit,
    )
    values = pd.Series(
        _values(run.units(0))[0],
        run.samples.units,
        name=metric,
    )
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
    by_seed = set(baseline) == set(candidate)
    a, b = label(
        [baseline, candidate],
        subset(table, [metric]),
        unit,
    )
    a, b, _ = same_questions(
        a,
        b,
        unit,
        names,
    )
    cells = a.cells(0), b.cells(0)
    before, after = common_cells(
        *cells,
        a.samples,
        by_seed,
    )
    values_before, values_after = _values(before), _values(after)
    if by_seed:
        in_both = ~np.isnan(values_before) & ~np.isnan(values_after)
        is_left_out = in_both.any(axis=0) & ~in_both
        values_before[is_left_out] = np.nan
        values_after[is_left_out] = np.nan
    differences = paired(
        *cells,
        a.samples,
        by_seed,
    )
    # each seed by itself: a gain in one does not hide a loss in another
    by_cell = np.zeros((1, len(a.samples.units))) if differences is None else differences.by_cell
    frame = pd.DataFrame(
        {
            unit: a.samples.units.astype(object),
            "baseline": _mean(values_before),
            "candidate": _mean(values_after),
            "influence": by_cell.mean(axis=0),
            "differs": (by_cell != 0).any(axis=0),
        }
    )
    frame.insert(
        3,
        "change",
        frame["candidate"] - frame["baseline"],
    )
    return frame[frame[["baseline", "candidate"]].notna().any(axis=1)].reset_index(drop=True)


def _values(cells: Cells) -> Array:
    """(seeds, units): the metric of each cell alone; nan where it has none."""
    return np.where(
        cells.present,
        cells.formula.values(cells.sums),
        np.nan,
    )


def _mean(values: Array) -> Array:
    """Mean over the seeds that have a value; nan for none."""
    n = (~np.isnan(values)).sum(axis=0)
    return np.where(
        n > 0,
        np.nansum(values, axis=0) / np.maximum(n, 1),
        np.nan,
    )


def differing(changes: pd.DataFrame) -> pd.DataFrame:
    """The units of `unit_changes` that carry the difference, the largest influence first.

    These are the units that `n_differ` of a comparison counts.
    """
    carrying = changes[changes["differs"]]
    return carrying.sort_values(
        "influence", key=abs, ascending=False, kind="stable", ignore_index=True
    )
