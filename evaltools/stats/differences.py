"""Two conditions paired: which cells, what each unit brings into a difference, its p and interval (rows 5 to 8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from unicodedata import normalize

import numpy as np
import pandas as pd

from ..core.errors import UsageError
from ..core.metric import Metric
from ..core.resampling import Resampling
from .bootstrap import Draws, bootstrap
from .formulas import Limits
from .influence import (
    LARGE,
    Array,
    Cells,
    Condition,
    Samples,
    effective_units,
    mean_shares,
    rounded,
    sample_variance,
    unit_differences,
    unit_shares,
    varies,
)
from .intervals import BCA_UNITS, MIN_UNITS, Interval, difference_interval
from .seeds import NEW_SEEDS, THESE_RUNS, THESE_TWO_RUNS, SeedPart, Spread, seed_part, two_way

# So few units know a standard error, and what rests on it, to one digit.
ROUGH = 20


class NothingPaired(UsageError):
    """Two sides that share no unit."""


def on_both(
    a: Cells | Condition,
    b: Cells | Condition,
) -> Array:
    """(units,): whether both sides have the unit, or sample, under any seed."""
    return np.any(a.present, axis=0) & np.any(b.present, axis=0)


def same_questions(
    a: Condition,
    b: Condition,
    unit: str,
    names: tuple[str, str],
) -> tuple[Condition, Condition, int]:
    """Two conditions without the samples that pair but have other texts, and how many these are.

    UsageError where most differ; NothingPaired for two that share no sample.
    """
    if not on_both(a, b).any():
        sizes = [len(np.unique(a.samples.unit_of[side.present.any(axis=0)])) for side in (a, b)]
        raise NothingPaired(
            f"{names[0]} ({sizes[0]} units) and {names[1]} ({sizes[1]} units) share no {unit}: nothing to compare"
        )
    one, other = _texts(a).align(_texts(b), join="inner")
    others = one.index[one != other]
    if 2 * len(others) > len(one):
        raise UsageError(
            f"{names[0]} and {names[1]} pair by {unit}, but {len(others)} of {len(one)} pairs have other texts: "
            "they are other questions"
        )
    return a.without(others), b.without(others), len(others)


def _texts(side: Condition) -> pd.Series:
    """The text of each sample that has one, by the index of the sample."""
    sample = side.cell % len(side.samples.unit_of)
    texts = side.texts.set_axis(sample).dropna().astype(str)
    texts = texts[~texts.index.duplicated()]
    return texts.map(lambda text: " ".join(normalize("NFC", text).split()))


@dataclass(frozen=True, eq=False)
class Differences:
    """One metric on two sides, over the cells that both have, in the seeds in which it is measured.

    Seed k of one side goes with seed k of the other (`by_seed`), or each side is averaged over its own.
    """

    a: Cells
    b: Cells
    by_seed: bool

    @cached_property
    def values(self) -> tuple[float, float]:
        """The metric on both sides, means over seeds."""
        return float(self.a.values.mean()), float(self.b.values.mean())

    @property
    def delta(self) -> float:
        """Candidate less baseline."""
        return self.values[1] - self.values[0]

    @cached_property
    def by_cell(self) -> Array:
        """What each cell brings into the difference, (seeds, units); one row where seeds do not pair."""
        sides = self.a.num, self.a.den, self.b.num, self.b.den
        if not self.by_seed:
            sides = tuple(side.mean(axis=0, keepdims=True) for side in sides)
        brought = unit_differences(*sides) @ self.a.weights
        return np.stack([rounded(of_seed) for of_seed in brought])

    @cached_property
    def by_unit(self) -> Array:
        """What each unit brings into the difference, (units,); exactly 0 where nothing differs."""
        return rounded(self.by_cell.mean(axis=0))

    @property
    def n_differ(self) -> int:
        """Units that differ in some seed."""
        return int(np.count_nonzero((self.by_cell != 0).any(axis=0)))

    @cached_property
    def shares(self) -> Array:
        """What each unit weighs, (units,); sums to 1."""
        shares = unit_shares(self.a.den.mean(axis=0), self.b.den.mean(axis=0))
        return mean_shares(shares, self.a.weights)

    @property
    def n_units(self) -> int:
        """Units that weigh in the difference."""
        return int(np.count_nonzero(self.shares))

    @property
    def n_seeds(self) -> int:
        """Seeds on the side that has fewer."""
        return min(len(self.a.sums), len(self.b.sums))

    @property
    def claim(self) -> str:
        """What the interval speaks for."""
        if self.n_seeds > 1:
            return NEW_SEEDS
        return THESE_TWO_RUNS if len(self.a.sums) == len(self.b.sums) else THESE_RUNS

    @cached_property
    def seed_parts(self) -> list[SeedPart]:
        """What seeds bring: of the difference where they pair, else of each side; nothing where a side has one."""
        a, b = self.a, self.b
        if self.n_seeds == 1:
            return []
        if self.by_seed:
            both = a.takes_part | b.takes_part
            return [seed_part(b.values - a.values, b.errors - a.errors, a.present, both)]
        return [seed_part(s.values, s.errors, s.present, s.takes_part) for s in (a, b)]

    @cached_property
    def spread(self) -> Spread:
        """The spread of the difference: of several seeds with their part, else of new samples."""
        n = effective_units(self.shares)
        errors = self.by_unit - self.by_unit.sum() * self.shares
        if self.seed_parts:
            errors = self.b.errors.mean(axis=0) - self.a.errors.mean(axis=0)
        return two_way(
            sample_variance(errors, n),
            n,
            self.seed_parts,
        )

    @property
    def is_proportion(self) -> bool:
        """Whether p is mid-p, as that of proportions is."""
        metric = self.a.formula.metric
        return isinstance(metric, Metric) and metric.proportion

    @property
    def p_seeds(self) -> float:
        """p for new seeds and new samples, by t; nan where a side has one seed."""
        return self.spread.p_value(self.delta) if self.seed_parts else np.nan

    @property
    def limits(self) -> Limits:
        """The least and the greatest value of the difference."""
        lowest, highest = self.a.limits
        return lowest - highest, highest - lowest

    def interval(
        self,
        alpha: float,
        draws: Draws | None,
        resampling: Resampling,
    ) -> Interval:
        """Rows 5 to 8, with the probability alpha outside; `draws`: its bootstrap, if it has one."""
        if draws is not None and resampling.method != "auto":
            return Interval(*draws.bounds(alpha, resampling.method), resampling.method)
        if not self.seed_parts:
            return difference_interval(
                self.by_unit,
                self.shares,
                self.limits,
                alpha,
                draws,
            )
        error, critical, _ = self.spread.widest(alpha)
        if error <= 1e-10 * np.abs([*self.a.values, *self.b.values]).max():
            still = difference_interval(
                self.by_unit,
                self.shares,
                self.limits,
                alpha,
            )
            return still if still.method == "mover" else Interval()
        if self.n_units < MIN_UNITS:
            return Interval()
        low, high = self.delta - error * critical, self.delta + error * critical
        return Interval(
            max(low, self.limits[0]),
            min(high, self.limits[1]),
            "components",
        )

    def wants_draws(self, resampling: Resampling) -> bool:
        """Whether a bootstrap is drawn: rows 5 and 7, or wherever ten units vary if it was asked for."""
        if self.seed_parts or self.n_units < MIN_UNITS or len(self._columns()) > LARGE:
            return False
        if not varies(self.by_unit - self.by_unit.sum() * self.shares, self.by_unit.sum()):
            return False
        is_free = not np.isfinite(self.limits).all()
        return resampling.method != "auto" or is_free or self.n_differ >= BCA_UNITS

    def _columns(self) -> Array:
        """Column sums of the units that are present, under all seeds of both sides: (units, columns)."""
        return np.concatenate([*self.a.sums, *self.b.sums], axis=1)[on_both(self.a, self.b)]

    def statistic(self) -> tuple[Array, Any]:
        """What `bootstrap` draws."""
        n_seeds, columns = len(self.a.sums), self.a.sums.shape[2]
        formula = self.a.formula

        def delta(sums: Array) -> Array:
            values = formula.values(sums.reshape(*sums.shape[:-1], -1, columns))
            return values[..., n_seeds:].mean(axis=-1) - values[..., :n_seeds].mean(axis=-1)

        return self._columns(), delta


def draws_of(
    differences: Sequence[Differences | None], resampling: Resampling
) -> list[Draws | None]:
    """The bootstraps of those differences that have one."""
    wanted = [d is not None and d.wants_draws(resampling) for d in differences]
    statistics = [d.statistic() for d, want in zip(differences, wanted) if d is not None and want]
    drawn = iter(bootstrap(statistics, resampling))
    return [next(drawn) if want else None for want in wanted]


def common_cells(
    a: Cells,
    b: Cells,
    samples: Samples,
    by_seed: bool,
) -> tuple[Cells, Cells]:
    """The units of two sides over the cells of samples that both have."""
    both = a.present & b.present if by_seed else on_both(a, b)
    return a.where(both).per_unit(samples), b.where(both).per_unit(samples)


def paired(
    a: Cells,
    b: Cells,
    samples: Samples,
    by_seed: bool,
) -> Differences | None:
    """The differences of a metric over the cells of samples that both sides have; None where it is not measured."""
    a, b = common_cells(
        a,
        b,
        samples,
        by_seed,
    )
    in_a, in_b = ~np.isnan(a.values), ~np.isnan(b.values)
    if by_seed:
        in_a = in_b = in_a & in_b
    if not in_a.any() or not in_b.any():
        return None
    if not in_a.all() or not in_b.all():
        a, b = a.at(in_a), b.at(in_b)
        a, b = a.where(on_both(a, b)), b.where(on_both(a, b))
    return Differences(
        a,
        b,
        by_seed,
    )
