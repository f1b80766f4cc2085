"""Matching: the worked examples of seed cr_f1_metrics_examples, with the arithmetic.

The properties compare it with the definitions written out with sets and a Counter.
"""

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

import evaltools as et
from evaltools.suites.cr.schema import TupleRow
from evaltools.suites.cr.tuples import (
    KEYS,
    POLICIES,
    Match,
    MatchPolicy,
    Side,
    match_pairs,
    rank,
    term_key,
    tuple_f1,
)

from .cards import t

SPEC, REFERENCE = POLICIES["spec"], POLICIES["reference"]


def matched(key, gold, pred, policy) -> Match:
    """How the tuples of a sample agree."""
    return match_pairs(Side(gold, policy).pairs[key], Side(pred, policy).pairs[key])


def counts(key, gold, pred, policy) -> tuple[int, int, int]:
    """(tp, fp, fn) of a sample."""
    return matched(key, gold, pred, policy)[:3]


def test_ref_match_of_section_4_3() -> None:
    # gold {전체#일반, 구성품#편의성, 브랜드#품질-, 본품#일반}, pred {전체#품질, 구성품#편의성}
    # TP = 1 (구성품#편의성), FP = 2 - 1 = 1, FN = 4 - 1 = 3; P = 1/2, R = 1/4, F1 = 2*(1/8)/(3/4) = 1/3
    gold = [
        t("제품 전체#일반"),
        t("패키지/구성품#편의성"),
        t("브랜드#품질", "", "negative"),
        t("본품#일반"),
    ]
    pred = [t("제품 전체#품질", "아이립밤"), t("패키지/구성품#편의성", "사이즈")]
    assert counts("refpol", gold, pred, SPEC) == (1, 1, 3)
    found = tuple_f1(gold, pred)
    assert (found.precision, found.recall) == (1 / 2, 1 / 4)
    assert found.f1 == pytest.approx(1 / 3)


def test_term_match_of_section_5_2() -> None:
    # 레몬그라스 향 and 레몬그라스향 are the same; a taxonomy ref in the place of the term is not
    gold = [t("본품#일반", "레몬그라스 향")]
    assert counts("otepol", gold, [t("", "레몬그라스 향")], SPEC) == (1, 0, 0)
    assert counts("otepol", gold, [t("", "레몬그라스향")], SPEC) == (1, 0, 0)
    assert counts("otepol", gold, [t("", "레몬그라스향")], REFERENCE) == (0, 1, 1)
    assert counts("otepol", gold, [t("", "본품#일반")], SPEC) == (0, 1, 1)


def test_attributes_of_section_6() -> None:
    # {일반, 품질, 편의성, 인지도-}; 브랜드 and 브랜드# have no attribute
    refs = ("제품 전체#일반", "본품#품질", "패키지/구성품#편의성")
    gold = [t(r) for r in refs] + [t("브랜드#인지도", "", "negative"), t("브랜드"), t("브랜드#")]
    assert counts("attrpol", gold, gold, SPEC) == (4, 0, 0)
    # another entity with the same attribute is right
    assert counts("attrpol", gold, [t("본품#일반")], SPEC) == (1, 0, 3)


def test_implicit_gold_of_section_7_is_a_multiset() -> None:
    # gold has ("", positive) twice; two positive predictions match one each: TP = 2, FP = 0, FN = 0
    gold = [t("제품 전체#품질"), t("본품#일반")]
    pred = [t("제품 전체#품질", "제품"), t("본품#일반", "본품")]
    assert counts("otepol", gold, pred, SPEC) == (2, 0, 0)
    # as a set the pair counts once: TP = 1, FP = 2 - 1, FN = 1 - 1
    assert counts("otepol", gold, pred, REFERENCE) == (1, 1, 0)
    # and so do predictions without a term (D26): two of them are both right
    assert counts("otepol", gold, gold, SPEC) == (2, 0, 0)
    assert counts("otepol", gold, gold, REFERENCE) == (1, 0, 0)


@pytest.mark.parametrize(
    ("found", "f1"),
    [((0, 0, 0), 0.0), ((0, 3, 2), 0.0), ((2, 0, 0), 1.0), ((1, 1, 0), 2 / 3), ((2, 1, 3), 0.5)],
)
def test_f1_of_section_8(found: tuple[int, int, int], f1: float) -> None:
    # (2, 1, 3): P = 2/3, R = 2/5, F1 = 2 * (4/15) / (16/15) = 1/2
    assert Match(*found, set(), set()).f1 == pytest.approx(f1)


