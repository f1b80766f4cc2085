"""Intervals of one run: all metrics of a table at once.

Where the data carry a bootstrap, it comes from one set of resampling weights; where few units decide (rates and F1
near 0 or 1, a few long dialogues), bounded metrics have score intervals at their effective number of trials.

Weights (resamples x units) times the numerator and denominator columns is one matrix product for
every metric together; the jackknife for BCa is closed-form for ratios of sums. For one ratio and the
same generator the bounds equal `scipy.stats.bootstrap(..., paired=True)`. Many units have closed forms (`many.py`).

Claim of these intervals: new samples, this system.

References: Efron, "Better bootstrap confidence intervals", JASA 82 (1987); Wilson, JASA 22 (1927); Korn and
Graubard, "Confidence intervals for proportions with small expected number of positive counts estimated from survey
data", Survey Methodology 24 (1998); Zou and Donner, "Construction of confidence limits about effect measures",
Statistics in Medicine 27 (2008), MOVER.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri, stdtrit

from ..core.metric import Metric, MetricTable
from ..core.metric_matrix import Compiled, column_values, require_measured
from ..core.resampling import CONSTANT, Resampling
from .large_samples import CLOSED, LARGE, closed_bounds, of_blocks
from .seed_by_sample import Crossed, add_rows, influence, over_units

MIN_UNITS = 10
"""Fewer resampling units than this carry no bootstrap (coverage: docs/statistics.md)."""

CARRIES = 50
"""Effective number of units that decide (`deciding`) from which a bounded metric has a bootstrap interval."""

DOUBT = 0.1
"""Units of the greatest possible deviation that are added where the effective number of trials is worked out."""

Bounds = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Low, high and method of every metric; nan and "none" for no interval."""

Rule = tuple[Any, ...]
"""Where it holds, and the low, high and method that it gives."""

WIDE = 1e9
"""Critical value that stands for an infinite one: the interval is all that the limits allow."""

CHUNK = 128

TIE = 1e-12
"""Relative width within which a resampled value counts as equal to the observed one (rounding of sums)."""


def unit_sums(units: pd.DataFrame, columns: Sequence[str], at: np.ndarray) -> np.ndarray:
    """Sums of the columns over each resampling unit: (units, columns).

    `at` (rows) counts the units from 0 in order of first appearance; rows of one unit are resampled together.
    """
    values = column_values(units, columns)
    n = int(at.max(initial=-1)) + 1
    if n == len(values):
        return values
    return add_rows(values, at, n)


def resample_weights(
    m: int, n_resamples: int, rng: np.random.Generator, chunk: int = CHUNK
) -> Iterator[np.ndarray]:
    """Yield blocks of bootstrap weights (up to `chunk` resamples, m units): how often each unit was drawn."""
    for done in range(0, n_resamples, chunk):
        rows = min(chunk, n_resamples - done)
        drawn = rng.integers(0, m, (rows, m))
        drawn += np.arange(rows)[:, None] * m
        # float weights: an integer matrix product would not use BLAS
        yield np.bincount(drawn.ravel(), minlength=rows * m).reshape(rows, m).astype(float)


def wilson(successes: float, trials: float, confidence: float) -> tuple[float, float]:
    """Wilson score interval of a proportion; `successes` and `trials` may be fractional (scaled counts)."""
    low, high = score_interval(successes / trials, trials, ndtri(0.5 + confidence / 2))
    return float(low), float(high)


def score_interval(p: Any, trials: Any, critical: Any) -> tuple[Any, Any]:
    """Wilson's interval of proportions p of `trials` at critical values (quantiles of a normal or a t)."""
    z2 = critical**2
    centre = (p + z2 / (2 * trials)) / (1 + z2 / trials)
    half = critical * np.sqrt(p * (1 - p) / trials + z2 / (4 * trials**2)) / (1 + z2 / trials)
    return np.where(p <= 0, 0.0, np.maximum(0.0, centre - half)), np.where(
        p >= 1, 1.0, np.minimum(1.0, centre + half)
    )


