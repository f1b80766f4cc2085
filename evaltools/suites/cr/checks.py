"""What a reader of Conflict Review must know before believing a number: foreign refs, empty predictions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import pandas as pd
from msgspec import json

from ...core.check import Check, Level, share_check
from ...core.common_checks import duplicate_texts
from ...core.language import say
from .schema import STAND_IN
from .tuples import KEYS, EvalTuple, attribute_of

if TYPE_CHECKING:
    from ...report.run import Run

# a system that names a ref of the gold three times in ten misses ten in a row in 3% of runs; fewer prove nothing
FEW_REFS = 10

# a sample without a tuple has F1 0: this share of them keeps every mean F1 from its last 0.05, as runs differ by
EMPTY_SHARE = 0.05

# the group of the metrics by ref that compare predicted tuples with each other only
WITHOUT_GOLD = "Polarity conflict"


def checks(run: Run) -> Iterator[Check]:
    """The checks of a run."""
    data = run.data
    yield from duplicate_texts(data, "text", "text_id")
    if not data["protocol"].any():  # D25
        text = "{of} samples are predictions that no review has seen: nothing before review, or of it, is measured"
        blocks = tuple(name for name, value in run.to_dict().items() if value is None)
        yield share_check(
            "predictions-only",
            "info",
            text,
            len(data),
            len(data),
            blocks,
        )
    yield from gold_without_pairs(run)
    yield from ref_outside_gold(run)
    yield from of_samples(data)


def of_samples(data: pd.DataFrame) -> Iterator[Check]:
    """Tuples that take no part, samples without a prediction or a reply, and replies of the stand-in."""
    n, of = int(data["n_invalid_ref"].sum()), int(data["n_pred_used"].sum())  # D27
    if n:
        text = "{n} of {of} predicted tuples have an empty ref: they take no part in the metrics by ref"
        yield share_check(
            "invalid-refs",
            "warning",
            text,
            n,
            of,
        )
    used = data.loc[data["has_gold"].astype(bool), "n_pred_used"]
    n, of = int((used == 0).sum()), len(used)
    if n > EMPTY_SHARE * of:
        text = "{n} of {of} samples with gold have no predicted tuple, and their F1 is 0"
        yield share_check(
            "empty-predictions",
            "warning",
            text,
            n,
            of,
        )
    n, of = int(data["parse_failed"].sum()), len(data)
    if n and n == of:
        text = (
            "the runner got no reply for any of {of} samples: every number here is of empty answers"
        )
        yield share_check(
            "parse-failures",
            "blocking",
            text,
            n,
            of,
        )
    elif n:
        text = (
            "for {n} of {of} samples the runner could not get or read a reply; they are scored with the"
            " tuples that are left"
        )
        yield share_check(
            "parse-failures",
            "warning",
            text,
            n,
            of,
        )
    n = int((data["model"] == STAND_IN).sum())
    if n:
        text = "the replies of {n} samples are a stand-in's, by rules: no model was asked, the numbers are of none"
        yield share_check(
            "stand-in",
            "warning",
            text,
            n,
            of,
        )


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
    text = "none of the {of} gold tuples has {what}: metrics {how} are not measured"
    message = say(text, of=f"{n_gold:,}", what=what, how=how)
    level: Level = "info"
    if run.options.key in keys:
        level, message = "blocking", f"{message}. {say('Rerun with --protocol cr_v1.')}"
    yield Check(
        "gold-without-pairs",
        level,
        message,
        0,
        n_gold,
        _resting_on(run, keys),
    )


def ref_outside_gold(run: Run) -> Iterator[Check]:
    """No predicted ref stands anywhere in the gold of the run: the two sides name aspects in two ways.

    Blocks the metrics by ref, and those by attribute where no predicted attribute stands in the gold either.
    """
    with_gold = run.data[run.data["has_gold"].astype(bool)]
    # the first spares reading the tuples of nearly every run; of the second see gold_without_pairs
    if with_gold["tp_refpol"].any() or not with_gold["has_gold_refpol"].any():
        return
    gold_refs = set(_refs(with_gold["gold"])) - {""}
    final_refs = _refs(with_gold["final"])
    predicted = set(final_refs) - {""}
    if not final_refs or gold_refs & predicted:
        return
    keys: tuple[str, ...] = ("refpol", "attrpol")
    how = say("by ref or attribute")
    if _attributes(gold_refs) & _attributes(predicted):
        keys, how = ("refpol",), say("by ref")
    text = "The predictions use {n} refs and the gold {known}, none in common, so metrics {how} are always 0."
    message = say(text, n=f"{len(predicted):,}", known=f"{len(gold_refs):,}", how=how)
    if run.options.key == "refpol":
        message = f"{message} {say('Rerun with --protocol cr_v1.')}"
    of = sum(map(bool, final_refs)) or len(final_refs)
    is_sure = of >= FEW_REFS
    blocks = _resting_on(run, keys) if is_sure else ()
    yield Check(
        "ref-outside-gold",
        "blocking" if is_sure else "warning",
        message,
        0,
        of,
        blocks,
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
