"""What is said of a difference: better, worse, equivalent, tied, too few, or not measured."""

from __future__ import annotations

import numpy as np
import pandas as pd

from .influence import Array
from .intervals import MIN_UNITS


def verdicts(
    rows: pd.DataFrame,
    level: float,
) -> tuple[Array, Array]:
    """(verdict, what a "tied" row is short of) of every metric, a row each. `level` is as 0.05.

    The verdict is the first of these that holds:
    - not measured: a side has no value, or what it lacks is not missing at random;
    - too few: fewer than MIN_UNITS paired units;
    - better, worse: p (adjusted in the family) is within the level, and the interval leaves out 0; with
      values missing, too few to test, also where these were the worst or the best;
    - equivalent: the interval at 1 - 2 * level lies within the declared margin, with such values missing
      wherever these were;
    - too few: so few units differ that no signs of theirs could bring p within the level;
    - tied: all else. No difference was shown, which is not to say that there is none.

    >>> row = {"delta": 0.1, "n_units": 50, "n_differ": 20, "p_value": 0.01, "p_adjusted": np.nan}
    >>> row |= {"ci_low": 0.02, "ci_high": 0.18, "better": "lower", "mid": False, "margin": np.nan}
    >>> row |= {"delta_worst": 0.1, "delta_best": 0.1, "few_missing": False, "not_random": False}
    >>> row |= {"equivalence_low": np.nan, "equivalence_high": np.nan}
    >>> [text.tolist() for text in verdicts(pd.DataFrame([row]), 0.05)]
    [['worse'], ['']]
    """
    p = rows["p_adjusted"].fillna(rows["p_value"])
    low, high, delta = rows["ci_low"], rows["ci_high"], rows["delta"]
    within_low, within_high, margin = (
        rows[name] for name in ("equivalence_low", "equivalence_high", "margin")
    )
    # how far values missing, too few to test, could move the difference
    moves = (
        rows[["delta_worst", "delta_best"]]
        .sub(delta, axis=0)
        .where(rows["few_missing"].astype(bool), 0.0)
    )
    down, up = moves.min(axis=1).clip(upper=0), moves.max(axis=1).clip(lower=0)
    # units that all differ alike, without limits, have no interval that could disagree
    by_interval = (low > 0) | (high < 0) | low.isna()
    at_both_ends = (low + down > 0) | (high + up < 0) | low.isna()
    by_p = p <= level
    shown = by_p & by_interval & at_both_ends
    improves = (delta > 0) == (rows["better"] != "lower")
    # m units have a p of 2^(1-m) at best, with mid-p 2^-m
    best_p = 2.0 ** (1 - rows["mid"].astype(float) - rows["n_differ"].astype(float))
    is_close = (within_low > -margin) & (within_high < margin)
    is_within = (within_low + down > -margin) & (within_high + up < margin)
    cases = {
        "not measured": delta.isna() | rows["not_random"].astype(bool),
        "too few": rows["n_units"] < MIN_UNITS,
        "better": shown & improves,
        "worse": shown,
        "equivalent": is_within,
        "too few ": best_p > level,
    }
    verdict = np.select(
        list(cases.values()),
        [word.strip() for word in cases],
        "tied",
    )
    is_lacking = (by_p & by_interval & ~at_both_ends) | (is_close & ~is_within)
    reasons = [is_lacking, by_p & ~by_interval, ~by_p & by_interval]
    short = np.select(reasons, ["missing", "interval", "p"], "")
    return verdict, np.where(verdict == "tied", short, "")
