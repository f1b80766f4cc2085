"""Paired comparison of two conditions: differences with intervals, p, families, and verdicts.

A comparison rests on the cells (sample, seed) that both sides have; what is left out is counted.
All metrics go through one set of bootstrap weights and one set of signs. To swap the sides turns
the sign of every difference and interval and keeps every p.

1. `design.pair`: the cells that both sides have.
2. `differences`: p, standard error and interval of every difference.
3. `judged_together`: the family of the headline.
4. `verdicts`.

Formulas and measured error rates: docs/statistics.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from scipy.special import ndtri

from ..core.errors import UsageError
from ..core.metric import MetricTable
from ..core.resampling import Resampling
from .arrays import Array
from .claims import with_trials
from .declared import Declared, declare
from .design import Pairing, Runs, grid, pair, pair_rows
from .detectable import POWER, smallest_difference, units_needed
from .differences import differences, evidence, judged_together, within_margin
from .influence import Paired, cell_sums
from .intervals import MIN_UNITS
from .max_t import JointTests
from .measured import measured_groups, metric_groups, one_sided

CONTRACT = (
    "metric", "baseline", "candidate", "value_baseline", "value_candidate", "delta",
    "ci_low", "ci_high", "p_value", "p_adjusted", "n_units", "n_seeds", "verdict", "primary",
    "mde", "margin", "equivalence_low", "equivalence_high",
)  # fmt: skip
"""The columns of comparison.csv, in order."""

DETAILS = (
    "ci_method", "claim", "p_samples", "df", "level", "n_differ", "headline", "family", "better",
    "title", "group", "alias_of", "each", "var_seed", "var_sample", "var_residual",
    "n_cells", "missing_baseline", "missing_candidate", "delta_worst", "delta_best",
    "pooled",
)  # fmt: skip
"""The further columns of `Comparison.table`."""

FROM_TARGET = (
    "p_value", "p_samples", "p_adjusted", "level", "verdict", "primary", "family", "mde", "margin",
    "equivalence_low", "equivalence_high",
)  # fmt: skip
"""What an alias takes from the metric that it is another name of."""

ROUGH = 5
"""Below so many degrees of freedom a standard error, and what rests on it, is known to one digit.
"""


class NothingPaired(UsageError):
    """Two sides that share no unit."""


@dataclass(frozen=True)
class Comparison:
    """Candidate against baseline.

    `table` has a row for every metric that has a direction, with the columns of CONTRACT and
    DETAILS.

    Over the cells in which both sides are measured: `value_baseline`, `value_candidate`, and
    `delta`, their difference: means over seeds. Values of whole runs are those of
    `seeds.aggregate`. `ci_low`, `ci_high`: `differences.differences`. `n_differ`: paired units
    whose own numerator or denominator differs; `each`: the mean size of their differences, as a
    part of delta. `df` of the standard error; `var_seed`, `var_sample`, `var_residual`: the parts
    of the variance of delta; `pooled`: whether the seeds of both sides count together in it.
    `n_cells`: units under a seed (units, where seeds do not pair) that
    either side has; `missing_baseline`, `missing_candidate`: those that this side lacks;
    `delta_worst`, `delta_best`: delta if all of these were the worst, or the best, for the
    candidate (null without limits of the metric).

    Tests: `p_samples` is that of two-sided sign flips over units, mid-p for proportions; `p_value`,
    with several seeds, the larger of it and the p of the variance components. `primary`: the metric
    that is tested alone, whose `p_adjusted` is its p, or of several conditions the p that holds for
    all pairs of them together (`max_t`); for the others of the headline it is Westfall
    and Young's over them (`multiplicity.step_down`); null for all else, which is exploratory.
    `family`: the primary metric, the headline and their aliases. `level`: what `p_value` must keep,
    in the family that of its step. `verdict`: `verdicts`. `mde`: the smallest true difference that
    these data show with 80% power at `level`, in two digits, or one below ROUGH degrees of freedom.
    `margin` as declared, with the interval of the test of equivalence within it. An alias has the
    verdict and p of its metric.

    `unpaired`: side -> its cells that take no part. `identical`: neither side lacks a cell, and every
    cell is the same on both sides. With more than
    LARGE units bootstrap and sign flips have closed forms.
    """

    table: pd.DataFrame = field(repr=False)
    unpaired: dict[str, int]
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
    joint: JointTests | None = None,
) -> Comparison:
    """Compare two conditions (seed -> units frame) over every metric of a table.

    `headline`: metrics that are tested together. `primary`: the one that is tested alone (default: the first headline
    metric with a direction). `margin`: metric -> largest difference that does not matter, in units of the metric.
    `joint`: the primary metric tested for every pair of several conditions, of which these are two, by their `names`.

    Raises ValueError for a headline name that the table lacks, for no run, and for a null unit; UsageError for a primary
    metric or margin that cannot be tested; NothingPaired for sides without a unit in common.

    >>> from evaltools.core.metric import Metric
    >>> accuracy = Metric(name="accuracy", numerator="right", denominator="n", better="higher")
    >>> old = pd.DataFrame({"id": range(40), "right": [1, 0] * 20, "n": 1})
    >>> new = old.assign(right=[1, 0, 1, 1] * 10)
    >>> comparison = compare({"": old}, {"": new}, [accuracy], "id", Resampling(), ["accuracy"])
    >>> comparison.table[["metric", "delta", "verdict"]]
         metric  delta verdict
    0  accuracy   0.25  better
    """
    declared = declare(table, headline, primary, margin or {}, resampling.confidence)
    paired = pairing(baseline, candidate, unit, names)
    units = paired.baseline.units
    sides = baseline, candidate
    measured, of_family, identical = _measured(
        sides, declared, unit, units, n_permutations, resampling
    )
    adjusted = _adjusted(measured, of_family, declared, n_permutations, resampling)
    if joint is not None:
        adjusted = _for_all_pairs(adjusted, joint, names)
    judged = _judged(adjusted, declared, resampling.level)
    judged = judged.assign(
        baseline=names[0],
        candidate=names[1],
        headline=declared.leading,
    )
    rows = judged.loc[declared.directed, [*CONTRACT, *DETAILS]]
    frames = [*baseline.values(), *candidate.values()]
    rows = with_trials(rows.reset_index(drop=True), frames, unit)
    return Comparison(
        table=rows,
        unpaired=paired.unpaired,
        paired_by="sample and seed" if paired.by_seed else "sample",
        identical=identical,
    )


def pairing(
    baseline: Runs,
    candidate: Runs,
    unit: str,
    names: tuple[str, str],
) -> Pairing:
    """How the two sides pair; NothingPaired for sides without a unit in common."""
    wholes = grid(baseline, unit), grid(candidate, unit)
    paired = pair(*wholes)
    if not len(paired.baseline.units):
        raise NothingPaired(
            f"{names[0]} ({len(wholes[0].units)} units) and {names[1]} "
            f"({len(wholes[1].units)} units) share no {unit}: nothing to compare"
        )
    return paired


def _measured(
    sides: tuple[Runs, Runs],
    declared: Declared,
    unit: str,
    units: pd.Index,
    n_permutations: int,
    resampling: Resampling,
) -> tuple[pd.DataFrame, pd.DataFrame, bool]:
    """What is shown of every metric by itself, in the order of the table.

    Metrics that are measured in the same cells go together; of many cells some metrics at a time.
    Gives the rows of `differences` with what `one_sided` says; the differences of all `units` that
    pair, a column a metric of the family; and whether both sides are identical, as in
    `Comparison`. A unit in which a metric of the family is not measured differs by 0 in it.
    """
    table = declared.compiled.metrics
    frames = [frame for runs in sides for frame in runs.values()]
    rows = []
    of_family: dict[int, pd.Series] = {}
    identical = True
    for group in measured_groups(table, frames, unit):
        measured_a, measured_b = (group.runs(runs) for runs in sides)
        (a, b, by_seed, _), whole_a, whole_b = pair_rows(measured_a, measured_b, unit)
        n_units = len(a.units)
        n_cells = n_units * (len(a.seeds) + len(b.seeds))
        for metrics, compiled in metric_groups(table, group.metrics, n_units, n_cells):
            paired = Paired(cell_sums(a, compiled), cell_sums(b, compiled), by_seed)
            lacking = one_sided(
                whole_a,
                whole_b,
                compiled,
                by_seed,
                paired.delta,
            )
            shown = evidence(paired, n_permutations, resampling)
            of_group = differences(shown, declared.margins[metrics], resampling)
            of_group = of_group.assign(**lacking)
            rows.append(of_group.set_index(pd.Index(metrics)))
            is_whole = not lacking["missing_baseline"] and not lacking["missing_candidate"]
            identical &= paired.identical and is_whole
            for column, metric in enumerate(metrics):
                if metric in declared.family:
                    of_family[metric] = pd.Series(shown.differences[:, column], a.units)
    family = pd.DataFrame(of_family, index=units).fillna(0.0)
    return pd.concat(rows).sort_index(), family, identical


def _adjusted(
    measured: pd.DataFrame,
    of_family: pd.DataFrame,
    declared: Declared,
    n_permutations: int,
    resampling: Resampling,
) -> pd.DataFrame:
    """The rows with what the family does to them.

    Added: primary, family, margin, level, p_adjusted, and the part that the seeds have in the
    family (error_shared, df_shared; null outside it).
    """
    metrics = np.arange(len(declared.target))
    rows = measured.assign(
        margin=declared.margins,
        primary=np.isin(metrics, declared.family[:1]),
        family=np.isin(metrics, declared.family),
        level=resampling.level,
        error_shared=np.nan,
        df_shared=np.nan,
    )
    rows["p_adjusted"] = rows["p_value"].where(rows["primary"])
    testable = rows["p_value"].notna() & (rows["n_units"] >= MIN_UNITS)
    others = [metric for metric in declared.family[1:] if testable[metric]]
    if others:
        differences_of_others = of_family[others].to_numpy()
        judged = judged_together(
            rows.loc[others], differences_of_others, n_permutations, resampling
        )
        rows.loc[others, judged.columns] = judged
    return rows


def _for_all_pairs(
    rows: pd.DataFrame,
    joint: JointTests,
    names: tuple[str, str],
) -> pd.DataFrame:
    """The rows with p and level of the primary metric that hold for all pairs of conditions."""
    primary = rows["primary"]
    p_of_all = np.fmax(rows["p_value"], joint.p_adjusted(*names))
    return rows.assign(
        p_adjusted=rows["p_adjusted"].mask(primary, p_of_all),
        level=rows["level"].mask(primary, joint.level),
    )


def _judged(
    rows: pd.DataFrame,
    declared: Declared,
    level: float,
) -> pd.DataFrame:
    """The rows with delta, mde and verdict, and the columns of the metrics; aliases as their
    metrics.
    """
    compiled = declared.compiled
    units = units_needed(rows["level"].to_numpy(), rows["mid"].to_numpy())
    judged = rows.assign(
        delta=rows["value_candidate"] - rows["value_baseline"],
        mde=_smallest_shown(rows, units),
        few_differ=rows["n_differ"] < units,
        **compiled.each("better"),
    )
    judged["verdict"] = verdicts(judged, level)
    for column in FROM_TARGET:
        judged[column] = judged[column].to_numpy()[declared.target]
    for column in ("ci_low", "ci_high"):
        judged[column] += 0.0  # no -0.0
    return judged.assign(
        metric=compiled.names,
        **compiled.each("title", "group", "alias_of"),
    )


def _smallest_shown(
    rows: pd.DataFrame,
    units: Array,
) -> list[float]:
    """mde of every metric: the smallest true difference that these data show with 80% power.

    nan without an interval. `units` must differ, all one way, before sign flips can find anything.
    Of metrics that are judged together the mde is not below what the seeds' part in the family
    allows.
    """
    level = rows["level"].to_numpy()
    each = rows["each"].to_numpy()
    # of a proportion: the part of a larger difference that comes as more units which differ
    middle = (rows["value_baseline"] + rows["value_candidate"]) / 2
    furthest = np.maximum(middle, 1 - middle)
    share = 1 - each * rows["n_differ"] / furthest
    more = share.clip(0, 1).where(rows["mid"]).to_numpy()

    mde = np.full(len(rows), np.nan)
    for error, df in (("error", "df"), ("error_shared", "df_shared")):
        smallest = smallest_difference(
            rows[error].to_numpy(),
            rows[df].to_numpy(),
            level,
            each,
            units,
            more,
        )
        mde = np.fmax(mde, smallest)
    mde = np.fmax(mde, _beyond_interval(rows))
    mde = np.where(rows["ci_low"].notna(), mde, np.nan)
    return [_known_digits(value, df) for value, df in zip(mde, rows["df"])]


def _beyond_interval(rows: pd.DataFrame) -> Array:
    """The difference whose interval leaves out 0 with 80% power, for the method "mover"; else nan.

    Such an interval allows for large differences that were not drawn, and reaches further towards 0
    than the standard error says.
    """
    above = rows["ci_high"] - rows["delta"]
    below = rows["delta"] - rows["ci_low"]
    reach = np.where(rows["delta"] < 0, above, below)
    found = reach + ndtri(POWER) * rows["error"]
    return np.where(rows["ci_method"] == "mover", found, np.nan)


def _known_digits(
    value: float,
    df: float,
) -> float:
    """The number as far as a standard error with these degrees of freedom lets it be known."""
    digits = 0 if df < ROUGH else 1
    return float(f"{value:.{digits}e}")


def verdicts(
    rows: pd.DataFrame,
    level: float,
) -> Array:
    """The verdict of every metric, a row each: the first of these that holds. `level` is as 0.05.

    - not measured: a side has no value;
    - too few: fewer than MIN_UNITS paired units;
    - better, worse: p (adjusted in the family) is within the level, and there is an interval that
      leaves out 0;
    - equivalent: the interval at 1 - 2 * level lies within the declared margin;
    - too few: so few units differ that no signs of theirs could bring p within the level
      (`few_differ`);
    - tied: all else. No difference was shown, which is not to say that there is none.

    >>> row = {"delta": 0.1, "n_units": 50, "p_value": 0.01, "p_adjusted": np.nan}
    >>> row |= {"ci_low": 0.02, "ci_high": 0.18, "better": "lower", "few_differ": False}
    >>> row |= {"margin": np.nan, "equivalence_low": np.nan, "equivalence_high": np.nan}
    >>> verdicts(pd.DataFrame([row]), 0.05).tolist()
    ['worse']
    """
    p = rows["p_adjusted"].fillna(rows["p_value"])
    holds_zero = (rows["ci_low"] <= 0) & (rows["ci_high"] >= 0)
    shown = (p <= level) & rows["ci_low"].notna() & ~holds_zero
    improves = (rows["delta"] > 0) == (rows["better"] != "lower")
    cases = [
        (rows["delta"].isna(), "not measured"),
        (rows["n_units"] < MIN_UNITS, "too few"),
        (shown & improves, "better"),
        (shown, "worse"),
        (within_margin(rows), "equivalent"),
        (rows["few_differ"], "too few"),
    ]
    conditions = [condition for condition, _ in cases]
    words = [verdict for _, verdict in cases]
    return np.select(conditions, words, "tied")
