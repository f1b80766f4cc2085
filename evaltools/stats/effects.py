"""A metric of one condition, or of two that are paired: which cells, what each unit and seed brings, and its p."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from pandas import DataFrame, Index, Series

from ..core.messages import UsageError
from ..core.metric import Metric, MetricTable
from .formulas import (
    NEW_SEEDS,
    THESE_RUNS,
    THESE_TWO_RUNS,
    THIS_RUN,
    Account,
    Array,
    Limits,
    SeedPart,
    accounts,
    effective_units,
    rounded,
    sample_variance,
    seed_part,
)
from .influence import Cells, Condition, Formula, asks_several, label

# So many units there must be for a standard error.
MIN_UNITS = 10
# So few units know a standard error, and what rests on it, to one digit.
ROUGH = 20


class NothingPaired(UsageError):
    """Two sides that share no unit."""


def shared_seeds(
    a: Condition,
    b: Condition,
) -> list[Condition]:
    """Two sides, over the seeds of one name where these are two or more: others would undo the pairs."""
    shared = tuple(seed for seed in a.seeds if seed in b.seeds)
    if len(shared) < 2 or a.seeds == b.seeds:
        return [a, b]
    sides = []
    for side in (a, b):
        seed, sample = np.divmod(side.cell, side.n_samples)
        place = Index(shared).get_indexer(side.seeds)[seed]
        kept = place >= 0
        cell = (place * side.n_samples + sample)[kept]
        sides.append(replace(side, seeds=shared, rows=side.rows[kept], cell=cell))
    return sides


def same_questions(
    a: Condition,
    b: Condition,
) -> Array:
    """Which samples of two conditions do not have another text or gold, (samples,).

    UsageError where most differ; NothingPaired for two that share no sample.
    """
    unit, sides = a.units.name, (a, b)
    of_a, of_b = (side.cell % side.n_samples for side in sides)
    if {*of_a}.isdisjoint(of_b):
        sizes = [f"{side.name} ({side.rows[unit].nunique()} units)" for side in sides]
        raise NothingPaired(f"{' and '.join(sizes)} share no {unit}: nothing to compare")
    # seed by seed where these pair
    join = np.stack if a.seeds == b.seeds else np.concatenate
    is_other = asks_several(join([a.texts, b.texts]))
    is_known = np.minimum(a.texts.max(axis=0), b.texts.max(axis=0)) > 0
    n_other, n = is_other.sum(), is_known.any(axis=0).sum()
    if 2 * n_other > n:
        raise UsageError(
            f"{a.name} and {b.name} pair by {unit}, but {n_other} of {n} pairs have another text or gold: "
            "they are other questions"
        )
    return ~is_other


@dataclass(frozen=True, eq=False)
class Effect(Cells):
    """What is measured of one condition, or the difference of two: as cells of one seed, whose ratios are all of theirs.

    The mean over seeds and a difference are sums of ratios too. Seed k of one side goes with seed k of the other where
    they have the same, else each is averaged over its own.

    `sides`: the cells that it is made of, the minuend first.
    """

    sides: tuple[Cells, ...]

    @classmethod
    def of(cls, *sides: Cells) -> Self:
        """The effect of one side, or of the first less the second."""
        ratios: tuple[Metric, ...] = ()
        weights: list[float] = []
        sums: list[Array] = []
        for side, sign in zip(sides, (1, -1)):
            ratios += side.formula.ratios * side.n_seeds
            weights += [*side.formula.weights * sign / side.n_seeds] * side.n_seeds
            sums += [*np.moveaxis(side.sums, 1, 0)]
        formula = Formula(side.formula.metric, ratios, np.array(weights))
        return cls(
            formula,
            side.seeds,
            np.concatenate(sums, axis=-1),
            side.starts,
            side.blocked,
            sides,
        )

    @classmethod
    def of_run(cls, run: Cells) -> Self:
        """The effect of a condition. The difference of two ratios of a run is one of two sides."""
        weights = run.formula.weights
        if len(weights) != 2 or weights.sum() != 0:
            return cls.of(run)
        less, more = np.argsort(weights)
        return cls.of(run.ratio(more), run.ratio(less))

    @cached_property
    def totals(self) -> Array:
        """The sums of its ratios, (4, ratios): those of every seed of its sides."""
        return np.concatenate([side.totals.reshape(4, -1) for side in self.sides], axis=-1)

    @property
    def is_difference(self) -> bool:
        """Whether it has two sides."""
        return len(self.sides) > 1

    @property
    def limits(self) -> Limits:
        """The least and the greatest that it can be."""
        return self.formula.ends

    @property
    def is_within(self) -> bool:
        """Whether it has limits."""
        return all(np.isfinite(self.limits))

    @property
    def is_single(self) -> bool:
        """Whether its units are single trials of a proportion, and not clusters or means of trials."""
        return (
            getattr(self.formula.metric, "proportion", False)
            and (self.sums[:2] == self.sums[:2] ** 2).all()
        )

    @property
    def is_within_run(self) -> bool:
        """Whether it is of one condition: a metric of it, or the difference of two of its ratios."""
        return self.sides[0].formula is not self.sides[-1].formula or not self.is_difference

    @property
    def is_of_other_units(self) -> bool:
        """Whether it is a difference within a run whose sides have no unit in common."""
        return (
            self.is_difference
            and self.is_within_run
            and not np.all([side.takes_part for side in self.sides], axis=0).any()
        )

    @property
    def n_of_sides(self) -> list[float]:
        """Effective units of each side, the fewest first."""
        return sorted(effective_units(side.shares.mean(axis=0)) for side in self.sides)

    @cached_property
    def n_units(self) -> int:
        """Units that weigh in it."""
        return self.takes_part.sum()

    @property
    def n_seeds(self) -> int:
        """Seeds on the side that has fewer."""
        return min(side.n_seeds for side in self.sides)

    @cached_property
    def differs(self) -> Array:
        """(units,): whether the unit moves the difference, in any seed."""
        return np.any(self._linearised(by_own_sizes=False), axis=0)

    @cached_property
    def differences(self) -> Array:
        """(units,): what each unit brings into a difference; where few differ, the others bring exactly 0."""
        is_many = self.differs.sum() >= MIN_UNITS
        found = self._linearised(by_own_sizes=is_many)
        return rounded(found.mean(axis=0), np.abs(found).mean(axis=0))

    def _linearised(self, by_own_sizes: bool) -> Array:
        """(seeds, units): what each cell brings; one row where seeds do not pair.

        Linearised at the mean of both ratios, by the denominator of each side, or by the mean of both: a cell that is
        alike on both sides is then exactly 0, and a side of few passes for one of as many.
        """
        sums = [side.sums[:2] for side in self.sides]
        if len({side.seeds for side in self.sides}) > 1:
            sums = [each.mean(axis=1, keepdims=True) for each in sums]
        num, den = np.stack(sums, axis=1)
        sizes = den.sum(axis=2, keepdims=True)
        sizes = np.where(sizes == 0, np.nan, sizes)
        rate = (num.sum(axis=2, keepdims=True) / sizes).mean(axis=0)
        if not by_own_sizes:
            sizes = sizes.mean(axis=0)
        expected = rate * den
        b, a = np.nan_to_num((num - expected) / sizes)
        weights = self.sides[0].formula.weights
        size = np.nan_to_num((np.abs(num) + np.abs(expected)) / sizes).sum(axis=0)
        return rounded((b - a) @ weights, size @ np.abs(weights))

    @cached_property
    def parts(self) -> list[SeedPart]:
        """What seeds bring: nothing where a side has one."""
        if self.n_seeds == 1:
            return []
        if self.is_difference and len({side.seeds for side in self.sides}) == 1:
            b, a = self.sides
            both = a.takes_part | b.takes_part
            return [seed_part(b.value - a.value, b.errors - a.errors, a.present, both)]
        return [seed_part(s.value, s.errors, s.present, s.takes_part) for s in self.sides]

    @cached_property
    def n_effective(self) -> float:
        """Effective units."""
        return effective_units(self.shares)

    @property
    def variance(self) -> float:
        """Its variance, for new samples."""
        return sample_variance(self.errors, self.n_effective)

    @property
    def accounts(self) -> list[Account]:
        """Its variance: for new samples, of several seeds for new seeds too."""
        return accounts(self.variance, self.n_effective, self.parts)

    @property
    def claim(self) -> str:
        """What the interval speaks for."""
        if self.n_seeds > 1:
            return NEW_SEEDS
        if self.is_within_run:
            return THIS_RUN
        b, a = self.sides
        return THESE_TWO_RUNS if a.n_seeds == b.n_seeds else THESE_RUNS


def common_cells(
    a: Cells,
    b: Cells,
) -> tuple[Cells, Cells]:
    """The units of two sides over the cells of samples that both have."""
    on_a, on_b = a.present, b.present
    if a.seeds != b.seeds:
        on_a, on_b = (np.any(on, axis=0) for on in (on_a, on_b))
    on_both = on_a & on_b
    return a.where(on_both).per_unit(), b.where(on_both).per_unit()


def paired(
    a: Cells,
    b: Cells,
) -> Effect | None:
    """A metric of two sides over the cells of samples that both have, in the seeds in which it is measured.

    None where it is not measured.
    """
    a, b = common_cells(a, b)
    in_a, in_b = ~np.isnan(a.value), ~np.isnan(b.value)
    if a.seeds == b.seeds:
        in_a = in_b = in_a & in_b
    if not in_a.any() or not in_b.any():
        return None
    if not (in_a.all() and in_b.all()):
        a, b = common_cells(a.at(in_a), b.at(in_b))
    return Effect.of(b, a)


# --- unit by unit


def unit_values(
    units: DataFrame,
    table: MetricTable,
    unit: str,
    metric: str,
) -> Series:
    """The metric of each unit alone, its own ratio of sums, by the name of the unit; nan where it has none.

    KeyError for a metric that the table lacks.

    >>> units = DataFrame({"id": ["a", "a", "b"], "right": [1, 0, 1], "n": 1})
    >>> from evaltools.core.metric import Metric
    >>> table = [Metric(name="accuracy", numerator="right", denominator="n", better="higher")]
    >>> unit_values(units, table, "id", "accuracy").to_dict()
    {'a': 0.5, 'b': 1.0}
    """
    (run,) = label([("", {"": units})], table, unit)
    cells = run.cells(metric).per_unit()
    return Series(cells.own_values[0], run.units, name=metric).reindex(units[unit].unique())


def unit_changes(
    conditions: Sequence[Condition],
    metric: str,
) -> DataFrame:
    """The paired values of one metric of two conditions that were labelled together, a row a unit.

    Columns: the unit, baseline, candidate, change, influence, differs (in some seed).

    A unit's value is the metric of that unit alone (its own ratio of sums), averaged over the
    paired seeds in which both sides have it. `change` is candidate less baseline. `influence` is
    what the unit brings into the difference of the whole, linearised at the mean of both sides: its
    change / n for a mean over n units. It is 0 for a unit whose numerator and denominator do not
    differ. Where a unit has a value on one side only (0 / 0 on the other), the other value and the
    change are nan; units without any value are left out.

    KeyError for a metric that the conditions lack; NothingPaired for sides without a unit in common.

    >>> from evaltools.core.metric import Metric
    >>> table = [Metric(name="accuracy", numerator="right", denominator="n", better="higher")]
    >>> old = DataFrame({"id": ["a", "b"], "right": [0, 1], "n": 1})
    >>> sides = label([("old", {"": old}), ("new", {"": old.assign(right=1)})], table, "id")
    >>> unit_changes(sides, "accuracy")
      id  baseline  candidate  change  influence  differs
    0  a       0.0        1.0     1.0        0.5     True
    1  b       1.0        1.0     0.0        0.0    False
    """
    first, second = shared_seeds(*conditions)
    keep = same_questions(first, second)
    keep &= metric not in {*first.blocked, *second.blocked}
    a, b = (side.cells(metric).where(keep) for side in (first, second))
    before, after = (DataFrame(side.own_values) for side in common_cells(a, b))
    if a.seeds == b.seeds:
        in_both = before.notna() & after.notna()
        # a unit that both sides have in some seed is averaged over these
        used = in_both | ~in_both.any()
        before, after = before.where(used), after.where(used)
    found = paired(a, b)
    return DataFrame(
        {
            first.units.name: first.units.astype(object),
            "baseline": before.mean(),
            "candidate": after.mean(),
            "change": after.mean() - before.mean(),
            "influence": found.differences if found else 0.0,
            # in any seed: a gain in one does not hide a loss in another
            "differs": found.differs if found else False,
        }
    ).dropna(
        subset=["baseline", "candidate"],
        how="all",
        ignore_index=True,
    )


def differing(changes: DataFrame) -> DataFrame:
    """The units of `unit_changes` that carry the difference, the largest influence first.

    These are the units that `n_differ` of a comparison counts.
    """
    # those of one size but for rounding stay in their order
    return changes[changes["differs"]].sort_values(
        "influence",
        key=lambda influence: -influence.abs().round(12),
        kind="stable",
        ignore_index=True,
    )
