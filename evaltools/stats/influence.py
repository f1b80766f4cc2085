"""What every cell (seed, unit) brings into a metric.

A metric of one seed is a ratio of sums R = N / D. The error that unit i brings into it is, to first
order, its influence (num_i - R * den_i) / D. Influences turn every metric, and every difference of
metrics, into a mean over units, which is what variance components and sign flips need.

Reference: Hampel, "The influence curve and its role in robust estimation", JASA 69 (1974).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..core.metric_matrix import Compiled
from .arrays import Array, divide, over_units
from .design import Grid
from .score_intervals import unit_differences, unit_shares


@dataclass(frozen=True)
class Cells:
    """Column sums of every cell of a condition, and what the cells bring into its metrics.

    `sums` (seeds, units, columns of `compiled`) are 0 where the cell is not `present` (seeds,
    units).
    """

    compiled: Compiled
    sums: Array
    present: Array

    @cached_property
    def totals(self) -> Array:
        """Column sums of every seed, (seeds, columns)."""
        return over_units(self.sums)

    @cached_property
    def num(self) -> Array:
        """What each cell adds to the numerator of every ratio, (seeds, units, ratios)."""
        return self.sums @ self.compiled.numerator

    @cached_property
    def den(self) -> Array:
        """What each cell adds to the denominator of every ratio, (seeds, units, ratios)."""
        return self.sums @ self.compiled.denominator

    @cached_property
    def _divisor(self) -> Array:
        """Denominator of every ratio of a seed, (seeds, 1, ratios); infinite where it is 0."""
        total = over_units(self.den)
        total = np.where(total == 0, np.inf, total)
        return total[:, None, :]

    @cached_property
    def takes_part(self) -> Array:
        """(units, metrics): whether the unit is in a denominator of the metric in any seed.

        All units take part in a count.
        """
        compiled = self.compiled
        # sizes, because terms of opposite sign can cancel
        factors = np.abs(compiled.denominator)
        size = np.abs(self.sums) @ factors
        in_ratio = np.any(size != 0, axis=0)
        n_ratios = in_ratio.astype(float) @ compiled.uses.T
        return (n_ratios > 0) | compiled.counts

    def ratio_errors(self, ratios: Array) -> Array:
        """(num - ratio * den) / D of every cell, (seeds, units, ratios); 0 where D is 0.

        `ratios` (seeds or 1, ratios): where the ratios are linearised. D: the seed's denominator.
        """
        errors = ratios[:, None, :] * self.den
        np.subtract(self.num, errors, out=errors)
        errors /= self._divisor
        return errors

    @cached_property
    def own_errors(self) -> Array:
        """`ratio_errors` at each seed's own ratios; at 0 where it has none."""
        ratios = self.compiled.ratios(self.totals)
        return self.ratio_errors(np.nan_to_num(ratios))

    @cached_property
    def values(self) -> Array:
        """Metrics of every seed, (seeds, metrics); nan where not measured in that seed."""
        values = self.compiled.values(self.totals)
        has_cells = np.any(self.present, axis=1, keepdims=True)
        return np.where(has_cells | self.compiled.counts, values, np.nan)

    @cached_property
    def errors(self) -> Array:
        """What every cell brings into a metric of its seed, (seeds, units, metrics); sums to 0 over the units."""
        return self.compiled.combined(self.own_errors)

    @property
    def bias(self) -> Array:
        """Bias of every metric by the curvature of its ratios, (seeds, metrics).

        Of a ratio it is -sum(error * den) / D.
        """
        product = np.einsum("kur,kur->kr", self.own_errors, self.den)
        bias = -product / self._divisor[:, 0]
        return self.compiled.combined(bias)

    @cached_property
    def shares(self) -> Array:
        """Each cell's part of its seed's denominator, (seeds, units, ratios)."""
        return self.den / self._divisor


def cell_sums(
    grid: Grid,
    compiled: Compiled,
) -> Cells:
    """The cells of a grid with the columns that a metric table needs."""
    return Cells(compiled, grid.sums(compiled.columns), grid.present)


@dataclass(frozen=True)
class Influence:
    """Metrics of every seed, and what every cell brings into them: four of the fields of `Cells`."""

    present: Array
    takes_part: Array
    values: Array
    errors: Array


def seen(present: Array, measured: Array) -> Array:
    """(units, metrics): whether the unit is present in a seed in which the metric is measured.

    `present` (seeds, units), `measured` (seeds, metrics).
    """
    n_seeds = present.T.astype(float) @ measured.astype(float)
    return n_seeds > 0


