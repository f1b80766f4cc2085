"""The rows of a sample's card: gold tuples, and what each stage made of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ...core.language import say
from ...report.samples import Line, Row
from .matching import Mark, marks
from .tuples import EvalTuple, Key, MatchPolicy

Aspect = tuple[str, str]
"""The ref and the term of a tuple."""

FAULTS = {
    "missing": "{n} missing",
    "extra": "{n} extra",
    "polarity": "{n} wrong polarity",
    "aspect": "{n} wrong aspect",
}
"""In what a stage is wrong -> how that is counted."""


@dataclass
class StageSays:
    """What a stage says of an aspect: its tuples with their marks, the gold tuples that it lacks; whether it has any."""

    predicted: list[tuple[EvalTuple, Mark]] = field(default_factory=list)
    missed: list[EvalTuple] = field(default_factory=list)
    matches: bool = False

    def faults(self) -> Counter[str]:
        """How often the stage is wrong here, and in what; a spurious tuple stands for a missing one if there is any."""
        counts: Counter[str] = Counter()
        missed = list(self.missed)
        for predicted, mark in self.predicted:
            if mark != "spurious":
                continue
            if not missed:
                counts["extra"] += 1
            elif missed.pop().polarity != predicted.polarity:
                counts["polarity"] += 1
            else:
                counts["aspect"] += 1
        counts["missing"] += len(missed)
        return counts


@dataclass
class AspectRow:
    """The gold tuples of an aspect, and what each stage says of it."""

    aspect: Aspect
    gold: list[EvalTuple] = field(default_factory=list)
    stages: defaultdict[str, StageSays] = field(default_factory=lambda: defaultdict(StageSays))


def aspect_rows(
    gold: Sequence[EvalTuple],
    stages: Mapping[str, Sequence[EvalTuple]],
    key: Key,
    policy: MatchPolicy,
) -> list[AspectRow]:
    """A row for each aspect of the gold, then one for each that only a stage has.

    A predicted tuple stands in the row of its own aspect; else in that of the gold tuple that it matches under the
    key, or is taken for: one of the same ref or term that the stage lacks.
    """
    rows: dict[Aspect, AspectRow] = {}
    for gold_tuple in gold:
        row = rows.setdefault(gold_tuple[:2], AspectRow(gold_tuple[:2]))
        row.gold.append(gold_tuple)
    of_gold = list(rows.values())
    for stage, predicted in stages.items():
        gold_marks, predicted_marks = marks(gold, predicted, key, policy)
        if not gold:  # nothing is right or wrong
            predicted_marks = [""] * len(predicted)
        for gold_tuple, mark in zip(gold, gold_marks):
            says = rows[gold_tuple[:2]].stages[stage]
            if mark == "missing":
                says.missed.append(gold_tuple)
            elif mark == "matched":
                says.matches = True
        elsewhere = []
        for marked in zip(predicted, predicted_marks):
            known = rows.get(marked[0][:2])
            if known and known.gold:
                known.stages[stage].predicted.append(marked)
            else:
                elsewhere.append(marked)
        for marked in elsewhere:
            home = _row_for(*marked, stage, of_gold)
            if home is None:
                aspect = marked[0][:2]
                home = rows.setdefault(aspect, AspectRow(aspect))
            home.stages[stage].predicted.append(marked)
    return list(rows.values())


def _row_for(
    predicted: EvalTuple,
    mark: Mark,
    stage: str,
    of_gold: Sequence[AspectRow],
) -> AspectRow | None:
    """The row of the gold tuple that a predicted tuple of another aspect matches, or is taken for."""
    ref, term, polarity = predicted
    alike: list[AspectRow] = []
    others: list[AspectRow] = []
    for row in of_gold:
        says = row.stages[stage]
        if says.predicted:
            continue
        if mark == "matched" and polarity not in {gold.polarity for gold in row.gold}:
            continue
        if mark != "matched" and not says.missed:
            continue
        is_alike = (ref and ref == row.aspect[0]) or term == row.aspect[1]
        (alike if is_alike else others).append(row)
    if mark == "matched":
        alike += others
    return alike[0] if alike else None


def card_rows(
    rows: Sequence[AspectRow],
    stages: Sequence[str],
    judged: str,
) -> list[Row]:
    """The rows of a card. `judged`: the stage whose mistakes mark the row and its term in the text."""
    shown = []
    for row in rows:
        cells = {"gold": [Line(gold.polarity) for gold in row.gold]}
        for stage in stages:
            cells[stage] = _lines(row, stage)
        marks_of_row = {line.mark for line in cells[judged]}
        mark = "good" if marks_of_row == {"good"} else ""
        if marks_of_row & {"bad", "missing"}:
            mark = "bad"
        ref, term = row.aspect
        ref = ref or say("(no ref)")
        label = ref if term else f"{ref} · {say('implicit')}"
        shown.append(Row(label, cells, term, mark))
    return shown


def _lines(row: AspectRow, stage: str) -> list[Line]:
    """What a stage says of an aspect: right, wrong, too much, or nothing where something is due."""
    says = row.stages[stage]
    missed = list(says.missed)
    lines = []
    for predicted, mark in says.predicted:
        note = _another_aspect(predicted, row.aspect)
        if mark == "spurious":
            expected = missed.pop() if missed else None
            lines.append(Line(_wrong(predicted.polarity, expected), "bad", note))
        else:
            lines.append(Line(predicted.polarity, "good" if mark else "", note))
    for _ in missed:
        lines.append(Line(say("missing"), "missing"))
    if not lines and says.matches:
        lines.append(Line(say("counted in another row"), "good"))
    return lines


def _wrong(polarity: str, expected: EvalTuple | None) -> str:
    """A wrong polarity beside the one that is expected; too much where none is."""
    if expected is None:
        return say("{polarity}, extra", polarity=polarity)
    if expected.polarity == polarity:
        return polarity
    return say("{polarity}, gold {expected}", polarity=polarity, expected=expected.polarity)


def _another_aspect(predicted: EvalTuple, aspect: Aspect) -> str:
    """In what a predicted tuple differs from the aspect of its row; "" where it does not."""
    ref, term = aspect
    differences = []
    if predicted.ref != ref:
        differences.append(say("ref {ref}", ref=predicted.ref or say("(no ref)")))
    if predicted.term != term:
        differences.append(say("term {term}", term=predicted.term or say("implicit")))
    return f"({', '.join(differences)})" if differences else ""
