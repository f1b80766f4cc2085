"""What a reader of Conflict Review must know before believing a number: foreign refs, empty predictions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import pandas as pd
from msgspec import Struct, json

from ...core.check import Check, duplicate_texts
from ...core.language import Message
from ...core.metric import AnyMetric, Metric, linear
from .schema import STAND_IN

if TYPE_CHECKING:
    from ...report.run import Run

FEW_REFS = 10
"""A system that names a ref of the gold three times in ten misses ten in a row in 3% of runs; fewer prove nothing."""

EMPTY = 0.05
"""A sample without a tuple has F1 0: this share of them keeps every mean F1 from its last 0.05, as runs differ by."""

REVIEWED = {"protocol", "reviewable", "changed", "risk_s1"}
"""The columns by which metrics of the review are divided, besides the outcomes of samples."""

WITHOUT_GOLD = "Polarity conflict"
"""The group of the metrics by ref that compare predicted tuples with each other only."""


def checks(result: Run) -> Iterator[Check]:
    """The checks of a run."""
    yield from duplicate_texts(result.data, "text", "text_id")
    yield from predictions_only(result)
    yield from ref_outside_gold(result)
    yield from empty_predictions(result.data)
    yield from parse_failures(result.data)
    if n := int(result.data["model"].eq(STAND_IN).sum()):
        said = "the replies of {n} samples are a stand-in's, by rules: no model was asked, the numbers are of none"
        yield Check("stand-in", "warning", said, n=n, of=len(result.data))


def predictions_only(result: Run) -> Iterator[Check]:
    """No review has seen the tuples: what it did, and what was before it, is not measured."""
    if result.data["protocol"].any():
        return
    single = {
        m.name
        for m in result.metrics
        if isinstance(m, Metric) and (m.needs or _of_review(m.denominator))
    }
    blocks = tuple(m.name for m in result.metrics if m.name in single or single & set(m.weights()))
    said = "{of} samples are predictions that no review has seen: nothing before review, or of it, is measured"
    n = len(result.data)
    yield Check("predictions-only", "info", said, n=n, of=n, blocks=blocks)


def _of_review(denominator: str) -> bool:
    return any(c in REVIEWED or c.startswith(("fix_", "break_")) for c in linear(denominator))


def ref_outside_gold(result: Run) -> Iterator[Check]:
    """No predicted ref stands anywhere in the gold of the run: the two sides name aspects in two ways.

    Blocks the metrics by ref, and those by attribute where no predicted attribute stands in the gold either.
    """
    data = result.data
    if data["tp_refpol"].any():  # spares reading the tuples of nearly every run
        return
    judged = data[data["has_gold"].astype(bool)]
    gold, final = (_refs(judged[c]) for c in ("gold", "final"))
    known, refs = {*gold} - {""}, [*filter(None, final)]
    if not final or known.intersection(refs):
        return
    enough = (len(refs) or len(final)) >= FEW_REFS
    keys = ("refpol",) if _attributes(known) & _attributes(refs) else ("refpol", "attrpol")
    n_predicted = len(refs) or len(final)
    what = "{count} predicted refs occurs" if refs else PREDICTED_TUPLES
    blocks: tuple[str, ...] = ()
    if enough:
        key = result.options.key
        blocks = tuple(m.name for m in result.metrics if _rests_on(m, keys, key))
    yield Check(
        "ref-outside-gold",
        "blocking" if enough else "warning",
        "none of the {what} among the {known} of the gold: metrics {how} cannot tell right from "
        "wrong here",
        {
            "what": Message(what, {"count": n_predicted}),
            "known": len(known),
            "how": Message("by ref" if len(keys) == 1 else "by ref or attribute"),
        },
        of=n_predicted,
        blocks=blocks,
        help="--protocol cr_v1" if result.options.key == "refpol" else "",
    )


PREDICTED_TUPLES = "{count} predicted tuples has a ref that occurs"


class _Ref(Struct, array_like=True, gc=False):
    """Of a stored tuple, its ref."""

    ref: str


def _refs(column: pd.Series) -> list[str]:
    """The refs of all tuples of a column of the units."""
    decode = json.Decoder(list[_Ref]).decode
    return [t.ref for text in column.tolist() for t in decode(text)]


def _attributes(refs: Iterable[str]) -> set[str]:
    return {ref.partition("#")[2] for ref in refs} - {""}


def _rests_on(metric: AnyMetric, keys: tuple[str, ...], of_protocol: str) -> bool:
    """Whether a metric compares with gold by one of the keys."""
    by_protocol = metric.name == "tuple_f1_s2_after_rep" and of_protocol in keys
    named = any(key in f"{metric.name} {metric.alias_of}" for key in keys)
    return metric.group != WITHOUT_GOLD and (by_protocol or named)


def empty_predictions(data: pd.DataFrame) -> Iterator[Check]:
    """Samples for which nothing is predicted where gold has something."""
    judged = data[data["has_gold"].astype(bool)]
    n, of = int((judged["n_pred_used"] == 0).sum()), len(judged)
    if n > EMPTY * of:
        said = "{n} of {of} samples with gold have no predicted tuple, and their F1 is 0"
        yield Check("empty-predictions", "warning", said, n=n, of=of)


def parse_failures(data: pd.DataFrame) -> Iterator[Check]:
    """Samples whose reply the runner could not read."""
    failed = data[data["parse_failed"].astype(bool)]
    if n := len(failed):
        message = (
            "for {n} of {of} samples the runner could not get or read a reply; they are scored with the"
            " tuples that are left"
        )
        yield Check("parse-failures", "warning", message, n=n, of=len(data))
