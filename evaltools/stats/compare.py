"""Paired comparison of two conditions: deltas with intervals, sign-flip p-values, families of metrics, verdicts.

Everything rests on the cells (sample, seed) that both sides have; what is left out is counted. All
metrics go through one set of weights and one set of signs. Swapping the sides negates every delta and
interval and keeps every p, bit for bit. Formulas and measured error rates: docs/statistics.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtr

from ..core.errors import UsageError
from ..core.language import say
from ..core.metric import MetricTable, subset
from ..core.metric_matrix import Compiled, compile_table
from ..core.names import nearest
from ..core.resampling import Resampling
from .arrays import rounded
from .bootstrap import resampled
from .bounds import Intervals
from .design import Grid, Runs, grid, pair
from .detectable import smallest_difference, units_needed
from .influence import Paired, cell_sums, seed_mean
from .intervals import CARRIES, MIN_UNITS
from .large_samples import metric_groups
from .multiplicity import shared_seeds, step_down
from .score_intervals import deciding, mover, proportions, score_bounds, share_correlation
from .seed_variance import SeedPool, seed_pool, seed_term
from .seeds import CLAIM_BOTH, TWO_SEEDS, pool_notes
from .sign_flips import flipped_p, sign_flip
from .variance import Spread, negligible, sample_term, spread_of_pair, spread_of_samples

NONE_DIFFER = "too few: none of {n} differ"

CLAIM_SYSTEMS = "new samples, these systems"
CLAIM_THESE_SEEDS = "new samples, these seeds"

CONTRACT = (
    "metric", "baseline", "candidate", "value_baseline", "value_candidate", "delta", "ci_low", "ci_high", "p_value",
    "p_adjusted", "n_units", "n_seeds", "verdict", "primary", "mde", "margin", "equivalence_low", "equivalence_high",
)  # fmt: skip
"""The columns of comparison.csv, in order."""

DETAILS = (
    "ci_method", "claim", "p_samples", "df", "level", "n_differ", "headline", "family", "better", "title", "group",
    "alias_of", "each", "var_seed", "var_sample", "var_residual",
)  # fmt: skip

UNDIRECTED = [
    "p_adjusted", "verdict", "primary", "margin", "equivalence_low", "equivalence_high", "level", "headline",
    "family",
]  # fmt: skip
"""The columns that say nothing of a metric without a direction."""

ROUGH = 5
"""Below so many degrees of freedom a standard error is known to one digit, and so is what rests on it."""

NAMED = 5
"""At most so many metrics are named in a note; of more, only those of the headline."""


class NothingPaired(UsageError):
    """Two sides that share no unit."""


@dataclass(frozen=True)
class Comparison:
    """Candidate against baseline.

    `table`: one row a metric that has a direction: CONTRACT (`primary`: the metric that is tested alone; `mde`:
    the smallest true difference that these data show with 80% power at `level`, to one digit below ROUGH degrees
    of freedom and two else; `margin` as declared and the interval of the test of equivalence within it), then
    `ci_method`, `claim`, `p_samples` (sign flips alone), `df` of the standard error, `level` that `p_value` must
    keep (in the family that of its step), `n_differ` (paired units whose difference is not 0), `headline`,
    `family` (the primary metric, the headline and their aliases; what is outside is exploratory), `better`,
    `title`, `group`, `alias_of`, `each` (mean size of a paired difference that is not 0, as a part of delta),
    `var_seed`, `var_sample`, `var_residual` (parts of the variance of delta). `descriptive`: the metrics without
    a direction and the plain counts, which can be neither better nor worse: the same columns but UNDIRECTED.
    `unpaired`: cells, units and seeds of each side that take no part. `identical`: every paired cell is the same
    on both sides. `notes`: what a reader must know.
    """

    table: pd.DataFrame = field(repr=False)
    descriptive: pd.DataFrame = field(repr=False)
    unpaired: dict[str, int]
    notes: list[str]
    paired_by: str
    identical: bool = False


def compare(
    baseline: Runs,
    candidate: Runs,
    table: MetricTable,
    unit: str,
    resampling: Resampling,
    headline: Sequence[str] = (),
    primary: str | None = None,
    margin: Mapping[str, float] | None = None,
    n_permutations: int = 10_000,
    names: tuple[str, str] = ("baseline", "candidate"),
    pool: SeedPool | None = None,
) -> Comparison:
    """Compare two conditions (seed -> units frame) over every metric of a table.

    `value_baseline`, `value_candidate` and `delta` (their difference, exactly) are over the paired cells,
    means over the seeds in which both sides are measured; values of whole runs are `seeds.aggregate`'s.
    Interval: one seed each, or one seed on a side: bootstrap with the same weights for both sides, or, by the method
    "auto", where one seed each do not carry it, "mover": the score intervals of the sides put together; several
    seeds: variance components of the difference, for new seeds and new samples. `p_value`: two-sided
    paired sign-flip permutation test over resampling units, mid-p for proportions; with several seeds the larger
    of it and the p of the variance components, so that a difference must stand out from the seeds too.
    `p_adjusted`: that of the primary metric (default: the first headline metric with a direction) is its p; that of
    the other headline metrics is Westfall and Young's over them (`family.step_down`); null for all else. `margin`
    (metric -> largest difference that does not matter, in units of the metric): equivalence within it is tested by
    two one-sided tests, at the interval's level each. `pool`: what the seeds of all conditions of a study say of each
    metric (`seeds.pooled_seeds`); by default those of both sides. For more than LARGE paired units bootstrap and sign
    flips have closed forms (`many.py`).

    The verdict is `verdicts`'s; an alias has its metric's verdict and p.

    Raises ValueError for a headline name that the table lacks, for no run, and for a null unit; UsageError for a
    primary metric or margin that cannot be tested; NothingPaired for sides without a unit in common.

    >>> from evaltools.core.metric import Metric
    >>> table = [Metric(name="accuracy", numerator="right", denominator="n", better="higher", proportion=True)]
    >>> old = pd.DataFrame({"id": range(40), "right": [1, 0] * 20, "n": 1})
    >>> new = old.assign(right=[1, 0, 1, 1] * 10)
    >>> found = compare({None: old}, {None: new}, table, "id", Resampling(), ["accuracy"]).table
    >>> found[["metric", "delta", "ci_low", "ci_high", "verdict"]]
         metric  delta    ci_low   ci_high verdict
    0  accuracy   0.25  0.105892  0.377849  better
    """
    compiled = compile_table(table)
    if unknown := sorted(set(headline) - set(compiled.names)):
        raise ValueError(f"headline metrics that the table lacks: {unknown}")
    directed = _directed(compiled)
    require_declared(table, primary, margin or {}, resampling.confidence)
    place = {name: m for m, name in enumerate(compiled.names)}
    own = np.array([place.get(m.alias_of, i) for i, m in enumerate(compiled.metrics)], dtype=int)
    lead = [own[place[name]] for name in ([primary] if primary else []) + list(headline)]
    family = [m for m in dict.fromkeys(lead) if directed[m]]
    margins = np.full(len(own), np.nan)
    for name, x in (margin or {}).items():
        margins[own[place[name]]] = x
    sides = [grid(runs, unit) for runs in (baseline, candidate)]
    a, b, by_seed, unpaired = pair(*sides)
    if not len(a.units):
        each = " and ".join(f"{name} ({len(side.units)} units)" for name, side in zip(names, sides))
        under = " under a common seed" if by_seed and any(a.seeds) else ""
        raise NothingPaired(f"{each} share no {unit}{under}: nothing to compare")

    n_cells = len(a.units) * (len(a.seeds) + len(b.seeds))
    identical = True
    measured, pools, of_family = [], [], {}
    for group in metric_groups(table, len(a.units), n_cells):
        one, other = cell_sums(a, group), cell_sums(b, group)
        identical &= np.array_equal(one.present, other.present)
        identical &= np.array_equal(one.sums, other.sums)
        metrics = [place[name] for name in group.names]
        tested = evidence(
            Paired(one, other, by_seed),
            n_permutations,
            resampling,
            pool.take(metrics) if pool else None,
        )
        measured.append(_measured(tested, margins[metrics], resampling))
        pools.append(tested.pool)
        for column, metric in enumerate(metrics):
            if metric in family:
                of_family[metric] = tested.differences[:, column].copy()
    frame = pd.concat(measured, ignore_index=True).assign(
        margin=margins,
        primary=np.isin(np.arange(len(own)), family[:1]),
        family=np.isin(np.arange(len(own)), family),
    )
    others = [
        m for m in family[1:] if frame["p_value"].notna()[m] and frame["n_units"][m] >= MIN_UNITS
    ]
    level = round(1 - resampling.confidence, 12)
    frame["level"], frame["p_adjusted"] = level, frame["p_value"].where(frame["primary"])
    frame["error_shared"] = frame["df_shared"] = np.nan
    if others:
        differences = np.stack([of_family[m] for m in others], axis=1)
        shared = judged_together(frame.loc[others], differences, n_permutations, resampling)
        frame.loc[others, ["p_adjusted", "level", "error_shared", "df_shared"]] = np.array(shared).T
    frame = _judged(compiled, frame, own, level).assign(
        baseline=names[0],
        candidate=names[1],
        headline=[n in headline or n == primary for n in compiled.names],
    )[[*CONTRACT, *DETAILS]]
    return Comparison(
        table=frame[directed].reset_index(drop=True),
        descriptive=frame[~directed].drop(columns=UNDIRECTED).reset_index(drop=True),
        unpaired=unpaired,
        notes=_notes((a, b), by_seed, sides, unpaired, frame[directed], names, identical)
        + ([] if pool else pool_notes(table, [p for p in pools if p])),
        paired_by="sample and seed" if by_seed else "sample",
        identical=identical,
    )


def _directed(compiled: Compiled) -> np.ndarray:
    """Whether each metric can be better or worse."""
    return np.array([m.better != "none" for m in compiled.metrics], dtype=bool) & ~compiled.counts


def require_declared(
    table: MetricTable, primary: str | None, margin: Mapping[str, float], confidence: float = 0.95
) -> None:
    """UsageError unless a primary metric and margins, as declared, can be tested."""
    compiled = compile_table(table)
    directed = dict(zip(compiled.names, _directed(compiled)))
    for what, name in [("primary", primary)] * bool(primary) + [
        ("margin", name) for name in margin
    ]:
        if name not in directed:
            raise UsageError(f"{what}: no metric {name!r}; {nearest(str(name), compiled.names)}")
        if not directed[name]:
            raise UsageError(
                f"{what}: {name} has no direction, so that it can be neither better nor worse"
            )
    for name, x in margin.items():
        if not 0 < x < np.inf:
            raise UsageError(f"margin of {name}: expected a finite number above 0, got {x:g}")
    if margin and confidence <= 0.5:
        raise UsageError(f"a margin needs intervals of more than 50%, not {confidence:.0%}")


def _judged(compiled: Compiled, found: pd.DataFrame, own: np.ndarray, level: float) -> pd.DataFrame:
    """What was measured and adjusted, with the verdicts and the metrics' own columns; aliases as their metrics."""
    units = units_needed(found["level"].to_numpy(), found["mid"].to_numpy())
    error, df, at, each = (found[c].to_numpy() for c in ("error", "df", "level", "each"))
    # of a proportion: the share of a difference that comes as more units which differ, not as others that differ less
    middle = (found["value_baseline"] + found["value_candidate"]) / 2
    more = (
        (1 - each * found["n_differ"] / np.maximum(middle, 1 - middle))
        .clip(0, 1)
        .where(found["mid"])
    )
    # of metrics that are judged together, not below what the seeds' share in the family allows
    spread = (error, df), (found["error_shared"].to_numpy(), found["df_shared"].to_numpy())
    mde = np.fmax(*(smallest_difference(*of, at, each, units, more.to_numpy()) for of in spread))
    judged = found.assign(
        delta=found["value_candidate"] - found["value_baseline"],
        mde=[
            _digits(x, df)
            for x, df in zip(np.where(found["ci_low"].notna(), mde, np.nan), found["df"])
        ],
        few_differ=found["n_differ"] < units,
        **compiled.each("better"),
    )
    judged["verdict"] = verdicts(judged, level)
    of_metric = [
        "p_value",
        "p_samples",
        "p_adjusted",
        "level",
        "verdict",
        "primary",
        "family",
        "mde",
    ]
    of_metric += ["margin", "equivalence_low", "equivalence_high"]
    judged = judged.assign(**{column: judged[column].to_numpy()[own] for column in of_metric})
    ends = {bound: judged[bound] + 0.0 for bound in ("ci_low", "ci_high")}  # no -0.0
    return judged.assign(
        metric=compiled.names, **ends, **compiled.each("title", "group", "alias_of")
    )


