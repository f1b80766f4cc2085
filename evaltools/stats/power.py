"""What a larger study would show: samples by seeds for a wanted difference, from a pilot.

A planned study is drawn from the pilot's own units, under the pilot's seed variance, and judged by
the rule that comparisons are judged by (`simulation`). The number of samples is searched from a
normal approximation on. Formulas and realised power: docs/statistics.md.

Reference: Weerahandi, "Generalized confidence intervals", JASA 88 (1993), for what the pilot leaves
open.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

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
from .within_units import CLUSTER_SIZE, TRIALS, WithinUnits, within_units

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


@dataclass(frozen=True)
class Goal:
    """What a study is to find: a true difference, with so much power, at the level of its intervals."""

    difference: float
    power: float = 0.8
    confidence: float = 0.95


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
    truly is, in units of the metric. `trials`, `cluster_size`: numbers of trials of a sample, or of
    samples in a cluster, to plan for. `done(name)` is called after each row.

    - `samples`: the least number under every seed, the same for both conditions, for which `power` of the simulated
      studies find it, as the primary metric at the level of `resampling`. Null where no number up to MOST does, or
      where a pilot of one seed says nothing of more.
    - `power`: that of these samples, or of MOST, with the pilot's own variance: above the power wanted, as a pilot errs.
    - `samples_low`, `samples_high`: what the pilot leaves open, in LIKELY of the cases; null: no bound.
    - `calls` = seeds * samples * rows_per_sample, for one condition.
    - `rows_per_sample`: rows of a sample, on average (trials, turns, samples of a cluster).

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
    goal = Goal(difference, power, resampling.confidence)
    asked = {TRIALS: trials, CLUSTER_SIZE: cluster_size}
    sizes = {kind: numbers for kind, numbers in asked.items() if numbers is not None}
    _require_settings(goal, seeds, sizes)
    first = pilot(conditions, table, unit, metric, resampling)
    first.require(difference, unit)
    others = likely(first, resampling.seed)
    as_it_is = _Size(_with_known_seeds(first), others, {}, _rows_per_sample(conditions, unit))
    planned = [as_it_is]
    for kind, numbers in sizes.items():
        here = within_units(conditions, compile_table(subset(table, [metric])), unit, kind)
        planned = _at_sizes(as_it_is, here, kind, numbers, resampling.seed)
    rows = []
    for size in planned:
        size.pilot.require(difference, unit)
        for number in dict.fromkeys(seeds):
            rows.append(_row(size, goal, number, resampling))
            done(f"{number} seeds")
    return _with_calls(pd.DataFrame(rows, columns=list(CONTRACT)))


def _with_calls(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of a plan with their calls, and whole numbers as such."""
    samples = table["samples"].astype(float)
    calls = np.ceil(table["seeds"] * samples * table["rows_per_sample"])
    whole = ["samples", "samples_low", "samples_high", "calls", "trials", "cluster_size"]
    return table.assign(calls=calls).astype(dict.fromkeys(whole, "Int64"))


class _Size(NamedTuple):
    """Rows of a unit that are planned for, with the pilot as it would be then.

    `others`: sets of components that are as likely as the pilot's. `columns`: TRIALS or
    CLUSTER_SIZE, where one is asked for.
    """

    pilot: Pilot
    others: Components
    columns: Mapping[str, int]
    rows_per_sample: float


def _at_sizes(
    as_it_is: _Size,
    here: WithinUnits,
    kind: str,
    numbers: Sequence[int],
    seed: int,
) -> list[_Size]:
    """What is planned for, at each number of rows in the groups of a kind."""
    rng = np.random.default_rng([seed, 1])
    chance = _mean_square_draws(here.df, rng)
    likely_here = replace(
        here,
        sample=here.sample * chance,
        residual=here.residual * chance,
    )
    sizes = []
    for number in dict.fromkeys(numbers):
        components = here.planned(as_it_is.pilot.components, number)
        size = _Size(
            as_it_is.pilot.varying(components),
            likely_here.planned(as_it_is.others, number),
            {kind: number},
            as_it_is.rows_per_sample * number / here.size,
        )
        sizes.append(size)
    return sizes


