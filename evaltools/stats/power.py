"""What a larger study would show: samples by seeds for a wanted difference, from a pilot.

A planned study is drawn from the pilot's own units, under the pilot's seed variance, and judged by
the rule that comparisons are judged by (`simulation`). The number of samples is searched from a
normal approximation on. Formulas and realised power: docs/statistics.md.

Reference: Weerahandi, "Generalized confidence intervals", JASA 88 (1993), for what the pilot leaves
open.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import fdtrc, nctdtr, ndtr, ndtri

from ..core.errors import UsageError
from ..core.metric import MetricTable, subset
from ..core.metric_matrix import compile_table
from ..core.resampling import Resampling
from .arrays import LARGE, Array, least
from .design import Runs
from .intervals import MIN_UNITS
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

TRIES, AVERAGED = 7, 3
"""Numbers of samples that are tried, and those of the last of them whose mean is planned."""

FARTHEST = 4.0
"""A number that is tried is at most so many times the one before, or so many times less."""

LEAST_POWER = 0.0005
"""A simulated power of 0 or 1 counts as this far from it."""

TOO_LITTLE = 0.02
"""Samples whose power is so far below the power wanted are no plan: more do not help."""

TOLD_APART = 0.25
"""Level of the F test by which the spread of a pilot's seeds counts (Bancroft 1944)."""

MOST_DOUBT = 1.5
"""No plan has more than so many times the samples for what its pilot leaves open."""

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
    - `calls` = seeds * samples * rows_per_sample (trials, turns, samples of a cluster), for one condition.

    More than LARGE samples have the normal approximation. UsageError as `pilot`, for settings out of range too.

    >>> from evaltools.core.metric import Metric
    >>> rng = np.random.default_rng(0)
    >>> old = pd.DataFrame({"id": range(60), "right": rng.random(60) < 0.5, "n": 1})
    >>> new = old.assign(right=old["right"] ^ (rng.random(60) < 0.2))
    >>> table = [Metric(name="accuracy", numerator="right", denominator="n", better="higher", proportion=True)]
    >>> plan([{"": old}, {"": new}], table, "id", "accuracy", 0.1, seeds=[1])[["seeds", "samples", "calls"]]
       seeds  samples  calls
    0      1      176    176
    """
    resampling = resampling or Resampling()
    goal = Goal(difference, power, resampling.confidence)
    _require_settings(goal, seeds, trials, cluster_size)
    given = pilot(conditions, table, unit, metric, resampling)
    given.require(difference, unit)
    others = likely(given, resampling.seed)
    known = _with_known_seeds(given)
    planned: list[_Size] = [({}, _rows_per_sample(conditions, unit), known, others)]
    for kind, numbers in ((TRIALS, trials), (CLUSTER_SIZE, cluster_size)):
        if numbers is not None:
            here = within_units(conditions, compile_table(subset(table, [metric])), unit, kind)
            planned = _at_sizes(planned[0], here, kind, numbers, resampling.seed)
    rows = []
    for columns, rows_per_sample, of_size, others in planned:
        of_size.require(difference, unit)
        for number in dict.fromkeys(seeds):
            row = {**columns, "rows_per_sample": rows_per_sample, "seeds": number}
            if known.seeds > 1 or number == 1:
                row |= _row(of_size, others, goal, number, resampling)
            rows.append(row)
            done(f"{number} seeds")
    return _with_calls(pd.DataFrame(rows, columns=list(CONTRACT), dtype=float))


def _with_calls(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of a plan with their calls, and whole numbers as such."""
    calls = table["seeds"] * table["samples"] * table["rows_per_sample"]
    whole = [column for column in CONTRACT if column not in ("power", "rows_per_sample")]
    return table.assign(calls=np.ceil(calls)).astype(dict.fromkeys(whole, "Int64"))


_Size = tuple[dict[str, float], float, Pilot, Components]
"""TRIALS or CLUSTER_SIZE where one is asked for; rows of a sample; the pilot and the sets of
components that are as likely, as they would be then."""


