"""Sign flips: the permutation test of paired differences.

If two conditions do not differ, each unit's paired difference is as likely to be -t as t. The p of
a metric is the share of sign patterns under which the sum of its differences is at least as large
as the one observed.

References: Lancaster, "Significance tests in discrete distributions", JASA 56 (1961), mid-p;
Fagerland, Lydersen and Laake, "The McNemar test for binary matched-pairs data: mid-p and asymptotic
are better than exact conditional", BMC Med Res Methodol 13 (2013).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import bdtr, ndtr

from .arrays import ROUNDING, Array, rounded, sum_products
from .large_samples import LARGE, WHOLE, normal_flips

SIGN_CHUNK = 512
"""Sign patterns that are drawn at a time."""


@dataclass(frozen=True)
class Null:
    """Distribution of the size of one metric's sum under random signs.

    `points` ascend; `tail` is the probability of a size from each point on, and 0 at its end. With
    `mid`, what is exactly as large counts half. Sums closer than `slack` are equal.
    """

    points: Array
    tail: Array
    mid: bool
    slack: float

    def p(self, sums: Array) -> Array:
        """Two-sided p of sums."""
        size = np.abs(sums)
        from_here = np.searchsorted(self.points, size - self.slack)
        at_least = self.tail[from_here]
        if not self.mid:
            return at_least
        beyond = np.searchsorted(self.points, size + self.slack, side="right")
        above = self.tail[beyond]
        return (at_least + above) / 2


def _null(
    points: Array,
    probabilities: Array | float,
    mid: bool,
    slack: float,
) -> Null:
    """The distribution over points in any order; one probability for each, or the same for all."""
    order = np.argsort(points, kind="stable")
    probabilities = np.broadcast_to(probabilities, points.shape)
    ordered = probabilities[order]
    tail = np.cumsum(ordered[::-1])[::-1]
    return Null(
        points=points[order],
        tail=np.append(np.minimum(tail, 1.0), 0.0),
        mid=mid,
        slack=slack,
    )


def nulls(
    t: Array,
    n_permutations: int,
    seed: int,
    mid: Array | bool = False,
) -> list[Null | None]:
    """The null distribution of every column of the differences `t` (units, metrics), which are `rounded`.

    Exact, over all sign patterns, where those of the non-zero units are no more than
    `n_permutations`; binomial where all differences are of one size; else over random patterns,
    which all columns share, and the one that was observed. None for what has its normal limit
    (`normal_flips`): the others of more than LARGE units.
    """
    size = np.abs(t)
    n_differ = (size > 0).sum(axis=0)
    slack = ROUNDING * size.sum(axis=0)
    half = np.broadcast_to(mid, n_differ.shape) & (n_differ > 0)

    is_exact = n_differ <= np.floor(np.log2(max(n_permutations, 1)))
    nonzero = np.where(size > 0, size, np.inf)
    smallest = nonzero.min(axis=0, initial=np.inf)
    largest = size.max(axis=0, initial=0.0)
    is_binomial = ~is_exact & (smallest >= (1 - WHOLE) * largest)
    is_drawn = ~is_exact & ~is_binomial
    drawn = None
    if is_drawn.any() and len(t) <= LARGE:
        drawn = np.abs(_flipped_sums(t[:, is_drawn], n_permutations, seed))

    distributions: list[Null | None] = []
    for metric in range(t.shape[1]):
        sizes = size[:, metric]
        sizes = sizes[sizes > 0]
        if is_binomial[metric]:
            distributions.append(_binomial_null(sizes, half[metric]))
            continue
        if is_exact[metric]:
            largest_first = np.sort(sizes)[::-1]
            points = np.abs(_patterns(len(sizes)) @ largest_first)
        elif drawn is not None:
            column = is_drawn[:metric].sum()
            points = drawn[:, column]
        else:
            distributions.append(None)
            continue
        null = _null(
            points,
            1 / len(points),
            half[metric],
            slack[metric],
        )
        distributions.append(null)
    return distributions


def _binomial_null(
    sizes: Array,
    mid: bool,
) -> Null:
    """Of n differences of one size, k positive ones have a binomial distribution."""
    n = len(sizes)
    positive = np.arange(n + 1)
    points = np.abs(2 * positive - n) * sizes.mean()
    probabilities = np.diff(bdtr(positive, n, 0.5), prepend=0.0)
    return _null(
        points,
        probabilities,
        mid,
        WHOLE * sizes.sum(),
    )


def sign_flip(
    differences: Array,
    n_permutations: int,
    seed: int,
    mid: Array | bool = False,
) -> Array:
    """Two-sided p of sum(differences) = 0 for every column of (units, metrics), by flipping signs.

    `mid` (metrics): whether the metric has mid-p, as proportions do. 1 where nothing differs.

    >>> sign_flip(np.ones((6, 2)), 10_000, 0, np.array([False, True])).tolist()
    [0.03125, 0.015625]
    """
    t = rounded(differences)
    distributions = nulls(t, n_permutations, seed, mid)
    if None in distributions:
        p = normal_flips(t, mid)
    else:
        p = np.ones(len(distributions))
    sums = t.sum(axis=0)
    for metric, null in enumerate(distributions):
        if null is not None:
            p[metric] = null.p(sums[metric])
    return p


def flipped_p(
    differences: Array,
    n_permutations: int,
    seed: int,
    mid: Array | bool = False,
) -> Array:
    """The p that every metric would have under each of many sign patterns: (patterns, metrics).

    All differences of a unit are flipped at once, which keeps what metrics share. The patterns are
    all of them, where they are no more than `n_permutations`, or those of `sign_flip`. For more
    than LARGE units sums are normal, with the correlations of the differences.
    """
    t = rounded(differences)
    differs = (t != 0).any(axis=1)
    n_differ = int(differs.sum())
    if n_differ <= np.log2(max(n_permutations, 1)):
        sums = _patterns(n_differ) @ t[differs]
    elif len(t) > LARGE:
        return _normal_p(t, n_permutations, seed)
    else:
        sums = _flipped_sums(t, n_permutations, seed)
    columns = []
    for metric, null in enumerate(nulls(t, n_permutations, seed, mid)):
        if null is not None:
            columns.append(null.p(sums[:, metric]))
    return np.stack(columns, axis=1)


def _normal_p(
    t: Array,
    n_draws: int,
    seed: int,
) -> Array:
    """p of normal sums with the correlations of the differences: (draws, metrics)."""
    scale = np.sqrt(sum_products(t, t))
    scale = np.where(scale > 0, scale, 1.0)
    correlations = t.T @ t / np.outer(scale, scale)
    eigenvalues, vectors = np.linalg.eigh(correlations)
    rng = np.random.default_rng(seed)
    roots = np.sqrt(np.maximum(eigenvalues, 0.0))
    independent = rng.normal(size=(n_draws, len(scale)))
    z = independent * roots @ vectors.T
    return 2 * ndtr(-np.abs(z))


@lru_cache(maxsize=32)
def _patterns(n: int) -> Array:
    """All sign patterns of n units, (2^n, n) of 1 and -1."""
    patterns = np.arange(2**n)[:, None]
    is_negative = patterns >> np.arange(n) & 1
    return 1.0 - 2.0 * is_negative


def sign_patterns(
    n_units: int,
    n_permutations: int,
    seed: int,
) -> Iterator[Array]:
    """Sign patterns of so many units, some at a time, (patterns, units) of 1 and -1.

    All of them, where they are no more than `n_permutations`, else random ones after that of the
    data (all 1).
    """
    if n_units <= np.log2(max(n_permutations, 1)):
        yield _patterns(n_units)
    else:
        yield np.ones((1, n_units))
        yield from _random_signs(n_units, n_permutations, seed)


def _random_signs(
    n_units: int,
    n_permutations: int,
    seed: int,
) -> Iterator[Array]:
    """Random sign patterns, SIGN_CHUNK at a time, (patterns, units)."""
    n_bytes = -(-n_units // 8)
    rng = np.random.default_rng(seed)
    for start in range(0, n_permutations, SIGN_CHUNK):
        rows = min(SIGN_CHUNK, n_permutations - start)
        random_bytes = rng.integers(0, 256, (rows, n_bytes), dtype=np.uint8)
        bits = np.unpackbits(random_bytes, axis=1, count=n_units)
        yield 1.0 - 2.0 * bits


def _flipped_sums(
    t: Array,
    n_permutations: int,
    seed: int,
) -> Array:
    """Sums of (units, metrics) under random signs, after those observed: (patterns, metrics)."""
    sums = [t.sum(axis=0)[None]]
    for signs in _random_signs(len(t), n_permutations, seed):
        sums.append(signs @ t)
    return np.concatenate(sums)