def _rows_per_sample(
    conditions: Sequence[Runs],
    unit: str,
) -> float:
    """Rows of a unit, on average over all runs."""
    frames = [frame for runs in conditions for frame in runs.values()]
    n_units = sum(frame[unit].nunique() for frame in frames)
    return sum(len(frame) for frame in frames) / n_units


def _require_settings(
    goal: Goal,
    seeds: Sequence[int],
    sizes: Mapping[str, Sequence[int]],
) -> None:
    """UsageError for settings out of range."""
    if not 0 < goal.difference < np.inf:
        raise UsageError(
            "difference: expected a finite number above 0, got {difference}",
            difference=f"{goal.difference:g}",
        )
    if not 1 - goal.confidence < goal.power < 1:
        raise UsageError(
            "power: expected a number between {least:.2g} and 1, got {power}",
            least=1 - goal.confidence,
            power=f"{goal.power:g}",
        )
    if not seeds or min(seeds) < 1:
        raise UsageError("seeds: expected numbers of seeds, 1 or more")
    if len(sizes) > 1:
        raise UsageError("trials, cluster_size: one of them can be planned for, not both")
    for numbers in sizes.values():
        if not numbers or min(numbers) < 1:
            raise UsageError("trials, cluster_size: expected numbers of 1 or more")


def likely(
    pilot: Pilot,
    seed: int,
) -> Components:
    """PILOTS other sets of components under which those of a pilot are as likely (Weerahandi).

    These make a generalized interval. Every mean square is taken by its degrees of freedom over
    a chi-square draw. Those of the samples are `pilot.known` - 1: fewer than n - 1, where a few
    samples hold most of the variance.
    """
    c, n, seeds = pilot.components, pilot.n, pilot.seeds
    df_samples = pilot.known - 1.0
    rng = np.random.default_rng(seed)
    of_sample = _mean_square_draws(df_samples, rng)
    of_seed = _mean_square_draws(pilot.df_seeds, rng)
    of_residual = _mean_square_draws(df_samples * (seeds - 1.0), rng)
    residual = c.residual * of_residual
    between_seeds = (c.residual + n * c.seed) * of_seed
    between_samples = (c.residual + seeds * c.sample) * of_sample
    return Components(
        seed=np.maximum(between_seeds - residual, 0.0) / n,
        sample=np.maximum(between_samples - residual, 0.0) / seeds,
        residual=residual,
        sides=c.sides,
    )


def _mean_square_draws(
    df: float,
    rng: np.random.Generator,
) -> Array:
    """(PILOTS,): df over draws of chi-square; 0 without degrees of freedom."""
    if df <= 0:
        return np.zeros(PILOTS)
    return df / rng.chisquare(df, PILOTS)


def approximate(
    c: Components,
    goal: Goal,
    n: Any,
    seeds: int,
) -> Array:
    """Probability that the true difference is found, for normal cells.

    The study has n samples under each of so many seeds. Several seeds: noncentral t at the
    spread to expect. One seed: normal; its seed's own variance moves the difference that is seen,
    and no standard error knows of it.

    >>> round(float(approximate(Components(0.0, 0.04, 0.0), Goal(0.05), 100, 1)), 2)
    0.7
    """
    error, critical, df = c.spread(n, seeds).widest(goal.confidence)
    if seeds == 1:
        beyond = goal.difference - critical * error
        return ndtr(beyond / np.sqrt(c.seed + error**2))
    # far out nctdtr gives nan, which is a power of 1
    return 1 - np.nan_to_num(nctdtr(df, goal.difference / error, critical))


def needed(
    c: Components,
    goal: Goal,
    seeds: int,
) -> Array:
    """The least n with the power wanted (`approximate`), from MIN_UNITS to MOST; inf for more.

    >>> float(needed(Components(0.0, 0.04, 0.0), Goal(0.05), 3))
    128.0
    """

    def is_enough(n: Array) -> Array:
        # the power of nan is never enough
        return approximate(c, goal, n, seeds) >= goal.power

    most = np.full(np.shape(c.seed), float(MOST))
    n = least(is_enough, np.full_like(most, MIN_UNITS), most)
    return np.where(is_enough(most), np.ceil(n - 0.01), np.inf)


