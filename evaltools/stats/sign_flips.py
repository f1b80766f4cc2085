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
from functools import lru_cache

import numpy as np
from scipy.special import bdtr, ndtr

from .arrays import LARGE, ROUNDING, Array, rounded

SIGN_CHUNK = 512
"""Sign patterns that are drawn at a time."""

WHOLE = 1e-6
"""How far a paired difference may be from a whole multiple of the smallest one."""


def sign_flip(
    differences: Array,
    n_permutations: int,
    seed: int,
    mid: Array | bool = False,
) -> Array:
    """Two-sided p of sum(differences) = 0 for every column of (units, metrics), by flipping signs.

    `mid` (metrics): whether the metric has mid-p, as proportions do: what is exactly as large
    counts half. 1 where nothing differs. How: `p_of_sums`.

    >>> sign_flip(np.ones((6, 2)), 10_000, 0, np.array([False, True])).tolist()
    [0.03125, 0.015625]
    """
    t = rounded(differences)
    observed = t.sum(axis=0, keepdims=True)
    return p_of_sums(observed, t, n_permutations, seed, mid)[0]


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
        sums = _normal_sums(t, n_permutations, seed)
    else:
        sums = _flipped_sums(t, n_permutations, seed)
    return p_of_sums(
        sums,
        t,
        n_permutations,
        seed,
        mid,
    )


def p_of_sums(
    sums: Array,
    t: Array,
    n_permutations: int,
    seed: int,
    mid: Array | bool = False,
) -> Array:
    """Two-sided p of sums (patterns, metrics) where the signs of differences `t` are random.

    `t` (units, metrics) are `rounded`. Exact, over all sign patterns, where those of the non-zero
    units are no more than `n_permutations`; binomial where all differences are of one size; else
    over random patterns, which all metrics share, and the one that was observed. The others of more
    than LARGE units have the normal limit.
    """
    mid = np.broadcast_to(mid, t.shape[1])
    slack = ROUNDING * np.abs(t).sum(axis=0)
    drawn = None
    p = np.ones(sums.shape)
    for metric in range(t.shape[1]):
        sizes = np.abs(t[:, metric])
        sizes = sizes[sizes > 0]
        n = len(sizes)
        if n == 0:
            continue
        of_metric = np.abs(sums[:, metric])
        equal = slack[metric]
        if n <= np.log2(max(n_permutations, 1)):
            points = np.abs(_patterns(n) @ np.sort(sizes)[::-1])
            probabilities = np.full(len(points), 1 / len(points))
        elif sizes.min() >= (1 - WHOLE) * sizes.max():
            positive = np.arange(n + 1)
            points = np.abs(2 * positive - n) * sizes.mean()
            probabilities = np.diff(bdtr(positive, n, 0.5), prepend=0.0)
            equal = WHOLE * sizes.sum()
        elif len(t) > LARGE:
            p[:, metric] = normal_p(of_metric, sizes, mid[metric])
            continue
        else:
            if drawn is None:
                drawn = np.abs(_flipped_sums(t, n_permutations, seed))
            points = drawn[:, metric]
            probabilities = np.full(len(points), 1 / len(points))
        p[:, metric] = _share(
            of_metric,
            points,
            probabilities,
            equal,
            mid[metric],
        )
    return p


def _share(
    sizes: Array,
    points: Array,
    probabilities: Array,
    equal: float,
    mid: bool,
) -> Array:
    """Probability of a point that is as large as each of the sizes; closer than `equal` is as large."""
    order = np.argsort(points, kind="stable")
    points = points[order]
    tail = np.cumsum(probabilities[order][::-1])[::-1]
    tail = np.append(np.minimum(tail, 1.0), 0.0)
    at_least = tail[np.searchsorted(points, sizes - equal)]
    if not mid:
        return at_least
    above = tail[np.searchsorted(points, sizes + equal, side="right")]
    return (at_least + above) / 2


def normal_p(
    sums: Array,
    sizes: Array,
    mid: bool = False,
) -> Array:
    """Two-sided p of sums of differences of these non-zero sizes, by the normal limit.

    Where all sizes are whole multiples of the smallest, sums are two of these apart, and half of
    that is taken off the distance (continuity), as a binomial test needs; not with mid-p.
    """
    smallest = sizes.min()
    multiples = sizes / smallest
    all_whole = (np.abs(multiples - np.round(multiples)) <= WHOLE).all()
    continuity = smallest if all_whole and not mid else 0.0
    distance = np.maximum(np.abs(sums) - continuity, 0.0)
    return 2 * ndtr(-distance / np.sqrt(np.sum(sizes**2)))


def _normal_sums(
    t: Array,
    n_draws: int,
    seed: int,
) -> Array:
    """Normal sums with the spread and the correlations of the differences: (draws, metrics)."""
    rng = np.random.default_rng(seed)
    return rng.multivariate_normal(
        np.zeros(t.shape[1]),
        t.T @ t,
        n_draws,
        check_valid="ignore",
        method="eigh",
    )


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
        random_bytes = rng.integers(
            0,
            256,
            (rows, n_bytes),
            dtype=np.uint8,
        )
        bits = np.unpackbits(random_bytes, axis=1, count=n_units)
        yield 1.0 - 2.0 * bits


def _flipped_sums(
    t: Array,
    n_permutations: int,
    seed: int,
) -> Array:
    """Sums of (units, metrics) under random signs, after those observed: (patterns, metrics)."""
    patterns = sign_patterns(len(t), n_permutations, seed)
    return np.concatenate([signs @ t for signs in patterns])
