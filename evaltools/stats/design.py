"""The design of a study: units crossed with seeds, and which cells of two conditions pair.

A *condition* is a mapping seed -> units frame. Its grid has a cell for every (seed, unit); a cell
is present where that seed's frame has a row of the unit. Several rows of one unit (the turns of a
dialogue) are summed.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd

from ..core.metric_matrix import column_values
from .arrays import Array

Seed = Hashable
Runs = Mapping[Seed, pd.DataFrame]

ITEM, TRIAL = "item", "trial"
ROW_COLUMNS = (ITEM, "turn_pair_id", TRIAL)
"""Columns that tell the rows of a unit apart: the samples of a cluster, the turns of a dialogue, the
trials of a sample."""

ROW_LABEL = "row of a unit"
"""The column of the labels of rows, while conditions are paired by them."""

BETWEEN = "\x1f"
"""Stands between the parts of a label."""


def in_order(labels: Iterable[Seed]) -> list[Seed]:
    """Labels sorted: None first, then numbers by size, then all others by their text.

    >>> in_order({10, 9, None, "b", "a"})
    [None, 9, 10, 'a', 'b']
    """

    def key(label: Seed) -> tuple[int, float, str]:
        if label is None:
            return 0, 0.0, ""
        if isinstance(label, int | float | np.number):
            return 1, float(label), ""
        return 2, 0.0, str(label)

    return sorted(labels, key=key)


@dataclass(frozen=True)
class Grid:
    """Seeds and units of a condition, both in order.

    `frames`: the units frame of each seed. `unit_of_row`: for each seed, the index into `units` of
    every row of its frame; -1 for a row that takes no part.
    """

    seeds: tuple[Seed, ...]
    units: pd.Index
    frames: tuple[pd.DataFrame, ...]
    unit_of_row: tuple[Array, ...]

    @cached_property
    def present(self) -> Array:
        """(seeds, units): whether the cell has a row."""
        shape = len(self.seeds), len(self.units)
        present = np.zeros(shape, dtype=bool)
        for seed, index in enumerate(self.unit_of_row):
            present[seed, index[index >= 0]] = True
        return present

    def masked(self, keep: Array) -> Grid:
        """The same grid without the cells outside `keep` (seeds, units)."""
        unit_of_row = []
        for index, kept in zip(self.unit_of_row, keep):
            # index -1 reads the appended False
            in_part = np.append(kept, False)[index]
            unit_of_row.append(np.where(in_part, index, -1))
        return replace(self, unit_of_row=tuple(unit_of_row))

    def take(
        self,
        seeds: Sequence[Seed],
        units: pd.Index,
    ) -> Grid:
        """The cells of these seeds and units, in this order."""
        # index -1 reads the appended -1
        new_index = np.append(units.get_indexer(self.units), -1)
        frames = []
        unit_of_row = []
        for seed in seeds:
            k = self.seeds.index(seed)
            frames.append(self.frames[k])
            unit_of_row.append(new_index[self.unit_of_row[k]])
        return Grid(
            seeds=tuple(seeds),
            units=units,
            frames=tuple(frames),
            unit_of_row=tuple(unit_of_row),
        )

    def sums(self, columns: Sequence[str]) -> Array:
        """Column sums of every cell, (seeds, units, columns); 0 where the cell is not present."""
        n_seeds, n_units = len(self.seeds), len(self.units)
        sums = np.empty((n_seeds, n_units, len(columns)))
        for k in range(n_seeds):
            sums[k] = self._sums_of_seed(k, columns)
        return sums

    def _sums_of_seed(
        self,
        k: int,
        columns: Sequence[str],
    ) -> Array:
        """Column sums of every unit under seed number k, (units, columns)."""
        values = column_values(self.frames[k], columns)
        index = self.unit_of_row[k]
        n_units = len(self.units)
        if np.array_equal(index, np.arange(n_units)):
            return values
        takes_part = index >= 0
        values = values[takes_part]
        index = index[takes_part]
        n_rows = np.bincount(index, minlength=1)
        if n_rows.max() > 1:
            # a sum of floats depends on its order: the rows of a unit are added by size
            order = np.lexsort((*values.T, index))
            return add_rows(values[order], index[order], n_units)
        sums = np.zeros((n_units, len(columns)))
        sums[index] = values
        return sums


def add_rows(
    values: Array,
    index: Array,
    n: int,
) -> Array:
    """Sums of the rows of each of n units, added in the order of the rows.

    `values` (rows, columns), `index` (rows): the unit of each row. Gives (n, columns).

    >>> add_rows(np.array([[1.0], [2.0], [4.0]]), np.array([0, 1, 0]), 2).ravel().tolist()
    [5.0, 2.0]
    """
    sums = np.empty((n, values.shape[1]))
    for column in range(values.shape[1]):
        sums[:, column] = np.bincount(
            index,
            weights=values[:, column],
            minlength=n,
        )
    return sums


def grid(
    runs: Runs,
    unit: str,
) -> Grid:
    """The grid of a condition; the order of seeds, units and rows in the input changes nothing.

    Raises ValueError for no run at all and for a null in the unit column.
    """
    if not runs:
        raise ValueError("a condition needs at least one run")
    for seed, frame in runs.items():
        if frame[unit].isna().any():
            raise ValueError(f"null in the unit column {unit!r} (seed {seed!r})")
    seeds = tuple(in_order(runs))
    frames = tuple(runs[seed] for seed in seeds)
    units = _distinct([frame[unit] for frame in frames])
    unit_of_row = []
    for frame in frames:
        labels = pd.Index(frame[unit], dtype=units.dtype)
        unit_of_row.append(units.get_indexer(labels))
    return Grid(
        seeds,
        units,
        frames,
        tuple(unit_of_row),
    )


def _distinct(columns: Sequence[pd.Series]) -> pd.Index:
    """The distinct labels of all columns, in order."""
    labels = np.concatenate([column.unique() for column in columns])
    try:
        return pd.Index(np.unique(labels), dtype=labels.dtype)
    except TypeError:  # labels of several types
        return pd.Index(in_order(set(labels)), dtype=object)


class Pairing(NamedTuple):
    """What two conditions have in common.

    `by_seed`: a cell pairs with the cell of the same seed and unit. Otherwise units pair, and each
    side is averaged over its own seeds. `unpaired`: side -> how many of its cells take no part.
    """

    baseline: Grid
    candidate: Grid
    by_seed: bool
    unpaired: dict[str, int]


def pair(
    baseline: Grid,
    candidate: Grid,
) -> Pairing:
    """Pair two conditions: by seed and unit where they have the same seed labels, else by unit.

    Where one side has a seed that the other lacks, all of their seeds count, each on its own side.
    """
    by_seed = set(baseline.seeds) == set(candidate.seeds)
    seeds_a = baseline.seeds
    seeds_b = seeds_a if by_seed else candidate.seeds
    units = baseline.units.intersection(candidate.units, sort=False)
    a = baseline.take(seeds_a, units)
    b = candidate.take(seeds_b, units)
    if by_seed:
        both = a.present & b.present
        a = a.masked(both)
        b = b.masked(both)
    on_both = a.present.any(axis=0) & b.present.any(axis=0)
    a = a.take(seeds_a, units[on_both])
    b = b.take(seeds_b, units[on_both])
    unpaired = {
        "baseline": int(baseline.present.sum() - a.present.sum()),
        "candidate": int(candidate.present.sum() - b.present.sum()),
    }
    return Pairing(
        a,
        b,
        by_seed,
        unpaired,
    )


def pair_rows(
    baseline: Runs,
    candidate: Runs,
    unit: str,
) -> tuple[Pairing, Grid, Grid]:
    """Pair two conditions by the rows of their units, where columns tell these apart (ROW_COLUMNS).

    A sample of a cluster, a turn of a dialogue or a trial of a sample that one side lacks takes no
    part on the other. Trials pair where both sides have the same numbers of them; else they are
    draws of their own. Gives the paired conditions, by unit, and both whole ones, a cell a row.
    """
    (whole_a, whole_b), label = row_grids([baseline, candidate], unit)
    pairing = pair(whole_a, whole_b)
    if label == unit:
        return pairing, whole_a, whole_b
    of_units = pairing._replace(
        baseline=_by_unit(pairing.baseline, unit),
        candidate=_by_unit(pairing.candidate, unit),
    )
    return of_units, whole_a, whole_b


def row_grids(
    conditions: Sequence[Runs],
    unit: str,
) -> tuple[list[Grid], str]:
    """(the grid of every condition, a cell a row, the column of their labels).

    That column is `unit` itself where nothing tells the rows of a unit apart.
    """
    columns = _row_columns(conditions, unit)
    if not columns:
        return [grid(runs, unit) for runs in conditions], unit
    grids = []
    for runs in conditions:
        labelled = {}
        for seed, frame in runs.items():
            if frame[unit].isna().any():
                raise ValueError(f"null in the unit column {unit!r} (seed {seed!r})")
            label = frame[unit].astype(str)
            for column in columns:
                label = label + BETWEEN + frame[column].astype(str)
            labelled[seed] = frame.assign(**{ROW_LABEL: label})
        grids.append(grid(labelled, ROW_LABEL))
    return grids, ROW_LABEL


def _row_columns(
    conditions: Sequence[Runs],
    unit: str,
) -> list[str]:
    """The columns by which the rows of all conditions pair within a unit.

    Where each unit has one row, a turn or trial is only where its value stands (that of a dialogue
    in its first turn).
    """
    frames = [frame for runs in conditions for frame in runs.values()]
    columns = [name for name in ROW_COLUMNS if all(name in frame for frame in frames)]
    if not columns:
        return columns
    if not any(frame[unit].duplicated().any() for frame in frames):
        return [name for name in columns if name == ITEM]
    if TRIAL in columns:
        numbers = []
        for runs in conditions:
            numbers.append(set().union(*(frame[TRIAL] for frame in runs.values())))
        if any(of_condition != numbers[0] for of_condition in numbers):
            columns.remove(TRIAL)
    return columns


def _by_unit(
    rows: Grid,
    unit: str,
) -> Grid:
    """The grid of the units whose rows take part in a grid of rows."""
    frames = {}
    for seed, frame, index in zip(rows.seeds, rows.frames, rows.unit_of_row):
        frames[seed] = frame[index >= 0]
    return grid(frames, unit)
