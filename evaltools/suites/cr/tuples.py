"""Evaluation tuples in normal form, matched under a key; representatives of aspects, and conflicts between them.

Sources: [M] seed cr_metrics_spec, [F] seed cr_f1_metrics_examples sections 2-8; decisions D1, D4, D5, D6.
"""

import math
import unicodedata
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Literal, NamedTuple, Self

from pydantic import TypeAdapter, ValidationError

from .schema import TupleRow

# what is compared of a tuple: (text, polarity), or (text, polarity, ref) of an implicit tuple that counts by itself
Pair = tuple[str, ...]

Key = Literal["refpol", "otepol", "attrpol"]
KEYS: tuple[Key, ...] = ("refpol", "otepol", "attrpol")

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
def pairs(
    named: EvalTuple,
    policy: MatchPolicy,
) -> dict[Key, Pair | None]:
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


def polarity_of(row: TupleRow) -> str:
    """The polarity as written, in its long form; "" where it is missing.

    >>> polarity_of(TupleRow(label="NEG"))
    'negative'
    """
    return _long_form((row.polarity if row.polarity is not None else row.label) or "")


def read_tuple(
    row: TupleRow,
    *,
    gold: bool = False,
) -> EvalTuple:
    """A tuple of a file in normal form: `aspect_ref`, else `term`; its term; `polarity`, else `label`.

    A missing term of a gold tuple falls back to its ref.
    """
    ref = (row.aspect_ref if row.aspect_ref is not None else row.term) or ""
    term = term_of(row)
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


# how well a tuple represents its aspect: larger is better
Rank = tuple[bool, float, bool]

# the tuples of a sample with their ranks
Ranked = list[tuple[Rank, EvalTuple]]

# distinct pairs, in order of appearance
Pairs = dict[Pair, None]


class Match(NamedTuple):
    """How the predicted pairs of a sample agree with its gold pairs: `missing` are of the gold, `spurious` predicted."""

    tp: int
    fp: int
    fn: int
    missing: set[Pair]
    spurious: set[Pair]

    @property
    def f1(self) -> float:
        """F1 of precision and recall, in [0, 1]; 0 where nothing is matched. [F] 8.

        >>> Match(2, 1, 3, {("a", "positive")}, set()).f1
        0.5
        """
        return 2 * self.tp / (2 * self.tp + self.fp + self.fn) if self.tp else 0.0


class Side:
    """The tuples of a sample's gold or of a stage, in order of appearance, each once, and their pairs under each key."""

    def __init__(
        self,
        tuples: Iterable[EvalTuple],
        policy: MatchPolicy,
    ) -> None:
        self.tuples, self.policy = tuple(dict.fromkeys(tuples)), policy
        self.pairs: dict[Key, Pairs] = {key: {} for key in KEYS}
        for named in self.tuples:
            for key, pair in pairs(named, policy).items():
                if pair:
                    self.pairs[key][pair] = None

    def takes_part(
        self,
        key: Key,
    ) -> bool:
        """Whether a sample with this gold has an F1 under a key: by the policy, only where it has a pair (D26)."""
        return bool(self.pairs[key] or (self.tuples and self.policy.pairless == "zero"))

    def f1(
        self,
        pred: Self,
        key: Key,
    ) -> float:
        """F1 of a prediction against this gold under a key; nan where the sample takes no part."""
        return (
            match_pairs(self.pairs[key], pred.pairs[key]).f1 if self.takes_part(key) else math.nan
        )


def match_pairs(
    gold: Pairs,
    pred: Pairs,
) -> Match:
    """Match the pairs of one sample. [F] 7-8, D6.

    Equal pairs match first. Then each implicit gold pair that is left takes one predicted pair of its polarity that
    is left, one without a term if there is one. So the gold as prediction matches wholly (D26).
    """
    missing, spurious = gold.keys() - pred.keys(), pred.keys() - gold.keys()
    for pair in gold:
        if not pair[0] and pair in missing:
            free = [other for other in pred if other in spurious and other[1] == pair[1]]
            if free:
                missing.remove(pair)
                spurious.remove(max(reversed(free), key=lambda other: not other[0]))
    fp, fn = len(spurious), len(missing)
    return Match(
        len(gold) - fn,
        fp,
        fn,
        missing,
        spurious,
    )


class TupleF1(NamedTuple):
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
    of_gold = Side([read_tuple(_row(value), gold=True) for value in gold], policy).pairs[key]
    of_pred = Side([read_tuple(_row(value)) for value in pred], policy).pairs[key]
    found = match_pairs(of_gold, of_pred)
    tp, fp, fn, *_ = found
    precision, recall = (tp / (tp + wrong) if tp else 0.0 for wrong in (fp, fn))
    f1 = found.f1
    if policy.pairless == "out" and not of_gold:
        precision = recall = f1 = math.nan
    return TupleF1(
        precision,
        recall,
        f1,
        tp,
        fp,
        fn,
    )


def _row(value: Any) -> TupleRow:
    """A tuple of the caller's as one of a file."""
    if not isinstance(value, Mapping):
        if isinstance(value, str) or not hasattr(value, "__len__") or len(value) != 3:
            raise ValueError(f"expected a dict or (ref, term, polarity), got {value!r}")
        value = dict(zip(("aspect_ref", "aspect_term", "polarity"), value))
    return TupleRow.model_validate(value)


def rank(
    row: TupleRow,
    term: str,
) -> Rank:
    """How well a tuple of this term represents its aspect: grounded explicitly, confident, not dropped. [M] 3.4.

    Grounding is explicit where the tuple says so, or says nothing and has a term. A missing confidence ranks lowest.
    """
    grounding = row.grounding or ("explicit" if term else "")
    confidence = -1.0 if row.confidence is None else row.confidence
    return grounding.strip().lower() == "explicit", confidence, not row.drop_reason


def conflicts(groups: Mapping[str, Ranked]) -> tuple[bool, bool]:
    """Whether some aspect carries two polarities; whether it still does among its highest-ranking tuples. [M] 3.4, D7.

    `groups`: aspect -> its tuples with their ranks; those of "" have no aspect and are left out.
    """
    raw = unsettled = False
    for aspect, members in groups.items():
        if aspect and len({named.polarity for _, named in members}) > 1:
            raw = True
            highest, _ = max(members)
            unsettled |= len({named.polarity for rank, named in members if rank == highest}) > 1
    return raw, unsettled
