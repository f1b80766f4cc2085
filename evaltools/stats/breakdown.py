"""Estimates within the parts of a run."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from ..core.metric import MetricTable, subset
from ..core.resampling import Resampling
from .intervals import estimate


def breakdown(
    units: pd.DataFrame,
    table: MetricTable,
    unit: str,
    column: str,
    names: Sequence[str],
    resampling: Resampling,
    most: int = 20,
) -> pd.DataFrame:
    """The named metrics within each value of `column`, largest part first.

    One row a part and metric: `part`, `n` (resampling units in the part), then the columns of
    `estimate`. Null values make a part of their own, "(none)". At most `most` parts; the rest
    are summed up as "(N others)", so that no unit is lost. KeyError for a name that the table lacks.

    >>> from evaltools.core.metric import Metric
    >>> units = pd.DataFrame({"id": range(30), "right": [1, 1, 0] * 10, "n": 1, "kind": ["a"] * 20 + ["b"] * 10})
    >>> table = [Metric(name="accuracy", numerator="right", denominator="n", better="higher", proportion=True)]
    >>> breakdown(units, table, "id", "kind", ["accuracy"], Resampling())[["part", "n", "name", "value"]]
      part   n      name  value
    0    a  20  accuracy    0.7
    1    b  10  accuracy    0.6
    """
    chosen = subset(table, names)
    part = units[column].astype("string").fillna("(none)")
    sizes = (
        units.groupby(part)[unit]
        .nunique()
        .reset_index(name="n")
        .sort_values(["n", column], ascending=[False, True])
    )
    keep = sizes[column].tolist()
    if len(keep) > most:
        others = set(keep[most - 1 :])
        part = part.where(~part.isin(others), f"({len(others)} others)")
        keep = [*keep[: most - 1], f"({len(others)} others)"]
    # without a part, the columns of none
    of_part = {value: units[part == value] for value in keep or ["(none)"]}
    frames = {
        (value, of[unit].nunique()): estimate(of, chosen, unit, resampling)
        for value, of in of_part.items()
    }
    found = pd.concat(frames, names=["part", "n"]).reset_index(["part", "n"])
    return found[found["name"].isin(list(names)) & (found["n"] > 0)].reset_index(drop=True)
