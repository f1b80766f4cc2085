"""What a test can find: how many units must differ, and the smallest difference that it shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import gammaincinv, gammaln, nctdtrinc, stdtrit

from .arrays import Array
from .variance import Components

POWER = 0.8
"""Probability with which the smallest detectable difference is found."""


def units_needed(
    level: Array,
    mid: Array,
) -> Array:
    """How many units must differ, all one way, until sign flips have a p within the level.

    That p is 2^(1-m) for m units, with mid-p 2^-m.

    >>> units_needed(np.array([0.05, 0.05]), np.array([False, True])).tolist()
    [6.0, 5.0]
    """
    with np.errstate(divide="ignore"):
        m = np.ceil(1.0 - mid - np.log2(level))
    m = np.maximum(m, 1.0)
    # a logarithm is rounded
    one_short = 2.0 ** (1.0 - mid - m) > level
    return m + one_short


def smallest_difference(
    error: Array,
    df: Array,
    level: Array,
    each: Array,
    units: Array,
    more: Array,
) -> Array:
    """The smallest true difference that a test at `level` finds with 80% power.

    error, df: standard error of the difference and its degrees of freedom.
    each, units: at least `units` units must differ, by `each` on average; the difference is never
        below what makes so many differ (Poisson) with that power.
    more: the share of the difference that comes as further units which differ, so that the error
        grows with it; null: it does not.

    t noncentral, over c4(df): an estimated standard error is too small on average.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        gammas = gammaln((df + 1) / 2) - gammaln(df / 2)
        c4 = np.sqrt(2 / df) * np.exp(gammas)
        critical = stdtrit(df, 1 - level / 2)
        away = nctdtrinc(df, 1 - POWER, critical) / c4
        # difference^2 = away^2 (error^2 + each * (more * difference - difference^2))
        growth = np.where(np.isnan(more), 0.0, away**2 * each)
        half = growth * np.nan_to_num(more) / 2
        whole = 1 + growth
        without_growth = (away * error) ** 2
        root = np.sqrt(half**2 + whole * without_growth)
        difference = (half + root) / whole
        floor = gammaincinv(units, POWER) * each
        return np.maximum(difference, floor)


def larger_studies(
    row: Mapping[Any, Any],
    confidence: float = 0.95,
) -> dict[str, float]:
    """What larger studies could show of a "tied" row of `Comparison.table`, the best first.

    "more-seeds" (two more) and "more-samples" (twice as many) -> the mde to expect then, as a part
    of today's, by the variance components. Empty for every other verdict; of a study of one seed,
    more seeds cannot be spoken of.
    """
    if row["verdict"] != "tied" or pd.isna(row["mde"]):
        return {}
    n, seeds = int(row["n_units"]), int(row["n_seeds"])
    components = Components(
        seed=row["var_seed"] * seeds,
        sample=row["var_sample"] * n,
        residual=row["var_residual"] * n * seeds,
        sides=1 + int(row["pooled"]),
    )
    level = np.array(row["level"])
    units = units_needed(level, np.array(False))

    def expected(times: int, more_seeds: int) -> float:
        spread = components.spread(times * n, seeds + more_seeds)
        error, _, df = spread.widest(confidence)
        each = row["each"] / times
        return float(
            smallest_difference(
                error,
                df,
                level,
                each,
                units,
                np.array(np.nan),
            )
        )

    now = expected(1, 0)
    shares = {"more-samples": expected(2, 0) / now}
    if seeds > 1:
        shares["more-seeds"] = expected(1, 2) / now
    return dict(sorted(shares.items(), key=lambda study: study[1]))
