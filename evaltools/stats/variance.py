"""How far a mean over seeds may be off: seeds, samples and their interaction put together.

Every quantity is an array over metrics. A *term* is the variance that one source brings to the
mean; a *spread* puts the terms together with their degrees of freedom.

References: Searle, Casella, McCulloch, "Variance Components" (1992); Satterthwaite, "An approximate
distribution of estimates of variance components", Biometrics Bulletin 2 (1946).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtr, stdtrit

from .arrays import Array
from .influence import Influence, Paired
from .seed_variance import SeedTerm, each_field, seed_pool, seed_term, unrelated, where

NEGLIGIBLE = 1e-10
"""A standard error below this share of the largest value is rounding, not variation."""

SampleTerm = tuple[Array, Array]
"""Variance that units bring to the mean, and its degrees of freedom."""


class Spread(NamedTuple):
    """Uncertainty of an estimate, by two accounts that must both hold.

    `variance` with `df` degrees of freedom; and that by the seeds' values alone, `plain` with
    `plain_df`. `from_seeds`, `from_samples` and `from_residual` add to `variance`. `pooled`: whether
    the seeds of both sides of a difference count together.
    """

    variance: Array
    df: Array
    plain: Array
    plain_df: Array
    from_seeds: Array
    from_samples: Array
    from_residual: Array
    pooled: Array

    def widest(self, confidence: float) -> tuple[Array, Array, Array]:
        """(standard error, t quantile, degrees of freedom) of the account with the wider interval.

        Half the width of the interval is standard error times t quantile.
        """
        level = 0.5 + confidence / 2
        error = np.sqrt(self.variance)
        critical = stdtrit(self.df, level)
        plain_error = np.sqrt(self.plain)
        plain_critical = stdtrit(self.plain_df, level)
        plain_is_wider = plain_error * plain_critical > error * critical
        return (
            np.where(plain_is_wider, plain_error, error),
            np.where(plain_is_wider, plain_critical, critical),
            np.where(plain_is_wider, self.plain_df, self.df),
        )

    def p_value(self, difference: Array) -> Array:
        """Two-sided p for a true value of 0.

        That is the level at which the widest interval just reaches 0.
        """
        size = np.abs(difference)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = size / np.sqrt(self.variance)
            plain_t = size / np.sqrt(self.plain)
        p = 2 * stdtr(self.df, -t)
        plain_p = 2 * stdtr(self.plain_df, -plain_t)
        p = np.fmax(p, plain_p)
        p = np.where(size == 0, 1.0, p)
        unknown = np.isnan(self.variance)
        return np.where(unknown, np.nan, p)


def sample_term(
    errors: Array,
    n: Array,
) -> SampleTerm:
    """(variance, degrees of freedom) that units bring to the mean.

    `errors` (units, metrics): means over seeds. `n` (metrics): units that take part; nan for fewer
    than two.

    >>> variance, df = sample_term(np.array([[-0.5], [0.5]]), np.array([2]))
    >>> variance.tolist(), df.tolist()
    ([1.0], [1.0])
    """
    df = np.where(n > 1, n - 1.0, np.nan)
    squares = np.sum(errors**2, axis=0)
    return squares * n / df, df


def spread(sample: SampleTerm, *seeds: SeedTerm) -> Spread:
    """Uncertainty of a mean over seeds, or of a difference of two, for new seeds and new samples.

    By two accounts: the variance components with Satterthwaite's degrees of freedom, and, where
    seeds show a component of their own or are only two, the seeds' values alone (t; Welch for two
    sets of seeds), because a claim about new seeds and new samples cannot be surer than one about
    new seeds on these samples. With 3 seeds Satterthwaite alone covers 92% where seeds dominate.
    Nested seeds hold the sample term already, so it is left out.
    """
    variance, df = sample
    terms: SeedTerm = each_field(np.stack, seeds)
    nested = terms.nested.all(axis=0)
    variance = np.where(nested, 0.0, variance)
    df = np.where(nested & np.isnan(df), 1.0, df)

    from_seeds = terms.variance.sum(axis=0)
    total = variance + from_seeds
    squares_of_seeds = terms.squares.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        squares = variance**2 / df + squares_of_seeds
        joint = total**2 / squares
    # a sum of mean squares has at least the degrees of freedom of its smallest, but a difference of
    # mean squares can come out below
    smallest_df = np.minimum(df, terms.variance_df.min(axis=0))
    joint = np.fmax(joint, smallest_df)

    plain = terms.plain.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        plain_squares = terms.plain**2 / terms.plain_df
        welch = plain**2 / plain_squares.sum(axis=0)
    two_seeds = (terms.plain_df < 2).any(axis=0)
    plain = np.where((from_seeds > 0) | two_seeds, plain, 0.0)

    residual = terms.residual.sum(axis=0)
    residual = np.minimum(variance, residual)
    return Spread(
        variance=total,
        # a variance of 0 has no degrees of freedom of its own
        df=np.where(total == 0, df, joint),
        plain=plain,
        plain_df=np.where(plain == 0, 1.0, welch),
        from_seeds=from_seeds,
        from_samples=variance - residual,
        from_residual=residual,
        pooled=np.zeros(total.shape, dtype=bool),
    )


def spread_of_samples(sample: SampleTerm) -> Spread:
    """Uncertainty for new samples alone."""
    variance, df = sample
    nothing = np.zeros_like(variance)
    return Spread(
        variance=variance,
        df=df,
        plain=nothing,
        plain_df=np.ones_like(variance),
        from_seeds=nothing,
        from_samples=variance,
        from_residual=nothing,
        pooled=nothing > 0,
    )


def spread_of_delta(
    paired: Paired,
    pooling: bool,
) -> Spread:
    """The spread of delta: of several seeds variance components, else the spread of the samples.

    Where seeds pair, the components are those of the paired differences; else of each side's own
    seeds. With `pooling` seeds that differ by themselves, and equally much on both sides, count
    together, also where equal labels do not mean like seeds.
    """
    a, b = paired.baseline, paired.candidate
    sample = sample_term(paired.errors, paired.n_units)
    of_samples = spread_of_samples(sample)
    several = paired.n_seeds > 1
    if not several.any():
        return of_samples
    terms = [seed_term(a), seed_term(b)]
    alone = spread(sample, *terms)
    if paired.by_seed:
        values = b.values - a.values
        difference = Influence(
            present=a.present,
            takes_part=a.takes_part | b.takes_part,
            values=np.where(paired.in_a, values, np.nan),
            errors=b.errors - a.errors,
        )
        alone = spread(sample, seed_term(difference))
    if pooling:
        pool = seed_pool(terms)
        has_seeds = ~np.isnan([term.plain for term in terms])
        use_pool = pool.alike & has_seeds.all(axis=0)
        if paired.by_seed:
            use_pool &= unrelated(a, b)
        # sides that are the same in every cell have no difference whose spread could be estimated
        values = np.concatenate([a.values, b.values])
        use_pool &= ~negligible(alone.variance, values)
        pooled_terms = [pool.term(term, sides=2) for term in terms]
        pooled = spread(sample, *pooled_terms)._replace(pooled=use_pool)
        alone = where(use_pool, pooled, alone)
    chosen: Spread = where(several, alone, of_samples)
    return chosen


def negligible(
    variance: Array,
    values: Array,
) -> Array:
    """Whether a variance (metrics) is rounding next to its values (seeds, metrics)."""
    size = np.abs(values)
    scale = np.nanmax(size, axis=0, initial=0.0)
    error = np.sqrt(variance)
    return error <= NEGLIGIBLE * scale


@dataclass(frozen=True)
class Components:
    """Variances of one cell of a complete table: of its seed, its sample and the rest.

    Numbers, or arrays of equal shapes. `sides`: how many sides' seeds are pooled, 1 or 2.
    """

    seed: Any
    sample: Any
    residual: Any
    sides: int = 1

    @classmethod
    def from_spread(
        cls,
        s: Spread,
        n: Any,
        seeds: Any,
    ) -> Components:
        """From the spread of the mean over n samples under each of so many seeds."""
        return cls(
            seed=s.from_seeds * seeds,
            sample=s.from_samples * n,
            residual=s.from_residual * n * seeds,
            sides=1 + int(s.pooled),
        )

    def spread(
        self,
        n: Any,
        seeds: Any,
    ) -> Spread:
        """The spread to expect of n samples under each of so many seeds.

        That is `spread` at the mean squares to expect.
        """
        by_samples = (self.sample + self.residual / seeds) / n
        sample = by_samples, n - 1.0
        if seeds == 1:
            return spread_of_samples(sample)
        # a side has its part of the variances, and degrees of freedom of its own
        within = self.residual / n / self.sides
        between = within + self.seed / self.sides
        df = seeds - 1.0
        fields = np.broadcast_arrays(
            between,
            df,
            within,
            (n - 1.0) * df,
            between / seeds,
            df,
            within / seeds,
            False,
            seeds,
        )
        return spread(sample, *[SeedTerm(*fields)] * self.sides)
