"""How samples of Conflict Review are browsed: groups of them, and a card a sample with its tuples marked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd

from ...core.language import listed, say
from ...report.samples import Layout, Line, Place, Row, SampleView
from ...report.text import interval, number
from .matching import make_side, match_pairs
from .sample import Action
from .tuples import KEYS, EvalTuple, Key, MatchPolicy, Pair, pairs

if TYPE_CHECKING:
    from ...report.run import Run
    from ...report.study import Study

GROUPS = {
    "broken": ("outcome_{key} == 'break'", "Broken: right before review, wrong after"),
    "fixed": ("outcome_{key} == 'fix'", "Fixed: wrong before review, right after"),
    "still": ("outcome_{key} == 'still'", "Still wrong: before review and after"),
    "wrong": ("not protocol & f1_s2_{key} < 1", "Wrong: not the tuples of the gold"),
    "degraded": ("degraded_{key}", "Degraded: changed, and F1 fell"),
    "conflict": (
        "conflict_raw | conflict_raw_refpol",
        "Conflict: one aspect carries two polarities",
    ),
    "implicit-invalid": ("implicit_invalid", "Implicit gold without a valid prediction"),
    "out-of-text": ("final_out_of_text", "Final term that is not in the text"),
    "dropped-out-of-text": (
        "drop_out_of_text & not final_out_of_text",
        "Dropped term that was not in the text",
    ),
}
"""Name of a group -> the query on the units that makes it under a key, and its caption."""

KEY_NAMES: Mapping[Key, str] = {
    "refpol": "(ref, polarity)",
    "otepol": "(term, polarity)",
    "attrpol": "(attribute, polarity)",
}
"""What is compared with the gold under a key."""

LEGEND = "✓ matched, − missing, ✗ wrong against the gold by {key}; all else may differ"

OUTCOMES = {
    "break": ("broken", "bad"),
    "still": ("still wrong", "bad"),
    "fix": ("fixed", "good"),
    "keep": ("right", "good"),
}
"""What became of a sample -> the word for it, and its mark."""

LAYOUT = Layout(
    head="Aspect · term",
    columns={"gold": "Gold", "stage1": "Before review", "final": "After review"},
    fields={"review": ""},
)
"""How a card is laid out."""

FAULTS = {
    "missing": "{n} missing",
    "extra": "{n} extra",
    "polarity": "{n} wrong polarity",
}
"""In what a result is wrong -> how that is counted."""

Cell = dict[Pair, list[EvalTuple]]
"""The pairs of a column that stand in one row, and the tuples that they are of."""

CARD = ["text_id", "text", "tags", "rows", "places", "review"]


def sample_view(shown: Run | Study) -> SampleView:
    """How samples are browsed, their tuples marked under the key of the headline."""
    key = leading_key(shown)
    legend = say(LEGEND, key=say(KEY_NAMES[key]))
    return SampleView(
        groups=partial(sample_groups, key=key),
        ids=partial(card_ids, key=key),
        cards=partial(cards, key=key),
        layout=replace(LAYOUT, legend=legend),
        cell="final",
        given=("gold",),
    )


def leading_key(shown: Run | Study) -> Key:
    """The key that a page speaks of: that of its primary metric, which is the protocol's unless it is blocked."""
    for name in (shown.primary, *shown.headline):
        for key in KEYS:
            if name.endswith(key):
                return key
    return "refpol"


def finding(run: Run) -> tuple[str, str] | None:
    """Whether review helped, with what it fixed and broke; None where no review was scored."""
    key = leading_key(run)
    rows = run.estimates.set_index("metric")
    names = [f"{name}_{key}" for name in ("delta_f1", "fix_rate", "break_rate", "tuple_f1_s2")]
    if any(name in run.blocked for name in names) or rows.loc[names[:2], "value"].isna().any():
        return None
    delta, fixed, broken, after = rows.loc[names].to_dict("records")
    text = "Review is not shown to help or harm"
    if delta["ci_low"] > 0:
        text = "Review helps"
    elif delta["ci_high"] < 0:
        text = "Review harms"
    lead = say(
        "{finding}: fixed {fixed} of {of_fixed}, broke {broken} of {of_broken}",
        finding=say(text),
        fixed=f"{fixed['numerator'] or 0:.0f}",
        of_fixed=f"{fixed['denominator'] or 0:.0f}",
        broken=f"{broken['numerator'] or 0:.0f}",
        of_broken=f"{broken['denominator'] or 0:.0f}",
    )
    details = say(
        "{title} {value} {bounds}; change {change} {ends}.",
        title=run.title(names[3]),
        value=number(after["value"]),
        bounds=interval(after),
        change=number(delta["value"], signed=True),
        ends=interval(delta, signed=True),
    )
    return lead, details


