"""What intervals are made of: Wilson, mid-p, the score interval of metrics within limits, MOVER, the bootstrap, and seeds.

Of the bootstrap units are drawn with replacement. Columns of all metrics times weights (units x resamples: how often
each unit was drawn) is one matrix product. For one ratio and the same generator the bounds equal
`scipy.stats.bootstrap(..., paired=True)`.

References: Wilson, JASA 22 (1927); Korn and Graubard, Survey Methodology 24 (1998), effective trials; Zou and Donner,
Statistics in Medicine 27 (2008), MOVER; Lancaster, JASA 56 (1961), mid-p; Efron, "Better bootstrap confidence
intervals", JASA 82 (1987); Hesterberg, "What teachers should know about the bootstrap", The American Statistician 69
(2015); Searle, Casella, McCulloch, "Variance Components" (1992); Satterthwaite, Biometrics Bulletin 2 (1946).
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import bdtr, ndtr, ndtri, stdtr, stdtrit

from ..core.estimates import Resampling

Array = np.ndarray
Limits = tuple[float, float]

# Units at the far limit that are added to find effective trials: of values, and of gains or losses.
DOUBT, DOUBT_OF_PARTS = 0.1, 0.03
# A t quantile beyond this is that of an interval that holds everything.
WIDE = 1e6


def t_quantile(df: float, alpha: float) -> float:
    """The t quantile of an interval with the probability alpha outside.

    >>> float(t_quantile(10, 0.05).round(3))
    2.228
    """
    return min(stdtrit(max(df, 1e-9), 1 - alpha / 2), WIDE)


def wilson(
    p: float,
    trials: float,
    critical: float,
) -> tuple[float, float]:
    """Wilson's interval of a proportion p of `trials`, at a quantile of a normal or a t.

    >>> low, high = wilson(0.5, 10, 1.96)
    >>> float(low.round(3)), float(high.round(3))
    (0.237, 0.763)
    """
    pull = critical**2 / trials
    centre = (p + pull / 2) / (1 + pull)
    half = np.sqrt(pull * (p * (1 - p) + pull / 4)) / (1 + pull)
    low = 0.0 if p <= 0 else max(centre - half, 0.0)
    high = 1.0 if p >= 1 else min(centre + half, 1.0)
    return low, high


def mid_p(
    successes: int,
    trials: int,
    alpha: float,
) -> tuple[float, float]:
    """Mid-p Clopper-Pearson interval of a proportion.

    A bound is the proportion under which as many successes or fewer (or as many or more) have the
    probability alpha / 2, the observed number counting half.

    >>> low, high = mid_p(8, 10, 0.05)
    >>> round(low, 3), round(high, 3)
    (0.48, 0.965)
    """

    def upper(successes: int) -> float:
        low, high = successes / trials, 1.0
        for _ in range(60 if low < 1 else 0):
            p = (low + high) / 2
            fewer = bdtr(successes - 1, trials, p) if successes else 0.0
            is_likely = bdtr(successes, trials, p) + fewer > alpha
            low, high = (p, high) if is_likely else (low, p)
        return high

    return 1 - upper(trials - successes), upper(successes)


def none_seen(n: float, alpha: float) -> float:
    """The largest share of units of another kind that leaves a chance of alpha to draw none among n.

    >>> round(none_seen(300, 0.05), 3)
    0.01
    """
    return 1 - alpha ** (1 / max(n, 1.0))


def score_t(
    value: float,
    variance: float,
    n: float,
    critical: float,
    limits: Limits,
    alpha: float = 0.05,
    doubt: float = DOUBT,
) -> tuple[float, float]:
    """Wilson's interval of a metric within limits, at the trials that are as sure as its variance.

    `n`: effective units; `critical`: a t quantile. Values that lie close together by chance would
    promise too much: trials are not more than with `doubt` further units at the far limit. Values that
    are all alike, off both limits, have an interval by what none of n units showed (`none_seen`).
    """
    lowest, width = limits[0], limits[1] - limits[0]
    p = np.clip((value - lowest) / width, 0, 1)
    v, spread = variance / width**2, p * (1 - p)
    if v <= 0 and spread > 0:
        # one unit says nothing of others
        unseen = none_seen(n, alpha) if n > 1 else 1.0
        low, high = p * (1 - unseen), p + (1 - p) * unseen
    else:
        trials = n * (n * spread + doubt) / (n**2 * v + doubt)
        if v > 0 and spread > 0:
            trials = min(trials, spread / v)
        low, high = wilson(p, trials, critical)
    return lowest + width * low, lowest + width * high


def mover(
    values: Array,
    bounds: Array,
    errors: Array,
    weights: Array,
) -> Array:
    """The bounds of a weighted sum of `values` (parts,), from those of its parts, (parts, 2) (Zou and Donner).

    `errors` (units, parts): what units bring into the parts, which tells how these go together.

    >>> bounds = np.array([[-3.0, 1.0], [-1.0, 4.0]])
    >>> np.round(mover(np.zeros(2), bounds, np.zeros((2, 2)), np.array([1.0, -1.0])), 3).tolist()
    [-5.0, 1.414]
    """
    size = np.sqrt((errors**2).sum(axis=0))
    alike = errors / np.where(size > 0, size, np.inf)
    correlation = alike.T @ alike
    np.fill_diagonal(correlation, 1.0)
    by_part = weights[:, None] * np.abs(bounds - values[:, None])
    reach = np.where(weights[:, None] > 0, by_part, by_part[:, ::-1])
    variance = (reach * (correlation @ reach)).sum(axis=0)
    return values @ weights + [-1, 1] * np.sqrt(np.maximum(variance, 0))


def gains_and_losses(
    differences: Array,
    shares: Array,
    span: float,
    alpha: float,
    unseen: float,
) -> Array:
    """Row 8: the interval of a paired difference from few units that differ.

    `differences` (units,) sum to it; `shares` (units,), what each unit weighs, sum to 1. `span`: how
    far apart the limits are. Gains and losses are each a mean within 0 and the span, with a score
    interval of its own, put together by MOVER. `unseen`: the probability that the bound of gains, or losses, of which
    none were drawn is too small.
    """
    signs = np.array([1.0, -1.0])
    parts = np.maximum(np.outer(differences, signs), 0.0)
    values = parts.sum(axis=0)
    expected = np.outer(shares, values)
    errors = rounded(parts - expected, parts + expected)
    bounds = []
    for value, error in zip(values, errors.T):
        low, high = score_of_units(value, error, shares, (0.0, span), alpha, DOUBT_OF_PARTS)
        if value <= 0:
            high = span * none_seen(effective_units(shares), unseen)
        bounds.append((low, high))
    return mover(values, np.array(bounds), errors, signs)


def score_of_units(
    value: float,
    errors: Array,
    shares: Array,
    limits: Limits,
    alpha: float,
    doubt: float = DOUBT,
) -> Limits:
    """Row 4: the score-t interval of a ratio of one run; `errors`, `shares` (units,): what units bring, and weigh."""
    n = effective_units(shares)
    return score_t(
        value,
        sample_variance(errors, n) if n > 1 else 0.0,
        n,
        t_quantile(n - 1, alpha),
        limits,
        alpha,
        doubt,
    )


# --- the bootstrap

# Resamples that are drawn at a time.
CHUNK = 128
# Relative width within which a resampled value counts as equal to the observed one.
TIE = 1e-12


class Draws(NamedTuple):
    """The value of a metric, its resampled values, and those without each unit; nan where not measured."""

    value: float
    replicates: Array
    jackknife: Array

    def bounds(
        self,
        alpha: float,
        method: str = "bca",
    ) -> Limits:
        """(low, high) with the probability alpha outside: percentile by that method, else BCa."""
        drawn, left_out = (each[~np.isnan(each)] for each in (self.replicates, self.jackknife))
        levels = np.array([alpha / 2, 1 - alpha / 2])
        if method != "percentile":
            tolerance = TIE * max(np.abs(np.append(drawn, self.value)).max(), 1e-300)
            below = np.count_nonzero(drawn < self.value - tolerance)
            up_to = np.count_nonzero(drawn <= self.value + tolerance)
            deviation = left_out.mean() - left_out
            with np.errstate(all="ignore"):
                bias = ndtri((below + up_to) / (2 * len(drawn)))
                acceleration = np.sum(deviation**3) / (6 * np.sum(deviation**2) ** 1.5)
                z = bias + ndtri(levels)
                corrected = ndtr(bias + z / (1 - acceleration * z))
            levels = np.where(np.isfinite(corrected), corrected, levels)
        low, high = np.quantile(drawn, levels)
        return low, high


def resampled(columns: Array, resampling: Resampling) -> Array:
    """Sums of columns (columns, units) over units drawn with replacement: (columns, resamples)."""
    n = columns.shape[1]
    rng = np.random.default_rng(resampling.seed)
    sums = np.empty((len(columns), resampling.n_resamples))
    for start in range(0, resampling.n_resamples, CHUNK):
        part = sums[:, start : start + CHUNK]
        rows = np.arange(part.shape[1])[:, None]
        drawn = rng.integers(0, n, (len(rows), n)) + n * rows
        times = np.bincount(drawn.ravel(), minlength=drawn.size)
        # an integer matrix product would not use BLAS
        np.matmul(columns, times.reshape(drawn.shape).astype(float).T, out=part)
    return sums


# --- proportions that change


def variance_of_change(difference: float, error: float = 0.0) -> float:
    """The least variance of what units bring into a difference of two proportions: so many of them have changed.

    Of one that was seen with a standard `error`, what goes beyond the error counts.

    >>> variance_of_change(-0.5)
    0.25
    """
    size = max(abs(difference) - error, 0.0)
    return size - size**2


def smallest_shown(
    difference: float,
    error: float,
    n: float,
    t: float,
) -> float:
    """The true difference of two proportions that is t of its own standard errors, by what n units showed.

    A larger difference needs more units that change, so that its standard error is larger than `error`, that of the
    `difference` that was seen.

    >>> float(smallest_shown(0.0, 0.05, 100, 2.8).round(3))
    0.176
    >>> float(smallest_shown(0.0, 0.05, 1, 1e300).round(3))  # t of hardly any degrees of freedom
    1.002
    """
    t = min(t, WIDE)
    rest = max(error**2 - variance_of_change(difference, error) / n, 0.0)
    a, b = 1 + t**2 / n, t**2 / n
    return (b + np.sqrt(b**2 + 4 * a * t**2 * rest)) / (2 * a)


# --- the two-way variance of seeds and samples: row 6 of docs/statistics.md; seeds are taken as normal

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
    n, per_seed = whole.sum(), here.sum(axis=1)
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
        own,
        squares / k**2 if own > 0 else 0.0,
        between / k,
        k - 1.0,
        within / k,
        (present.sum(axis=0) <= 1).all(),
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
    own, squares, plain, df_seeds, residual, nested = np.array(parts, dtype=float).T
    if nested.all():
        sample, df = 0.0, max(df, 1.0)
    total, squares = sample + own.sum(), sample**2 / df + squares.sum()
    fewest = df_seeds.min()
    if squares > 0:
        # a difference of mean squares can come out below the df of the smallest
        df = max(total**2 / squares, min(df, fewest))
    found = [(total, df)]
    is_apart = fewest < 2 or (plain >= residual / 2).any()
    if plain.any() and is_apart:
        found.append((plain.sum(), plain.sum() ** 2 / (plain**2 / df_seeds).sum()))
    return found


def widest(found: Sequence[Account], alpha: float) -> tuple[float, float, float]:
    """(standard error, t quantile, df) of the account with the widest interval."""
    intervals = [(np.sqrt(v), t_quantile(df, alpha), df) for v, df in found]
    return max(intervals, key=lambda interval: interval[0] * interval[1])


def p_of_t(found: Sequence[Account], difference: float) -> float:
    """Two-sided p for a true value of 0: the level at which the widest interval just reaches it."""
    p = [2 * stdtr(df, -abs(difference) / np.sqrt(v)) for v, df in found if v > 0]
    return max(p, default=0.0) if difference else 1.0


def effective_units(shares: Array) -> Any:
    """(sum m)^2 / sum m^2 of what each unit weighs, (units, ...), without the rounding of sums; 1 where none does.

    >>> float(effective_units(np.array([1.0, 3.0])))
    1.6
    """
    squares = np.maximum((shares**2).sum(axis=0), 1e-300)
    return np.maximum(shares.sum(axis=0) ** 2 / squares, 1.0).round(9)


def sample_variance(
    errors: Array,
    n: float,
) -> float:
    """Variance that units bring to a mean: errors (units,) that sum to 0, n effective units."""
    return errors @ errors * n / max(n - 1, 1e-9)


def rounded(
    values: Any,
    size: Any,
) -> Any:
    """Values, those set to 0 that are no more than the rounding of sums of this size."""
    return values * (np.abs(values) > 1e-12 * size)


# The test needs so many units that are missing, and as many that are not.
TESTABLE = 3


def p_random(
    missing: Array,
    present: Array,
) -> float:
    """p that the values of what a side lacks, on the other side, are those of the rest; nan where too few are known.

    The larger p of Welch's t and Student's, from TESTABLE values each on: Welch's alone would find six
    units that happen to be all right, Student's alone one rare event among six. 0 for values without
    variance and with other means.

    >>> float(p_random(np.array([0.1, 0.2, 0.15]), np.array([0.8, 0.9, 0.85])).round(4))
    0.0001
    """
    sides = (missing, present)
    if min(map(len, sides)) < TESTABLE:
        return np.nan
    n, mean, variance = np.array([(len(x), x.mean(), x.var(ddof=1)) for x in sides]).T
    of_means = variance / n
    pooled = variance @ (n - 1) / (n.sum() - 2)
    squares = max((of_means**2 / (n - 1)).sum(), 1e-300)
    welch = of_means.sum(), of_means.sum() ** 2 / squares
    student = pooled * (1 / n).sum(), n.sum() - 2
    return p_of_t([welch, student], rounded(mean[0] - mean[1], np.abs(mean).sum()))
