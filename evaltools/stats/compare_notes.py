"""What a reader must know of a comparison.

What did not pair, that there are few seeds, and which metrics have no verdict.
"""

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
    n_seeds = min(len(pairing.baseline.seeds), len(pairing.candidate.seeds))
    own_names = rows[rows["alias_of"] == ""]
    notes = []
    if identical:
        notes.append(Note("identical", {"n": len(pairing.baseline.units)}))
    notes += _left_over(wholes, pairing, names)
    notes += _about_seeds(wholes, pairing, names, n_seeds)
    notes += _about_metrics(own_names, n_seeds, identical)
    return notes


def _seeded(wholes: Sequence[Grid]) -> bool:
    """Whether the runs are told apart by seeds."""
    return any(seed for whole in wholes for seed in whole.seeds)


def _left_over(
    wholes: Sequence[Grid],
    pairing: Pairing,
    names: Sequence[str],
) -> Iterator[Note]:
    """The cells of each side that have no counterpart."""
    code = "unpaired-cells" if _seeded(wholes) else "unpaired-units"
    unpaired = pairing.unpaired
    for side, name, whole in zip(("baseline", "candidate"), names, wholes):
        left = unpaired[f"cells_{side}"]
        if left:
            values = {
                "left": left,
                "total": int(whole.present.sum()),
                "name": name,
            }
            yield Note(code, values)


def _about_seeds(
    wholes: Sequence[Grid],
    pairing: Pairing,
    names: Sequence[str],
    n_seeds: int,
) -> Iterator[Note]:
    """How seeds pair, and that there are few of them."""
    if not pairing.by_seed:
        labels = ["/".join(map(str, whole.seeds)) for whole in wholes]
        values = {
            "a": names[0],
            "b": names[1],
            "seeds_a": labels[0],
            "seeds_b": labels[1],
        }
        is_shared = set(wholes[0].seeds) & set(wholes[1].seeds)
        yield Note("unequal-seeds" if is_shared else "no-common-seed", values)
    if n_seeds == 1 and _seeded(wholes):
        yield Note("one-seed-side")
    if n_seeds == 2:
        yield Note("two-seeds")


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
        found = rows[condition]
        if len(found):
            named = found if len(found) <= NAMED else found[:0]
            values = {
                "n": len(found),
                "total": len(rows),
                "titles": tuple(map(metric_title, named["metric"], named["title"])),
            }
            yield Note(code, values)
