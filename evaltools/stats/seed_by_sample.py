"""The algebra of units crossed with seeds: cells, influence values and variance components.

A *condition* is a mapping seed -> units frame. Its cells are the column sums of every (seed, unit) that
is present. A metric of one seed is a ratio of sums R = N/D; leaving the seed as it is, the error that
unit i brings into it is, to first order, its influence (num_i - R den_i) / D. Influences turn every
metric, and every difference of metrics, into a mean over units, which is what variance components and
sign flips need.

References: Searle, Casella, McCulloch, "Variance Components" (1992), Henderson's method III;
Satterthwaite, "An approximate distribution of estimates of variance components", Biometrics
Bulletin 2 (1946); Bartlett, "Properties of sufficiency and statistical tests", Proceedings of the Royal Society A
160 (1937).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import fields as dataclass_fields
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from scipy.special import chdtrc, ndtr, stdtr, stdtrit

from ..core.metric_matrix import Compiled, column_values, require_measured
from .large_samples import LARGE

Fields = TypeVar("Fields", "Spread", "SeedTerm")
Seed = Hashable
Runs = Mapping[Seed, pd.DataFrame]

ALIKE = 0.1
"""Level of the test that the seeds of several conditions differ equally much; where it rejects each has its own."""

NEGLIGIBLE = 1e-10
"""A standard error below this share of the largest value is rounding, not variation."""


def in_order(labels: set[Seed]) -> list[Seed]:
    """Labels in one order, whatever their types: numbers by size, then others by their text, None first."""

    def key(label: Seed) -> tuple[int, float, str]:
        if label is None:
            return 0, 0.0, ""
        if isinstance(label, int | float | np.number):
            return 1, float(label), ""
        return 2, 0.0, str(label)

    if all(isinstance(label, str) for label in labels):
        return sorted(labels)  # type: ignore[type-var]
    return sorted(labels, key=key)


@dataclass(frozen=True)
class Crossed:
    """Column sums of every cell: `sums` (seeds, units, columns), 0 where not `present` (seeds, units).

    `num` and `den` (seeds, units, ratios) are what each cell brings into the ratios of `compiled`.
    """

    compiled: Compiled
    sums: np.ndarray
    present: np.ndarray

    @cached_property
    def totals(self) -> np.ndarray:
        """(seeds, columns)"""
        return over_units(self.sums)

    @cached_property
    def num(self) -> np.ndarray:
        return self.sums @ self.compiled.numerator

    @cached_property
    def den(self) -> np.ndarray:
        return self.sums @ self.compiled.denominator

    @cached_property
    def part(self) -> np.ndarray:
        """(units, metrics): whether one of the metric's ratios has a denominator in any seed; True in a count."""
        compiled = self.compiled
        # terms of opposite sign can cancel
        size = (
            self.sums @ np.abs(compiled.denominator)
            if (compiled.denominator < 0).any()
            else self.den
        )
        active = ((self.den != 0) | (size != 0)).any(axis=0)
        return np.array([active.T[uses].any(axis=0) for uses in compiled.uses]).T | compiled.counts

    def ratio_errors(self, at: np.ndarray) -> np.ndarray:
        """(num - at * den) / D of every cell and ratio, (seeds, units, ratios); 0 where D, the seed's den, is 0.

        `at` (seeds or 1, ratios) is the ratio at which it is linearised.
        """
        errors = at[:, None, :] * self.den
        np.subtract(self.num, errors, out=errors)
        errors /= np.where(self._total == 0, np.inf, self._total)[:, None, :]
        return errors

    def errors(self, at: np.ndarray) -> np.ndarray:
        """`ratio_errors` of every metric: (seeds, units, metrics)."""
        return by_metric(self.compiled.combined(self.ratio_errors(at)))

    @cached_property
    def own_errors(self) -> np.ndarray:
        """`ratio_errors` at each seed's own ratios, at 0 where it has none."""
        return self.ratio_errors(np.nan_to_num(self.compiled.ratios(self.totals)))

    @property
    def bias(self) -> np.ndarray:
        """Bias of every metric, (seeds, metrics), from the curvature of its ratios: -sum(error * den) / D."""
        product = np.einsum("kur,kur->kr", self.own_errors, self.den)
        return self.compiled.combined(
            np.divide(-product, self._total, out=np.zeros_like(product), where=self._total != 0)
        )

    @cached_property
    def shares(self) -> np.ndarray:
        """(seeds, units, ratios): each cell's part of its seed's denominator."""
        return self.den / np.where(self._total == 0, np.inf, self._total)[:, None, :]

    @cached_property
    def _total(self) -> np.ndarray:
        return over_units(self.den)

    def unit_by_unit(self) -> Crossed:
        """The same with a unit's seeds side by side in memory: the order of floats decides the last bit of a sum."""
        if len(self.sums) == 1:
            return self
        sums, present = (
            np.swapaxes(np.swapaxes(x, 0, 1).copy(), 0, 1) for x in (self.sums, self.present)
        )
        return Crossed(self.compiled, sums, present)


