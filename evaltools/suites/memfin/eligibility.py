"""Who takes part in each measure, and why the others do not.

Source: memfin_metrics 4.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import pandas as pd

from ...core.language import listed, say
from .measures import MEASURES, Measure

if TYPE_CHECKING:
    from ...report.run import Run

STATES = ("eligible", "skipped", "failed")

StateAndReason = tuple[str, str]
"""One of STATES, and why: "" for one that takes part."""


def turns_of(result: Run) -> pd.DataFrame:
    """The units that are turns. A dialogue without any turn has a row of its own in the units."""
    return result.units[result.units["turn_pair_id"].notna()]


def left_out_dialogs(result: Run) -> pd.DataFrame:
    """The dialogues that yield no turns: dialog_id, state (skipped, failed, rejected), reason."""
    dialogs = json.loads(result.data.attrs["left_out"])
    return pd.DataFrame(dialogs, columns=["dialog_id", "state", "reason"])


def eligibility(result: Run) -> pd.DataFrame:
    """How many take part in each measure: measure, title, unit, total, STATES, why.

    total = eligible + skipped + failed. Turns of valid dialogues; for M2 dialogues. `why` counts
    the reasons of the skipped and the failed.
    """
    rows = []
    for measure in MEASURES:
        if measure.unit == "dialogue":
            states = Counter(_dialog_states(result, measure))
        else:
            states = Counter(_turn_states(result, measure))
        counts = dict.fromkeys(STATES, 0)
        reasons = []
        for (state, reason), n in states.items():
            counts[state] += n
            if reason:
                reasons.append(
                    say("{n} {state}: {reason}", n=n, state=say(state), reason=say(reason))
                )
        rows.append(
            {
                "measure": measure.key,
                "title": say(measure.title),
                "unit": say(measure.unit),
                "total": states.total(),
                **counts,
                "why": listed(reasons, "; "),
            }
        )
    return pd.DataFrame(rows)


def _dialog_states(result: Run, measure: Measure) -> list[StateAndReason]:
    """State and reason of every dialogue but those that an error keeps out."""
    states = []
    for takes_part in result.units[measure.eligible].dropna():
        states.append(("eligible", "") if takes_part else ("skipped", measure.nothing))
    for state in left_out_dialogs(result)["state"]:
        if state != "rejected":
            states.append((state, "dialogue not valid"))
    return states


def _turn_states(result: Run, measure: Measure) -> list[StateAndReason]:
    """State and reason of every turn."""
    turns = turns_of(result)
    is_eligible = turns[measure.eligible]
    is_failed = turns["turn_status"] != "ok"
    skipped = turns[~is_failed & ~is_eligible]
    reasons = []
    for required_keys in skipped["required_keys_raw"]:
        reason = measure.nothing
        if measure.key == "M1" and required_keys:
            reason = "no required key resolves"
        elif measure.key == "M1" and result.options.ignore_memory_keys:
            reason = "memory keys ignored"
        reasons.append(reason)

    states = [("eligible", "")] * int(is_eligible.sum())
    states += [("failed", status) for status in turns.loc[is_failed, "turn_status"]]
    states += [("skipped", reason) for reason in sorted(reasons)]
    return states
