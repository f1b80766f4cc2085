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
from ..core.metric import AnyMetric, MetricTable
from ..core.metric_matrix import compile_table
from ..core.names import nearest
from ..core.resampling import Resampling
from .differences import ROUGH, Differences, draws_of, paired, same_questions
from .influence import Condition, Runs, effective_units, label
from .intervals import MIN_UNITS, Interval
from .missing import NOT_RANDOM, lacking
from .multiple import holm, max_t, sign_flip
from .verdicts import verdicts

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
    unknown = sorted(set(headline) - {metric.name for metric in table})
    if unknown:
        raise ValueError(f"headline metrics that the table lacks: {unknown}")
    margin = margin or {}
    require_declared(table, primary, margin, resampling.confidence)
    is_directed = _directed(table)
    target = {metric.name: metric.alias_of or metric.name for metric in table}
    leading = [primary, *headline] if primary else list(headline)
    tested = dict.fromkeys(target[name] for name in leading)
    family = [name for name in tested if is_directed[name]]
    sizes = {target[name]: size for name, size in margin.items()}
    pairs = _pairs(conditions, table, unit, is_directed)
    shown = [metric for metric in table if is_directed[metric.name]]
    if not shown:
        nothing = pd.DataFrame(columns=[*CONTRACT, *DETAILS])
        return [pair.comparison(nothing, shown, leading) for pair in pairs]
    rows = pd.concat(
        [pair.tested(resampling, n_permutations) for pair in pairs],
        ignore_index=True,
    )
    rows = rows.assign(
        baseline=conditions[0][0],
        margin=rows["metric"].map(sizes).astype(float),
        primary=rows["metric"].isin(family[:1]),
        family=rows["metric"].isin(family),
        level=resampling.level,
        p_adjusted=np.nan,
    )
    differences = [found for pair in pairs for found in pair.differences]
    _drop_unfair(rows)
    for members in (rows["primary"], rows["family"] & ~rows["primary"]):
        _adjust(rows, differences, members, n_permutations, resampling)
    rows = rows.join(_intervals(rows, differences, resampling))
    rows["verdict"], rows["short"] = verdicts(rows, resampling.level)
    return [pair.comparison(rows, shown, leading) for pair in pairs]


def _pairs(
    conditions: Sequence[tuple[str, Runs]],
    table: MetricTable,
    unit: str,
    is_directed: Mapping[str, bool],
) -> list[_Pair]:
    """Every condition but the first beside it, with the rows of all metrics that have a direction."""
    (name_a, runs_a), *candidates = conditions
    first, *labelled = label([runs for _, runs in conditions], table, unit)
    pairs = []
    for (name_b, runs_b), candidate in zip(candidates, labelled):
        a, b, n_other_texts = same_questions(first, candidate, unit, (name_a, name_b))
        by_seed = set(runs_a) == set(runs_b)
        pair = _Pair(name_b, a, b, by_seed, n_other_texts)
        for index, metric in enumerate(table):
            is_tested = is_directed[metric.name] and metric.alias_of in ("", metric.name)
            pair.add(index, metric, is_tested)
        pairs.append(pair)
    return pairs


def _directed(table: MetricTable) -> dict[str, bool]:
    """Metric -> whether it can be better or worse."""
    return {
        formula.metric.name: formula.metric.better != "none" and not formula.is_count.any()
        for formula in compile_table(table)
    }


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
    has_direction = _directed(table)
    named = [("primary", primary)] if primary else []
    for what, name in [*named, *(("margin", name) for name in margin)]:
        if name not in has_direction:
            raise UsageError(
                f"{what}: no metric {name!r}; {nearest(str(name), list(has_direction))}"
            )
        if not has_direction[name]:
            raise UsageError(
                f"{what}: {name} has no direction, so that it can be neither better nor worse"
            )
    for name, size in margin.items():
        if not 0 < size < np.inf:
            raise UsageError(f"margin of {name}: expected a finite number above 0, got {size:g}")
    targets = {metric.name: metric.alias_of or metric.name for metric in table}
    if len({targets[name] for name in margin}) < len(margin):
        raise UsageError("margin: a metric and its aliases can have one margin only")
    if margin and confidence <= 0.5:
        raise UsageError(f"a margin needs intervals of more than 50%, not {confidence:.0%}")


