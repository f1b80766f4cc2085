"""A metric of one condition, or of two that are paired: which cells, what each unit and seed brings, and its p."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from ..core.errors import UsageError
from ..core.metric import MetricTable
from .formulas import (
    NEW_SEEDS,
    THESE_RUNS,
    THESE_TWO_RUNS,
    THIS_RUN,
    Account,
    Limits,
    SeedPart,
    accounts,
    seed_part,
)
from .influence import (
    Array,
    Cells,
    Condition,
    effective_units,
    label,
    present_on,
    rounded,
    sample_variance,
)

# So many units there must be for a standard error.
MIN_UNITS = 10
# So few units know a standard error, and what rests on it, to one digit.
ROUGH = 20
# Columns of what is asked: rows that pair but differ there are other questions.
TEXTS = ("text", "user_text")


class NothingPaired(UsageError):
    """Two sides that share no unit."""


def same_questions(
    a: Condition,
    b: Condition,
) -> Array:
    """Which samples of two conditions do not have other texts, (samples,).

    UsageError where most differ; NothingPaired for two that share no sample.
    """
    unit, sides = a.ids.name, (a, b)
    if not np.isin(a.sample, b.sample).any():
        sizes = [f"{side.name} ({side.ids.nunique()} units)" for side in sides]
        raise NothingPaired(f"{' and '.join(sizes)} share no {unit}: nothing to compare")
    keep = np.ones(a.n_samples, dtype=bool)
    known = [name for name in TEXTS if all(name in f for f in (*a.frames, *b.frames))]
    for name in known[:1]:
        texts = []
        for side in sides:
            column = pd.concat([frame[name] for frame in side.frames]).set_axis(side.sample)
            column = column.groupby(level=0).first().dropna().astype(str)
            texts.append(column.str.normalize("NFC").str.split().str.join(" "))
        one, other = texts[0].align(texts[1], join="inner")
        keep[one.index[one != other]] = False
        n_others = (~keep).sum()
        if 2 * n_others > len(one):
            raise UsageError(
                f"{a.name} and {b.name} pair by {unit}, but {n_others} of {len(one)} pairs have other texts: "
                "they are other questions"
            )
    return keep


@dataclass(frozen=True, eq=False)
class Effect:
    """A value that units make: a metric of the cells `b`, in all seeds of which it is measured, or `b` less `a`.

    Seed k of one side goes with seed k of the other where they have the same, else each is averaged over its own.
    """

    b: Cells
    a: Cells | None = None

    @classmethod
    def of(cls, run: Cells) -> Effect:
        """The effect of a condition. The difference of two ratios of a run is one of two sides."""
        weights = run.formula.weights
        if len(weights) != 2 or weights.sum() != 0:
            return cls(run)
        less, more = np.argsort(weights)
        return cls(run.ratio(more), run.ratio(less))

    @property
    def sides(self) -> list[Cells]:
        """Its cells, those of `b` first."""
        return [self.b, self.a] if self.a else [self.b]

    @cached_property
    def value(self) -> float:
        """The mean over seeds, or the difference of the means."""
        return self.b.values.mean() - (self.a.values.mean() if self.a else 0.0)

    @property
    def limits(self) -> Limits:
        """The least and the greatest that it can be."""
        low, high = self.b.formula.ends
        lowest, highest = self.a.formula.ends if self.a else (0.0, 0.0)
        return low - highest, high - lowest

    @property
    def is_within(self) -> bool:
        """Whether it has limits."""
        return all(np.isfinite(self.limits))

    @property
    def is_single(self) -> bool:
        """Whether its units are single trials of a proportion, and not clusters or means of trials."""
        if not getattr(self.b.formula.metric, "proportion", False):
            return False
        counts = [side.sums[..., :2] for side in self.sides]
        return all((x == x**2).all() for x in counts)

    @property
    def is_of_other_units(self) -> bool:
        """Whether it is a difference within a run whose sides have no unit in common."""
        if not self.a or self.a.formula is self.b.formula:
            return False
        return not (self.a.takes_part & self.b.takes_part).any()

    @property
    def n_of_sides(self) -> list[float]:
        """Effective units of each side, the fewest first."""
        return sorted(effective_units(side.shares) for side in self.sides)

    @cached_property
    def present(self) -> Array:
        """(units,): whether the unit can be drawn: all sides have it in some seed."""
        return np.all([side.present.any(axis=0) for side in self.sides], axis=0)

    @cached_property
    def n_units(self) -> int:
        """Units that weigh in it."""
        return np.any([side.takes_part for side in self.sides], axis=0).sum()

    @property
    def n_seeds(self) -> int:
        """Seeds on the side that has fewer."""
        return min(len(side.sums) for side in self.sides)

    @cached_property
    def differs(self) -> Array:
        """(units,): whether the unit moves the difference, in any seed."""
        return np.any(self._linearised(by_own_sizes=False), axis=0)

    @cached_property
    def differences(self) -> Array:
        """(units,): what each unit brings into a difference; where few differ, the others bring exactly 0."""
        is_many = self.differs.sum() >= MIN_UNITS
        return rounded(self._linearised(by_own_sizes=is_many).mean(axis=0))

    def _linearised(self, by_own_sizes: bool) -> Array:
        """(seeds, units): what each cell brings; one row where seeds do not pair.

        Linearised at the mean of both ratios, by the denominator of each side, or by the mean of both: a cell that is
        alike on both sides is then exactly 0, and a side of few passes for one of as many.
        """
        sums = [(side.num, side.den) for side in self.sides]
        if len({side.seeds for side in self.sides}) > 1:
            sums = [(n.mean(axis=0)[None], d.mean(axis=0)[None]) for n, d in sums]
        sizes = [den.sum(axis=1, keepdims=True) for _, den in sums]
        with np.errstate(divide="ignore", invalid="ignore"):
            rates = [num.sum(axis=1, keepdims=True) / n for (num, _), n in zip(sums, sizes)]
            rate, mean_size = (sum(each) / 2 for each in (rates, sizes))
            used = sizes if by_own_sizes else [mean_size, mean_size]
            b, a = ((num - rate * den) / n for (num, den), n in zip(sums, used))
            parts = np.nan_to_num(b - a, posinf=0.0, neginf=0.0)
        return rounded((parts @ self.b.formula.weights).T).T

    @cached_property
    def shares(self) -> Array:
        """(units,): what each unit weighs, sums to 1."""
        return (self.a.shares + self.b.shares) / 2 if self.a else self.b.shares

    @cached_property
    def errors(self) -> Array:
        """(units,): what each unit brings, sums to 0."""
        errors = self.b.errors.mean(axis=0)
        return errors - self.a.errors.mean(axis=0) if self.a else errors

    @cached_property
    def parts(self) -> list[SeedPart]:
        """What seeds bring: nothing where a side has one."""
        if self.n_seeds == 1:
            return []
        a, b = self.a, self.b
        if a and a.seeds == b.seeds:
            both = a.takes_part | b.takes_part
            return [seed_part(b.values - a.values, b.errors - a.errors, a.present, both)]
        return [seed_part(s.values, s.errors, s.present, s.takes_part) for s in self.sides]

    @property
    def accounts(self) -> list[Account]:
        """Its variance: for new samples, of several seeds for new seeds too."""
        n = effective_units(self.shares)
        return accounts(sample_variance(self.errors, n), n, self.parts)

    @property
    def claim(self) -> str:
        """What the interval speaks for."""
        if self.n_seeds > 1:
            return NEW_SEEDS
        if not self.a or self.a.formula is not self.b.formula:  # two ratios of a run
            return THIS_RUN
        return THESE_TWO_RUNS if len(self.a.sums) == len(self.b.sums) else THESE_RUNS

    @cached_property
    def columns(self) -> Array:
        """(columns, units): what of its units a bootstrap draws, the sums of every seed of its sides."""
        sums = np.concatenate([side.sums for side in self.sides])[:, self.present]
        return sums.swapaxes(1, 2).reshape(-1, sums.shape[1])

    def value_at(self, sums: Array) -> Array:
        """Its value at sums of `columns`: (columns, resamples) -> (resamples,)."""
        of_seeds = sums.reshape(-1, self.b.sums.shape[-1], sums.shape[1]).swapaxes(1, 2)
        n_b = len(self.b.sums)
        value = self.b.formula.values(of_seeds[:n_b]).mean(axis=0)
        return value - self.a.formula.values(of_seeds[n_b:]).mean(axis=0) if self.a else value


def common_cells(
    a: Cells,
    b: Cells,
) -> tuple[Cells, Cells]:
    """The units of two sides over the cells of samples that both have."""
    on_both = np.logical_and(*present_on(a, b))
    return a.where(on_both).per_unit(), b.where(on_both).per_unit()


def paired(
    a: Cells,
    b: Cells,
) -> Effect | None:
    """A metric of two sides over the cells of samples that both have, in the seeds in which it is measured.

    None where it is not measured.
    """
    a, b = common_cells(a, b)
    in_a, in_b = ~np.isnan(a.values), ~np.isnan(b.values)
    if a.seeds == b.seeds:
        in_a = in_b = in_a & in_b
    if not in_a.any() or not in_b.any():
        return None
    if not (in_a.all() and in_b.all()):
        a, b = common_cells(a.at(in_a), b.at(in_b))
    return Effect(b, a)


# --- unit by unit


def unit_values(
    units: pd.DataFrame,
    table: MetricTable,
    unit: str,
    metric: str,
) -> pd.Series:
    """The metric of each unit alone, its own ratio of sums, by the name of the unit; nan where it has none.

    KeyError for a metric that the table lacks.

    >>> units = pd.DataFrame({"id": ["a", "a", "b"], "right": [1, 0, 1], "n": 1})
    >>> from evaltools.core.metric import Metric
    >>> table = [Metric(name="accuracy", numerator="right", denominator="n", better="higher")]
    >>> unit_values(units, table, "id", "accuracy").to_dict()
    {'a': 0.5, 'b': 1.0}
    """
    (run,) = label([("", {"": units})], table, unit)
    cells = run.cells(metric).per_unit()
    values = pd.Series(cells.own_values[0], run.units, name=metric)
    return values.reindex(units[unit].unique()).rename_axis(unit)


def unit_changes(
    conditions: Sequence[Condition],
    metric: str,
) -> pd.DataFrame:
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
    >>> old = pd.DataFrame({"id": ["a", "b"], "right": [0, 1], "n": 1})
    >>> sides = label([("old", {"": old}), ("new", {"": old.assign(right=1)})], table, "id")
    >>> unit_changes(sides, "accuracy")
      id  baseline  candidate  change  influence  differs
    0  a       0.0        1.0     1.0        0.5     True
    1  b       1.0        1.0     0.0        0.0    False
    """
    first, second = conditions
    keep = same_questions(first, second)
    a, b = (side.cells(metric).where(keep) for side in conditions)
    before, after = (pd.DataFrame(side.own_values) for side in common_cells(a, b))
    if a.seeds == b.seeds:
        in_both = before.notna() & after.notna()
        # a unit that both sides have in some seed is averaged over these
        used = in_both | ~in_both.any()
        before, after = before.where(used), after.where(used)
    found = paired(a, b)
    frame = pd.DataFrame(
        {
            first.ids.name: first.units.astype(object),
            "baseline": before.mean(),
            "candidate": after.mean(),
        }
    )
    frame["change"] = frame["candidate"] - frame["baseline"]
    frame["influence"] = found.differences if found else 0.0
    # in any seed: a gain in one does not hide a loss in another
    frame["differs"] = found.differs if found else False
    return frame.dropna(
        subset=["baseline", "candidate"],
        how="all",
    ).reset_index(drop=True)


def differing(changes: pd.DataFrame) -> pd.DataFrame:
    """The units of `unit_changes` that carry the difference, the largest influence first.

    These are the units that `n_differ` of a comparison counts.
    """
    carrying = changes[changes["differs"]]
    # those of one size but for rounding stay in their order
    order = carrying["influence"].abs().round(12).sort_values(ascending=False, kind="stable")
    return carrying.loc[order.index].reset_index(drop=True)
