"""One metric unit by unit: of one run, and under both conditions, where it tells which units carry a difference."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..core.metric import MetricTable, subset
from ..core.metric_matrix import compile_table
from .arrays import Array, rounded
from .compare import pairing
from .design import Runs, pair_rows
from .influence import Cells, Paired, cell_sums, seed_mean
from .intervals import unit_sums
from .measured import measured_runs


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
    unit_of_row, names = pd.factorize(units[unit], use_na_sentinel=False)
    values = compiled.values(unit_sums(units, compiled.columns, unit_of_row))
    index = pd.Index(names, name=unit)
    return pd.Series(values[:, 0], index=index, name=metric)


def unit_changes(
    baseline: Runs,
    candidate: Runs,
    table: MetricTable,
    unit: str,
    metric: str,
    names: tuple[str, str] = ("baseline", "candidate"),
) -> pd.DataFrame:
    """The paired values of one metric, a row a unit.

    Columns: `unit`, baseline, candidate, change, influence.

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
      id  baseline  candidate  change  influence
    0  a       0.0        1.0     1.0        0.5
    1  b       1.0        1.0     0.0        0.0
    """
    if metric not in {m.name for m in table}:
        raise ValueError(f"no metric {metric!r} in the table")
    pairing(baseline, candidate, unit, names)
    compiled = compile_table(subset(table, [metric]))
    measured = [measured_runs(runs, compiled.metrics, unit) for runs in (baseline, candidate)]
    (a, b, by_seed, _), _, _ = pair_rows(measured[0], measured[1], unit)
    before = cell_sums(a, compiled)
    after = cell_sums(b, compiled)
    values_before = _values_of_cells(before)
    values_after = _values_of_cells(after)
    if by_seed:
        on_both = ~np.isnan(values_before) & ~np.isnan(values_after)
        is_left_out = on_both.any(axis=0) & ~on_both
        values_before[is_left_out] = np.nan
        values_after[is_left_out] = np.nan
    mean_before = seed_mean(values_before, ~np.isnan(values_before))
    mean_after = seed_mean(values_after, ~np.isnan(values_after))

    influence = rounded(Paired(before, after, by_seed).null_errors)
    frame = pd.DataFrame(
        {
            unit: a.units.astype(object),
            "baseline": mean_before,
            "candidate": mean_after,
            "change": mean_after - mean_before,
            "influence": influence[:, 0],
        }
    )
    has_value = frame[["baseline", "candidate"]].notna().any(axis=1)
    return frame[has_value].reset_index(drop=True)


def _values_of_cells(cells: Cells) -> Array:
    """(seeds, units): the first metric of each cell alone; nan where it has none."""
    values = cells.compiled.values(cells.sums)[:, :, 0]
    return np.where(cells.present, values, np.nan)


def differing(changes: pd.DataFrame) -> pd.DataFrame:
    """The units of `unit_changes` that carry the difference, the largest influence first.

    These are the units that `n_differ` of a comparison counts.
    """
    carrying = changes[changes["influence"] != 0]
    return carrying.sort_values(
        "influence",
        key=abs,
        ascending=False,
        kind="stable",
        ignore_index=True,
    )
