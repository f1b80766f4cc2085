"""A condition over its seeds, as estimates."""

from __future__ import annotations

import pandas as pd

from ..core.estimates import complete
from ..core.metric import MetricTable
from ..core.resampling import Resampling
from ..stats.design import Runs
from ..stats.seeds import aggregate
from ..stats.variance import SeedPool


def aggregate_condition(
    condition: str,
    runs: Runs,
    table: MetricTable,
    unit: str,
    resampling: Resampling,
    pool: SeedPool | None,
) -> pd.DataFrame:
    """The estimates of a condition over its seeds, in the form of `core.estimates`: a value is the mean over seeds."""
    rows = aggregate(runs, table, unit, resampling, pool)
    rows = rows.rename(columns={"mean": "value", "n_samples": "n_units"})
    return complete(rows, condition=condition)