def sample_groups(run: Run, *, key: Key) -> dict[str, tuple[str, str]]:
    """Name of a group -> its query under a key, and its caption."""
    return {name: (query.format(key=key), caption) for name, (query, caption) in GROUPS.items()}


def card_ids(
    run: Run,
    units: pd.DataFrame,
    *,
    key: Key,
) -> pd.Series:
    """The ids of samples, the worst change under a key first."""
    gain = units[f"f1_s2_{key}"] - units[f"f1_s1_{key}"].fillna(0)
    order = units.assign(gain=gain).sort_values(["gain", "text_id"], kind="stable")
    return order["text_id"]


def cards(
    run: Run,
    units: pd.DataFrame,
    *,
    key: Key,
) -> pd.DataFrame:
    """Samples as cards: text_id, text, tags, rows, places, review.

    The rows are marked under a key and the run's match policy.
    """
    shown = []
    for sample in units.to_dict("records"):
        stages = {"stage1": sample["stage1"], "final": sample["final"]}
        rows, faults = card_rows(sample["gold"], stages, key, run.options.match_policy)
        card = {
            "text_id": sample["text_id"],
            "text": sample["text"],
            "tags": _tags(sample, faults, key),
            "rows": rows,
            "places": _places(sample["text"], rows),
            "review": _review(sample) if sample["protocol"] else "",
        }
        shown.append(card)
    return pd.DataFrame(shown, index=units.index, columns=CARD)


def card_rows(
    gold: Sequence[EvalTuple],
    stages: Mapping[str, Sequence[EvalTuple]],
    key: Key,
    policy: MatchPolicy,
) -> tuple[list[Row], Counter[str]]:
    """The rows of a card, and how often the final result is wrong in what (FAULTS).

    A row holds the tuples that are alike in what the key compares besides polarity, those of the gold first; a line
    in it is one pair. The mistakes of the final result mark the row and its term in the text.
    """
    # what is compared -> column -> pair -> its tuples; one that takes no part stands where nothing is compared
    cells: dict[str, dict[str, Cell]] = {}
    for column, tuples in {"gold": gold, **stages}.items():
        for named in tuples:
            pair = pairs(named, policy)[key] or ("", named.polarity)
            columns = cells.setdefault(pair[0], {})
            columns.setdefault(column, {}).setdefault(pair, []).append(named)
    of_gold = make_side(gold, policy).pairs[key]
    of_stages = {stage: make_side(tuples, policy).pairs[key] for stage, tuples in stages.items()}
    faults: Counter[str] = Counter()
    rows = []
    for columns in cells.values():
        first = next(iter(next(iter(columns.values())).values()))[0]
        wanted = columns.get("gold", {})
        lines = {"gold": [Line(pair[1], "", _other(of, first)) for pair, of in wanted.items()]}
        for stage, said in of_stages.items():
            match = match_pairs(of_gold, said)
            good = (of_gold.keys() - match.missing) | (said.keys() - match.spurious)
            bad = match.missing | match.spurious if gold else match.missing
            lines[stage], wrong = _lines(
                wanted,
                columns.get(stage, {}),
                first,
                good,
                bad,
            )
            faults.update(wrong if stage == "final" else ())
        marks = {line.mark for line in lines["final"]}
        mark = "bad" if marks & {"bad", "missing"} else "good" if marks == {"good"} else ""
        label = first.ref or say("(no ref)")
        if not first.term:
            label = f"{label} · {say('implicit')}"
        rows.append(Row(label, lines, first.term, mark))
    return rows, faults


