"""The checks of Conflict Review: what they look for, when they apply, what they block, what to do."""

from __future__ import annotations

from ...core.check import CheckKind
from ...core.check_kinds import DUPLICATE_TEXTS

PREDICTIONS_ONLY = CheckKind(
    code="predictions-only",
    title="predictions that no review has seen",
    blocks="Everything before review, and all that review does: deltas, fix, break, net gain, change and process rates.",
    advice="Nothing, if predictions are what you have: F1 after review is their F1. For the rates of review, score the"
    " outputs of a run of the protocol.",
)

GOLD_WITHOUT_PAIRS = CheckKind(
    code="gold-without-pairs",
    title="a key (ref, attribute) that no gold tuple has",
    applies="Where the run has gold tuples.",
    blocks="The metrics of that key; blocking where the protocol's key is one, else a note.",
    advice="Add refs to the gold, or read the metrics by term (`--protocol cr_v1`).",
)

REF_OUTSIDE_GOLD = CheckKind(
    code="ref-outside-gold",
    title="no predicted ref occurs in the gold",
    applies="Where gold and predictions have tuples, and the gold has refs.",
    blocks="The metrics by ref, and those by attribute if no predicted attribute occurs in the gold either; from 10"
    " predicted refs on.",
    advice="The two sides name aspects in two ways. Map the names of the one to those of the other, or read the"
    " metrics by term (`--protocol cr_v1`).",
)

INVALID_REFS = CheckKind(
    code="invalid-refs",
    title="predicted tuples with an empty ref",
    applies="Where samples with gold have predicted tuples.",
    advice="They take no part in the metrics by ref. Look why the system leaves the ref out; `invalid_ref_count` in"
    " structural_metrics.csv counts them.",
)

EMPTY_PREDICTIONS = CheckKind(
    code="empty-predictions",
    title="samples with gold for which nothing is predicted",
    applies="Where samples have gold.",
    advice="Their F1 is 0. Open some of them: a system that finds nothing, and a reply that was lost, look alike here.",
)

PARSE_FAILURES = CheckKind(
    code="parse-failures",
    title="replies that the runner could not get or read",
    applies="Where the rows are a runner's; predictions alone have no replies.",
    advice="Run these samples again (a runner resumes where it stopped); until then they are scored with the tuples"
    " that are left.",
)

STAND_IN_REPLIES = CheckKind(
    code="stand-in",
    title="replies that a stand-in made by rules",
    applies="Where the rows are a runner's.",
    advice="Name a model and a server in the configuration of `evaltools run cr`: the numbers are of no model.",
)

KINDS = (
    DUPLICATE_TEXTS,
    PREDICTIONS_ONLY,
    GOLD_WITHOUT_PAIRS,
    REF_OUTSIDE_GOLD,
    INVALID_REFS,
    EMPTY_PREDICTIONS,
    PARSE_FAILURES,
    STAND_IN_REPLIES,
)
