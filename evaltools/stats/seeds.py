"""The two-way variance of seeds and samples: row 6 of docs/statistics.md. Seeds are taken as normal.

References: Searle, Casella, McCulloch, "Variance Components" (1992); Satterthwaite, Biometrics
Bulletin 2 (1946).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import stdtr

from .formulas import t_quantile
from .influence import Array

# What intervals speak for.
THIS_RUN = "new samples, this run"
THESE_TWO_RUNS = "new samples, these two runs"
THESE_RUNS = "new samples, these runs"
NEW_SEEDS = "new seeds and new samples (seeds taken as normal)"

# A variance and its degrees of freedom.
Account = tuple[float, float]


class SeedPart(NamedTuple):
    """What the seeds of one side bring to the variance of a mean over them.

    `own`: what is theirs alone; `squares`: sum of (mean square)^2 / df of what it is made of; `plain`:
    the variance by the values of the seeds alone, with `df` = seeds - 1. `residual`: the interaction
    of seeds and units. `nested`: no unit is in two seeds, so that `own` holds the units' spread too.
    """

    own: float
    squares: float
    plain: float
    df: float
    residual: float
    nested: bool


def seed_part(
    values: Array,
    errors: Array,
    present: Array,
    takes_part: Array,
) -> SeedPart:
    """The part of two or more seeds: values (seeds,), errors and present (seeds, units), takes_part (units,).

    The interaction is estimated on the units that all seeds have; where fewer than two are, the
    seeds' own part is all of their spread.
    """
    k = len(values)
    between = values.var(ddof=1)
    here = present & takes_part
    whole = here.all(axis=0)
    n, per_seed = int(whole.sum()), here.sum(axis=1)
    within = df_rest = 0.0
    if n > 1:
        # each cell as if it stood for its whole seed
        rest = errors[:, whole] * per_seed[:, None]
        rest = rest - rest.mean(axis=0)
        rest -= rest.mean(axis=1, keepdims=True)
        df_rest = (n - 1) * (k - 1)
        within = (rest**2).sum() / df_rest * (1 / per_seed).mean()
    excess = between - within
    # the last digit of two equal mean squares must not decide anything
    own = excess / k if excess > 1e-9 * (between + within) else 0.0
    squares = between**2 / (k - 1) + within**2 / max(df_rest, 1)
    return SeedPart(
        own=own,
        squares=squares / k**2 if own > 0 else 0.0,
        plain=between / k,
        df=k - 1.0,
        residual=within / k,
        nested=bool((present.sum(axis=0) <= 1).all()),
    )


def accounts(
    sample: float,
    n: float,
    parts: Sequence[SeedPart],
) -> list[Account]:
    """The variance of a mean or difference for new seeds and new samples, as accounts that must all hold.

    `sample`: the variance by n effective units; without `parts` of seeds it is all there is. The seeds' values alone
    are a second account: what is said of new seeds and new samples cannot be surer than what is said of new seeds. Three
    seeds or more that lie closer together than their samples explain (a variance below half) do without it: they would
    cost a third of the power. Where it is left out whenever seeds show no part of their own, intervals of differences
    over three seeds cover 92%.
    """
    df = max(n - 1.0, 1e-9)
    if not parts:
        return [(sample, df)]
    if all(part.nested for part in parts):
        sample, df = 0.0, max(df, 1.0)
    own = sum(part.own for part in parts)
    squares = sample**2 / df + sum(part.squares for part in parts)
    fewest = min(part.df for part in parts)
    if squares > 0:
        # a difference of mean squares can come out below the df of the smallest
        df = max((sample + own) ** 2 / squares, min(df, fewest))
    found = [(sample + own, df)]
    plain = sum(part.plain for part in parts)
    is_apart = fewest < 2 or any(part.plain >= part.residual / 2 for part in parts)
    if plain > 0 and is_apart:
        found.append((plain, plain**2 / sum(part.plain**2 / part.df for part in parts)))
    return found


def widest(found: Sequence[Account], alpha: float) -> tuple[float, float, float]:
    """(standard error, t quantile, df) of the account with the widest interval."""
    intervals = [(float(np.sqrt(v)), t_quantile(df, alpha), df) for v, df in found]
    return max(intervals, key=lambda interval: interval[0] * interval[1])


def p_of_t(found: Sequence[Account], difference: float) -> float:
    """Two-sided p for a true value of 0: the level at which the widest interval just reaches it."""
    p = [2 * float(stdtr(df, -abs(difference) / np.sqrt(v))) for v, df in found if v > 0]
    return max(p, default=0.0) if difference else 1.0
