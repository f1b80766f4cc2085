"""The five measures, M1 to M5, and their metrics.

Source: memfin_metrics 3 (the ratios) and 4 (who is eligible).
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from ...core.files import Fields, toml_beside
from ...core.language import say
from ...core.metric import make_metric
from ...report.run import Run

TABLES = toml_beside(__file__, "metrics.toml")

# ratios only
METRICS: dict[str, Any] = {row["name"]: make_metric(row) for row in TABLES["metric"]}

MEASURES: list[Fields] = TABLES["measure"]

# at the end of the name of a mean over dialogues, behind that of the ratio
MACRO = "_macro"


def add_dialog_ratios(units: pd.DataFrame) -> pd.DataFrame:
    """The units with the columns that the macro metrics sum.

    The numerator of a mean is the column with the value of each dialogue, its denominator is 1 where there is one. Both
    stand in the first row of the dialogue, null in the others. M2 has its values already.
    """
    by_dialog = units.groupby("dialog_id", sort=False)
    columns: dict[str, pd.Series] = {}
    for name, mean in METRICS.items():
        if name.endswith(MACRO):
            ratio = METRICS[name.removesuffix(MACRO)]
            numerator = by_dialog[ratio.numerator].sum().astype(float)
            denominator = by_dialog[ratio.denominator].sum().astype(float)
            columns[mean.denominator] = (denominator > 0).astype(float)
            columns[mean.numerator] = numerator / denominator.where(denominator > 0)
    first_rows = units.index[~units["dialog_id"].duplicated()]
    return units.join(pd.DataFrame(columns).set_axis(first_rows))


def counters(units: pd.DataFrame) -> dict[str, int]:
    """How many dialogues a trace holds, in which state, and how many turns the valid ones have."""
    counts = {"valid_dialogs": units["dialog_id"].nunique()}
    for name in ("skipped_dialogs", "failed_dialogs"):
        counts[name] = int(units[name].max())
    total = sum(counts.values())
    n_turns = int(units["turn_pair_id"].count())
    return {"total_dialogs": total, **counts, "total_turn_pairs": n_turns}


def eligibility(result: Run) -> pd.DataFrame:
    """How many take part in each measure: measure, unit, total, eligible, skipped, failed.

    total = eligible + skipped + failed. Turns of valid dialogues: a turn that timed out or broke is failed, one that is
    not eligible skipped. Of M2 dialogues: one that is not valid is failed or skipped, as its dialog_status says, one
    without a true profile is skipped.
    """
    units = result.data
    n = counters(units)
    n_failed = int(units["turn_failed"].sum())
    rows = []
    for measure in MEASURES:
        unit, total, failed = "turn", n["total_turn_pairs"], n_failed
        if measure["key"] == "M2":
            unit, total, failed = "dialogue", n["total_dialogs"], n["failed_dialogs"]
        eligible = int(units[measure["eligible"]].sum())
        rows.append(
            {
                "measure": measure["key"],
                "unit": say(unit),
                "total": total,
                "eligible": eligible,
                "skipped": total - eligible - failed,
                "failed": failed,
            }
        )
    return pd.DataFrame(rows)
