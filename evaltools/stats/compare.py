"""Paired comparison of two conditions: differences with intervals, p, families of metrics, and verdicts.

A comparison rests on the cells (sample, seed) that both sides have; what is left out is counted. All metrics go
through one set of bootstrap weights and one set of signs. To swap the sides turns the sign of every difference and
interval and keeps every p, to the last bit. Formulas and measured error rates: docs/statistics.md.

    pair cells --evidence--> p, standard error --differences--> intervals --judged_together--> family --verdicts-->
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from ..core.errors import UsageError
from ..core.metric import MetricTable
from ..core.metric_matrix import Compiled, compile_table
from ..core.names import nearest
from ..core.resampling import Resampling
from .compare_notes import comparison_notes
from .design import Grid, Runs, grid, pair
from .detectable import smallest_difference, units_needed
from .differences import differences
from .equivalence import within_margin
from .evidence import evidence, judged_together
from .influence import Paired, cell_sums
from .intervals import MIN_UNITS
from .large_samples import metric_groups
from .notes import Note
from .seed_variance import SeedPool
from .seeds import pool_notes

CONTRACT = (
    "metric", "baseline", "candidate", "value_baseline", "value_candidate", "delta", "ci_low", "ci_high", "p_value",
    "p_adjusted", "n_units", "n_seeds", "verdict", "primary", "mde", "margin", "equivalence_low", "equivalence_high",
)  # fmt: skip
"""The columns of comparison.csv, in order."""

DETAILS = (
    "ci_method", "claim", "p_samples", "df", "level", "n_differ", "headline", "family", "better", "title", "group",
    "alias_of", "each", "var_seed", "var_sample", "var_residual",
)  # fmt: skip
"""The further columns of `Comparison.table`."""

FROM_TARGET = [
    "p_value", "p_samples", "p_adjusted", "level", "verdict", "primary", "family", "mde", "margin",
    "equivalence_low", "equivalence_high",
]  # fmt: skip
"""What an alias takes from the metric that it is another name of."""

ROUGH = 5
"""Below so many degrees of freedom a standard error is known to one digit, and so is what rests on it."""


class NothingPaired(UsageError):
    """Two sides that share no unit."""


@dataclass(frozen=True)
class Comparison:
    """Candidate against baseline.

    `table` has a row for every metric that has a direction, with the columns of CONTRACT:

    - `primary`: whether this metric is tested alone;
    - `mde`: the smallest true difference that these data show with 80% power at `level`, in two digits (one digit
      below ROUGH degrees of freedom);
    - `margin` as declared, with the interval of the test of equivalence within it;

    and of DETAILS: `p_samples`, the p of sign flips alone; `df` of the standard error; `level` that `p_value` must
    keep (in the family that of its step); `n_differ`, paired units whose difference is not 0; `family`: the primary
    metric, the headline and their aliases (all else is exploratory); `each`, the mean size of a paired difference
    that is not 0, as a part of delta; `var_seed`, `var_sample`, `var_residual`, parts of the variance of delta.

    `unpaired` counts the cells, units and seeds of each side that take no part. `identical`: every paired cell is
    the same on both sides. `notes`: what a reader must know.
    """

    table: pd.DataFrame = field(repr=False)
    unpaired: dict[str, int]
    notes: list[Note]
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

    Values: `value_baseline`, `value_candidate` and `delta`, their difference, are over the paired cells: means over
    the seeds in which both sides are measured. Values of whole runs are those of `seeds.aggregate`.
    Interval: `differences.differences`. `p_value`: two-sided paired sign-flip test over resampling units, mid-p for
    proportions; with several seeds the larger of it and the p of the variance components.
    `p_adjusted`: p itself for the primary metric (default: the first headline metric with a direction); for the
    other headline metrics Westfall and Young's over them (`multiplicity.step_down`); null for all else.
    `margin`: metric -> largest difference that does not matter, in units of the metric; equivalence within it is
    tested by two one-sided tests, each at the level of the interval. `pool`: what the seeds of all conditions of a
    study differ by (`seeds.pooled_seeds`); by default those of both sides. With many units (`large_samples`)
    bootstrap and sign flips have closed forms.

    The verdict is that of `verdicts`; an alias has the verdict and p of its metric.

    Raises ValueError for a headline name that the table lacks, for no run, and for a null unit; UsageError for a
    primary metric or margin that cannot be tested; NothingPaired for sides without a unit in common.

    >>> from evaltools.core.metric import Metric
    >>> table = [Metric(name="accuracy", numerator="right", denominator="n", better="higher", proportion=True)]
    >>> old = pd.DataFrame({"id": range(40), "right": [1, 0] * 20, "n": 1})
    >>> new = old.assign(right=[1, 0, 1, 1] * 10)
    >>> comparison = compare({None: old}, {None: new}, table, "id", Resampling(), ["accuracy"])
    >>> comparison.table[["metric", "delta", "ci_low", "ci_high", "verdict"]]
         metric  delta    ci_low   ci_high verdict
    0  accuracy   0.25  0.105892  0.377849  better
    """
    tests = _tests(table, headline, primary, margin or {}, resampling.confidence)
    wholes = grid(baseline, unit), grid(candidate, unit)
    a, b, by_seed, unpaired = pair(*wholes)
    if not len(a.units):
        raise NothingPaired(_nothing_shared(wholes, names, unit, by_seed))

    measured = _measured(a, b, by_seed, table, tests, n_permutations, resampling, pool)
    adjusted = _adjusted(measured, tests, n_permutations, resampling)
    leading = [name in headline or name == primary for name in tests.compiled.names]
    rows = _judged(adjusted, tests).assign(
        baseline=names[0],
        candidate=names[1],
        headline=leading,
    )
    directed = rows.loc[tests.directed, [*CONTRACT, *DETAILS]].reset_index(drop=True)
    identical = measured.identical
    notes = comparison_notes(wholes, (a, b), by_seed, unpaired, directed, names, identical)
    if pool is None:
        notes += pool_notes(table, measured.pools)
    paired_by = "sample and seed" if by_seed else "sample"
    return Comparison(directed, unpaired, notes, paired_by, identical)


