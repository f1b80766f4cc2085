"""How far a mean over seeds may be off: variance components of seeds, samples and their interaction.

Every quantity is an array over metrics. A *term* is the variance that one source brings to the mean;
a *spread* puts the terms together with their degrees of freedom.

References: Searle, Casella, McCulloch, "Variance Components" (1992), Henderson's method III;
Satterthwaite, "An approximate distribution of estimates of variance components", Biometrics
Bulletin 2 (1946); Bartlett, "Properties of sufficiency and statistical tests", Proceedings of the
Royal Society A 160 (1937).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
from scipy.special import chdtrc, ndtr, stdtr, stdtrit

from .influence import Cells, Influence, Paired, influence, seed_mean

ALIKE = 0.1
"""Level of the test that seeds of several conditions differ equally much; where it rejects they are not pooled."""

NEGLIGIBLE = 1e-10
"""A standard error below this share of the largest value is rounding, not variation."""

SampleTerm = tuple[np.ndarray, np.ndarray]
"""Variance that units bring to the mean, and its degrees of freedom."""


@dataclass(frozen=True)
class MetricArrays:
    """Base of records whose fields are arrays over metrics."""

    def where(self, use: np.ndarray, other: Self) -> Self:
        """The fields of this one for the metrics in `use`, those of `other` for the rest."""
        columns = {}
        for field in fields(self):
            columns[field.name] = np.where(
                use,
                getattr(self, field.name),
                getattr(other, field.name),
            )
        return type(self)(**columns)

    def take(self, metrics: Sequence[int]) -> Self:
        """The record of the metrics at these indices."""
        columns = {f.name: getattr(self, f.name)[metrics] for f in fields(self)}
        return type(self)(**columns)

    @classmethod
    def join(cls, parts: Sequence[Self]) -> Self:
        """One record of the metrics of all parts, in order."""
        columns = {}
        for field in fields(cls):
            columns[field.name] = np.concatenate([getattr(part, field.name) for part in parts])
        return cls(**columns)


@dataclass(frozen=True)
class Spread(MetricArrays):
    """Uncertainty of an estimate, by two accounts that must both hold.

    `variance` with `df` degrees of freedom; and that by the seeds' values alone, `plain` with
    `plain_df`. `from_seeds`, `from_samples` and `from_residual` add to `variance`.
    """

    variance: np.ndarray
    df: np.ndarray
    plain: np.ndarray
    plain_df: np.ndarray
    from_seeds: np.ndarray
    from_samples: np.ndarray
    from_residual: np.ndarray

    def widest(self, confidence: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(standard error, t quantile, degrees of freedom) of the account with the wider interval.

        Half the width of the interval is standard error times t quantile.
        """
        level = 0.5 + confidence / 2
        error, critical = np.sqrt(self.variance), stdtrit(self.df, level)
        plain_error, plain_critical = np.sqrt(self.plain), stdtrit(self.plain_df, level)
        plain_is_wider = plain_error * plain_critical > error * critical
        return (
            np.where(plain_is_wider, plain_error, error),
            np.where(plain_is_wider, plain_critical, critical),
            np.where(plain_is_wider, self.plain_df, self.df),
        )

    def p_value(self, difference: np.ndarray) -> np.ndarray:
        """Two-sided p for a true value of 0: the level at which the widest interval just reaches 0."""
        size = np.abs(difference)
        with np.errstate(divide="ignore", invalid="ignore"):
            p = 2 * stdtr(self.df, -size / np.sqrt(self.variance))
            plain_p = 2 * stdtr(self.plain_df, -size / np.sqrt(self.plain))
        p = np.where(size == 0, 1.0, np.fmax(p, plain_p))
        return np.where(np.isnan(self.variance), np.nan, p)


def sample_term(errors: np.ndarray, n: np.ndarray) -> SampleTerm:
    """(variance, degrees of freedom) that units bring to the mean.

    `errors` (units, metrics): means over seeds. `n` (metrics): units that take part; nan for fewer
    than two.
    """
    df = np.where(n > 1, n - 1.0, np.nan)
    return np.sum(errors**2, axis=0) * n / df, df


