"""What a reader of Conflict Review must know before believing a number: foreign refs, empty predictions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import pandas as pd
from msgspec import json

from ...core.check import AnyCheck, CheckKind
from ...core.common_checks import DUPLICATE_TEXTS, duplicate_texts
from ...core.language import Message
from .schema import STAND_IN
from .tuples import KEYS, EvalTuple, attribute_of

if TYPE_CHECKING:
    from ...report.run import Run

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

FEW_REFS = 10
"""A system that names a ref of the gold three times in ten misses ten in a row in 3% of runs; fewer prove nothing."""

EMPTY_SHARE = 0.05
"""A sample without a tuple has F1 0: this share of them keeps every mean F1 from its last 0.05, as runs differ by."""

WITHOUT_GOLD = "Polarity conflict"
"""The group of the metrics by ref that compare predicted tuples with each other only."""

NO_GOLD = "no sample has gold tuples"
NO_PREDICTIONS = "no sample with gold has a predicted tuple"
NO_RUNNER = "predictions alone have no replies of a runner"


def checks(run: Run) -> Iterator[AnyCheck]:
    """The checks of a run."""
    yield from duplicate_texts(run.data, "text", "text_id")
    yield from predictions_only(run)
    yield from gold_without_pairs(run)
    yield from ref_outside_gold(run)
    yield from invalid_refs(run.data)
    yield from empty_predictions(run.data)
    yield from parse_failures(run.data)
    yield from stand_in(run.data)


def predictions_only(run: Run) -> Iterator[AnyCheck]:
    """No review has seen the tuples: what it did, and what was before it, is not measured (D25)."""
    if run.data["protocol"].any():
        return
    blocks = tuple(name for name, value in run.to_dict().items() if value is None)
    n = len(run.data)
    yield PREDICTIONS_ONLY.failed(
        "info",
        "{of} samples are predictions that no review has seen: nothing before review, or of it, is measured",
        n=n,
        of=n,
        blocks=blocks,
    )


def gold_without_pairs(run: Run) -> Iterator[AnyCheck]:
    """No gold tuple of the run has a pair under a key: that key is not measured (D26)."""
    data = run.data
    n_gold = int(data["n_gold_tuples"].sum())
    keys = tuple(key for key in KEYS if not data[f"has_gold_{key}"].any())
    if n_gold == 0:
        yield GOLD_WITHOUT_PAIRS.not_applicable(NO_GOLD)
    if n_gold == 0 or not keys:
        return
    what, how = Message("an attribute"), Message("by attribute")
    if "refpol" in keys:
        what, how = Message("a ref"), Message("by ref or attribute")
    takes_headline = run.options.key in keys
    yield GOLD_WITHOUT_PAIRS.failed(
        "blocking" if takes_headline else "info",
        "none of the {of} gold tuples has {what}: metrics {how} are not measured",
        {"what": what, "how": how},
        of=n_gold,
        blocks=_resting_on(run, keys),
        help="--protocol cr_v1" if takes_headline else "",
    )


def ref_outside_gold(run: Run) -> Iterator[AnyCheck]:
    """No predicted ref stands anywhere in the gold of the run: the two sides name aspects in two ways.

    Blocks the metrics by ref, and those by attribute where no predicted attribute stands in the gold either.
    """
    with_gold = run.data[run.data["has_gold"].astype(bool)]
    if with_gold["tp_refpol"].any():  # spares reading the tuples of nearly every run
        return
    if not with_gold["has_gold_refpol"].any():  # see gold_without_pairs
        yield REF_OUTSIDE_GOLD.not_applicable("no gold tuple has a ref")
        return
    gold_refs = set(_refs(with_gold["gold"])) - {""}
    final_refs = _refs(with_gold["final"])
    predicted = [ref for ref in final_refs if ref]
    if not final_refs:
        yield REF_OUTSIDE_GOLD.not_applicable(NO_PREDICTIONS)
    if not final_refs or gold_refs & set(predicted):
        return
    keys: tuple[str, ...] = ("refpol", "attrpol")
    how = "by ref or attribute"
    if _attributes(gold_refs) & _attributes(predicted):
        keys, how = ("refpol",), "by ref"
    n_predicted = len(predicted) or len(final_refs)
    is_enough = n_predicted >= FEW_REFS
    yield REF_OUTSIDE_GOLD.failed(
        "blocking" if is_enough else "warning",
        "none of the {of} predicted refs occurs among the {known} of the gold: metrics {how} cannot tell right from "
        "wrong here",
        {"known": len(gold_refs), "how": Message(how)},
        of=n_predicted,
        blocks=_resting_on(run, keys) if is_enough else (),
        help="--protocol cr_v1" if run.options.key == "refpol" else "",
    )


def _refs(column: pd.Series) -> list[str]:
    """The refs of all tuples of a column of the units."""
    # read as one text: to read each cell by itself takes three times as long
    samples = json.decode(f"[{','.join(column)}]", type=list[list[EvalTuple]])
    return [named.ref for tuples in samples for named in tuples]


def _attributes(refs: Iterable[str]) -> set[str]:
    return {attribute_of(ref) for ref in refs} - {""}


def _resting_on(run: Run, keys: tuple[str, ...]) -> tuple[str, ...]:
    """The names of the metrics that compare with gold by one of the keys."""
    names = []
    for metric in run.metrics:
        named = f"{metric.name} {metric.alias_of}"
        if metric.name == "tuple_f1_s2_after_rep":
            named = run.options.key
        if metric.group != WITHOUT_GOLD and any(key in named for key in keys):
            names.append(metric.name)
    return tuple(names)


def invalid_refs(data: pd.DataFrame) -> Iterator[AnyCheck]:
    """Predicted tuples with an empty ref take no part in the metrics by ref (D27)."""
    n = int(data["n_invalid_ref"].sum())
    total = int(data["n_pred_used"].sum())
    if n:
        yield INVALID_REFS.failed(
            "warning",
            "{n} of {of} predicted tuples have an empty ref: they take no part in the metrics by ref",
            n=n,
            of=total,
        )
    elif total == 0:
        yield INVALID_REFS.not_applicable(NO_PREDICTIONS)


def empty_predictions(data: pd.DataFrame) -> Iterator[AnyCheck]:
    """Samples for which nothing is predicted where gold has something."""
    with_gold = data[data["has_gold"].astype(bool)]
    if with_gold.empty:
        yield EMPTY_PREDICTIONS.not_applicable(NO_GOLD)
        return
    n = int((with_gold["n_pred_used"] == 0).sum())
    if n > EMPTY_SHARE * len(with_gold):
        yield EMPTY_PREDICTIONS.failed(
            "warning",
            "{n} of {of} samples with gold have no predicted tuple, and their F1 is 0",
            n=n,
            of=len(with_gold),
        )


def parse_failures(data: pd.DataFrame) -> Iterator[AnyCheck]:
    """Samples whose reply the runner could not read."""
    n = int(data["parse_failed"].sum())
    if n and n == len(data):
        yield PARSE_FAILURES.failed(
            "blocking",
            "the runner got no reply for any of {of} samples: every number here is of empty answers",
            n=n,
            of=n,
        )
    elif n:
        yield PARSE_FAILURES.failed(
            "warning",
            "for {n} of {of} samples the runner could not get or read a reply; they are scored with the"
            " tuples that are left",
            n=n,
            of=len(data),
        )
    elif not data["protocol"].any():
        yield PARSE_FAILURES.not_applicable(NO_RUNNER)


def stand_in(data: pd.DataFrame) -> Iterator[AnyCheck]:
    """Samples whose replies are made by rules, as in the bundled example of inference."""
    n = int((data["model"] == STAND_IN).sum())
    if n:
        yield STAND_IN_REPLIES.failed(
            "warning",
            "the replies of {n} samples are a stand-in's, by rules: no model was asked, the numbers are of none",
            n=n,
            of=len(data),
        )
    elif not data["protocol"].any():
        yield STAND_IN_REPLIES.not_applicable(NO_RUNNER)
