"""Two conditions paired: which cells, what each unit brings into a difference, its p and interval (rows 5 to 8)."""

from __future__ import annotations

from dataclasses import dataclass
from unicodedata import normalize

import numpy as np
import pandas as pd

from ..core.errors import UsageError
from ..core.metric import MetricTable, subset
from .bootstrap import Statistic
from .influence import (
    Array,
    Cells,
    Condition,
    Runs,
    label,
    mean_shares,
    present_on,
    rounded,
    unit_differences,
    unit_shares,
)
from .intervals import Effect
from .seeds import NEW_SEEDS, THESE_RUNS, THESE_TWO_RUNS, p_of_t, seed_part

# So few units know a standard error, and what rests on it, to one digit.
ROUGH = 20
# Columns of what is asked: rows that pair but differ there are other questions.
TEXTS = ("text", "user_text")


class NothingPaired(UsageError):
    """Two sides that share no unit."""


def same_questions(
    a: Condition,
    b: Condition,
    names: tuple[str, str],
) -> tuple[Array, int]:
    """(which samples of two conditions do not have other texts (samples,), how many pairs do).

    UsageError where most differ; NothingPaired for two that share no sample.
    """
    unit, sides = a.ids.name, (a, b)
    if not np.isin(a.sample, b.sample).any():
        sizes = [
            f"{name} ({side.ids.nunique()} units)"
            for name, side in zip(
                names,
                sides,
            )
        ]
        raise NothingPaired(f"{' and '.join(sizes)} share no {unit}: nothing to compare")
    keep = np.ones(a.n_samples, dtype=bool)
    known = [name for name in TEXTS if all(name in f for f in (*a.frames, *b.frames))]
    if not known:
        return keep, 0
    texts = []
    for side in sides:
        column = pd.concat([frame[known[0]] for frame in side.frames]).set_axis(side.sample)
        column = column.dropna().astype(str)
        column = column[~column.index.duplicated()]
        texts.append(column.map(lambda text: " ".join(normalize("NFC", text).split())))
    one, other = texts[0].align(texts[1], join="inner")
    others = one.index[one != other]
    if 2 * len(others) > len(one):
        raise UsageError(
            f"{names[0]} and {names[1]} pair by {unit}, but {len(others)} of {len(one)} pairs have other texts: "
            "they are other questions"
        )
    keep[others] = False
    return keep, len(others)


@dataclass(frozen=True, eq=False, kw_only=True)
class Difference(Effect):
    """The effect of two sides `a` and `b`: `by_cell` (seeds, units) is what each cell brings into it.

    One row where seeds do not pair.
    """

    a: Cells
    b: Cells
    by_cell: Array
    differences: Array

    @property
    def n_seeds(self) -> int:
        """Seeds on the side that has fewer."""
        return min(len(self.a.sums), len(self.b.sums))

    @property
    def p_seeds(self) -> float:
        """p for new seeds and new samples, by t; nan where a side has one seed."""
        return p_of_t(self.accounts, self.value) if self.parts else np.nan

    @property
    def claim(self) -> str:
        """What the interval speaks for."""
        if self.n_seeds > 1:
            return NEW_SEEDS
        return THESE_TWO_RUNS if len(self.a.sums) == len(self.b.sums) else THESE_RUNS


def common_cells(
    a: Cells,
    b: Cells,
    by_seed: bool,
) -> tuple[Cells, Cells]:
    """The units of two sides over the cells of samples that both have."""
    on_a, on_b = present_on(a, b, by_seed)
    on_both = on_a & on_b
    return a.where(on_both).per_unit(), b.where(on_both).per_unit()


