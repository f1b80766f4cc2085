"""Matching the tuples of one sample under a key, choosing representatives, and finding conflicts.

Sources: [M] seed cr_metrics_spec, [F] seed cr_f1_metrics_examples, D decisions (docs/decisions.md).
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from .schema import TupleRow
from .tuples import (
    KEYS,
    EvalTuple,
    Key,
    MatchPolicy,
    Pair,
    ReadTuple,
    match_policy,
    pairs,
    read_tuple,
)

Mark = Literal["matched", "missing", "spurious", ""]

Rank = tuple[bool, float, bool]
"""How well a tuple represents its aspect: larger is better (`sample.rank`)."""


def f1_score(
    tp: int,
    fp: int,
    fn: int,
) -> float:
    """F1 of precision and recall from counts, in [0, 1]; 0 where nothing is matched. [F] 8.

    >>> f1_score(tp=2, fp=1, fn=3)
    0.5
    """
    if tp == 0:
        return 0.0
    return 2 * tp / (2 * tp + fp + fn)


class Match(NamedTuple):
    """How the predicted pairs of a sample agree with its gold pairs: counts, and the pairs that are matched."""

    tp: int
    fp: int
    fn: int
    matched_gold: set[Pair]
    matched_pred: set[Pair]

    @property
    def f1(self) -> float:
        """F1 of precision and recall, in [0, 1]."""
        return f1_score(self.tp, self.fp, self.fn)

    @property
    def has_gold(self) -> bool:
        """The gold has a pair under the key."""
        return self.tp + self.fn > 0


def compared(tuples: Iterable[ReadTuple], key: Key) -> dict[Pair, None]:
    """The pairs of the tuples of a sample that take part under a key, in order of appearance, each once."""
    return _each_once([read.pairs[key] for read in tuples])


def _each_once(pairs: Iterable[Pair | None]) -> dict[Pair, None]:
    distinct: dict[Any, None] = dict.fromkeys(pairs)
    distinct.pop(None, None)
    return distinct


def match_pairs(gold: dict[Pair, None], pred: dict[Pair, None]) -> Match:
    """Match the pairs of one sample. [F] 7-8, D6.

    Equal pairs match first. Then each implicit gold pair that is left takes one predicted pair of its polarity that
    is left, if there is one. So the gold as prediction matches wholly (D26).
    """
    matched_gold = gold.keys() & pred.keys()
    matched_pred = matched_gold
    implicit = [pair for pair in gold if not pair[0]]
    if implicit:
        matched_pred = set(matched_gold)
        free = _free_by_polarity(pred, matched_pred)
        for pair in implicit:
            if pair not in matched_gold and free.get(pair[1]):
                matched_gold.add(pair)
                matched_pred.add(free[pair[1]].popleft())
    tp = len(matched_gold)
    return Match(tp, len(pred) - tp, len(gold) - tp, matched_gold, matched_pred)


def _free_by_polarity(pred: Iterable[Pair], matched: set[Pair]) -> dict[str, deque[Pair]]:
    """The predicted pairs that are not matched, by polarity: those without a term first, else in order."""
    free = [pair for pair in pred if pair not in matched]
    by_polarity: dict[str, deque[Pair]] = {}
    for pair in sorted(free, key=lambda pair: pair[0] != ""):
        by_polarity.setdefault(pair[1], deque()).append(pair)
    return by_polarity


def marks(
    gold: Iterable[EvalTuple],
    pred: Iterable[EvalTuple],
    key: Key,
    policy: MatchPolicy,
) -> tuple[list[Mark], list[Mark]]:
    """How each gold tuple and each predicted tuple of a sample fares; "" takes no part under the key.

    Tuples that are one pair under the key have the same mark.
    """
    of_gold = [pairs(named, policy)[key] for named in gold]
    of_pred = [pairs(named, policy)[key] for named in pred]
    match = match_pairs(_each_once(of_gold), _each_once(of_pred))
    return (
        [_mark(pair, match.matched_gold, "missing") for pair in of_gold],
        [_mark(pair, match.matched_pred, "spurious") for pair in of_pred],
    )


def _mark(
    pair: Pair | None,
    matched: set[Pair],
    otherwise: Mark,
) -> Mark:
    if pair is None:
        return ""
    return "matched" if pair in matched else otherwise


@dataclass(frozen=True)
class TupleF1:
    """Precision, recall and F1 of one sample, in [0, 1], and the counts that they come from.

    The three are nan where the sample takes no part: its gold has no pair under the key (D26).

    >>> tuple_f1([("a#b", "x", "positive")], [("a#b", "y", "positive")]).f1
    1.0
    """

    precision: float
    recall: float
    f1: float
    tp: int
    fp: int
    fn: int


def tuple_f1(
    gold: Iterable[Any],
    pred: Iterable[Any],
    key: Key = "refpol",
    match: str | MatchPolicy = "spec",
) -> TupleF1:
    """Compare the predicted tuples of one sample with its gold tuples.

    A tuple is (aspect_ref, aspect_term, polarity) or a dict with these keys, in any spelling that files of runs have;
    it is brought into normal form. `key` says what is compared: "refpol" (ref, polarity), "otepol" (term, polarity) or
    "attrpol" (attribute, polarity). `match` is "spec", "reference", switches as in "spacing=collapse" (`match_policy`)
    or a MatchPolicy. An empty denominator gives 0. Raises ValueError for another key or policy, and for what is no
    tuple. [F] 2-8.

    By ref ([F] 4.3): one of two predictions is right, one of two gold tuples is found.

    >>> gold = [("제품 전체#일반", "아이립밤", "positive"), ("패키지/구성품#편의성", "사이즈", "positive")]
    >>> pred = [("제품 전체#품질", "아이립밤", "positive"), ("패키지·구성품#편의성", "사이즈", "pos")]
    >>> tuple_f1(gold, pred)
    TupleF1(precision=0.5, recall=0.5, f1=0.5, tp=1, fp=1, fn=1)

    By term ([F] 5.2): blanks do not count, unless the policy keeps them.

    >>> gold, pred = [("본품#일반", "레몬그라스 향", "positive")], [("", "레몬그라스향", "positive")]
    >>> tuple_f1(gold, pred, key="otepol").f1, tuple_f1(gold, pred, key="otepol", match="reference").f1
    (1.0, 0.0)

    Two implicit gold tuples, as dicts, are matched by polarity, one to one ([F] 7).

    >>> gold = [{"aspect_ref": ref, "aspect_term": "", "polarity": "positive"} for ref in ("본품#품질", "본품#일반")]
    >>> pred = [("제품 전체#품질", "제품", "positive"), ("본품#일반", "본품", "positive")]
    >>> tuple_f1(gold, pred, key="otepol").tp
    2
    """
    if key not in KEYS:
        raise ValueError(f"no key {key!r}; expected one of {', '.join(KEYS)}")
    policy = match_policy(match)
    gold_tuples = [_read(value, policy, gold=True) for value in gold]
    pred_tuples = [_read(value, policy) for value in pred]
    found = match_pairs(compared(gold_tuples, key), compared(pred_tuples, key))
    tp, fp, fn = found.tp, found.fp, found.fn
    if not found.has_gold and policy.pairless == "out":
        precision = recall = f1 = math.nan
    else:
        precision = tp / (tp + fp) if tp else 0.0
        recall = tp / (tp + fn) if tp else 0.0
        f1 = found.f1
    return TupleF1(precision, recall, f1, tp, fp, fn)


def _read(
    value: Any,
    policy: MatchPolicy,
    *,
    gold: bool = False,
) -> ReadTuple:
    """A tuple of the caller's."""
    if not isinstance(value, Mapping):
        if isinstance(value, str) or len(value) != 3:
            raise ValueError(f"expected a dict or (ref, term, polarity), got {value!r}")
        ref, term, polarity = value
        value = {"aspect_ref": ref, "aspect_term": term, "polarity": polarity}
    return read_tuple(TupleRow.model_validate(value), policy, gold=gold)


