"""One condition over its seeds: what intervals over seeds rest on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..core.metric_matrix import Compiled
from ..core.resampling import Resampling
from .arrays import Array, divide
from .influence import Cells, Influence, influence, seed_mean, seen
from .intervals import MIN_UNITS
from .score_intervals import effective_units
from .seed_variance import SeedPool, SeedTerm, seed_term
from .variance import Spread, negligible, sample_term, spread


@dataclass(frozen=True)
class OverSeeds:
    """One condition over its seeds; quantities are arrays over metrics.

    `pool`: what the seeds of all conditions of a study differ by, if there is one.
    """

    cells: Cells
    resampling: Resampling
    pool: SeedPool | None

    @property
    def compiled(self) -> Compiled:
        """The metric table."""
        return self.cells.compiled

    @cached_property
    def influence(self) -> Influence:
        """Metrics of every seed, and what every cell brings into them."""
        return influence(self.cells)

    @property
    def values(self) -> Array:
        """Metrics of every seed, (seeds, metrics)."""
        return self.influence.values

    @cached_property
    def measured(self) -> Array:
        """(seeds, metrics): whether the metric is measured in the seed."""
        return ~np.isnan(self.values)

    @cached_property
    def n_seeds(self) -> Array:
        """Seeds in which the metric is measured."""
        return self.measured.sum(axis=0)

    @property
    def several(self) -> Array:
        """Whether the metric can have an interval over seeds: it is no count, and has several."""
        return (self.n_seeds > 1) & ~self.compiled.counts

    @cached_property
    def lowest(self) -> Array:
        """The least value of a seed."""
        return np.fmin.reduce(self.values)

    @cached_property
    def highest(self) -> Array:
        """The greatest value of a seed."""
        return np.fmax.reduce(self.values)

    @cached_property
    def mean(self) -> Array:
        """Mean over seeds; of equal values that value, without the rounding of a sum."""
        mean = seed_mean(self.values, self.measured)
        return np.where(self.lowest == self.highest, self.lowest, mean)

    @cached_property
    def std(self) -> Array:
        """Standard deviation of the seeds' values, ddof 1; nan for one seed."""
        squares = (self.values - self.mean) ** 2
        sum_of_squares = seed_mean(squares, self.measured) * self.n_seeds
        variance = divide(sum_of_squares, self.n_seeds - 1.0)
        return np.sqrt(variance)

    @cached_property
    def n_units(self) -> Array:
        """Units that take part in any seed in which the metric is measured."""
        is_seen = seen(self.cells.present, self.measured)
        return (is_seen & self.influence.takes_part).sum(axis=0)

    @cached_property
    def n_effective(self) -> Array:
        """Units, each by what it weighs in the denominator (method "auto"); else their number."""
        if self.resampling.method != "auto":
            return self.n_units
        added_weights, _ = self.compiled.sides[0]
        shares = seed_mean(self.cells.shares @ added_weights, self.measured)
        return effective_units(np.nan_to_num(shares))

    @cached_property
    def own_term(self) -> SeedTerm:
        """Variance by the condition's own seeds."""
        return seed_term(self.influence, self.cells)

    @cached_property
    def spread(self) -> Spread:
        """Uncertainty of the mean for new seeds and new samples."""
        term = self.own_term
        if self.pool and self.resampling.method == "auto":
            term = self.pool.term(term)
        errors = seed_mean(self.influence.errors, self.measured)
        samples = sample_term(errors, self.n_effective)
        return spread(samples, term)

    @cached_property
    def variance(self) -> Array:
        """Variance of the mean; 0 where it is rounding."""
        variance = self.spread.variance
        return np.where(negligible(variance, self.values), 0.0, variance)

    @cached_property
    def widest(self) -> tuple[Array, Array, Array]:
        """(standard error, t quantile, degrees of freedom) of the mean."""
        error, critical, df = self.spread.widest(self.resampling.confidence)
        error = np.where(self.variance == 0, 0.0, error)
        return error, critical, df

    @property
    def has_components(self) -> Array:
        """Whether variance components carry an interval: enough units and some variation."""
        enough = self.n_units >= MIN_UNITS
        return self.several & enough & (self.variance > 0)

    def clipped(self, half: Array) -> tuple[Array, Array]:
        """mean -+ half within the limits of every metric."""
        least, most = self.compiled.ends
        low = np.maximum(self.mean - half, least)
        high = np.minimum(self.mean + half, most)
        return low, high
