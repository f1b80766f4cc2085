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
from .design import Grid, Runs, grid, in_order, pair
from .evidence import evidence
from .influence import Paired, cell_sums, seed_mean
from .intervals import MIN_UNITS
from .measured import measured_runs
from .seed_variance import seed_term, take
from .variance import Components, sample_term, spread

TAILS = 2.0
"""Least excess kurtosis of differences. A few units seldom show the tails that differences of scores
have, and a pilot without them would be believed too much."""

STEEPEST = 700
"""Largest strength of a tilt: beyond it an exponential function overflows."""


@dataclass(frozen=True)
class Pilot:
    """What runs say of a difference in one metric. A positive difference is an improvement.

    `value` is that of the baseline. `cells` (seeds, units) is the linearised difference of each
    cell, without what its seed deviates by. `components` are the variances of one cell; their
    `sides` is 2 where the seeds of both sides are pooled. `n` units under each of so many `seeds`.
    `df_seeds`: degrees of freedom of the seeds' mean square.
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

    @property
    def shortfall(self) -> float:
        """How many times as much samples vary as units that are drawn from the pilot, on average.

        A mean that the units are moved to (`weights`) takes a degree of freedom beside their own.
        """
        return self.n / (self.n - 2)

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
        name = self.metric.name
        if difference > room:
            raise UsageError(
                "a difference of {difference:g} in {metric} is beyond its bounds: "
                "it stands at {value} and has room for {room}",
                difference=difference,
                metric=name,
                value=f"{self.value:.3f}",
                room=f"{room:.3f}",
            )
        means = self.cells.mean(axis=0)
        smallest, largest = means.min(), means.max()
        if not smallest < difference < largest:
            raise UsageError(
                "a difference of {difference:g} in {metric} lies outside these runs: "
                "single units ({unit}) differ by {smallest} to {largest}",
                difference=difference,
                metric=name,
                unit=unit,
                smallest=f"{smallest:.3g}",
                largest=f"{largest:.3g}",
            )

    def varying(self, components: Components) -> Pilot:
        """The same pilot with other variances of samples and of the rest; a cell of 0 stays 0."""
        old = self.components
        now = components.sample + components.residual / self.seeds
        before = old.sample + old.residual / self.seeds
        of_means = np.sqrt(now / before)
        of_rest = 1.0
        if old.residual:
            of_rest = np.sqrt(components.residual / old.residual)
        means = self.cells.mean(axis=0)
        rest = self.cells - means
        cells = of_means * means + of_rest * rest
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
    assumed to differ from it, sample by sample, no more than its own seeds do from each other. By
    the method "auto" seeds are pooled as in `compare`.

    Raises UsageError for a metric without a direction, fewer than MIN_UNITS units in common, one
    run only, and runs that do not differ.
    """
    compiled = compile_table(subset(table, [metric]))
    planned = compiled.metrics[0]
    if planned.better == "none" or compiled.counts[0]:
        raise UsageError(
            "{metric} can be neither better nor worse: there is no difference in it to plan for",
            metric=metric,
        )
    measured = [measured_runs(runs, compiled.metrics, unit) for runs in conditions]
    paired, _, cells = paired_cells(measured, compiled, unit)
    _require_differences(cells, metric, unit)
    seeds, n = cells.shape
    if planned.better == "lower":
        cells = -cells
    of_seeds = cells.mean(axis=1, keepdims=True)
    deviations = of_seeds - cells.mean()
    cells = moved_cells(cells, -deviations)
    df_seeds = seeds - 1.0
    if len(conditions) == 1:
        both_ways = np.concatenate([cells, -cells])
        cells = both_ways.reshape(1, -1)
        components = _of_one_condition(
            measured[0],
            unit,
            compiled,
            n,
            seeds,
            resampling,
        )
    else:
        tested = evidence(paired, 1, resampling)
        components = Components.from_spread(take(tested.spread, 0), n, seeds)
        df_seeds *= components.sides
    value = float(paired.value_a[0])
    return Pilot(
        planned,
        value,
        cells,
        components,
        n,
        seeds,
        df_seeds,
    )


