"""One condition under several seeds: mean, spread and an interval that names its claim.

Claims: "new seeds and new samples" (the default across seeds: what to expect of another seed on other
samples), "these samples, new seeds" (`seeds_ci_low/high`), and, where there is one seed only, "new
samples, this system". Formulas and measured coverage: docs/statistics.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial

import numpy as np
import pandas as pd
from scipy.special import ndtri, stdtrit

from ..core.metric import MetricTable
from ..core.metric_matrix import Compiled, compile_table
from ..core.resampling import CONSTANT, Resampling
from .intervals import (
    MIN_UNITS,
    Bounds,
    Rule,
    effective_units,
    estimate,
    first_of,
    proportions,
    score_interval,
    t_quantile,
    t_wilson,
)
from .large_samples import in_blocks
from .seed_by_sample import (
    ALIKE,
    Crossed,
    Runs,
    SeedPool,
    grid,
    influence,
    negligible,
    sample_term,
    seed_mean,
    seed_pool,
    seed_term,
    spread,
)

CLAIM_ONE = "new samples, this system"
CLAIM_BOTH = "new seeds and new samples"

BY_COMPONENTS = ("variance components", "wilson, effective n", "t-wilson")

POOLED = "The spread of seeds is that of all conditions together (in comparisons, of sides whose seeds go apart)"

TWO_SEEDS = "Two seeds only: intervals that speak for new seeds are very wide."

CONTRACT = ("metric", "mean", "std", "n_seeds", "ci_low", "ci_high", "min", "max")
"""The columns of aggregated_mean_std.csv, in order."""


def seed_values(runs: Runs, table: MetricTable, unit: str) -> pd.DataFrame:
    """Every metric of every seed: metric, seed, value (nan: not measured), n_units (of the run)."""
    compiled, c = compile_table(table), grid(runs, unit)
    values = pd.DataFrame(compiled.values(c.totals(compiled.columns)), columns=compiled.names)
    frame = values.assign(seed=pd.Series(c.seeds, dtype=object), n_units=c.present.sum(axis=1))
    found = frame.melt(["seed", "n_units"], var_name="metric")
    return found[["metric", "seed", "value", "n_units"]]


def pooled_seeds(conditions: Iterable[Runs], table: MetricTable, unit: str) -> SeedPool:
    """What the seeds of several conditions differ by in every metric of the table, together."""
    grids = [grid(runs, unit) for runs in conditions]
    cells = max(len(g.units) * len(g.seeds) for g in grids)
    blocks = in_blocks(table, max(len(g.units) for g in grids), cells)
    pools = [
        seed_pool([seed_term(influence(c), c) for c in (g.cross(block) for g in grids)])
        for block in blocks
    ]
    return SeedPool.joined(pools)


def pool_notes(table: MetricTable, pools: Sequence[SeedPool]) -> list[str]:
    """For which metrics the seeds of several conditions count together, and for which not; [] for none.

    `pools`: those of the metrics of the table, some after others.
    """
    pool = SeedPool.joined(pools) if pools else None
    if pool is None or not (pool.alike | pool.unlike).any():
        return []
    apart = [
        m.title or m.name
        for m, x in zip(table, pool.unlike)
        if x and m.better != "none" and not m.alias_of
    ]
    if not apart:
        return [f"{POOLED}."]
    named = ", ".join(f"“{t}”" for t in apart[:3]) + (
        f" and {len(apart) - 3} more" if len(apart) > 3 else ""
    )
    return [
        f"{POOLED}; each has its own for {named}, where they differ too much (Bartlett's test, p ≤ {ALIKE})."
    ]


def aggregate(
    runs: Runs, table: MetricTable, unit: str, resampling: Resampling, pool: SeedPool | None = None
) -> pd.DataFrame:
    """One row a metric, over the seeds of one condition; `pool`: what the seeds of all conditions of a study say.

    Columns: those of CONTRACT; `ci_method`, `claim`; `seeds_ci_low`, `seeds_ci_high` (claim "these
    samples, new seeds": t over the per-seed values); `df` (of the t quantile); `var_share_seed`,
    `var_share_sample`, `var_share_residual` (parts of the variance of the mean: another seed, another
    sample, their interaction; they add to 1; null where no sample occurs in two seeds); `n_samples`
    (resampling units that take part in any seed); `title`, `group`, `better`.

    `mean`, `std` (ddof 1, nan for one seed), `min` and `max` are over the values of the seeds in which
    the metric is measured (`n_seeds`). `ci_method` is "variance components"; "t-wilson" (a metric within limits:
    Wilson's interval at the trials that the variance components amount to, by the method "auto"; else "wilson,
    effective n", of proportions only); "wilson" (a proportion without variation) or CONSTANT; "none" (a count, too
    few units, no variation); or, for one seed, what `intervals.estimate` says of that run. No interval is null.
    """
    seeds = grid(runs, unit)
    single = cache(
        partial(_single_runs, [runs[seed] for seed in seeds.seeds], table, unit, resampling)
    )
    place, found = 0, []
    for compiled in in_blocks(table, len(seeds.units), len(seeds.units) * len(seeds.seeds)):
        at = range(place, place := place + len(compiled.metrics))
        found.append(
            _aggregated(
                seeds.cross(compiled), resampling, partial(single, at), pool and pool.of(at)
            )
        )
    return pd.concat(found, ignore_index=True)


def _aggregated(
    c: Crossed, resampling: Resampling, single: Callable[[], Bounds], pool: SeedPool | None
) -> pd.DataFrame:
    """The rows of `aggregate`."""
    compiled, i, auto = c.compiled, influence(c), resampling.method == "auto"
    measured = ~np.isnan(i.values)
    n_seeds = measured.sum(axis=0)
    lowest, highest = np.fmin.reduce(i.values), np.fmax.reduce(i.values)
    # the mean of equal values is that value, without the rounding of a sum
    mean = np.where(lowest == highest, lowest, seed_mean(i.values, measured))
    std = np.sqrt(_ratio(seed_mean((i.values - mean) ** 2, measured) * n_seeds, n_seeds - 1.0))
    n = ((c.present[:, :, None] & measured[:, None, :]).any(axis=0) & i.part).sum(axis=0)
    own = seed_term(i, c)
    term = pool.term(own) if pool and auto else own
    weight = (
        effective_units(np.nan_to_num(seed_mean(c.shares @ compiled.sides[0][0], measured)))
        if auto
        else n
    )
    s = spread(sample_term(seed_mean(i.errors, measured), weight), term)
    variance = np.where(negligible(s.variance, i.values), 0.0, s.variance)
    error, critical, df = s.widest(resampling.confidence)
    error = np.where(variance == 0, 0.0, error)

    half = stdtrit(own.plain_df, 0.5 + resampling.confidence / 2) * np.sqrt(own.plain)
    # equal seeds say nothing about the next one's distance
    several = (n_seeds > 1) & ~compiled.counts & (std != 0)
    seeds_low, seeds_high = (
        np.where(several, bound, np.nan) for bound in _clipped(compiled, mean, half)
    )

    one, many = n_seeds == 1, (n_seeds > 1) & ~compiled.counts
    components = many & (n >= MIN_UNITS) & (variance > 0)
    plain = components, *_clipped(compiled, mean, error * critical), "variance components"
    if auto:
        rules = _scored(
            compiled, many, plain, (mean, error, weight, critical, df), resampling.confidence
        )
    else:
        rules = [_wilson(c, many, n, (mean, error, critical), resampling.confidence), plain]
    if one.any():
        alone = np.argmax(measured, axis=0), np.arange(len(one))
        rules.insert(0, (one, *(x[alone] for x in single())))
    low, high, method = first_of(*rules)

    by_components = np.isin(method.astype(str), BY_COMPONENTS)
    parts = s.from_seeds, s.from_samples, s.from_residual
    shares = [
        np.where(compiled.counts | (own.nested & many), np.nan, _ratio(v, variance)) for v in parts
    ]
    return pd.DataFrame(
        {
            "metric": compiled.names,
            "mean": mean,
            "std": std,
            "n_seeds": n_seeds,
            "ci_low": low,
            "ci_high": high,
            "min": lowest,
            "max": highest,
            "ci_method": method,
            "claim": np.where(method == "none", "", np.where(one, CLAIM_ONE, CLAIM_BOTH)),
            "seeds_ci_low": seeds_low,
            "seeds_ci_high": seeds_high,
            "df": np.where(by_components, df, np.nan),
            **dict(zip(("var_share_seed", "var_share_sample", "var_share_residual"), shares)),
            "n_samples": n,
            **compiled.each("title", "group", "better"),
        }
    )


def completeness(runs: Runs, table: MetricTable, unit: str) -> list[str]:
    """What a reader must know of the seeds: one seed only, missing samples, metrics not measured. [] is all well."""
    c, values, notes = grid(runs, unit), seed_values(runs, table, unit), []
    if len(c.seeds) == 1:
        notes.append(
            "One seed only: no standard deviation, and the intervals do not speak for another seed."
        )
    if len(c.seeds) == 2:
        notes.append(TWO_SEEDS)
    if len(c.units) == 1:
        notes.append("One sample only: no interval for new samples.")
    for seed, count in zip(c.seeds, c.present.sum(axis=1)):
        if count < len(c.units):
            notes.append(
                f"Seed {seed} has {count} of the {len(c.units)} samples that any seed has."
            )
    if len(c.seeds) > 1 and len(c.units) and c.present.sum() == len(c.units):
        notes.append(
            "No sample occurs in two seeds: the spread of seeds and of samples cannot be told apart."
        )
    elif (shared := int(c.present.all(axis=0).sum())) < len(c.units):
        notes.append(
            f"{shared} of {len(c.units)} samples occur in every seed; values of a seed rest on its own samples."
        )
    for name, of in values.groupby("metric", sort=False):
        lacking = of.loc[of["value"].isna(), "seed"].map(str).tolist()
        if 0 < len(lacking) < len(c.seeds):
            notes.append(
                f"{name} is not measured in seed {', '.join(lacking)}; it rests on the other seeds."
            )
    return notes


def _single_runs(
    runs: Sequence[pd.DataFrame], table: MetricTable, unit: str, resampling: Resampling, at: range
) -> Bounds:
    """The intervals of each run alone, of the metrics at these places: (runs, metrics)."""
    found = [estimate(frame, table, unit, resampling).iloc[at] for frame in runs]
    low, high, method = (
        np.array([f[column] for f in found]) for column in ("ci_low", "ci_high", "ci_method")
    )
    return low, high, method


def _scored(
    compiled: Compiled,
    many: np.ndarray,
    plain: Rule,
    of_mean: Sequence[np.ndarray],
    confidence: float,
) -> list[Rule]:
    """The rules of the method "auto": Wilson's interval for every metric within limits, else variance components.

    It reaches at least as far as that of no event (or of nothing else) in every sample, which would otherwise be
    wider than that of a single one.
    """
    mean, error, n, critical, df = of_mean
    (_, limits), (taken, _) = compiled.sides
    limits = np.where(taken.any(axis=0), np.nan, limits)
    z = np.where(proportions(compiled), ndtri(0.5 + confidence / 2), t_quantile(n - 1, confidence))
    low, high = t_wilson(mean, error**2, n, np.where(error > 0, critical, z), limits)
    least, most = (
        t_wilson(end, np.zeros_like(mean), n, z, limits)[k]
        for end, k in ((limits[1], 0), (limits[0], 1))
    )
    use, (components, plain_low, plain_high, name) = many & ~np.isnan(low), plain
    # a quantile without degrees of freedom to speak of would pull the interval over all that is possible
    wide = use & components & (df < 2)
    method = np.where(error > 0, "t-wilson", np.where(proportions(compiled), "wilson", CONSTANT))
    return [
        (wide, np.fmin(plain_low, least), np.fmax(plain_high, most), name),
        (use, np.fmin(low, least), np.fmax(high, most), method),
        plain,
    ]


def _wilson(
    c: Crossed, many: np.ndarray, n: np.ndarray, of_mean: Sequence[np.ndarray], confidence: float
) -> Rule:
    """The rule of the methods "bca" and "percentile": Wilson's interval for proportions (Korn and Graubard)."""
    mean, error, critical = of_mean
    trials = (c.totals.sum(axis=0) @ c.compiled.denominator)[
        [parts[0][0] for parts in c.compiled.parts]
    ]
    use, known = many & (n > 0) & proportions(c.compiled), (error > 0) & (mean > 0) & (mean < 1)
    # without variation the samples stand in, as if all seeds of a sample were one trial
    effective = np.where(known, np.fmin(_ratio(mean * (1 - mean), error**2), trials), n)
    z = np.where(known, critical, ndtri(0.5 + confidence / 2))
    share = np.where(known, mean, mean * n / np.maximum(n, 1))
    ends = score_interval(np.where(use, share, 0.5), np.where(use, effective, 1.0), z)
    return use, *ends, np.where(known, "wilson, effective n", "wilson")


def _ratio(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a / b, nan where b is not above 0."""
    return np.divide(a, b, out=np.full(np.shape(a), np.nan), where=b > 0)


def _clipped(
    compiled: Compiled, centre: np.ndarray, half: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """centre -+ half within the limits of every metric."""
    least, most = compiled.ends
    return np.maximum(centre - half, least), np.minimum(centre + half, most)
