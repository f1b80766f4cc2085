"""One condition over its seeds: what intervals over seeds rest on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.resampling import Resampling
from .arrays import Array, divide
from .influence import Cells, seed_mean, seen
from .score_intervals import effective_units
from .seed_variance import SeedTerm
from .variance import Spread, negligible, sample_term, spread


@dataclass(frozen=True)
class OverSeeds:
    """One condition over its seeds; quantities are arrays over metrics.

    `n_seeds`: seeds in which the metric is measured; `several`: whether it can have an interval over
    seeds. `mean`, `std` (ddof 1), `lowest` and `highest` of the values of the seeds. `n_units`:
    units that take part in any seed; `n_effective`: by the method "auto" each by what it weighs in
    the denominator. `spread`: uncertainty of the mean for new seeds and new samples; by the account
    with the wider interval its standard error (`error`, 0 where it is rounding), t quantile
    (`critical`) and degrees of freedom (`df`). `nested`: no unit occurs in two seeds.
    """

    cells: Cells
    n_seeds: Array
    several: Array
    mean: Array
    std: Array
    lowest: Array
    highest: Array
    n_units: Array
    n_effective: Array
    spread: Spread
    error: Array
    critical: Array
    df: Array
    nested: Array

    def around_mean(self, half: Array) -> tuple[Array, Array]:
        """mean -+ half within the limits of every metric."""
        least, most = self.cells.compiled.ends
        low = np.maximum(self.mean - half, least)
        high = np.minimum(self.mean + half, most)
        return low, high


def over_seeds(
    cells: Cells,
    term: SeedTerm,
    resampling: Resampling,
) -> OverSeeds:
    """A condition over its seeds, whose values differ as `term` says."""
    values = cells.values
    measured = ~np.isnan(values)
    n_seeds = measured.sum(axis=0)
    lowest = np.fmin.reduce(values)
    highest = np.fmax.reduce(values)
    # of equal values that value, without the rounding of a sum
    mean = seed_mean(values, measured)
    mean = np.where(lowest == highest, lowest, mean)
    mean_square = seed_mean((values - mean) ** 2, measured)
    squares = mean_square * n_seeds

    in_seeds = seen(cells.present, measured)
    n_units = (in_seeds & cells.takes_part).sum(axis=0)
    n_effective = n_units
    if resampling.method == "auto":
        added = np.maximum(cells.compiled.weights, 0.0)
        shares = seed_mean(cells.shares @ added, measured)
        n_effective = effective_units(np.nan_to_num(shares))
    errors = seed_mean(cells.errors, measured)
    of_mean = spread(sample_term(errors, n_effective), term)
    error, critical, df = of_mean.widest(resampling.confidence)
    return OverSeeds(
        cells=cells,
        n_seeds=n_seeds,
        several=(n_seeds > 1) & ~cells.compiled.counts,
        mean=mean,
        std=np.sqrt(divide(squares, n_seeds - 1.0)),
        lowest=lowest,
        highest=highest,
        n_units=n_units,
        n_effective=n_effective,
        spread=of_mean,
        error=np.where(negligible(of_mean.variance, values), 0.0, error),
        critical=critical,
        df=df,
        nested=term.nested,
    )
