"""Estimates within the parts of a run."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from ..core.metric import Difference, MetricTable
from .intervals import Resampling, estimate


def with_parts(table: MetricTable, names: Sequence[str]) -> MetricTable:
    """The named metrics of a table, with those that their differences need."""
    by_name = {m.name: m for m in table}
    wanted = dict.fromkeys(names)
    for name in names:
        m = by_name[name]
        if isinstance(m, Difference):
            wanted |= dict.fromkeys((m.minuend, m.subtrahend))
    return [by_name[n] for n in wanted]


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
    `estimate` and `title`. Null values make a part of their own, "(none)". At most `most` parts; the rest
    are summed up as "(N others)", so that no unit is lost.
    """
    chosen = with_parts(table, names)
    titles = {m.name: m.title for m in chosen}
    part = units[column].astype("string").fillna("(none)")
    sizes = (
        units.groupby(part)[unit].nunique().reset_index(name="n").sort_values(["n", column], ascending=[False, True])
    )
    keep = sizes[column].tolist()
    if len(keep) > most:
        others = set(keep[most - 1 :])
        part = part.where(~part.isin(others), f"({len(others)} others)")
        keep = [*keep[: most - 1], f"({len(others)} others)"]
    frames = []
    for value in keep:
        subset = units[part == value]
        found = estimate(subset, chosen, unit, resampling)
        found = found[found["name"].isin(list(names))]
        found.insert(0, "part", value)
        found.insert(1, "n", subset[unit].nunique())
        frames.append(found)
    if not frames:
        return pd.DataFrame(columns=["part", "n", "name", "value", "ci_low", "ci_high", "ci_method", "title"])
    out = pd.concat(frames, ignore_index=True)
    out["title"] = out["name"].map(titles)
    return out
