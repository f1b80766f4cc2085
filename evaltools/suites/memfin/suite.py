"""The suite of the five dialogue metrics.

Micro: sums over all eligible turns. Macro: the mean, over the dialogues with an eligible turn, of
the same ratio within each dialogue. Both come from the same units; both resample dialogues.

Source: memfin_metrics 3 and 4.
"""

import json

from ...core.suite import Suite
from .cards import checks, finding, sample_view, write_artifacts
from .score import JSON, METRICS, PATTERN, TABLES, MemfinOptions, locate, score

SUITE = Suite(
    name="memfin",
    title="MemFin: financial dialogues",
    unit="dialog_id",
    options=MemfinOptions,
    locate=locate,
    recognised=(PATTERN,),
    score=score,
    metrics=lambda options: tuple(METRICS.values()),
    headline=lambda options, blocked: tuple(TABLES["headline"]),
    checks=checks,
    finding=finding,
    artifacts=write_artifacts,
    notebook="memfin.ipynb",
    together=True,
    paper=tuple(TABLES["paper"]),
    sample_view=sample_view,
    decode=dict.fromkeys(JSON, json.loads),
)