@dataclass(frozen=True)
class SeedTerm(MetricArrays):
    """Variance that seeds bring to the mean over seeds.

    `variance` with `df`. `squares`: the sum of (share of a mean square)^2 / df over the mean squares
    that `variance` is made of, which Satterthwaite's formula needs. `residual`: the variance that the
    interaction brings to the mean. `plain`: the variance of the mean by the seeds' values alone, with
    `plain_df` = seeds - 1. `nested`: no unit occurs in two seeds, so that the spread of the seeds'
    values holds that of the units too. `between`: the variance of a seed's value. `within`, with
    `within_df`: the part of it that is not the seed's own. Both are nan where they cannot be told
    apart.
    """

    variance: np.ndarray
    squares: np.ndarray
    df: np.ndarray
    residual: np.ndarray
    plain: np.ndarray
    plain_df: np.ndarray
    nested: np.ndarray
    between: np.ndarray
    within: np.ndarray
    within_df: np.ndarray


def seed_term(i: Influence, condition: Cells) -> SeedTerm:
    """Henderson's method III on an incomplete seeds x units table, for every metric at once.

    y = value of the seed + (number of its units) * error is a table whose seed means are the values.
    The seed component is (MS_seed|unit - MS_residual) * df / (N - n), not below 0, over N cells of n
    units. Where no cell is left for the residual, the seeds' values themselves give the term: exact
    where no unit is shared, an upper bound otherwise. nan for fewer than two seeds.
    """
    measured = ~np.isnan(i.values)
    n_seeds = measured.sum(axis=0)
    taken = condition.present[:, :, None] & i.takes_part[None] & measured[:, None, :]
    per_seed = taken.sum(axis=1, dtype=float)
    per_unit = taken.sum(axis=0, dtype=float)
    n_units = (per_unit > 0).sum(axis=0)
    n_cells = per_seed.sum(axis=0)

    y = np.nan_to_num(i.values)[:, None, :] + per_seed[:, None, :] * i.errors
    y = np.where(taken, y, 0.0)
    unit_weight = _inverse(per_unit)
    within_unit = np.where(taken, y - y.sum(axis=0) * unit_weight, 0.0)
    information = _information(taken, per_seed, unit_weight)
    ss_seed, rank = _explained(within_unit.sum(axis=1), information)
    ss_residual = np.maximum(np.sum(within_unit**2, axis=(0, 1)) - ss_seed, 0.0)
    df_residual = n_cells - n_units - rank

    with np.errstate(divide="ignore", invalid="ignore"):
        ms_seed = ss_seed / rank
        ms_residual = ss_residual / df_residual
        scale = rank / (n_cells - n_units)
        factor = scale / n_seeds
        variance = factor * excess(ms_seed, ms_residual)
        squares = factor**2 * (ms_seed**2 / rank + ms_residual**2 / df_residual) * (variance > 0)
        residual = ms_residual * _inverse(per_seed).sum(axis=0) / n_seeds**2
        deviation = np.where(measured, i.values - seed_mean(i.values, measured), 0.0)
        plain = np.sum(deviation**2, axis=0) / (n_seeds - 1) / n_seeds
    plain = np.where(n_seeds > 1, plain, np.nan)
    plain_df = np.where(n_seeds > 1, n_seeds - 1.0, np.nan)
    told_apart = (df_residual >= 1) & (rank > 0)
    return SeedTerm(
        variance=np.where(told_apart, variance, plain),
        squares=np.where(told_apart, squares, plain**2 / plain_df),
        df=np.where(told_apart, rank, plain_df),
        residual=np.where(told_apart, residual, 0.0),
        plain=plain,
        plain_df=plain_df,
        nested=n_cells == n_units,
        between=np.where(told_apart, scale * ms_seed, np.nan),
        within=np.where(told_apart, scale * ms_residual, np.nan),
        within_df=np.where(told_apart, df_residual, np.nan),
    )


