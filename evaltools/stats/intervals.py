"""Bootstrap intervals of one run: all metrics of a table at once, from one set of resampling weights.

Weights (resamples x units) times the numerator and denominator columns is one matrix product for
every metric together; the jackknife for BCa is closed-form for ratios of sums. For one ratio and the
same generator the bounds equal `scipy.stats.bootstrap(..., paired=True)`. Many units have closed forms (`many.py`).

Claim of these intervals: new samples, this system.

References: Efron, "Better bootstrap confidence intervals", JASA 82 (1987); Wilson, JASA 22 (1927).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

from ..core.metric import Compiled, Metric, MetricTable, column_values
from ..core.resampling import Resampling
from .crossed import Crossed, add_rows, influence, over_units
from .many import CLOSED, LARGE, closed_bounds, in_blocks

MIN_UNITS = 10
"""Fewer resampling units than this carry no bootstrap (coverage: docs/statistics.md)."""

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


def resample_weights(m: int, n_resamples: int, rng: np.random.Generator, chunk: int = CHUNK) -> Iterator[np.ndarray]:
    """Yield blocks of bootstrap weights (up to `chunk` resamples, m units): how often each unit was drawn."""
    for done in range(0, n_resamples, chunk):
        rows = min(chunk, n_resamples - done)
        drawn = rng.integers(0, m, (rows, m))
        drawn += np.arange(rows)[:, None] * m
        # float weights: an integer matrix product would not use BLAS
        yield np.bincount(drawn.ravel(), minlength=rows * m).reshape(rows, m).astype(float)


def resample_sums(sums: np.ndarray, resampling: Resampling) -> np.ndarray:
    """Column sums of every resample: (units, columns) -> (resamples, columns)."""
    rng = np.random.default_rng(resampling.seed)
    return np.concatenate([w @ sums for w in resample_weights(len(sums), resampling.n_resamples, rng)])


def wilson(successes: float, trials: float, confidence: float) -> tuple[float, float]:
    """Wilson score interval of a proportion; `successes` and `trials` may be fractional (scaled counts)."""
    return score_interval(successes / trials, trials, float(ndtri(0.5 + confidence / 2)))


def score_interval(p: float, trials: float, critical: float) -> tuple[float, float]:
    """Wilson's interval of a proportion p of `trials` at a critical value (a normal's or a t's quantile)."""
    z2 = critical**2
    centre = (p + z2 / (2 * trials)) / (1 + z2 / trials)
    half = critical * np.sqrt(p * (1 - p) / trials + z2 / (4 * trials**2)) / (1 + z2 / trials)
    low = 0.0 if p <= 0 else max(0.0, centre - half)
    high = 1.0 if p >= 1 else min(1.0, centre + half)
    return float(low), float(high)


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
    method: str = resampling.method
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


Interval = tuple[float, float, str]
"""Low, high and method."""


def estimate(units: pd.DataFrame, table: MetricTable, unit: str, resampling: Resampling) -> pd.DataFrame:
    """Value and interval of every metric, one row each.

    Columns: name, title, value, ci_low, ci_high, ci_method, numerator, denominator, n_units, group, better.
    Null is "not measured" (value) or "no interval" (bounds). `title` is the name where the table has none.
    `numerator` and `denominator` are null for weighted sums of metrics. `n_units` counts the resampling units
    that take part in the metric. `ci_method` is bca or percentile, abc (the closed form of bca for more than
    LARGE resampling units; percentile has one too: `many.closed_bounds`), wilson (a proportion that is 0, 1, or
    rests on fewer than MIN_UNITS units; for clustered units at the number of clusters, which is conservative)
    or none (a count, nothing measured, all units equal, or too few units).

    Raises KeyError for columns that the frame lacks, ValueError for infinite values and for a table that
    does not compile.

    >>> units = pd.DataFrame({"id": range(40), "right": [1, 1, 0, 1] * 10, "n": 1})
    >>> table = [Metric(name="accuracy", numerator="right", denominator="n", better="higher", proportion=True)]
    >>> estimate(units, table, "id", Resampling())[["name", "value", "ci_low", "ci_high", "ci_method"]]
           name  value  ci_low  ci_high ci_method
    0  accuracy   0.75     0.6    0.875       bca
    """
    at, names = pd.factorize(units[unit], use_na_sentinel=False)
    blocks = in_blocks(table, len(names), len(names))
    found = [_estimated(compiled, unit_sums(units, compiled.columns, at), resampling) for compiled in blocks]
    return pd.concat(found, ignore_index=True)


