"""Paired comparison of conditions: differences with intervals, p, families, and verdicts.

A comparison rests on the cells (sample, seed) that both sides have; what is left out is counted. One
function (`compare_all`) decides p, interval and verdict together, so that none contradicts another.
To swap the sides turns the sign of every difference and interval and keeps every p.

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
from ..core.metric import Metric, MetricTable
from ..core.metric_matrix import Compiled, compile_table
from ..core.names import nearest
from ..core.resampling import Resampling
from .bootstrap import Draws
from .differences import Differences, NothingPaired, draws_of, paired, same_questions
from .influence import Array, Condition, Runs, effective_units, label
from .intervals import MIN_UNITS, Interval
from .missing import NOT_RANDOM, lacking
from .multiple import holm, max_t, sign_flip

__all__ = ["CONTRACT", "Comparison", "NothingPaired", "compare", "compare_all", "verdicts"]

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

    `n_other_texts`: samples that pair but have other texts, which are left out. `identical`: every cell is
    the same on both sides.
    """

    table: pd.DataFrame = field(repr=False)
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
    names = compiled.names
    margin = margin or {}
    unknown = sorted(set(headline) - set(names))
    if unknown:
        raise ValueError(f"headline metrics that the table lacks: {unknown}")
    require_declared(table, primary, margin, resampling.confidence)
    target = {metric.name: metric.alias_of or metric.name for metric in table}
    leading = [primary, *headline] if primary else list(headline)
    is_directed = dict(zip(names, directed(compiled)))
    tested = dict.fromkeys(target[name] for name in leading)
    family = [name for name in tested if is_directed[name]]
    labelled = label([runs for _, runs in conditions], table, unit)
    baseline, *candidates = zip(conditions, labelled)
    pairs = []
    for candidate in candidates:
        metrics = [name for name in names if is_directed[name] and target[name] == name]
        pairs.append(_Pair(baseline, candidate, metrics, unit, resampling, n_permutations))
    for pair in pairs:
        pair.drop_unfair(family)
    for of_family in (family[:1], family[1:]):
        _adjust(pairs, of_family, n_permutations, resampling)
    sizes = {target[name]: size for name, size in margin.items()}
    comparisons = []
    for pair in pairs:
        pair.rows = pair.rows.assign(
            margin=[sizes.get(name, np.nan) for name in pair.rows.index],
            primary=pair.rows.index.isin(family[:1]),
            family=pair.rows.index.isin(family),
        )
        rows = pair.judged()
        shown = [metric for metric in table if is_directed[metric.name]]
        rows = rows.loc[[target[metric.name] for metric in shown]].assign(
            metric=[metric.name for metric in shown],
            headline=[metric.name in leading for metric in shown],
            title=[metric.title for metric in shown],
            group=[metric.group for metric in shown],
            alias_of=[metric.alias_of for metric in shown],
        )
        columns = rows.reset_index(drop=True)[[*CONTRACT, *DETAILS]]
        by = "sample and seed" if pair.by_seed else "sample"
        comparisons.append(Comparison(columns, by, pair.identical, pair.n_other_texts))
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


Named = tuple[tuple[str, Runs], Condition]


