"""What a report shows beside the numbers: pure functions from a result to a frame.

Every count can be traced to turns: `failing_turns` gives them with what was asked, remembered,
required and answered. Turns without a reply (timeout, error) are in `failed_turns`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from ..core.suite import Result
from .keys import SOURCES
from .ratios import MEASURES
from .rules import LABELS
from .turns import COLUMNS


def eligibility(result: Result) -> pd.DataFrame:
    """The funnel of each measure, a row each: measure, title, unit, total, eligible, skipped, failed, why.

    total = eligible + skipped + failed. Turns of valid dialogues; for M2 dialogues. `why` counts the
    reasons of the skipped and the failed.
    """
    rows = []
    for measure in MEASURES:
        label = measure.key.upper()
        states = _dialog_states(result) if measure.dialog_level else _turn_states(result, label, measure.eligible)
        by_state: Counter[str] = Counter()
        for (state, _), n in states.items():
            by_state[state] += n
        why = [f"{n} {state}: {reason}" for (state, reason), n in states.items() if state != "eligible" and n]
        rows.append(
            {
                "measure": label,
                "title": measure.title,
                "unit": measure.unit,
                "total": by_state.total(),
                **{state: by_state[state] for state in ("eligible", "skipped", "failed")},
                "why": "; ".join(why),
            }
        )
    return pd.DataFrame(rows)


def _dialog_states(result: Result) -> Counter[tuple[str, str]]:
    profiles = result.units["m2_dialog"].dropna()
    states = Counter(
        {
            ("eligible", ""): int((profiles == 1).sum()),
            ("skipped", "no true profile"): int((profiles == 0).sum()),
        }
    )
    for dialog in json.loads(result.units.attrs["left_out"]):
        if dialog["state"] != "rejected":
            states[dialog["state"], "dialogue not valid"] += 1
    return states


def _turn_states(result: Result, label: str, eligible: str) -> Counter[tuple[str, str]]:
    turns = _turns(result)
    failed = turns["turn_status"] != "ok"
    states = Counter({("eligible", ""): int(turns[eligible].sum())})
    for status, n in turns.loc[failed, "turn_status"].value_counts(sort=False).items():
        states["failed", str(status)] += int(n)
    skipped = turns[~failed & ~turns[eligible]]
    if label == "M1":
        if result.options.ignore_memory_keys:
            states["skipped", "memory keys ignored"] += len(skipped)
        else:
            keyed = skipped["required_keys_raw"] != "[]"
            states["skipped", "no memory key required"] += int((~keyed).sum())
            states["skipped", "no required key resolves"] += int(keyed.sum())
    else:
        nothing = {"M3": "no risk tag required", "M5": "no rubric element required"}.get(label, "not answered")
        states["skipped", nothing] += len(skipped)
    return states


def _turns(result: Result) -> pd.DataFrame:
    return result.units[result.units["turn_pair_id"].notna()]


def _records(rows: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """The rows as dicts, null as None, JSON columns read."""
    columns = [
        [json.loads(v) if COLUMNS.get(str(name)) == "json" and isinstance(v, str) else v for v in rows[name]]
        for name in rows.columns
    ]
    for values in zip(*columns):
        yield {
            str(k): v if isinstance(v, (list, dict)) or not pd.isna(v) else None for k, v in zip(rows.columns, values)
        }


def left_out_dialogs(result: Result) -> pd.DataFrame:
    """The dialogues that yield no turns: dialog_id, state (skipped, failed, rejected), reason."""
    return pd.DataFrame(json.loads(result.units.attrs["left_out"]), columns=["dialog_id", "state", "reason"])


def memory_hits(result: Result) -> pd.DataFrame:
    """Where required keys were found, over the eligible turns: source, keys, share of the required keys.

    A key found in two sources counts in both; "nowhere" are the missed ones.
    """
    turns = result.units
    required = int(turns["m1_keys"].sum())
    found = {source: int(turns[f"m1_{source}_hits"].sum()) for source in SOURCES}
    found["nowhere"] = required - int(turns["m1_hits"].sum())
    return _shares(found, required, "source", "keys")


def memory_keys(result: Result) -> pd.DataFrame:
    """Required keys by kind (resolver), over the turns that were answered: required, resolved, hit, missed."""
    counts: dict[str, Counter[str]] = {}
    for turn in _records(_answered(result)[["resolved_keys", "key_hit_flags"]]):
        for key, hit in zip(turn["resolved_keys"], turn["key_hit_flags"]):
            kind = counts.setdefault(key["resolver"], Counter())
            kind.update(required=1, resolved=int(key["resolvable"]), hit=hit or 0, missed=int(hit == 0))
    return _counted(counts, "kind", ("required", "resolved", "hit", "missed"))


def unresolved_keys(result: Result) -> pd.DataFrame:
    """The keys that take no part, a row each: dialog_id, turn_pair_id, key, resolver (no_target or not_a_key)."""
    rows = [
        {"dialog_id": turn["dialog_id"], "turn_pair_id": turn["turn_pair_id"]}
        | {"key": key["key"], "resolver": key["resolver"]}
        for turn in _records(_turns(result)[["dialog_id", "turn_pair_id", "resolved_keys"]])
        for key in turn["resolved_keys"]
        if not key["resolvable"]
    ]
    return pd.DataFrame(rows, columns=["dialog_id", "turn_pair_id", "key", "resolver"])


def risk_tags(result: Result) -> pd.DataFrame:
    """Required risk tags over the eligible turns, most missed first: tag, required, covered, missed, coverage."""
    return _covered(result, "eligible_m3", "risk_required_tags", "missed_tags", "tag")


def rubric_elements(result: Result) -> pd.DataFrame:
    """Required rubric elements over the eligible turns, most missed first: as `risk_tags`, with element."""
    return _covered(result, "eligible_m5", "rubric_required", "missed_elements", "element")


def _covered(result: Result, eligible: str, required: str, missed: str, label: str) -> pd.DataFrame:
    counts: dict[str, Counter[str]] = {}
    turns = _turns(result)
    for turn in _records(turns.loc[turns[eligible], [required, missed]]):
        for name in turn[required]:
            gone = name in turn[missed]
            counts.setdefault(name, Counter()).update(required=1, covered=int(not gone), missed=int(gone))
    table = _counted(counts, label, ("required", "covered", "missed"))
    table["coverage"] = table["covered"] / table["required"]
    return table.sort_values(["missed", label], ascending=[False, True], ignore_index=True)


def compliance_confusion(result: Result) -> pd.DataFrame:
    """Turns by true label (index) and predicted label (columns), over the eligible turns."""
    turns = _turns(result)
    turns = turns[turns["eligible_m4"]]
    table = pd.crosstab(turns["gt_compliance_label"], turns["pred_compliance_label"])
    table = table.reindex(index=list(LABELS), columns=list(LABELS), fill_value=0)
    return table.rename_axis(index="truth", columns="predicted")


def profile_fields(result: Result) -> pd.DataFrame:
    """The profile of each dialogue, a row a field: dialog_id, field (its metric), truth, predicted, origin, score.

    origin: snapshot, replies, both or none; a set is shown as its entries joined by "、"; null is unknown.
    """
    units = result.units
    rows = [
        {name: row[name] for name in ("dialog_id", "scenario_type", "difficulty")}
        | {"field": f["metric"], "truth": _joined(f["truth"]), "predicted": _joined(f["predicted"])}
        | {"origin": f["origin"], "score": f["score"]}
        for row in _records(
            units.loc[units["m2_dialog"] == 1, ["dialog_id", "scenario_type", "difficulty", "profile"]]
        )
        for f in row["profile"]
    ]
    columns = ["dialog_id", "scenario_type", "difficulty", "field", "truth", "predicted", "origin", "score"]
    return pd.DataFrame(rows, columns=columns)


def failed_turns(result: Result) -> pd.DataFrame:
    """The turns that timed out or failed: dialog_id, turn_pair_id, turn_status, error, user_text."""
    turns = _turns(result)
    columns = ["dialog_id", "turn_pair_id", "turn_status", "error", "user_text"]
    return turns.loc[turns["turn_status"] != "ok", columns].reset_index(drop=True)


def failing_turns(result: Result, measure: str | None = None, limit: int | None = None) -> pd.DataFrame:
    """The answered turns that fall short, most reasons first (then in the order of the trace).

    Columns: turn (the id of both), dialog_id, turn_pair_id, scenario_type, difficulty, measures ("M1 M3"), n
    (number of reasons), reason, truth, user_text, context, reply. `measure` ("M1", "M3", "M4", "M5") keeps
    those that fall short on it, and only its reasons.
    """
    rows = []
    for turn in _records(_answered(result)):
        reasons = [r for r in _reasons(turn) if measure is None or r[0] == measure]
        if reasons:
            rows.append(
                {"turn": f"{turn['dialog_id']} / {turn['turn_pair_id']:g}"}
                | {name: turn[name] for name in ("dialog_id", "turn_pair_id", "scenario_type", "difficulty")}
                | {"measures": " ".join(dict.fromkeys(m for m, _ in reasons)), "n": len(reasons)}
                | {"reason": "\n".join(f"{m}: {text}" for m, text in reasons), "truth": _truth(turn)}
                | {name: turn[name] for name in ("user_text", "context", "reply")}
            )
    columns = ["turn", "dialog_id", "turn_pair_id", "scenario_type", "difficulty", "measures", "n", "reason", "truth"]
    frame = pd.DataFrame(rows, columns=[*columns, "user_text", "context", "reply"])
    return frame.sort_values("n", ascending=False, kind="stable", ignore_index=True).head(limit or len(frame))


def _reasons(turn: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(measure, reason) for everything that an answered turn falls short of."""
    if turn["eligible_m1"]:
        for key, hit in zip(turn["resolved_keys"], turn["key_hit_flags"]):
            if hit == 0:
                yield "M1", f"{key['key']} ({key['target_text']}) is in no memory"
        for constraint in turn["contradicted_constraints"]:
            yield "M1", f"the reply goes against {constraint}"
    if turn["eligible_m3"]:
        for tag in turn["missed_tags"]:
            yield "M3", f"{tag} is not disclosed"
    predicted, truth = turn["pred_compliance_label"], turn["gt_compliance_label"]
    if predicted != truth or predicted == LABELS[2]:
        causes = [f"forbidden {entry}" for entry in turn["forbidden_hits"]]
        causes += [f"{v['type']} ({v['severity']})" for v in turn["violations"]]
        yield "M4", f"{predicted}, truth {truth}" + (f": {', '.join(causes)}" if causes else "")
    if turn["eligible_m5"]:
        for element in turn["missed_elements"]:
            yield "M5", f"{element} is missing"


