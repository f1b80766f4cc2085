"""Agreement of raters on the same subjects.

References: Cohen, Educational and Psychological Measurement 20 (1960); Fleiss, Psychological
Bulletin 76 (1971).
"""

from __future__ import annotations

import numpy as np
import pandas as pd


def kappa_of(sheet: pd.DataFrame) -> float:
    """Cohen's kappa of two raters, Fleiss' of more, over the subjects that all have.

    `sheet`: a row a subject, a column a rater; null where a rater did not vote.

    nan without such a subject, for one rater, and where one category is all that was chosen.

    >>> sheet = pd.DataFrame({"a": ["x", "x", "y"], "b": ["x", "y", "y"]})
    >>> round(kappa_of(sheet), 3)
    0.4
    """
    full = sheet.dropna()
    if len(full.columns) < 2 or full.empty:
        return np.nan
    if len(full.columns) > 2:
        return fleiss_kappa(_counts(full))
    one, other = full.iloc[:, 0], full.iloc[:, 1]
    of_one, of_other = (side.value_counts(normalize=True) for side in (one, other))
    by_chance = of_one.mul(of_other, fill_value=0.0).sum()
    return _beyond_chance((one == other).mean(), by_chance)


def _counts(full: pd.DataFrame) -> np.ndarray:
    """(subjects, categories): how many raters chose each category; every rater has every subject."""
    return full.apply(pd.Series.value_counts, axis=1).fillna(0).to_numpy(int)


def fleiss_kappa(counts: np.ndarray) -> float:
    """Fleiss' kappa, at most 1, of counts: a row a subject, a column a category.

    A count is how many raters chose the category. All subjects have the same raters, two and
    more. nan where one category is all that was chosen.

    >>> round(fleiss_kappa(np.array([[2, 0], [0, 2], [1, 1]])), 3)
    0.333
    """
    raters = counts[0].sum()
    share = counts.sum(axis=0) / counts.sum()
    agreed = ((counts * counts).sum(axis=1) - raters) / (raters * (raters - 1.0))
    return _beyond_chance(agreed.mean(), (share * share).sum())


def _beyond_chance(agreed: float, by_chance: float) -> float:
    """(agreed - by chance) / (1 - by chance); nan where chance agreement is certain."""
    return float((agreed - by_chance) / (1 - by_chance)) if by_chance < 1 else np.nan
