"""What a reader must know of a comparison: what did not pair, few seeds, and metrics without a verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from .design import Grid
from .intervals import MIN_UNITS
from .notes import Note

NAMED = 5
"""At most so many metrics are named in a note; of more, only those of the headline."""


def comparison_notes(
    wholes: Sequence[Grid],
    paired: Sequence[Grid],
    by_seed: bool,
    unpaired: Mapping[str, int],
    frame: pd.DataFrame,
    names: Sequence[str],
    identical: bool,
) -> list[Note]:
    """The notes of a comparison.

    `wholes` and `paired`: all cells of the baseline and of the candidate, and those that pair. `unpaired` and
    `identical` are those of `Comparison`, `frame` its table, `names` the names of both sides.
    """
    notes = []
    if identical:
        notes.append(Note("identical", {"n": len(paired[0].units)}))
    notes += _left_over(wholes, unpaired, names)
    notes += _about_seeds(wholes, paired, by_seed, names)
    n_seeds = min(len(side.seeds) for side in paired)
    notes += _about_metrics(frame[frame["alias_of"] == ""], n_seeds, identical)
    return notes


def _seeded(wholes: Sequence[Grid]) -> bool:
    """Whether the runs are told apart by seeds."""
    return any(seed for side in wholes for seed in side.seeds)


def _left_over(
    wholes: Sequence[Grid], unpaired: Mapping[str, int], names: Sequence[str]
) -> Iterator[Note]:
    """The cells of each side that have no counterpart."""
    code = "unpaired-cells" if _seeded(wholes) else "unpaired-units"
    for side, name, whole in zip(("baseline", "candidate"), names, wholes):
        left = unpaired[f"cells_{side}"]
        if left:
            values = {
                "left": left,
                "total": int(whole.present.sum()),
                "name": name,
                "samples": unpaired[f"units_{side}"],
                "seeds": unpaired[f"seeds_{side}"],
            }
            yield Note(code, values)


def _about_seeds(
    wholes: Sequence[Grid], paired: Sequence[Grid], by_seed: bool, names: Sequence[str]
) -> Iterator[Note]:
    """How seeds pair, and that there are few of them."""
    if not by_seed:
        labels = ["/".join(map(str, side.seeds)) for side in wholes]
        values = {"a": names[0], "b": names[1], "seeds_a": labels[0], "seeds_b": labels[1]}
        yield Note("no-common-seed", values)
    n_seeds = min(len(side.seeds) for side in paired)
    if n_seeds == 1 and _seeded(wholes):
        yield Note("one-seed-side")
    if n_seeds == 2:
        yield Note("two-seeds")


def _about_metrics(frame: pd.DataFrame, n_seeds: int, identical: bool) -> Iterator[Note]:
    """Metrics that have no verdict, or not on all seeds: how many, and the titles of a few."""
    measured = frame["delta"].notna()
    few_units = frame["n_units"] < MIN_UNITS
    few_differ = (frame["verdict"] == "too few") & ~few_units & (not identical)
    some_differ = frame["n_differ"] > 0
    cases = {
        "few-pairs": measured & few_units,
        "few-differ": few_differ & some_differ,
        "none-differ": few_differ & ~some_differ,
        "not-paired": ~measured,
        "some-seeds": measured & (frame["n_seeds"] < n_seeds),
    }
    for code, where in cases.items():
        rows = frame[where]
        if len(rows):
            named = rows if len(rows) <= NAMED else rows[rows["headline"]][:NAMED]
            titles = tuple(named["title"])
            yield Note(code, {"n": len(rows), "total": len(frame), "titles": titles})