class _Pair:
    """A candidate and the baseline: the rows of `Comparison.table` while they are made, by metric."""

    def __init__(
        self,
        baseline: Named,
        candidate: Named,
        metrics: Sequence[str],
        unit: str,
        resampling: Resampling,
        n_permutations: int,
    ) -> None:
        (name_a, runs_a), a = baseline
        (name_b, runs_b), b = candidate
        self.resampling = resampling
        self.by_seed = set(runs_a) == set(runs_b)
        a, b, self.n_other_texts = same_questions(a, b, unit, (name_a, name_b))
        self.identical = np.array_equal(a.present, b.present)
        self.differences: dict[str, Differences] = {}
        table = {metric.name: i for i, metric in enumerate(a.compiled.metrics)}
        rows = {}
        for name in metrics:
            side_a, side_b = a.cells(table[name]), b.cells(table[name])
            self.identical &= np.array_equal(side_a.sums, side_b.sums)
            found = paired(side_a, side_b, a.samples, self.by_seed)
            if found is not None:
                self.differences[name] = found
            delta = np.nan if found is None else found.delta
            metric = a.compiled.metrics[table[name]]
            rows[name] = {
                "baseline": name_a,
                "candidate": name_b,
                "better": metric.better,
                "mid": isinstance(metric, Metric) and metric.proportion,
                "level": resampling.level,
                "p_adjusted": np.nan,
                **_numbers(found),
                **lacking(side_a, side_b, self.by_seed, delta),
            }
        self.rows = pd.DataFrame.from_dict(rows, orient="index")
        by_unit = [d.by_unit for d in self.differences.values()]
        if by_unit:
            here = list(self.differences)
            mid = self.rows.loc[here, "mid"].to_numpy(bool)
            flips = sign_flip(np.stack(by_unit, axis=1), n_permutations, resampling.seed, mid)
            self.rows.loc[here, "p_value"] = np.fmax(flips, self.rows.loc[here, "p_seeds"])

    def drop_unfair(self, family: Sequence[str]) -> None:
        """Mark the metrics whose missing values are not missing at random, which have no p.

        Holm over the metrics that are tested together: the primary one, the rest of the headline, all others.
        """
        tested = [
            family.index(name) if name in family[:1] else 1 + (name in family)
            for name in self.rows.index
        ]
        p = pd.concat([holm(of_family) for _, of_family in self.rows["p_random"].groupby(tested)])
        self.rows["not_random"] = p.reindex(self.rows.index) <= NOT_RANDOM
        self.rows.loc[self.rows["not_random"], ["p_value", "p_seeds"]] = np.nan

    def judged(self) -> pd.DataFrame:
        """The rows with intervals at their levels, mde and verdict."""
        fair = [name for name in self.differences if not self.rows.loc[name, "not_random"]]
        draws = draws_of([self.differences[name] for name in fair], self.resampling)
        found = {name: self._intervals(name, drawn) for name, drawn in zip(fair, draws)}
        nothing = {"ci_method": "none", "claim": ""}
        made = [found.get(name, nothing) for name in self.rows.index]
        columns = [
            "ci_low",
            "ci_high",
            "ci_method",
            "claim",
            "equivalence_low",
            "equivalence_high",
            "mde",
        ]
        rows = self.rows.join(pd.DataFrame(made, index=self.rows.index, columns=columns))
        rows["verdict"], rows["short"] = verdicts(rows, self.resampling.level)
        return rows

    def _intervals(self, name: str, draws: Draws | None) -> dict[str, Any]:
        """The interval of a metric at its level, that of equivalence, and the mde."""
        differences, row = self.differences[name], self.rows.loc[name]
        alpha = row["level"]
        interval = differences.interval(alpha, draws, self.resampling)
        within = Interval()
        if row["margin"] > 0:
            within = differences.interval(min(2 * alpha, 0.99), draws, self.resampling)
        error, _, df = differences.spread.widest(alpha)
        delta = differences.delta
        reach = interval.high - delta if delta < 0 else delta - interval.low
        digits = 1 if row["n_units"] < ROUGH else 2
        return {
            "ci_low": interval.low + 0.0,  # no -0.0
            "ci_high": interval.high + 0.0,
            "ci_method": interval.method,
            "claim": "" if interval.method == "none" else differences.claim,
            "equivalence_low": within.low,
            "equivalence_high": within.high,
            "mde": float(f"{reach + stdtrit(df, POWER) * error:.{digits - 1}e}"),
        }


def _numbers(differences: Differences | None) -> dict[str, Any]:
    """What is known of a difference before families; p of the seeds alone, nan for one seed."""
    if differences is None:
        nothing = dict.fromkeys(
            ("value_baseline", "value_candidate", "delta", "p_value", "p_seeds"), np.nan
        )
        return {**nothing, **dict.fromkeys(("n_units", "n_seeds", "n_differ"), 0)}
    p_seeds = differences.spread.p_value(differences.delta) if differences.seed_parts else np.nan
    return {
        "value_baseline": differences.values[0],
        "value_candidate": differences.values[1],
        "delta": differences.delta,
        "p_value": np.nan,
        "p_seeds": p_seeds,
        "n_units": differences.n_units,
        "n_seeds": differences.n_seeds,
        "n_differ": differences.n_differ,
    }


# --- families and verdicts


def _adjust(
    pairs: Sequence[_Pair],
    family: Sequence[str],
    n_permutations: int,
    resampling: Resampling,
) -> None:
    """Give the metrics of a family, over all candidates, p and levels that hold together.

    p is the larger of step-down max-T over shared sign flips and, with several seeds, Holm over the p
    of the components. The level is that of simultaneous intervals: the t quantile at it is the quantile
    of the largest T.
    """
    members = []
    for pair in pairs:
        is_tested = (pair.rows["n_units"] >= MIN_UNITS) & pair.rows["p_value"].notna()
        members += [(pair, name) for name in family if is_tested[name]]
    if len(members) == 1:
        ((pair, name),) = members
        pair.rows.loc[name, "p_adjusted"] = pair.rows.loc[name, "p_value"]
    if len(members) < 2:
        return
    by_unit = np.stack([pair.differences[name].by_unit for pair, name in members], axis=1)
    joint = max_t(by_unit, n_permutations, resampling.seed, resampling.level)
    of_seeds = holm(pd.Series([pair.rows.loc[name, "p_seeds"] for pair, name in members]))
    for (pair, name), p, p_seeds in zip(members, joint.p, of_seeds):
        p_adjusted = np.fmax(np.fmax(pair.rows.loc[name, "p_value"], p), p_seeds)
        df = max(effective_units(pair.differences[name].shares) - 1, 1.0)
        level = min(resampling.level, 2 * stdtr(df, -joint.critical))
        pair.rows.loc[name, ["p_adjusted", "level"]] = p_adjusted, level


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
