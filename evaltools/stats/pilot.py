"""A pilot: what runs say of a difference in one metric, for the planning of a larger study.

Reference: Efron, "Nonparametric standard errors and confidence intervals", Canadian Journal of
Statistics 9 (1981), exponential tilting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from ..core.errors import UsageError
from ..core.metric import MetricTable, subset
from ..core.metric_matrix import Compiled, compile_table
from ..core.resampling import Resampling
from .arrays import ROUNDING, Array, divide
from .design import Runs, in_order, pair_rows
from .influence import Cells, Paired, cell_sums
from .intervals import MIN_UNITS
from .measured import measured_runs
from .seed_variance import seed_term, take
from .seeds import over_seeds
from .variance import Components, spread_of_delta

TAILS = 2.0
"""Least excess kurtosis of differences. A few units seldom show the tails that differences of scores
have, and a pilot without them would be believed too much."""

STEEPEST = 700
"""Largest strength of a tilt: beyond it an exponential function overflows."""


@dataclass(frozen=True)
class Pilot:
    """What runs say of a difference in one metric. A positive difference is an improvement.

    `value` is that of the baseline. `cells` (seeds, units) is the difference of each cell, without
    what its seed deviates by. `components` are the variances of one cell; their `sides` is 2 where
    the seeds of both sides are pooled. `n` units under each of so many `seeds`. `df_seeds`: degrees
    of freedom of the seeds' mean square.
    """

    metric: Any
    value: float
    cells: Array
    components: Components
    n: int
    seeds: int
    df_seeds: float

    @cached_property
    def keep(self) -> float:
        """Probability that a drawn cell stays with its unit, so that drawn units vary as
        `components.sample` says.
        """
        sample = self.components.sample
        between = sample + self.components.residual / self.seeds
        return float(np.sqrt(sample / between)) if between > 0 else 0.0

    @property
    def known(self) -> float:
        """Number of normal units whose variance would be known as well (by the kurtosis)."""
        means = self.cells.mean(axis=0)
        z = (means - means.mean()) / (means.std() or 1.0)
        kurtosis = float(np.mean(z**4))
        excess = max(kurtosis - 3, TAILS)
        doubt = 2 / (self.n - 1) + excess / self.n
        return 1 + 2 / doubt

    def require(
        self,
        difference: float,
        unit: str,
    ) -> None:
        """UsageError unless the metric has room for the difference and units can be tilted."""
        least, most = self.metric.limits
        room = most - self.value
        if self.metric.better == "lower":
            room = self.value - least
        means = self.cells.mean(axis=0)
        smallest, largest = means.min(), means.max()
        if smallest < difference < largest and difference <= room:
            return
        raise UsageError(
            f"a difference of {difference:g} in {self.metric.name} cannot be "
            f"planned from these runs: it stands at {self.value:.3f} and has "
            f"room for {room:.3f}, and single units ({unit}) differ by "
            f"{smallest:.3g} to {largest:.3g}"
        )

    def varying(self, components: Components) -> Pilot:
        """The same pilot with other variances of samples and of the rest; a cell of 0 stays 0."""
        old = self.components
        now = components.sample + components.residual / self.seeds
        before = old.sample + old.residual / self.seeds
        of_rest = 1.0
        if old.residual:
            of_rest = np.sqrt(components.residual / old.residual)
        means = self.cells.mean(axis=0)
        cells = np.sqrt(now / before) * means + of_rest * (self.cells - means)
        centre = self.cells.mean(axis=1, keepdims=True)
        off_centre = cells.mean(axis=1, keepdims=True)
        cells = moved_cells(cells, centre - off_centre)
        return replace(self, cells=cells, components=components)

    def weights(
        self,
        difference: float,
    ) -> Array:
        """(units,): the probabilities, nearest to equal ones, under which units differ by
        `difference` on average.

        Each is exp(strength * deviation) of the unit, with the one strength that gives that mean.
        """
        deviation = self.cells.mean(axis=0) - difference
        deviation = deviation / np.abs(deviation).max()

        def tilted(strength: float) -> Array:
            largest = 1.0 if strength > 0 else -1.0
            weights = np.exp(strength * (deviation - largest))
            return weights / weights.sum()

        def mean(strength: float) -> float:
            return float(tilted(strength) @ deviation)

        from scipy.optimize import brentq  # an eighth of a second, which only plans need

        return tilted(brentq(mean, -STEEPEST, STEEPEST))


def pilot(
    conditions: Sequence[Runs],
    table: MetricTable,
    unit: str,
    metric: str,
    resampling: Resampling,
) -> Pilot:
    """The pilot that one or two conditions (seed -> units frame) make for a metric.

    Two conditions pair by sample and by the seeds that both have; without a seed in common, seeds
    pair in their order. The seeds of a single condition are taken as pairs: another condition is
    assumed to differ from it, sample by sample, no more than its own seeds do from each other.

    Raises UsageError for a metric without a direction, fewer than MIN_UNITS units in common, one
    run only, and runs that do not differ.
    """
    compiled = compile_table(subset(table, [metric]))
    planned = compiled.metrics[0]
    if planned.better == "none" or compiled.counts[0]:
        raise UsageError(
            f"{metric} can be neither better nor worse: there is no difference in it to plan for"
        )
    measured = [measured_runs(runs, compiled.metrics, unit) for runs in conditions]
    paired, _, cells = paired_cells(measured, compiled, unit)
    _require_differences(cells, metric, unit)
    if planned.better == "lower":
        cells = -cells
    seeds, n = cells.shape
    of_seeds = cells.mean(axis=1, keepdims=True)
    cells = moved_cells(cells, cells.mean() - of_seeds)
    df_seeds = seeds - 1.0
    if len(conditions) == 1:
        cells = np.concatenate([cells, -cells]).reshape(1, -1)
        components = _of_one_condition(
            paired.baseline,
            n,
            seeds,
            resampling,
        )
    else:
        spread = take(spread_of_delta(paired, pooling=resampling.method == "auto"), 0)
        components = Components.from_spread(spread, n, seeds)
        df_seeds *= components.sides
    value = float(paired.value_a[0])
    return Pilot(planned, value, cells, components, n, seeds, df_seeds)


def _sides(conditions: Sequence[Runs]) -> tuple[Runs, Runs]:
    """The two sides of a pilot, whose runs under the same label pair."""
    shared = in_order(set.intersection(*map(set, conditions)))
    if len(conditions) == 2 and shared:
        one, other = ([runs[seed] for seed in shared] for runs in conditions)
    elif len(conditions) == 2:
        one, other = ([runs[seed] for seed in in_order(runs)] for runs in conditions)
    else:
        one = [conditions[0][seed] for seed in shared]
        # each seed with the next one
        other = one[1:] + one[:1]
        if len(one) == 1:
            raise UsageError(
                "one run shows no difference to plan from: give another condition, or another seed"
            )
    n_seeds = min(len(one), len(other))
    return dict(enumerate(one[:n_seeds])), dict(enumerate(other[:n_seeds]))


def paired_cells(
    conditions: Sequence[Runs],
    compiled: Compiled,
    unit: str,
) -> tuple[Paired, pd.Index, Array]:
    """(the two sides, the units that pair, candidate less baseline of each cell (seeds, units)).

    Sides pair as `pilot` says. Cells are those of the first metric, of seeds and units in which it
    is measured; one that is lacking stands at the mean of its unit.
    """
    one, other = _sides(conditions)
    pairing, _, _ = pair_rows(one, other, unit)
    paired = Paired(
        cell_sums(pairing.baseline, compiled),
        cell_sums(pairing.candidate, compiled),
        by_seed=True,
    )
    present = paired.baseline.present
    n_units = present.sum(axis=1, keepdims=True)
    cells = np.where(present, paired.cell_differences[:, :, 0] * n_units, np.nan)
    cells = cells[paired.in_a[:, 0]]
    counted = ~np.isnan(cells).all(axis=0)
    cells = cells[:, counted]
    cells = np.where(np.isnan(cells), np.nanmean(cells, axis=0), cells)
    return paired, pairing.baseline.units[counted], cells


def _require_differences(
    cells: Array,
    metric: str,
    unit: str,
) -> None:
    """UsageError unless the cells (seeds, units) show differences of enough units to plan from."""
    n = cells.shape[1]
    if n < MIN_UNITS:
        raise UsageError(f"{n} units ({unit}) in common: a plan needs {MIN_UNITS}")
    largest = np.abs(cells).max(initial=1.0)
    if np.ptp(cells) <= ROUNDING * largest:
        raise UsageError(
            f"{metric} does not differ between these runs in any {unit}: nothing to plan from"
        )


def moved_cells(
    cells: Array,
    by: Array,
) -> Array:
    """Cells (seeds, units, ...) whose means over units are moved by `by`; a cell of 0 stays 0."""
    differs = cells != 0
    share = differs.mean(axis=1, keepdims=True)
    step = divide(by, share, otherwise=0.0)
    return cells + differs * step


def _of_one_condition(
    cells: Cells,
    n: int,
    seeds: int,
    resampling: Resampling,
) -> Components:
    """The components of a difference to a condition like this one: twice its own, none of samples."""
    spread = take(over_seeds(cells, seed_term(cells), resampling).spread, 0)
    own = Components.from_spread(spread, n, seeds)
    return Components(
        seed=2 * own.seed,
        sample=0.0,
        residual=2 * own.residual,
        sides=2 if resampling.method == "auto" else 1,
    )