def seed_mean(
    values: Array,
    measured: Array,
) -> Array:
    """Mean over the seeds in which a metric is measured; nan where it is measured in none.

    `values` (seeds, metrics) or (seeds, x, metrics), `measured` (seeds, metrics). Gives (metrics)
    or (x, metrics).

    >>> seed_mean(np.array([[1.0], [2.0], [np.nan]]), np.array([[True], [True], [False]])).tolist()
    [1.5]
    """
    if len(values) == 1 and measured.all():
        return values[0]
    weight = divide(1.0, measured.sum(axis=0))
    if values.ndim > measured.ndim:
        measured = measured[:, None]
    counted = np.where(measured, values, 0.0)
    return counted.sum(axis=0) * weight


@dataclass(frozen=True)
class Paired:
    """Two conditions over the cells that pair.

    `by_seed`: seed k of one side goes with seed k of the other.
    Values, differences and counts are arrays over metrics. A mean over seeds is over those in which
    the metric is measured; where seeds pair, measured on both sides.
    """

    baseline: Cells
    candidate: Cells
    by_seed: bool

    @cached_property
    def in_a(self) -> Array:
        """(seeds, metrics): the baseline's seeds that count."""
        measured = ~np.isnan(self.baseline.values)
        if self.by_seed:
            return measured & ~np.isnan(self.candidate.values)
        return measured

    @cached_property
    def in_b(self) -> Array:
        """(seeds, metrics): the candidate's seeds that count."""
        if self.by_seed:
            return self.in_a
        return ~np.isnan(self.candidate.values)

    @cached_property
    def value_a(self) -> Array:
        """The baseline's metrics, means over seeds."""
        return seed_mean(self.baseline.values, self.in_a)

    @cached_property
    def value_b(self) -> Array:
        """The candidate's metrics, means over seeds."""
        return seed_mean(self.candidate.values, self.in_b)

    @cached_property
    def delta(self) -> Array:
        """Candidate less baseline."""
        return self.value_b - self.value_a

    @cached_property
    def errors(self) -> Array:
        """What each unit brings into `delta`, (units, metrics)."""
        errors_a = seed_mean(self.baseline.errors, self.in_a)
        errors_b = seed_mean(self.candidate.errors, self.in_b)
        return errors_b - errors_a

    @cached_property
    def n_units(self) -> Array:
        """Units in a denominator of either side, and on both sides in a seed that counts."""
        takes_part = self.baseline.takes_part | self.candidate.takes_part
        takes_part &= seen(self.baseline.present, self.in_a)
        takes_part &= seen(self.candidate.present, self.in_b)
        return takes_part.sum(axis=0)

    @cached_property
    def n_seeds(self) -> Array:
        """Seeds that count, on the side that has fewer of them."""
        seeds_a = self.in_a.sum(axis=0)
        seeds_b = self.in_b.sum(axis=0)
        return np.minimum(seeds_a, seeds_b)

    @property
    def bias(self) -> Array:
        """Bias of `delta` by the curvature of its ratios."""
        bias_a = seed_mean(self.baseline.bias, self.in_a)
        bias_b = seed_mean(self.candidate.bias, self.in_b)
        return bias_b - bias_a

    def delta_of(
        self,
        sums_a: Array,
        sums_b: Array,
    ) -> Array:
        """`delta` at other column sums of each side, (seeds, ..., columns): (..., metrics)."""
        values_a = self.baseline.compiled.values(sums_a)
        values_b = self.candidate.compiled.values(sums_b)
        return seed_mean(values_b, self.in_b) - seed_mean(values_a, self.in_a)

    @property
    def identical(self) -> bool:
        """Whether every cell has the same sums on both sides."""
        one, other = self.baseline, self.candidate
        same_cells = np.array_equal(one.present, other.present)
        return same_cells and np.array_equal(one.sums, other.sums)

    @cached_property
    def cell_differences(self) -> Array:
        """Differences of the cells that sum to that of each seed, (seeds, units, metrics).

        `unit_differences` of every ratio, put together: a cell whose own numerator and denominator
        are the same on both sides differs by exactly 0. Where seeds do not pair each side is
        averaged over its own seeds first, which makes one seed.
        """
        compiled = self.baseline.compiled
        sides = []
        for side in (self.baseline, self.candidate):
            for sums in (side.num, side.den):
                if not self.by_seed:
                    sums = sums.mean(axis=0, keepdims=True)
                sides.append(sums)
        return compiled.combined(unit_differences(*sides))

    @cached_property
    def null_errors(self) -> Array:
        """Differences of the units that sum to `delta`, (units, metrics), for sign flips."""
        if not self.by_seed:
            return self.cell_differences[0]
        return np.nan_to_num(seed_mean(self.cell_differences, self.in_a))

    @property
    def unit_shares(self) -> Array:
        """What each unit weighs in `delta`, (units, metrics); sums to 1.

        Of a weighted sum of ratios that is what it weighs in each, by the size of their weights.
        """
        compiled = self.baseline.compiled
        den_a = self.baseline.den.sum(axis=0)
        den_b = self.candidate.den.sum(axis=0)
        shares = unit_shares(den_a, den_b)
        size = np.abs(compiled.weights)
        return shares @ (size / size.sum(axis=0))