def _estimated(compiled: Compiled, sums: np.ndarray, resampling: Resampling) -> pd.DataFrame:
    """The rows of `estimate` from the sums of every resampling unit: (units, columns)."""
    total = over_units(sums)
    values = compiled.values(total)
    c = Crossed(compiled, sums[None], np.ones((1, len(sums)), dtype=bool))
    n_units = c.part.sum(axis=0)
    measured = ~np.isnan(values) & ~compiled.counts & (n_units > 0)
    intervals = _closed if len(sums) > LARGE else _resampled
    found = dict(intervals(c, values, measured & (n_units >= MIN_UNITS), resampling))
    for m in np.flatnonzero(measured).tolist():
        metric, n = compiled.metrics[m], int(n_units[m])
        if m not in found and isinstance(metric, Metric) and metric.proportion:
            found[m] = *wilson(_whole(values[m] * n), n, resampling.confidence), "wilson"
    low, high = np.full((2, len(values)), np.nan)
    method = np.full(len(values), "none", dtype=object)
    for m, interval in found.items():
        low[m], high[m], method[m] = interval
    ratio = np.array([parts[0][0] for parts in compiled.parts], dtype=int)
    single = np.array([isinstance(m, Metric) for m in compiled.metrics], dtype=bool)
    return pd.DataFrame(
        {
            "name": compiled.names,
            "title": [m.title or m.name for m in compiled.metrics],
            "value": values,
            "ci_low": low,
            "ci_high": high,
            "ci_method": method,
            "numerator": np.where(single, (total @ compiled.numerator)[ratio], np.nan),
            "denominator": np.where(single & ~compiled.counts, (total @ compiled.denominator)[ratio], np.nan),
            "n_units": n_units,
            "group": [m.group for m in compiled.metrics],
            "better": [m.better for m in compiled.metrics],
        }
    )


def _resampled(
    c: Crossed, values: np.ndarray, wanted: np.ndarray, resampling: Resampling
) -> Iterator[tuple[int, Interval]]:
    """(metric, interval) of the wanted metrics that vary, by the bootstrap."""
    compiled, sums = c.compiled, c.sums[0]
    loo = compiled.values(sums.sum(axis=0) - sums)
    wanted = wanted & _varies(loo, values)
    if wanted.any():
        # each metric is read by itself: its values lie side by side
        replicates = np.asfortranarray(compiled.values(resample_sums(sums, resampling)))
        for m in np.flatnonzero(wanted).tolist():
            yield m, bounds(replicates[:, m], values[m], loo[:, m], resampling)


def _closed(
    c: Crossed, values: np.ndarray, wanted: np.ndarray, resampling: Resampling
) -> Iterator[tuple[int, Interval]]:
    """(metric, interval) of the wanted metrics that vary, in closed form."""
    errors = influence(c).errors[0]
    moved = errors.T @ c.sums[0]

    def curve(step: np.ndarray) -> np.ndarray:
        return np.diagonal(c.compiled.values(c.totals + step[:, None] * moved))

    low, high = closed_bounds(errors, c.bias[0], curve, resampling)
    for m in np.flatnonzero(wanted & _varies(errors, values)).tolist():
        least, most = c.compiled.metrics[m].limits
        yield m, (max(low[m], least), min(high[m], most), CLOSED[resampling.method])


def _varies(loo: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Whether leaving out some one unit moves the metric by more than rounding."""
    with np.errstate(invalid="ignore"):
        spread = np.nanmax(loo, axis=0, initial=-np.inf) - np.nanmin(loo, axis=0, initial=np.inf)
        return spread > 1e-13 * np.maximum(np.abs(values), 1e-3)


def _whole(x: float) -> float:
    return float(round(x)) if abs(x - round(x)) < 1e-9 else x


def monte_carlo_digits(estimates: pd.DataFrame, resampling: Resampling) -> int:
    """Decimals that the Monte-Carlo error of the bounds supports, from the median width of the intervals."""
    width = (estimates["ci_high"] - estimates["ci_low"]).dropna()
    if width.empty:
        return 3
    # standard error of a bootstrap quantile, in units of the interval's width, for a normal density
    alpha = (1 - resampling.confidence) / 2
    z = ndtri(1 - alpha)
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    error = np.sqrt(alpha * (1 - alpha) / resampling.n_resamples) / density / (2 * z) * float(width.median())
    return int(np.clip(np.floor(-np.log10(max(error, 1e-9))), 1, 4))