def _digits(x: float, df: float) -> float:
    """The number as far as it is known."""
    return float(f"{x:.{0 if df < ROUGH else 1}e}")


def verdicts(found: pd.DataFrame, level: float) -> np.ndarray:
    """The verdict of every metric (a row of `found`), the first of these that holds; `level` as 0.05.

    not measured: a side has no value. too few: fewer than MIN_UNITS paired units. better, worse: p (adjusted
    in the family) is within the level and the interval, where there is one, leaves out 0. equivalent: the interval
    at 1 - 2 * level lies within the declared margin. too few: so few units differ that p, whatever their signs,
    could not have come within the level (`few_differ`). tied: all else; no difference was shown, which is not to say
    that there is none.
    """
    with np.errstate(invalid="ignore"):
        p = found["p_adjusted"].fillna(found["p_value"])
        shown = (p <= level) & ~((found["ci_low"] <= 0) & (found["ci_high"] >= 0))
    up = (found["delta"] > 0) == (found["better"] != "lower")
    cases = [
        (found["delta"].isna(), "not measured"),
        (found["n_units"] < MIN_UNITS, "too few"),
        (shown & up, "better"),
        (shown, "worse"),
        (within_margin(found), "equivalent"),
        (found["few_differ"], "too few"),
    ]
    return np.select([where for where, _ in cases], [verdict for _, verdict in cases], "tied")