def over_units(values: np.ndarray) -> np.ndarray:
    """Sum over units: (..., units, columns) -> (..., columns)."""
    if values.shape[-2] > LARGE:
        # numpy's own sum of many short rows takes ten times as long
        return np.ones(values.shape[-2]) @ values
    return values.sum(axis=-2)


def by_metric(values: np.ndarray) -> np.ndarray:
    """The same with a metric's values side by side in memory: the order of floats decides the last bit of a sum."""
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(values, -1, 0)), 0, -1)


@dataclass(frozen=True)
class Grid:
    """The seeds and units of a condition, in order, and `at`: of every row of a seed's frame its unit's place.

    A place of -1 is a row that takes no part. Columns are read when they are asked for.
    """

    seeds: tuple[Seed, ...]
    units: pd.Index
    frames: tuple[pd.DataFrame, ...]
    at: tuple[np.ndarray, ...]

    @cached_property
    def present(self) -> np.ndarray:
        """(seeds, units)"""
        out = np.zeros((len(self.seeds), len(self.units)), dtype=bool)
        for k, at in enumerate(self.at):
            out[k, at[at >= 0]] = True
        return out

    def masked(self, keep: np.ndarray) -> Grid:
        """The same grid with the cells outside `keep` (seeds, units) taken out."""
        at = tuple(np.where(np.append(k, False)[a], a, -1) for a, k in zip(self.at, keep))
        return Grid(self.seeds, self.units, self.frames, at)

    def take(self, seeds: Sequence[Seed], units: pd.Index) -> Grid:
        """The cells of these seeds and units, in this order."""
        place = np.append(units.get_indexer(self.units), -1)
        chosen = [self.seeds.index(seed) for seed in seeds]
        frames, at = tuple(self.frames[k] for k in chosen), tuple(place[self.at[k]] for k in chosen)
        return Grid(tuple(seeds), units, frames, at)

    def sums(self, columns: Sequence[str]) -> np.ndarray:
        """(seeds, units, columns); rows that share a unit (turns of a dialogue) are summed."""
        out = np.zeros((len(self.seeds), len(self.units), len(columns)))
        for into, frame, at in zip(out, self.frames, self.at):
            values = column_values(frame, columns)
            if np.array_equal(at, np.arange(len(into))):
                into[:] = values
                continue
            if (at < 0).any():
                values, at = values[at >= 0], at[at >= 0]
            if np.bincount(at, minlength=1).max() > 1:
                # sums of floats depend on their order: rows of one unit are added in the order of their values
                order = np.lexsort((*values.T, at))
                into[:] = add_rows(values[order], at[order], len(self.units))
            else:
                into[at] = values
        return out

    def totals(self, columns: Sequence[str]) -> np.ndarray:
        """(seeds, columns), a few columns at a time where there are many units."""
        parts = np.array_split(
            np.array(columns), -(-len(columns) // 8) if len(self.units) > LARGE else 1
        )
        return np.concatenate([self.sums(part.tolist()).sum(axis=1) for part in parts], axis=1)

    def cross(self, compiled: Compiled) -> Crossed:
        """Column sums of every cell, as far as a table needs them; ValueError as `require_measured`."""
        for frame in self.frames:
            require_measured(frame, compiled)
        return Crossed(compiled, self.sums(compiled.columns), self.present)


def add_rows(values: np.ndarray, at: np.ndarray, n: int) -> np.ndarray:
    """Sums of the rows of each of n units, added in the order of the rows: (rows, columns) -> (n, columns)."""
    out = np.empty((n, values.shape[1]))
    for column, sums in zip(values.T, out.T):
        sums[:] = np.bincount(at, weights=column, minlength=n)
    return out


def grid(runs: Runs, unit: str) -> Grid:
    """The grid of a condition, with seeds and units in an order that the order of the input does not change.

    Raises ValueError for no run at all and for a null in the unit column.
    """
    if not runs:
        raise ValueError("a condition needs at least one run")
    for seed, frame in runs.items():
        if frame[unit].isna().any():
            raise ValueError(f"null in the unit column {unit!r} (seed {seed!r})")
    seeds = in_order(set(runs))
    frames = tuple(runs[seed] for seed in seeds)
    units = _labels([frame[unit] for frame in frames])
    at = tuple(units.get_indexer(pd.Index(frame[unit], dtype=units.dtype)) for frame in frames)
    return Grid(tuple(seeds), units, frames, at)


def _labels(columns: Sequence[pd.Series]) -> pd.Index:
    """The distinct labels of all columns, as `in_order` has them."""
    kinds = {column.dtype for column in columns}
    if len(kinds) == 1 and isinstance(kind := kinds.pop(), np.dtype) and kind.kind in "iuf":
        return pd.Index(np.sort(pd.unique(np.concatenate([column.unique() for column in columns]))))
    return pd.Index(
        in_order({label for column in columns for label in column.unique()}), dtype=object
    )


@dataclass(frozen=True)
class Influence:
    """Per-seed metrics and what every unit brings into them.

    `values` (seeds, metrics), nan where not measured in that seed; `errors` (seeds, units, metrics), which
    sum to 0 over the units of a seed; `part` (units, metrics): whether the unit stands in a denominator
    in any seed.
    """

    values: np.ndarray
    errors: np.ndarray
    part: np.ndarray


def influence(c: Crossed) -> Influence:
    """Influence of every cell on every metric of its seed."""
    values, errors = (
        by_metric(c.compiled.combined(x)) for x in (c.compiled.ratios(c.totals), c.own_errors)
    )
    return Influence(values, errors, c.part)


def seed_mean(values: np.ndarray, measured: np.ndarray) -> np.ndarray:
    """Mean over the seeds (first axis) in which a metric is measured; nan where it is measured in none."""
    if len(values) == 1 and measured.all():
        return values[0]
    n = measured.sum(axis=0)
    weight = np.divide(1.0, n, out=np.full(n.shape, np.nan), where=n > 0)
    shape = (len(values),) + (1,) * (values.ndim - measured.ndim) + measured.shape[1:]
    return np.where(measured.reshape(shape), values, 0.0).sum(axis=0) * weight


@dataclass(frozen=True)
class Spread:
    """How far an estimate may be off: its variance with degrees of freedom, and that by the seeds alone (`plain`).

    Both must hold, so the wider decides. `from_seeds`, `from_samples` and `from_residual` add to `variance`. Arrays
    over metrics.
    """

    variance: np.ndarray
    df: np.ndarray
    plain: np.ndarray
    plain_df: np.ndarray
    from_seeds: np.ndarray
    from_samples: np.ndarray
    from_residual: np.ndarray

    def widest(self, confidence: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(standard error, t quantile, degrees of freedom) of the wider: half a width is their product."""
        one, other = (
            (np.sqrt(variance), stdtrit(df, 0.5 + confidence / 2), df)
            for variance, df in ((self.variance, self.df), (self.plain, self.plain_df))
        )
        wider = other[0] * other[1] > one[0] * one[1]
        error, critical, df = (np.where(wider, y, x) for x, y in zip(one, other))
        return error, critical, df

    def p_value(self, difference: np.ndarray) -> np.ndarray:
        """Two-sided p for a true value of 0: the level at which the widest interval just reaches 0."""
        size = np.abs(difference)
        with np.errstate(divide="ignore", invalid="ignore"):
            p = np.fmax(
                2 * stdtr(self.df, -size / np.sqrt(self.variance)),
                2 * stdtr(self.plain_df, -size / np.sqrt(self.plain)),
            )
        return np.where(np.isnan(self.variance), np.nan, np.where(size == 0, 1.0, p))


def chosen(use: np.ndarray, one: Fields, other: Fields) -> Fields:
    """The fields of `one` for the metrics in `use`, those of the other for the rest."""
    fields = (f.name for f in dataclass_fields(one))
    return type(one)(**{f: np.where(use, getattr(one, f), getattr(other, f)) for f in fields})


def sample_term(errors: np.ndarray, n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(variance, degrees of freedom) that units bring: `errors` (units, metrics) averaged over seeds.

    `n` (metrics) is the number of units that take part; nan for fewer than two.
    """
    df = np.where(n > 1, n - 1.0, np.nan)
    return np.sum(errors**2, axis=0) * n / df, df


def excess(total: np.ndarray, part: np.ndarray) -> np.ndarray:
    """By how much `total` is above `part`, 0 where it is not.

    A difference as small as rounding is 0 too: one event in one of several seeds gives two equal
    mean squares, and their last digit, which depends on the processor, must not decide anything.
    """
    difference = total - part
    return np.where(difference > 1e-9 * (total + part), difference, 0.0)


@dataclass(frozen=True)
class SeedTerm:
    """Variance that seeds bring to the mean over seeds, with what Satterthwaite needs; arrays over metrics.

    `squares` is the sum of (mean square's share)^2 / df over the mean squares that `variance` is made of.
    `residual` is the variance that interaction brings to the mean. `plain` is the variance of the mean by
    the seeds' values alone, with `plain_df` = seeds - 1. `nested`: no unit occurs in two seeds, so that
    the spread of the seeds' values holds that of the units too. `between` is what seeds differ by, in the scale of
    a seed's value, `within` what of it is not the seeds' own, with `within_df`; nan where they cannot be told apart.
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


def seed_term(i: Influence, c: Crossed) -> SeedTerm:
    """Henderson's method III on an incomplete seeds x units table, for every metric at once.

    y = value of the seed + (number of units) * error is a table whose seed means are the values. The
    seed component is (MS_seed|unit - MS_residual) * df / (N - n), not below 0, over N cells of n
    units. Where the residual cannot be told apart (no free cell) the seeds' values themselves give
    the term: exact where no unit is shared, and an upper bound otherwise. nan for fewer than two seeds.
    """
    measured = ~np.isnan(i.values)
    taken = c.present[:, :, None] & i.part[None] & measured[:, None, :]
    per_seed, per_unit = taken.sum(axis=1, dtype=float), taken.sum(axis=0, dtype=float)
    n_seeds, n_units, n_cells = (
        measured.sum(axis=0),
        (per_unit > 0).sum(axis=0),
        per_seed.sum(axis=0),
    )
    y = np.where(taken, np.nan_to_num(i.values)[:, None, :] + per_seed[:, None, :] * i.errors, 0.0)
    share = np.divide(1.0, per_unit, out=np.zeros_like(per_unit), where=per_unit > 0)
    inner = np.where(taken, y - (y.sum(axis=0) * share)[None], 0.0)
    q = inner.sum(axis=1)
    metrics = len(n_seeds)
    information = np.zeros((metrics, len(measured), len(measured)))
    for a in range(len(measured)):
        for b in range(len(measured)):
            information[:, a, b] = -np.sum(taken[a] * taken[b] * share, axis=0)
        information[:, a, a] += per_seed[a]
    eigenvalues, vectors = np.linalg.eigh(information)
    real = eigenvalues > 1e-9 * np.maximum(eigenvalues[:, -1:], 1.0)
    rank = real.sum(axis=1).astype(float)
    projected = np.einsum("mkr,km->mr", vectors, q) ** 2
    ss_seed = np.divide(projected, eigenvalues, out=np.zeros_like(projected), where=real).sum(
        axis=1
    )
    df_residual = n_cells - n_units - rank
    ss_residual = np.maximum(np.sum(inner**2, axis=(0, 1)) - ss_seed, 0.0)

    with np.errstate(divide="ignore", invalid="ignore"):
        ms_seed, ms_residual = ss_seed / rank, ss_residual / df_residual
        factor = rank / (n_cells - n_units) / n_seeds
        variance = factor * excess(ms_seed, ms_residual)
        squares = factor**2 * (ms_seed**2 / rank + ms_residual**2 / df_residual) * (variance > 0)
        weights = np.divide(1.0, per_seed, out=np.zeros_like(per_seed), where=per_seed > 0)
        residual = ms_residual * np.sum(per_seed * weights**2, axis=0) / n_seeds**2
        centred = np.where(measured, i.values - seed_mean(i.values, measured), 0.0)
        plain = np.sum(centred**2, axis=0) / (n_seeds - 1) / n_seeds
        scale = rank / (n_cells - n_units)
    told_apart = (df_residual >= 1) & (rank > 0)
    plain_df = np.where(n_seeds > 1, n_seeds - 1.0, np.nan)
    plain = np.where(n_seeds > 1, plain, np.nan)
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


@dataclass(frozen=True)
class SeedPool:
    """What the seeds of several conditions differ by, together; arrays over metrics.

    `between` and `plain` (variance of the seeds' values) are means over the conditions, by degrees of freedom.
    `alike` and `unlike`: at least two conditions have several seeds, and Bartlett's test does not, or does, tell
    their `plain` apart at the level ALIKE.
    """

    between: np.ndarray
    df: np.ndarray
    plain: np.ndarray
    plain_df: np.ndarray
    alike: np.ndarray
    unlike: np.ndarray

    def term(self, own: SeedTerm, sides: int = 1) -> SeedTerm:
        """The term of one condition with what all of them know of the seeds, where these are alike.

        Of a difference of several `sides` each has its part of the degrees of freedom.
        """
        n_seeds, told_apart = own.plain_df + 1, ~np.isnan(own.within) & ~np.isnan(self.between)
        df, plain_df, plain = self.df / sides, self.plain_df / sides, self.plain / n_seeds
        with np.errstate(divide="ignore", invalid="ignore"):
            variance = excess(self.between, own.within) / n_seeds
            squares = (
                (self.between**2 / df + own.within**2 / own.within_df) / n_seeds**2 * (variance > 0)
            )
            pooled = replace(
                own,
                variance=np.where(told_apart, variance, plain),
                squares=np.where(told_apart, squares, plain**2 / plain_df),
                df=np.where(told_apart, df, plain_df),
                plain=plain,
                plain_df=plain_df,
            )
        return chosen(self.alike & ~np.isnan(own.plain), pooled, own)

    @classmethod
    def joined(cls, pools: Sequence[SeedPool]) -> SeedPool:
        """The pool of the metrics of all of these."""
        return cls(
            **{
                f.name: np.concatenate([getattr(p, f.name) for p in pools])
                for f in dataclass_fields(cls)
            }
        )

    def of(self, places: Sequence[int]) -> SeedPool:
        """The pool of the metrics at these places."""
        return SeedPool(**{f.name: getattr(self, f.name)[places] for f in dataclass_fields(self)})


def seed_pool(terms: Sequence[SeedTerm]) -> SeedPool:
    """Several conditions' spread of seeds, pooled; those of one seed add nothing."""

    def together(x: np.ndarray, df: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        df = np.where(np.isnan(x), 0.0, df)
        total = df.sum(axis=0)
        weighted = (df * np.nan_to_num(x)).sum(axis=0)
        return np.divide(weighted, total, out=np.full(total.shape, np.nan), where=total > 0), total

    own = np.array([t.plain * (t.plain_df + 1) for t in terms])
    own_df = np.array([np.nan_to_num(t.plain_df) for t in terms])
    plain, plain_df = together(own, own_df)
    between, df = together(np.array([t.between for t in terms]), np.array([t.df for t in terms]))
    several = own_df > 0
    k = several.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = np.where(several & (plain > 0), own_df * np.log(plain / own), 0.0).sum(axis=0)
        inverse = np.where(several, 1 / own_df, 0.0).sum(axis=0) - 1 / plain_df
        p = chdtrc(k - 1.0, np.maximum(distance, 0.0) / (1 + inverse / (3 * (k - 1))))
    return SeedPool(between, df, plain, plain_df, (k > 1) & (p > ALIKE), (k > 1) & (p <= ALIKE))


def unrelated(one: Influence, other: Influence) -> np.ndarray:
    """(metrics,): whether what two sides bring into the cells of one seed, beyond their samples, goes apart.

    Seeds that mean the same on both sides (a shared first stage) leave like errors in the same cells, and then pair.
    The test is that of the units' sums of products, at the level ALIKE.
    """
    rest = [i.errors - i.errors.mean(axis=0) for i in (one, other)]
    products = np.einsum("kum,kum->um", *rest)
    size = np.sqrt(np.einsum("um,um->m", products, products))
    distance = np.divide(
        products.sum(axis=0), size, out=np.full(size.shape, np.inf), where=size > 0
    )
    return 2 * ndtr(-np.abs(distance)) > ALIKE


def spread(sample: tuple[np.ndarray, np.ndarray], *seeds: SeedTerm) -> Spread:
    """Uncertainty for new seeds and new samples, of a mean over seeds or of a difference of two such means.

    By two accounts: the variance components with Satterthwaite's degrees of freedom, and, where seeds
    show a component of their own or are only two, the seeds' values alone (t; Welch for two sets of
    seeds), because a claim about new seeds and new samples cannot be surer than one about new seeds on
    these samples. With 3 seeds Satterthwaite alone covers 92% where seeds dominate. Nested seeds hold the
    sample term already, so it is left out.
    """
    variance, df = sample
    nested = np.logical_and.reduce([s.nested for s in seeds])
    variance = np.where(nested, 0.0, variance)
    df = np.where(nested & np.isnan(df), 1.0, df)
    from_seeds, plain = (
        np.add.reduce([s.variance for s in seeds]),
        np.add.reduce([s.plain for s in seeds]),
    )
    total = variance + from_seeds
    with np.errstate(divide="ignore", invalid="ignore"):
        joint = total**2 / (variance**2 / df + np.add.reduce([s.squares for s in seeds]))
        welch = plain**2 / np.add.reduce([s.plain**2 / s.plain_df for s in seeds])
    # a sum of mean squares has at least the degrees of freedom of its smallest; a difference can come out below
    joint = np.fmax(joint, np.minimum(df, np.minimum.reduce([s.df for s in seeds])))
    residual = np.minimum(variance, np.add.reduce([s.residual for s in seeds]))
    # a variance of 0 has no degrees of freedom of its own
    seeds_matter = (from_seeds > 0) | np.logical_or.reduce([s.plain_df < 2 for s in seeds])
    plain = np.where(seeds_matter, plain, 0.0)
    df, welch = np.where(total == 0, df, joint), np.where(plain == 0, 1.0, welch)
    return Spread(total, df, plain, welch, from_seeds, variance - residual, residual)


def spread_of_runs(c: Crossed, n: np.ndarray) -> Spread:
    """Uncertainty of the mean over the seeds of one condition, of n units."""
    i = influence(c)
    return spread(sample_term(seed_mean(i.errors, ~np.isnan(i.values)), n), seed_term(i, c))


@dataclass(frozen=True)
class Components:
    """Variances of one cell of a complete table: of its seed, its sample and the rest. Numbers or equal shapes.

    `sides`: so many sides' seeds are pooled, each with the degrees of freedom of its own.
    """

    seed: Any
    sample: Any
    residual: Any
    sides: int = 1

    @classmethod
    def of(cls, s: Spread, n: Any, seeds: Any) -> Components:
        """From the spread of the mean over n samples under each of so many seeds."""
        return cls(s.from_seeds * seeds, s.from_samples * n, s.from_residual * n * seeds)

    def spread(self, n: Any, seeds: Any) -> Spread:
        """The spread to expect of n samples under each of so many seeds; `spread`, at the expected mean squares."""
        residual, sample, seed = self.residual / (n * seeds), self.sample / n, self.seed / seeds
        of_samples, df, df_seeds = (
            sample + residual,
            n - 1.0,
            self.sides * np.maximum(seeds - 1.0, 1.0),
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            between, total = residual + seed, of_samples + seed
            varies = seed > 0
            squares = np.where(varies, (between**2 + residual**2 / df) / df_seeds, 0.0)
            joint = total**2 / (of_samples**2 / df + squares)
        several = seeds > 1
        variance, df = (
            np.where(several, total, of_samples),
            np.where(several & (total > 0), joint, df),
        )
        plain = np.where(several & (varies | (seeds == 2)), between, 0.0)
        return Spread(variance, df, plain, df_seeds + 0 * total, seed, sample, residual)


def spread_of_samples(sample: tuple[np.ndarray, np.ndarray]) -> Spread:
    """Uncertainty for new samples alone."""
    nothing = np.zeros_like(sample[0])
    return Spread(*sample, nothing, np.ones_like(nothing), nothing, sample[0], nothing)


def negligible(variance: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Whether a variance (metrics) is rounding next to the values (seeds, metrics) it belongs to."""
    scale = np.nanmax(np.abs(values), axis=0, initial=0.0)
    return np.sqrt(variance) <= NEGLIGIBLE * scale


class Paired:
    """The cells of both sides that pair. `by_seed`: seed k of one side goes with seed k of the other.

    Values, delta, errors and counts are over metrics; means over seeds are over those of `in_a` and `in_b`
    (seeds, metrics), in which the metric is measured (where seeds pair, on both sides). `errors` (units, metrics):
    what each unit brings into delta. `n_units`: units in a denominator of either side, and on both sides in a seed
    that counts.
    """

    def __init__(self, baseline: Crossed, candidate: Crossed, by_seed: bool) -> None:
        self.baseline, self.candidate, self.by_seed = baseline, candidate, by_seed
        self.a, self.b = influence(baseline), influence(candidate)
        measured = ~np.isnan(self.a.values), ~np.isnan(self.b.values)
        self.in_a, self.in_b = (measured[0] & measured[1],) * 2 if by_seed else measured
        self.value_a, self.value_b = (
            seed_mean(self.a.values, self.in_a),
            seed_mean(self.b.values, self.in_b),
        )
        self.delta = self.value_b - self.value_a
        self.errors = seed_mean(self.b.errors, self.in_b) - seed_mean(self.a.errors, self.in_a)
        sides = (baseline, self.in_a), (candidate, self.in_b)
        seen = [(side.present[:, :, None] & used[:, None, :]).any(axis=0) for side, used in sides]
        self.n_units = ((self.a.part | self.b.part) & seen[0] & seen[1]).sum(axis=0)
        self.n_seeds = np.minimum(self.in_a.sum(axis=0), self.in_b.sum(axis=0))

    @property
    def bias(self) -> np.ndarray:
        return seed_mean(self.candidate.bias, self.in_b) - seed_mean(self.baseline.bias, self.in_a)

    def delta_of(self, sums_a: np.ndarray, sums_b: np.ndarray) -> np.ndarray:
        """Delta at other sums, (seeds, ..., columns) of each side: (..., metrics)."""
        values = self.baseline.compiled.values
        return seed_mean(values(sums_b), self.in_b) - seed_mean(values(sums_a), self.in_a)

    @property
    def null_errors(self) -> np.ndarray:
        """(units, metrics) differences that sum to delta, linearised where both sides have the mean ratio.

        At a common ratio a unit that stands in no denominator differs by exactly 0, and so does a unit whose
        sums are the same on both sides where the sides' denominators are.
        """
        sides = (self.baseline, self.in_a), (self.candidate, self.in_b)
        a, b = (_mean_ratios(side, measured) for side, measured in sides)
        middle = ((a + b) / 2)[None]
        a, b = (seed_mean(side.errors(middle), measured) for side, measured in sides)
        return np.nan_to_num(b - a)

    def spread(
        self, sample: tuple[np.ndarray, np.ndarray], own: Sequence[SeedTerm], pool: SeedPool | None
    ) -> tuple[Spread, np.ndarray]:
        """Variance components of the difference: of the paired differences, or of each side's `own` seeds.

        The `pool` knows of seeds that differ by themselves: it counts where equal labels do not mean like seeds,
        which is said of each metric.
        """
        a, b = self.a, self.b
        if self.by_seed:
            values = np.where(self.in_a, b.values - a.values, np.nan)
            alone = spread(
                sample,
                seed_term(Influence(values, b.errors - a.errors, a.part | b.part), self.baseline),
            )
        else:
            alone = spread(sample, *own)
        if pool is None:
            return alone, np.zeros(alone.variance.shape, dtype=bool)
        known = pool.alike & ~np.isnan(own[0].plain) & ~np.isnan(own[1].plain)
        if self.by_seed:
            known &= unrelated(a, b)
        # where both sides are the same in every cell there is no difference whose spread could be estimated
        known &= ~negligible(alone.variance, np.concatenate([a.values, b.values]))
        return chosen(
            known, spread(sample, *(pool.term(side, sides=2) for side in own)), alone
        ), known


def _mean_ratios(side: Crossed, measured: np.ndarray) -> np.ndarray:
    """Each ratio, averaged over the seeds in which a metric made of it is measured; 0 where there is none."""
    ratios = side.compiled.ratios(side.totals)
    used = measured.astype(float) @ side.compiled.uses > 0
    return np.nan_to_num(seed_mean(ratios, used & ~np.isnan(ratios)))


def pair(baseline: Grid, candidate: Grid) -> tuple[Grid, Grid, bool, dict[str, int]]:
    """What both sides have, whether it pairs by seed, and how much of each side is left over.

    With seed labels in common, a cell pairs with the cell of the same seed and sample. Without, the
    samples pair, and each side is averaged over its own seeds.
    """
    seeds = in_order(set(baseline.seeds) & set(candidate.seeds))
    by_seed = bool(seeds)
    units = baseline.units[np.flatnonzero(candidate.units.get_indexer(baseline.units) >= 0)]
    a, b = (s.take(seeds if by_seed else s.seeds, units) for s in (baseline, candidate))
    if by_seed:
        both = a.present & b.present
        a, b = a.masked(both), b.masked(both)
    units = units[np.flatnonzero(a.present.any(axis=0) & b.present.any(axis=0))]
    a, b = (s.take(s.seeds, units) for s in (a, b))
    left = {}
    for name, whole, part in (("baseline", baseline, a), ("candidate", candidate, b)):
        left[f"cells_{name}"] = int(whole.present.sum() - part.present.sum())
        left[f"units_{name}"] = len(whole.units) - len(units)
        left[f"seeds_{name}"] = len(whole.seeds) - len(part.seeds)
    return a, b, by_seed, left
