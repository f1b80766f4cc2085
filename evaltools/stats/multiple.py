"""Sign flips, and tests that keep one level together: families of metrics, candidates, ranks, parts.

If two conditions do not differ, each unit's paired difference is as likely to be -d as d. The p of a
metric is the share of sign patterns under which the sum of its differences is at least as large as
the one observed. Signs are flipped for all tests of a family at once, which keeps what they share.

References: Lancaster, JASA 56 (1961), mid-p; Westfall and Young, "Resampling-based multiple testing"
(1993), step-down max-T; Romano and Wolf, JASA 100 (2005); Holm, Scandinavian Journal of Statistics 6
(1979); Mogstad, Romano, Shaikh and Wilhelm, Review of Economic Studies 91 (2024), ranks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import bdtr, ndtr

from ..core.metric import MetricTable, subset
from ..core.metric_matrix import Compiled
from ..core.resampling import Resampling
from .influence import (
    LARGE,
    Array,
    Cells,
    Runs,
    cells,
    effective_units,
    mean_shares,
    measured_groups,
    proportions,
    rounded,
    unit_differences,
    unit_shares,
    without_nulls,
)
from .intervals import MIN_UNITS
from .missing import p_random
from .seeds import SeedPart, sample_variance, seed_part, two_way

# The level of the test that what is missing is missing at random.
NOT_RANDOM = 0.05
# Sign patterns that are drawn at a time.
SIGN_CHUNK = 512


def sign_patterns(n_units: int, n_permutations: int, seed: int) -> Iterator[Array]:
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
        rows = min(SIGN_CHUNK, n_permutations - start)
        drawn = rng.integers(0, 256, (rows, n_bytes), dtype=np.uint8)
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
    observed = np.abs(d.sum(axis=0))
    slack = 1e-12 * np.abs(d).sum(axis=0)
    mid = np.broadcast_to(mid, len(observed))
    at_least, above = np.ones((2, len(observed)))
    to_draw = []
    for metric in np.flatnonzero(slack > 0):
        sizes = np.abs(d[d[:, metric] != 0, metric])
        n = len(sizes)
        if n <= np.log2(max(n_permutations, 1)):
            points = np.abs(next(sign_patterns(n, n_permutations, seed)) @ np.sort(sizes)[::-1])
            at_least[metric] = (points >= observed[metric] - slack[metric]).mean()
            above[metric] = (points > observed[metric] + slack[metric]).mean()
        elif sizes.min() >= (1 - 1e-6) * sizes.max():
            more = np.round((n + observed[metric] / sizes.mean()) / 2)
            at_least[metric] = min(2 * bdtr(n - more, n, 0.5), 1.0)
            above[metric] = 2 * bdtr(n - more - 1, n, 0.5) if more < n else 0.0
        elif len(d) > LARGE:
            at_least[metric] = 2 * ndtr(-observed[metric] / np.sqrt(np.sum(sizes**2)))
            above[metric] = at_least[metric]
        else:
            to_draw.append(metric)
    if to_draw:
        sums = [np.abs(s @ d[:, to_draw]) for s in sign_patterns(len(d), n_permutations, seed)]
        drawn = np.concatenate(sums)
        at_least[to_draw] = (drawn >= (observed - slack)[to_draw]).mean(axis=0)
        above[to_draw] = (drawn > (observed + slack)[to_draw]).mean(axis=0)
    return np.where(mid, (at_least + above) / 2, at_least)


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
    order = np.argsort(observed, kind="stable")
    scaled, ordered = scaled[:, order], observed[order] * (1 - 1e-9)
    differs = (scaled != 0).any(axis=1)
    at_least, n_patterns, largest = np.zeros(len(order)), 0, []
    for sums in _null_sums(scaled[differs], n_permutations, seed):
        highest = np.maximum.accumulate(np.abs(sums), axis=1)
        at_least += (highest >= ordered).sum(axis=0)
        n_patterns += len(sums)
        largest.append(highest[:, -1])
    share = at_least / n_patterns
    adjusted = np.empty(len(order))
    # from the largest T on no adjusted p is below one before it
    adjusted[order] = np.maximum.accumulate(share[::-1])[::-1]
    return Joint(adjusted, float(np.quantile(np.concatenate(largest), 1 - level)))


def _null_sums(scaled: Array, n_permutations: int, seed: int) -> Iterator[Array]:
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
    factors = range(len(ordered), 0, -1)
    adjusted = (ordered * list(factors)).cummax().clip(upper=1.0)
    return adjusted.reindex(p.index)


def ranks(
    conditions: Mapping[str, Runs],
    table: MetricTable,
    unit: str,
    metric: str,
    resampling: Resampling,
    n_permutations: int = 10_000,
) -> pd.DataFrame:
    """Rank intervals of conditions (name -> seed -> units frame) on one metric: condition, rank_low, rank_high.

    Every pair is tested, all pairs together (`max_t`; with several seeds also Holm over the t of both
    sides' seeds). `rank_low` is 1 + the number of conditions that are shown to be better, `rank_high`
    the number of conditions less those shown to be worse: together they hold every true rank with
    probability 1 - level. Null for a condition that is not measured. Pairs of fewer than MIN_UNITS
    units, or whose missing values are not random, are not shown to differ.

    >>> from evaltools.core.metric import Metric
    >>> accuracy = Metric(name="accuracy", numerator="right", denominator="n", better="higher")
    >>> one = pd.DataFrame({"id": range(40), "right": [1, 0] * 20, "n": 1})
    >>> two = one.assign(right=[1, 0, 1, 1] * 10)
    >>> ranks({"x": {"": one}, "y": {"": two}}, [accuracy], "id", "accuracy", Resampling())
      condition  rank_low  rank_high
    0         x         2          2
    1         y         1          1
    """
    names = list(conditions)
    frames = [frame for runs in conditions.values() for frame in runs.values()]
    of_metric = subset(table, [metric])
    _, compiled, columns = next(iter(measured_groups(of_metric, frames, unit)))
    sides = [cells(without_nulls(runs, columns), compiled, unit) for runs in conditions.values()]
    values = np.array(
        [np.nanmean(side.values[:, 0]) if len(side.units) else np.nan for side in sides]
    )
    differences, p_seeds, tested = _pairs(sides)
    first, second = np.triu_indices(len(names), 1)
    p = np.ones(len(first))
    if tested.any():
        p[tested] = max_t(
            differences[:, tested], n_permutations, resampling.seed, resampling.level
        ).p
        p[tested] = np.fmax(p[tested], holm(pd.Series(p_seeds[tested])))
    if len(names) == 2 and tested.all():
        mid = proportions(compiled)
        p = np.fmax(sign_flip(differences, n_permutations, resampling.seed, mid), p_seeds)
    shown = tested & (p <= resampling.level)
    rises = differences.sum(axis=0) > 0
    second_wins = rises if compiled.metrics[0].better != "lower" else ~rises
    winner, loser = np.where(second_wins, second, first), np.where(second_wins, first, second)
    n_better = np.bincount(loser[shown], minlength=len(names))
    n_worse = np.bincount(winner[shown], minlength=len(names))
    measured = ~np.isnan(values)
    frame = pd.DataFrame(
        {
            "condition": names,
            "rank_low": pd.array(1 + n_better, dtype="Int64"),
            "rank_high": pd.array(measured.sum() - n_worse, dtype="Int64"),
        }
    )
    frame.loc[~measured, ["rank_low", "rank_high"]] = pd.NA
    return frame


def _pairs(sides: Sequence[Cells]) -> tuple[Array, Array, Array]:
    """Every pair of conditions (first before second): differences (units, pairs), p of the seeds, whether tested.

    Each side is averaged over its own seeds, and its seeds vary by themselves.
    """
    compiled = sides[0].compiled
    units = sides[0].units
    for side in sides[1:]:
        units = units.union(side.units)
    num, den = np.zeros((2, len(sides), len(units), len(compiled.is_count)))
    present = np.zeros((len(sides), len(units)), dtype=bool)
    parts: list[SeedPart | None] = []
    for c, side in enumerate(sides):
        index = units.get_indexer(side.units)
        n_seeds = np.maximum(side.present.sum(axis=0), 1)[:, None]
        num[c, index] = side.num.sum(axis=0) / n_seeds
        den[c, index] = side.den.sum(axis=0) / n_seeds
        present[c, index] = (side.den != 0).any(axis=(0, 2))
        measured = ~np.isnan(side.values[:, 0])
        part = None
        if measured.sum() > 1:
            seen = side.part(np.flatnonzero(measured).tolist(), [0])
            part = seed_part(seen.values, seen.errors, seen.present, seen.takes_part)
        parts.append(part)
    differences, p_seeds, p_randoms, tested = [], [], [], []
    for a in range(len(sides)):
        for b in range(a + 1, len(sides)):
            both = (present[a] & present[b])[:, None]
            arrays = num[a] * both, den[a] * both, num[b] * both, den[b] * both
            d = rounded(compiled.combined(unit_differences(*arrays)))
            differences.append(d[:, 0])
            lacks = present[a] != present[b]
            p_missing = np.nan
            if lacks.any():
                own = [_unit_values(compiled, num[c], den[c]) for c in (a, b)]
                lacking = (own[0], present[a] & ~present[b]), (own[1], present[b] & ~present[a])
                of_sides = [p_random(values, lacks, both[:, 0])[0] for values, lacks in lacking]
                p_missing = np.fmin(*of_sides) * max((~np.isnan(of_sides)).sum(), 1)
            tested.append(both.sum() >= MIN_UNITS)
            p_randoms.append(p_missing)
            p = np.nan
            of_pair = [part for part in (parts[a], parts[b]) if part is not None]
            if len(of_pair) == 2:
                shares = mean_shares(unit_shares(arrays[1], arrays[3]), compiled)
                n = effective_units(shares)
                errors = d - d.sum(axis=0) * shares
                p = two_way(sample_variance(errors, n), n, of_pair).p_value(d.sum(axis=0))[0]
            p_seeds.append(p)
    usable = ~(holm(pd.Series(p_randoms, dtype=float)) <= NOT_RANDOM).to_numpy()
    return np.array(differences).T, np.array(p_seeds), np.array(tested, dtype=bool) & usable


def _unit_values(compiled: Compiled, num: Array, den: Array) -> Array:
    """The metric of each unit by itself, (units, metrics); nan where it has none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return compiled.combined(np.where(den != 0, num / den, np.nan))
