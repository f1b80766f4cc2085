"""What a larger study would show: samples by seeds for a wanted difference, from a pilot.

A planned study is drawn from the pilot's own units, under the pilot's seed variance, and judged by
the rule that comparisons are judged by (`simulation`). The number of samples is searched from a
normal approximation on. Formulas and realised power: docs/statistics.md.

Reference: Weerahandi, "Generalized confidence intervals", JASA 88 (1993), for what the pilot leaves
open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import fdtrc, nctdtr, ndtr, ndtri

from ..core.errors import UsageError
from ..core.metric import MetricTable, subset
from ..core.metric_matrix import compile_table
from ..core.resampling import Resampling
from .arrays import Array, least
from .design import Runs
from .intervals import MIN_UNITS
from .large_samples import LARGE
from .pilot import Pilot, pilot
from .simulation import simulated_power
from .variance import Components
from .within_units import CLUSTER_SIZE, TRIALS, within_units

Sizes = Mapping[str, Sequence[int] | None]
"""Column of a plan (TRIALS, CLUSTER_SIZE) -> the numbers that are asked for, None for none."""

CONTRACT = (
    "seeds", "samples", "power", "samples_low", "samples_high", "calls", "rows_per_sample",
    "trials", "cluster_size",
)  # fmt: skip
"""The columns of a plan, in order."""

MOST = 100_000
"""Samples beyond which no plan looks."""

AROUND = (0.85, 1.15)
"""Further numbers that are tried, as parts of the one that comes near."""

TOO_FAR = 0.3
"""Numbers of samples with less power say nothing of how many are needed."""

LEAST_POWER = 0.01
"""A simulated power of 0 or 1 counts as this far from it."""

TOLD_APART = 0.25
"""Level of the F test by which the spread of a pilot's seeds counts (Bancroft 1944)."""

MOST_DOUBT = 1.5
"""No plan has more than so many times the samples for what its pilot leaves open."""

TRIES, NEAR = 6, 0.02
"""Numbers of samples that are tried, until the power of one is so near to the power wanted."""

PILOTS = 400
"""Sets of variance components, as likely as the pilot's, that its uncertainty is made of."""

LIKELY = 0.9
"""Share of these whose number of samples lies from samples_low to samples_high, so that the range
holds the truth in about 80% of pilots: the components are not all that a pilot leaves open."""


def plan(
    conditions: Sequence[Runs],
    table: MetricTable,
    unit: str,
    metric: str,
    difference: float,
    *,
    power: float = 0.8,
    seeds: Sequence[int] = (1, 3, 5),
    trials: Sequence[int] | None = None,
    cluster_size: Sequence[int] | None = None,
    resampling: Resampling | None = None,
    done: Callable[..., None] = lambda name="": None,
) -> pd.DataFrame:
    """How many samples find a difference: CONTRACT, a row a number of seeds.

    `conditions`: one or two, each seed -> units frame. `difference`: how much better the candidate
    truly is, in units of the metric. `trials`: numbers of trials of a sample to plan for, a row
    each; or `cluster_size`: of samples in a cluster; None is as many as here. `done(name)` is
    called after each row.

    - `samples`: the least number under every seed, the same for both conditions, for which `power`
      of the simulated studies find it, as the primary metric at the level of `resampling`. Null
      where no number up to MOST does, or where a pilot of one seed says nothing of more.
    - `power`: that of these samples, or of MOST, with the pilot's own variance: above the power
      wanted, because a pilot may be wrong.
    - `samples_low`, `samples_high`: what the pilot leaves open, in LIKELY of the cases; null: no bound.
    - `calls` = seeds * samples * rows_per_sample, for one condition.
    - `rows_per_sample`: rows of a sample, on average (trials, turns, samples of a cluster).
    - `trials`, `cluster_size`: null where none was asked for.

    Studies of more than LARGE samples have the normal approximation (`approximate`). Raises
    UsageError as `pilot`, `Pilot.require` and `within_units` do, and for settings out of range.

    >>> from evaltools.core.metric import Metric
    >>> rng = np.random.default_rng(0)
    >>> old = pd.DataFrame({"id": range(60), "right": rng.random(60) < 0.5, "n": 1})
    >>> new = old.assign(right=old["right"] ^ (rng.random(60) < 0.2))
    >>> table = [Metric(name="accuracy", numerator="right", denominator="n", better="higher", proportion=True)]
    >>> plan([{"": old}, {"": new}], table, "id", "accuracy", 0.1, seeds=[1])[["seeds", "samples", "calls"]]
       seeds  samples  calls
    0      1      178    178
    """
    resampling = resampling or Resampling()
    sizes = {TRIALS: trials, CLUSTER_SIZE: cluster_size}
    _require_settings(difference, power, seeds, sizes, resampling.confidence)
    first = pilot(conditions, table, unit, metric, resampling)
    first.require(difference, unit)
    wanted = _Wanted.of(first, difference, power, resampling)
    rows = []
    for of_size in _sizes(wanted, conditions, table, unit, sizes):
        of_size.pilot.require(difference, unit)
        for k in dict.fromkeys(seeds):
            rows.append(_row(of_size, k))
            done(f"{k} seeds")
    frame = pd.DataFrame(rows, columns=list(CONTRACT))
    frame["rows_per_sample"] *= _rows_per_sample(conditions, unit)
    frame["calls"] = np.ceil(frame["seeds"] * frame["samples"] * frame["rows_per_sample"])
    whole = ["samples", "samples_low", "samples_high", "calls", "trials", "cluster_size"]
    return frame.astype(dict.fromkeys(whole, "Int64"))


