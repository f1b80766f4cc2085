"""A metric of each unit alone."""

from __future__ import annotations

import pandas as pd

from ..core.metric import MetricTable, subset
from ..core.metric_matrix import compile_table
from .intervals import unit_sums


def unit_values(units: pd.DataFrame, table: MetricTable, unit: str, metric: str) -> pd.Series:
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
    return pd.Series(values[:, 0], index=pd.Index(names, name=unit), name=metric)
