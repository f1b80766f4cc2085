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
    ends = rows[["delta_worst", "delta_best"]]
    few_missing = rows["few_missing"].astype(bool)
    # how far values missing, too few to test, could move the difference
    down = (ends.min(axis=1) - rows["delta"]).clip(upper=0).where(few_missing, 0.0)
    up = (ends.max(axis=1) - rows["delta"]).clip(lower=0).where(few_missing, 0.0)
    # units that all differ alike, without limits, have no interval that could disagree
    by_interval = (rows["ci_low"] > 0) | (rows["ci_high"] < 0) | rows["ci_low"].isna()
    at_both_ends = (rows["ci_low"] + down > 0) | (rows["ci_high"] + up < 0)
    at_both_ends |= rows["ci_low"].isna()
    by_p = p <= level
    shown = by_p & by_interval & at_both_ends
    improves = (rows["delta"] > 0) == (rows["better"] != "lower")
    # m units have a p of 2^(1-m) at best, with mid-p 2^-m
    best_p = 2.0 ** (1 - rows["mid"].astype(float) - rows["n_differ"].astype(float))
    low, high, margin = rows["equivalence_low"], rows["equivalence_high"], rows["margin"]
    is_close = (low > -margin) & (high < margin)
    is_within = (low + down > -margin) & (high + up < margin)
    cases = [
        (rows["delta"].isna() | rows["not_random"].astype(bool), "not measured"),
        (rows["n_units"] < MIN_UNITS, "too few"),
        (shown & improves, "better"),
        (shown, "worse"),
        (is_within, "equivalent"),
        (best_p > level, "too few"),
    ]
    verdict = np.select(
        [case for case, _ in cases],
        [word for _, word in cases],
        "tied",
    )
    short = np.select(
        [
            (by_p & by_interval & ~at_both_ends) | (is_close & ~is_within),
            by_p & ~by_interval,
            ~by_p & by_interval,
        ],
        ["missing", "interval", "p"],
        "",
    )
    return verdict, np.where(verdict == "tied", short, "")


def equivalence_confidence(confidence: float) -> float:
    """The confidence of the interval that must lie within the margin: 1 - 2 (1 - confidence).

    >>> round(equivalence_confidence(0.95), 2)
    0.9
    """
    return max(
        2 * confidence - 1,
        0.01,
    )
