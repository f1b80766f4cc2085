"""What a report shows beside the numbers: tables, figures and the browser of turns.

Every count can be traced to turns: the cards show them with what was asked, remembered, required and
answered. Turns without a reply (timeout, error) are in `failed_turns`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...core.language import say
from ...report import figures
from ...report.view import SampleView, TableView
from .eligibility import eligibility, left_out_dialogs, turns_of
from .keys import SOURCES
from .measures import MEASURES
from .rules import LABELS

if TYPE_CHECKING:
    from ...report.run import Run


def memory_hits(result: Run) -> pd.DataFrame:
    """Where required keys were found, over the eligible turns: source, keys.

    A key found in two sources counts in both; "nowhere" are the missed ones.
    """
    sums = result.units[["m1_keys", "m1_hits", *(f"m1_{source}_hits" for source in SOURCES)]].sum()
    keys = [*(sums[f"m1_{source}_hits"] for source in SOURCES), sums["m1_keys"] - sums["m1_hits"]]
    return pd.DataFrame({"source": [say(s) for s in (*SOURCES, "nowhere")], "keys": map(int, keys)})


def _spread(
    units: pd.DataFrame, named: Sequence[str], column: str, fields: Sequence[str]
) -> pd.DataFrame:
    """The objects in a column of lists, a row each: the named columns, and their fields."""
    rows = [
        {**dict(zip(named, names)), **entry}
        for *names, entries in zip(*(units[c] for c in (*named, column)))
        for entry in entries
    ]
    return pd.DataFrame(rows, columns=[*named, *fields])


def memory_keys(result: Run) -> pd.DataFrame:
    """Required keys by kind (resolver), over the turns that were answered: kind, required, resolved, hit, missed."""
    turns = result.units[result.units["eligible_m4"]]
    kinds = _spread(turns, (), "resolved_keys", ["resolver"])["resolver"].rename("kind")
    hits = pd.Series([hit for hits in turns["key_hit_flags"] for hit in hits], dtype=float)
    flags = {
        "required": kinds.notna(),
        "resolved": hits.notna(),
        "hit": hits == 1,
        "missed": hits == 0,
    }
    return pd.DataFrame(flags).astype(int).groupby(kinds, sort=False).sum().reset_index()


def unresolved_keys(result: Run) -> pd.DataFrame:
    """The keys that take no part, a row each: dialog_id, turn_pair_id, key, resolver (no_target or not_a_key)."""
    fields = ["key", "resolver", "target_text"]
    keys = _spread(turns_of(result), ["dialog_id", "turn_pair_id"], "resolved_keys", fields)
    return keys[keys["target_text"].isna()].drop(columns="target_text").reset_index(drop=True)


def risk_tags(result: Run) -> pd.DataFrame:
    """Required risk tags over the eligible turns, most missed first: tag, required, covered, missed, coverage."""
    return _covered(result, "eligible_m3", "risk_required_tags", "missed_tags", "tag")


def rubric_elements(result: Run) -> pd.DataFrame:
    """Required rubric elements over the eligible turns, most missed first: as `risk_tags`, with element."""
    return _covered(result, "eligible_m5", "rubric_required", "missed_elements", "element")


def _covered(result: Run, eligible: str, required: str, missed: str, label: str) -> pd.DataFrame:
    turns = result.units[result.units[eligible]]
    pairs = [
        (name, name in gone)
        for names, gone in zip(turns[required], turns[missed])
        for name in names
    ]
    found = pd.DataFrame(pairs, columns=[label, "gone"]).astype({"gone": int})
    table = found.groupby(label)["gone"].agg(required="size", missed="sum").reset_index()
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
    """The profile of each dialogue, a row a field: dialog_id, field (its metric), truth, predicted, origin, score.

    origin: snapshot, replies, both or none; a set is shown as its entries joined by "、"; null is unknown.
    """
    dialogs = result.units[result.units["m2_dialog"] == 1]
    fields = ["metric", "truth", "predicted", "origin", "score"]
    frame = _spread(dialogs, ["dialog_id", "scenario_type", "difficulty"], "profile", fields)
    sides = frame[["truth", "predicted"]].map(lambda v: "、".join(v) if isinstance(v, list) else v)
    return frame.assign(**sides).rename(columns={"metric": "field"})


def failed_turns(result: Run) -> pd.DataFrame:
    """The turns that timed out or failed: dialog_id, turn_pair_id, turn_status, error, user_text."""
    turns = turns_of(result)
    columns = ["dialog_id", "turn_pair_id", "turn_status", "error", "user_text"]
    return turns.loc[turns["turn_status"] != "ok", columns].reset_index(drop=True)


CARD = ("dialog_id", "turn_pair_id", "scenario_type", "difficulty", "user_text", "context", "reply")


def cards(result: Run, units: pd.DataFrame) -> pd.DataFrame:
    """Turns with what they fall short of, most reasons first (then in the order of the trace).

    Columns: turn (the id of both), measures ("M1 M3"), n (number of reasons), reason, truth (what was asked
    for), and CARD as in the units.
    """
    rows, turns = [], units[units["turn_pair_id"].notna()]
    for turn in turns.to_dict("records"):
        reasons = list(_reasons(turn))
        rows.append(
            {
                "turn": f"{turn['dialog_id']} / {turn['turn_pair_id']}",
                "measures": " ".join(dict.fromkeys(measure for measure, _ in reasons)),
                "n": len(reasons),
                "reason": "\n".join(f"{measure}: {text}" for measure, text in reasons),
                "truth": _truth(turn),
                **{name: turn[name] for name in CARD},
            }
        )
    frame = pd.DataFrame(
        rows, columns=["turn", "measures", "n", "reason", "truth", *CARD], index=turns.index
    )
    return frame.sort_values("n", ascending=False, kind="stable")


def _reasons(turn: Mapping[Any, Any]) -> Iterator[tuple[str, str]]:
    """(measure, reason) for everything that a turn falls short of; none for one without a reply."""
    if turn["eligible_m1"]:
        for key, hit in zip(turn["resolved_keys"], turn["key_hit_flags"]):
            if hit == 0:
                yield (
                    "M1",
                    say(
                        "{key} ({target}) is in no memory",
                        key=key["key"],
                        target=key["target_text"],
                    ),
                )
        for constraint in turn["contradicted_constraints"]:
            yield "M1", say("the reply goes against {constraint}", constraint=constraint)
    if turn["eligible_m3"]:
        for tag in turn["missed_tags"]:
            yield "M3", say("{tag} is not disclosed", tag=tag)
    predicted, truth = turn["pred_compliance_label"], turn["gt_compliance_label"]
    if turn["eligible_m4"] and (predicted != truth or predicted == LABELS[2]):
        causes = [say("forbidden {what}", what=entry) for entry in turn["forbidden_hits"]]
        causes += [f"{v['type']} ({v['severity']})" for v in turn["violations"]]
        said = say("{predicted}, truth {truth}", predicted=predicted, truth=truth)
        yield "M4", said + (f": {', '.join(causes)}" if causes else "")
    if turn["eligible_m5"]:
        for element in turn["missed_elements"]:
            yield "M5", say("{element} is missing", element=element)


def _truth(turn: Mapping[Any, Any]) -> str:
    parts = {
        "memory": [key["target_text"] or key["key"] for key in turn["resolved_keys"]],
        "risk": turn["risk_required_tags"],
        "label": [turn["gt_compliance_label"]],
        "rubric": turn["rubric_required"],
    }
    return "\n".join(
        f"{say(name)}: {'、'.join(values)}" for name, values in parts.items() if values
    )


def groups(result: Run) -> dict[str, tuple[str, str]]:
    """The turns that fall short of any measure, and of each."""
    found = {
        m.key.lower(): (m.failing, f"{m.key} {m.title.lower()}: turns that fall short")
        for m in MEASURES
        if m.failing
    }
    return {
        "failing": (" or ".join(query for query, _ in found.values()), "Turns that fall short"),
        **found,
    }


def scenarios(run: Any) -> pd.DataFrame:
    """Headline metrics, two if these can be measured, by scenario and difficulty (`by`): as `stats.breakdown`."""
    names = [n for n in ("m3_risk_coverage", "m4_compliance_label_acc") if n not in run.blocked]
    return pd.concat(
        [run.by(b.column, *names).assign(by=say(b.title)) for b in run.suite.breakdowns]
    )


WORDS = tomllib.loads(Path(__file__).with_name("views.toml").read_text(encoding="utf-8"))


def _figure(
    name: str, draw: Callable[..., figures.Chart], make: Callable[[Any], pd.DataFrame]
) -> Any:
    """The figure of that name, a function of a run; its keywords (views.toml) can be given otherwise."""
    return lambda run, **how: draw(make(run), **{**WORDS["figure"][name], **how})


FIGURES = {
    "eligibility": _figure(
        "eligibility", partial(figures.stacked, kinds=figures.TAKING_PART), eligibility
    ),
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

VIEW = SampleView(groups, cards, {"gold": None, **WORDS["browser"]}, compared=("reply", "reason"))


def sample_views(result: Run) -> tuple[SampleView, ...]:
    """Turns are not marked."""
    return (VIEW,)