@dataclass(frozen=True)
class _Tests:
    """What is tested. A metric is meant by its position in the table; arrays are over metrics.

    `directed`: whether a metric can be better or worse. `target`: the metric that it is another name of, or itself.
    `family`: the primary metric, then the others of the headline. `margins`: nan where none is declared.
    """

    compiled: Compiled
    directed: np.ndarray
    target: np.ndarray
    family: list[int]
    margins: np.ndarray
    level: float


def _tests(
    table: MetricTable,
    headline: Sequence[str],
    primary: str | None,
    margin: Mapping[str, float],
    confidence: float,
) -> _Tests:
    """What is tested, by what was declared. ValueError and UsageError as `compare`."""
    compiled = compile_table(table)
    unknown = sorted(set(headline) - set(compiled.names))
    if unknown:
        raise ValueError(f"headline metrics that the table lacks: {unknown}")
    require_declared(table, primary, margin, confidence)
    directed = _directed(compiled)
    position = {name: index for index, name in enumerate(compiled.names)}
    target = np.array(
        [position.get(m.alias_of, index) for index, m in enumerate(compiled.metrics)], dtype=int
    )
    family: list[int] = []
    for name in [primary or "", *headline]:
        if name:
            metric = int(target[position[name]])
            if directed[metric] and metric not in family:
                family.append(metric)
    margins = np.full(len(target), np.nan)
    for name, size in margin.items():
        margins[target[position[name]]] = size
    return _Tests(compiled, directed, target, family, margins, round(1 - confidence, 12))


