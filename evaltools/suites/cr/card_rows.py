"""The rows of a sample's card: gold tuples, and what each stage made of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from ...core.language import say
from ...report.samples import Line, Row
from .matching import Match, make_side, match_pairs
from .tuples import EvalTuple, Key, MatchPolicy, Pair, pairs

FAULTS = {
    "missing": "{n} missing",
    "extra": "{n} extra",
    "polarity": "{n} wrong polarity",
}
"""In what a stage is wrong -> how that is counted."""

Cell = dict[Pair, list[EvalTuple]]
"""The pairs of a column that stand in one row, and the tuples that they are of."""


def card_rows(
    gold: Sequence[EvalTuple],
    stages: Mapping[str, Sequence[EvalTuple]],
    key: Key,
    policy: MatchPolicy,
    judged: str,
) -> tuple[list[Row], Counter[str]]:
    """The rows of a card, and how often the stage `judged` is wrong in what.

    A row holds the tuples that are alike in what the key compares besides polarity, those of the gold first; a line
    in it is one pair. The mistakes of the stage `judged` mark the row and its term in the text.
    """
    cells = _cells({"gold": gold, **stages}, key, policy)
    of_gold = make_side(gold, policy).pairs[key]
    matches = {}
    for stage, tuples in stages.items():
        matches[stage] = match_pairs(of_gold, make_side(tuples, policy).pairs[key])
    rows = []
    faults: Counter[str] = Counter()
    for columns in cells.values():
        first_cell = next(iter(columns.values()))
        first = next(iter(first_cell.values()))[0]
        wanted = columns.get("gold", {})
        lines = {"gold": [Line(pair[1], "", _other(of, first)) for pair, of in wanted.items()]}
        for stage, match in matches.items():
            said = columns.get(stage, {})
            lines[stage], wrong = _lines(
                wanted,
                said,
                match,
                first,
                is_judged=bool(gold),
            )
            if stage == judged:
                faults += wrong
        marks = {line.mark for line in lines[judged]}
        mark = ""
        if marks & {"bad", "missing"}:
            mark = "bad"
        elif marks == {"good"}:
            mark = "good"
        ref = first.ref or say("(no ref)")
        label = ref if first.term else f"{ref} · {say('implicit')}"
        rows.append(Row(label, lines, first.term, mark))
    return rows, faults


def _cells(
    columns: Mapping[str, Sequence[EvalTuple]],
    key: Key,
    policy: MatchPolicy,
) -> dict[str, dict[str, Cell]]:
    """What is compared -> column -> its pairs. A tuple that takes no part stands where nothing is compared."""
    rows: dict[str, dict[str, Cell]] = {}
    for column, tuples in columns.items():
        for named in tuples:
            pair = pairs(named, policy)[key] or ("", named.polarity)
            row = rows.setdefault(pair[0], {})
            cell = row.setdefault(column, {})
            cell.setdefault(pair, []).append(named)
    return rows


def _lines(
    wanted: Cell,
    said: Cell,
    match: Match,
    first: EvalTuple,
    *,
    is_judged: bool,
) -> tuple[list[Line], Counter[str]]:
    """What a stage says in a row: right, wrong, too much, or nothing where something is due; and its faults."""
    missing = [pair for pair in wanted if pair in match.missing]
    faults: Counter[str] = Counter()
    lines = []
    for pair, of in said.items():
        text, mark = pair[1], ""
        if pair in match.matched_pred:
            mark = "good"
        elif is_judged and pair in match.spurious:
            mark = "bad"
            faults["polarity" if missing else "extra"] += 1
            if missing:
                expected = missing.pop(0)[1]
                text = say("{polarity}, gold {expected}", polarity=text, expected=expected)
            else:
                text = say("{polarity}, extra", polarity=text)
        lines.append(Line(text, mark, _other(of, first)))
    for _ in missing:
        faults["missing"] += 1
        lines.append(Line(say("missing"), "missing"))
    if not lines and wanted.keys() & match.matched_gold:
        lines.append(Line(say("counted in another row"), "good"))
    return lines, faults


def _other(tuples: Sequence[EvalTuple], first: EvalTuple) -> str:
    """In what the tuples of a pair differ from the first tuple of their row; "" where they do not."""
    differences = []
    for named in tuples:
        if named.ref != first.ref:
            differences.append(say("ref {ref}", ref=named.ref) if named.ref else say("no ref"))
        if named.term != first.term:
            differences.append(say("term {term}", term=named.term or say("implicit")))
    return f"({', '.join(differences)})" if differences else ""