@dataclass
class _Pair:
    """The baseline and a candidate, of this name: what is known of each metric before they are tested together."""

    name: str
    a: Condition
    b: Condition
    by_seed: bool
    n_other_texts: int
    identical: bool = True
    rows: list[dict[str, Any]] = field(default_factory=list)
    differences: list[Differences | None] = field(default_factory=list)

    def add(
        self,
        index: int,
        metric: AnyMetric,
        is_tested: bool,
    ) -> None:
        """Add what is known of a metric: whether its cells are the same, and if it is tested a row."""
        a, b = self.a.cells(index), self.b.cells(index)
        self.identical &= np.array_equal(a.present, b.present) and np.array_equal(a.sums, b.sums)
        if not is_tested:
            return
        found = paired(
            a,
            b,
            self.a.samples,
            self.by_seed,
        )
        values = (np.nan, np.nan) if found is None else found.values
        row = {
            "metric": metric.name,
            "candidate": self.name,
            "better": metric.better,
            "value_baseline": values[0],
            "value_candidate": values[1],
            "delta": values[1] - values[0],
            "n_units": found.n_units if found else 0,
            "n_seeds": found.n_seeds if found else 0,
            "n_differ": found.n_differ if found else 0,
            "p_seeds": found.p_seeds if found else np.nan,
            "mid": found is not None and found.is_proportion,
            **lacking(a, b, self.by_seed, values[1] - values[0]),
        }
        self.rows.append(row)
        self.differences.append(found)

    def tested(
        self,
        resampling: Resampling,
        n_permutations: int,
    ) -> pd.DataFrame:
        """The rows, with the p of each metric alone."""
        rows = pd.DataFrame(self.rows)
        by_unit = np.zeros((len(self.a.samples.units), len(rows)))
        for column, found in enumerate(self.differences):
            if found is not None:
                by_unit[:, column] = found.by_unit
        mid = rows["mid"].to_numpy(bool)
        flips = sign_flip(
            by_unit,
            n_permutations,
            resampling.seed,
            mid,
        )
        flips[rows["delta"].isna()] = np.nan
        return rows.assign(p_value=np.fmax(flips, rows["p_seeds"]))

    def comparison(
        self,
        rows: pd.DataFrame,
        metrics: Sequence[AnyMetric],
        leading: Sequence[str],
    ) -> Comparison:
        """The comparison, of the rows of all pairs; a metric that is another name of one has its row."""
        by_name = rows[rows["candidate"] == self.name].set_index("metric")
        own = by_name.loc[[metric.alias_of or metric.name for metric in metrics]]
        own = own.reset_index(drop=True).assign(
            metric=[metric.name for metric in metrics],
            title=[metric.title for metric in metrics],
            group=[metric.group for metric in metrics],
            alias_of=[metric.alias_of for metric in metrics],
            headline=[metric.name in leading for metric in metrics],
        )
        by = "sample and seed" if self.by_seed else "sample"
        return Comparison(
            own[[*CONTRACT, *DETAILS]],
            by,
            self.identical,
            self.n_other_texts,
        )


# --- families and verdicts


def _drop_unfair(rows: pd.DataFrame) -> None:
    """Mark the metrics whose missing values are not missing at random, which have no p.

    Holm over the metrics of a candidate that are tested together: the primary one, the rest of the
    headline, all others.
    """
    together = rows.groupby(["candidate", "primary", "family"])["p_random"]
    rows["not_random"] = together.transform(holm) <= NOT_RANDOM
    rows.loc[rows["not_random"], ["p_value", "p_seeds"]] = np.nan


def _adjust(
    rows: pd.DataFrame,
    differences: Sequence[Differences | None],
    members: pd.Series,
    n_permutations: int,
    resampling: Resampling,
) -> None:
    """Give the metrics of a family (`members`), over all candidates, p and levels that hold together.

    p is the larger of step-down max-T over shared sign flips and, with several seeds, Holm over the p
    of the components. The level is that of simultaneous intervals: the t quantile at it is the quantile
    of the largest T.
    """
    is_tested = members & (rows["n_units"] >= MIN_UNITS) & rows["p_value"].notna()
    rows.loc[is_tested, "p_adjusted"] = rows["p_value"]
    pairs = enumerate(zip(differences, is_tested))
    tested = [(i, found) for i, (found, is_one) in pairs if is_one and found is not None]
    if len(tested) < 2:
        return
    by_unit = np.stack([found.by_unit for _, found in tested], axis=1)
    joint = max_t(
        by_unit,
        n_permutations,
        resampling.seed,
        resampling.level,
    )
    p = np.fmax(joint.p, holm(rows.loc[is_tested, "p_seeds"]))
    rows.loc[is_tested, "p_adjusted"] = np.fmax(rows["p_value"], p)
    for i, found in tested:
        df = max(effective_units(found.shares) - 1, 1.0)
        rows.loc[i, "level"] = min(resampling.level, 2 * stdtr(df, -joint.critical))


def _intervals(
    rows: pd.DataFrame,
    differences: Sequence[Differences | None],
    resampling: Resampling,
) -> pd.DataFrame:
    """The interval of every row at its level, that of equivalence, and the mde."""
    fair = [None if unfair else d for d, unfair in zip(differences, rows["not_random"])]
    columns = (
        "ci_low",
        "ci_high",
        "ci_method",
        "claim",
        "equivalence_low",
        "equivalence_high",
        "mde",
    )
    result = []
    for found, draws, level, margin in zip(
        fair, draws_of(fair, resampling), rows["level"], rows["margin"]
    ):
        interval, within, mde = Interval(), Interval(), np.nan
        if found is not None:
            interval = found.interval(level, draws, resampling)
            if margin > 0:
                within = found.interval(min(2 * level, 0.99), draws, resampling)
            error, _, df = found.spread.widest(level)
            delta = found.delta
            reach = interval.high - delta if delta < 0 else delta - interval.low
            digits = 1 if found.n_units < ROUGH else 2
            mde = float(f"{reach + stdtrit(df, POWER) * error:.{digits - 1}e}")
        claim = "" if found is None or interval.method == "none" else found.claim
        bounds = interval.low + 0.0, interval.high + 0.0  # no -0.0
        result.append((*bounds, interval.method, claim, within.low, within.high, mde))
    return pd.DataFrame(result, columns=list(columns))
