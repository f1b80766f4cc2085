"""The five measures, M1 to M5, and their metrics.

Source: memfin_metrics 3 (the ratios) and 4 (who is eligible).
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...core.language import listed, say
from ...core.metric import Metric, make_metric

if TYPE_CHECKING:
    from ...report.run import Run

FILE = Path(__file__).with_name("metrics.toml")
ROWS = tomllib.loads(FILE.read_text(encoding="utf-8"))["metric"]

METRICS: tuple[Any, ...] = tuple(map(make_metric, ROWS))
"""The metric table of the suite: ratios only."""


@dataclass(frozen=True, kw_only=True)
class Measure:
    """One of the five measures.

    key, title: as "M1" and "Context continuity".
    stored: its name in metrics_summary.json.
    eligible: the column that counts the turns (of M2 the dialogues) that take part.
    nothing: why a turn that was answered takes no part.
    failing: the query for the turns that fall short; "" for the measure of dialogues.
    totals: further counts in metrics_summary.json -> the column that sums to them.
    """

    key: str
    title: str
    stored: str
    eligible: str
    nothing: str
    failing: str = ""
    totals: Mapping[str, str] = field(default_factory=dict)

    @property
    def metrics(self) -> dict[str, Metric]:
        """The metrics of this measure, by their names without "m1_"."""
        group = f"{self.key} {self.title}"
        prefix = self.key.lower() + "_"
        return {m.name.removeprefix(prefix): m for m in METRICS if m.group == group}

    @property
    def micro(self) -> dict[str, Metric]:
        """The ratios over all that are eligible."""
        metrics = self.metrics
        return {name: metrics[name] for name in metrics if not name.endswith("_macro")}

    @property
    def macro(self) -> dict[str, Metric]:
        """The means over dialogues, by the names of `micro`.

        The column of the numerator is the value of each dialogue; the column of the denominator
        is 1 where the dialogue has a value. M2 has values of dialogues only: as `micro`.
        """
        means = {}
        for name, metric in self.metrics.items():
            if name.endswith("_macro"):
                means[name.removesuffix("_macro")] = metric
        return means or self.micro


MEASURES = (
    Measure(
        key="M1",
        title="Context continuity",
        stored="m1_context_continuity",
        eligible="eligible_m1",
        nothing="no memory key required, or none resolves",
        failing="m1_hits < m1_keys or m1_contradiction > 0",
        totals={
            "required_key_total": "m1_keys",
            "required_key_hit_total": "m1_hits",
            "short_term_hit_total": "m1_short_term_hits",
            "long_term_hit_total": "m1_long_term_hits",
            "profile_hit_total": "m1_profile_hits",
        },
    ),
    Measure(
        key="M2",
        title="Profile accuracy",
        stored="m2_profile_accuracy",
        eligible="m2_dialog",
        nothing="no true profile, or not valid",
    ),
    Measure(
        key="M3",
        title="Risk disclosure",
        stored="m3_risk_coverage",
        eligible="eligible_m3",
        nothing="no risk tag required",
        failing="m3_hits < m3_tags",
        totals={"risk_required_total": "m3_tags", "risk_hit_total": "m3_hits"},
    ),
    Measure(
        key="M4",
        title="Compliance",
        stored="m4_compliance",
        eligible="eligible_m4",
        nothing="not answered",
        failing="m4_correct < 1 or m4_severe > 0",
        totals={"severe_count": "m4_severe"},
    ),
    Measure(
        key="M5",
        title="Explainability",
        stored="m5_explainability",
        eligible="eligible_m5",
        nothing="no rubric element required",
        failing="m5_hits < m5_elements",
        totals={
            "rubric_required_total": "m5_elements",
            "rubric_hit_total": "m5_hits",
            "judge_scored_turns": "eligible_m5",
        },
    ),
)


def add_dialog_ratios(units: pd.DataFrame) -> pd.DataFrame:
    """The units with the columns that the macro metrics sum.

    The value of a dialogue stands in its first row, null in the others. M2 has its values already.
    """
    by_dialog = units.groupby("dialog_id", sort=False)
    columns: dict[str, pd.Series] = {}
    for measure in MEASURES:
        if measure.key == "M2":
            continue
        takes_part = by_dialog[measure.eligible].sum() > 0
        micro = measure.micro
        for name, mean in measure.macro.items():
            numerator = by_dialog[micro[name].numerator].sum().astype(float)
            denominator = by_dialog[micro[name].denominator].sum().astype(float)
            columns[mean.denominator] = takes_part.astype(float)
            columns[mean.numerator] = numerator / denominator.where(denominator > 0)
    first_rows = units.index[~units["dialog_id"].duplicated()]
    values = pd.DataFrame(columns).set_axis(first_rows).reindex(units.index)
    extended = pd.concat([units, values], axis=1)
    extended.attrs = units.attrs
    return extended


def eligibility(result: Run) -> pd.DataFrame:
    """How many take part in each measure: measure, title, unit, total, eligible, skipped, failed, why.

    total = eligible + skipped + failed. Turns of valid dialogues: a turn that timed out or broke is
    failed, one that is not eligible skipped. Of M2 dialogues: one that is not valid is failed or
    skipped, as its dialog_status says, one without a true profile is skipped. `why` says how turns
    failed, and what the skipped lack.
    """
    units = result.data
    turns = units[units["turn_pair_id"].notna()]
    counters = units.attrs["counters"]
    rows = []
    for measure in MEASURES:
        unit = "turn"
        total = len(turns)
        statuses = turns["turn_status"][turns["turn_status"] != "ok"]
        failed = len(statuses)
        reasons = sorted(set(statuses))
        if measure.key == "M2":
            unit = "dialogue"
            reasons = []
            failed = counters["failed_dialogs"]
            total = units["dialog_id"].nunique() + counters["skipped_dialogs"] + failed
        eligible = int(units[measure.eligible].sum())
        skipped = total - eligible - failed
        if measure.key == "M1" and result.options.ignore_memory_keys:
            reasons.append("memory keys ignored")
        elif skipped:
            reasons.append(measure.nothing)
        rows.append(
            {
                "measure": measure.key,
                "title": say(measure.title),
                "unit": say(unit),
                "total": total,
                "eligible": eligible,
                "skipped": skipped,
                "failed": failed,
                "why": listed(map(say, reasons), "; "),
            }
        )
    return pd.DataFrame(rows)