def power_of(
    pilot: Pilot,
    goal: Goal,
    n: int,
    seeds: int,
    resampling: Resampling,
) -> float:
    """Power of n samples under each of so many seeds: simulated, of many samples approximate."""
    if n > LARGE:
        return float(approximate(pilot.components, goal, n, seeds))
    return simulated_power(pilot, goal.difference, n, seeds, resampling)


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
    size: _Size,
    goal: Goal,
    seeds: int,
    resampling: Resampling,
) -> dict[str, float]:
    """The row of a plan for one number of seeds, without its calls; what it lacks is null."""
    pilot, others, columns, rows_per_sample = size
    row = {**columns, "rows_per_sample": rows_per_sample, "seeds": seeds}
    if pilot.seeds == 1 < seeds:
        return row

    def power(n: int) -> float:
        return power_of(pilot, goal, n, seeds, resampling)

    open_to = needed(others, goal, seeds)
    middle = [(1 - LIKELY) / 2, (1 + LIKELY) / 2]
    low, high = np.quantile(open_to, middle, method="inverted_cdf")
    row["samples_low"] = low if np.isfinite(low) else np.nan

    normal = float(needed(pilot.components, goal, seeds))
    enough = np.nan
    if np.isfinite(normal):
        enough = _enough(power, goal, normal)
    if np.isnan(enough):
        return row | {"power": power(MOST)}
    # the approximation may be off for these units; its range is moved by as much
    enough *= pilot.shortfall
    scale = enough / normal
    same_seeds = replace(others, seed=pilot.components.seed)
    times = _for_doubt(same_seeds, goal, seeds, normal)
    samples = int(min(np.ceil(enough * times), MOST))
    row["samples"] = samples
    row["power"] = power(samples)
    row["samples_low"] = min(samples, np.ceil(low * scale))
    if np.isfinite(high):
        row["samples_high"] = max(samples, np.ceil(high * scale))
    return row


def _for_doubt(
    others: Components,
    goal: Goal,
    seeds: int,
    n: float,
) -> float:
    """How many times n the samples must be for the power wanted on average over `others`.

    A pilot whose units vary too little by chance costs more power than one in which they vary
    too much brings.
    """

    def is_enough(times: Array) -> bool:
        power = approximate(others, goal, times * n, seeds)
        return bool(power.mean() >= goal.power)

    return float(least(is_enough, 1.0, MOST_DOUBT))


def _enough(
    power_of: Callable[[int], float],
    goal: Goal,
    start: float,
) -> float:
    """The number of samples with the power wanted, from `start` on, by a line through simulated powers; nan for none.

    The least number that had the power would be one that was lucky. The line is that of the normal
    quantile of power by the logarithm of samples.
    """
    critical = ndtri(0.5 + goal.confidence / 2)
    wanted = ndtri(goal.power)
    powers: dict[int, float] = {}

    def quantile_at(n: float) -> float:
        """The normal quantile of the power of n samples, which is simulated once."""
        samples = int(np.clip(n, MIN_UNITS, MOST))
        if samples not in powers:
            powers[samples] = power_of(samples)
        power = np.clip(powers[samples], LEAST_POWER, 1 - LEAST_POWER)
        return float(ndtri(power))

    n = start
    for _ in range(TRIES):
        quantile = quantile_at(n)
        if abs(ndtr(quantile) - goal.power) <= NEAR:
            break
        # a test's distance in standard errors grows with the root of n
        further = (wanted + critical) / (quantile + critical)
        n = np.clip(n * further**2, MIN_UNITS, MOST)
    for part in AROUND:
        quantile_at(part * n)

    near = []
    for tried, power in powers.items():
        if TOO_FAR < power < 1 - TOO_FAR / 10:
            near.append(tried)
    if len(near) > 1:
        quantiles = [quantile_at(tried) for tried in near]
        slope, at_one = np.polyfit(np.log(near), quantiles, 1)
        if slope > 0:
            on_line = float(np.exp((wanted - at_one) / slope))
            return max(on_line, MIN_UNITS) if on_line <= MOST else np.nan
    return n if powers[max(powers)] >= goal.power else np.nan
