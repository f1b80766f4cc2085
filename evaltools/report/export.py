"""The numbers of a run in the shapes of other tools: for trackers, and for Inspect's viewer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..core.files import write_json, write_jsonl
from ..core.metric import subset
from ..core.metric_matrix import compile_table
from ..core.names import RUN_NAME
from ..stats.intervals import unit_sums

if TYPE_CHECKING:
    from .run import Run


def flat(result: Run) -> dict[str, float]:
    """{metric: value}, as trackers log it; what was not measured is left out."""
    return {
        name: float(v)
        for name, v in zip(result.estimates["metric"], result.estimates["value"])
        if pd.notna(v)
    }


def inspect_scores(result: Run) -> Iterator[dict[str, Any]]:
    """A row a unit for Inspect's `precomputed_scores`: its value of the primary metric; the epoch is the run's seed.

    The other headline metrics stand in `metadata`. Units on which the primary metric was not measured have no row.
    """
    compiled = compile_table(subset(result.metrics, [result.primary, *result.headline]))
    at, names = pd.factorize(result.data[result.suite.unit], use_na_sentinel=False)
    values = compiled.values(unit_sums(result.data, compiled.columns, at))
    named = RUN_NAME.match(result.name)
    epoch = int(named["seed"]) if named and named["seed"].isdecimal() else 1
    for unit, row in zip(names, values):
        found = {n: float(v) for n, v in zip(compiled.names, row) if not np.isnan(v)}
        if result.primary in found:
            about = {"answer": None, "explanation": f"{result.primary} of {result.name}"}
            yield {
                "id": str(unit),
                "value": found.pop(result.primary),
                "epoch": epoch,
                **about,
                "metadata": found,
            }


def write_exports(result: Run, flat_file: Path | None, inspect_file: Path | None) -> None:
    """Write what is asked for (None: not)."""
    if flat_file is not None:
        write_json(flat_file, flat(result))
    if inspect_file is not None:
        write_jsonl(inspect_file, inspect_scores(result))
