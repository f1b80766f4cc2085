"""Paired comparison of conditions: differences with intervals, p, families, verdicts, and ranks.

A comparison rests on the cells (sample, seed) that both sides have; what is left out is counted. One
function (`compare_all`) decides p, interval and verdict together, so that none contradicts another.
To swap the sides turns the sign of every difference and interval and keeps every p.

Formulas and measured error rates: docs/statistics.md. Ranks: Mogstad, Romano, Shaikh and Wilhelm, Review of
Economic Studies 91 (2024).
"""

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import combinations
from numbers import Real
from typing import NamedTuple

import numpy as np
import pandas as pd
from pandas import DataFrame, Series
from scipy.special import stdtr, stdtrit

from ..core.estimates import Resampling
from ..core.files import Fields, nearest
from ..core.messages import UsageError
from ..core.metric import MetricTable
from .effects import MIN_UNITS, ROUGH, Effect, paired, same_questions, shared_seeds
from .formulas import Array, Draws, p_of_t, rounded, smallest_shown, widest
from .influence import Cells, Condition, Formula, Runs, label
from .intervals import Interval, draws_of, interval_of
from .multiple import holm, lacking, max_t, sign_flip

# The columns of comparison.csv, in order.
CONTRACT = (
    "metric", "baseline", "candidate", "value_baseline", "value_candidate", "delta",
    "ci_low", "ci_high", "p_value", "p_adjusted", "n_units", "n_seeds", "verdict", "primary",
    "mde", "margin", "equivalence_low", "equivalence_high",
    "n_differ", "missing_baseline", "missing_candidate", "blocked",
)  # fmt: skip
# The further columns of a comparison.
DETAILS = (
    "ci_method", "claim", "level", "short", "headline", "family", "better", "title",
    "group", "n_cells", "delta_worst", "delta_best", "moved_worst", "moved_best", "mid",
    "n_other_texts",
)  # fmt: skip
# Pairs of conditions that are ranked by a bootstrap, at the level of their family, at the most.
MOST_ADJUSTED = 100
# Probability with which the smallest detectable difference is found.
POWER = 0.8


class Comparison(NamedTuple):
    """A candidate against a baseline. `table`: the rows of `compare_all`."""

    table: DataFrame


def compare(
    baseline: Runs,
    candidate: Runs,
    metrics: MetricTable,
    unit: str,
    resampling: Resampling,
    headline: Sequence[str] = (),
    primary: str | None = None,
    margin: Mapping[str, float] | None = None,
    n_permutations: int = 10_000,
) -> Comparison:
    """Compare two conditions (seed -> units frame) over every metric of a table, as `compare_all` does.

    UsageError for no run, for a null unit, and for a primary metric that cannot be tested.

    >>> from evaltools.core.metric import Metric
    >>> accuracy = Metric(name="accuracy", numerator="right", denominator="n", better="higher")
    >>> old = pd.DataFrame({"id": range(40), "right": [1, 0] * 20, "n": 1})
    >>> new = old.assign(right=[1, 0, 1, 1] * 10)
    >>> comparison = compare({"": old}, {"": new}, [accuracy], "id", Resampling(), ["accuracy"])
    >>> comparison.table[["metric", "delta", "verdict"]]
         metric  delta verdict
    0  accuracy   0.25  better
    """
    sides = label([("baseline", baseline), ("candidate", candidate)], metrics, unit)
    if primary:
        _require_testable(sides[0].formulas, {primary: 1}, 1)
        headline = [primary, *headline]
    return Comparison(compare_all(sides, resampling, headline, margin, n_permutations))