def effective_trials(p: np.ndarray, variance: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Trials of a proportion p that are as sure as a mean of values in 0..1 with this variance; n where that is 0.

    That is p (1 - p) / variance (Korn and Graubard). Few values that differ know their variance badly, and
    values that lie by chance close together would promise too much: of n units, the trials are not more than with
    DOUBT further units at the far limit, n (n p (1 - p) + DOUBT) / (n^2 variance + DOUBT).
    """
    spread = p * (1 - p)
    known = np.divide(
        spread, variance, out=np.full(np.shape(p), np.inf), where=(variance > 0) & (spread > 0)
    )
    doubted = n * (n * spread + DOUBT) / (n**2 * variance + DOUBT)
    return np.where(variance > 0, np.minimum(known, doubted), n)


def t_wilson(
    value: np.ndarray, variance: np.ndarray, n: np.ndarray, critical: np.ndarray, limits: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Wilson's interval of bounded metrics at the effective number of trials; nan for limits (2, metrics) not finite.

    `variance` is that of the values, which rest on so many units `n`; `critical` is a t quantile.
    """
    least, most = np.where(np.isfinite(limits).all(axis=0), limits, np.nan)
    width = np.where(most > least, most - least, 1.0)
    p = np.clip((value - least) / width, 0.0, 1.0)
    low, high = score_interval(p, effective_trials(p, variance / width**2, n), critical)
    return least + width * low, least + width * high


def mover(
    one: tuple[np.ndarray, ...], other: tuple[np.ndarray, ...], correlation: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(low, high) of other - one, each of (value, low, high), by recovering their variances (Zou and Donner)."""
    (a, low_a, high_a), (b, low_b, high_b) = one, other

    def reach(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.sqrt(np.maximum(x**2 + y**2 - 2 * (correlation * (x * y)), 0.0))

    return (b - a) - reach(b - low_b, high_a - a), (b - a) + reach(high_b - b, a - low_a)


def t_quantile(df: np.ndarray, confidence: float) -> np.ndarray:
    """Two-sided critical values; WIDE without degrees of freedom."""
    return np.fmin(stdtrit(np.where(df > 0, df, np.nan), 0.5 + confidence / 2), WIDE)


def share_correlation(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Correlation of errors (units, metrics) that sum to 0; 0 where one does not vary."""
    size = np.sqrt(np.einsum("um,um->m", x, x) * np.einsum("um,um->m", y, y))
    return np.divide(np.einsum("um,um->m", x, y), size, out=np.zeros_like(size), where=size > 0)


def deciding(errors: np.ndarray) -> np.ndarray:
    """How many units decide the variance of each metric: (sum e^2)^2 / sum e^4 of the errors (units, metrics).

    Of m units that differ alike from all the others it is about m, of normal errors n / 3; 0 where nothing varies.
    """
    squares = errors**2
    total, fourth = squares.sum(axis=0), np.einsum("um,um->m", squares, squares)
    return np.divide(total**2, fourth, out=np.zeros_like(total), where=fourth > 0)


def effective_units(shares: np.ndarray) -> np.ndarray:
    """(sum m)^2 / sum m^2 of what each unit weighs in each metric, (units, metrics); 1 where none does."""
    squares = np.einsum("um,um->m", shares, shares)
    return np.divide(over_units(shares) ** 2, squares, out=np.ones_like(squares), where=squares > 0)


def proportions(compiled: Compiled) -> np.ndarray:
    """Whether each metric is a proportion."""
    return np.array([isinstance(m, Metric) and m.proportion for m in compiled.metrics], dtype=bool)


def score_bounds(
    c: Crossed, confidence: float, t_only: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(low, high, method, deciding) of every metric of one run, without resampling; nan where a part has no limits.

    `deciding` is how many units decide, 0 where nothing varies: from CARRIES on a bootstrap will do.

    A proportion of units that are one trial each has Wilson's interval (not if `t_only`). Other ratios, and means of
    ratios, have it at the effective number of trials with the t quantile of n - 1 degrees of freedom; n, of units
    that weigh m in the denominator, is (sum m)^2 / sum m^2. Where no unit differs (CONSTANT) n is the number of
    trials. A difference has the bounds of its sides, put together by `mover`.
    """
    compiled, den, total = c.compiled, c.den[0], over_units(c.den)[0]
    ratios = np.nan_to_num(compiled.ratios(c.totals))
    errors, shares = c.own_errors[0], c.shares[0]
    # units that are one trial each
    single = (np.einsum("ur,ur->r", den, den) == total)[[parts[0][0] for parts in compiled.parts]]
    plain = single & proportions(compiled) & (not t_only)
    two = compiled.sides[1][0].any(axis=0)
    sides, moved = [], []
    for weights, limits in compiled.sides[: 1 + two.any()]:
        value, error, share = ratios[0] @ weights, errors @ weights, shares @ weights
        n, varies = effective_units(share), _varies(error, value)
        variance = np.einsum("um,um->m", error, error) * n / np.maximum(n - 1, 1 / WIDE)
        variance = np.where(varies & ~plain, variance, 0.0)
        critical = np.where(plain, ndtri(0.5 + confidence / 2), t_quantile(n - 1, confidence))
        sides.append((value, *t_wilson(value, variance, n, critical, limits)))
        moved.append(error)
    low, high = sides[0][1:]
    if two.any():
        added, taken = sides
        apart = mover(taken, added, share_correlation(*moved))
        low, high = (np.where(two, x, y) for x, y in zip(apart, (low, high)))
        error = moved[0] - moved[1]
        varies = _varies(error, added[0] - taken[0])
    decide = np.where(varies, deciding(error), 0.0)
    cases = [np.isnan(low), two, plain, decide == 0]
    method = np.select(cases, ["none", "mover", "wilson", CONSTANT], "t-wilson").astype(object)
    return low, high, method, decide


def bounds(
    replicates: np.ndarray, value: float, jackknife: np.ndarray, resampling: Resampling
) -> tuple[float, float, str]:
    """(low, high, method) of one metric from its resampled values (not sorted; nan where undefined).

    `jackknife` holds the leave-one-out values. Resamples in which the metric is undefined are left out. Where
    the bias correction is not finite the percentile interval stands in, and says so.
    """
    replicates = replicates[~np.isnan(replicates)]
    alpha = (1 - resampling.confidence) / 2
    levels = np.array([alpha, 1 - alpha])
    method = "percentile" if resampling.method == "percentile" else "bca"
    if method == "bca":
        tolerance = TIE * max(abs(value), float(np.abs(replicates).max(initial=0.0)), 1e-300)
        below = np.count_nonzero(replicates < value - tolerance)
        upto = np.count_nonzero(replicates <= value + tolerance)
        z0 = ndtri((below + upto) / (2 * len(replicates)))
        known = jackknife[~np.isnan(jackknife)]
        deviation = known.mean() - known
        spread = np.sum(deviation**2)
        with np.errstate(all="ignore"):
            a = np.sum(deviation**3) / (6 * spread**1.5)
            z = z0 + ndtri(levels)
            corrected = ndtr(z0 + z / (1 - a * z))
        if np.isfinite(z0) and spread > 0 and np.isfinite(corrected).all():
            levels = corrected
        else:
            method = "percentile"
    low, high = np.quantile(replicates, levels)
    return float(low), float(high), method


def estimate(
    units: pd.DataFrame, table: MetricTable, unit: str, resampling: Resampling
) -> pd.DataFrame:
    """Value and interval of every metric, one row each.

    Columns: name, title, value, ci_low, ci_high, ci_method, numerator, denominator, n_units, group, better.
    Null is "not measured" (value) or "no interval" (bounds). `title` is the name where the table has none.
    `numerator` and `denominator` are null for weighted sums of metrics. `n_units` counts the resampling units
    that take part in the metric. `ci_method` is bca or percentile, abc (the closed form of bca for more than
    LARGE resampling units; percentile has one too: `many.closed_bounds`), wilson, t-wilson or mover (`score_bounds`)
    or none. By the method "auto" a metric within limits always has an interval (a difference where some unit
    differs): plain proportions Wilson's, others a bootstrap where at least MIN_UNITS units take part and CARRIES
    decide. Otherwise those that vary over MIN_UNITS units have a bootstrap, other proportions Wilson's interval at
    the number of units, all else none.

    Raises KeyError for columns that the frame lacks, ValueError for infinite values, for a null numerator of a row
    that the denominator counts, and for a table that does not compile.

    >>> units = pd.DataFrame({"id": range(40), "right": [1, 1, 0, 1] * 10, "n": 1})
    >>> table = [Metric(name="accuracy", numerator="right", denominator="n", better="higher", proportion=True)]
    >>> estimate(units, table, "id", Resampling())[["name", "value", "ci_low", "ci_high", "ci_method"]]
           name  value   ci_low   ci_high ci_method
    0  accuracy   0.75  0.59806  0.858129    wilson
    """
    at, names = pd.factorize(units[unit], use_na_sentinel=False)

    def of_block(compiled: Compiled) -> pd.DataFrame:
        require_measured(units, compiled, unit)
        return _estimated(compiled, unit_sums(units, compiled.columns, at), resampling)

    return pd.concat(of_blocks(of_block, table, len(names), len(names)), ignore_index=True)


def _estimated(compiled: Compiled, sums: np.ndarray, resampling: Resampling) -> pd.DataFrame:
    """The rows of `estimate` from the sums of every resampling unit: (units, columns)."""
    total = over_units(sums)
    values = compiled.values(total)
    c = Crossed(compiled, sums[None], np.ones((1, len(sums)), dtype=bool))
    low, high, method = _of_run(c, values, resampling)
    ratio = np.array([parts[0][0] for parts in compiled.parts], dtype=int)
    single = np.array([isinstance(m, Metric) for m in compiled.metrics], dtype=bool)
    return pd.DataFrame(
        {
            **compiled.each("name", "title"),
            "value": values,
            "ci_low": low,
            "ci_high": high,
            "ci_method": method,
            "numerator": np.where(single, (total @ compiled.numerator)[ratio], np.nan),
            "denominator": np.where(
                single & ~compiled.counts, (total @ compiled.denominator)[ratio], np.nan
            ),
            "n_units": c.part.sum(axis=0),
            **compiled.each("group", "better"),
        }
    )


def _of_run(c: Crossed, values: np.ndarray, resampling: Resampling) -> Bounds:
    """The intervals of `estimate`: a bootstrap where the data carry it, else those that need none."""
    compiled, n_units = c.compiled, c.part.sum(axis=0)
    measured = ~np.isnan(values) & ~compiled.counts & (n_units > 0)
    carried = measured & (n_units >= MIN_UNITS)
    if resampling.method == "auto":
        low, high, method, decide = score_bounds(c, resampling.confidence)
        # Wilson's bounds grow with every event, which those of two methods would not where one gives way to the other
        carried &= np.isnan(low) | ((decide >= CARRIES) & (method != "wilson"))
        # a difference of 0 in every unit says nothing of what else there is
        known = measured & ((method != "mover") | (decide > 0))
    else:
        hits, n = values * n_units, np.maximum(n_units, 1)
        hits = np.where(np.abs(hits - np.round(hits)) < 1e-9, np.round(hits), hits)
        known = measured & proportions(compiled)
        z = ndtri(0.5 + resampling.confidence / 2)
        low, high = score_interval(np.clip(np.where(known, hits / n, 0.5), 0.0, 1.0), n, z)
        method = np.full(len(values), "wilson", dtype=object)
    errors, bias = influence(c).errors[0], c.bias[0]
    *drawn, how = resampled([c.sums[0]], compiled.values, errors, bias, carried, resampling)
    return first_of(
        (how != "none", *np.clip(drawn, *compiled.ends), how), (known, low, high, method)
    )


def first_of(*rules: Rule) -> Bounds:
    """The interval of every metric by the first rule that holds for it."""
    where, low, high, method = map(list, zip(*rules))
    ends = np.select(where, low, np.nan), np.select(where, high, np.nan)
    return *ends, np.select(where, method, "none").astype(object)


def resampled(
    sides: Sequence[np.ndarray],
    of: Callable[..., np.ndarray],
    errors: np.ndarray,
    bias: np.ndarray,
    wanted: np.ndarray,
    resampling: Resampling,
) -> Bounds:
    """Bootstrap intervals of the wanted metrics that vary, from the same draws for all sides and seeds.

    `sides`: sums of one run or of the two that are compared, (..., units, columns); `of` gives the metrics at
    sums of each side, (..., columns). `errors` (units, metrics) and `bias` as for `many.closed_bounds`, which stands
    in for more than LARGE units.
    """
    if len(errors) > LARGE:
        totals, along = [over_units(sums) for sums in sides], [errors.T @ sums for sums in sides]

        def curve(step: np.ndarray) -> np.ndarray:
            return np.diagonal(
                of(*(total[..., None, :] + step[:, None] * by for total, by in zip(totals, along)))
            )

        ends = closed_bounds(errors, bias, curve, resampling)
        return first_of((wanted & _varies(errors, of(*totals)), *ends, CLOSED[resampling.method]))
    totals = [sums.sum(axis=-2) for sums in sides]
    value, loo = (
        of(*totals),
        of(*(total[..., None, :] - sums for total, sums in zip(totals, sides))),
    )
    wanted = wanted & _varies(loo, value)
    low, high, method = first_of((np.zeros_like(wanted), np.nan, np.nan, "none"))
    if not wanted.any():
        return low, high, method
    weights = resample_weights(
        len(loo), resampling.n_resamples, np.random.default_rng(resampling.seed)
    )
    # each metric is read by itself: its values lie side by side
    replicates = np.asfortranarray(
        np.concatenate([of(*(w @ sums for sums in sides))[:, wanted] for w in weights])
    )
    for column, m in enumerate(np.flatnonzero(wanted).tolist()):
        # one orientation for both orders of two sides, so that swapping them mirrors the interval exactly
        moved = np.flatnonzero(loo[:, m] != value[m]) if len(sides) > 1 else np.zeros(0, dtype=int)
        turn = -1.0 if len(moved) and loo[moved[0], m] < value[m] else 1.0
        least, most, method[m] = bounds(
            turn * replicates[:, column], turn * value[m], turn * loo[:, m], resampling
        )
        low[m], high[m] = (least, most) if turn > 0 else (-most, -least)
    return low, high, method


def _varies(loo: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Whether leaving out some one unit moves the metric by more than rounding."""
    # reducing many short rows takes ten times as long
    loo = np.ascontiguousarray(loo.T)
    most, least = (
        np.fmax.reduce(loo, axis=1, initial=-np.inf),
        np.fmin.reduce(loo, axis=1, initial=np.inf),
    )
    with np.errstate(invalid="ignore"):
        return most - least > 1e-13 * np.maximum(np.abs(values), 1e-3)


def monte_carlo_digits(width: float, resampling: Resampling) -> int:
    """Decimals that the Monte-Carlo error of the bounds of an interval of that width supports: 1 to 4."""
    # standard error of a bootstrap quantile, in units of the interval's width, for a normal density
    alpha = (1 - resampling.confidence) / 2
    z = ndtri(1 - alpha)
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    error = np.sqrt(alpha * (1 - alpha) / resampling.n_resamples) / density / (2 * z) * width
    return int(np.clip(np.floor(-np.log10(max(error, 1e-9))), 1, 4))