def _sizes(
    wanted: _Wanted,
    conditions: Sequence[Runs],
    table: MetricTable,
    unit: str,
    sizes: Sizes,
) -> Iterator[_Wanted]:
    """What is wanted at each of the sizes that are asked for; at that of the pilot without any."""
    asked = [kind for kind, numbers in sizes.items() if numbers is not None]
    if not asked:
        yield wanted
        return
    kind = asked[0]
    compiled = compile_table(subset(table, [wanted.pilot.metric.name]))
    here = within_units(conditions, compiled, unit, kind)
    rng = np.random.default_rng([wanted.resampling.seed, 1])
    chance = _mean_square_draws(here.df, rng)
    likely_here = replace(here, sample=here.sample * chance, residual=here.residual * chance)
    for size in dict.fromkeys(sizes[kind] or ()):
        planned = here.planned(wanted.pilot.components, size)
        yield replace(
            wanted,
            pilot=wanted.pilot.varying(planned),
            others=likely_here.planned(wanted.others, size),
            size={kind: size, "rows_per_sample": size / here.size},
        )


def _rows_per_sample(
    conditions: Sequence[Runs],
    unit: str,
) -> float:
    """Rows of a unit, on average over all runs."""
    frames = [frame for runs in conditions for frame in runs.values()]
    n_units = sum(frame[unit].nunique() for frame in frames)
    return sum(len(frame) for frame in frames) / n_units


def _require_settings(
    difference: float,
    power: float,
    seeds: Sequence[int],
    sizes: Sizes,
    confidence: float,
) -> None:
    """UsageError for settings out of range."""
    if not 0 < difference < np.inf:
        raise UsageError(
            "difference: expected a finite number above 0, got {difference}",
            difference=f"{difference:g}",
        )
    if not 1 - confidence < power < 1:
        raise UsageError(
            "power: expected a number between {least:.2g} and 1, got {power}",
            least=1 - confidence,
            power=f"{power:g}",
        )
    if not seeds or min(seeds) < 1:
        raise UsageError("seeds: expected numbers of seeds, 1 or more")
    asked = [numbers for numbers in sizes.values() if numbers is not None]
    if len(asked) > 1:
        raise UsageError("trials, cluster_size: one of them can be planned for, not both")
    if any(not numbers or min(numbers) < 1 for numbers in asked):
        raise UsageError("trials, cluster_size: expected numbers of 1 or more")