def compare_all(
    conditions: Sequence[Condition],
    resampling: Resampling,
    headline: Sequence[str] = (),
    margin: Mapping[str, float] | None = None,
    n_permutations: int = 10_000,
) -> DataFrame:
    """Every other condition against the first, over every metric, by candidate.

    A row for every candidate and metric that has a direction, with the columns of CONTRACT and DETAILS.

    Over the cells in which both sides are measured: `value_baseline`, `value_candidate`, and `delta`,
    their difference: means over seeds. `ci_low`, `ci_high`: docs/statistics.md, at 1 - `level`:
    where several metrics or candidates are tested together intervals are adjusted as p is. `n_differ`:
    paired units whose own numerator or denominator differs. `missing_baseline`, `missing_candidate`:
    cells (of `n_cells`, those that count) that this side lacks; `delta_worst`, `delta_best`: the difference over all cells
    if these were the worst, or the best, for the candidate. `delta`, that of the pairs, may lie outside: values
    without a partner are known too. `blocked`: why there is no p, no interval and no verdict:
    what is missing is not missing at random ("missing-not-random"), or the code of a check.

    `p_value` is that of two-sided sign flips over units, mid-p for proportions; with several seeds the
    larger of it and the p of the variance components. `primary`: the metric that is tested alone (of
    several candidates all of them together); the others of the headline are tested together;
    `p_adjusted` is null for all else, which is exploratory. `verdict`: `verdicts`; `short`: which of
    "p", "interval" and "missing" keeps a "tied" row from a verdict. `mde`: the smallest true
    difference that these data show with 80% power. `margin` as declared, with the interval of the test
    of equivalence within it. An alias has the row of its metric.

    `n_other_texts`: samples that pair but have another text or gold, which are left out.

    `conditions` were labelled together. `headline`: metrics that are tested together, but for the first with a
    direction, the primary one, which is tested alone; of several candidates these tests are one family. `margin`:
    metric -> largest difference that does not matter, in units of the metric.

    Raises UsageError for a margin that cannot be tested, KeyError for a headline metric that the table lacks;
    NothingPaired for sides without a unit in common.
    """
    first, *others = conditions
    table = [formula.metric for formula in first.formulas.values() if formula.is_directed]
    _require_testable(first.formulas, margin := margin or {}, resampling.confidence)
    target = {metric.name: metric.alias_of or metric.name for metric in table}
    family = list(
        dict.fromkeys(target[name] for name in headline if first.formulas[name].is_directed)
    )
    rows = []
    for other in others:
        pair = shared_seeds(first, other)
        keep = same_questions(*pair)
        names = {
            "baseline": first.name,
            "candidate": other.name,
            "n_other_texts": (~keep).sum(),
        }
        for name in dict.fromkeys(target.values()):
            rows.append(names | _row(*(side.cells(name).where(keep) for side in pair)))
    if not rows:
        return DataFrame(columns=CONTRACT + DETAILS)
    tested = DataFrame(rows)
    tested["blocked"] = Series([row["blocked"] for row in rows], dtype=object)
    tested["margin"] = (
        tested["metric"].map({target[name]: size for name, size in margin.items()}).astype(float)
    )
    tested["primary"] = tested["metric"].isin(family[:1])
    tested["family"] = tested["metric"].isin(family)
    _test(tested, resampling, n_permutations, resampling.level)
    tested = tested.join(
        _intervals(tested, draws_of(tested["effect"], resampling), resampling.method)
    )
    tested["verdict"], tested["short"] = verdicts(tested, resampling.level)
    about = DataFrame(
        [(m.name, m.title, m.group, m.name in headline) for m in table],
        columns=["metric", "title", "group", "headline"],
    )
    return pd.concat(
        [
            about.join(own.set_index("metric"), on=about["metric"].map(target))
            for _, own in tested.groupby("candidate", sort=False)
        ],
        ignore_index=True,
    ).reindex(columns=CONTRACT + DETAILS)