def within_margin(row: Any) -> Any:
    """Whether the difference of a row (or of every row of a frame) was shown to lie within its margin."""
    return (row["equivalence_low"] > -row["margin"]) & (row["equivalence_high"] < row["margin"])


@dataclass(frozen=True)
class Evidence:
    """What a pair of conditions shows without an interval; arrays over metrics.

    `differences` (units, metrics) are `Paired.null_errors`. `error` and `df` are those of delta, `spread` what they
    are made of. `pool` of the seeds, where there is one; `pooled`: whether it is what the seeds of a metric's sides
    are said to differ by.
    """

    paired: Paired
    differences: np.ndarray
    p_samples: np.ndarray
    p_value: np.ndarray
    error: np.ndarray
    df: np.ndarray
    spread: Spread
    pool: SeedPool | None
    pooled: np.ndarray

    @property
    def several(self) -> np.ndarray:
        return self.paired.n_seeds > 1

    def together(self) -> pd.DataFrame:
        """What `judged_together` needs of every metric; what seeds bring to the variance is null for one seed."""
        seeds, paired = self.spread.from_seeds, self.paired
        return pd.DataFrame(
            {
                "p_value": self.p_value,
                "delta": paired.delta,
                "of_samples": self.spread.variance - seeds,
                "of_seeds": np.where(self.several, seeds, np.nan),
                "n_units": paired.n_units,
                "df_seeds": (paired.n_seeds - 1.0) * np.where(self.pooled, 2, 1),
                "mid": proportions(paired.baseline.compiled),
            }
        )


