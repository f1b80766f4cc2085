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
