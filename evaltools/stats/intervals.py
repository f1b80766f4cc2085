"""Bootstrap intervals of one run: all metrics of a table at once, from one set of resampling weights.

Weights (resamples x units) times the numerator and denominator columns is one matrix product for
every metric together; the jackknife for BCa is closed-form for ratios of sums. For one ratio and the
same generator the bounds equal `scipy.stats.bootstrap(..., paired=True)`.

Claim of these intervals: new samples, this system.

References: Efron, "Better bootstrap confidence intervals", JASA 82 (1987); Wilson, JASA 22 (1927).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

from ..core.metric import Compiled, Difference, Metric, MetricTable, column_values, compile_table
from .cells import LARGE, Cells, UnitColumns, resample_cells

Method = Literal["bca", "percentile"]

MIN_UNITS = 10
"""Fewer resampling units than this carry no bootstrap (coverage: docs/statistics.md)."""

CHUNK = 128

TIE = 1e-12
"""Relative width within which a resampled value counts as equal to the observed one (rounding of sums)."""


@dataclass(frozen=True)
class Resampling:
    """How intervals are made: `method`, number of resamples, confidence level, and the generator's seed."""

    method: Method = "bca"
    n_resamples: int = 10_000
    confidence: float = 0.95
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.confidence < 1:
            raise ValueError(f"confidence must lie between 0 and 1, got {self.confidence}")
        if self.n_resamples < 100:
            raise ValueError(f"n_resamples must be at least 100, got {self.n_resamples}")


def unit_sums(units: pd.DataFrame, columns: tuple[str, ...], unit: str) -> np.ndarray:
    """Sums of the columns over each resampling unit, in order of first appearance: (units, columns).

    `unit` is the column that names the resampling unit; rows that share it are resampled together.
    """
    values = column_values(units, columns)
    codes, names = pd.factorize(units[unit], use_na_sentinel=False)
    if len(names) == len(units):
        return values
    out = np.zeros((len(names), values.shape[1]))
    np.add.at(out, codes, values)
    return out


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
    replicates: np.ndarray,
    value: float,
    jackknife: np.ndarray,
    resampling: Resampling,
    counts: np.ndarray | None = None,
) -> tuple[float, float, str]:
    """(low, high, method) of one metric from its resampled values (not sorted; nan where undefined).

    `jackknife` holds the leave-one-out values, each for `counts` units (None: for one). Resamples in which
    the metric is undefined are left out. Where the bias correction is not finite the percentile interval
    stands in, and says so.
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
        known = ~np.isnan(jackknife)
        jackknife, n = jackknife[known], np.ones(known.sum()) if counts is None else counts[known]
        deviation = np.sum(n * jackknife) / np.sum(n) - jackknife
        spread = np.sum(n * deviation**2)
        with np.errstate(all="ignore"):
            a = np.sum(n * deviation**3) / (6 * spread**1.5)
            z = z0 + ndtri(levels)
            corrected = ndtr(z0 + z / (1 - a * z))
        if np.isfinite(z0) and spread > 0 and np.isfinite(corrected).all():
            levels = corrected
        else:
            method = "percentile"
    low, high = np.quantile(replicates, levels)
    return float(low), float(high), method


def estimate(units: pd.DataFrame, table: MetricTable, unit: str, resampling: Resampling) -> pd.DataFrame:
    """One row a metric: name, value, ci_low, ci_high, ci_method, numerator, denominator, n_units, group, better.

    Null is "not measured" (value) or "no interval" (bounds). `n_units` counts the resampling units
    that take part in the metric. `ci_method` is bca, percentile, wilson (a proportion that is 0, 1, or
    rests on fewer than MIN_UNITS units; for clustered units at the number of clusters, which is
    conservative) or none (a count, nothing measured, all units equal, or too few units). More than LARGE
    resampling units are drawn in cells (`cells.py`), a metric at a time.
    """
    compiled = compile_table(table)
    if units[unit].nunique(dropna=False) > LARGE:
        return pd.DataFrame(_large(UnitColumns(units, unit), compiled, resampling))
    sums = unit_sums(units, compiled.columns, unit)
    sample = _Sample(compiled, Cells(sums, np.ones(len(sums))), lambda: resample_sums(sums, resampling))
    return pd.DataFrame([_row(metric, sample, i, resampling) for i, metric in enumerate(compiled.metrics)])


class _Sample:
    """What the units say of each metric of a table: totals, leave-one-out values, and resampled values on demand."""

    def __init__(self, compiled: Compiled, cells: Cells, draw: Callable[[], np.ndarray]):
        self.compiled, self.cells, self._draw = compiled, cells, draw
        sums = cells.rows
        self.total = (sums * cells.counts[:, None]).sum(axis=0)
        self.values = compiled.values(self.total)
        self.takes_part = (sums @ compiled.denominator != 0) | (sums @ np.abs(compiled.denominator) != 0)
        self.loo = compiled.values(self.total - sums)
        self.varies = _varies(self.loo, self.values)

    @cached_property
    def replicates(self) -> np.ndarray:
        # each metric is read by itself: its values lie side by side
        return np.asfortranarray(self.compiled.values(self._draw()))


def _large(columns: UnitColumns, compiled: Compiled, resampling: Resampling) -> Iterator[dict[str, Any]]:
    """The rows of `estimate`, each metric from its own cells; metrics of the same sums have the same draws."""
    known: dict[tuple[int, int], _Sample] = {}
    for i, metric in enumerate(compiled.metrics):
        key = int(compiled.first[i]), int(compiled.second[i])
        if key not in known:
            own = compiled.only(i)
            known[key] = _large_sample(own, columns.cells(own.columns), resampling)
        yield _row(metric, known[key], 0, resampling)


def _large_sample(compiled: Compiled, cells: Cells, resampling: Resampling) -> _Sample:
    def draw() -> np.ndarray:
        influence = np.nan_to_num(sample.values[0] - sample.loo[:, 0])
        return resample_cells(cells, influence, resampling.n_resamples, np.random.default_rng(resampling.seed))

    sample = _Sample(compiled, cells, draw)
    return sample


def _row(metric: Metric | Difference, sample: _Sample, i: int, resampling: Resampling) -> dict[str, Any]:
    compiled, counts = sample.compiled, sample.cells.counts
    r, s = compiled.first[i], compiled.second[i]
    part = sample.takes_part[:, r] | sample.takes_part[:, s] if s >= 0 else sample.takes_part[:, r]
    n = int(counts.sum() if compiled.is_count[r] else counts[part].sum())
    value, single = sample.values[i], isinstance(metric, Metric)
    low = high = np.nan
    method = "none"
    if not np.isnan(value) and not compiled.is_count[r] and n > 0:
        if n >= MIN_UNITS and sample.varies[i]:
            low, high, method = bounds(sample.replicates[:, i], value, sample.loo[:, i], resampling, counts)
        elif isinstance(metric, Metric) and metric.proportion:
            low, high = wilson(_whole(value * n), n, resampling.confidence)
            method = "wilson"
    return {
        "name": metric.name,
        "value": value,
        "ci_low": low,
        "ci_high": high,
        "ci_method": method,
        "numerator": sample.total @ compiled.numerator[:, r] if single else np.nan,
        "denominator": sample.total @ compiled.denominator[:, r] if single and not compiled.is_count[r] else np.nan,
        "n_units": n,
        "group": metric.group,
        "better": metric.better,
    }


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
