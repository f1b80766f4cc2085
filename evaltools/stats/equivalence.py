"""Equivalence: was a difference shown to be too small to matter?

A margin says how large a difference may be and still not matter. Two one-sided tests (TOST), each
at the level alpha, ask whether the true difference lies above -margin and below +margin. Both find
so exactly where the interval at the confidence 1 - 2 alpha lies within the margin.

Reference: Schuirmann, "A comparison of the two one-sided tests procedure and the power approach for
assessing the equivalence of average bioavailability", Journal of Pharmacokinetics and
Biopharmaceutics 15 (1987).
"""

from __future__ import annotations

from typing import Any

import pandas as pd

LOWEST = 0.01
"""The least confidence that an interval can have."""


def equivalence_confidence(confidence: float) -> float:
    """The confidence of the interval that must lie within the margin: 1 - 2 (1 - confidence).

    >>> round(equivalence_confidence(0.95), 2)
    0.9
    """
    return max(2 * confidence - 1, LOWEST)


def within_margin(row: Any) -> Any:
    """Whether a difference was shown to lie within its margin.

    `row` is a row of a comparison, or a frame of them. The columns are `equivalence_low`,
    `equivalence_high` and `margin`. False where one of them is null.

    >>> within_margin({"equivalence_low": -0.01, "equivalence_high": 0.03, "margin": 0.05})
    True
    """
    return (row["equivalence_low"] > -row["margin"]) & (row["equivalence_high"] < row["margin"])


def least_gain(
    row: Any,
    end: float,
    better: str,
) -> float:
    """What the candidate of a row gains at least, above 0 being better: an end of the interval of its difference.

    `better`: "higher" or "lower". Delta stands for an end that is null. Values that one side lacks
    count as the worst that they could be.

    >>> row = {"delta": -0.02, "delta_worst": 0.01, "missing_baseline": 0, "missing_candidate": 3}
    >>> round(least_gain(row, 0.01, "lower"), 2)
    -0.04
    """
    gain = row["delta"] if pd.isna(end) else end
    if better == "lower":
        gain = -gain
    if row["missing_baseline"] or row["missing_candidate"]:
        gain -= abs(row["delta_worst"] - row["delta"])
    return float(gain)
