"""Agreement: of seeds on the same sample, and of raters on the same subject.

References: Cohen, Educational and Psychological Measurement 20 (1960); Fleiss, Psychological
Bulletin 76 (1971).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from ..core.metric import Metric
from ..core.resampling import Resampling
from .intervals import estimate

# The columns of `seed_agreement`, in order.
COLUMNS = [
    "metric",
    "value",
    "ci_low",
    "ci_high",
    "ci_method",
    "n_samples",
    "n_incomplete",
    "title",
]


@dataclass(frozen=True)
class Measure:
    """One way in which seeds can agree: a `column` of a frame of samples, in 0..1.

    Null is "says nothing". `name` and `title` are those of the estimate. `exact`: the column is
    0 or 1, whether the seeds say the same.
    """

    name: str
    column: str
    title: str
    exact: bool = False


def seed_agreement(
    samples: pd.DataFrame,
    measures: Sequence[Measure],
    unit: str,
    n_seeds: int,
    resampling: Resampling,
) -> pd.DataFrame:
    """Means over samples of how far the seeds agree: COLUMNS, a row a measure.

    `samples` has a row a sample: `unit`, n_seeds (seeds that have the sample), and the columns of
    the measures. A mean is over the samples of which two or more seeds say something (`n_samples`),
    null where there is none. A sample that some of the `n_seeds` seeds lack counts by the seeds
    that have it: `n_incomplete` of them. Claim of the intervals: new samples, these seeds.

    >>> samples = pd.DataFrame({"id": range(30), "n_seeds": 2, "same": [1.0, 0.0, 1.0] * 10})
    >>> same = Measure("same_label", "same", "Same label in all seeds", exact=True)
    >>> seed_agreement(samples, [same], "id", 2, Resampling())[["metric", "value", "n_samples"]].round(3)
           metric  value  n_samples
    0  same_label  0.667         30
    """
    known = samples[[measure.column for measure in measures]].notna()
    table = [
        Metric(
            name=measure.name,
            numerator=measure.column,
            denominator=f"{measure.column}_n",
            title=measure.title,
            group="agreement",
            better="higher",
            proportion=measure.exact,
        )
        for measure in measures
    ]
    estimates = estimate(
        samples.join(known.add_suffix("_n")),
        table,
        unit,
        resampling,
    )
    return estimates.rename(columns={"name": "metric"}).assign(
        n_samples=known.sum().to_numpy(),
        n_incomplete=known[samples["n_seeds"] < n_seeds].sum().to_numpy(),
    )[COLUMNS]


def all_equal(values: Sequence[Any]) -> float:
    """1.0 where all values are the same, else 0.0; nan for fewer than two.

    >>> all_equal(["a", "a"]), all_equal(["a", "b"]), all_equal(["a"])
    (1.0, 0.0, nan)
    """
    if len(values) < 2:
        return np.nan
    return float(all(value == values[0] for value in values))


def ballot(
    votes: pd.DataFrame,
    subject: Sequence[str] = ("sample", "tuple"),
) -> pd.DataFrame:
    """The votes as a sheet: a row a subject, a column a rater; null where a rater did not vote.

    `votes` is long: one row a subject, `rater` and `category`. Several categories of one rater on
    one subject are one vote for their combination.

    >>> votes = pd.DataFrame([("s", "A", "FLAG"), ("s", "A", "DROP"), ("s", "B", "DROP")])
    >>> votes.columns = ["sample", "rater", "category"]
    >>> ballot(votes, ["sample"]).iloc[0].to_dict()
    {'A': 'DROP+FLAG', 'B': 'DROP'}
    """
    by_rater = votes.groupby([*subject, "rater"])["category"]
    return by_rater.agg(lambda votes: "+".join(sorted(set(votes)))).unstack("rater")


def reviewer_agreement(
    votes: pd.DataFrame,
    subject: Sequence[str] = ("sample", "tuple"),
) -> pd.DataFrame:
    """Agreement of raters: measure, raters, value, n_subjects.

    `votes` as for `ballot`. Fleiss' kappa, perfect_agreement (all the same) and majority_agreement
    (more than half the same) rest on the subjects that every rater voted on; Cohen's kappa of each
    pair on those that both did. Kappas are at most 1, 0 being chance. Null for one rater, without a
    subject in common, and a kappa of one category only (chance agreement is certain). No intervals:
    subjects of one sample are not independent.

    >>> votes = pd.DataFrame({"sample": [1, 1, 2, 2], "rater": ["A", "B"] * 2, "category": ["x", "x", "y", "x"]})
    >>> reviewer_agreement(votes, ["sample"])[["measure", "value"]].round(2)
                  measure  value
    0        fleiss_kappa  -0.33
    1   perfect_agreement   0.50
    2  majority_agreement   0.50
    3         cohen_kappa   0.00
    """
    sheet = ballot(votes, subject)
    raters, full = list(sheet.columns), sheet.dropna()
    values = [np.nan] * 3
    if len(raters) >= 2 and len(full):
        largest = _counts(full).max(axis=1)
        values = [
            fleiss_kappa(_counts(full)),
            (largest == len(raters)).mean(),
            (largest > len(raters) / 2).mean(),
        ]
    names = ", ".join(map(str, raters))
    measures = ["fleiss_kappa", "perfect_agreement", "majority_agreement"]
    rows = [(measure, names, value, len(full)) for measure, value in zip(measures, values)]
    for a, b in combinations(raters, 2):
        both = sheet[[a, b]].dropna()
        rows.append(("cohen_kappa", f"{a}, {b}", kappa_of(both), len(both)))
    return pd.DataFrame(rows, columns=["measure", "raters", "value", "n_subjects"])


def kappa_of(sheet: pd.DataFrame) -> float:
    """Cohen's kappa of two raters, Fleiss' of more, over the subjects of a `ballot` that all have.

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