def _lines(
    wanted: Cell,
    said: Cell,
    first: EvalTuple,
    good: Set[Pair],
    bad: Set[Pair],
) -> tuple[list[Line], list[str]]:
    """What a stage says in a row: right, wrong, too much, or nothing where something is due; and its faults.

    `good`: the pairs of both sides that are matched; `bad`: those that are not.
    """
    missing = [pair for pair in wanted if pair in bad]
    faults, lines = [], []
    for pair, of in said.items():
        text, mark = pair[1], "good" if pair in good else ""
        if pair in bad:
            mark = "bad"
            faults.append("polarity" if missing else "extra")
            if missing:
                expected = missing.pop(0)[1]
                text = say("{polarity}, gold {expected}", polarity=text, expected=expected)
            else:
                text = say("{polarity}, extra", polarity=text)
        lines.append(Line(text, mark, _other(of, first)))
    lines += [Line(say("missing"), "missing") for _ in missing]
    if not lines and wanted.keys() & good:
        lines = [Line(say("counted in another row"), "good")]
    return lines, [*faults, *["missing"] * len(missing)]


def _other(tuples: Sequence[EvalTuple], first: EvalTuple) -> str:
    """In what the tuples of a pair differ from the first tuple of their row; "" where they do not."""
    differences = []
    for named in tuples:
        if named.ref != first.ref:
            differences.append(say("ref {ref}", ref=named.ref) if named.ref else say("no ref"))
        if named.term != first.term:
            differences.append(say("term {term}", term=named.term or say("implicit")))
    return f"({', '.join(differences)})" if differences else ""


def _tags(
    sample: Mapping[Any, Any],
    faults: Counter[str],
    key: Key,
) -> list[Line]:
    """What became of a sample and why, and its F1 before and after review."""
    before, after = sample[f"f1_s1_{key}"], sample[f"f1_s2_{key}"]
    if not sample["gold"]:
        return [Line(say("no gold"))]
    if pd.isna(after):
        return [Line(say("not measured"))]
    unreviewed = ("right", "good") if after == 1 else ("wrong", "bad")
    word, mark = OUTCOMES.get(sample[f"outcome_{key}"], unreviewed)
    counts = ", ".join(say(FAULTS[fault], n=n) for fault, n in faults.items())
    reason = f"{say(word)}: {counts}" if counts else say(word)
    change = f"{after:.2f}" if pd.isna(before) else f"{before:.2f} → {after:.2f}"
    return [Line(reason, mark), Line(f"F1 {change}")]


def _places(text: str, rows: Sequence[Row]) -> list[Place]:
    """Where the terms of the rows stand in the text, the wrong ones first."""
    places: list[Place] = []
    for row in sorted(rows, key=lambda row: row.mark != "bad"):
        start = text.find(row.part)
        if row.mark and row.part and start >= 0:
            places.append(("text", start, start + len(row.part), row.mark, 0, ""))
    return places


def _review(sample: Mapping[Any, Any]) -> str:
    """Who did what in review, in words."""
    steps = [" · ".join(_in_words(sample["reviews"], with_actor=True))]
    decision = " · ".join(_in_words(sample["arbiter"]))
    if decision:
        steps.append(say("arbiter: {decision}", decision=decision))
    acted = " → ".join(filter(None, steps))
    return say("Review: {actions}.", actions=acted) if acted else say("No reviewer acted.")


def _in_words(actions: Iterable[Action], *, with_actor: bool = False) -> list[str]:
    """Review actions in words, equal ones of several reviewers as one: "A, B flip (polarity mismatch)"."""
    actors: dict[str, list[str]] = {}
    for action in actions:
        text = say((action.action_type or "?").lower())
        reason = (action.reason_code or "").replace("_", " ")
        if reason:
            # codes as words; what a reviewer wrote stays
            text += f" ({say(reason.lower() if reason.isupper() else reason)})"
        actors.setdefault(text, []).append(action.actor or "?")
    if not with_actor:
        return list(actors)
    return [f"{listed(dict.fromkeys(names))} {text}" for text, names in actors.items()]