def _directed(compiled: Compiled) -> np.ndarray:
    """(metrics,): whether each metric can be better or worse."""
    has_direction = np.array([m.better != "none" for m in compiled.metrics], dtype=bool)
    return has_direction & ~compiled.counts


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
    directed = dict(zip(compiled.names, _directed(compiled)))
    declared = [("margin", name) for name in margin]
    if primary:
        declared.insert(0, ("primary", primary))
    for what, name in declared:
        if name not in directed:
            raise UsageError(f"{what}: no metric {name!r}; {nearest(str(name), compiled.names)}")
        if not directed[name]:
            raise UsageError(
                f"{what}: {name} has no direction, so that it can be neither better nor worse"
            )
    for name, size in margin.items():
        if not 0 < size < np.inf:
            raise UsageError(f"margin of {name}: expected a finite number above 0, got {size:g}")
    if margin and confidence <= 0.5:
        raise UsageError(f"a margin needs intervals of more than 50%, not {confidence:.0%}")


def _nothing_shared(wholes: Iterable[Grid], names: Sequence[str], unit: str, by_seed: bool) -> str:
    """The message for sides without a unit in common."""
    sides = [f"{name} ({len(side.units)} units)" for name, side in zip(names, wholes)]
    seeded = by_seed and any(seed for side in wholes for seed in side.seeds)
    under = " under a common seed" if seeded else ""
    return f"{' and '.join(sides)} share no {unit}{under}: nothing to compare"


@dataclass(frozen=True)
class _Measured:
    """Every metric by itself: `rows` of `differences`, and the (units,) differences of the family's metrics."""

    rows: pd.DataFrame
    of_family: dict[int, np.ndarray]
    pools: list[SeedPool]
    identical: bool


def _measured(
    a: Grid,
    b: Grid,
    by_seed: bool,
    table: MetricTable,
    tests: _Tests,
    n_permutations: int,
    resampling: Resampling,
    pool: SeedPool | None,
) -> _Measured:
    """The metrics of the table, all at once, or some at a time where there are many cells."""
    rows = []
    of_family: dict[int, np.ndarray] = {}
    pools = []
    identical = True
    first = 0
    n_cells = len(a.units) * (len(a.seeds) + len(b.seeds))
    for group in metric_groups(table, len(a.units), n_cells):
        metrics = list(range(first, first + len(group.metrics)))
        first += len(metrics)
        one = cell_sums(a, group)
        other = cell_sums(b, group)
        same_cells = np.array_equal(one.present, other.present)
        identical = identical and same_cells and np.array_equal(one.sums, other.sums)
        paired = Paired(one, other, by_seed)
        known = None if pool is None else pool.take(metrics)
        tested = evidence(paired, n_permutations, resampling, known)
        rows.append(differences(tested, tests.margins[metrics], resampling))
        if tested.pool is not None:
            pools.append(tested.pool)
        for column, metric in enumerate(metrics):
            if metric in tests.family:
                of_family[metric] = tested.differences[:, column].copy()
    return _Measured(pd.concat(rows, ignore_index=True), of_family, pools, identical)


def _adjusted(
    measured: _Measured,
    tests: _Tests,
    n_permutations: int,
    resampling: Resampling,
) -> pd.DataFrame:
    """The rows with what the family does to them: primary, family, level, p_adjusted, and the seeds' shared part."""
    positions = np.arange(len(tests.target))
    rows = measured.rows.assign(
        margin=tests.margins,
        primary=np.isin(positions, tests.family[:1]),
        family=np.isin(positions, tests.family),
        level=tests.level,
        error_shared=np.nan,
        df_shared=np.nan,
    )
    rows["p_adjusted"] = rows["p_value"].where(rows["primary"])
    can_be_tested = rows["p_value"].notna() & (rows["n_units"] >= MIN_UNITS)
    others = [metric for metric in tests.family[1:] if can_be_tested[metric]]
    if others:
        columns = np.stack([measured.of_family[metric] for metric in others], axis=1)
        judged = judged_together(rows.loc[others], columns, n_permutations, resampling)
        rows.loc[others, judged.columns] = judged
    return rows


