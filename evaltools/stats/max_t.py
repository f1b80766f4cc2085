"""Every pair of conditions tested on one metric, all pairs together: studentised max-T, step-down.

Each condition brings one column: what every unit adds to its metric, on average over its seeds. The
difference of a pair is that of two columns. Its T is the sum of the differences over the root of
their sum of squares, which no sign pattern changes. Signs are flipped for all pairs at once, which
keeps what pairs share. From the largest T on, the adjusted p of a pair is the share of patterns
whose largest T, among this pair and those with a smaller one, is no smaller. So a hopeless
condition, whose pairs come first, costs the others nothing.

With several seeds T is lowered to what the spread of the seeds allows, once by the seeds of the
pair and once by those of all conditions: by chance the few seeds of a pair may not differ at all.

References: Westfall and Young, "Resampling-based multiple testing" (1993), step-down max-T; Romano
and Wolf, "Exact and approximate stepdown methods for multiple hypothesis testing", JASA 100 (2005).
Measured error: docs/statistics.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import stdtr, stdtrit

from ..core.metric import MetricTable, subset
from ..core.metric_matrix import Compiled, compile_table
from ..core.resampling import Resampling
from .arrays import LARGE, ROUNDING, Array, divide, rounded
from .design import BETWEEN, Runs, add_rows, grid, in_order, row_grids
from .influence import cell_sums
from .intervals import MIN_UNITS
from .measured import measured_runs
from .score_intervals import proportions, unit_differences
from .seed_variance import SeedTerm, each_field, seed_pool, seed_term, take
from .sign_flips import sign_patterns
from .variance import spread

PAIRS = ("baseline", "candidate", "delta", "n_units", "p_adjusted")


@dataclass(frozen=True)
class JointTests:
    """Every pair of conditions on one metric.

    `pairs` has the columns of PAIRS; p_adjusted holds for all pairs together, and is null where a
    pair has fewer than MIN_UNITS units in common. `level` is what the p of a pair by itself must
    keep so that all pairs which are not shown to differ keep theirs together.
    """

    pairs: pd.DataFrame
    level: float

    def p_adjusted(
        self,
        one: str,
        other: str,
    ) -> float:
        """The adjusted p of two conditions, in either order."""
        sides = self.pairs[["baseline", "candidate"]]
        is_pair = sides.isin([one, other]).all(axis=1)
        return float(self.pairs.loc[is_pair, "p_adjusted"].iloc[0])


def joint_tests(
    conditions: Mapping[str, Runs],
    table: MetricTable,
    unit: str,
    metric: str,
    resampling: Resampling,
    n_permutations: int = 10_000,
) -> JointTests:
    """Test every pair of conditions (name -> seed -> units frame) on one metric of a table.

    >>> from evaltools.core.metric import Metric
    >>> accuracy = Metric(name="accuracy", numerator="right", denominator="n", better="higher")
    >>> one = pd.DataFrame({"id": range(40), "right": [1, 0] * 20, "n": 1})
    >>> two = one.assign(right=[1, 0, 1, 1] * 10)
    >>> runs = {"x": {"": one}, "y": {"": one}, "z": {"": two}}
    >>> tests = joint_tests(runs, [accuracy], "id", "accuracy", Resampling())
    >>> tests.pairs[["baseline", "candidate", "delta"]]
      baseline candidate  delta
    0        x         y   0.00
    1        x         z   0.25
    2        y         z   0.25
    >>> (tests.pairs["p_adjusted"] < 0.05).tolist()
    [False, True, True]
    """
    names = list(conditions)
    compiled = compile_table(subset(table, [metric]))
    columns = _columns(list(conditions.values()), compiled, unit)
    first, second = np.triu_indices(len(names), 1)
    with_later = [_pairs_with(columns, condition) for condition in range(len(names) - 1)]
    pairs: _Pairs = each_field(np.hstack, with_later)
    tested = (pairs.n_units >= MIN_UNITS) & ~np.isnan(pairs.delta)
    pairs.differences[:, ~tested] = 0.0
    p_seeds = _p_of_seeds(
        pairs,
        take(columns.terms, first),
        take(columns.terms, second),
        columns.terms,
    )
    scaled, t = _scaled(pairs.differences, resampling.seed)
    t = np.fmin(t, _t_of(p_seeds, np.maximum(pairs.n_units, 2)))
    mid = bool(proportions(compiled)[0])
    p = _step_down(scaled, t, mid, n_permutations, resampling.seed)
    p = np.where(tested, np.fmax(p, p_seeds), np.nan)

    level = _level(p, scaled, pairs.n_units, n_permutations, resampling)
    frame = pd.DataFrame(
        {
            "baseline": [names[index] for index in first],
            "candidate": [names[index] for index in second],
            "delta": pairs.delta,
            "n_units": pairs.n_units,
            "p_adjusted": p,
        },
        columns=list(PAIRS),
    )
    return JointTests(frame, level)


def _level(
    p: Array,
    scaled: Array,
    n_units: Array,
    n_permutations: int,
    resampling: Resampling,
) -> float:
    """What the p of a pair by itself must keep, so that all pairs without a difference keep theirs."""
    open_pairs = p > resampling.level
    if not open_pairs.any():
        return resampling.level
    flipped = _flipped(scaled[:, open_pairs], n_permutations, resampling.seed)
    largest = np.sort(np.concatenate([t.max(axis=1) for t in flipped]))
    rank = int(resampling.confidence * (len(largest) - 1))
    level = _p_of(largest[rank], n_units[open_pairs].min())
    return min(resampling.level, level)


class _Pairs(NamedTuple):
    """Pairs of conditions: `differences` (units, pairs), which sum to `delta`; `n_units` in common."""

    differences: Array
    delta: Array
    n_units: Array


@dataclass(frozen=True)
class _Columns:
    """What every condition brings: `sums` (conditions, rows, columns) are means over its seeds.

    They are 0 where the row of a unit is not `present` (conditions, rows). `unit_of_row` (rows): the
    number of its unit. `terms`: what the seeds of each condition differ by, an entry a condition.
    """

    compiled: Compiled
    sums: Array
    present: Array
    unit_of_row: Array
    terms: SeedTerm

    def of_units(self, values: Array) -> Array:
        """The sums of values (pairs, rows, columns) over the rows of each unit: (pairs, units, columns)."""
        n_units = int(self.unit_of_row.max(initial=-1)) + 1
        if n_units == len(self.unit_of_row):
            return values
        return np.stack([add_rows(of_pair, self.unit_of_row, n_units) for of_pair in values])


def _columns(
    conditions: list[Runs],
    compiled: Compiled,
    unit: str,
) -> _Columns:
    measured = [measured_runs(runs, compiled.metrics, unit) for runs in conditions]
    grids, label = row_grids(measured, unit)
    rows = pd.Index(in_order({row for side in grids for row in side.units}), dtype=object)
    units = rows if label == unit else rows.str.split(BETWEEN, n=1).str[0]
    sums = []
    present = []
    terms = []
    for runs, side in zip(measured, grids):
        cells = cell_sums(side.take(side.seeds, rows), compiled)
        n_seeds = cells.present.sum(axis=0)
        sums.append(cells.sums.sum(axis=0) / np.maximum(n_seeds, 1)[:, None])
        present.append(n_seeds > 0)
        of_units = cells if label == unit else cell_sums(grid(runs, unit), compiled)
        terms.append(take(seed_term(of_units), [0]))
    return _Columns(
        compiled,
        np.stack(sums),
        np.stack(present),
        pd.factorize(units)[0],
        each_field(np.hstack, terms),
    )


def _pairs_with(
    columns: _Columns,
    first: int,
) -> _Pairs:
    """One condition with all later ones, linearised where both sides have the mean of their ratios."""
    compiled = columns.compiled
    later = slice(first + 1, None)
    both = columns.present[first] & columns.present[later]
    in_both = both[:, :, None]
    a = columns.of_units(np.where(in_both, columns.sums[first], 0.0))
    b = columns.of_units(np.where(in_both, columns.sums[later], 0.0))
    both = columns.of_units(in_both.astype(float))[:, :, 0] > 0
    values_a = compiled.values(a.sum(axis=1))
    values_b = compiled.values(b.sum(axis=1))
    differences = unit_differences(
        a @ compiled.numerator,
        a @ compiled.denominator,
        b @ compiled.numerator,
        b @ compiled.denominator,
    )
    differences = compiled.combined(differences)[:, :, 0]
    either = np.abs(a) + np.abs(b)
    size = either @ np.abs(compiled.denominator)
    counted = size.any(axis=2) & both
    return _Pairs(
        rounded(differences.T),
        (values_b - values_a)[:, 0],
        counted.sum(axis=1),
    )


def _scaled(
    differences: Array,
    seed: int,
) -> tuple[Array, Array]:
    """(differences of every pair over the root of their sum of squares, T); 0 where no unit differs.

    Those of more than LARGE units under random signs are added up in LARGE blocks: sums under
    random signs stay what they are, with fewer signs to draw.
    """
    size = np.sqrt((differences**2).sum(axis=0))
    scaled = divide(differences, size, 0.0)
    t = np.abs(scaled.sum(axis=0))
    n_units = len(scaled)
    if n_units > LARGE:
        rng = np.random.default_rng(seed)
        signs = rng.choice([-1.0, 1.0], n_units)
        blocks = rng.permutation(n_units) % LARGE
        scaled = add_rows(signs[:, None] * scaled, blocks, LARGE)
        size = np.sqrt((scaled**2).sum(axis=0))
        scaled = divide(scaled, size, 0.0)
    return scaled[(scaled != 0).any(axis=1)], t


def _flipped(
    scaled: Array,
    n_permutations: int,
    seed: int,
) -> Iterator[Array]:
    """T of every pair under sign patterns, some at a time: (patterns, pairs)."""
    for signs in sign_patterns(len(scaled), n_permutations, seed):
        yield np.abs(signs @ scaled)


def _step_down(
    scaled: Array,
    t: Array,
    mid: bool,
    n_permutations: int,
    seed: int,
) -> Array:
    """The adjusted p of every pair. With `mid`, a largest T that is exactly as large counts half."""
    order = np.argsort(t, kind="stable")
    t = t[order]
    scaled = scaled[:, order]
    at_least = np.zeros(len(t))
    above = np.zeros(len(t))
    n_patterns = 0
    for flipped in _flipped(scaled, n_permutations, seed):
        # the largest T among a pair and those whose T is smaller
        np.maximum.accumulate(flipped, axis=1, out=flipped)
        at_least += (flipped >= t * (1 - ROUNDING)).sum(axis=0)
        above += (flipped > t * (1 + ROUNDING)).sum(axis=0)
        n_patterns += len(flipped)
    counted = (at_least + above) / 2 if mid else at_least
    largest_first = (counted / n_patterns)[::-1]
    adjusted = np.maximum.accumulate(largest_first)
    p = np.empty(len(t))
    p[order] = adjusted[::-1]
    return p


def _p_of_seeds(
    pairs: _Pairs,
    a: SeedTerm,
    b: SeedTerm,
    conditions: SeedTerm,
) -> Array:
    """p of every pair for new seeds and new samples; null where a side has one seed.

    `a`, `b`: what the seeds of the sides of each pair differ by, `conditions` those of all. The
    larger of the p by the seeds of the pair and by those of all conditions. The latter count even
    where Bartlett's test tells conditions apart: of very many pairs, the few seeds of some hardly
    differ by chance.
    """
    of_each = [take(conditions, [index]) for index in range(len(conditions.plain))]
    of_pairs = seed_pool([a, b])
    of_all = seed_pool(of_each, level=0.0)
    n_units = np.maximum(pairs.n_units, 2)
    squares = (pairs.differences**2).sum(axis=0) - pairs.delta**2 / n_units
    samples = squares * n_units / (n_units - 1), n_units - 1.0
    p = []
    for pool in (of_pairs, of_all):
        term_a = pool.term(a, sides=2)
        term_b = pool.term(b, sides=2)
        p.append(spread(samples, term_a, term_b).p_value(pairs.delta))
    return np.fmax(*p)


def _t_of(
    p: Array,
    n_units: Array,
) -> Array:
    """The T of so many units at which a t test of their differences has this p."""
    t = -stdtrit(n_units - 1.0, p / 2)
    return t * np.sqrt(n_units / (n_units - 1 + t**2))


def _p_of(
    t: float,
    n_units: int,
) -> float:
    """The p of a t test of so many units whose differences have this T."""
    if t**2 >= n_units:
        return 0.0
    df = n_units - 1
    of_test = t * np.sqrt(df / (n_units - t**2))
    return float(2 * stdtr(df, -of_test))