def _at_sizes(
    as_it_is: _Size,
    here: WithinUnits,
    kind: str,
    numbers: Sequence[int],
    seed: int,
) -> list[_Size]:
    """What is planned for, at each number of rows in the groups of a kind."""
    _, rows_per_sample, pilot, others = as_it_is
    chance = here.df / np.random.default_rng([seed, 1]).chisquare(here.df, PILOTS)
    likely_here = replace(here, sample=here.sample * chance, residual=here.residual * chance)
    sizes = []
    for number in dict.fromkeys(numbers):
        size: _Size = (
            {kind: number},
            rows_per_sample * number / here.size,
            pilot.varying(here.planned(pilot.components, number)),
            likely_here.planned(others, number),
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
    trials: Sequence[int] | None,
    cluster_size: Sequence[int] | None,
) -> None:
    """UsageError for settings out of range."""
    if trials is not None and cluster_size is not None:
        raise UsageError("trials, cluster_size: one of them can be planned for, not both")
    asked = [numbers for numbers in (seeds, trials, cluster_size) if numbers is not None]
    is_difference = 0 < goal.difference < np.inf
    is_power = 1 - goal.confidence < goal.power < 1
    are_numbers = all(numbers and min(numbers) >= 1 for numbers in asked)
    if is_difference and is_power and are_numbers:
        return
    raise UsageError(
        "a plan needs a difference above 0, a power between "
        f"{1 - goal.confidence:.2g} and 1, and numbers of seeds (and trials, or "
        f"samples of a cluster) from 1 on; got {goal.difference:g}, "
        f"{goal.power:g}, {list(map(list, asked))}"
    )


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

    def drawn(df: float) -> Array:
        return df / rng.chisquare(df, PILOTS) if df > 0 else np.zeros(PILOTS)

    between_samples = (c.residual + seeds * c.sample) * drawn(df_samples)
    between_seeds = (c.residual + n * c.seed) * drawn(pilot.df_seeds)
    residual = c.residual * drawn(df_samples * (seeds - 1.0))
    return Components(
        seed=np.maximum(between_seeds - residual, 0.0) / n,
        sample=np.maximum(between_samples - residual, 0.0) / seeds,
        residual=residual,
        sides=c.sides,
    )


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
    pilot: Pilot,
    others: Components,
    goal: Goal,
    seeds: int,
    resampling: Resampling,
) -> dict[str, float]:
    """What a plan says of one number of seeds: samples, power, samples_low, samples_high."""

    def power(n: float) -> float:
        samples = int(np.ceil(n))
        if samples > LARGE:
            return float(approximate(pilot.components, goal, samples, seeds))
        return simulated_power(
            pilot,
            goal.difference,
            samples,
            seeds,
            resampling,
        )

    middle = [(1 - LIKELY) / 2, (1 + LIKELY) / 2]
    low, high = np.quantile(needed(others, goal, seeds), middle, method="inverted_cdf")
    row = {"samples_low": low if np.isfinite(low) else np.nan}
    normal = float(needed(pilot.components, goal, seeds))
    if not np.isfinite(normal):
        return row | {"power": power(MOST)}
    enough = _enough(power, goal, normal)
    # samples vary more than units drawn from the pilot: the mean that these are moved to takes a
    # degree of freedom beside their own
    enough *= pilot.n / (pilot.n - 2)
    same_seeds = replace(others, seed=pilot.components.seed)
    samples = np.ceil(enough * _for_doubt(same_seeds, goal, seeds, normal))
    samples = min(samples, MOST)
    row["power"] = power(samples)
    if row["power"] < goal.power - TOO_LITTLE:
        return row
    # the approximation may be off for these units; its range is moved by as much
    scale = enough / normal
    row["samples"] = samples
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
        power = approximate(
            others,
            goal,
            times * n,
            seeds,
        )
        return bool(power.mean() >= goal.power)

    return float(least(is_enough, 1.0, MOST_DOUBT))


def _enough(
    power_of: Callable[[float], float],
    goal: Goal,
    start: float,
) -> float:
    """The number of samples with the power wanted, looked for from `start` on.

    A test's distance in standard errors grows with the number of samples, at least with its root:
    each power says where to look next. The mean of the last numbers evens out the chance in
    simulated powers.
    """
    critical = ndtri(0.5 + goal.confidence / 2)
    wanted = ndtri(goal.power) + critical
    n = start
    tried = []
    for _ in range(TRIES):
        power = np.clip(power_of(n), LEAST_POWER, 1 - LEAST_POWER)
        seen = ndtri(power) + critical
        times = wanted / seen if seen > 0 else FARTHEST
        n *= np.clip(times, 1 / FARTHEST, FARTHEST)
        n = float(np.clip(n, MIN_UNITS, MOST))
        tried.append(n)
    return float(np.mean(tried[-AVERAGED:]))