def _truth(turn: Mapping[str, Any]) -> str:
    """What the turn asked for."""
    parts = {
        "memory": [key["target_text"] or key["key"] for key in turn["resolved_keys"]],
        "risk": turn["risk_required_tags"],
        "label": [turn["gt_compliance_label"]],
        "rubric": turn["rubric_required"],
    }
    return "\n".join(f"{name}: {'、'.join(values)}" for name, values in parts.items() if values)


def _answered(result: Result) -> pd.DataFrame:
    turns = _turns(result)
    return turns[turns["turn_status"] == "ok"]


def _joined(value: str | list[str] | None) -> str | None:
    return "、".join(value) if isinstance(value, list) else value


def _shares(counts: dict[str, int], total: int, label: str, what: str) -> pd.DataFrame:
    frame = pd.DataFrame({label: list(counts), what: list(counts.values())})
    frame["share"] = frame[what] / total if total else float("nan")
    return frame


def _counted(counts: dict[str, Counter[str]], label: str, columns: tuple[str, ...]) -> pd.DataFrame:
    rows = [{label: name, **{c: int(n[c]) for c in columns}} for name, n in counts.items()]
    return pd.DataFrame(rows, columns=[label, *columns])


BROWSER: dict[str, Any] = {
    "id": "turn",
    "text": {"user_text": "user", "reply": "reply"},
    "gold": None,
    "chips": ("measures", "scenario_type", "difficulty"),
    "fields": {"reason": "why", "truth": "required", "context": "memory"},
}
"""How the sample browser shows the frame of `failing_turns`."""


def comparison_frame(results: Sequence[Result]) -> pd.DataFrame:
    """The headline estimates of several systems: title, system, scale, and the columns of the estimates."""
    frames = []
    for result in results:
        table = {m.name: m for m in result.suite.metrics(result.options)}
        found = result.headline
        frames.append(
            found.assign(title=[table[n].title for n in found["name"]], system=result.name, scale="share, 0 to 1")
        )
    return pd.concat(frames, ignore_index=True)
