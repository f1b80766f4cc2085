"""What table.toml holds - the five measures, their metrics, the columns - and who takes part in each measure.

Source: memfin_metrics 3 (ratios) and 4 (eligibility).
"""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import pandas as pd

from ...core.language import say
from ...core.metric import Metric, read_table
from ...core.results import Result

TABLE = Path(__file__).with_name("metrics.toml")
METRICS = read_table(TABLE)
CONTENT = tomllib.loads(TABLE.read_text(encoding="utf-8"))

TURN_EVAL: dict[str, str] = CONTENT["columns"]["turn_eval"]
"""The columns that make a row of turn_eval.jsonl, in its order, and their kinds."""

COLUMNS = {
    **TURN_EVAL,
    **CONTENT["columns"]["evidence"],
    **dict.fromkeys(CONTENT["columns"]["sums"], "float64"),
}
"""All columns of the turn table and their kinds: a dtype, text, or json."""

JSON = [name for name, kind in COLUMNS.items() if kind == "json"]


@dataclass(frozen=True, kw_only=True)
class Measure:
    """One of M1 to M5 (`key`); the head of table.toml says what the fields are."""

    key: str
    title: str
    stored: str
    unit: str
    eligible: str
    nothing: str
    failing: str = ""
    totals: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def _ratios(self) -> dict[str, Metric]:
        found = (
            m for m in METRICS if isinstance(m, Metric) and m.group == f"{self.key} {self.title}"
        )
        return {m.name.removeprefix(f"{self.key.lower()}_"): m for m in found}

    @property
    def micro(self) -> dict[str, Metric]:
        """The ratios over all that are eligible, by their names within the measure."""
        return {name: m for name, m in self._ratios.items() if not name.endswith("_macro")}

    @property
    def macro(self) -> dict[str, Metric]:
        """The means over dialogues, by the same names.

        The numerator's column is the value of each dialogue, the denominator's is 1 where it has one.
        """
        found = {
            n.removesuffix("_macro"): m for n, m in self._ratios.items() if n.endswith("_macro")
        }
        return found or self.micro


STATES = ("eligible", "skipped", "failed")

MEASURES = tuple(Measure(key=key, **row) for key, row in CONTENT["measure"].items())


def add_dialog_ratios(units: pd.DataFrame) -> pd.DataFrame:
    """The turn table with the columns of the macro ratios: values in the first row of each dialogue, null elsewhere.

    Measures of the dialogue level have theirs already.
    """
    measures = [m for m in MEASURES if m.unit == "turn"]
    wanted = {c for m in measures for r in m.micro.values() for c in (r.numerator, r.denominator)}
    sums = units.groupby("dialog_id", sort=False)[sorted(wanted)].sum().astype(float)
    added: dict[str, pd.Series] = {}
    for measure in measures:
        for name, macro in measure.macro.items():
            micro = measure.micro[name]
            added[macro.denominator] = (sums[measure.eligible] > 0).astype(float)
            added[macro.numerator] = sums[micro.numerator] / sums[micro.denominator].where(
                lambda n: n > 0
            )
    first = units.index[~units["dialog_id"].duplicated()]
    out = pd.concat([units, pd.DataFrame(added).set_axis(first).reindex(units.index)], axis=1)
    out.attrs = units.attrs
    return out


def turns_of(result: Result) -> pd.DataFrame:
    """The units that are turns; a dialogue without any has a row of its own there."""
    return result.units[result.units["turn_pair_id"].notna()]


def left_out_dialogs(result: Result) -> pd.DataFrame:
    """The dialogues that yield no turns: dialog_id, state (skipped, failed, rejected), reason."""
    return pd.DataFrame(
        json.loads(result.data.attrs["left_out"]), columns=["dialog_id", "state", "reason"]
    )


def eligibility(result: Result) -> pd.DataFrame:
    """The funnel of each measure, a row each: measure, title, unit, total, eligible, skipped, failed, why.

    total = eligible + skipped + failed. Turns of valid dialogues; for M2 dialogues. `why` counts the
    reasons of the skipped and the failed.
    """
    rows = []
    for measure in MEASURES:
        states = Counter((_dialogs if measure.unit == "dialogue" else _turns)(result, measure))
        counts = [sum(n for (s, _), n in states.items() if s == state) for state in STATES]
        why = "; ".join(
            say("{n} {state}: {reason}", n=n, state=say(state), reason=say(reason))
            for (state, reason), n in states.items()
            if reason
        )
        rows.append(
            (measure.key, say(measure.title), say(measure.unit), states.total(), *counts, why)
        )
    return pd.DataFrame(rows, columns=["measure", "title", "unit", "total", *STATES, "why"])


def _dialogs(result: Result, measure: Measure) -> list[tuple[str, str]]:
    """State and reason ("" where it takes part) of every dialogue."""
    takes_part = result.units[measure.eligible].dropna()
    states = [("eligible", "") if n else ("skipped", measure.nothing) for n in takes_part]
    return states + [
        (s, "dialogue not valid") for s in left_out_dialogs(result)["state"] if s != "rejected"
    ]


def _turns(result: Result, measure: Measure) -> list[tuple[str, str]]:
    """State and reason of every turn."""
    turns = turns_of(result)
    failed = turns["turn_status"] != "ok"
    skipped = turns[~failed & ~turns[measure.eligible]]
    reasons = [measure.nothing] * len(skipped)
    if measure.key == "M1":
        nothing = "memory keys ignored" if result.options.ignore_memory_keys else measure.nothing
        reasons = [
            "no required key resolves" if keys else nothing for keys in skipped["required_keys_raw"]
        ]
    return [
        *[("eligible", "")] * int(turns[measure.eligible].sum()),
        *(("failed", status) for status in turns.loc[failed, "turn_status"]),
        *(("skipped", reason) for reason in sorted(reasons)),
    ]
