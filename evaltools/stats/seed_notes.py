"""What a reader must know of the seeds of a condition or of a study, as notes."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.metric import MetricTable
from .design import Runs, grid
from .notes import Note
from .seed_variance import ALIKE, SeedPool
from .seeds import seed_values


def completeness(
    runs: Runs,
    table: MetricTable,
    unit: str,
) -> list[Note]:
    """What a reader must know of the seeds: too few, missing samples, metrics not measured.

    [] is all well.
    """
    c = grid(runs, unit)
    n_seeds, n_samples = len(c.seeds), len(c.units)
    notes = []
    if n_seeds == 1:
        notes.append(Note("one-seed"))
    if n_seeds == 2:
        notes.append(Note("two-seeds"))
    if n_samples == 1:
        notes.append(Note("one-sample"))
    for seed, n in zip(c.seeds, c.present.sum(axis=1).tolist()):
        if n < n_samples:
            notes.append(Note("short-seed", {"seed": seed, "n": n, "total": n_samples}))
    shared = int(c.present.all(axis=0).sum())
    if n_seeds > 1 and n_samples and c.present.sum() == n_samples:
        notes.append(Note("no-common-sample"))
    elif shared < n_samples:
        notes.append(Note("shared-samples", {"shared": shared, "total": n_samples}))
    if n_seeds == 1:
        return notes
    for name, values in seed_values(runs, table, unit).groupby("metric", sort=False):
        lacking = values.loc[values["value"].isna(), "seed"].map(str).tolist()
        if 0 < len(lacking) < n_seeds:
            notes.append(Note("not-in-seeds", {"name": name, "seeds": ", ".join(lacking)}))
    return notes


def pool_notes(pools: Sequence[SeedPool]) -> list[Note]:
    """That the seeds of several conditions count together; [] where none do.

    `pools`: those of the metrics of a table, some after others.
    """
    if not pools:
        return []
    pool = SeedPool.join(pools)
    if not (pool.alike | pool.unlike).any():
        return []
    return [Note("seed-pool", {"level": ALIKE})]