def likely(
    c: Components,
    n: int,
    known: float,
    seeds: int,
    df_seeds: float,
    rng: np.random.Generator,
) -> Components:
    """PILOTS other sets of components under which these are as likely (Weerahandi).

    These make a generalized interval. Every mean square is taken by its degrees of freedom over
    a chi-square draw. Those of the samples are `known` - 1: fewer than n - 1, where a few samples
    hold most of the variance. `df_seeds` are those of the seeds.
    """
    of_sample = _mean_square_draws(known - 1.0, rng)
    of_seed = _mean_square_draws(df_seeds, rng)
    of_residual = _mean_square_draws((known - 1.0) * (seeds - 1.0), rng)
    residual = c.residual * of_residual
    between_seeds = (c.residual + n * c.seed) * of_seed
    between_samples = (c.residual + seeds * c.sample) * of_sample
    seed = np.maximum(between_seeds - residual, 0.0) / n
    sample = np.maximum(between_samples - residual, 0.0) / seeds
    return Components(seed, sample, residual, c.sides)


def _mean_square_draws(
    df: float,
    rng: np.random.Generator,
) -> Array:
    """(PILOTS,): df over draws of chi-square; 0 without degrees of freedom."""
    return df / rng.chisquare(df, PILOTS) if df > 0 else np.zeros(PILOTS)


def approximate(
    c: Components,
    difference: float,
    n: Any,
    seeds: int,
    confidence: float,
) -> Array:
    """Probability that a true difference is found, for normal cells.

    The study has n samples under each of so many seeds. Several seeds: noncentral t at the
    spread to expect. One seed: normal; its seed's own variance moves the difference that is seen,
    and no standard error knows of it.

    >>> round(float(approximate(Components(0.0, 0.04, 0.0), 0.05, 100, 1, 0.95)), 2)
    0.7
    """
    error, critical, df = c.spread(n, seeds).widest(confidence)
    if seeds == 1:
        return ndtr((difference - critical * error) / np.sqrt(c.seed + error**2))
    # far out nctdtr gives nan, which is a power of 1
    return 1 - np.nan_to_num(nctdtr(df, difference / error, critical))


def needed(
    c: Components,
    difference: float,
    seeds: int,
    power: float,
    confidence: float,
) -> Array:
    """The least n with that power (`approximate`), from MIN_UNITS to MOST; inf for more.

    >>> float(needed(Components(0.0, 0.04, 0.0), 0.05, 3, 0.8, 0.95))
    128.0
    """
    shape = np.shape(c.seed)

    def is_enough(n: Array) -> Array:
        # the power of nan is never enough
        return approximate(c, difference, n, seeds, confidence) >= power

    most = np.full(shape, float(MOST))
    n = least(is_enough, np.full(shape, float(MIN_UNITS)), most)
    return np.where(is_enough(most), np.ceil(n - 0.01), np.inf)


@dataclass(frozen=True)
class _Wanted:
    """What a plan looks for: so much power for a true difference, planned from a pilot.

    `others`: sets of components that are as likely as the pilot's. `size`: what the row of the plan
    says of the rows of a sample; `rows_per_sample` is a multiple of those in the pilot.
    """

    pilot: Pilot
    others: Components
    difference: float
    power: float
    resampling: Resampling
    size: Mapping[str, float]

    @classmethod
    def of(
        cls,
        pilot: Pilot,
        difference: float,
        power: float,
        resampling: Resampling,
    ) -> _Wanted:
        """With the samples of the pilot, whose seeds count if it tells their spread from chance."""
        rng = np.random.default_rng(resampling.seed)
        others = likely(
            pilot.components,
            pilot.n,
            pilot.known,
            pilot.seeds,
            pilot.df_seeds,
            rng,
        )
        size = {"rows_per_sample": 1.0}
        return cls(
            _with_known_seeds(pilot),
            others,
            difference,
            power,
            resampling,
            size,
        )

    def needed(
        self,
        components: Components,
        seeds: int,
    ) -> Array:
        """`needed` for normal cells of these components."""
        confidence = self.resampling.confidence
        return needed(
            components,
            self.difference,
            seeds,
            self.power,
            confidence,
        )

    def more_for_doubt(
        self,
        others: Components,
        seeds: int,
        normal: float,
    ) -> float:
        """How many times `normal` the samples must be for the power wanted on average over `others`.

        A pilot whose units vary too little by chance costs more power than one in which they vary
        too much brings.
        """
        if not np.isfinite(normal):
            return 1.0
        confidence = self.resampling.confidence

        def is_enough(times: Array) -> bool:
            n = times * normal
            power = approximate(
                others,
                self.difference,
                n,
                seeds,
                confidence,
            )
            return bool(power.mean() >= self.power)

        return float(least(is_enough, 1.0, MOST_DOUBT))

    def power_of(
        self,
        n: int,
        seeds: int,
    ) -> float:
        """Power of n samples under each of so many seeds: simulated, of many samples approximate."""
        if n <= LARGE:
            return simulated_power(
                self.pilot,
                self.difference,
                n,
                seeds,
                self.resampling,
            )
        confidence = self.resampling.confidence
        components = self.pilot.components
        return float(
            approximate(
                components,
                self.difference,
                n,
                seeds,
                confidence,
            )
        )


