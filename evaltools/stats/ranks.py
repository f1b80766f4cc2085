"""Rank intervals of conditions: every pair is tested, all pairs together.

Reference: Mogstad, Romano, Shaikh and Wilhelm, Review of Economic Studies 91 (2024).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from ..core.metric import MetricTable, subset
from ..core.resampling import Resampling
from .differences import Differences, paired
from .influence import Array, Runs, label
from .intervals import MIN_UNITS
from .missing import NOT_RANDOM, lacking
from .multiple import holm, max_t, sign_flip


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
    labelled = label(
        list(conditions.values()),
        subset(table, [metric]),
        unit,
    )
    sides = [condition.cells(0) for condition in labelled]
    pairs = list(combinations(range(len(names)), 2))
    found, p_random = [], []
    for a, b in pairs:
        by_seed = set(conditions[names[a]]) == set(conditions[names[b]])
        found.append(paired(sides[a], sides[b], labelled[0].samples, by_seed))
        p_random.append(lacking(sides[a], sides[b], by_seed, np.nan)["p_random"])
    is_random = ~(holm(pd.Series(p_random, dtype=float)) <= NOT_RANDOM)
    tested = [
        (pair, differences)
        for pair, differences, random in zip(pairs, found, is_random)
        if random and differences is not None and differences.n_units >= MIN_UNITS
    ]
    better, worse = np.zeros(
        (2, len(names)),
        dtype=int,
    )
    is_lower = sides[0].formula.metric.better == "lower"
    p = _p_together(
        [differences for _, differences in tested],
        n_permutations,
        resampling,
    )
    for (pair, differences), p_of_pair in zip(tested, p):
        if p_of_pair <= resampling.level:
            loser, winner = pair if (differences.delta > 0) != is_lower else reversed(pair)
            better[loser] += 1
            worse[winner] += 1
    is_measured = np.array([not np.isnan(side.values).all() for side in sides])
    rank = {"rank_low": 1 + better, "rank_high": is_measured.sum() - worse}
    frame = pd.DataFrame({"condition": names} | rank).astype(dict.fromkeys(rank, "Int64"))
    frame.loc[~is_measured, list(rank)] = pd.NA
    return frame


def _p_together(
    tested: Sequence[Differences],
    n_permutations: int,
    resampling: Resampling,
) -> Array:
    """p of the differences of all pairs, adjusted together."""
    if not tested:
        return np.array([])
    by_unit = np.stack(
        [differences.by_unit for differences in tested],
        axis=1,
    )
    p_seeds = pd.Series([differences.p_seeds for differences in tested])
    if len(tested) == 1:
        mid = tested[0].is_proportion
        return np.fmax(
            sign_flip(by_unit, n_permutations, resampling.seed, mid),
            p_seeds,
        )
    joint = max_t(
        by_unit,
        n_permutations,
        resampling.seed,
        resampling.level,
    )
    return np.fmax(
        joint.p,
        holm(p_seeds),
    )
