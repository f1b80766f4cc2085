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
    n_raters = len(full.columns)
    if n_raters < 2 or full.empty:
        return np.nan
    if n_raters > 2:
        # (subjects, categories): how many raters chose each
        counts = full.apply(pd.Series.value_counts, axis=1).fillna(0).to_numpy(int)
        shares = counts.sum(axis=0) / counts.sum()
        agreed = ((counts**2).sum(axis=1) - n_raters).mean() / (n_raters * (n_raters - 1))
        by_chance = (shares**2).sum()
    else:
        one, other = full.iloc[:, 0], full.iloc[:, 1]
        of_one, of_other = (side.value_counts(normalize=True) for side in (one, other))
        agreed = (one == other).mean()
        by_chance = of_one.mul(of_other, fill_value=0.0).sum()
    return float((agreed - by_chance) / (1 - by_chance)) if by_chance < 1 else np.nan
