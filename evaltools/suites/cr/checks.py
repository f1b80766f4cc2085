"""What a reader of Conflict Review must know before believing a number: foreign refs, empty predictions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pandas as pd
from msgspec import json

from ...core.check import Check, Level, duplicate_texts, share_check
from ...core.language import listed, say
from .schema import STAND_IN
from .tuples import KEY_NAMES, KEYS, EvalTuple, attribute_of

if TYPE_CHECKING:
    from ...report.run import Run

# a system that names a ref of the gold three times in ten misses ten in a row in 3% of runs; fewer prove nothing
FEW_REFS = 10

# a sample without a tuple has F1 0: this share of them keeps every mean F1 from its last 0.05, as runs differ by
EMPTY_SHARE = 0.05

# the group of the metrics by ref that compare predicted tuples with each other only
WITHOUT_GOLD = "Polarity conflict"

BY_TERM = "Rerun with --protocol cr_v1."


def checks(run: Run) -> Iterator[Check]:
    """The checks of a run."""
    data = run.data
    yield from duplicate_texts(data, "text", "text_id")
    if not data["protocol"].any():  # D25
        text = "{of} samples are predictions that no review has seen: nothing before review, or of it, is measured"
        blocks = tuple(name for name, value in run.to_dict().items() if value is None)
        yield from share_check(
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
    of = len(data)
    text = "{n} of {of} predicted tuples have an empty ref: they take no part in the metrics by ref"
    n_invalid, n_pred = data["n_invalid_ref"].sum(), data["n_pred_used"].sum()
    yield from share_check(
        "invalid-refs",
        "warning",
        text,
        n_invalid,
        n_pred,
    )  # D27
    text = "{n} of {of} samples with gold have no predicted tuple, and their F1 is 0"
    n_gold, n_empty = data["has_gold"].sum(), (data["has_gold"] & (data["n_pred_used"] == 0)).sum()
    yield from share_check(
        "empty-predictions",
        "warning",
        text,
        n_empty,
        n_gold,
        above=EMPTY_SHARE,
    )
    text = (
        "for {n} of {of} samples the runner could not get or read a reply; they are scored with the"
        " tuples that are left"
    )
    n_failed = data["parse_failed"].sum()
    level: Level = "blocking" if n_failed == of else "warning"
    yield from share_check(
        "parse-failures",
        level,
        text,
        n_failed,
        of,
    )
    text = "the replies of {n} samples are a stand-in's, by rules: no model was asked, the numbers are of none"
    yield from share_check(
        "stand-in",
        "warning",
        text,
        (data["model"] == STAND_IN).sum(),
        of,
    )


def gold_without_pairs(run: Run) -> Iterator[Check]:
    """No gold tuple of the run has a pair under a key: that key is not measured (D26)."""
    data = run.data
    n_gold = int(data["n_gold_tuples"].sum())
    keys = [key for key in KEYS if not data[f"has_gold_{key}"].any()]
    if n_gold and keys:
        text = "none of the {of} gold tuples has a pair by {keys}: these metrics are not measured"
        names = listed([say(KEY_NAMES[key]) for key in keys])
        message = say(text, of=f"{n_gold:,}", keys=names)
        is_lost = run.options.key in keys
        yield Check(
            "gold-without-pairs",
            "blocking" if is_lost else "info",
            f"{message}. {say(BY_TERM)}" if is_lost else message,
            0,
            n_gold,
            _resting_on(run, keys),
        )


def ref_outside_gold(run: Run) -> Iterator[Check]:
    """No predicted ref stands anywhere in the gold of the run: the two sides name aspects in two ways.

    Blocks the metrics by ref, and those by attribute where no predicted attribute stands in the gold either.
    """
    # the first spares reading the tuples of nearly every run; of the second see gold_without_pairs
    if run.data["tp_refpol"].any() or not run.data["has_gold_refpol"].any():
        return
    with_gold = run.data[run.data["has_gold"].astype(bool)]
    gold = {*_refs(with_gold["gold"])} - {""}
    final = _refs(with_gold["final"])
    predicted = {*final} - {""}
    if not final or gold & predicted:
        return
    keys = ["refpol", "attrpol"]
    if {*map(attribute_of, gold)} & {*map(attribute_of, predicted)} - {""}:
        keys = ["refpol"]
    text = "The predictions use {n} refs and the gold {known}, none in common, so metrics by them are always 0."
    message = say(text, n=f"{len(predicted):,}", known=f"{len(gold):,}")
    if run.options.key == "refpol":
        message = f"{message} {say(BY_TERM)}"
    of = sum(map(bool, final)) or len(final)
    is_sure = of >= FEW_REFS
    yield Check(
        "ref-outside-gold",
        "blocking" if is_sure else "warning",
        message,
        0,
        of,
        _resting_on(run, keys) if is_sure else (),
    )


def _refs(column: pd.Series) -> list[str]:
    """The refs of all tuples of a column of the units."""
    # read as one text: to read each cell by itself, in all columns, takes three times as long and much memory
    samples = json.decode(f"[{','.join(column)}]", type=list[list[EvalTuple]])
    return [named.ref for tuples in samples for named in tuples]


def _resting_on(run: Run, keys: Sequence[str]) -> tuple[str, ...]:
    """The names of the metrics that compare with gold by one of the keys."""
    names = []
    for metric in run.metrics:
        named = f"{metric.name} {metric.alias_of}"
        if metric.name == "tuple_f1_s2_after_rep":
            named = run.options.key
        if metric.group != WITHOUT_GOLD and any(key in named for key in keys):
            names.append(metric.name)
    return tuple(names)