def _require_differences(
    cells: Array,
    metric: str,
    unit: str,
) -> None:
    """UsageError unless the cells (seeds, units) show differences of enough units to plan from."""
    n = cells.shape[1]
    if n < MIN_UNITS:
        raise UsageError(
            "{n} units ({unit}) in common: a plan needs {least}", n=n, unit=unit, least=MIN_UNITS
        )
    largest = np.abs(cells).max(initial=1.0)
    if np.ptp(cells) <= ROUNDING * largest:
        raise UsageError(
            "{metric} does not differ between these runs in any {unit}: nothing to plan from",
            metric=metric,
            unit=unit,
        )


def paired_cells(
    conditions: Sequence[Runs],
    compiled: Compiled,
    unit: str,
) -> tuple[Paired, pd.Index, Array]:
    """(the two sides, the units that pair, the difference (seeds, units) of each cell).

    Sides pair as `pilot` says. Cells are those of the first metric.
    """
    pairing = pair(*_sides(conditions, unit))
    one = cell_sums(pairing.baseline, compiled)
    other = cell_sums(pairing.candidate, compiled)
    paired = Paired(one, other, by_seed=True)
    cells = _differences(paired)
    counted = ~np.isnan(cells).all(axis=0)
    cells = cells[:, counted]
    of_units = np.nanmean(cells, axis=0)
    cells = np.where(np.isnan(cells), of_units, cells)
    return paired, pairing.baseline.units[counted], cells


def _sides(
    conditions: Sequence[Runs],
    unit: str,
) -> tuple[Grid, Grid]:
    """The two sides whose cells are to pair.

    Of a single condition its seeds, each with the next one.
    """
    a = grid(conditions[0], unit)
    if len(conditions) == 1:
        if len(a.seeds) == 1:
            raise UsageError(
                "one run shows no difference to plan from: give another condition, or another seed"
            )
        return a, _next_seeds(a)
    b = grid(conditions[1], unit)
    shared = in_order(set(a.seeds) & set(b.seeds))
    if shared:
        return a.take(shared, a.units), b.take(shared, b.units)
    k = min(len(a.seeds), len(b.seeds))
    return _numbered(a, k), _numbered(b, k)


def _next_seeds(side: Grid) -> Grid:
    """The same labels, under each of them the run of the next seed; under the last the first."""
    return replace(
        side,
        frames=side.frames[1:] + side.frames[:1],
        unit_of_row=side.unit_of_row[1:] + side.unit_of_row[:1],
    )


def _numbered(
    side: Grid,
    k: int,
) -> Grid:
    """The first k seeds of a side under the labels 0, 1, ..."""
    first = side.take(side.seeds[:k], side.units)
    return replace(first, seeds=tuple(range(k)))


def _differences(paired: Paired) -> Array:
    """(seeds, units): candidate less baseline of each cell; nan for a cell that is lacking.

    Differences are linearised at the mean ratio of all runs. Seeds in which the metric is not
    measured are left out.
    """
    a, b = paired.baseline, paired.candidate
    compiled = a.compiled
    totals = np.concatenate([a.totals, b.totals])
    ratios = compiled.ratios(totals)
    middle = seed_mean(ratios, ~np.isnan(ratios))
    middle = np.nan_to_num(middle)[None]
    errors = b.ratio_errors(middle) - a.ratio_errors(middle)
    errors = compiled.combined(errors)[:, :, 0]
    n_units = a.present.sum(axis=1)
    in_units = errors * n_units[:, None]
    cells = np.where(a.present, in_units, np.nan)
    is_measured = paired.in_a[:, 0]
    return cells[is_measured]


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
    runs: Runs,
    unit: str,
    compiled: Compiled,
    n: int,
    seeds: int,
    resampling: Resampling,
) -> Components:
    """The components of a difference to a condition like this one: twice its own, none of samples."""
    cells = cell_sums(grid(runs, unit), compiled)
    errors = seed_mean(cells.errors, ~np.isnan(cells.values))
    of_samples = sample_term(errors, np.array([n]))
    of_mean = spread(of_samples, seed_term(cells))
    single = Components.from_spread(take(of_mean, 0), n, seeds)
    sides = 2 if resampling.method == "auto" else 1
    return Components(
        2 * single.seed,
        0.0,
        2 * single.residual,
        sides,
    )
