"""Evaluation tuples: normal forms, where they come from, and matching under the three keys.

Sources: seed cr_metrics_spec section 2, seed cr_f1_metrics_examples sections 2-8; decisions D1, D4,
D5, D6.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

from .schema import Term, TupleRow

Key = Literal["refpol", "otepol", "attrpol"]
KEYS: tuple[Key, ...] = ("refpol", "otepol", "attrpol")

POLARITIES = ("positive", "negative", "neutral")
_SHORT = {"pos": "positive", "neg": "negative", "neu": "neutral"}
KNOWN = frozenset((*POLARITIES, "mixed"))


class EvalTuple(NamedTuple):
    """(aspect_ref, aspect_term, polarity) in normal form; an empty term is implicit."""

    ref: str
    term: str
    polarity: str


@dataclass(frozen=True)
class MatchPolicy:
    """How tuples are compared.

    `spacing`: "remove" compares terms without blanks (D5), "collapse" with runs of blanks as one.
    `implicit`: "multiset" counts each distinct implicit gold tuple (D6), "set" each (term, polarity) pair once.
    """

    spacing: Literal["remove", "collapse"] = "remove"
    implicit: Literal["multiset", "set"] = "multiset"


POLICIES = {"spec": MatchPolicy(), "reference": MatchPolicy(spacing="collapse", implicit="set")}


def _is_punctuation(c: str) -> bool:
    # a hash tag is part of a term (and `#` separates entity and attribute of a ref)
    return c != "#" and unicodedata.category(c).startswith("P")


def collapse(text: str) -> str:
    """NFC, lower case, every run of white space one blank, none at the ends."""
    return " ".join(unicodedata.normalize("NFC", text).lower().split())


@lru_cache(maxsize=1 << 16)
def normalize_term(text: str) -> str:
    """Normal form of an aspect term: collapsed, without punctuation at the ends.

    >>> normalize_term("  EWG 1등급   보습제! ")
    'ewg 1등급 보습제'
    """
    text = collapse(text)
    start, end = 0, len(text)
    while start < end and (text[start] == " " or _is_punctuation(text[start])):
        start += 1
    while end > start and (text[end - 1] == " " or _is_punctuation(text[end - 1])):
        end -= 1
    return text[start:end]


_AROUND_HASH = re.compile(r" *# *")
_SEPARATORS = str.maketrans("·ㆍ", "//")


@lru_cache(maxsize=1 << 14)
def normalize_ref(text: str) -> str:
    """Normal form of a taxonomy reference; `·` and `ㆍ` read as `/` (D4).

    >>> normalize_ref("패키지·구성품 # 일반")
    '패키지/구성품#일반'
    """
    return _AROUND_HASH.sub("#", collapse(text)).translate(_SEPARATORS)


@lru_cache(maxsize=1 << 10)
def normalize_polarity(text: str | None) -> str:
    """positive, negative, neutral or mixed; missing and unknown ones count as neutral."""
    p = given_polarity(text)
    return p if p in KNOWN else "neutral"


@lru_cache(maxsize=1 << 10)
def given_polarity(text: str | None) -> str:
    """The polarity as given, in its long form; "" where it is missing."""
    p = collapse(text or "")
    return _SHORT.get(p, p)


def known_polarity(text: str | None) -> bool:
    return given_polarity(text) in KNOWN


def polarity_of(row: TupleRow) -> str | None:
    return row.polarity if row.polarity is not None else row.label


def _text_of(value: str | Term | None) -> str | None:
    return value if value is None or isinstance(value, str) else value.term


def term_of(row: TupleRow) -> str | None:
    """The term as written: "" is implicit, None is missing."""
    if row.is_implicit:
        return ""
    term = row.aspect_term
    if isinstance(term, str):
        return term
    found = _text_of(term)
    return found if found is not None else _text_of(row.opinion_term)


def ref_of(row: TupleRow) -> str:
    return (row.aspect_ref if row.aspect_ref is not None else row.term) or ""


def eval_tuple(row: TupleRow, *, gold: bool = False) -> EvalTuple:
    """The normal form of one tuple. A missing term of a gold tuple falls back to its ref."""
    term = term_of(row)
    return _normal(ref_of(row), term if term is not None else None if gold else "", polarity_of(row))


@lru_cache(maxsize=1 << 14)
def _normal(ref: str, term: str | None, polarity: str | None) -> EvalTuple:
    # a tuple comes back in stage 1, in the final result and often in the gold of its sample
    return EvalTuple(normalize_ref(ref), normalize_term(ref if term is None else term), normalize_polarity(polarity))


def eval_tuples(rows: Iterable[TupleRow], *, gold: bool = False) -> list[EvalTuple]:
    """Normal forms in order of appearance, duplicates removed."""
    return list(dict.fromkeys([eval_tuple(r, gold=gold) for r in rows]))


Pair = tuple[str, str]


def ref_pairs(tuples: Iterable[EvalTuple]) -> set[Pair]:
    """(aspect_ref, polarity); tuples without a ref are left out."""
    return {(t.ref, t.polarity) for t in tuples if t.ref}


def attr_pairs(tuples: Iterable[EvalTuple]) -> set[Pair]:
    """(attribute, polarity) with the attribute after `#`; tuples without one are left out."""
    return {(attribute, t.polarity) for t in tuples if (attribute := t.ref.partition("#")[2])}


def term_key(term: str, policy: MatchPolicy) -> str:
    return term.replace(" ", "") if policy.spacing == "remove" else term


def term_pairs(tuples: Iterable[EvalTuple], policy: MatchPolicy) -> set[Pair]:
    """(aspect_term, polarity); an empty term is a pair too (implicit)."""
    if policy.spacing == "remove":
        return {(t.term.replace(" ", ""), t.polarity) for t in tuples}
    return {(t.term, t.polarity) for t in tuples}


class Match(NamedTuple):
    """Counts of one sample under one key, and the scores that follow from them."""

    tp: int
    fp: int
    fn: int

    @property
    def f1(self) -> float:
        """F1 of precision and recall; 0 where both are 0 or a denominator is empty."""
        return 2 * self.tp / (2 * self.tp + self.fp + self.fn) if self.tp else 0.0

    @property
    def exact(self) -> bool:
        """Precision and recall are both 1; with no gold pair under the key, no predicted pair either."""
        return self.fp == 0 and self.fn == 0


def _match_sets(gold: set[Pair], pred: set[Pair]) -> Match:
    tp = len(gold & pred)
    return Match(tp, len(pred) - tp, len(gold) - tp)


def match_otepol(gold: Sequence[EvalTuple], pred: Sequence[EvalTuple], policy: MatchPolicy) -> Match:
    """Exact pairs first; then each implicit gold takes one prediction of its polarity that is still free."""
    predicted, explicit = term_pairs(pred, policy), term_pairs(gold, policy)
    implicit = [t.polarity for t in gold if not t.term]
    if not implicit:
        return _match_sets(explicit, predicted)
    explicit = {pair for pair in explicit if pair[0]}
    if policy.implicit == "set":
        implicit = list(set(implicit))
    exact = explicit & predicted
    free = Counter(polarity for _, polarity in predicted - exact)
    tp = len(exact) + sum(min(n, free[polarity]) for polarity, n in Counter(implicit).items())
    return Match(tp, len(predicted) - tp, len(explicit) + len(implicit) - tp)


def match(key: Key, gold: Sequence[EvalTuple], pred: Sequence[EvalTuple], policy: MatchPolicy) -> Match:
    """Counts of one sample under one key. Seed cr_f1_metrics_examples sections 7 and 8."""
    if key == "otepol":
        return match_otepol(gold, pred, policy)
    pairs: Callable[[Iterable[EvalTuple]], set[Pair]] = ref_pairs if key == "refpol" else attr_pairs
    return _match_sets(pairs(gold), pairs(pred))
