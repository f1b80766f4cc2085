"""The mean that people would give all cases, from the scores of all and the labels of some (PPI++).

    scores of N cases + labels of n of them --PPI++--> corrected mean --t-Wilson--> interval

The corrected mean is that of the labels, moved by what the scores of the other cases add:
mean(label - w score) over the labelled cases plus w mean(score) over the others. It is right on
average whatever the scores are worth, because w only weighs how much they are listened to; the w of
least variance makes it surer than the labels alone.

Claim of the intervals: new cases, this system, this judge. Labels must be drawn at random, or at
random by stratum.

References: Angelopoulos, Duchi, Zrnic, "PPI++: Efficient prediction-powered inference", arXiv
2311.01453 (2023); Fisch et al., "Stratified prediction-powered inference", NeurIPS 2024.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .arrays import Array
from .score_intervals import DOUBT, t_quantile, t_wilson

HIDDEN = 0.25
"""Cases on which judge and people differ wholly that are added to those seen.

Few labels may hold none by chance. Within each of several strata DOUBT of them, also without a
judge.
"""

UNIT_LIMITS = np.array([[0.0], [1.0]])


@dataclass(frozen=True)
class Mean:
    """A mean in 0..1 with its interval, the weight of the scores in it, and the labels it rests on.

    `contributions` (cases,): what each case brings into the mean, which is the mean of them all.
    """

    value: float
    low: float
    high: float
    weight: float
    n_labelled: int
    contributions: Array = field(compare=False)


@dataclass(frozen=True)
class _Strata:
    """Number of cases, mean of x, and variance of x (or covariance with y) in every stratum."""

    n: Array
    mean: Array
    variance: Array


def _strata(
    at: Array,
    k: int,
    x: Array,
    y: Array | None = None,
) -> _Strata:
    """What each of k strata holds of the values x, which lie in the strata `at`.

    A single value has the variance of all strata.
    """
    y = x if y is None else y
    n = np.bincount(at, minlength=k)
    divisor = np.maximum(n, 1)
    mean_x = np.bincount(at, x, k) / divisor
    mean_y = np.bincount(at, y, k) / divisor
    deviation_x = x - mean_x[at]
    deviation_y = y - mean_y[at]
    sums = np.bincount(at, deviation_x * deviation_y, k)
    df = np.maximum(n - 1, 0)
    pooled = sums.sum() / max(df.sum(), 1)
    variance = np.where(df > 0, sums / np.maximum(df, 1), pooled)
    return _Strata(n, mean_x, variance)


def corrected_mean(
    score: Array,
    label: Array,
    stratum: Array | None = None,
    confidence: float = 0.95,
    weight: float | None = None,
) -> Mean:
    """The mean label of all cases, by PPI++ with a t-Wilson interval.

    `score`, `label`: (cases,) in 0..1, label nan where nobody gave one. `stratum`: (cases,) numbers
    from 0, where labels were drawn by stratum; strata then count by their cases, and each needs a
    label. `weight` of the scores: by default that of least variance, in 0..1; 0 is the labels
    alone. The t has as many degrees of freedom as effective labels, 1 / sum(share^2 / labels), less
    the strata.

    >>> score, label = np.array([1, 1, 0, 0, 1, 1, 1, 0.0]), np.array([1, 1, 0, 1] + 4 * [np.nan])
    >>> round(corrected_mean(score, label, weight=1).value, 4)  # .75 + (.75 - .5)
    1.0
    """
    at = np.zeros(len(score), dtype=int) if stratum is None else stratum
    k = int(at.max()) + 1
    labelled = ~np.isnan(label)
    n_open = np.bincount(at[~labelled], minlength=k)
    # a stratum that is labelled whole has nothing to learn from scores
    used = np.where(n_open[at] > 0, score, 0.0)
    n_open = np.maximum(n_open, 1)
    n_cases = np.bincount(at, minlength=k)
    share = n_cases / len(at)
    spread = _strata(at, k, used).variance

    here = at[labelled]
    both = _strata(here, k, used[labelled], label[labelled])
    n = both.n
    if weight is None:
        weight = _best_weight(share, both, spread, n_open)
    difference = label[labelled] - weight * used[labelled]
    rest = _strata(here, k, difference)
    of_open = _strata(at[~labelled], k, used[~labelled])
    means = rest.mean + weight * of_open.mean
    value = float(share @ means)

    hidden = HIDDEN * weight if k == 1 else DOUBT
    of_labelled = (rest.variance + hidden / n) / n
    of_scores = weight**2 * spread / n_open
    error = (share**2 * (of_labelled + of_scores)).sum()
    # new cases fall into the strata by chance, too
    error += share @ (means - value) ** 2 / len(at)
    trials = 1 / (share**2 / n).sum()
    value = min(max(round(value, 12), 0.0), 1.0)
    low, high = _interval(value, error, trials, trials - k, confidence)
    per_label = (n_cases / n)[at]
    per_open = (n_cases / n_open)[at]
    return Mean(
        value=value,
        low=low,
        high=high,
        weight=weight,
        n_labelled=int(labelled.sum()),
        contributions=_contributions(label, weight * used, per_label, per_open),
    )


def _contributions(
    label: Array,
    moved: Array,
    per_label: Array,
    per_open: Array,
) -> Array:
    """What each case adds to the sum of the mean: its label with what the scores change of it, or its score alone."""
    return np.where(np.isnan(label), per_open * moved, per_label * (label - moved))


def _best_weight(
    share: Array,
    labelled: _Strata,
    spread: Array,
    n_open: Array,
) -> float:
    """The weight of the scores, in 0..1, that gives the corrected mean the least variance.

    `labelled`: the labelled cases, with the covariance of score and label. `spread`: the variance
    of the scores.
    """
    n = labelled.n
    gain = (share**2 * labelled.variance / n).sum()
    of_each = 1 / n + 1 / n_open
    cost = (share**2 * spread * of_each).sum()
    if cost <= 0:
        return 0.0
    return float(np.clip(gain / cost, 0, 1))


def _interval(
    value: float,
    error: float,
    trials: float,
    df: float,
    confidence: float,
) -> tuple[float, float]:
    """t-Wilson interval of a share whose mean has the variance `error`, of so many `trials`."""
    # beside 0 and 1 a correction leaves fewer trials than there are labels: half of them stand
    error = min(error, 2 * value * (1 - value) / trials)
    low, high = t_wilson(
        np.array([value]),
        np.array([error]),
        np.array([trials]),
        t_quantile(np.array([df]), confidence),
        UNIT_LIMITS,
    )
    return float(low[0]), float(high[0])
