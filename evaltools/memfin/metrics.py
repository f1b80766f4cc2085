"""The metric table of the five dialogue metrics, their options, and the suite.

Micro: sums over all eligible turns. Macro: the mean, over the dialogues with an eligible turn, of the
same ratio within each dialogue. Both come from the same units frame; both resample dialogues.

Source: memfin_metrics 3 and 4.
"""

from __future__ import annotations

from typing import Any

import pandas as pd
from pydantic import model_validator

from ..app.workers import Workers
from ..core.errors import InputError, Problem, Problems
from ..core.metric import MetricTable
from ..core.suite import Breakdown, Source, Suite, SuiteOptions
from .artifacts import write_artifacts
from .lexicon import load_lexicon
from .ratios import add_dialog_ratios, metric_table
from .score import locate, score_trace


class MemfinOptions(SuiteOptions):
    """`ignore_memory_keys`: every turn asks for no memory, so that M1 is not measured (a memory-free baseline).
    `lexicon`: path of another lexicon file. `lexicon_identity` follows from its content and is not to be given.
    """

    ignore_memory_keys: bool = False
    lexicon: str | None = None
    lexicon_identity: str = ""

    @model_validator(mode="before")
    @classmethod
    def _identify(cls, data: Any) -> Any:
        # kept with the options, so that a result can be read back when the file has gone or changed
        if isinstance(data, dict) and not data.get("lexicon_identity"):
            path = data.get("lexicon")
            return {**data, "lexicon": path and str(path), "lexicon_identity": load_lexicon(path).identity}
        return data

    def policy(self) -> dict[str, Any]:
        """The options with the lexicon's name, version and content hash in place of its path."""
        return {"ignore_memory_keys": self.ignore_memory_keys, "lexicon": self.lexicon_identity}

    def signature(self) -> dict[str, str]:
        return {"memory": "ignored" if self.ignore_memory_keys else "scored", "lexicon": self.lexicon_identity}


def score(source: Source, options: MemfinOptions, problems: Problems, workers: Workers) -> pd.DataFrame:
    """The units frame of a trace: one row a turn, with the dialogue's own values in its first row.

    Reading the trace is most of the work and is done in one process; `workers` changes nothing.
    Raises InputError for a trace that cannot be used or a lexicon that changed after the options were made.
    """
    lexicon = load_lexicon(options.lexicon)
    if lexicon.identity != options.lexicon_identity:
        message = f"the lexicon is {lexicon.identity} now, the options were made for {options.lexicon_identity}"
        raise InputError([Problem("error", "lexicon-changed", message, file=options.lexicon or "")])
    return add_dialog_ratios(score_trace(source.files["trace"], lexicon, options.ignore_memory_keys, problems))


HEADLINE = (
    "m1_key_coverage",
    "m2_profile_score",
    "m3_risk_coverage",
    "m4_compliance_label_acc",
    "m4_severe_violation_rate",
    "m5_rubric_hit_rate",
)

_TABLE = metric_table()


def metrics(options: MemfinOptions) -> MetricTable:
    return _TABLE


def headline(options: MemfinOptions) -> tuple[str, ...]:
    """One metric of each measure and the rate of severe violations; M1 stays in, not measured, without keys."""
    return HEADLINE


SUITE = Suite(
    name="memfin",
    title="MemFin: financial dialogues",
    unit="dialog_id",
    row=("dialog_id", "turn_pair_id"),
    options=MemfinOptions,
    locate=locate,
    score=score,
    metrics=metrics,
    headline=headline,
    artifacts=write_artifacts,
    notebook="memfin.ipynb",
    breakdowns=(
        Breakdown("Scenario", "scenario_type", HEADLINE),
        Breakdown("Difficulty", "difficulty", HEADLINE),
    ),
)
