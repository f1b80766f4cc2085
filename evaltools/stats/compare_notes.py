"""What a reader must know of a comparison: what did not pair, and which metrics have no verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from ..core.metric import metric_title
from .design import Grid, Pairing
from .intervals import MIN_UNITS
from .notes import Note

NAMED = 5
"""So many metrics are named in a note; of more, none is."""


def comparison_notes(
    wholes: Sequence[Grid],
    pairing: Pairing,
    rows: pd.DataFrame,
    names: Sequence[str],
    identical: bool,
) -> list[Note]:
    """The notes of a comparison.

    `wholes`: all cells of the baseline and of the candidate, `pairing` those that pair, `names` the
    names of both. `rows` and `identical` are those of `Comparison`.
    """
    notes = []
    if identical:
        notes.append(Note("identical", {"n": len(pairing.baseline.units)}))
    notes += _left_over(wholes, pairing, names)
    n_seeds = min(len(pairing.baseline.seeds), len(pairing.candidate.seeds))
    own_names = rows[rows["alias_of"] == ""]
    notes += _about_metrics(own_names, n_seeds, identical)
    return notes


def _left_over(
    wholes: Sequence[Grid],
    pairing: Pairing,
    names: Sequence[str],
) -> Iterator[Note]:
    """The cells of each side that have no counterpart."""
    is_seeded = any(seed for whole in wholes for seed in whole.seeds)
    code = "unpaired-cells" if is_seeded else "unpaired-units"
    for name, whole, left in zip(names, wholes, pairing.unpaired.values()):
        if left:
            yield Note(code, {"left": left, "total": int(whole.present.sum()), "name": name})


def _about_metrics(
    rows: pd.DataFrame,
    n_seeds: int,
    identical: bool,
) -> Iterator[Note]:
    """Metrics that have no verdict, or not on all seeds: how many, and the titles of a few."""
    measured = rows["delta"].notna()
    few_units = rows["n_units"] < MIN_UNITS
    few_differ = (rows["verdict"] == "too few") & ~few_units & (not identical)
    some_differ = rows["n_differ"] > 0
    cases = {
        "few-pairs": measured & few_units,
        "few-differ": few_differ & some_differ,
        "none-differ": few_differ & ~some_differ,
        "not-paired": ~measured,
        "some-seeds": measured & (rows["n_seeds"] < n_seeds),
    }
    for code, condition in cases.items():
        concerned = rows[condition]
        if len(concerned):
            named = concerned if len(concerned) <= NAMED else concerned[:0]
            titles = tuple(map(metric_title, named["metric"], named["title"]))
            yield Note(code, {"n": len(concerned), "total": len(rows), "titles": titles})
