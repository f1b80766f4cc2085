"""Sign flips: the p of one metric, and of several together (Westfall-Young).

If two conditions do not differ, each unit's paired difference is as likely to be -t as t. What is shared between
metrics is kept by flipping all differences of a unit at once, so that many metrics which say the same cost little.

References: Westfall and Young, "Resampling-based multiple testing" (1993), step-down min-P; Lancaster, "Significance
tests in discrete distributions", JASA 56 (1961), mid-p; Fagerland, Lydersen and Laake, "The McNemar test for binary
matched-pairs data: mid-p and asymptotic are better than exact conditional", BMC Med Res Methodol 13 (2013).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import bdtr, gammaincinv, gammaln, nctdtrinc, ndtr, stdtrit

from .large_samples import LARGE, WHOLE, normal_flips

POWER = 0.8
SIGN_CHUNK = 512
ROUNDING = 1e-12
"""Share of the summed sizes of the terms within which two sums of floats count as equal."""


@dataclass(frozen=True)
class Null:
    """The size of one metric's sum under random signs: `points`, ascending, and the `tail` mass from each on.

    With `mid`, what is exactly as large counts half. Sums closer than `slack` are equal.
    """

    points: np.ndarray
    tail: np.ndarray
    mid: bool
    slack: float

    def p(self, sums: np.ndarray) -> np.ndarray:
        """Two-sided p of sums."""
        size = np.abs(sums)
        reached = self.tail[np.searchsorted(self.points, size - self.slack)]
        if not self.mid:
            return reached
        return (
            reached + self.tail[np.searchsorted(self.points, size + self.slack, side="right")]
        ) / 2


def _null(points: np.ndarray, mass: np.ndarray | float, mid: bool, slack: float) -> Null:
    order = np.argsort(points, kind="stable")
    each = np.broadcast_to(mass, points.shape)[order]
    return Null(
        points[order], np.append(np.minimum(np.cumsum(each[::-1]), 1.0)[::-1], 0.0), mid, slack
    )


def nulls(
    differences: np.ndarray, n_permutations: int, seed: int, mid: np.ndarray | bool = False
) -> list[Null | None]:
    """The null distribution of every column of (units, metrics).

    Exact, over all sign patterns, where those of the non-zero units are no more than `n_permutations`; binomial
    where all differences are of one size; else over random patterns, which all columns share, and the one that was
    observed. None for what has its normal limit (`many.normal_flips`): the others of more than LARGE units.
    """
    t = rounded(differences)
    slack, there = ROUNDING * np.abs(t).sum(axis=0), t != 0
    n, largest = there.sum(axis=0), np.abs(t).max(axis=0, initial=0.0)
    half = np.broadcast_to(mid, n.shape) & (n > 0)
    width = int(np.log2(max(n_permutations, 1)))
    out: list[Null | None] = [None] * t.shape[1]
    few = n <= width
    if few.any():
        sizes = -np.sort(-np.abs(t[there[:, few].any(axis=1)][:, few]), axis=0)[:width]
        points = np.abs(_patterns(len(sizes)) @ sizes)
        for m, column in zip(np.flatnonzero(few), points.T):
            out[m] = _null(column, 1 / len(column), half[m], slack[m])
    same = ~few & (
        np.where(there, np.abs(t), np.inf).min(axis=0, initial=np.inf) >= (1 - WHOLE) * largest
    )
    for m in np.flatnonzero(same):
        k = np.arange(n[m] + 1)
        size = np.abs(t[:, m]).sum() / n[m]
        slack[m] = WHOLE * size * n[m]
        out[m] = _null(
            np.abs(2 * k - n[m]) * size, np.diff(bdtr(k, n[m], 0.5), prepend=0.0), half[m], slack[m]
        )
    rest = np.flatnonzero(~few & ~same)
    if len(rest) and len(t) <= LARGE:
        flipped = np.abs(_flipped_sums(t[:, rest], n_permutations, seed))
        for m, column in zip(rest, flipped.T):
            out[m] = _null(column, 1 / len(column), half[m], slack[m])
    return out


def sign_flip(
    differences: np.ndarray, n_permutations: int, seed: int, mid: np.ndarray | bool = False
) -> np.ndarray:
    """Two-sided p of sum(differences) = 0 for every column of (units, metrics), by flipping signs (`nulls`).

    `mid` (metrics): whether the metric has mid-p, as proportions do. 1 where nothing differs.

    >>> sign_flip(np.ones((6, 2)), 10_000, 0, np.array([False, True])).tolist()
    [0.03125, 0.015625]
    """
    t = rounded(differences)
    sums = t.sum(axis=0)
    found = nulls(t, n_permutations, seed, mid)
    normal = normal_flips(t, mid) if None in found else sums
    return np.array(
        [limit if null is None else null.p(s) for null, s, limit in zip(found, sums, normal)]
    )


def flipped_p(
    differences: np.ndarray, n_permutations: int, seed: int, mid: np.ndarray | bool = False
) -> np.ndarray:
    """The p that every metric would have under each of many sign patterns: (patterns, metrics).

    The patterns are all of them, where they are no more than `n_permutations`, or those of `sign_flip`. For more than
    LARGE units sums are normal, with the correlations of the differences.
    """
    t = rounded(differences)
    there = (t != 0).any(axis=1)
    if there.sum() <= np.log2(max(n_permutations, 1)):
        sums = _patterns(int(there.sum())) @ t[there]
    elif len(t) > LARGE:
        size = np.sqrt(np.einsum("um,um->m", t, t))
        values, vectors = np.linalg.eigh(t.T @ t / np.outer(*[np.where(size > 0, size, 1.0)] * 2))
        z = np.random.default_rng(seed).normal(size=(n_permutations, len(size)))
        return 2 * ndtr(-np.abs(z * np.sqrt(np.maximum(values, 0.0)) @ vectors.T))
    else:
        sums = _flipped_sums(t, n_permutations, seed)
    found = nulls(t, n_permutations, seed, mid)
    return np.stack([null.p(s) for null, s in zip(found, sums.T) if null is not None], axis=1)


@dataclass(frozen=True)
class Steps:
    """Of every metric: the adjusted p, and the `level` that its own p must keep at the step that it stands at."""

    p: np.ndarray
    level: np.ndarray


def step_down(p: np.ndarray, flipped: np.ndarray, level: float) -> Steps:
    """Westfall and Young's step-down min-P adjustment of `p` (metrics) at a family-wise level.

    `flipped` (patterns, metrics): the p under sign patterns without a difference. From the smallest p on, adjusted is
    the share of the patterns whose smallest p, among this metric and those with a larger p, is no larger; never below
    p itself or what stands before. The step of a metric that is not found is the first that was not passed.

    >>> step_down(np.array([0.25, 0.25]), np.array([[0.25, 1.0], [1.0, 0.25], [0.5, 0.5], [1.0, 1.0]]), 0.05).p
    array([0.5, 0.5])
    """
    adjusted, levels = np.full((2, len(p)), np.nan)
    order = np.argsort(p, kind="stable")
    least = np.minimum.accumulate(flipped[:, order[::-1]], axis=1)[:, ::-1]
    adjusted[order] = np.maximum.accumulate(np.maximum((least <= p[order]).mean(axis=0), p[order]))
    # a p below this one has at most `level` of the patterns at or below it
    within = np.sort(least, axis=0)[min(int(level * len(least)), len(least) - 1)]
    failed = int(np.argmax(np.append(adjusted[order] > level, True)))
    at = np.minimum(np.arange(len(p)), failed)
    levels[order] = np.minimum(np.nextafter(within, 0.0), level)[at]
    return Steps(adjusted, levels)


def shared_seeds(
    samples: np.ndarray, seeds: np.ndarray, n: np.ndarray, df_seeds: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(standard error, degrees of freedom) of deltas judged together: seeds have their median share in each at least.

    `samples` (of n units) and `seeds` (null: one seed, and so the result) are the parts of the variance of delta.
    From a few seeds their part is often estimated as 0 by chance, and p then far too small, which the smallest of
    many p finds. A mean share would put the seeds of a metric that needs them on all others.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = seeds / (samples + seeds)
        share = np.median(shares[~np.isnan(shares)]) if (~np.isnan(shares)).any() else np.nan
        least = np.where(np.isnan(shares), np.nan, np.fmax(seeds, samples * share / (1 - share)))
        df = (samples + least) ** 2 / (samples**2 / (n - 1) + least**2 / df_seeds)
    return np.sqrt(samples + least), np.maximum(df, df_seeds)


def needed(level: np.ndarray, mid: np.ndarray) -> np.ndarray:
    """How many units must differ, all one way, until sign flips have a p (2^(1-m), mid-p 2^-m) within the level.

    >>> needed(np.array([0.05, 0.05]), np.array([False, True])).tolist()
    [6.0, 5.0]
    """
    with np.errstate(divide="ignore"):
        m = np.maximum(np.ceil(1.0 - mid - np.log2(level)), 1.0)
    return m + (2.0 ** (1.0 - mid - m) > level)  # a logarithm is rounded


def smallest(
    error: np.ndarray,
    df: np.ndarray,
    level: np.ndarray,
    each: np.ndarray,
    units: np.ndarray,
    more: np.ndarray,
) -> np.ndarray:
    """The smallest true difference that a test at `level` finds with 80% power, from an `error` with `df`.

    t noncentral, over c4(df): an estimated standard error is too small on average. Where a share `more` of the
    difference comes as further units that differ by `each`, the error grows with it (null: it does not). Never below
    what makes at least `units` units differ (Poisson) with that power.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        c4 = np.sqrt(2 / df) * np.exp(gammaln((df + 1) / 2) - gammaln(df / 2))
        away = nctdtrinc(df, 1 - POWER, stdtrit(df, 1 - level / 2)) / c4
        # difference^2 = away^2 (error^2 + each * (more * difference - difference^2))
        square = np.where(np.isnan(more), 0.0, away**2 * each)
        half, whole = square * np.nan_to_num(more) / 2, 1 + square
        found = (half + np.sqrt(half**2 + whole * (away * error) ** 2)) / whole
        return np.maximum(found, gammaincinv(units, POWER) * each)


def rounded(differences: np.ndarray) -> np.ndarray:
    """The differences (units, metrics), those that are 0 but for the rounding of sums set to 0."""
    size = np.abs(differences).sum(axis=0)
    return np.where(np.abs(differences) <= ROUNDING * size, 0.0, differences)


def _patterns(n: int) -> np.ndarray:
    """All (2^n, n) sign patterns."""
    return 1.0 - 2.0 * (np.arange(2**n)[:, None] >> np.arange(n) & 1)


def _flipped_sums(t: np.ndarray, n_permutations: int, seed: int) -> np.ndarray:
    """Sums of (units, metrics) under random signs, after those observed."""
    signs = _signs(len(t), n_permutations, np.random.default_rng(seed))
    return np.concatenate([t.sum(axis=0)[None], *(s @ t for s in signs)])


def _signs(n: int, n_permutations: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    for done in range(0, n_permutations, SIGN_CHUNK):
        rows = min(SIGN_CHUNK, n_permutations - done)
        bits = np.unpackbits(
            rng.integers(0, 256, (rows, -(-n // 8)), dtype=np.uint8), axis=1, count=n
        )
        yield 1.0 - 2.0 * bits