def ranks(
    conditions: Sequence[Condition],
    metric: str,
    resampling: Resampling,
    n_permutations: int = 10_000,
) -> DataFrame:
    """Rank intervals of conditions that were labelled together, on a metric: condition, rank_low, rank_high.

    Every pair is tested, all pairs together as one family. `rank_low` is 1 + the number of conditions that are shown
    to be better, `rank_high` the number of conditions less those shown to be worse: together they hold every true
    rank with probability 1 - level. Null for a condition that is not measured. Pairs of fewer than MIN_UNITS units, or
    whose missing values are not random, are not shown to differ. NothingPaired for two without a unit in common.

    >>> from evaltools.core.metric import Metric
    >>> accuracy = Metric(name="accuracy", numerator="right", denominator="n", better="higher")
    >>> one = pd.DataFrame({"id": range(40), "right": [1, 0] * 20, "n": 1})
    >>> two = one.assign(right=[1, 0, 1, 1] * 10)
    >>> conditions = label([("x", {"": one}), ("y", {"": two})], [accuracy], "id")
    >>> ranks(conditions, "accuracy", Resampling())
      condition  rank_low  rank_high
    0         x         2          2
    1         y         1          1
    """
    cells_of = cache(lambda side: side.cells(metric))
    n = len(conditions)
    pairs = []
    for a, b in combinations(range(n), 2):
        pair = shared_seeds(conditions[a], conditions[b])
        keep = same_questions(*pair)
        found = _row(*(cells_of(side).where(keep) for side in pair))
        pairs.append({"candidate": "", "a": a, "b": b} | found)
    is_measured = np.array(
        [not (side.blocked or np.isnan(side.value).all()) for side in map(cells_of, conditions)]
    )
    tested = DataFrame(pairs).assign(primary=False, family=True, margin=np.nan)
    level = resampling.level
    # there may be thousands, the intervals of which have neither a bootstrap nor the level of their family
    is_few = len(tested) <= MOST_ADJUSTED
    _test(tested, resampling, n_permutations, level if is_few else None)
    tested = tested[tested["p_adjusted"] <= level].reset_index(drop=True)
    beats = np.zeros((n, n))
    if len(tested):
        tested["level"] = tested["level"].fillna(level)
        tested = tested.join(
            _intervals(tested, draws_of(tested["effect"] if is_few else (), resampling))
        )
        verdict, _ = verdicts(tested, level)
        for word, winner, loser in (("better", "b", "a"), ("worse", "a", "b")):
            shown = tested[verdict == word]
            beats[shown[winner], shown[loser]] = 1
    frame = DataFrame(
        {
            "rank_low": 1 + beats.sum(axis=0),
            "rank_high": is_measured.sum() - beats.sum(axis=1),
        },
        dtype="Int64",
    )
    frame.loc[~is_measured] = pd.NA
    frame.insert(0, "condition", [condition.name for condition in conditions])
    return frame


def _require_testable(
    formulas: Mapping[str, Formula], margin: Mapping[str, float], confidence: float
) -> None:
    """UsageError unless margins, or a primary metric, as declared, can be tested."""
    for name, size in margin.items():
        if name not in formulas:
            raise UsageError(
                f"primary or margin: no metric {name!r}; {nearest(name, list(formulas))}"
            )
        if not formulas[name].is_directed:
            raise UsageError(
                f"primary or margin: {name} has no direction, so that it can be neither better nor worse"
            )
        if not isinstance(size, Real) or not 0 < size < np.inf:
            raise UsageError(f"margin of {name}: expected a finite number above 0, got {size!r}")
    if margin and confidence <= 0.5:
        raise UsageError(f"a margin needs intervals of more than 50%, not {confidence:.0%}")


# --- families and intervals


