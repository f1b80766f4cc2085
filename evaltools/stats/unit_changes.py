"""One metric unit by unit: of one run, and under both conditions, where it tells which units carry a difference."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..core.metric import MetricTable, subset
from ..core.metric_matrix import compile_table
from .design import Runs, grid, pair
from .influence import cell_sums, seed_mean
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
) -> pd.DataFrame:
    """The paired values of one metric, a row a unit.

    Columns: `unit`, baseline, candidate, change, influence.

    A unit's value is the metric of that unit alone (its own ratio of sums), averaged over the
    paired seeds in which both sides have it. `change` is candidate less baseline. `influence` is
    what the unit brings into the difference of the whole, linearised at the mean of both sides: its
    change / n for a mean over n units. Units without a value on either side are left out.
    ValueError for a metric that the table lacks.

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
    compiled = compile_table(subset(table, [metric]))
    sides = [
        grid(measured_runs(runs, compiled.metrics, unit), unit) for runs in (baseline, candidate)
    ]
    a, b, by_seed, _ = pair(*sides)
    values = []
    for side in (a, b):
        of_cells = compiled.values(side.sums(compiled.columns))[:, :, 0]
        values.append(np.where(side.present, of_cells, np.nan))
    before, after = values
    if by_seed:
        missing = np.isnan(before) | np.isnan(after)
        before = np.where(missing, np.nan, before)
        after = np.where(missing, np.nan, after)
    mean_before = seed_mean(before, ~np.isnan(before))
    mean_after = seed_mean(after, ~np.isnan(after))

    cells = [cell_sums(side, compiled) for side in (a, b)]
    totals = sum(side.totals.sum(axis=0) for side in cells)
    ratios = np.nan_to_num(compiled.ratios(totals[None]))
    before, after = (side.ratio_errors(ratios).mean(axis=0) for side in cells)
    frame = pd.DataFrame(
        {
            unit: a.units.astype(object),
            "baseline": mean_before,
            "candidate": mean_after,
            "change": mean_after - mean_before,
            "influence": compiled.combined(after - before)[:, 0],
        }
    )
    return frame.dropna(subset=["change"]).reset_index(drop=True)


def differing(changes: pd.DataFrame) -> pd.DataFrame:
    """The units of `unit_changes` whose value differs, the largest influence first."""
    changed = changes[changes["change"] != 0]
    return changed.sort_values(
        "influence",
        key=abs,
        ascending=False,
        kind="stable",
        ignore_index=True,
    )
