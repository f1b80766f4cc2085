"""The rows of a sample's card: gold tuples, and what each stage made of them."""

from __future__ import annotations

from collections import Counter
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

WORSE = {
    "missing": "A right tuple was dropped.",
    "extra": "A wrong tuple was added.",
    "polarity": "A right polarity was turned wrong.",
    "aspect": "A right aspect was turned wrong.",
}
"""What happened where the second of two stages has more of this fault."""

BETTER = {
    "missing": "A missing tuple was found.",
    "extra": "A wrong tuple was removed.",
    "polarity": "A wrong polarity was corrected.",
    "aspect": "A wrong aspect was corrected.",
}
"""What happened where the second of two stages is right and the first had this fault."""


@dataclass
class AspectRow:
    """What the gold and each stage say of an aspect.

    `gold`: its gold tuples. `predicted`: stage -> predicted tuples with their marks. `missed`: stage -> the gold
    tuples that it lacks. `matched`: the stages that lack none.
    """

    aspect: Aspect
    gold: list[EvalTuple] = field(default_factory=list)
    predicted: dict[str, list[tuple[EvalTuple, Mark]]] = field(default_factory=dict)
    missed: dict[str, list[EvalTuple]] = field(default_factory=dict)
    matched: set[str] = field(default_factory=set)

    def faults(self, stage: str) -> Counter[str]:
        """How often a stage is wrong here, and in what; a spurious tuple stands for a missing one if there is any."""
        counts: Counter[str] = Counter()
        missed = list(self.missed.get(stage, ()))
        for predicted, mark in self.predicted.get(stage, ()):
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

    def has_two_polarities(self, stage: str) -> bool:
        """Whether a stage contradicts itself here."""
        return len({predicted.polarity for predicted, _ in self.predicted.get(stage, ())}) > 1


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
            row = rows[gold_tuple[:2]]
            if mark == "missing":
                row.missed.setdefault(stage, []).append(gold_tuple)
            elif mark == "matched":
                row.matched.add(stage)
        elsewhere = []
        for predicted_tuple, mark in zip(predicted, predicted_marks):
            known = rows.get(predicted_tuple[:2])
            if known and known.gold:
                known.predicted.setdefault(stage, []).append((predicted_tuple, mark))
            else:
                elsewhere.append((predicted_tuple, mark))
        for predicted_tuple, mark in elsewhere:
            home = _row_for(predicted_tuple, mark, stage, of_gold)
            if home is None:
                aspect = predicted_tuple[:2]
                home = rows.setdefault(aspect, AspectRow(aspect))
            home.predicted.setdefault(stage, []).append((predicted_tuple, mark))
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
        if row.predicted.get(stage):
            continue
        if mark == "matched" and polarity not in {gold.polarity for gold in row.gold}:
            continue
        if mark != "matched" and not row.missed.get(stage):
            continue
        is_alike = (ref and ref == row.aspect[0]) or term == row.aspect[1]
        (alike if is_alike else others).append(row)
    if mark == "matched":
        alike += others
    return alike[0] if alike else None


def card_rows(rows: Sequence[AspectRow], stages: Sequence[str], judged: str) -> list[Row]:
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
    missed = list(row.missed.get(stage, ()))
    lines = []
    for predicted, mark in row.predicted.get(stage, ()):
        note = _another_aspect(predicted, row.aspect)
        if mark == "spurious":
            expected = missed.pop() if missed else None
            lines.append(Line(_wrong(predicted.polarity, expected), "bad", note))
        else:
            lines.append(Line(predicted.polarity, "good" if mark else "", note))
    for _ in missed:
        lines.append(Line(say("missing"), "missing"))
    if not lines and stage in row.matched:
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


def changes(rows: Sequence[AspectRow], before: str, after: str) -> list[str]:
    """What the second stage did to the tuples of the first, in sentences, each once."""
    sentences = []
    for row in rows:
        faults_before = row.faults(before)
        faults_after = row.faults(after)
        for fault, sentence in WORSE.items():
            if faults_after[fault] > faults_before[fault]:
                sentences.append(say(sentence))
        for fault, sentence in BETTER.items():
            if faults_before[fault] > faults_after[fault] and not faults_after.total():
                sentences.append(say(sentence))
        if row.has_two_polarities(after):
            sentences.append(say("One aspect carries two polarities."))
    return list(dict.fromkeys(sentences))
