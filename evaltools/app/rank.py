"""`evaltools rank`: how conditions stand to each other on one metric."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..core.files import require_writable
from ..core.names import safe_name
from ..report import study_sentences
from ..report.text import visible
from .compare import wrapped
from .plan import columns, pilot_study


def rank_command(runs: Sequence[str], *, metric: str, out: Path, **how: Any) -> str:
    """The text that `evaltools rank` prints; ranks.csv is written."""
    require_writable(out)
    pilot_study(runs, **how).rank(metric)  # says what is wrong before anything is written
    made = pilot_study(runs, primary=metric, out=out, **how)
    path = out / "results" / f"{safe_name(made.baseline)}_aggregated" / "ranks.csv"
    shown = made.rank().assign(condition=lambda f: f["condition"].map(visible))
    numbers = dict.fromkeys(("value", "ci_low", "ci_high"), "{:.4f}".format)
    return "\n".join(
        [*map(wrapped, study_sentences.ranking(made)), "", columns(shown, **numbers), "", str(path)]
    )
