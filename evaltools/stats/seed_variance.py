"""How far seeds differ: the variance that they bring to a mean, alone or of several conditions.

Every quantity is an array over metrics.

References: Searle, Casella, McCulloch, "Variance Components" (1992), Henderson's method III;
Bartlett, "Properties of sufficiency and statistical tests", Proceedings of the Royal Society A 160
(1937).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import chdtrc, ndtr

from .arrays import Array, divide, excess, sum_products
from .influence import Cells, Influence, seed_mean

ALIKE = 0.1
"""Level of the test that seeds of several conditions differ equally much; where it rejects they
are not pooled."""


def each_field(
    combine: Callable[[Sequence[Array]], Array],
    records: Sequence[Any],
) -> Any:
    """The record of which each field is made of that field of all records.

    A record is a named tuple of arrays whose last axis is metrics.
    """
    return type(records[0])(*map(combine, zip(*records)))


def take(
    record: Any,
    metrics: int | Sequence[int] | Array,
) -> Any:
    """The record of the metrics at these indices."""
    return each_field(lambda arrays: arrays[0][..., metrics], [record])


def where(
    use: Array,
    one: Any,
    other: Any,
) -> Any:
    """The fields of one record for the metrics in `use`, those of the other for the rest."""
    return each_field(lambda arrays: np.where(use, *arrays), [one, other])


class SeedTerm(NamedTuple):
    """How far the seeds of a condition differ; `variance` is what that brings to the mean over them.

    between: the variance of a seed's value, with `df`.
    within: the part of `between` that is not the seed's own, with `within_df`. Both are nan where
        they cannot be told apart.
    plain: the variance of the mean by the seeds' values alone, with `plain_df` = seeds - 1.
    residual: the variance that the interaction of seeds and units brings to the mean.
    nested: no unit occurs in two seeds, so that the spread of the seeds' values holds that of the
        units too.
    n_seeds: nan for fewer than two.
    """

    between: Array
    df: Array
    within: Array
    within_df: Array
    plain: Array
    plain_df: Array
    residual: Array
    nested: Array
    n_seeds: Array

    def told_apart(
        self,
        value: Array,
        otherwise: Array,
    ) -> Array:
        """The value where the seeds' own part is told apart, else another."""
        return np.where(np.isnan(self.between + self.within), otherwise, value)

    @property
    def variance(self) -> Array:
        """What seeds bring to the mean, with `variance_df` degrees of freedom."""
        own = excess(self.between, self.within) / self.n_seeds
        return self.told_apart(own, self.plain)

    @property
    def variance_df(self) -> Array:
        """Degrees of freedom of `variance`, where no mean square is taken off."""
        return self.told_apart(self.df, self.plain_df)

    @property
    def squares(self) -> Array:
        """Sum of (share of a mean square)^2 / df over those that `variance` is made of (Satterthwaite)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            of_between = self.between**2 / self.df
            of_within = self.within**2 / self.within_df
            squares = (of_between + of_within) / self.n_seeds**2
            plain = self.plain**2 / self.plain_df
        return self.told_apart(squares * (self.variance > 0), plain)


def seed_term(
    i: Cells | Influence,
) -> SeedTerm:
    """Henderson's method III on an incomplete seeds x units table, for every metric at once.

    y = value of the seed + (number of its units) * error is a table whose seed means are the
    values. The seed component is (MS_seed|unit - MS_residual) * df / (N - n), not below 0, over N
    cells of n units. Where no cell is left for the residual, the seeds' values themselves give the
    term: exact where no unit is shared, an upper bound otherwise. nan for fewer than two seeds.
    """
    measured = ~np.isnan(i.values)
    n_seeds = measured.sum(axis=0)
    taken = i.present[:, :, None] & i.takes_part
    taken = taken & measured[:, None, :]
    per_seed = taken.sum(axis=1, dtype=float)
    per_unit = taken.sum(axis=0, dtype=float)
    n_units = (per_unit > 0).sum(axis=0)
    n_cells = per_seed.sum(axis=0)
    nested = n_cells == n_units

    values = np.nan_to_num(i.values)
    errors = per_seed[:, None, :] * i.errors
    y = np.where(taken, values[:, None, :] + errors, 0.0)
    unit_weight = divide(1.0, per_unit, 0.0)
    unit_means = y.sum(axis=0) * unit_weight
    within_unit = np.where(taken, y - unit_means, 0.0)

    information = _information(taken, per_seed, unit_weight)
    ss_seed, rank = _explained(within_unit.sum(axis=1), information)
    ss_total = np.sum(within_unit**2, axis=(0, 1))
    ss_residual = np.maximum(ss_total - ss_seed, 0.0)
    df_residual = n_cells - n_units - rank
    plain, plain_df = _plain(i.values, measured)
    told_apart = (df_residual >= 1) & (rank > 0)

    with np.errstate(divide="ignore", invalid="ignore"):
        ms_seed = ss_seed / rank
        ms_residual = ss_residual / df_residual
        scale = rank / (n_cells - n_units)
        seed_weights = divide(1.0, per_seed, 0.0)
        residual = ms_residual * seed_weights.sum(axis=0) / n_seeds**2
    return SeedTerm(
        between=np.where(told_apart, scale * ms_seed, np.nan),
        df=rank,
        within=np.where(told_apart, scale * ms_residual, np.nan),
        within_df=df_residual,
        plain=plain,
        plain_df=plain_df,
        residual=np.where(told_apart, residual, 0.0),
        nested=nested,
        n_seeds=plain_df + 1,
    )


def _information(
    taken: Array,
    per_seed: Array,
    unit_weight: Array,
) -> Array:
    """Information on the seeds once units are taken out, (metrics, seeds, seeds).

    `taken` (seeds, units, metrics), `per_seed` (seeds, metrics), `unit_weight` (units, metrics).
    """
    counted = taken.astype(float)
    information = -np.einsum("aum,bum->mab", counted * unit_weight, counted)
    seeds = np.arange(len(taken))
    information[:, seeds, seeds] += per_seed.T
    return information


def _explained(
    sums: Array,
    information: Array,
) -> tuple[Array, Array]:
    """(sum of squares that seeds explain, its rank), by the pseudo-inverse of the information.

    `sums` (seeds, metrics) of the cells within their units.
    """
    eigenvalues, vectors = np.linalg.eigh(information)
    largest = eigenvalues[:, -1:]
    is_real = eigenvalues > 1e-9 * np.maximum(largest, 1.0)
    projected = np.einsum("mkr,km->mr", vectors, sums) ** 2
    explained = np.zeros_like(projected)
    np.divide(
        projected,
        eigenvalues,
        out=explained,
        where=is_real,
    )
    rank = is_real.sum(axis=1).astype(float)
    return explained.sum(axis=1), rank


def _plain(
    values: Array,
    measured: Array,
) -> tuple[Array, Array]:
    """(variance of the mean by the seeds' values alone, degrees of freedom); nan for one seed."""
    n_seeds = measured.sum(axis=0)
    deviation = values - seed_mean(values, measured)
    deviation = np.where(measured, deviation, 0.0)
    squares = np.sum(deviation**2, axis=0)
    plain_df = np.where(n_seeds > 1, n_seeds - 1.0, np.nan)
    return squares / plain_df / np.maximum(n_seeds, 1), plain_df


class SeedPool(NamedTuple):
    """What the seeds of several conditions differ by, together.

    between, plain: as in `SeedTerm`, of a seed's value; means over the conditions, weighted by
        their degrees of freedom, `df` and `plain_df` in sum.
    alike: at least two conditions have several seeds, and Bartlett's test does not tell their
        `plain` apart.
    """

    between: Array
    df: Array
    plain: Array
    plain_df: Array
    alike: Array

    def term(
        self,
        own: SeedTerm,
        sides: int = 1,
    ) -> SeedTerm:
        """The term of one condition with what all know of the seeds, for the metrics `alike`.

        In a difference each of `sides` has its part of the degrees of freedom.
        """
        pooled = own._replace(
            between=self.between,
            df=self.df / sides,
            plain=self.plain / own.n_seeds,
            plain_df=self.plain_df / sides,
        )
        has_seeds = ~np.isnan(own.plain)
        term: SeedTerm = where(self.alike & has_seeds, pooled, own)
        return term


def seed_pool(
    terms: Sequence[SeedTerm],
    level: float = ALIKE,
) -> SeedPool:
    """The spread of the seeds of several conditions; a condition of one seed adds nothing.

    They are `alike` unless Bartlett's test tells them apart at the `level`; always at a level of 0.
    """
    conditions: SeedTerm = each_field(np.stack, terms)
    # variance of the seeds' values, (conditions, metrics)
    variances = conditions.plain * (conditions.plain_df + 1)
    variances_df = np.nan_to_num(conditions.plain_df)
    plain, plain_df = _weighted_mean(variances, variances_df)
    between, df = _weighted_mean(conditions.between, conditions.df)
    p = bartlett(variances, variances_df)
    n_with_seeds = (variances_df > 0).sum(axis=0)
    return SeedPool(
        between=between,
        df=df,
        plain=plain,
        plain_df=plain_df,
        alike=(n_with_seeds > 1) & (p >= level),
    )


def _weighted_mean(
    values: Array,
    df: Array,
) -> tuple[Array, Array]:
    """(mean, total df) of (conditions, metrics) by degrees of freedom; null takes no part."""
    df = np.where(np.isnan(values), 0.0, df)
    total = df.sum(axis=0)
    weighted = df * np.nan_to_num(values)
    mean = divide(weighted.sum(axis=0), total)
    return mean, total


def bartlett(
    variances: Array,
    df: Array,
) -> Array:
    """p of Bartlett's test that all variances (conditions, metrics) are equal.

    Conditions with a df of 0 take no part; nan for fewer than two.

    >>> bartlett(np.array([[1.0], [1.0]]), np.array([[2.0], [2.0]])).tolist()
    [1.0]
    """
    several = df > 0
    k = several.sum(axis=0)
    pooled, total = _weighted_mean(variances, df)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_ratio = df * np.log(pooled / variances)
        log_ratio = np.where(several & (pooled > 0), log_ratio, 0.0)
        statistic = np.maximum(log_ratio.sum(axis=0), 0.0)
        inverse = divide(1.0, df, 0.0).sum(axis=0)
        excess_of_inverse = inverse - 1 / total
        correction = 1 + excess_of_inverse / (3 * (k - 1))
        return chdtrc(k - 1.0, statistic / correction)


def unrelated(
    one: Cells,
    other: Cells,
) -> Array:
    """(metrics,): whether what two sides bring into the cells of a seed goes apart.

    That is, beyond their samples. Seeds that mean the same on both sides (a shared first stage)
    leave like errors in the same cells, and then pair. The test is that of the units' sums of
    products, at the level ALIKE.
    """
    rest = one.errors - one.errors.mean(axis=0)
    other_rest = other.errors - other.errors.mean(axis=0)
    products = np.einsum("kum,kum->um", rest, other_rest)
    total = products.sum(axis=0)
    size = np.sqrt(sum_products(products, products))
    z = divide(total, size, otherwise=np.inf)
    p = 2 * ndtr(-np.abs(z))
    return p > ALIKE