def _with_known_seeds(pilot: Pilot) -> Pilot:
    """The pilot without a spread of seeds that it does not tell from chance."""
    c = pilot.components
    df_residual = (pilot.known - 1.0) * (pilot.seeds - 1.0)
    if not c.seed or not c.residual or not df_residual:
        return pilot
    ratio = (c.residual + pilot.n * c.seed) / c.residual
    if fdtrc(pilot.df_seeds, df_residual, ratio) <= TOLD_APART:
        return pilot
    return replace(pilot, components=replace(c, seed=0.0))


def _row(
    wanted: _Wanted,
    seeds: int,
) -> dict[str, float]:
    """The row of a plan for one number of seeds."""
    row = {**wanted.size, "seeds": seeds, "samples": np.nan}
    if wanted.pilot.seeds == 1 < seeds:
        return row
    components = wanted.pilot.components
    others = wanted.others
    open_to = wanted.needed(others, seeds)
    middle = [(1 - LIKELY) / 2, (1 + LIKELY) / 2]
    low, high = np.quantile(open_to, middle, method="inverted_cdf")
    if not np.isfinite(low):
        low = np.nan

    normal = float(wanted.needed(components, seeds))
    enough = np.nan
    if np.isfinite(normal):
        enough = _enough(wanted, seeds, start=normal)
    if np.isnan(enough):
        return row | {"power": wanted.power_of(MOST, seeds), "samples_low": low}
    enough *= wanted.pilot.shortfall
    # the approximation may be off for these units; its range is moved by as much
    scale = enough / normal
    more = wanted.more_for_doubt(replace(others, seed=components.seed), seeds, normal)
    samples = int(min(np.ceil(enough * more), MOST))
    low = min(samples, np.ceil(low * scale))
    high = max(samples, np.ceil(high * scale)) if np.isfinite(high) else np.nan
    return row | {
        "samples": samples,
        "power": wanted.power_of(samples, seeds),
        "samples_low": low,
        "samples_high": high,
    }


def _enough(
    wanted: _Wanted,
    seeds: int,
    start: float,
) -> float:
    """The number of samples with the power wanted, by a line through simulated powers; nan for none.

    The least number that had the power would be one that was lucky. The line is that of the normal
    quantile of power by the logarithm of samples.
    """
    critical = ndtri(0.5 + wanted.resampling.confidence / 2)
    quantile = ndtri(wanted.power)
    tried: dict[int, float] = {}

    def quantile_at(n: float) -> float:
        whole = int(np.clip(n, MIN_UNITS, MOST))
        if whole not in tried:
            tried[whole] = wanted.power_of(whole, seeds)
        return float(ndtri(np.clip(tried[whole], LEAST_POWER, 1 - LEAST_POWER)))

    n = start
    for _ in range(TRIES):
        seen = quantile_at(n)
        if abs(ndtr(seen) - wanted.power) <= NEAR:
            break
        # a test's distance in standard errors grows with the root of n
        n = np.clip(n * ((quantile + critical) / (seen + critical)) ** 2, MIN_UNITS, MOST)
    for part in AROUND:
        quantile_at(part * n)

    near = [k for k, power in tried.items() if TOO_FAR < power < 1 - TOO_FAR / 10]
    if len(near) > 1:
        quantiles = [quantile_at(k) for k in near]
        slope, at_one = np.polyfit(np.log(near), quantiles, 1)
        if slope > 0:
            line = float(np.exp((quantile - at_one) / slope))
            return max(line, MIN_UNITS) if line <= MOST else np.nan
    return n if tried[max(tried)] >= wanted.power else np.nan
