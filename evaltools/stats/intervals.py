"""Intervals of one run, of a condition over its seeds, and of paired differences: the rows of docs/statistics.md."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from pandas import DataFrame
from scipy.special import ndtr

from ..core.estimates import Resampling, complete, public_frame
from ..core.messages import UsageError
from ..core.metric import Metric, MetricTable
from .effects import MIN_UNITS, ROUGH, Effect
from .formulas import (
    Array,
    Draws,
    effective_units,
    gains_and_losses,
    mid_p,
    mover,
    resampled,
    rounded,
    score_of_units,
    score_t,
    t_quantile,
    widest,
)
from .influence import LARGE, Cells, Condition, label

# A BCa interval within limits needs so many effective units, and of a difference so many that differ.
BCA_UNITS = 50
# So many units must be off the commonest value for it.
OFF_COMMONEST = 10


class Interval(NamedTuple):
    """Bounds and how they were made; nan and "none" where there is none."""

    low: float = np.nan
    high: float = np.nan
    method: str = "none"


def draws_of(
    effects: Iterable[Effect | None], resampling: Resampling
) -> dict[Effect | None, Draws]:
    """The bootstraps of those effects of one run a side of which units vary, and are not too many."""
    used = [e for e in effects if e and not e.parts and e.present.sum() <= LARGE and e.errors.any()]
    draws: dict[Effect | None, Draws] = {}
    for n in {e.present.sum() for e in used}:
        # many metrics share columns: each is resampled once
        units = {e: e.sums[:, e.present] for e in used if e.present.sum() == n}
        own = {row.tobytes(): row for each in units.values() for kind in each for row in kind.T}
        drawn = dict(zip(own, resampled(np.array([*own.values()]), resampling)))
        for e, each in units.items():
            sums = np.array([[drawn[row.tobytes()] for row in kind.T] for kind in each])
            left_out = each.sum(axis=1, keepdims=True) - each
            values = (e.formula.values(part) for part in (sums.swapaxes(1, 2), left_out))
            draws[e] = Draws(e.value, *values)
    return draws


def interval_of(
    e: Effect | None,
    alpha: float,
    draws: Draws | None = None,
    method: str = "auto",
    unseen: float | None = None,
) -> Interval:
    """The interval of an effect e with the probability alpha outside; `draws`: its bootstrap, if it has one.

    `unseen`: the probability that gains, or losses, of which none were drawn lie outside (default: alpha).
    """
    unseen = unseen or alpha
    if e is None or e.blocked or e.is_count or not e.n_units or np.isnan(e.value):
        return Interval()
    if e.is_difference and e.value and not e.differs.any():
        return Interval()  # a side counts no unit, and has the value of none
    if draws and method != "auto":
        n_that_vary = e.differs.sum() if e.is_difference else _n_off_commonest(e)
        if n_that_vary >= MIN_UNITS:
            return Interval(*draws.bounds(alpha, method), method)
    of_seeds = _over_seeds(e, alpha, unseen) if e.parts else Interval()
    if e.is_within and (e.is_difference or e.parts):
        sizes = [effective_units(side.ratio_shares.mean(axis=0)) for side in e.sides]
        # few units of one ratio would pass for as many as another has
        if any(min(n) < min(ROUGH, max(n) / 2) for n in sizes):
            # MOVER does not see what seeds bring to several ratios at once
            return _wider(_of_ratios(e, alpha, unseen), of_seeds)
    if e.parts:
        return of_seeds
    if not e.is_within:
        return _t_interval(e, alpha, draws)
    if e.is_difference:
        return _of_difference(e, alpha, unseen, draws)
    if (
        draws
        and effective_units(e.ratio_shares).min() >= BCA_UNITS
        and _n_off_commonest(e) >= OFF_COMMONEST
    ):
        return Interval(*draws.bounds(alpha), "bca")
    if len(e.formula.ratios) > 1:
        return _of_ratios(e, alpha, unseen)
    if e.is_single:
        n, trials = e.sums[:2].sum(axis=(1, 2)).astype(int)
        return Interval(*mid_p(n, trials, alpha), "mid-p")
    return Interval(
        *score_of_units(
            e.value,
            e.errors,
            e.shares,
            e.limits,
            alpha,
        ),
        "score-t",
    )


def _n_off_commonest(run: Effect) -> int:
    """How many units have another value than the commonest, of the ratio that has the fewest."""
    own = ((num[den != 0] / den[den != 0]).round(9) for num, den in zip(run.num.T, run.den.T))
    return min(len(each) - max(np.unique(each, return_counts=True)[1], default=0) for each in own)


def _wider(one: Interval, other: Interval) -> Interval:
    """At each end the wider of two intervals, or the one that there is."""
    is_wider = one.method == "none" or other.high - other.low > one.high - one.low
    method = other.method if is_wider else one.method
    return Interval(np.fmin(one.low, other.low), np.fmax(one.high, other.high), method)


def _within_limits(
    e: Effect,
    bounds: Any,
    method: str,
) -> Interval:
    """An interval of an effect, cut off at its limits."""
    low, high = np.clip(bounds, *e.limits)
    return Interval(low, high, method)


def _t_interval(
    e: Effect,
    alpha: float,
    draws: Draws | None = None,
) -> Interval:
    """Rows 5 and 7: the t interval, with a bootstrap the wider of both."""
    fewest = min(side.takes_part.sum() for side in e.sides) if e.is_of_other_units else e.n_units
    # of units that all differ alike, within limits, as if one more did not
    error = np.sqrt(e.variance) or e.is_within * abs(e.value) / e.n_effective
    if fewest < MIN_UNITS or not error:
        return Interval()
    half = t_quantile(e.n_effective - 1, alpha) * error
    low, high, method = e.value - half, e.value + half, "t"
    if draws:
        # the level at which a bootstrap of n units is as wide as a t interval (Hesterberg)
        n = e.n_units
        bounds = draws.bounds(2 * ndtr(-np.sqrt(n / (n - 1)) * t_quantile(n - 1, alpha)))
        low, high, method = min(low, bounds[0]), max(high, bounds[1]), "bca-t"
    return _within_limits(e, [low, high], method)


def _of_difference(
    e: Effect,
    alpha: float,
    unseen: float,
    draws: Draws | None = None,
) -> Interval:
    """Rows 7 and 8: the interval of a difference within limits, of one run each, or within a run."""
    is_many = e.differs.sum() >= MIN_UNITS
    small, large = e.n_of_sides
    b, a = e.sides
    # all units of a side alike, and not those of the other: the other's say nothing of what it may hold
    is_alone = (a.takes_part != b.takes_part).any() and not (a.errors.any() and b.errors.any())
    if e.is_of_other_units or is_alone or (is_many and (small < MIN_UNITS or 2 * small < large)):
        # by the interval of each side alone
        return _joined(
            e,
            [Effect.of(b), Effect.of(a)],
            np.array([1.0, -1.0]),
            alpha,
        )
    if draws and effective_units(e.shares[e.differs]) >= BCA_UNITS:
        return Interval(*draws.bounds(alpha), "bca")
    found = _t_interval(e, alpha) if is_many else Interval()
    # near a limit t rests on the few that differ less
    if e.n_effective > 1 and (found.method == "none" or {*e.limits} & {*found[:2]}):
        found = _within_limits(
            e,
            gains_and_losses(
                e.differences,
                e.shares,
                (e.limits[1] - e.limits[0]) / 2,
                alpha,
                unseen,
            ),
            "mover",
        )
    return found


def _over_seeds(
    e: Effect,
    alpha: float,
    unseen: float,
) -> Interval:
    """Row 6, of two or more seeds; of a difference that too few units carry the wider end of it and row 8."""
    if e.is_within and e.is_of_other_units and e.n_of_sides[0] < MIN_UNITS:
        return _of_difference(e, alpha, unseen)
    error, critical, _ = widest(e.accounts, alpha)
    error = rounded(error, 100 * np.abs(e.ratios).max())
    if e.is_within and not e.is_difference and (e.formula.weights > 0).all():
        return Interval(
            *score_t(
                e.value,
                error**2,
                e.n_effective,
                critical,
                e.limits,
                alpha,
            ),
            "score-t",
        )
    found, half = Interval(), error * critical
    if error and (e.is_within or e.n_units >= MIN_UNITS):
        found = _within_limits(e, [e.value - half, e.value + half], "components")
    # or so few differ that no signs of theirs could bring p within the level
    if e.is_difference and e.is_within and (not error or e.differs.sum() < 1 - np.log2(unseen)):
        found = _wider(found, _of_difference(e, alpha, unseen))
    return found


def _of_ratios(
    e: Effect,
    alpha: float,
    unseen: float,
) -> Interval:
    """The interval of a sum of ratios by that of each alone, for the same new samples and seeds."""
    weights = e.sides[0].formula.weights
    used = np.flatnonzero(weights).tolist()
    return _joined(
        e,
        [Effect.of(*(side.ratio(i) for side in e.sides)) for i in used],
        np.sign(weights[used]),
        alpha,
        unseen,
    )


def _joined(
    e: Effect,
    parts: Sequence[Effect],
    signs: Array,
    alpha: float,
    unseen: float = 0.0,
) -> Interval:
    """The interval of a sum of parts, each with its sign, by that of each, joined by MOVER.

    One unit says nothing of others, so that its effect can be anything within limits, and so that of an absent class.
    """
    ends = []
    for part in parts:
        bound = interval_of(part, alpha, unseen=unseen)
        ends.append(part.limits if bound.method == "none" else bound[:2])
    return _within_limits(
        e,
        mover(
            np.array([part.value for part in parts]),
            np.array(ends),
            np.stack([part.errors for part in parts], axis=1),
            signs,
        ),
        "mover",
    )


# --- tables of estimates


def estimate(
    units: DataFrame,
    table: MetricTable,
    unit: str,
    resampling: Resampling | None = None,
) -> DataFrame:
    """Value and interval of every metric, one row each.

    Columns: name, title, value, ci_low, ci_high, ci_method, numerator, denominator, n_units, group,
    better, blocked. Null is "not measured" (value) or "no interval" (bounds). `title` is the name where
    the table has none. `numerator` and `denominator` are null for weighted sums of metrics. `n_units`
    counts the resampling units that take part in the metric. `ci_method`: docs/statistics.md.

    A row whose denominator is null takes no part in that metric, as if it were left out. The trials of a sample (rows
    that differ in the column `trial`) are averaged first; `item` tells the samples of a unit apart.

    Raises UsageError, with the row, for what is no frame, columns that it lacks, what is no finite number, a null
    numerator of a row that the denominator counts, a row whose own value is outside the limits of its metric,
    and a table that does not compile.

    >>> units = pd.DataFrame({"id": range(40), "right": [1, 1, 0, 1] * 10, "n": 1})
    >>> accuracy = Metric(
    ...     name="accuracy", numerator="right", denominator="n", better="higher", proportion=True
    ... )
    >>> estimates = estimate(units, [accuracy], "id")
    >>> estimates[["name", "value", "ci_low", "ci_high", "ci_method"]]
           name  value    ci_low  ci_high ci_method
    0  accuracy   0.75  0.599457  0.86546     mid-p
    """
    if not isinstance(units, DataFrame):
        raise UsageError(f"units: expected a DataFrame, got {type(units).__name__}")
    conditions = label([("", {"": units})], table, unit)
    return public_frame(aggregate(conditions, resampling or Resampling()))


def aggregate(
    conditions: Iterable[Condition],
    resampling: Resampling,
) -> DataFrame:
    """The estimates of every condition over its seeds, a row a metric.

    Columns: those of `core.estimates`, min and max (the least and greatest value of a seed), and claim
    (what the interval speaks for). `value` is the mean over the seeds in which the metric is measured
    (`n_seeds`), `std` their standard deviation (ddof 1, nan for one seed). `n_units` counts the
    resampling units that take part in any seed. Metrics of one seed have the sums and the interval of that run.

    >>> run = pd.DataFrame({"id": range(40), "right": [1, 1, 0, 1] * 10, "n": 1})
    >>> runs = {1: run, 2: run.assign(right=[1, 0, 0, 1] * 10)}
    >>> accuracy = Metric(name="accuracy", numerator="right", denominator="n", better="higher")
    >>> estimates = aggregate(label([("two", runs)], [accuracy], "id"), Resampling())
    >>> estimates[["metric", "value", "n_seeds", "min", "max"]]
         metric  value  n_seeds  min   max
    0  accuracy  0.625        2  0.5  0.75
    """
    frames = []
    for condition in conditions:
        rows: list[dict[str, object]] = []
        names = list(condition.formulas)
        # of many units one metric at a time, so that memory does not grow with the table
        at_once = len(names) if len(condition.cell) <= LARGE else 1
        while names:
            rows += _rows(condition, names[:at_once], resampling)
            del names[:at_once]
        frames.append(complete(DataFrame(rows), condition.name))
    return pd.concat(frames, ignore_index=True)


def _rows(
    condition: Condition, metrics: Sequence[str], resampling: Resampling
) -> Iterator[dict[str, object]]:
    """The rows of `aggregate` for some metrics, which are resampled together."""
    measured: list[tuple[Cells, Effect]] = []
    for name in metrics:
        cells = condition.cells(name).per_unit()
        is_known = ~np.isnan(cells.value)
        if is_known.any() and not is_known.all():
            cells = cells.at(is_known)
        measured.append((cells, Effect.of_run(cells)))
    draws = draws_of([effect for _, effect in measured], resampling)
    for cells, effect in measured:
        interval = interval_of(effect, resampling.level, draws.get(effect), resampling.method)
        metric, values, n_seeds = cells.formula.metric, cells.value, cells.n_seeds
        is_of_sums = n_seeds == 1 and isinstance(metric, Metric)
        yield {
            "metric": metric.name,
            # of equal values that value, without the rounding of a sum
            "value": values[0] if np.ptp(values) == 0 else values.mean(),
            "std": values.std(ddof=1) if n_seeds > 1 else np.nan,
            "ci_low": interval.low,
            "ci_high": interval.high,
            "ci_method": interval.method,
            "numerator": cells.totals[0].sum() if is_of_sums else np.nan,
            "denominator": cells.totals[1].sum() if is_of_sums and not cells.is_count else np.nan,
            "n_units": 0 if n_seeds > 1 and np.isnan(values).any() else cells.takes_part.sum(),
            "n_seeds": (~np.isnan(values)).sum(),
            "min": values.min(),
            "max": values.max(),
            "title": metric.title,
            "group": metric.group,
            "better": metric.better,
            "claim": effect.claim if interval.method != "none" else "",
            "blocked": cells.blocked,
        }
