"""What each unit brings into the differences of two conditions: p, standard error and intervals (rules 5 to 8)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from ..core.metric_matrix import Compiled
from ..core.resampling import Resampling
from .bootstrap import bootstrap, expanded
from .influence import (
    LARGE,
    Array,
    Cells,
    Runs,
    cells,
    effective_units,
    mean_shares,
    measured_seeds,
    proportions,
    rounded,
    unit_differences,
    unit_shares,
    varies,
)
from .intervals import BCA_UNITS, MIN_UNITS, Intervals, difference_intervals
from .multiple import sign_flip
from .pairs import ROW, common_rows
from .seeds import (
    NEW_SEEDS,
    THESE_RUNS,
    THESE_TWO_RUNS,
    Spread,
    sample_variance,
    seed_part,
    two_way,
)

# The columns of `Differences.rows`.
MEASURED = (
    "value_baseline", "value_candidate", "delta", "n_units", "n_seeds", "n_differ", "p_value",
    "p_seeds", "mid", "n_effective", "claim",
)  # fmt: skip


@dataclass(frozen=True)
class Differences:
    """Two sides over the same units, for metrics that are measured in the same seeds of each.

    Seed k of one side goes with seed k of the other (`by_seed`), or each side is averaged over its
    own. `metrics`: their indices in the table. Arrays are over metrics.
    """

    metrics: list[int]
    a: Cells
    b: Cells
    by_seed: bool
    resampling: Resampling

    @cached_property
    def values(self) -> tuple[Array, Array]:
        """The metrics of both sides, means over seeds."""
        return self.a.values.mean(axis=0), self.b.values.mean(axis=0)

    @cached_property
    def by_unit(self) -> Array:
        """What each unit brings into the difference, (units, metrics); exactly 0 where nothing differs."""
        a, b = self.a, self.b
        sides = a.num, a.den, b.num, b.den
        if not self.by_seed:
            sides = a.num.mean(axis=0), a.den.mean(axis=0), b.num.mean(axis=0), b.den.mean(axis=0)
        differences = a.compiled.combined(unit_differences(*sides))
        if self.by_seed:
            differences = differences.mean(axis=0)
        return rounded(differences)

    @cached_property
    def n_differ(self) -> Array:
        """Units whose own sums differ in some seed."""
        if not self.by_seed or len(self.a.sums) == 1:
            return np.count_nonzero(self.by_unit, axis=0)
        a, b = self.a, self.b
        cells = a.compiled.combined(unit_differences(a.num, a.den, b.num, b.den))
        differs = np.abs(cells) > 1e-12 * np.abs(cells).sum(axis=1, keepdims=True)
        return differs.any(axis=0).sum(axis=0)

    @cached_property
    def shares(self) -> Array:
        """What each unit weighs, (units, metrics); sums to 1."""
        shares = unit_shares(self.a.den.mean(axis=0), self.b.den.mean(axis=0))
        return mean_shares(shares, self.a.compiled)

    @cached_property
    def n_effective(self) -> Array:
        """Effective units."""
        return effective_units(self.shares)

    @property
    def n_seeds(self) -> int:
        """Seeds on the side that has fewer."""
        return min(len(self.a.sums), len(self.b.sums))

    @cached_property
    def spread(self) -> Spread:
        """The spread of the difference: of several seeds with their part, else of new samples."""
        a, b, n = self.a, self.b, self.n_effective
        if self.n_seeds == 1:
            errors = self.by_unit - self.by_unit.sum(axis=0) * self.shares
            return two_way(sample_variance(errors, n), n, [])
        sample = sample_variance(b.errors.mean(axis=0) - a.errors.mean(axis=0), n)
        if self.by_seed:
            takes_part = a.takes_part | b.takes_part
            part = seed_part(b.values - a.values, b.errors - a.errors, a.present, takes_part)
            return two_way(sample, n, [part])
        parts = [seed_part(s.values, s.errors, s.present, s.takes_part) for s in (a, b)]
        return two_way(sample, n, parts)

    @property
    def limits(self) -> Array:
        """(2, metrics): the least and the greatest value of the difference."""
        lowest, highest = self.a.compiled.ends
        return np.stack([lowest - highest, highest - lowest])

    def intervals(self, alpha: Array) -> Intervals:
        """Rules 5 to 8, with the probability alpha outside."""
        delta = self.by_unit.sum(axis=0)
        if self.n_seeds > 1:
            intervals = Intervals.none(len(delta))
            error, critical, _ = self.spread.widest(alpha)
            values = np.abs(np.concatenate([self.a.values, self.b.values]))
            moves = error > 1e-10 * values.max(axis=0)
            delta = self.values[1] - self.values[0]
            low = np.maximum(delta - error * critical, self.limits[0])
            high = np.minimum(delta + error * critical, self.limits[1])
            enough = (self.shares != 0).sum(axis=0) >= MIN_UNITS
            intervals.fill(moves & enough, low, high, "components")
            still = difference_intervals(self.by_unit, self.shares, self.limits, alpha)
            intervals.fill(~moves & (still.method == "mover"), still.low, still.high, "mover")
            return intervals
        n_units = (self.shares != 0).sum(axis=0)
        has_limits = np.isfinite(self.limits).all(axis=0)
        wanted = n_units >= MIN_UNITS
        levels = alpha
        if self.resampling.method == "auto":
            wanted = wanted & ((self.n_differ >= BCA_UNITS) | ~has_limits)
            levels = np.where(has_limits, alpha, expanded(alpha, n_units))
        wanted = wanted & varies(self.by_unit - delta * self.shares, delta)
        wanted &= len(self.a.units) <= LARGE

        def metrics_of(sums_a: Array, sums_b: Array) -> Array:
            values_of = self.a.compiled.values
            return values_of(sums_b).mean(axis=0) - values_of(sums_a).mean(axis=0)

        drawn = bootstrap([self.a.sums, self.b.sums], metrics_of, wanted, levels, self.resampling)
        if self.resampling.method != "auto":
            intervals = Intervals.none(len(delta))
            intervals.fill(wanted, *drawn, self.resampling.method)
            rest = difference_intervals(self.by_unit, self.shares, self.limits, alpha)
            for method in ("bca-t", "t", "mover"):
                intervals.fill(rest.method == method, rest.low, rest.high, method)
            return intervals
        return difference_intervals(self.by_unit, self.shares, self.limits, alpha, drawn)

    def rows(self, n_permutations: int) -> pd.DataFrame:
        """What is known of every difference before families, a row a metric."""
        compiled = self.a.compiled
        mid = proportions(compiled)
        flips = sign_flip(self.by_unit, n_permutations, self.resampling.seed, mid)
        p_seeds = self.spread.p_value(self.values[1] - self.values[0])
        p_seeds = np.where(self.n_seeds > 1, p_seeds, np.nan)
        most = max(len(self.a.sums), len(self.b.sums))
        one_sided = THESE_TWO_RUNS if most == 1 else THESE_RUNS
        untested = compiled.counts
        return pd.DataFrame(
            {
                "value_baseline": self.values[0],
                "value_candidate": self.values[1],
                "delta": self.values[1] - self.values[0],
                "n_units": (self.shares != 0).sum(axis=0),
                "n_seeds": self.n_seeds,
                "n_differ": self.n_differ,
                "p_value": np.where(untested, np.nan, np.fmax(flips, p_seeds)),
                "p_seeds": p_seeds,
                "mid": mid,
                "n_effective": self.n_effective,
                "claim": NEW_SEEDS if self.n_seeds > 1 else one_sided,
            },
            index=pd.Index(self.metrics),
        )


def paired_differences(
    a: Runs,
    b: Runs,
    compiled: Compiled,
    indices: Sequence[int],
    unit: str,
    by_seed: bool,
    resampling: Resampling,
) -> Iterator[Differences]:
    """The differences of two labelled conditions, for metrics that are measured in the same seeds at a time."""
    paired = common_rows(a, b, by_seed)
    if not all(any(len(frame) for frame in runs.values()) for runs in paired):
        return
    side_a, side_b = (cells(runs, compiled, unit) for runs in paired)
    in_a, in_b = ~np.isnan(side_a.values), ~np.isnan(side_b.values)
    if by_seed:
        in_a = in_b = in_a & in_b
    n_a = len(in_a)
    for metrics, seeds in measured_seeds(np.concatenate([in_a, in_b])):
        of_a = [seed for seed in seeds if seed < n_a]
        of_b = [seed - n_a for seed in seeds if seed >= n_a]
        if of_a and of_b:
            part_a, part_b = side_a.part(of_a, metrics), side_b.part(of_b, metrics)
            if not part_a.units.equals(part_b.units):
                both = part_a.units.intersection(part_b.units)
                part_a, part_b = part_a.over(both), part_b.over(both)
            of_table = [indices[metric] for metric in metrics]
            yield Differences(of_table, part_a, part_b, by_seed, resampling)


def over_all_rows(a: Runs, b: Runs, compiled: Compiled) -> tuple[Cells, Cells]:
    """The cells of two labelled conditions, a row a unit, over all rows that either has."""
    side_a, side_b = cells(a, compiled, ROW), cells(b, compiled, ROW)
    if side_a.units.equals(side_b.units):
        return side_a, side_b
    units = side_a.units.union(side_b.units, sort=False)
    return side_a.over(units), side_b.over(units)
