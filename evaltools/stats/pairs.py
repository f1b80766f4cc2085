"""Which rows of two conditions pair: by seed and unit where both have the same seeds, else by unit."""

from __future__ import annotations

from collections.abc import Sequence
from unicodedata import normalize

import pandas as pd

from ..core.errors import UsageError
from .influence import ROW_COLUMNS, Runs

# Columns of what is asked: rows that pair but differ there are other questions.
TEXTS = ("text", "user_text")
# The column of the labels of rows, while conditions are paired by them.
ROW = "row of a unit"


class NothingPaired(UsageError):
    """Two sides that share no unit."""


def label_rows(conditions: Sequence[Runs], unit: str) -> list[Runs]:
    """The conditions with the column ROW: what tells the rows of all of them apart, trials aside.

    A sample of a cluster or a turn of a dialogue that one side lacks takes no part on the other.
    """
    frames = [frame for runs in conditions for frame in runs.values()]
    for frame in frames:
        if frame[unit].isna().any():
            raise ValueError(f"null in the unit column {unit!r}")
    columns = [name for name in ROW_COLUMNS if all(name in frame for frame in frames)]
    if not any(frame[unit].duplicated().any() for frame in frames):
        # where each unit has one row a turn is only where its value stands
        columns = [name for name in columns if name == "item"]
    labelled: list[Runs] = []
    for runs in conditions:
        of_condition = {}
        for seed, frame in runs.items():
            label = frame[unit]
            for column in columns:
                label = label.astype(str) + "\x1f" + frame[column].astype(str)
            of_condition[seed] = frame.assign(**{ROW: label})
        labelled.append(of_condition)
    return labelled


def common_rows(a: Runs, b: Runs, by_seed: bool) -> tuple[Runs, Runs]:
    """The rows of two labelled conditions that both have; without `by_seed` in any seed of the other."""
    if by_seed:
        return (
            {seed: frame[frame[ROW].isin(b[seed][ROW])] for seed, frame in a.items()},
            {seed: frame[frame[ROW].isin(a[seed][ROW])] for seed, frame in b.items()},
        )
    both = set().union(*(f[ROW] for f in a.values())) & set().union(*(f[ROW] for f in b.values()))
    sides = []
    for runs in (a, b):
        sides.append({seed: frame[frame[ROW].isin(both)] for seed, frame in runs.items()})
    return sides[0], sides[1]


def other_texts(a: Runs, b: Runs) -> tuple[set[object], int]:
    """(labels of the rows that two labelled conditions have with other texts, how many have a text on both)."""
    frames = [frame for runs in (a, b) for frame in runs.values()]
    for column in TEXTS:
        if all(column in frame for frame in frames):
            sides = []
            for runs in (a, b):
                rows = pd.concat(frame[[ROW, column]] for frame in runs.values()).dropna()
                texts = rows.drop_duplicates(ROW).set_index(ROW)[column].astype(str)
                sides.append(texts.map(lambda text: " ".join(normalize("NFC", text).split())))
            one, other = sides[0].align(sides[1], join="inner")
            return set(one.index[one != other]), len(one)
    return set(), 0


def pairs_by_seed(a: Runs, b: Runs) -> bool:
    """Whether cells pair by seed and unit: both sides have the same seeds. Else units pair."""
    return set(a) == set(b)


def nothing_paired(a: Runs, b: Runs, unit: str, names: tuple[str, str]) -> str:
    """What is said of two conditions that share no unit."""
    sizes = [pd.concat(frame[unit] for frame in runs.values()).nunique() for runs in (a, b)]
    return (
        f"{names[0]} ({sizes[0]} units) and {names[1]} ({sizes[1]} units) share no {unit}: "
        "nothing to compare"
    )
