"""Rows of a unit: how far they differ, and what more or fewer of them would change.

Rows are the trials of a sample, or the samples of a cluster. The mean of a unit of m rows varies by
its own variance, and by that of one row over m.

Reference: Searle, Casella, McCulloch, "Variance Components" (1992), nested classifications.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from ..core.errors import UsageError
from ..core.metric_matrix import Compiled
from .arrays import Array
from .design import BETWEEN, Runs
from .intervals import MIN_UNITS
from .pilot import paired_cells
from .variance import Components

SIZES = TRIALS, CLUSTER_SIZE = "trials", "cluster_size"
"""Other numbers that can be planned for: of the trials of a sample, of the samples of a cluster."""

LACKING = {
    TRIALS: (
        "trials: these runs hardly draw a sample twice, which does not tell how far its draws "
        "differ: give a pilot with two trials or more of {least} samples (column trial)"
    ),
    CLUSTER_SIZE: (
        "cluster_size: these runs hardly have two samples in a cluster, which does not tell how far "
        "they differ: give a pilot with two samples or more in {least} clusters (column cluster)"
    ),
}

GROUP, ROW = "group", "row"


@dataclass(frozen=True)
class WithinUnits:
    """The variance of a row about the mean of its group, in the paired difference of a metric.

    A group is a sample, whose rows are trials, or a cluster, whose rows are samples. `sample` is
    the part that a row has under every seed alike, `residual` the part that is another one under
    each; both with `df` degrees of freedom. `rows` has a unit, and `size` a group, on average.
    """

    sample: Any
    residual: Any
    df: float
    rows: float
    size: float

    def planned(
        self,
        c: Components,
        size: int,
    ) -> Components:
        """The components of one cell whose groups have `size` rows.

        >>> within = WithinUnits(sample=0.12, residual=0.0, df=40.0, rows=4.0, size=4.0)
        >>> within.planned(Components(0.0, 0.05, 0.0), size=2).sample.round(3)
        np.float64(0.08)
        """
        rows = self.rows * size / self.size

        def moved(variance: Any, of_row: Any) -> Any:
            of_unit = np.maximum(variance - of_row / self.rows, 0.0)
            return of_unit + of_row / rows

        return replace(
            c,
            sample=moved(c.sample, self.sample),
            residual=moved(c.residual, self.residual),
        )


def within_units(
    conditions: Sequence[Runs],
    compiled: Compiled,
    unit: str,
    kind: str,
) -> WithinUnits:
    """How far the rows of a group differ, in runs as `pilot` takes them.

    `kind`: TRIALS or CLUSTER_SIZE. UsageError where the rows of a group have fewer than MIN_UNITS
    degrees of freedom.
    """
    labelled = []
    for runs in conditions:
        frames = {}
        for seed, frame in runs.items():
            frames[seed] = _labelled(frame, unit, kind)
        labelled.append(frames)
    _, rows, values = paired_cells(labelled, compiled, ROW)
    groups = pd.Index(rows).str.rsplit(BETWEEN, n=1).str[0]
    codes, names = pd.factorize(groups)
    df = float(len(codes) - len(names))
    if df < MIN_UNITS:
        raise UsageError(LACKING[kind], least=MIN_UNITS)

    seeds = len(values)
    variances = [_variance(of_seed, codes, df) for of_seed in values]
    of_seeds = float(np.mean(variances))
    residual = 0.0
    if len(conditions) == 1:
        # differences of a condition's own seeds: what they share is gone
        residual = of_seeds
    elif seeds > 1:
        of_mean = _variance(values.mean(axis=0), codes, df)
        residual = (of_seeds - of_mean) * seeds / (seeds - 1)
    return WithinUnits(
        sample=max(of_seeds - residual, 0.0),
        residual=residual,
        df=df,
        rows=_rows_per(labelled, unit),
        size=_rows_per(labelled, GROUP),
    )


def _labelled(
    frame: pd.DataFrame,
    unit: str,
    kind: str,
) -> pd.DataFrame:
    """The frame with the columns GROUP and ROW; rows that no column tells apart are one."""
    group = frame[unit].astype(str)
    row = "item"
    if kind == TRIALS:
        row = "trial"
        if "item" in frame:
            group = group + BETWEEN + frame["item"].astype(str)
    name = frame[row].astype(str) if row in frame else ""
    return frame.assign(**{GROUP: group, ROW: group + BETWEEN + name})


def _variance(
    values: Array,
    codes: Array,
    df: float,
) -> float:
    """The variance of values (rows) about the means of their groups."""
    means = np.bincount(codes, values) / np.bincount(codes)
    deviations = values - means[codes]
    return float(np.sum(deviations**2) / df)


def _rows_per(
    conditions: Sequence[Runs],
    group: str,
) -> float:
    """Rows of a group, on average: the harmonic mean of the conditions, as variances add."""
    inverse = []
    for runs in conditions:
        n_rows = sum(frame[ROW].nunique() for frame in runs.values())
        n_groups = sum(frame[group].nunique() for frame in runs.values())
        inverse.append(n_groups / n_rows)
    return float(1 / np.mean(inverse))
