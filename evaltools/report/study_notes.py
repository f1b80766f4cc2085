"""What a reader must know of the numbers of a study besides its checks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.language import Message
from ..stats.notes import Note
from ..stats.seed_notes import completeness
from ..stats.seed_variance import ALIKE
from .sentences import note_message

if TYPE_CHECKING:
    from .study import Study


def notes_of_study(study: Study) -> list[Message]:
    """The notes on every condition, on the seeds together, and on every pair that is compared."""
    messages = []
    if study.seeded:
        messages += _notes_on_conditions(study)
    baseline_estimates = study.aggregates[study.baseline]
    if baseline_estimates["pooled"].any():
        note = Note("seed-pool", {"level": ALIKE})
        messages.append(note_message(note))
    messages += _notes_on_pairs(study)
    return messages


def _notes_on_conditions(study: Study) -> list[Message]:
    """How complete the seeds of every condition are."""
    messages = []
    for condition in study.conditions:
        frames = study.frames(condition)
        for note in completeness(frames, study.metrics, study.suite.unit):
            values = {
                "condition": condition,
                "note": note_message(note),
            }
            messages.append(Message("{condition}: {note}", values))
    return messages


def _notes_on_pairs(study: Study) -> list[Message]:
    """What the comparison of every candidate with the baseline notes."""
    messages = []
    for candidate, comparison in study.comparisons.items():
        for note in comparison.notes:
            values = {
                "baseline": study.baseline,
                "candidate": candidate,
                "note": note_message(note),
            }
            messages.append(Message("{baseline} and {candidate}: {note}", values))
    return messages