def representatives(
    tuples: Sequence[ReadTuple],
    ranks: Sequence[Rank],
    aspects: Sequence[str],
) -> list[ReadTuple]:
    """The tuple of the highest rank of each aspect, the first of equals. [M] 3.4.

    `ranks` and `aspects` are those of the tuples, in the same order.
    """
    best: dict[str, int] = {}
    for i, aspect in enumerate(aspects):
        if aspect not in best or ranks[i] > ranks[best[aspect]]:
            best[aspect] = i
    return [tuples[i] for i in best.values()]


class Conflicts(NamedTuple):
    """`raw`: some aspect carries two polarities. `unsettled`: it still does among its highest-ranking tuples."""

    raw: bool
    unsettled: bool


def conflicts(
    polarities: Sequence[str],
    ranks: Sequence[Rank],
    aspects: Sequence[str],
) -> Conflicts:
    """Whether the tuples of a sample contradict each other, by their polarities, ranks and aspects. [M] 3.4, D7.

    Tuples without an aspect are left out.
    """
    members: dict[str, list[int]] = {}
    for i, aspect in enumerate(aspects):
        if aspect:
            members.setdefault(aspect, []).append(i)
    raw = unsettled = False
    for group in members.values():
        if len({polarities[i] for i in group}) > 1:
            raw = True
            best = max(ranks[i] for i in group)
            top = {polarities[i] for i in group if ranks[i] == best}
            unsettled = unsettled or len(top) > 1
    return Conflicts(raw, unsettled)
