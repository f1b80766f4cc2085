"""The suite of the five dialogue metrics.

Micro: sums over all eligible turns. Macro: the mean, over the dialogues with an eligible turn, of
the same ratio within each dialogue. Both come from the same units; both resample dialogues.

Source: memfin_metrics 3 and 4.
"""

from __future__ import annotations

import json

from ...core.suite import Suite
from .cards import VIEW, checks, write_artifacts
from .measures import METRICS
from .score import JSON, PATTERN, MemfinOptions, locate, runs, score

HEADLINE = (
    "m1_key_coverage",
    "m2_profile_score",
    "m3_risk_coverage",
    "m4_compliance_label_acc",
    "m4_severe_violation_rate",
    "m5_rubric_hit_rate",
)
"""A metric of each measure and the rate of severe violations. M1 stays, not measured, without
keys."""


PAPER = (
    "m1_key_coverage",
    "m1_strict_key_hit_rate",
    "m1_contradiction_rate",
    "m2_profile_score",
    "m2_risk_level_acc",
    "m2_horizon_acc",
    "m2_liquidity_acc",
    "m2_constraints_f1",
    "m2_preferences_f1",
    "m3_risk_coverage",
    "m3_strict_risk_coverage_rate",
    "m4_compliance_label_acc",
    "m4_severe_violation_rate",
    "m4_forbidden_hit_rate",
    "m5_rubric_hit_rate",
    "m5_judge_score_mean",
    "turn_n",
    "m1_eligible_n",
    "m2_eligible_n",
    "m3_eligible_n",
    "m4_eligible_n",
    "m5_eligible_n",
    "m1_skipped_n",
    "m2_skipped_n",
    "m3_skipped_n",
    "m5_skipped_n",
    "turn_failed_n",
)
"""What the document asks of the table of a paper (memfin_metrics 6), with the numbers of turns.

M4 takes every turn that was answered: it skips none."""


def primary(
    options: MemfinOptions,
    blocked: frozenset[str],
) -> str:
    """The profile score; where it is blocked, the next of the headline that is not.

    Key coverage comes last: systems without memory have none.
    """
    for name in (*HEADLINE[1:], "m1_key_coverage"):
        if name not in blocked:
            return name
    return ""


SUITE = Suite(
    name="memfin",
    title="MemFin: financial dialogues",
    unit="dialog_id",
    options=MemfinOptions,
    input="TRACE",
    locate=locate,
    recognised=(PATTERN,),
    score=score,
    runs=runs,
    metrics=lambda options: METRICS,
    headline=lambda options, blocked: HEADLINE,
    primary=primary,
    checks=checks,
    artifacts=write_artifacts,
    notebook="memfin.ipynb",
    together=True,
    paper=PAPER,
    sample_view=lambda shown: VIEW,
    decode=dict.fromkeys(JSON, json.loads),
)
