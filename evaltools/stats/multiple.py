"""Sign flips, and tests that keep one level together: families of metrics, candidates, ranks, parts.

If two conditions do not differ, each unit's paired difference is as likely to be -d as d. The p of a
metric is the share of sign patterns under which the sum of its differences is at least as large as
the one observed. Signs are flipped for all tests of a family at once, which keeps what they share.

References: Lancaster, JASA 56 (1961), mid-p; Westfall and Young, "Resampling-based multiple testing"
(1993), step-down max-T; Romano and Wolf, JASA 100 (2005); Holm, Scandinavian Journal of Statistics 6
(1979).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import bdtr, ndtr

from .influence import LARGE, Array, rounded

# Sign patterns that are drawn at a time.
SIGN_CHUNK = 512


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
        bits = np.arange(2**n_units)[:, None] >> np.arange(n_units) & 1
        yield 1.0 - 2.0 * bits
        return
    yield np.ones((1, n_units))
    rng = np.random.default_rng(seed)
    n_bytes = -(-n_units // 8)
    for start in range(0, n_permutations, SIGN_CHUNK):
        rows = min(
            SIGN_CHUNK,
            n_permutations - start,
        )
        drawn = rng.integers(
            0,
            256,
            (rows, n_bytes),
            dtype=np.uint8,
        )
        yield 1.0 - 2.0 * np.unpackbits(drawn, axis=1, count=n_units)


def sign_flip(
    differences: Array,
    n_permutations: int,
    seed: int,
    mid: Array | bool = False,
) -> Array:
    """Two-sided p of sum(differences) = 0 for every column of (units, metrics), by flipping signs.

    `mid` (metrics): whether the metric has mid-p, as proportions do: what is exactly as large counts
    half. 1 where nothing differs. Exact where the patterns of the units that differ are no more than
    `n_permutations`, and binomial where all differences are of one size; else over random patterns
    and the one that was observed. More than LARGE units have the normal limit.

    >>> sign_flip(np.ones((6, 2)), 10_000, 0, np.array([False, True])).tolist()
    [0.03125, 0.015625]
    """
    d = rounded(differences)
    d = d[(d != 0).any(axis=1)]
    observed = np.abs(d.sum(axis=0))
    mid = np.broadcast_to(
        mid,
        len(observed),
    )
    at_least, above = np.ones((2, len(observed)))
    to_draw = []
    for metric in np.flatnonzero(d.any(axis=0)).tolist():
        own = d[d[:, metric] != 0, metric]
        n, sizes = len(own), np.abs(own)
        if n <= np.log2(max(n_permutations, 1)):
            patterns = sign_patterns(
                n,
                n_permutations,
                seed,
            )
            at_least[[metric]], above[[metric]] = _as_large(
                own[:, None],
                patterns,
            )
        elif sizes.min() >= (1 - 1e-6) * sizes.max():
            more = np.round((n + observed[metric] / sizes.mean()) / 2)
            at_least[metric] = min(
                2 * bdtr(n - more, n, 0.5),
                1.0,
            )
            above[metric] = 2 * bdtr(n - more - 1, n, 0.5) if more < n else 0.0
        elif len(d) > LARGE:
            z = observed[metric] / np.sqrt(np.sum(sizes**2))
            at_least[metric] = above[metric] = 2 * ndtr(-z)
        else:
            to_draw.append(metric)
    if to_draw:
        patterns = sign_patterns(
            len(d),
            n_permutations,
            seed,
        )
        at_least[to_draw], above[to_draw] = _as_large(
            d[:, to_draw],
            patterns,
        )
    return np.where(
        mid,
        (at_least + above) / 2,
        at_least,
    )


def _as_large(
    d: Array,
    patterns: Iterable[Array],
) -> tuple[Array, Array]:
    """Shares of sign patterns under which the sums of d (units, metrics) are as large as without, and larger."""
    observed, slack = np.abs(d.sum(axis=0)), 1e-12 * np.abs(d).sum(axis=0)
    n_patterns = 0
    n_at_least, n_above = np.zeros((2, d.shape[1]))
    for signs in patterns:
        sums = np.abs(signs @ d)
        n_patterns += len(sums)
        n_at_least += (sums >= observed - slack).sum(axis=0)
        n_above += (sums > observed + slack).sum(axis=0)
    return n_at_least / n_patterns, n_above / n_patterns


class Joint(NamedTuple):
    """Tests of a family together: adjusted p of each, and the quantile of the largest T of all."""

    p: Array
    critical: float


def max_t(
    differences: Array,
    n_permutations: int,
    seed: int,
    level: float = 0.05,
) -> Joint:
    """Studentised step-down max-T over shared sign flips of differences (units, tests).

    T is the sum of the differences over the root of their sum of squares, which no sign pattern
    changes. From the largest T on, the adjusted p is the share of patterns whose largest T, among
    this test and those with a smaller one, is no smaller. So a hopeless test costs the others
    nothing. `critical`: the 1 - level quantile of the largest T of all, for simultaneous intervals.

    >>> d = np.column_stack([np.ones(6), np.ones(6)])
    >>> max_t(d, 10_000, 0).p.tolist()
    [0.03125, 0.03125]
    """
    d = rounded(differences)
    size = np.sqrt((d**2).sum(axis=0))
    scaled = d / np.where(size > 0, size, 1.0)
    observed = np.abs(scaled.sum(axis=0))
    order = np.argsort(
        observed,
        kind="stable",
    )
    scaled, ordered = scaled[:, order], observed[order] * (1 - 1e-9)
    differs = (scaled != 0).any(axis=1)
    at_least, n_patterns, largest = np.zeros(len(order)), 0, []
    for sums in _null_sums(scaled[differs], n_permutations, seed):
        highest = np.maximum.accumulate(
            np.abs(sums),
            axis=1,
        )
        at_least += (highest >= ordered).sum(axis=0)
        n_patterns += len(sums)
        largest.append(highest[:, -1])
    share = at_least / n_patterns
    adjusted = np.empty(len(order))
    # from the largest T on no adjusted p is below one before it
    adjusted[order] = np.maximum.accumulate(share[::-1])[::-1]
    return Joint(
        adjusted,
        float(np.quantile(np.concatenate(largest), 1 - level)),
    )


def _null_sums(
    scaled: Array,
    n_permutations: int,
    seed: int,
) -> Iterator[Array]:
    """Sums of scaled differences (units, tests) under random signs; normal ones of more than LARGE units."""
    if len(scaled) <= LARGE:
        for signs in sign_patterns(len(scaled), n_permutations, seed):
            yield signs @ scaled
        return
    correlation = scaled.T @ scaled
    rng = np.random.default_rng(seed)
    zeros = np.zeros(len(correlation))
    yield rng.multivariate_normal(
        zeros, correlation, n_permutations, check_valid="ignore", method="eigh"
    )


def holm(p: pd.Series) -> pd.Series:
    """Holm's adjusted p values; a null stays null.

    >>> holm(pd.Series([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    ordered = p.dropna().sort_values()
    factors = range(
        len(ordered),
        0,
        -1,
    )
    adjusted = (ordered * list(factors)).cummax().clip(upper=1.0)
    return adjusted.reindex(p.index)