def evidence(
    paired: Paired, n_permutations: int, resampling: Resampling, pool: SeedPool | None = None
) -> Evidence:
    """The p of every metric alone, and the standard error of its delta.

    `pool`: what the seeds of all conditions of a study say (by default those of both sides); where they are alike,
    the seeds of each side differ by that. Not for the methods "bca" and "percentile".
    """
    counts, delta = paired.baseline.compiled.counts, paired.delta
    several = paired.n_seeds > 1
    sample = sample_term(paired.errors, paired.n_units)
    of_samples = spread_of_samples(sample)
    own = (
        [seed_term(paired.a, paired.baseline), seed_term(paired.b, paired.candidate)]
        if several.any()
        else []
    )
    pool = (pool or seed_pool(own)) if own and resampling.method == "auto" else None
    crossed, pooled = (
        spread_of_pair(paired, sample, own, pool) if own else (of_samples, np.zeros_like(several))
    )
    found = crossed.where(several, of_samples)
    error, _, df = found.widest(resampling.confidence)
    error = np.where(
        negligible(error**2, np.concatenate([paired.a.values, paired.b.values])), 0.0, error
    )
    differences = rounded(paired.null_errors)
    p_samples = sign_flip(
        differences, n_permutations, resampling.seed, proportions(paired.baseline.compiled)
    )
    p_samples = np.where(np.isnan(delta) | counts, np.nan, p_samples)
    p_value = np.where(several & (error > 0), np.fmax(p_samples, found.p_value(delta)), p_samples)
    p_value = np.where(counts, np.nan, p_value)
    return Evidence(paired, differences, p_samples, p_value, error, df, found, pool, pooled)


