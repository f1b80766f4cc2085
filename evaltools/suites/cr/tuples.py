"""Evaluation tuples in normal form, and the policies by which they are compared.

Sources: seed cr_metrics_spec section 2, seed cr_f1_metrics_examples sections 2-8; decisions D1, D4, D5, D6.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import Literal, NamedTuple

from pydantic import TypeAdapter, ValidationError

from .schema import TupleRow

Pair = tuple[str, ...]
"""What is compared of a tuple: (text, polarity), or (text, polarity, ref) of an implicit tuple that counts by itself."""

Key = Literal["refpol", "otepol", "attrpol"]
KEYS: tuple[Key, ...] = ("refpol", "otepol", "attrpol")
KEY_NAMES: dict[Key, str] = {
    "refpol": "(ref, polarity)",
    "otepol": "(term, polarity)",
    "attrpol": "(attribute, polarity)",
}
"""What is compared with the gold under a key."""

POLARITIES = frozenset(("positive", "negative", "neutral"))
KNOWN = POLARITIES | {"mixed"}

_LONG_FORMS = {"pos": "positive", "neg": "negative", "neu": "neutral"}


class EvalTuple(NamedTuple):
    """(aspect_ref, aspect_term, polarity) in normal form; a tuple with an empty term is implicit.

    A polarity is one of KNOWN: a missing and an unknown one count as neutral.
    """

    ref: str
    term: str
    polarity: str


class MatchPolicy(NamedTuple):
    """How tuples are compared.

    `spacing`: "remove" compares terms without blanks (D5), "collapse" with each run of blanks as one.
    `implicit`: "multiset" counts each distinct implicit tuple, of the gold and of the prediction; "set" counts each
    polarity of them once (D6, D26).
    `pairless`: a sample whose gold has no pair under a key takes no part in that key's F1 ("out"), or has F1 0
    ("zero") (D26).

    >>> MatchPolicy(spacing="collapse").implicit
    'multiset'
    """

    spacing: Literal["remove", "collapse"] = "remove"
    implicit: Literal["multiset", "set"] = "multiset"
    pairless: Literal["out", "zero"] = "out"


POLICIES = {
    "spec": MatchPolicy(),
    "reference": MatchPolicy(spacing="collapse", implicit="set", pairless="zero"),
}


def match_policy(text: str | MatchPolicy) -> MatchPolicy:
    """The policy that a text names: "spec", "reference", or switches as in "spacing=collapse,implicit=set".

    Switches that are not named are those of "spec". A MatchPolicy is given back. ValueError for another text.

    >>> match_policy("implicit=set")
    MatchPolicy(spacing='remove', implicit='set', pairless='out')
    """
    if isinstance(text, MatchPolicy):
        return text
    if text in POLICIES:
        return POLICIES[text]
    switches = dict(part.strip().partition("=")[::2] for part in text.split(","))
    try:
        return TypeAdapter(MatchPolicy).validate_python(switches)
    except ValidationError:
        raise ValueError(
            f"no match policy {text!r}; expected spec, reference, or switches: spacing=remove|collapse, "
            "implicit=multiset|set, pairless=out|zero"
        ) from None


def collapse(text: str) -> str:
    """NFC, lower case, every run of white space one blank, none at the ends."""
    return " ".join(unicodedata.normalize("NFC", text).lower().split())


def normalize_term(text: str) -> str:
    """Normal form of an aspect term: collapsed, without punctuation at the ends.

    >>> normalize_term("  EWG 1등급   보습제! ")
    'ewg 1등급 보습제'
    """
    text = collapse(text)
    if text[:1].isalnum() and text[-1:].isalnum():  # nearly every term
        return text
    # a hash tag is part of a term (and `#` separates entity and attribute of a ref)
    marks = [c for c in text if unicodedata.category(c)[0] == "P" and c != "#"]
    return text.strip("".join([" ", *marks]))


def normalize_ref(text: str) -> str:
    """Normal form of a taxonomy reference; `·` and `ㆍ` read as `/` (D4).

    >>> normalize_ref("패키지·구성품 # 일반")
    '패키지/구성품#일반'
    """
    ref = collapse(text).replace(" #", "#").replace("# ", "#")
    return ref.replace("·", "/").replace("ㆍ", "/")


def attribute_of(ref: str) -> str:
    """The attribute of a ref in normal form; "" where it has none.

    >>> attribute_of("본품#품질")
    '품질'
    """
    return ref.partition("#")[2]


def term_key(term: str, policy: MatchPolicy) -> str:
    """A term in normal form as a policy compares it."""
    return term.replace(" ", "") if policy.spacing == "remove" else term


@lru_cache(maxsize=1 << 14)
def pairs(named: EvalTuple, policy: MatchPolicy) -> dict[Key, Pair | None]:
    """What is compared of a tuple under each key; None where it takes no part. Seed cr_f1_metrics_examples 2, 4-7.

    refpol: (ref, polarity), and a tuple without a ref takes no part. attrpol: (attribute, polarity), and a tuple
    without an attribute takes no part. otepol: (term, polarity); of tuples without a term (implicit ones) each
    distinct tuple counts, or each polarity once where the policy takes implicit tuples as a set (D6, D26).

    >>> pairs(EvalTuple("본품#품질", "레몬 향", "positive"), MatchPolicy())["otepol"]
    ('레몬향', 'positive')
    """
    ref, term, polarity = named
    attribute = attribute_of(ref)
    by_term: Pair = (term_key(term, policy), polarity)
    if not term and policy.implicit == "multiset":
        by_term = ("", polarity, ref)
    return {
        "refpol": (ref, polarity) if ref else None,
        "otepol": by_term,
        "attrpol": (attribute, polarity) if attribute else None,
    }


def term_of(row: TupleRow) -> str | None:
    """The term as written: "" is implicit, None is missing."""
    if row.is_implicit:
        return ""
    for value in (row.aspect_term, row.opinion_term):
        term = value if value is None or isinstance(value, str) else value.term
        if term is not None:
            return term
    return None


def ref_of(row: TupleRow) -> str:
    """The ref as written; "" where it is missing."""
    return (row.aspect_ref if row.aspect_ref is not None else row.term) or ""


def polarity_of(row: TupleRow) -> str:
    """The polarity as written, in its long form; "" where it is missing.

    >>> polarity_of(TupleRow(label="NEG"))
    'negative'
    """
    return _long_form((row.polarity if row.polarity is not None else row.label) or "")


def read_tuple(row: TupleRow, *, gold: bool = False) -> EvalTuple:
    """A tuple of a file in normal form: `aspect_ref`, else `term`; its term; `polarity`, else `label`.

    A missing term of a gold tuple falls back to its ref.
    """
    ref, term = ref_of(row), term_of(row)
    if term is None and gold:
        term = ref
    return _normal_form(ref, term or "", polarity_of(row))


@lru_cache(maxsize=1 << 14)
def _long_form(text: str) -> str:
    polarity = collapse(text)
    return _LONG_FORMS.get(polarity, polarity)


@lru_cache(maxsize=1 << 14)
def _normal_form(
    ref: str,
    term: str,
    polarity: str,
) -> EvalTuple:
    # a tuple comes back in stage 1, in the final result and often in the gold of its sample
    known = polarity if polarity in KNOWN else "neutral"
    return EvalTuple(normalize_ref(ref), normalize_term(term), known)