words = st.sampled_from(["향", "레몬 향", "레몬향", "사이즈", "", "A", "d"])
polarities = st.sampled_from(["positive", "negative", "neutral", "mixed"])
tuples = st.builds(t, st.sampled_from(["a#b", "a#c", "d", "", "e·f#b"]), words, polarities)
sample = st.lists(tuples, max_size=6, unique=True)
policies = st.builds(
    MatchPolicy, st.sampled_from(["remove", "collapse"]), st.sampled_from(["multiset", "set"])
)
keys = st.sampled_from(KEYS)


def plain_counts(key, gold, pred, policy) -> tuple[int, int, int]:
    """The definition for one sample, with sets and Counters; implicit tuples of both sides count alike (D26)."""
    if key == "otepol":
        wanted, found = (
            {(term_key(x.term, policy), x.polarity) for x in side if x.term}
            for side in (gold, pred)
        )
        implicit, free = (
            Counter(x.polarity for x in {*side} if not x.term) for side in (gold, pred)
        )
        if policy.implicit == "set":
            implicit, free = Counter(set(implicit)), Counter(set(free))
    else:
        part = {"refpol": lambda x: x.ref, "attrpol": lambda x: x.ref.partition("#")[2]}[key]
        wanted, found = ({(part(x), x.polarity) for x in side if part(x)} for side in (gold, pred))
        implicit, free = Counter(), Counter()
    n_gold, n_pred = len(wanted) + implicit.total(), len(found) + free.total()
    free += Counter(polarity for _, polarity in found - wanted)
    tp = len(wanted & found) + (free & implicit).total()
    return tp, n_pred - tp, n_gold - tp


@given(sample, sample, policies, keys)
def test_counts_are_those_of_the_definition(gold, pred, policy, key) -> None:
    assert counts(key, gold, pred, policy) == plain_counts(key, gold, pred, policy)


def test_what_implicit_gold_matches_by_hand() -> None:
    # two implicit + of the gold, one + free beside the exact 향+: the tuple without a term stands for the first
    gold = [t("a#b", "향"), t("c#d", ""), t("e#f", "")]
    pred = [t("a#b", "향"), t("x#y", "색", "negative"), t("c#d", "")]
    match = matched("otepol", gold, pred, SPEC)
    assert match.missing == {("", "positive", "e#f")} and match.spurious == {("색", "negative")}
    # as a set both are one pair, which is found
    assert not matched("otepol", gold, pred, REFERENCE).missing
    # a tuple without a term is preferred to one with a term, whatever their order
    other = matched("otepol", [t("c#d", "")], [t("", "색"), t("", "")], SPEC)
    assert other.spurious == {("색", "positive")}
    no_ref = matched("refpol", [t("a#b", "향")], [t("", "향"), t("a#b", "색")], SPEC)
    assert not no_ref.missing and not no_ref.spurious


def test_the_metric_function_takes_any_spelling_of_a_tuple() -> None:
    gold = [{"aspect_ref": "본품·품질", "opinion_term": {"term": "향"}, "label": "pos"}]
    found = et.cr.tuple_f1(gold, [("본품/품질", "향", "positive")])
    assert (found.tp, found.fp, found.fn) == (1, 0, 0)
    assert et.cr.tuple_f1(gold, []).f1 == 0
    # gold without a pair under the key is not measured, but by the policy that counts it as 0
    bare = [("", "향", "positive")]
    assert math.isnan(et.cr.tuple_f1(bare, gold).f1)
    assert et.cr.tuple_f1(bare, gold, match="reference").f1 == 0
    assert et.cr.tuple_f1(gold, gold, key="otepol", match=MatchPolicy(spacing="collapse")).f1 == 1


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"key": "ref"}, "no key 'ref'; expected one of refpol, otepol, attrpol"),
        ({"match": "x"}, "no match policy 'x'"),
        ({"gold": [("본품#품질", "positive")]}, r"expected a dict or \(ref, term, polarity\), got"),
        ({"pred": ["pos"]}, r"expected a dict or \(ref, term, polarity\), got 'pos'"),
        ({"gold": [1]}, r"expected a dict or \(ref, term, polarity\), got 1"),
    ],
)
def test_the_metric_function_refuses_what_it_does_not_know(wrong: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        et.cr.tuple_f1(**{"gold": [], "pred": [], **wrong})


def test_a_missing_confidence_ranks_below_every_other() -> None:
    with_one, without = TupleRow(confidence=0.0), TupleRow()
    assert rank(without, "향") < rank(with_one, "향")