def _row(
    a: Cells,
    b: Cells,
) -> Fields:
    """What is known of a metric of two conditions before it is tested with others; `effect`: None if not measured."""
    metric, found = a.formula.metric, paired(a, b)
    candidate, baseline = (side.value.mean() for side in found.sides) if found else [np.nan] * 2
    row: Fields = {
        "metric": metric.name,
        "better": metric.better,
        "effect": found,
        "differences": found.differences if found else np.zeros(len(a.starts)),
        "value_baseline": baseline,
        "value_candidate": candidate,
        "delta": candidate - baseline,
        "n_units": found.n_units if found else 0,
        "n_seeds": found.n_seeds if found else 0,
        "n_differ": found.differs.sum() if found else 0,
        # p for new seeds and new samples
        "p_seeds": p_of_t(found.accounts, found.value) if found and found.parts else np.nan,
        # p of proportions is mid-p
        "mid": getattr(metric, "proportion", False),
    }
    row |= lacking(a, b)
    few, tested = row["few_missing"], row["tested"]
    # what was tested moves no verdict
    rest = _row(a.where(~tested), b.where(~tested)) if few and tested.any() else row
    for end in ("worst", "best"):
        row[f"moved_{end}"] = (rest[f"delta_{end}"] - rest["delta"]) * few
    return row


def _test(
    rows: DataFrame,
    resampling: Resampling,
    n_permutations: int,
    level: float | None,
) -> None:
    """Give the rows p_value, p_adjusted and, of intervals of this level, the level of each in its family.

    What is blocked has no p; each metric of each pair is asked alone.
    """
    by_unit = np.transpose([*rows["differences"]])
    rows["p_value"] = np.nan
    for _, own in rows.groupby("candidate"):
        rows.loc[own.index, "p_value"] = np.fmax(
            sign_flip(
                by_unit[:, own.index], n_permutations, resampling.seed, own["mid"].to_numpy()
            ),
            own["p_seeds"],
        )
    is_blocked = rows["blocked"].notna()
    rows.loc[is_blocked | rows["delta"].isna(), ["p_value", "p_seeds"]] = np.nan
    rows["effect"] = rows["effect"].mask(is_blocked, None)
    rows["level"], rows["p_adjusted"] = level, np.nan
    for members in (rows["primary"], rows["family"] & ~rows["primary"]):
        own = rows[members & (rows["n_units"] >= MIN_UNITS) & rows["p_value"].notna()]
        rows.loc[own.index, "p_adjusted"] = own["p_value"]
        # what no signs could show is never shown, so that it costs the others nothing
        own = own[best_p(own) <= resampling.level]
        if len(own) < 2:
            continue
        # p and intervals of a family hold together
        p, critical = max_t(
            by_unit[:, own.index], n_permutations, resampling.seed, level, own["mid"].to_numpy()
        )
        adjusted = np.fmax(own["p_value"], np.fmax(p, holm(own["p_seeds"])))
        rows.loc[own.index, "p_adjusted"] = adjusted
        if level:
            # the steps end with the first that is not shown, whose c is that of the rest
            is_left = (adjusted > level).to_numpy()
            critical[is_left] = np.fmax.reduce(critical[is_left], initial=np.nan)
            n = np.array([e.n_effective for e in own["effect"]]).clip(2)
            # max_t's T in the scale of Student's t
            t = critical * np.sqrt((n - 1) / np.maximum(n - critical**2, 1e-3))
            rows.loc[own.index, "level"] = np.fmin(level, 2 * stdtr(n - 1, -t))


def _intervals(
    rows: DataFrame, draws: Mapping[Effect | None, Draws], method: str = "auto"
) -> DataFrame:
    """The interval of every row at its level, that of equivalence, and the mde."""
    result = []
    for found, level, margin in rows[["effect", "level", "margin"]].to_numpy():
        drawn, within, mde = draws.get(found), Interval(), np.nan
        interval = interval_of(found, level, drawn, method)
        if margin > 0:
            within = interval_of(found, min(2 * level, 0.99), drawn, method, unseen=level)
        if found:
            error, t, df = widest(found.accounts, level)
            delta, of_power = found.value, stdtrit(df, POWER)
            reaches = (delta - interval.low) * (delta >= 0), (interval.high - delta) * (delta <= 0)
            size = max(reaches) + of_power * error
            if found.is_single:
                size = max(size, smallest_shown(delta, error, found.n_effective, t + of_power))
            if size <= found.limits[1]:
                mde = float(f"{size:.0e}" if found.n_units < ROUGH else f"{size:.1e}")
        width = interval.high - interval.low
        result.append(
            {
                # where it touches 0 rounding decides nothing
                "ci_low": rounded(interval.low, width) + 0.0,  # no -0.0
                "ci_high": rounded(interval.high, width) + 0.0,
                "ci_method": interval.method,
                "claim": found.claim if found and interval.method != "none" else "",
                # a class without a change keeps its reach, so that this could be the wider of the two
                "equivalence_low": np.maximum(within.low, interval.low),
                "equivalence_high": np.minimum(within.high, interval.high),
                "mde": mde,
            }
        )
    return DataFrame(result)