def excess(total: np.ndarray, part: np.ndarray) -> np.ndarray:
    """By how much `total` is above `part`, 0 where it is not.

    A difference as small as rounding is 0 too: one event in one of several seeds gives two equal
    mean squares, and their last digit, which depends on the processor, must not decide anything.
    """
    difference = total - part
    return np.where(difference > 1e-9 * (total + part), difference, 0.0)


def _inverse(counts: np.ndarray) -> np.ndarray:
    """1 / count, 0 for a count of 0."""
    return np.divide(1.0, counts, out=np.zeros_like(counts), where=counts > 0)


def _information(taken: np.ndarray, per_seed: np.ndarray, unit_weight: np.ndarray) -> np.ndarray:
    """Information on the seeds once units are taken out, (metrics, seeds, seeds).

    `taken` (seeds, units, metrics), `per_seed` (seeds, metrics), `unit_weight` (units, metrics).
    """
    n_seeds = len(taken)
    information = np.zeros((taken.shape[2], n_seeds, n_seeds))
    for a in range(n_seeds):
        for b in range(n_seeds):
            shared = taken[a] & taken[b]
            information[:, a, b] = -np.sum(shared * unit_weight, axis=0)
        information[:, a, a] += per_seed[a]
    return information


def _explained(sums: np.ndarray, information: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(sum of squares that seeds explain, its rank), by the pseudo-inverse of the information.

    `sums` (seeds, metrics) of the cells within their units.
    """
    eigenvalues, vectors = np.linalg.eigh(information)
    real = eigenvalues > 1e-9 * np.maximum(eigenvalues[:, -1:], 1.0)
    projected = np.einsum("mkr,km->mr", vectors, sums) ** 2
    explained = np.divide(projected, eigenvalues, out=np.zeros_like(projected), where=real)
    return explained.sum(axis=1), real.sum(axis=1).astype(float)


@dataclass(frozen=True)
class SeedPool(MetricArrays):
    """What the seeds of several conditions differ by, together.

    `between` with `df` and `plain` (variance of the seeds' values) with `plain_df` are means over the
    conditions, weighted by degrees of freedom. `alike` and `unlike`: at least two conditions have
    several seeds, and Bartlett's test does not, or does, tell their `plain` apart at the level ALIKE.
    """

    between: np.ndarray
    df: np.ndarray
    plain: np.ndarray
    plain_df: np.ndarray
    alike: np.ndarray
    unlike: np.ndarray

    def term(self, own: SeedTerm, sides: int = 1) -> SeedTerm:
        """The term of one condition with what all know of the seeds, for the metrics that are `alike`.

        In a difference each of `sides` has its part of the degrees of freedom.
        """
        n_seeds = own.plain_df + 1
        told_apart = ~np.isnan(own.within) & ~np.isnan(self.between)
        df, plain_df = self.df / sides, self.plain_df / sides
        plain = self.plain / n_seeds
        with np.errstate(divide="ignore", invalid="ignore"):
            variance = excess(self.between, own.within) / n_seeds
            mean_squares = self.between**2 / df + own.within**2 / own.within_df
            squares = mean_squares / n_seeds**2 * (variance > 0)
            plain_squares = plain**2 / plain_df
        pooled = replace(
            own,
            variance=np.where(told_apart, variance, plain),
            squares=np.where(told_apart, squares, plain_squares),
            df=np.where(told_apart, df, plain_df),
            plain=plain,
            plain_df=plain_df,
        )
        return pooled.where(self.alike & ~np.isnan(own.plain), own)


def seed_pool(terms: Sequence[SeedTerm]) -> SeedPool:
    """The spread of the seeds of several conditions, pooled; a condition of one seed adds nothing."""
    # variance of the seeds' values, (conditions, metrics)
    own = np.array([term.plain * (term.plain_df + 1) for term in terms])
    own_df = np.array([np.nan_to_num(term.plain_df) for term in terms])
    plain, plain_df = _weighted_mean(own, own_df)
    between, df = _weighted_mean(
        np.array([term.between for term in terms]),
        np.array([term.df for term in terms]),
    )
    p, n_conditions = _bartlett(own, own_df, plain)
    return SeedPool(
        between=between,
        df=df,
        plain=plain,
        plain_df=plain_df,
        alike=(n_conditions > 1) & (p > ALIKE),
        unlike=(n_conditions > 1) & (p <= ALIKE),
    )


def _weighted_mean(values: np.ndarray, df: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(mean, total) of (conditions, metrics) by degrees of freedom; null values take no part."""
    df = np.where(np.isnan(values), 0.0, df)
    total = df.sum(axis=0)
    weighted = (df * np.nan_to_num(values)).sum(axis=0)
    mean = np.divide(weighted, total, out=np.full(total.shape, np.nan), where=total > 0)
    return mean, total


def _bartlett(
    variances: np.ndarray, df: np.ndarray, pooled: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(p of Bartlett's test that all variances are equal, number of conditions with several seeds)."""
    several = df > 0
    k = several.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_ratio = np.where(several & (pooled > 0), df * np.log(pooled / variances), 0.0)
        statistic = np.maximum(log_ratio.sum(axis=0), 0.0)
        inverse = np.where(several, 1 / df, 0.0).sum(axis=0) - 1 / df.sum(axis=0)
        correction = 1 + inverse / (3 * (k - 1))
        return chdtrc(k - 1.0, statistic / correction), k


def unrelated(one: Influence, other: Influence) -> np.ndarray:
    """(metrics,): whether what two sides bring into the cells of one seed, beyond their samples, goes apart.

    Seeds that mean the same on both sides (a shared first stage) leave like errors in the same cells,
    and then pair. The test is that of the units' sums of products, at the level ALIKE.
    """
    rest = one.errors - one.errors.mean(axis=0)
    other_rest = other.errors - other.errors.mean(axis=0)
    products = np.einsum("kum,kum->um", rest, other_rest)
    size = np.sqrt(np.einsum("um,um->m", products, products))
    no_distance = np.full(size.shape, np.inf)
    z = np.divide(products.sum(axis=0), size, out=no_distance, where=size > 0)
    return 2 * ndtr(-np.abs(z)) > ALIKE


def spread(sample: SampleTerm, *seeds: SeedTerm) -> Spread:
    """Uncertainty for new seeds and new samples, of a mean over seeds or of a difference of two such means.

    By two accounts: the variance components with Satterthwaite's degrees of freedom, and, where seeds
    show a component of their own or are only two, the seeds' values alone (t; Welch for two sets of
    seeds), because a claim about new seeds and new samples cannot be surer than one about new seeds on
    these samples. With 3 seeds Satterthwaite alone covers 92% where seeds dominate. Nested seeds hold
    the sample term already, so it is left out.
    """
    variance, df = sample
    nested = np.logical_and.reduce([term.nested for term in seeds])
    variance = np.where(nested, 0.0, variance)
    df = np.where(nested & np.isnan(df), 1.0, df)
    from_seeds = np.add.reduce([term.variance for term in seeds])
    plain = np.add.reduce([term.plain for term in seeds])
    squares = np.add.reduce([term.squares for term in seeds])
    total = variance + from_seeds
    with np.errstate(divide="ignore", invalid="ignore"):
        joint = total**2 / (variance**2 / df + squares)
        welch = plain**2 / np.add.reduce([term.plain**2 / term.plain_df for term in seeds])
    # a sum of mean squares has at least the degrees of freedom of its smallest; a difference can come out below
    smallest_df = np.minimum(df, np.minimum.reduce([term.df for term in seeds]))
    joint = np.fmax(joint, smallest_df)
    residual = np.minimum(variance, np.add.reduce([term.residual for term in seeds]))
    two_seeds = np.logical_or.reduce([term.plain_df < 2 for term in seeds])
    plain = np.where((from_seeds > 0) | two_seeds, plain, 0.0)
    return Spread(
        variance=total,
        # a variance of 0 has no degrees of freedom of its own
        df=np.where(total == 0, df, joint),
        plain=plain,
        plain_df=np.where(plain == 0, 1.0, welch),
        from_seeds=from_seeds,
        from_samples=variance - residual,
        from_residual=residual,
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
    )


def spread_of_runs(condition: Cells, n: np.ndarray) -> Spread:
    """Uncertainty of the mean over the seeds of one condition, of n units."""
    i = influence(condition)
    errors = seed_mean(i.errors, ~np.isnan(i.values))
    return spread(sample_term(errors, n), seed_term(i, condition))


def spread_of_pair(
    paired: Paired, sample: SampleTerm, terms: Sequence[SeedTerm], pool: SeedPool | None
) -> tuple[Spread, np.ndarray]:
    """(spread of the difference, whether the pool was used for the metric).

    Where seeds pair, the components are those of the paired differences; else of each side's own
    seeds (`terms`). The `pool` knows of seeds that differ by themselves: it counts where equal labels
    do not mean like seeds.
    """
    a, b = paired.a, paired.b
    if paired.by_seed:
        difference = Influence(
            values=np.where(paired.in_a, b.values - a.values, np.nan),
            errors=b.errors - a.errors,
            takes_part=a.takes_part | b.takes_part,
        )
        alone = spread(sample, seed_term(difference, paired.baseline))
    else:
        alone = spread(sample, *terms)
    if pool is None:
        return alone, np.zeros(alone.variance.shape, dtype=bool)
    use_pool = pool.alike & ~np.isnan(terms[0].plain) & ~np.isnan(terms[1].plain)
    if paired.by_seed:
        use_pool &= unrelated(a, b)
    # where both sides are the same in every cell there is no difference whose spread could be estimated
    use_pool &= ~negligible(alone.variance, np.concatenate([a.values, b.values]))
    pooled_terms = [pool.term(term, sides=2) for term in terms]
    return spread(sample, *pooled_terms).where(use_pool, alone), use_pool


def negligible(variance: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Whether a variance (metrics) is rounding next to the values (seeds, metrics) it belongs to."""
    scale = np.nanmax(np.abs(values), axis=0, initial=0.0)
    return np.sqrt(variance) <= NEGLIGIBLE * scale


@dataclass(frozen=True)
class Components:
    """Variances of one cell of a complete table: of its seed, its sample and the rest.

    Numbers, or arrays of equal shapes. `sides`: how many sides' seeds are pooled, each with degrees
    of freedom of its own.
    """

    seed: Any
    sample: Any
    residual: Any
    sides: int = 1

    @classmethod
    def from_spread(cls, s: Spread, n: Any, seeds: Any) -> Components:
        """From the spread of the mean over n samples under each of so many seeds."""
        return cls(
            seed=s.from_seeds * seeds,
            sample=s.from_samples * n,
            residual=s.from_residual * n * seeds,
        )

    def spread(self, n: Any, seeds: Any) -> Spread:
        """The spread to expect of n samples under each of so many seeds.

        That is `variance.spread` at the expected mean squares.
        """
        residual = self.residual / (n * seeds)
        sample = self.sample / n
        seed = self.seed / seeds
        df = n - 1.0
        df_seeds = self.sides * np.maximum(seeds - 1.0, 1.0)
        by_samples = sample + residual
        between = residual + seed
        total = by_samples + seed
        varies = seed > 0
        with np.errstate(divide="ignore", invalid="ignore"):
            squares = np.where(varies, (between**2 + residual**2 / df) / df_seeds, 0.0)
            joint = total**2 / (by_samples**2 / df + squares)
        several = seeds > 1
        return Spread(
            variance=np.where(several, total, by_samples),
            df=np.where(several & (total > 0), joint, df),
            plain=np.where(several & (varies | (seeds == 2)), between, 0.0),
            plain_df=df_seeds + 0 * total,
            from_seeds=seed,
            from_samples=sample,
            from_residual=residual,
        )
