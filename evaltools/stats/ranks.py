"""Rank intervals of conditions: every pair is tested, all pairs together.

Reference: Mogstad, Romano, Shaikh and Wilhelm, Review of Economic Studies 91 (2024).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from ..core.metric import Metric, MetricTable, subset
from ..core.resampling import Resampling
from .influence import (
    Array,
    Cells,
    Runs,
    Samples,
    effective_units,
    label,
    mean_shares,
    rounded,
    sample_variance,
    unit_differences,
    unit_shares,
)
from .intervals import MIN_UNITS
from .missing import NOT_RANDOM, p_random_of_sides
from .multiple import holm, max_t, sign_flip
from .seeds import SeedPart, seed_part, two_way


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

    >>> accuracy = Metric(name="accuracy", numerator="right", denominator="n", better="higher")
    >>> one = pd.DataFrame({"id": range(40), "right": [1, 0] * 20, "n": 1})
    >>> two = one.assign(right=[1, 0, 1, 1] * 10)
    >>> ranks({"x": {"": one}, "y": {"": two}}, [accuracy], "id", "accuracy", Resampling())
      condition  rank_low  rank_high
    0         x         2          2
    1         y         1          1
    """
    names = list(conditions)
    labelled = label(list(conditions.values()), subset(table, [metric]), unit)
    samples = labelled[0].samples
    sides = [condition.cells(0) for condition in labelled]
    is_measured = np.array([not np.isnan(side.values).all() for side in sides])
    differences, p_seeds, is_tested = _pairs(sides, samples)
    first, second = np.triu_indices(len(names), 1)
    level, seed = resampling.level, resampling.seed
    p = np.ones(len(first))
    if len(names) == 2 and is_tested.all():
        ratio = next(each for each in table if each.name == metric)
        mid = isinstance(ratio, Metric) and ratio.proportion
        p = np.fmax(sign_flip(differences, n_permutations, seed, mid), p_seeds)
    elif is_tested.any():
        joint = max_t(differences[:, is_tested], n_permutations, seed, level)
        p[is_tested] = np.fmax(joint.p, holm(pd.Series(p_seeds[is_tested])))
    is_shown = is_tested & (p <= level)
    rises = differences.sum(axis=0) > 0
    second_wins = ~rises if sides[0].metric.metrics[0].better == "lower" else rises
    winner, loser = np.where(second_wins, second, first), np.where(second_wins, first, second)
    n_better = np.bincount(loser[is_shown], minlength=len(names))
    n_worse = np.bincount(winner[is_shown], minlength=len(names))
    frame = pd.DataFrame(
        {
            "condition": names,
            "rank_low": pd.array(1 + n_better, dtype="Int64"),
            "rank_high": pd.array(is_measured.sum() - n_worse, dtype="Int64"),
        }
    )
    frame.loc[~is_measured, ["rank_low", "rank_high"]] = pd.NA
    return frame


def _pairs(sides: Sequence[Cells], samples: Samples) -> tuple[Array, Array, Array]:
    """Every pair of conditions (first before second): differences (units, pairs), p of the seeds, whether tested.

    Each side is averaged over its own seeds, and its seeds vary by themselves.
    """
    weights = sides[0].weights
    present = np.array([np.any(side.den != 0, axis=(0, 2)) for side in sides])
    n_seeds = [np.maximum(side.present.sum(axis=0), 1)[:, None] for side in sides]
    num = np.array([side.num.sum(axis=0) / n for side, n in zip(sides, n_seeds)])
    den = np.array([side.den.sum(axis=0) / n for side, n in zip(sides, n_seeds)])
    parts = [_part_of(side, samples) for side in sides]
    differences, p_seeds, p_random = [], [], []
    for a in range(len(sides) - 1):
        both = present[a] & present[a + 1 :]
        kept = both[:, :, None]
        of_a = num[a] * kept, den[a] * kept
        of_b = num[a + 1 :] * kept, den[a + 1 :] * kept
        brought = unit_differences(*of_a, *of_b) @ weights
        brought = samples.per_unit(brought[:, :, None])[:, :, 0]
        differences.append(rounded(brought.T))
        for pair, b in enumerate(range(a + 1, len(sides))):
            lacks = present[b] & ~present[a], present[a] & ~present[b]
            is_whole = not (lacks[0].any() or lacks[1].any())
            p = np.nan if is_whole else p_random_of_sides(sides[a], sides[b], *lacks)[0]
            p_random.append(p)
            part_a, part_b = parts[a], parts[b]
            if part_a is None or part_b is None:
                p_seeds.append(np.nan)
                continue
            shares = samples.per_unit(unit_shares(of_a[1][pair], of_b[1][pair]))
            share = mean_shares(shares, weights)
            d = brought[pair]
            n, errors = effective_units(share), d - d.sum() * share
            p_seeds.append(
                two_way(sample_variance(errors, n), n, [part_a, part_b]).p_value(d.sum())
            )
    by_pair = np.concatenate([np.empty((len(samples.units), 0)), *differences], axis=1)
    n_units = _n_paired(present, samples)
    is_unfair = (holm(pd.Series(p_random, dtype=float)) <= NOT_RANDOM).to_numpy()
    return by_pair, np.array(p_seeds, dtype=float), (n_units >= MIN_UNITS) & ~is_unfair


def _part_of(side: Cells, samples: Samples) -> SeedPart | None:
    """What the seeds of a condition bring; None for one seed."""
    units = side.per_unit(samples)
    units = units.at(~np.isnan(units.values))
    if len(units.sums) < 2:
        return None
    return seed_part(units.values, units.errors, units.present, units.takes_part)


def _n_paired(present: Array, samples: Samples) -> Array:
    """(pairs,): units of which both conditions of the pair have a sample; present (conditions, samples)."""
    n_units = [
        (samples.per_unit((present[a] & present[a + 1 :])[:, :, None].astype(int)) > 0).sum(
            axis=(1, 2)
        )
        for a in range(len(present) - 1)
    ]
    return np.concatenate(n_units)
