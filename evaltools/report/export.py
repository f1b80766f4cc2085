"""The numbers of a run in the shapes of other tools: for trackers, and for Inspect's viewer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from ..core.files import write_json, write_jsonl
from ..core.names import RUN_NAME

if TYPE_CHECKING:
    from .run import Run


def flat(run: Run) -> dict[str, float]:
    """{metric: value}, as trackers log it; what was not measured is left out."""
    return {name: value for name, value in run.to_dict().items() if value is not None}


def inspect_scores(run: Run) -> Iterator[dict[str, Any]]:
    """A row a unit for Inspect's `precomputed_scores`: its value of the primary metric; the epoch is the run's seed.

    The other headline metrics stand in `metadata`. Units on which the primary metric was not measured have no row.
    """
    names = dict.fromkeys([run.primary, *run.headline])
    values = pd.DataFrame({name: run.unit_values(name) for name in names})
    match = RUN_NAME.match(run.name)
    epoch = int(match["seed"]) if match and match["seed"].isdecimal() else 1
    for unit, row in values.iterrows():
        metadata = row.dropna().to_dict()
        if run.primary not in metadata:
            continue
        yield {
            "id": str(unit),
            "value": metadata.pop(run.primary),
            "epoch": epoch,
            "answer": None,
            "explanation": f"{run.primary} of {run.name}",
            "metadata": metadata,
        }


def write_exports(
    run: Run,
    flat_file: Path | None,
    inspect_file: Path | None,
) -> None:
    """Write what is asked for (None: not)."""
    if flat_file is not None:
        write_json(flat_file, flat(run))
    if inspect_file is not None:
        write_jsonl(inspect_file, inspect_scores(run))