def paired(
    a: Cells,
    b: Cells,
    by_seed: bool,
) -> Difference | None:
    """A metric of two sides over the cells of samples that both have, in the seeds in which it is measured.

    Seed k of one side goes with seed k of the other (`by_seed`), or each side is averaged over its own. None where it
    is not measured.
    """
    a, b = common_cells(a, b, by_seed)
    in_a, in_b = ~np.isnan(a.values), ~np.isnan(b.values)
    if by_seed:
        in_a = in_b = in_a & in_b
    if not in_a.any() or not in_b.any():
        return None
    if not in_a.all() or not in_b.all():
        a, b = common_cells(a.at(in_a), b.at(in_b), by_seed)
    sides = [(side.num, side.den) for side in (a, b)]
    if not by_seed:
        sides = [(num.mean(axis=0)[None], den.mean(axis=0)[None]) for num, den in sides]
    weights, (lowest, highest) = a.formula.weights, a.formula.ends
    by_cell = np.stack([rounded(of_seed) for of_seed in unit_differences(*sides) @ weights])
    by_unit = rounded(by_cell.mean(axis=0))
    shares = mean_shares(unit_shares(a.den.mean(axis=0), b.den.mean(axis=0)), weights)
    parts = []
    if by_seed and len(a.sums) > 1:
        both = a.takes_part | b.takes_part
        parts = [seed_part(b.values - a.values, b.errors - a.errors, a.present, both)]
    elif min(len(a.sums), len(b.sums)) > 1:
        parts = [seed_part(s.values, s.errors, s.present, s.takes_part) for s in (a, b)]
    errors = by_unit - by_unit.sum() * shares
    if parts:
        errors = b.errors.mean(axis=0) - a.errors.mean(axis=0)
    on_both = np.any(a.present, axis=0) & np.any(b.present, axis=0)

    def statistic() -> Statistic:
        n_seeds, width = len(a.sums), a.sums.shape[2]

        def delta(sums: Array) -> Array:
            values = a.formula.values(sums.reshape(*sums.shape[:-1], -1, width))
            return values[..., n_seeds:].mean(axis=-1) - values[..., :n_seeds].mean(axis=-1)

        return np.concatenate([*a.sums, *b.sums], axis=1)[on_both], delta

    return Difference(
        value=b.values.mean() - a.values.mean(),
        values=np.concatenate([a.values, b.values]),
        errors=errors,
        shares=shares,
        limits=(lowest - highest, highest - lowest),
        n_present=int(on_both.sum()),
        statistic=statistic,
        parts=parts,
        differences=by_unit,
        a=a,
        b=b,
        by_cell=by_cell,
    )


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
    (run,) = label([{"": units}], subset(table, [metric]), unit)
    cells = run.cells(0).per_unit()
    values = pd.Series(cells.formula.values(cells.sums)[0], run.units, name=metric)
    return values.where(cells.present[0]).reindex(units[unit].unique()).rename_axis(unit)


def unit_changes(
    baseline: Runs,
    candidate: Runs,
    table: MetricTable,
    unit: str,
    metric: str,
    names: tuple[str, str] = ("baseline", "candidate"),
) -> pd.DataFrame:
    """The paired values of one metric, a row a unit.

    Columns: `unit`, baseline, candidate, change, influence, differs (in some seed).

    A unit's value is the metric of that unit alone (its own ratio of sums), averaged over the
    paired seeds in which both sides have it. `change` is candidate less baseline. `influence` is
    what the unit brings into the difference of the whole, linearised at the mean of both sides: its
    change / n for a mean over n units. It is 0 for a unit whose numerator and denominator do not
    differ. Where a unit has a value on one side only (0 / 0 on the other), the other value and the
    change are nan; units without any value are left out.

    KeyError for a metric that the table lacks; NothingPaired, with the `names` of the sides, for
    sides without a unit in common.

    >>> from evaltools.core.metric import Metric
    >>> table = [Metric(name="accuracy", numerator="right", denominator="n", better="higher")]
    >>> old = pd.DataFrame({"id": ["a", "b"], "right": [0, 1], "n": 1})
    >>> unit_changes({"": old}, {"": old.assign(right=1)}, table, "id", "accuracy")
      id  baseline  candidate  change  influence  differs
    0  a       0.0        1.0     1.0        0.5     True
    1  b       1.0        1.0     0.0        0.0    False
    """
    by_seed = set(baseline) == set(candidate)
    a, b = label([baseline, candidate], subset(table, [metric]), unit)
    keep, _ = same_questions(a, b, names)
    cells = a.cells(0).where(keep), b.cells(0).where(keep)
    values = []
    for side in common_cells(*cells, by_seed):
        of_cells = side.formula.values(side.sums)
        values.append(pd.DataFrame(np.where(side.present, of_cells, np.nan)))
    before, after = values
    if by_seed:
        in_both = before.notna() & after.notna()
        # a unit that both sides have in some seed is averaged over these
        used = in_both | ~in_both.any()
        before, after = before.where(used), after.where(used)
    found = paired(*cells, by_seed)
    # each seed by itself: a gain in one does not hide a loss in another
    by_cell = np.zeros((1, len(a.units))) if found is None else found.by_cell
    frame = pd.DataFrame(
        {unit: a.units.astype(object), "baseline": before.mean(), "candidate": after.mean()}
    )
    frame["change"] = frame["candidate"] - frame["baseline"]
    frame["influence"], frame["differs"] = by_cell.mean(axis=0), by_cell.any(axis=0)
    return frame.dropna(
        subset=["baseline", "candidate"],
        how="all",
    ).reset_index(drop=True)


def differing(changes: pd.DataFrame) -> pd.DataFrame:
    """The units of `unit_changes` that carry the difference, the largest influence first.

    These are the units that `n_differ` of a comparison counts.
    """
    carrying = changes[changes["differs"]]
    return carrying.sort_values(
        "influence", key=abs, ascending=False, kind="stable", ignore_index=True
    )
