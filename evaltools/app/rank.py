"""`evaltools rank`: how conditions stand to each other on one metric."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..core.folders import require_out
from ..core.names import find_runs
from ..report import study_sentences
from ..report.make_study import ranked_study
from ..report.study_files import aggregate_folder
from ..report.text import visible
from .text import columns, wrapped


def rank_command(
    runs: Sequence[str],
    *,
    metric: str,
    out: Path,
    **settings: Any,
) -> str:
    """The text that `evaltools rank` prints; ranks.csv is written. `settings` are those of `ranked_study`."""
    require_out(out)
    paths = [path for run in runs for path in find_runs(run)]
    study = ranked_study(paths, metric, out, **settings)
    ranks = study.rank()
    ranks["condition"] = ranks["condition"].map(visible)
    decimals = "{:.4f}".format
    table = columns(ranks, value=decimals, ci_low=decimals, ci_high=decimals)
    sentences = [wrapped(sentence) for sentence in study_sentences.ranking(study)]
    path = aggregate_folder(out, study.baseline) / "ranks.csv"
    return "\n".join([*sentences, "", table, "", str(path)])