def best_p(rows: DataFrame) -> Series:
    """The smallest p that signs of the m units that differ can have: 2^(1-m), with mid-p 2^-m."""
    return 2.0 ** (1 - rows["mid"] - rows["n_differ"])


def verdicts(
    rows: DataFrame,
    level: float,
) -> tuple[Array, Array]:
    """(verdict, what a "tied" row is short of) of every metric, a row each. `level` is as 0.05.

    The verdict is the first of these that holds:
    - not measured: a side has no value, or the row is blocked;
    - too few: fewer than MIN_UNITS paired units;
    - better, worse: p (adjusted in the family) is within the level, and the interval leaves out 0; with
      values missing, too few to test, also where these were the worst or the best;
    - equivalent: the interval at 1 - 2 * level lies within the declared margin, with such values missing
      wherever these were;
    - too few: so few units differ that no signs of theirs could bring p within the level;
    - tied: all else. No difference was shown, which is not to say that there is none.

    >>> row = {"delta": 0.1, "n_units": 50, "n_differ": 20, "p_value": 0.01, "p_adjusted": np.nan}
    >>> row |= {"ci_low": 0.02, "ci_high": 0.18, "better": "lower", "mid": False, "margin": np.nan}
    >>> row |= {"moved_worst": 0.0, "moved_best": 0.0, "blocked": None}
    >>> row |= {"equivalence_low": np.nan, "equivalence_high": np.nan}
    >>> [text.tolist() for text in verdicts(pd.DataFrame([row]), 0.05)]
    [['worse'], ['']]
    """
    low, high, delta = rows["ci_low"], rows["ci_high"], rows["delta"]
    within_low, within_high, margin = (
        rows[name] for name in ("equivalence_low", "equivalence_high", "margin")
    )
    # how far values missing, too few to test, could move the difference
    moves = rows[["moved_worst", "moved_best"]]
    down, up = moves.min(axis=1).clip(upper=0), moves.max(axis=1).clip(lower=0)
    # units that all differ alike, without limits, have no interval that could disagree
    by_interval = (low > 0) | (high < 0) | low.isna()
    at_both_ends = (low.fillna(delta) + down > 0) | (high.fillna(delta) + up < 0)
    by_p = rows["p_adjusted"].fillna(rows["p_value"]) <= level
    shown = by_p & at_both_ends
    is_close = (within_low > -margin) & (within_high < margin)
    is_within = (within_low + down > -margin) & (within_high + up < margin)
    cases = (
        delta.isna() | rows["blocked"].notna(),
        rows["n_units"] < MIN_UNITS,
        shown & ((delta > 0) == (rows["better"] != "lower")),
        shown,
        is_within,
        best_p(rows) > level,
    )
    verdict = np.select(
        cases, ("not measured", "too few", "better", "worse", "equivalent", "too few"), "tied"
    )
    is_lacking = (by_p & by_interval & ~at_both_ends) | (is_close & ~is_within)
    short = np.select(
        [is_lacking, by_p & ~by_interval, ~by_p & by_interval], ["missing", "interval", "p"], ""
    )
    return verdict, np.where(verdict == "tied", short, "")
