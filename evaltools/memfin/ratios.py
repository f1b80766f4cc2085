"""The five measures as ratios of sums over the turn table: the one table behind micro, macro and by_dialog.

Source: memfin_metrics 3 (ratios) and 4 (eligibility).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from ..core.metric import Better, Metric

SECTION_4 = "memfin_metrics 4"


@dataclass(frozen=True)
class Ratio:
    """`name` within its measure; sum(numerator) / sum(denominator). `macro`: also averaged over dialogues."""

    name: str
    numerator: str
    denominator: str
    better: Better
    title: str
    proportion: bool = True
    macro: bool = True


@dataclass(frozen=True)
class Measure:
    """One of M1 to M5: `stored` is its name in metrics_summary.json, `eligible` the column that counts its
    turns (M2: dialogues), `totals` its further counts there, by column.
    """

    key: str
    stored: str
    title: str
    source: str
    eligible: str
    ratios: tuple[Ratio, ...]
    totals: Mapping[str, str] = field(default_factory=dict)
    dialog_level: bool = False

    @property
    def unit(self) -> str:
        return "dialogue" if self.dialog_level else "turn"

    @property
    def group(self) -> str:
        return f"{self.key.upper()} {self.title}"


MEASURES = (
    Measure(
        "m1",
        "m1_context_continuity",
        "Context continuity",
        "memfin_metrics 3.1",
        "eligible_m1",
        (
            Ratio("key_coverage", "m1_hits", "m1_keys", "higher", "Required memory keys that were at hand"),
            Ratio("strict_key_hit_rate", "m1_strict", "eligible_m1", "higher", "Turns with every key at hand"),
            Ratio("contradiction_rate", "m1_contradiction", "eligible_m1", "lower", "Replies against a constraint"),
            Ratio(
                "short_term_hit_rate",
                "m1_short_term_hits",
                "m1_keys",
                "none",
                "Keys in short-term context",
                macro=False,
            ),
            Ratio(
                "long_term_hit_rate", "m1_long_term_hits", "m1_keys", "none", "Keys in recalled items", macro=False
            ),
            Ratio("profile_hit_rate", "m1_profile_hits", "m1_keys", "none", "Keys in profile context", macro=False),
        ),
        {
            "required_key_total": "m1_keys",
            "required_key_hit_total": "m1_hits",
            "short_term_hit_total": "m1_short_term_hits",
            "long_term_hit_total": "m1_long_term_hits",
            "profile_hit_total": "m1_profile_hits",
        },
    ),
    Measure(
        "m2",
        "m2_profile_accuracy",
        "Profile accuracy",
        "memfin_metrics 3.2",
        "m2_dialog",
        (
            Ratio("risk_level_acc", "m2_risk_level_acc", "m2_dialog", "higher", "Risk level right"),
            Ratio("horizon_acc", "m2_horizon_acc", "m2_dialog", "higher", "Investment horizon right"),
            Ratio("liquidity_acc", "m2_liquidity_acc", "m2_dialog", "higher", "Liquidity need right"),
            Ratio("constraints_f1", "m2_constraints_f1", "m2_dialog", "higher", "Constraints, set F1", False),
            Ratio("preferences_f1", "m2_preferences_f1", "m2_dialog", "higher", "Preferences, set F1", False),
            Ratio(
                "profile_score", "m2_profile_score", "m2_dialog", "higher", "Mean of the five profile fields", False
            ),
        ),
        dialog_level=True,
    ),
    Measure(
        "m3",
        "m3_risk_coverage",
        "Risk disclosure",
        "memfin_metrics 3.3",
        "eligible_m3",
        (
            Ratio("risk_coverage", "m3_hits", "m3_tags", "higher", "Required risk tags disclosed"),
            Ratio(
                "strict_risk_coverage_rate", "m3_strict", "eligible_m3", "higher", "Turns with every tag disclosed"
            ),
        ),
        {"risk_required_total": "m3_tags", "risk_hit_total": "m3_hits"},
    ),
    Measure(
        "m4",
        "m4_compliance",
        "Compliance",
        "memfin_metrics 3.4",
        "eligible_m4",
        (
            Ratio("compliance_label_acc", "m4_correct", "eligible_m4", "higher", "Compliance label right"),
            Ratio("severe_violation_rate", "m4_severe", "eligible_m4", "lower", "Replies with a severe violation"),
            Ratio("forbidden_hit_rate", "m4_forbidden", "eligible_m4", "lower", "Replies with forbidden content"),
        ),
        {"severe_count": "m4_severe"},
    ),
    Measure(
        "m5",
        "m5_explainability",
        "Explainability",
        "memfin_metrics 3.5",
        "eligible_m5",
        (
            Ratio("rubric_hit_rate", "m5_hits", "m5_elements", "higher", "Required rubric elements present"),
            Ratio("judge_score_mean", "m5_score", "eligible_m5", "higher", "Heuristic score, 1 to 5", False),
        ),
        {"rubric_required_total": "m5_elements", "rubric_hit_total": "m5_hits", "judge_scored_turns": "eligible_m5"},
    ),
)


def micro_name(measure: Measure, ratio: Ratio) -> str:
    return f"{measure.key}_{ratio.name}"


def macro_name(measure: Measure, ratio: Ratio) -> str:
    """The metric that holds the macro value; the micro one where both are the same."""
    return micro_name(measure, ratio) + ("" if measure.dialog_level else "_macro")


def dialog_column(measure: Measure, ratio: Ratio) -> str:
    """The column that holds a ratio within each dialogue, in the dialogue's first row."""
    return ratio.numerator if measure.dialog_level else f"{micro_name(measure, ratio)}_dialog"


