"""Paired comparison of conditions: differences with intervals, p, families, and verdicts.

A comparison rests on the cells (sample, seed) that both sides have; what is left out is counted. One
function (`compare_all`) decides p, interval and verdict together, so that none contradicts another.
To swap the sides turns the sign of every difference and interval and keeps every p.

1. `_pair_rows`: the rows that both sides have.
2. `Differences`: what each unit brings into every difference; p and standard error.
3. `_families`: adjusted p, and the level of simultaneous intervals.
4. intervals at that level, mde, `verdicts`.

Formulas and measured error rates: docs/statistics.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtr, stdtrit

from ..core.errors import UsageError
from ..core.metric import MetricTable
from ..core.metric_matrix import Compiled, compile_table
from ..core.names import nearest
from ..core.resampling import Resampling
from .differences import MEASURED, Differences, over_all_rows, paired_differences
from .influence import (
    Array,
    Runs,
    measured_groups,
    without_nulls,
)
from .intervals import MIN_UNITS
from .missing import lacking
from .multiple import NOT_RANDOM, holm, max_t
from .pairs import (
    ROW,
    NothingPaired,
    common_rows,
    label_rows,
    nothing_paired,
    other_texts,
    pairs_by_seed,
)

# The columns of comparison.csv, in order.
CONTRACT = (
    "metric", "baseline", "candidate", "value_baseline", "value_candidate", "delta",
    "ci_low", "ci_high", "p_value", "p_adjusted", "n_units", "n_seeds", "verdict", "primary",
    "mde", "margin", "equivalence_low", "equivalence_high",
    "n_differ", "missing_baseline", "missing_candidate",
)  # fmt: skip
# The further columns of `Comparison.table`.
DETAILS = (
    "ci_method", "claim", "level", "short", "not_random", "headline", "family", "better", "title",
    "group", "alias_of", "n_cells", "delta_worst", "delta_best", "few_missing", "mid",
)  # fmt: skip
# Probability with which the smallest detectable difference is found.
POWER = 0.8
# A pilot of fewer units knows its standard error, and what rests on it, to one digit.
ROUGH = 20


@dataclass(frozen=True)
class Comparison:
    """Candidate against baseline.

    `table` has a row for every metric that has a direction, with the columns of CONTRACT and DETAILS.

    Over the cells in which both sides are measured: `value_baseline`, `value_candidate`, and `delta`,
    their difference: means over seeds. `ci_low`, `ci_high`: docs/statistics.md, at 1 - `level`:
    where several metrics or candidates are tested together intervals are simultaneous. `n_differ`:
    paired units whose own numerator or denominator differs. `missing_baseline`, `missing_candidate`:
    cells (of `n_cells`) that this side lacks; `delta_worst`, `delta_best`: delta if all of these were
    the worst, or the best, for the candidate. `not_random`: what is missing is not missing at random,
    so that there is no p, no interval and no verdict.

    `p_value` is that of two-sided sign flips over units, mid-p for proportions; with several seeds the
    larger of it and the p of the variance components. `primary`: the metric that is tested alone (of
    several candidates all of them together); the others of the headline are tested together;
    `p_adjusted` is null for all else, which is exploratory. `verdict`: `verdicts`; `short`: which of
    "p", "interval" and "missing" keeps a "tied" row from a verdict. `mde`: the smallest true
    difference that these data show with 80% power. `margin` as declared, with the interval of the test
    of equivalence within it. An alias has the row of its metric.

    `n_other_texts`: rows that pair but have other texts, which are left out.
    `unpaired`: side -> its cells that take no part. `identical`: every cell is the same on both sides.
    """

    table: pd.DataFrame = field(repr=False)
    unpaired: dict[str, int]
    paired_by: str
    identical: bool = False
    n_other_texts: int = 0


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
) -> Comparison:
    """Compare two conditions (seed -> units frame) over every metric of a table.

    As `compare_all` of two conditions, called by `names`.

    >>> from evaltools.core.metric import Metric
    >>> accuracy = Metric(name="accuracy", numerator="right", denominator="n", better="higher")
    >>> old = pd.DataFrame({"id": range(40), "right": [1, 0] * 20, "n": 1})
    >>> new = old.assign(right=[1, 0, 1, 1] * 10)
    >>> comparison = compare({"": old}, {"": new}, [accuracy], "id", Resampling(), ["accuracy"])
    >>> comparison.table[["metric", "delta", "verdict"]]
         metric  delta verdict
    0  accuracy   0.25  better
    """
    return compare_all(
        [(names[0], baseline), (names[1], candidate)],
        table,
        unit,
        resampling,
        headline,
        primary,
        margin,
        n_permutations,
    )[0]


def compare_all(
    conditions: Sequence[tuple[str, Runs]],
    table: MetricTable,
    unit: str,
    resampling: Resampling,
    headline: Sequence[str] = (),
    primary: str | None = None,
    margin: Mapping[str, float] | None = None,
    n_permutations: int = 10_000,
) -> list[Comparison]:
    """Every other condition (name, seed -> units frame) against the first, over every metric of a table.

    `headline`: metrics that are tested together. `primary`: the one that is tested alone (default: the
    first headline metric with a direction); of several candidates these tests are one family.
    `margin`: metric -> largest difference that does not matter, in units of the metric.

    Raises ValueError for a headline name that the table lacks, for no run, and for a null unit;
    UsageError for a primary metric or margin that cannot be tested; NothingPaired for sides without a
    unit in common.
    """
    compiled = compile_table(table)
    margin = margin or {}
    unknown = sorted(set(headline) - set(compiled.names))
    if unknown:
        raise ValueError(f"headline metrics that the table lacks: {unknown}")
    require_declared(table, primary, margin, resampling.confidence)
    position = {name: index for index, name in enumerate(compiled.names)}
    target = np.array([position.get(m.alias_of, i) for i, m in enumerate(compiled.metrics)], int)
    leading = [primary, *headline] if primary else list(headline)
    tested = dict.fromkeys(int(target[position[name]]) for name in leading)
    family = [index for index in tested if directed(compiled)[index]]
    margins = np.full(len(position), np.nan)
    for name, size in margin.items():
        margins[target[position[name]]] = size

    (name_a, baseline), *candidates = conditions
    pairs = [
        _Pair(name_a, baseline, name_b, runs, table, unit, resampling, n_permutations)
        for name_b, runs in candidates
    ]
    for pair in pairs:
        pair.rows = pair.rows.assign(
            margin=margins,
            primary=np.isin(np.arange(len(margins)), family[:1]),
            family=np.isin(np.arange(len(margins)), family),
            **compiled.each("better"),
        )
        pair.without_unfair(family)
    for of_family in (family[:1], family[1:]):
        _adjust(pairs, of_family, n_permutations, resampling)
    comparisons = []
    for pair in pairs:
        rows = pair.judged().iloc[target]
        rows = rows.assign(
            metric=compiled.names,
            baseline=name_a,
            candidate=pair.name_b,
            headline=[name in leading for name in compiled.names],
            **compiled.each("title", "group", "alias_of", "better"),
        )
        shown = rows[directed(compiled)].reset_index(drop=True)[[*CONTRACT, *DETAILS]]
        by = "sample and seed" if pair.by_seed else "sample"
        comparisons.append(Comparison(shown, pair.unpaired, by, pair.identical, pair.n_other_texts))
    return comparisons


def directed(compiled: Compiled) -> Array:
    """(metrics,): whether each metric can be better or worse."""
    has_direction = [metric.better != "none" for metric in compiled.metrics]
    return np.array(has_direction, dtype=bool) & ~compiled.counts


def require_declared(
    table: MetricTable,
    primary: str | None,
    margin: Mapping[str, float],
    confidence: float = 0.95,
) -> None:
    """UsageError unless a primary metric and margins, as declared, can be tested.

    >>> from evaltools.core.metric import Metric
    >>> table = [Metric(name="f1", numerator="tp", denominator="n", better="higher")]
    >>> require_declared(table, "f1", {"f1": 0.02})
    """
    compiled = compile_table(table)
    has_direction = dict(zip(compiled.names, directed(compiled)))
    named = [("primary", primary)] if primary else []
    for what, name in [*named, *(("margin", name) for name in margin)]:
        if name not in has_direction:
            raise UsageError(f"{what}: no metric {name!r}; {nearest(str(name), compiled.names)}")
        if not has_direction[name]:
            raise UsageError(
                f"{what}: {name} has no direction, so that it can be neither better nor worse"
            )
    for name, size in margin.items():
        if not 0 < size < np.inf:
            raise UsageError(f"margin of {name}: expected a finite number above 0, got {size:g}")
    targets = {metric.name: metric.alias_of or metric.name for metric in compiled.metrics}
    if len({targets[name] for name in margin}) < len(margin):
        raise UsageError("margin: a metric and its aliases can have one margin only")
    if margin and confidence <= 0.5:
        raise UsageError(f"a margin needs intervals of more than 50%, not {confidence:.0%}")


class _Pair:
    """A candidate and the baseline: the rows of `Comparison.table` while they are made."""

    def __init__(
        self,
        name_a: str,
        baseline: Runs,
        name_b: str,
        candidate: Runs,
        table: MetricTable,
        unit: str,
        resampling: Resampling,
        n_permutations: int,
    ) -> None:
        self.name_b = name_b
        self.resampling = resampling
        self.by_seed = pairs_by_seed(baseline, candidate)
        a, b = label_rows([baseline, candidate], unit)
        others, n_texts = other_texts(a, b)
        if 2 * len(others) > n_texts:
            raise UsageError(
                f"{name_a} and {name_b} pair by {unit}, but {len(others)} of {n_texts} pairs have other texts: "
                "they are other questions"
            )
        self.n_other_texts = len(others)
        if others:
            a, b = (
                {seed: frame[~frame[ROW].isin(others)] for seed, frame in runs.items()}
                for runs in (a, b)
            )
        paired = common_rows(a, b, self.by_seed)
        if not any(len(frame) for frame in paired[0].values()):
            raise NothingPaired(nothing_paired(a, b, unit, (name_a, name_b)))
        self.unpaired = {}
        for side, whole, part in zip(("baseline", "candidate"), (a, b), paired):
            lost = [set(whole[s][unit]) - set(part[s][unit]) for s in whole]
            self.unpaired[side] = sum(map(len, lost))
        self.identical = not any(self.unpaired.values())
        self.differences: list[Differences] = []
        rows = []
        frames = [frame for runs in (a, b) for frame in runs.values()]
        for indices, compiled, columns in measured_groups(table, frames, unit):
            of_group = without_nulls(a, columns), without_nulls(b, columns)
            made = list(
                paired_differences(*of_group, compiled, indices, unit, self.by_seed, resampling)
            )
            self.differences += made
            nothing = pd.DataFrame(index=pd.Index([]), columns=list(MEASURED), dtype=float)
            nothing = nothing.astype({"mid": object, "claim": object})
            group = pd.concat([nothing, *(d.rows(n_permutations) for d in made)]).reindex(indices)
            all_a, all_b = over_all_rows(*of_group, compiled)
            missing = lacking(all_a, all_b, self.by_seed, group["delta"].to_numpy(float))
            self.identical &= not missing["missing_baseline"] and not missing["missing_candidate"]
            self.identical &= np.array_equal(all_a.sums, all_b.sums)
            rows.append(group.assign(**missing))
        rows = pd.concat(rows).sort_index()
        filled = {"n_units": 0, "n_seeds": 0, "n_differ": 0, "claim": ""}
        self.rows = rows.fillna(filled).astype({"n_units": int, "n_seeds": int, "n_differ": int})
        self.rows["mid"] = self.rows["mid"].eq(True)
        self.rows["level"] = resampling.level
        self.rows["p_adjusted"] = np.nan

    def without_unfair(self, family: Sequence[int]) -> None:
        """Mark the metrics whose missing values are not missing at random, which have no p.

        Holm over the metrics that are tested together: the primary one, the rest of the headline, all others.
        """
        tested = np.where(self.rows.index.isin(family), 1, 2)
        tested[family[:1]] = 0
        p = self.rows["p_random"].groupby(tested, group_keys=False).apply(holm)
        self.rows["not_random"] = p.reindex(self.rows.index) <= NOT_RANDOM
        self.rows.loc[self.rows["not_random"], ["p_value", "p_seeds"]] = np.nan

    def testable(self, metric: int) -> bool:
        """Whether the metric takes part in a family."""
        row = self.rows.loc[metric]
        return bool(row["n_units"] >= MIN_UNITS and row["p_value"] == row["p_value"])

    def by_unit(self, metric: int) -> pd.Series:
        """What each unit brings into the difference of a metric."""
        for differences in self.differences:
            if metric in differences.metrics:
                column = differences.by_unit[:, differences.metrics.index(metric)]
                return pd.Series(column, differences.a.units)
        raise KeyError(metric)

    def judged(self) -> pd.DataFrame:
        """The rows with intervals at their levels, mde and verdict."""
        rows = self.rows
        bounds = ["ci_low", "ci_high", "equivalence_low", "equivalence_high", "mde"]
        rows = rows.assign(ci_method="none", **dict.fromkeys(bounds, np.nan))
        for differences in self.differences:
            here = differences.metrics
            alpha = rows.loc[here, "level"].to_numpy(float)
            intervals = differences.intervals(alpha)
            within = differences.intervals(np.minimum(2 * alpha, 0.99))
            rows.loc[here, "ci_low"], rows.loc[here, "ci_high"] = intervals.low, intervals.high
            rows.loc[here, "ci_method"] = intervals.method
            has_margin = rows.loc[here, "margin"].notna().to_numpy()
            rows.loc[here, "equivalence_low"] = np.where(has_margin, within.low, np.nan)
            rows.loc[here, "equivalence_high"] = np.where(has_margin, within.high, np.nan)
            error, _, df = differences.spread.widest(alpha)
            delta = rows.loc[here, "delta"].to_numpy(float)
            reach = np.where(delta < 0, intervals.high - delta, delta - intervals.low)
            rows.loc[here, "mde"] = reach + stdtrit(df, POWER) * error
        few = rows["n_units"] < ROUGH
        digits = [_significant(mde, 1 if rough else 2) for mde, rough in zip(rows["mde"], few)]
        rows["mde"] = digits
        rows.loc[rows["not_random"], [*bounds, "p_value"]] = np.nan
        rows.loc[rows["not_random"], "ci_method"] = "none"
        rows[bounds[:2]] += 0.0  # no -0.0
        rows.loc[rows["ci_method"] == "none", "claim"] = ""
        rows["verdict"], rows["short"] = verdicts(rows, self.resampling.level)
        return rows


def _significant(value: float, digits: int) -> float:
    """The number in so many significant digits."""
    return float(f"{value:.{digits - 1}e}")


# --- families and verdicts


def _adjust(
    pairs: Sequence[_Pair],
    family: Sequence[int],
    n_permutations: int,
    resampling: Resampling,
) -> None:
    """Give the metrics of a family, over all candidates, p and levels that hold together.

    p is the larger of step-down max-T over shared sign flips and, with several seeds, Holm over the p
    of the components. The level is that of simultaneous intervals: the t quantile at it is the quantile
    of the largest T.
    """
    members = [(pair, metric) for pair in pairs for metric in family if pair.testable(metric)]
    p = np.array([pair.rows.loc[metric, "p_value"] for pair, metric in members], dtype=float)
    level = np.full(len(members), resampling.level)
    if len(members) > 1:
        columns = [pair.by_unit(metric) for pair, metric in members]
        by_unit = pd.concat(columns, axis=1).fillna(0.0).to_numpy()
        joint = max_t(by_unit, n_permutations, resampling.seed, resampling.level)
        of_seeds = pd.Series([pair.rows.loc[m, "p_seeds"] for pair, m in members], dtype=float)
        p = np.fmax(np.fmax(p, joint.p), holm(of_seeds))
        n = np.array([pair.rows.loc[m, "n_effective"] for pair, m in members], dtype=float)
        level = np.fmin(level, 2 * stdtr(np.maximum(n - 1, 1.0), -joint.critical))
    for index, (pair, metric) in enumerate(members):
        pair.rows.loc[metric, ["p_adjusted", "level"]] = p[index], level[index]


def verdicts(rows: pd.DataFrame, level: float) -> tuple[Array, Array]:
    """(verdict, what a "tied" row is short of) of every metric, a row each. `level` is as 0.05.

    The verdict is the first of these that holds:
    - not measured: a side has no value, or what it lacks is not missing at random;
    - too few: fewer than MIN_UNITS paired units;
    - better, worse: p (adjusted in the family) is within the level, and the interval leaves out 0; with
      values missing, too few to test, also where these were the worst or the best;
    - equivalent: the interval at 1 - 2 * level lies within the declared margin;
    - too few: so few units differ that no signs of theirs could bring p within the level;
    - tied: all else. No difference was shown, which is not to say that there is none.

    >>> row = {"delta": 0.1, "n_units": 50, "n_differ": 20, "p_value": 0.01, "p_adjusted": np.nan}
    >>> row |= {"ci_low": 0.02, "ci_high": 0.18, "better": "lower", "mid": False, "margin": np.nan}
    >>> row |= {"delta_worst": 0.1, "delta_best": 0.1, "few_missing": False, "not_random": False}
    >>> row |= {"equivalence_low": np.nan, "equivalence_high": np.nan}
    >>> [text.tolist() for text in verdicts(pd.DataFrame([row]), 0.05)]
    [['worse'], ['']]
    """
    p = rows["p_adjusted"].fillna(rows["p_value"])
    ends = rows[["delta_worst", "delta_best"]]
    low = rows["ci_low"] + (ends.min(axis=1) - rows["delta"]).clip(upper=0)
    high = rows["ci_high"] + (ends.max(axis=1) - rows["delta"]).clip(lower=0)
    # units that all differ alike, without limits, have no interval that could disagree
    by_interval = (rows["ci_low"] > 0) | (rows["ci_high"] < 0) | rows["ci_low"].isna()
    at_both_ends = (low > 0) | (high < 0) | low.isna() | ~rows["few_missing"].astype(bool)
    by_p = p <= level
    shown = by_p & by_interval & at_both_ends
    improves = (rows["delta"] > 0) == (rows["better"] != "lower")
    # m units have a p of 2^(1-m) at best, with mid-p 2^-m
    best_p = 2.0 ** (1 - rows["mid"].astype(float) - rows["n_differ"].astype(float))
    cases = [
        (rows["delta"].isna() | rows["not_random"].astype(bool), "not measured"),
        (rows["n_units"] < MIN_UNITS, "too few"),
        (shown & improves, "better"),
        (shown, "worse"),
        (within_margin(rows), "equivalent"),
        (best_p > level, "too few"),
    ]
    verdict = np.select([case for case, _ in cases], [word for _, word in cases], "tied")
    short = np.select(
        [by_p & by_interval & ~at_both_ends, by_p & ~by_interval, ~by_p & by_interval],
        ["missing", "interval", "p"],
        "",
    )
    return verdict, np.where(verdict == "tied", short, "")


def equivalence_confidence(confidence: float) -> float:
    """The confidence of the interval that must lie within the margin: 1 - 2 (1 - confidence).

    >>> round(equivalence_confidence(0.95), 2)
    0.9
    """
    return max(2 * confidence - 1, 0.01)


def within_margin(row: Any) -> Any:
    """Whether a difference was shown to lie within its margin; of a row of a comparison, or a frame of them.

    >>> within_margin({"equivalence_low": -0.01, "equivalence_high": 0.03, "margin": 0.05})
    True
    """
    return (row["equivalence_low"] > -row["margin"]) & (row["equivalence_high"] < row["margin"])


def least_gain(row: Any, end: float, better: str) -> float:
    """What the candidate of a row gains at least, above 0 being better: an end of the interval of its difference.

    `better`: "higher" or "lower". Delta stands for an end that is null. Values that one side lacks
    count as the worst that they could be.

    >>> row = {"delta": -0.02, "delta_worst": 0.01, "missing_baseline": 0, "missing_candidate": 3}
    >>> round(least_gain(row, 0.01, "lower"), 2)
    -0.04
    """
    gain = row["delta"] if pd.isna(end) else end
    if better == "lower":
        gain = -gain
    if row["missing_baseline"] or row["missing_candidate"]:
        gain -= abs(row["delta_worst"] - row["delta"])
    return float(gain)