def judged_together(
    of: pd.DataFrame, differences: np.ndarray, n_permutations: int, resampling: Resampling
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Adjusted p, level, standard error and df of metrics of a family: rows of `Evidence.together`."""
    error, df = shared_seeds(
        *(of[c].to_numpy(float) for c in ("of_samples", "of_seeds", "n_units", "df_seeds"))
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        p = np.fmax(
            of["p_value"].to_numpy(float),
            2 * stdtr(df, -np.abs(of["delta"].to_numpy(float)) / error),
        )
    flipped = flipped_p(differences, n_permutations, resampling.seed, of["mid"].to_numpy(bool))
    steps = step_down(p, flipped, round(1 - resampling.confidence, 12))
    return steps.p, steps.level, error, df


def decide(
    paired: Paired, resampling: Resampling, n_permutations: int = 1_000, family: Sequence[int] = ()
) -> np.ndarray:
    """1 or -1 where the delta of a metric is shown to lie above or below 0, else 0.

    Every metric is judged as the primary one, but those at the places in `family` are adjusted together. The rule of
    `verdicts` without the bootstrap of single seeds, whose interval leaves out 0 where p is small: quick enough for
    simulations.
    """
    found, level = (
        evidence(paired, n_permutations, resampling),
        round(1 - resampling.confidence, 12),
    )
    enough = (paired.n_units >= MIN_UNITS) & ~np.isnan(found.p_value)
    p, at = found.p_value.copy(), [m for m in family if enough[m]]
    if at:
        p[at] = judged_together(
            found.together().iloc[at], found.differences[:, at], n_permutations, resampling
        )[0]
    return np.where(enough & (p <= level), np.sign(paired.delta), 0.0)


def _measured(tested: Evidence, margin: np.ndarray, resampling: Resampling) -> pd.DataFrame:
    """Every metric on its own: values, interval, p, units and seeds that take part, and the claim."""
    paired, differences = tested.paired, tested.differences
    counts, delta, n_units = paired.baseline.compiled.counts, paired.delta, paired.n_units
    wanted = ~np.isnan(delta) & ~counts & (n_units >= MIN_UNITS) & (tested.error > 0)
    intervals = _intervals(tested, wanted, resampling)
    inside = resampling.model_copy(update={"confidence": max(2 * resampling.confidence - 1, 0.01)})
    equivalence = _intervals(tested, wanted & ~np.isnan(margin), inside)
    n_differ = (differences != 0).sum(axis=0)
    return pd.DataFrame(
        {
            "value_baseline": paired.value_a,
            "value_candidate": paired.value_b,
            "ci_low": intervals.low,
            "ci_high": intervals.high,
            "equivalence_low": equivalence.low,
            "equivalence_high": equivalence.high,
            **tested.together(),
            "n_seeds": paired.n_seeds,
            "ci_method": intervals.method,
            "claim": np.where(np.isnan(delta) | counts, "", _claims(paired)),
            "p_samples": tested.p_samples,
            "error": tested.error,
            "df": np.where(wanted, tested.df, np.nan),
            "each": np.abs(differences).sum(axis=0) / np.maximum(n_differ, 1),
            "n_differ": n_differ,
            "var_seed": tested.spread.from_seeds,
            "var_sample": tested.spread.from_samples,
            "var_residual": tested.spread.from_residual,
        }
    )


def _claims(paired: Paired) -> np.ndarray:
    one_each = (paired.in_a.sum(axis=0) == 1) & (paired.in_b.sum(axis=0) == 1)
    return np.where(
        paired.n_seeds > 1, CLAIM_BOTH, np.where(one_each, CLAIM_SYSTEMS, CLAIM_THESE_SEEDS)
    )


def _intervals(tested: Evidence, wanted: np.ndarray, resampling: Resampling) -> Intervals:
    """The intervals of the delta of the wanted metrics."""
    paired, delta = tested.paired, tested.paired.delta
    intervals = Intervals.none(len(delta))
    alone = wanted & ~tested.several
    if resampling.method == "auto" and len(paired.a.values) == len(paired.b.values) == 1:
        low, high = _moved(paired, resampling.confidence)
        moved = alone & ~np.isnan(low) & (deciding(paired.errors) < CARRIES)
        intervals.fill(moved, low, high, "mover")
        alone &= ~moved
    if alone.any():
        sums = [paired.baseline.sums, paired.candidate.sums]
        drawn = resampled(sums, paired.delta_of, paired.errors, paired.bias, alone, resampling)
        intervals.fill(drawn.method != "none", drawn.low, drawn.high, drawn.method)
    half = tested.error * tested.spread.widest(resampling.confidence)[1]
    intervals.fill(wanted, delta - half, delta + half, "variance components")
    return intervals


def unit_changes(
    baseline: Runs, candidate: Runs, table: MetricTable, unit: str, metric: str
) -> pd.DataFrame:
    """The paired values of one metric unit by unit: `unit`, baseline, candidate, change, influence.

    `influence` is what the unit brings into the difference of the whole, linearised at the mean of both sides: its
    change / n for a mean over n units. A unit's value is the metric of that unit alone (its own ratio of sums),
    averaged over the paired seeds in which both sides have it; units without a value on either side are left out.
    ValueError for a metric that the table lacks.
    """
    if metric not in {m.name for m in table}:
        raise ValueError(f"no metric {metric!r} in the table")
    compiled = compile_table(subset(table, [metric]))
    a, b, by_seed, _ = pair(*(grid(runs, unit) for runs in (baseline, candidate)))
    units = a.units.astype(object)
    one, other = (
        np.where(side.present, compiled.values(side.sums(compiled.columns))[:, :, 0], np.nan)
        for side in (a, b)
    )
    if by_seed:
        one, other = np.where(np.isnan(other), np.nan, one), np.where(np.isnan(one), np.nan, other)
    mean_a, mean_b = (seed_mean(side, ~np.isnan(side)) for side in (one, other))
    crossed = [cell_sums(side, compiled) for side in (a, b)]
    at = np.nan_to_num(compiled.ratios(sum(c.totals.sum(axis=0) for c in crossed)[None]))
    before, after = (c.errors(at).mean(axis=0)[:, 0] for c in crossed)
    values = {
        "baseline": mean_a,
        "candidate": mean_b,
        "change": mean_b - mean_a,
        "influence": after - before,
    }
    frame = pd.DataFrame({unit: units, **values})
    return frame.dropna(subset=["change"]).reset_index(drop=True)


def differing(changes: pd.DataFrame) -> pd.DataFrame:
    """The units of `unit_changes` whose value differs, the largest influence first."""
    found = changes[changes["change"] != 0]
    return found.sort_values(
        "influence", key=abs, ascending=False, kind="stable", ignore_index=True
    )


def p_text(p: float) -> str:
    """A p value in three digits; "" for none. A sentence has "p" before it.

    >>> p_text(0.00004), p_text(0.0312)
    ('< 0.001', '= 0.031')
    """
    if pd.isna(p):
        return ""
    return "< 0.001" if p < 0.001 else f"= {p:.3f}"


def mde_text(row: Mapping[Any, Any]) -> str:
    """The smallest difference that could be shown, with the digits that are known; "" for none.

    >>> mde_text({"mde": 0.1, "df": 30}), mde_text({"mde": 0.1, "df": 2})
    ('0.10', '0.1')
    """
    if pd.isna(row["mde"]):
        return ""
    digits = 1 if row["df"] < ROUGH else 2
    return np.format_float_positional(
        row["mde"], digits, unique=False, fractional=False, trim="k"
    ).removesuffix(".")


WORDS = {"tied": "not shown to differ"}
"""Verdicts that are shown in other words, so that nobody takes them for equality."""

SENTENCES = {
    "not measured": "{b} cannot be compared with {a} {on}, which is not measured on both sides.",
    "better": "{b} is better{beside} than {a} {on}: {numbers}, {difference}, {p}.{also}",
    "worse": "{b} is worse{beside} than {a} {on}: {numbers}, {difference}, {p}.{also}",
    "equivalent": "{b} is equivalent{beside} to {a} {on} within {margin}: {numbers}, {difference}.",
    "tied": "{b} is not shown to differ from {a} {on}: {numbers}, {difference}, {p}.{also}",
    "too few": "Too few units to judge {b} against {a} {on}: {numbers}, {difference}; {why}.",
}
"""What a row of `Comparison.table` says, by its verdict."""


def verdict_text(row: Mapping[Any, Any]) -> str:
    """The verdict of a row of `Comparison.table` as pages and terminal show it beside the metric's numbers."""
    verdict, n, differ = row["verdict"], int(row["n_units"]), int(row["n_differ"])
    if verdict == "too few" and n < MIN_UNITS:
        return say("too few: {n} pairs", n=n)
    if verdict == "too few":
        return (
            say("too few: {differ} of {n} differ", n=n, differ=differ)
            if differ
            else say(NONE_DIFFER, n=n)
        )
    if verdict in ("tied", "not measured"):
        return say(WORDS.get(verdict, verdict))
    also = say(", and within the margin") if verdict != "equivalent" and within_margin(row) else ""
    return f"{say(verdict)}{also}{'' if row['family'] else ' ' + say('(exploratory)')}"


def verdict_sentence(row: Mapping[Any, Any], confidence: float = 0.95) -> str:
    """What a row of `Comparison.table` says, whole: verdict, metric, both values, difference, interval and p."""
    verdict, n, differ = row["verdict"], int(row["n_units"]), int(row["n_differ"])
    inside = ("equivalence", 2 * confidence - 1) if verdict == "equivalent" else ("ci", confidence)
    single = row["primary"] or pd.isna(row["p_adjusted"])
    words: dict[str, Any] = {
        "a": row["baseline"],
        "b": row["candidate"],
        "on": say("on “{title}”", title=say(row["title"])),
        "n": n,
        "differ": differ,
        "units": say("1 paired unit") if n == 1 else say("{n} paired units", n=n),
        "numbers": say(
            "{x:.3f} against {y:.3f}", x=row["value_candidate"], y=row["value_baseline"]
        ),
        "difference": say(
            "a difference of {delta:+.3f}{interval}",
            delta=row["delta"],
            interval=_said(row, *inside),
        ),
        "margin": f"±{row['margin']:g}",
        "beside": "" if row["family"] else " " + say("(exploratory: outside the headline)"),
        "p": f"p {p_text(row['p_value'])}"
        if single
        else f"p {p_text(row['p_adjusted'])} {say('(adjusted)')}",
        "also": "",
    }
    if verdict == "too few" and n >= MIN_UNITS and not differ:
        words["value"] = row["value_baseline"]
        return say(
            "{b} and {a} have the same value {on} ({value:.3f}): none of {units} differs.", **words
        )
    if verdict == "too few" and n < MIN_UNITS:
        words["why"] = say("{units}, and a verdict needs {least}", least=MIN_UNITS, **words)
    elif verdict == "too few":
        words["why"] = say("{differ} of {units} differ, too few to be told from chance", **words)
        if row["level"] < 2.0 ** (1 - differ) <= 1 - confidence:
            words["why"] += say(" once p is adjusted for the headline metrics")
    elif verdict == "tied" and pd.notna(row["equivalence_low"]):
        words["also"] = say(" Nor is it shown to be equivalent within {margin}.", **words)
    elif verdict != "tied" and within_margin(row):
        words["also"] = say(" The difference lies within the margin of {margin}.", **words)
    return say(SENTENCES[verdict], **words)


def _said(row: Mapping[Any, Any], which: str, confidence: float) -> str:
    """An interval of a row, after a comma; "" for none."""
    low, high = row[f"{which}_low"], row[f"{which}_high"]
    level = f"{confidence:.0%}"
    known = say(", {level} interval [{low:+.3f}, {high:+.3f}]", level=level, low=low, high=high)
    return "" if pd.isna(low) else known


def _moved(paired: Paired, confidence: float) -> tuple[np.ndarray, np.ndarray]:
    """(low, high) of delta, one seed each, from the score intervals of the sides; nan for a metric without limits."""
    one, _ = score_bounds(paired.baseline, confidence, t_only=True)
    other, _ = score_bounds(paired.candidate, confidence, t_only=True)
    return mover(
        (paired.value_a, one.low, one.high),
        (paired.value_b, other.low, other.high),
        share_correlation(paired.a.errors[0], paired.b.errors[0]),
    )


def _notes(
    paired: tuple[Grid, Grid],
    by_seed: bool,
    sides: list[Grid],
    unpaired: dict[str, int],
    frame: pd.DataFrame,
    names: tuple[str, str],
    identical: bool,
) -> list[str]:
    notes = []
    n_units = len(paired[0].units)
    if identical:
        notes.append(
            f"The sides are identical: each of {n_units} paired units has the same counts on both, so that there is "
            "nothing to compare."
        )
    seeded = any(seed for side in sides for seed in side.seeds)
    for side, name, whole in (("baseline", names[0], sides[0]), ("candidate", names[1], sides[1])):
        if left := unpaired[f"cells_{side}"]:
            lost = ((unpaired[f"units_{side}"], "sample"), (unpaired[f"seeds_{side}"], "seed"))
            parts = [f"{n} whole {word}{'s' if n > 1 else ''}" for n, word in lost if n]
            what = "cells (a sample under a seed)" if seeded else "units"
            notes.append(
                f"{left} of {int(whole.present.sum())} {what} of {name} have no counterpart on the other side and "
                f"take no part{', among them ' + ' and '.join(parts) if seeded and parts else ''}."
            )
    if not by_seed:
        labels = ["/".join(map(str, s.seeds)) for s in sides]
        notes.append(
            f"No seed in common ({names[0]}: {labels[0]}; {names[1]}: {labels[1]}): paired by sample, each side "
            "averaged over its own seeds."
        )
    n_seeds = min(len(side.seeds) for side in paired)
    if n_seeds == 1 and seeded:
        notes.append(
            "One seed on a side: the comparison speaks for new samples, not for other seeds."
        )
    if n_seeds == 2:
        notes.append(TWO_SEEDS)
    measured, few = frame["delta"].notna(), frame["n_units"] < MIN_UNITS
    alike = (frame["verdict"] == "too few") & ~few & (not identical)
    differ = frame["n_differ"] > 0
    about = (
        (measured & few, f"fewer than {MIN_UNITS} paired units, too few for a verdict"),
        (alike & differ, "too few units that differ to be told from chance"),
        (alike & ~differ, "the same value on both sides in every paired unit"),
        (~measured, "no value on both sides, and no verdict"),
        (
            measured & (frame["n_seeds"] < n_seeds),
            "a value on both sides in some seeds only, which count alone",
        ),
    )
    own = frame["alias_of"] == ""
    return notes + [
        _listed(frame[own & at], int(own.sum()), what) for at, what in about if (own & at).any()
    ]


def _listed(rows: pd.DataFrame, total: int, what: str) -> str:
    """These metrics of so many "have `what`": how many they are, and the titles of a few."""
    named = rows if len(rows) <= NAMED else rows[rows["headline"]][:NAMED]
    subject = (
        f"All {total} metrics" if len(rows) == total > 1 else f"{len(rows)} of {total} metrics"
    )
    titles = ", ".join(f"“{t}”" for t in named["title"])
    before = ": " if len(named) == len(rows) else ", among them "
    said = f"{what}{titles and before + titles}"
    return f"{subject} has {said}." if len(rows) == 1 else f"{subject} have {said}."