def dialogs_column(measure: Measure) -> str:
    """The column that is 1 in the first row of each dialogue that the measure is defined for, 0 in that of others."""
    return measure.eligible if measure.dialog_level else f"{measure.key}_dialogs"


def metric_table() -> list[Metric]:
    """Every metric of the suite: micro, then macro, measure by measure, then the counts."""
    table = []
    for m in MEASURES:
        for r in m.ratios:
            name = micro_name(m, r)
            table.append(Metric(name, r.numerator, r.denominator, m.group, r.better, r.title, m.source, r.proportion))
        for r in m.ratios:
            if r.macro and not m.dialog_level:
                title = f"{r.title}, mean of dialogues"
                columns = dialog_column(m, r), dialogs_column(m)
                table.append(Metric(macro_name(m, r), *columns, m.group, r.better, title, m.source))
    return [*table, *RUN]


RUN = (
    Metric(
        "turn_failure_rate", "turn_failed", "turn", "Run", "lower", "Turns that timed out or failed", SECTION_4, True
    ),
    Metric("turn_n", "turn", "", "Run", "none", "Turns of valid dialogues", SECTION_4),
    *(
        Metric(
            f"{m.key}_eligible_n",
            m.eligible,
            "",
            "Run",
            "none",
            f"{m.unit.capitalize()}s eligible for {m.key.upper()}",
            SECTION_4,
        )
        for m in MEASURES
    ),
)
"""Metrics of the run as a whole; a failed turn is in no other denominator."""


def add_dialog_ratios(units: pd.DataFrame) -> pd.DataFrame:
    """The turn table with every macro ratio as a column: a value in the first row of each dialogue, null elsewhere.

    Measures of the dialogue level have theirs already.
    """
    first = ~units["dialog_id"].duplicated().to_numpy()
    measures = [m for m in MEASURES if not m.dialog_level]
    wanted = {c for m in measures for r in m.ratios for c in (r.numerator, r.denominator)}
    sums = units.groupby("dialog_id", sort=False)[sorted(wanted)].sum()
    added: dict[str, np.ndarray] = {}
    for measure in measures:
        per_dialog = {dialogs_column(measure): (sums[measure.eligible] > 0).to_numpy(float)}
        for ratio in measure.ratios:
            if ratio.macro:
                num, den = (sums[c].to_numpy(float) for c in (ratio.numerator, ratio.denominator))
                empty = np.full(len(den), np.nan)
                per_dialog[dialog_column(measure, ratio)] = np.divide(num, den, out=empty, where=den > 0)
        for name, values in per_dialog.items():
            added[name] = np.full(len(units), np.nan)
            added[name][first] = values
    out = pd.concat([units, pd.DataFrame(added, index=units.index)], axis=1)
    out.attrs = units.attrs
    return out
