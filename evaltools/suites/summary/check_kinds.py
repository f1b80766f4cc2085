"""The checks of summaries: what they look for, when they apply, what they block, what to do."""

from __future__ import annotations

from ...core.check import CheckKind
from ...core.check_kinds import DUPLICATE_TEXTS

UNMEASURED_SHARE = CheckKind(
    code="unmeasured-share",
    title="metrics that many cases give nothing to measure for",
    advice="Read the mean over measured cases with its n. Give contexts and tags (`contexts`, `summary_tags`) for the"
    " cases that lack them.",
)

IMPUTED_SHARE = CheckKind(
    code="imputed-share",
    title="means that rest on numbers which stand for what was not measured",
    advice="Use the mean over measured cases; the mean over all is kept for tools that expect it.",
)

UNREAD_FIGURES = CheckKind(
    code="unread-figures",
    title="figures of a summary that no rule could read",
    advice="Read these summaries yourself, or ask the judge (`--judge`): nothing compares such a figure with the"
    " source.",
)

DUPLICATE_ANSWERS = CheckKind(
    code="duplicate-answers",
    title="one summary for several cases",
    applies="Where cases have summaries.",
    advice="Look whether the system answers different cases alike, or the file repeats a row.",
)

LABELS_NOT_RANDOM = CheckKind(
    code="labels-not-random",
    title="labelled cases that cannot have been drawn at random",
    applies="With `--labels`.",
    advice="Draw the cases to label at random (`evaltools label` does): labels of failures only say nothing of the"
    " rest.",
)

KINDS = (
    DUPLICATE_TEXTS,
    UNMEASURED_SHARE,
    IMPUTED_SHARE,
    UNREAD_FIGURES,
    DUPLICATE_ANSWERS,
    LABELS_NOT_RANDOM,
)
