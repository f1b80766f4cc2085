"""Power by simulation: studies are drawn from the units of a pilot and judged.

The units are tilted to the wanted difference (`Pilot.weights`), seeds vary as the pilot's do, and
`differences.decide` says whether a study found the difference.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.metric import Metric
from ..core.metric_matrix import Compiled, compile_table
from ..core.resampling import Resampling
from .arrays import Array
from .differences import decide
from .influence import Cells, Paired
from .pilot import Pilot, moved_cells

BLOCKS, BLOCK = 20, 50
"""Simulated studies for one power: so many blocks of studies that share their sign patterns."""


def simulated_power(
    pilot: Pilot,
    difference: float,
    n: int,
    seeds: int,
    resampling: Resampling,
) -> float:
    """Share (0..1) of simulated studies that find the true difference.

    A study has n samples under each of so many seeds. The result depends on `resampling.seed`, `n`
    and `seeds`, and on nothing else that is drawn.
    """
    rng = np.random.default_rng([resampling.seed, n, seeds])
    cumulated = np.cumsum(pilot.weights(difference))
    compiled = _studies(pilot.metric)
    shape = (seeds, n, BLOCK)
    # cells whose mean over both sides varies as half their difference does go apart, and have like seeds
    apart = pilot.components.sides == 2 and seeds > 1
    successes = 0
    for block in range(BLOCKS):
        change = _drawn(
            pilot,
            cumulated,
            shape,
            rng,
        )
        middle = np.zeros(shape)
        if apart:
            middle = _drawn(
                pilot,
                cumulated,
                shape,
                rng,
            )
        paired = Paired(
            _side(compiled, (middle - change) / 2),
            _side(compiled, (middle + change) / 2),
            by_seed=True,
        )
        own_signs = resampling.model_copy(update={"seed": resampling.seed + block})
        decisions = decide(paired, own_signs)
        successes += int((decisions > 0).sum())
    return successes / (BLOCKS * BLOCK)


def _studies(planned: Any) -> Compiled:
    """A table in which each of BLOCK studies is a metric, y0 / n, y1 / n, ..., within the limits of the planned one."""
    least, most = planned.limits
    table = [
        Metric(
            name=f"m{study}",
            numerator=f"y{study}",
            denominator="n",
            better="higher",
            bounds=(least, most) if np.isfinite(most - least) else None,
            proportion=getattr(planned, "proportion", False),
        )
        for study in range(BLOCK)
    ]
    return compile_table(table)


def _drawn(
    pilot: Pilot,
    cumulated: Array,
    shape: tuple[int, int, int],
    rng: np.random.Generator,
) -> Array:
    """(seeds, samples, studies): differences of drawn cells.

    A sample is a drawn unit of the pilot; under a seed it stays with that unit with the probability
    `Pilot.keep`, and is else another one, drawn anew. The seed of the pilot that the cell comes
    from is drawn too.
    """
    same_unit = np.searchsorted(cumulated, rng.random(shape[1:]))
    any_unit = np.searchsorted(cumulated, rng.random(shape))
    stays = rng.random(shape) < pilot.keep
    units = np.where(stays, same_unit, any_unit)
    units = np.minimum(units, len(cumulated) - 1)
    seeds_of_pilot = rng.integers(len(pilot.cells), size=shape)
    cells = pilot.cells[seeds_of_pilot, units]
    if pilot.components.seed > 0:
        seeds, _, studies = shape
        size = np.sqrt(pilot.components.seed)
        deviations = rng.normal(0, size, (seeds, 1, studies))
        cells = moved_cells(cells, deviations)
    return cells


def _side(
    compiled: Compiled,
    cells: Array,
) -> Cells:
    """One side of the studies, its cells as the numerators."""
    numerators = [compiled.columns.index(f"y{study}") for study in range(BLOCK)]
    seeds, n, _ = cells.shape
    sums = np.ones((seeds, n, len(compiled.columns)))
    sums[:, :, numerators] = cells
    present = np.ones((seeds, n), dtype=bool)
    return Cells(compiled, sums, present)
