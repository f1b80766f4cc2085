"""Matching the tuples of many samples at once: counts under the three keys, representatives, conflicts.

Sources: [M] seed cr_metrics_spec, [F] seed cr_f1_metrics_examples, D decisions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np

from .tuples import KNOWN, EvalTuple, Key, MatchPolicy, term_key

Ints = np.ndarray[Any, np.dtype[np.int64]]
Bools = np.ndarray[Any, np.dtype[np.bool_]]
Floats = np.ndarray[Any, np.dtype[np.float64]]

H = TypeVar("H", bound=Hashable)

_POLARITY = {polarity: i for i, polarity in enumerate(sorted(KNOWN))}

# a pair is packed into one integer: sample, text, polarity; a group into sample, text
_POLARITY_BITS, _TEXT_BITS = 2, 32


@dataclass(frozen=True)
class Tuples:
    """Tuples of `n` samples as parallel arrays: the sample's place, and numbers for the texts.

    Equal texts have equal numbers, the empty text 0. `key` is the term as a MatchPolicy compares it,
    `attribute` the part of the ref after `#`.
    """

    n: int
    sample: Ints
    ref: Ints
    attribute: Ints
    term: Ints
    key: Ints
    polarity: Ints

    def __getitem__(self, at: Bools | Ints) -> Tuples:
        """The tuples at these places, of the same samples."""
        arrays = (self.sample, self.ref, self.attribute, self.term, self.key, self.polarity)
        return Tuples(self.n, *(a[at] for a in arrays))

    def per_sample(self) -> Ints:
        """How many tuples each sample has."""
        return np.bincount(self.sample, minlength=self.n)


def tabulate(policy: MatchPolicy, *stages: Sequence[Sequence[EvalTuple]]) -> list[Tuples]:
    """For each stage the tuples of each of its samples, in their order; what comes of one call can be compared."""
    forms: defaultdict[EvalTuple, int] = _numbers()
    places = [_places(forms, chain.from_iterable(samples)) for samples in stages]
    refs, terms = [t.ref for t in forms], [t.term for t in forms]
    columns = (
        refs,
        [ref.partition("#")[2] for ref in refs],
        terms,
        [term_key(term, policy) for term in terms],
    )
    texts = _numbers("")
    numbered = [
        *(_places(texts, c) for c in columns),
        _places(_POLARITY, [t.polarity for t in forms]),
    ]
    return [
        Tuples(
            len(samples),
            np.repeat(np.arange(len(samples)), [*map(len, samples)]),
            *(c[at] for c in numbered),
        )
        for samples, at in zip(stages, places)
    ]


def _numbers(*known: H) -> defaultdict[H, int]:
    """A number for each distinct value that is looked up, in order of appearance after the known ones."""
    return defaultdict(count(len(known)).__next__, zip(known, count()))


def _places(numbers: Mapping[H, int], values: Iterable[H]) -> Ints:
    return np.fromiter(map(numbers.__getitem__, values), np.int64)


class Counts(NamedTuple):
    """True positives, false positives and false negatives, one of each a sample."""

    tp: Ints
    fp: Ints
    fn: Ints

    @property
    def f1(self) -> Floats:
        """F1 of precision and recall, in [0, 1]; 0 where both are 0 or a denominator is empty."""
        return np.divide(
            2 * self.tp,
            2 * self.tp + self.fp + self.fn,
            out=np.zeros(len(self.tp)),
            where=self.tp > 0,
        )

    @property
    def exact(self) -> Bools:
        """Precision and recall are both 1; with no gold pair under the key, no predicted pair either."""
        return (self.fp == 0) & (self.fn == 0)


def _group(tuples: Tuples, text: Ints) -> Ints:
    return tuples.sample << _TEXT_BITS | text


def _packed(tuples: Tuples, text: Ints) -> Ints:
    return _group(tuples, text) << _POLARITY_BITS | tuples.polarity


def _sample_of(pairs: Ints) -> Ints:
    return pairs >> _TEXT_BITS + _POLARITY_BITS


def _pairs(tuples: Tuples, text: Ints, *, with_empty: bool = False) -> Ints:
    """The distinct (sample, text, polarity), packed and in order."""
    packed = _packed(tuples, text)
    return _distinct(packed if with_empty else packed[text > 0])


def _distinct(packed: Ints) -> Ints:
    # np.unique puts integers into a hash table first, which is slow for packed ones
    packed = np.sort(packed)
    return packed[np.diff(packed, prepend=-1) > 0]


def _by_sample(n: int, pairs: Ints) -> Ints:
    return np.bincount(_sample_of(pairs), minlength=n)


def _common(gold: Ints, pred: Ints) -> Ints:
    return np.intersect1d(gold, pred, assume_unique=True)


def _counts(n: int, gold: Ints, pred: Ints) -> Counts:
    tp = _by_sample(n, _common(gold, pred))
    return Counts(tp, _by_sample(n, pred) - tp, _by_sample(n, gold) - tp)


def match_terms(one: Tuples, other: Tuples) -> Counts:
    """Counts of the plain sets of (term, polarity); an empty term is a term like the others."""
    return _counts(
        one.n, _pairs(one, one.key, with_empty=True), _pairs(other, other.key, with_empty=True)
    )


def match(key: Key, gold: Tuples, pred: Tuples, policy: MatchPolicy) -> Counts:
    """Counts of each sample under a key. [F] 4-8.

    refpol: sets of (aspect_ref, polarity), tuples without a ref left out. attrpol: the same with the
    attribute. otepol: (aspect_term, polarity); exact pairs first, then each implicit gold tuple takes one
    predicted pair of its polarity that is still free (D6). No tuple occurs twice in a sample of `gold`.
    """
    if key == "refpol":
        return _counts(gold.n, _pairs(gold, gold.ref), _pairs(pred, pred.ref))
    if key == "attrpol":
        return _counts(gold.n, _pairs(gold, gold.attribute), _pairs(pred, pred.attribute))
    explicit, predicted = _pairs(gold, gold.key), _pairs(pred, pred.key, with_empty=True)
    exact = _common(explicit, predicted)
    implicit = gold[gold.key == 0]
    free, wanted = (
        _by_polarity(gold.n, pairs)
        for pairs in (
            np.setdiff1d(predicted, exact, assume_unique=True),
            _packed(implicit, implicit.key),
        )
    )
    if policy.implicit == "set":
        wanted = np.minimum(wanted, 1)
    tp = _by_sample(gold.n, exact) + np.minimum(free, wanted).sum(axis=1)
    n_gold = _by_sample(gold.n, explicit) + wanted.sum(axis=1)
    return Counts(tp, _by_sample(gold.n, predicted) - tp, n_gold - tp)


def _by_polarity(n: int, pairs: Ints) -> Ints:
    """How many pairs of each sample (rows) have each polarity (columns)."""
    polarities = 1 << _POLARITY_BITS
    place = _sample_of(pairs) * polarities + (pairs & polarities - 1)
    return np.bincount(place, minlength=n * polarities).reshape(n, polarities)


def _best_first(tuples: Tuples, aspect: Ints, rank: Ints) -> tuple[Ints, Ints, Ints]:
    """(places of the tuples by (sample, aspect) and then best first, their groups, where each group begins)."""
    group = _group(tuples, aspect)
    order = np.lexsort((-rank, group))  # stable: of equals the first in the file comes first
    group = group[order]
    return order, group, np.flatnonzero(np.diff(group, prepend=-1))


def representatives(tuples: Tuples, aspect: Ints, rank: Ints) -> Tuples:
    """The highest-ranking tuple of each aspect of each sample, the first of equals. [M] 3.4."""
    order, _, starts = _best_first(tuples, aspect, rank)
    return tuples[order[starts]]


def conflicts(tuples: Tuples, aspect: Ints, rank: Ints) -> tuple[Bools, Bools]:
    """For each sample: some aspect carries two polarities; it still does among its highest-ranking tuples. D7.

    Tuples without an aspect are left out.
    """
    known = aspect > 0
    tuples, aspect, rank = tuples[known], aspect[known], rank[known]
    order, group, starts = _best_first(tuples, aspect, rank)
    best = np.repeat(rank[order][starts], np.diff(starts, append=len(order)))
    top = rank[order] == best
    polarity = tuples.polarity[order]
    return _torn(tuples.n, group, polarity), _torn(tuples.n, group[top], polarity[top])


def _torn(n: int, group: Ints, polarity: Ints) -> Bools:
    """For each sample: some group of it has several polarities."""
    of_pairs = _distinct(group << _POLARITY_BITS | polarity) >> _POLARITY_BITS
    torn = np.zeros(n, dtype=bool)
    torn[of_pairs[1:][np.diff(of_pairs) == 0] >> _TEXT_BITS] = True
    return torn


Pair = tuple[str, str]
Mark = Literal["matched", "missing", "spurious", ""]


def marks(
    key: Key, gold: Sequence[EvalTuple], pred: Sequence[EvalTuple], policy: MatchPolicy
) -> tuple[list[Mark], list[Mark]]:
    """How each gold and each predicted tuple of one sample fares in `match`; "" takes no part.

    Tuples that are one pair under the key share the mark. Of the predicted pairs that can stand for an implicit gold
    tuple, those without a term do so first.
    """
    wanted, found = ([_pair(key, t, policy) for t in side] for side in (gold, pred))
    matched = {pair for pair in wanted if pair and pair[0]}.intersection(found)
    free = sorted({p: None for p in found if p and p not in matched}, key=lambda p: p[0] > "")
    of_gold: list[Mark] = []
    of_implicit: dict[Pair, Mark] = {}
    for pair in wanted:
        if pair and not pair[0] and (pair not in of_implicit or policy.implicit == "multiset"):
            stand_ins = [p for p in free if p[1] == pair[1] and p not in matched]
            matched.update(stand_ins[:1])
            of_implicit[pair] = "matched" if stand_ins else "missing"
        of_gold.append(
            ""
            if pair is None
            else of_implicit.get(pair, "matched" if pair in matched else "missing")
        )
    return of_gold, [
        "" if pair is None else "matched" if pair in matched else "spurious" for pair in found
    ]


def _pair(key: Key, t: EvalTuple, policy: MatchPolicy) -> Pair | None:
    """What is compared of a tuple: text and polarity; None where it takes no part."""
    if key == "otepol":
        return term_key(t.term, policy), t.polarity
    text = t.ref if key == "refpol" else t.ref.partition("#")[2]
    return (text, t.polarity) if text else None
