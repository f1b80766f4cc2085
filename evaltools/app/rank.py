"""`evaltools rank`: how conditions stand to each other on one metric."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..core.folders import require_out
from ..core.names import safe_name
from ..report import study_sentences
from ..report.text import visible
from .plan import study_of
from .text import columns, wrapped


def rank_command(runs: Sequence[str], *, metric: str, out: Path, **settings: Any) -> str:
    """The text that `evaltools rank` prints; ranks.csv is written. `settings` are those of `study`."""
    require_out(out)
    study_of(runs, **settings).rank(metric)  # says what is wrong before anything is written
    made = study_of(runs, primary=metric, out=out, **settings)
    ranks = made.rank()
    ranks["condition"] = ranks["condition"].map(visible)
    decimals = "{:.4f}".format
    table = columns(ranks, value=decimals, ci_low=decimals, ci_high=decimals)
    sentences = [wrapped(sentence) for sentence in study_sentences.ranking(made)]
    path = out / "results" / f"{safe_name(made.baseline)}_aggregated" / "ranks.csv"
    return "\n".join([*sentences, "", table, "", str(path)])
