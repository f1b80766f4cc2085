"""What a reader of Conflict Review must know before believing a number: foreign refs, empty predictions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import pandas as pd
from msgspec import json

from ...core.check import Check, Level
from ...core.common_checks import duplicate_texts
from ...core.language import say
from .schema import STAND_IN
from .tuples import KEYS, EvalTuple, attribute_of

if TYPE_CHECKING:
    from ...report.run import Run

FEW_REFS = 10
"""A system that names a ref of the gold three times in ten misses ten in a row in 3% of runs; fewer prove nothing."""

EMPTY_SHARE = 0.05
"""A sample without a tuple has F1 0: this share of them keeps every mean F1 from its last 0.05, as runs differ by."""

CR_V1 = " (--protocol cr_v1)"  # the option that reads metrics by term

WITHOUT_GOLD = "Polarity conflict"
"""The group of the metrics by ref that compare predicted tuples with each other only."""


def checks(run: Run) -> Iterator[Check]:
    """The checks of a run."""
    yield from duplicate_texts(run.data, "text", "text_id")
    yield from predictions_only(run)
    yield from gold_without_pairs(run)
    yield from ref_outside_gold(run)
    yield from invalid_refs(run.data)
    yield from empty_predictions(run.data)
    yield from parse_failures(run.data)
    yield from stand_in(run.data)


def predictions_only(run: Run) -> Iterator[Check]:
    """No review has seen the tuples: what it did, and what was before it, is not measured (D25)."""
    if run.data["protocol"].any():
        return
    blocks = tuple(name for name, value in run.to_dict().items() if value is None)
    n = len(run.data)
    text = "{of} samples are predictions that no review has seen: nothing before review, or of it, is measured"
    yield Check("predictions-only", "info", say(text, of=f"{n:,}"), n, n, blocks)


def gold_without_pairs(run: Run) -> Iterator[Check]:
    """No gold tuple of the run has a pair under a key: that key is not measured (D26)."""
    data = run.data
    n_gold = int(data["n_gold_tuples"].sum())
    keys = tuple(key for key in KEYS if not data[f"has_gold_{key}"].any())
    if n_gold == 0 or not keys:
        return
    what, how = say("an attribute"), say("by attribute")
    if "refpol" in keys:
        what, how = say("a ref"), say("by ref or attribute")
    takes_headline = run.options.key in keys
    text = "none of the {of} gold tuples has {what}: metrics {how} are not measured"
    message = say(text, of=f"{n_gold:,}", what=what, how=how)
    if takes_headline:
        message += CR_V1
    level: Level = "blocking" if takes_headline else "info"
    yield Check("gold-without-pairs", level, message, 0, n_gold, _resting_on(run, keys))


def ref_outside_gold(run: Run) -> Iterator[Check]:
    """No predicted ref stands anywhere in the gold of the run: the two sides name aspects in two ways.

    Blocks the metrics by ref, and those by attribute where no predicted attribute stands in the gold either.
    """
    with_gold = run.data[run.data["has_gold"].astype(bool)]
    if with_gold["tp_refpol"].any():  # spares reading the tuples of nearly every run
        return
    if not with_gold["has_gold_refpol"].any():  # see gold_without_pairs
        return
    gold_refs = set(_refs(with_gold["gold"])) - {""}
    final_refs = _refs(with_gold["final"])
    predicted = [ref for ref in final_refs if ref]
    if not final_refs or gold_refs & set(predicted):
        return
    keys: tuple[str, ...] = ("refpol", "attrpol")
    how = say("by ref or attribute")
    if _attributes(gold_refs) & _attributes(predicted):
        keys, how = ("refpol",), say("by ref")
    n_predicted = len(predicted) or len(final_refs)
    is_enough = n_predicted >= FEW_REFS
    text = (
        "none of the {of} predicted refs occurs among the {known} of the gold: metrics {how} cannot tell right from "
        "wrong here"
    )
    message = say(text, of=f"{n_predicted:,}", known=len(gold_refs), how=how)
    if run.options.key == "refpol":
        message += CR_V1
    level: Level = "blocking" if is_enough else "warning"
    blocks = _resting_on(run, keys) if is_enough else ()
    yield Check("ref-outside-gold", level, message, 0, n_predicted, blocks)


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


def invalid_refs(data: pd.DataFrame) -> Iterator[Check]:
    """Predicted tuples with an empty ref take no part in the metrics by ref (D27)."""
    n = int(data["n_invalid_ref"].sum())
    total = int(data["n_pred_used"].sum())
    if n:
        text = "{n} of {of} predicted tuples have an empty ref: they take no part in the metrics by ref"
        yield Check("invalid-refs", "warning", say(text, n=f"{n:,}", of=f"{total:,}"), n, total)


def empty_predictions(data: pd.DataFrame) -> Iterator[Check]:
    """Samples for which nothing is predicted where gold has something."""
    with_gold = data[data["has_gold"].astype(bool)]
    n = int((with_gold["n_pred_used"] == 0).sum())
    if n > EMPTY_SHARE * len(with_gold):
        of = len(with_gold)
        text = "{n} of {of} samples with gold have no predicted tuple, and their F1 is 0"
        yield Check("empty-predictions", "warning", say(text, n=f"{n:,}", of=f"{of:,}"), n, of)


def parse_failures(data: pd.DataFrame) -> Iterator[Check]:
    """Samples whose reply the runner could not read."""
    n = int(data["parse_failed"].sum())
    of = len(data)
    if n and n == of:
        text = (
            "the runner got no reply for any of {of} samples: every number here is of empty answers"
        )
        yield Check("parse-failures", "blocking", say(text, of=f"{of:,}"), n, of)
    elif n:
        text = (
            "for {n} of {of} samples the runner could not get or read a reply; they are scored with the"
            " tuples that are left"
        )
        yield Check("parse-failures", "warning", say(text, n=f"{n:,}", of=f"{of:,}"), n, of)


def stand_in(data: pd.DataFrame) -> Iterator[Check]:
    """Samples whose replies are made by rules, as in the bundled example of inference."""
    n = int((data["model"] == STAND_IN).sum())
    if n:
        text = "the replies of {n} samples are a stand-in's, by rules: no model was asked, the numbers are of none"
        yield Check("stand-in", "warning", say(text, n=f"{n:,}"), n, len(data))