def _judged(rows: pd.DataFrame, tests: _Tests) -> pd.DataFrame:
    """The rows with difference, mde and verdict, and the columns of the metrics; aliases as their metrics."""
    compiled = tests.compiled
    units = units_needed(rows["level"].to_numpy(), rows["mid"].to_numpy())
    judged = rows.assign(
        delta=rows["value_candidate"] - rows["value_baseline"],
        mde=_smallest_shown(rows, units),
        few_differ=rows["n_differ"] < units,
        **compiled.each("better"),
    )
    judged["verdict"] = verdicts(judged, tests.level)
    for column in FROM_TARGET:
        judged[column] = judged[column].to_numpy()[tests.target]
    for column in ("ci_low", "ci_high"):
        judged[column] += 0.0  # no -0.0
    return judged.assign(metric=compiled.names, **compiled.each("title", "group", "alias_of"))


def _smallest_shown(rows: pd.DataFrame, units: np.ndarray) -> list[float]:
    """mde of every metric: the smallest true difference that these data show with 80% power; nan without interval.

    `units` must differ, all one way, before sign flips can find anything. Of metrics that are judged together the
    mde is not below what the seeds' share in the family allows.
    """
    level = rows["level"].to_numpy()
    each = rows["each"].to_numpy()
    # of a proportion: the part of a larger difference that comes as more units which differ
    middle = (rows["value_baseline"] + rows["value_candidate"]) / 2
    furthest = np.maximum(middle, 1 - middle)
    share = 1 - each * rows["n_differ"] / furthest
    more = share.clip(0, 1).where(rows["mid"]).to_numpy()

    error, df = rows["error"].to_numpy(), rows["df"].to_numpy()
    alone = smallest_difference(error, df, level, each, units, more)
    error, df = rows["error_shared"].to_numpy(), rows["df_shared"].to_numpy()
    in_family = smallest_difference(error, df, level, each, units, more)
    mde = np.where(rows["ci_low"].notna(), np.fmax(alone, in_family), np.nan)
    return [_known_digits(size, df) for size, df in zip(mde, rows["df"])]


def _known_digits(value: float, df: float) -> float:
    """The number as far as a standard error with these degrees of freedom lets it be known."""
    digits = 0 if df < ROUGH else 1
    return float(f"{value:.{digits}e}")


def verdicts(rows: pd.DataFrame, level: float) -> np.ndarray:
    """The verdict of every metric, a row each: the first of these that holds. `level` is as 0.05.

    - not measured: a side has no value;
    - too few: fewer than MIN_UNITS paired units;
    - better, worse: p (adjusted in the family) is within the level, and the interval, if there is one, leaves out 0;
    - equivalent: the interval at 1 - 2 * level lies within the declared margin;
    - too few: so few units differ that no signs of theirs could bring p within the level (`few_differ`);
    - tied: all else. No difference was shown, which is not to say that there is none.

    >>> row = {"delta": 0.1, "n_units": 50, "p_value": 0.01, "p_adjusted": None, "ci_low": 0.02, "ci_high": 0.18}
    >>> row |= {"better": "lower", "few_differ": False, "margin": None, "equivalence_low": None}
    >>> frame = pd.DataFrame([row | {"equivalence_high": None}]).astype({"p_adjusted": float, "margin": float})
    >>> verdicts(frame.astype({"equivalence_low": float, "equivalence_high": float}), 0.05).tolist()
    ['worse']
    """
    p = rows["p_adjusted"].fillna(rows["p_value"])
    holds_zero = (rows["ci_low"] <= 0) & (rows["ci_high"] >= 0)
    shown = (p <= level) & ~holds_zero
    improves = (rows["delta"] > 0) == (rows["better"] != "lower")
    cases = [
        (rows["delta"].isna(), "not measured"),
        (rows["n_units"] < MIN_UNITS, "too few"),
        (shown & improves, "better"),
        (shown, "worse"),
        (within_margin(rows), "equivalent"),
        (rows["few_differ"], "too few"),
    ]
    conditions = [where for where, _ in cases]
    words = [verdict for _, verdict in cases]
    return np.select(conditions, words, "tied")
