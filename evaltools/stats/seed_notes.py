"""What a reader must know of the seeds of a condition or of a study, as notes."""

from __future__ import annotations

import numpy as np

from ..core.metric import MetricTable
from ..core.metric_matrix import column_values, compile_table
from .design import Runs, grid
from .notes import Note


def completeness(
    runs: Runs,
    table: MetricTable,
    unit: str,
) -> list[Note]:
    """What a reader must know of the seeds: too few, no sample in common, metrics not measured.

    [] is all well. Samples that a seed lacks are told by the check `missing-units`.
    """
    cells = grid(runs, unit)
    n_seeds, n_samples = len(cells.seeds), len(cells.units)
    if n_seeds == 1:
        return [Note("one-seed")]
    notes = []
    if n_seeds == 2:
        notes.append(Note("two-seeds"))
    if n_samples and cells.present.sum() == n_samples:
        notes.append(Note("no-common-sample"))
    compiled = compile_table(table)
    values = [
        compiled.values(column_values(runs[k], compiled.columns).sum(axis=0)) for k in cells.seeds
    ]
    for name, is_lacking in zip(compiled.names, np.isnan(values).T):
        if is_lacking.any() and not is_lacking.all():
            seeds = [str(seed) for seed, lacks in zip(cells.seeds, is_lacking) if lacks]
            notes.append(Note("not-in-seeds", {"name": name, "seeds": ", ".join(seeds)}))
    return notes
