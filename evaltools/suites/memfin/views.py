"""What a report shows beside the numbers: tables, figures and the browser of turns.

Every count can be traced to turns: the cards show them with what was asked, remembered, required
and answered.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...core.language import say
from ...report import figures
from ...report.view import SampleView, TableView
from .cards import cards, groups
from .eligibility import eligibility, left_out_dialogs, turns_of
from .keys import SOURCES
from .rules import LABELS

if TYPE_CHECKING:
    from ...report.run import Run

DIALOG_COLUMNS = ("dialog_id", "scenario_type", "difficulty")
TURN_COLUMNS = ("dialog_id", "turn_pair_id")


def memory_hits(result: Run) -> pd.DataFrame:
    """Where required keys were found, over the eligible turns: source, keys.

    A key found in two sources counts in both; "nowhere" are the missed ones.
    """
    units = result.units
    rows = []
    for source in SOURCES:
        rows.append({"source": say(source), "keys": int(units[f"m1_{source}_hits"].sum())})
    missed = units["m1_keys"].sum() - units["m1_hits"].sum()
    rows.append({"source": say("nowhere"), "keys": int(missed)})
    return pd.DataFrame(rows)


def _entries(
    units: pd.DataFrame, column: str, fields: Sequence[str], beside: Sequence[str] = ()
) -> pd.DataFrame:
    """The objects in a column of lists, one a row: their fields, and the columns `beside` them."""
    rows = []
    for unit in units.to_dict("records"):
        for entry in unit[column]:
            row = {name: unit[name] for name in beside}
            for field in fields:
                row[field] = entry[field]
            rows.append(row)
    return pd.DataFrame(rows, columns=[*beside, *fields])


def memory_keys(result: Run) -> pd.DataFrame:
    """Required keys by kind (resolver), over the turns that were answered.

    Columns: kind, required, resolved, hit, missed.
    """
    turns = result.units[result.units["eligible_m4"]]
    keys = _entries(turns, "resolved_keys", ["resolver"])
    flags = pd.Series([flag for flags in turns["key_hit_flags"] for flag in flags], dtype=float)
    counts = pd.DataFrame(
        {
            "kind": keys["resolver"],
            "required": 1,
            "resolved": flags.notna().astype(int),
            "hit": (flags == 1).astype(int),
            "missed": (flags == 0).astype(int),
        }
    )
    return counts.groupby("kind", sort=False).sum().reset_index()


def unresolved_keys(result: Run) -> pd.DataFrame:
    """The keys that take no part, one a row: dialog_id, turn_pair_id, key, resolver."""
    fields = ["key", "resolver", "target_text"]
    keys = _entries(turns_of(result), "resolved_keys", fields, TURN_COLUMNS)
    unresolved = keys[keys["target_text"].isna()]
    return unresolved.drop(columns="target_text").reset_index(drop=True)


def risk_tags(result: Run) -> pd.DataFrame:
    """Required risk tags over the eligible turns, most missed first.

    Columns: tag, required, covered, missed, coverage.
    """
    return _coverage(result, "eligible_m3", "risk_required_tags", "missed_tags", "tag")


def rubric_elements(result: Run) -> pd.DataFrame:
    """Required rubric elements over the eligible turns; columns as `risk_tags`, with element."""
    return _coverage(result, "eligible_m5", "rubric_required", "missed_elements", "element")


def _coverage(result: Run, eligible: str, required: str, missed: str, label: str) -> pd.DataFrame:
    """How often each entry of the lists `required` is missed."""
    turns = result.units[result.units[eligible]]
    rows = []
    for turn in turns.to_dict("records"):
        for name in turn[required]:
            rows.append({label: name, "required": 1, "missed": int(name in turn[missed])})
    table = pd.DataFrame(rows, columns=[label, "required", "missed"])
    table = table.groupby(label).sum().astype(int).reset_index()
    table.insert(2, "covered", table["required"] - table["missed"])
    table["coverage"] = table["covered"] / table["required"]
    return table.sort_values(["missed", label], ascending=[False, True], ignore_index=True)


def compliance_confusion(result: Run) -> pd.DataFrame:
    """Turns by true label (index) and predicted label (columns), over the eligible turns."""
    turns = result.units[result.units["eligible_m4"]]
    table = pd.crosstab(turns["gt_compliance_label"], turns["pred_compliance_label"])
    table = table.reindex(index=list(LABELS), columns=list(LABELS), fill_value=0)
    return table.rename_axis(index="truth", columns="predicted")


def profile_fields(result: Run) -> pd.DataFrame:
    """The profile of each dialogue, a row a field.

    Columns: DIALOG_COLUMNS, field (its metric), truth, predicted, origin (snapshot, replies, both
    or none), score. A set is shown as its entries joined by "、"; null is unknown.
    """
    dialogs = result.units[result.units["m2_dialog"] == 1]
    fields = ["metric", "truth", "predicted", "origin", "score"]
    frame = _entries(dialogs, "profile", fields, DIALOG_COLUMNS)
    for side in ("truth", "predicted"):
        frame[side] = frame[side].map(lambda v: "、".join(v) if isinstance(v, list) else v)
    return frame.rename(columns={"metric": "field"})


def failed_turns(result: Run) -> pd.DataFrame:
    """The turns that timed out or failed: TURN_COLUMNS, turn_status, error, user_text."""
    turns = turns_of(result)
    failed = turns[turns["turn_status"] != "ok"]
    columns = [*TURN_COLUMNS, "turn_status", "error", "user_text"]
    return failed[columns].reset_index(drop=True)


def scenarios(run: Any) -> pd.DataFrame:
    """Two metrics of the headline, if these can be measured, by scenario and by difficulty.

    Columns as `run.by`, and `by`.
    """
    names = []
    for name in ("m3_risk_coverage", "m4_compliance_label_acc"):
        if name not in run.blocked:
            names.append(name)
    parts = []
    for breakdown in run.suite.breakdowns:
        part = run.by(breakdown.column, *names)
        parts.append(part.assign(by=say(breakdown.title)))
    return pd.concat(parts)


WORDS = tomllib.loads(Path(__file__).with_name("views.toml").read_text(encoding="utf-8"))


def _figure(
    name: str, draw: Callable[..., figures.Chart], make: Callable[[Any], pd.DataFrame]
) -> Callable[..., figures.Chart]:
    """A figure as a function of a run; its keywords (views.toml) can be given otherwise."""
    keywords = WORDS["figure"][name]

    def figure(run: Any, **changed: Any) -> figures.Chart:
        return draw(make(run), **{**keywords, **changed})

    return figure


_taking_part = partial(figures.stacked, kinds=figures.TAKING_PART)

FIGURES = {
    "eligibility": _figure("eligibility", _taking_part, eligibility),
    "memory": _figure("memory", figures.stacked, memory_hits),
    "risk_tags": _figure("risk_tags", figures.stacked, risk_tags),
    "compliance": _figure("compliance", figures.confusion, compliance_confusion),
    "rubric": _figure("rubric", figures.stacked, rubric_elements),
    "scenarios": _figure("scenarios", figures.dots, scenarios),
}

TABLES = {
    "eligibility": TableView(eligibility, "Why turns are left out"),
    "left-out dialogues": TableView(left_out_dialogs, "Dialogues without turns"),
    "memory keys": TableView(memory_keys, "Required keys by kind"),
    "unresolved keys": TableView(
        unresolved_keys, "Keys that resolve to nothing, left out of the denominator"
    ),
    "profile": TableView(profile_fields, "Profile fields", formats={"score": ".2f"}),
    "risk tags": TableView(risk_tags, "Risk tags", formats={"coverage": ".2f"}),
    "rubric elements": TableView(rubric_elements, "Rubric elements", formats={"coverage": ".2f"}),
    "failed turns": TableView(failed_turns, "Turns without a reply"),
}

VIEW = SampleView(
    groups,
    cards,
    browser={"gold": None, **WORDS["browser"]},
    compared=("reply", "reason"),
)


def sample_views(result: Run) -> tuple[SampleView, ...]:
    """The one way in which turns are browsed; nothing is marked in them."""
    return (VIEW,)
