"""Normal forms and matching: the worked examples of seed cr_f1_metrics_examples, with the arithmetic."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaltools.cr.schema import TupleRow
from evaltools.cr.tuples import (
    KEYS,
    POLICIES,
    EvalTuple,
    Match,
    MatchPolicy,
    attr_pairs,
    eval_tuple,
    eval_tuples,
    match,
    normalize_polarity,
    normalize_ref,
    normalize_term,
    ref_pairs,
    term_pairs,
)

SPEC, REFERENCE = POLICIES["spec"], POLICIES["reference"]


def t(ref: str = "", term: str = "", polarity: str = "positive") -> EvalTuple:
    return eval_tuple(TupleRow(aspect_ref=ref, aspect_term=term, polarity=polarity))


@pytest.mark.parametrize(
    ("given", "normal"),
    [
        ("레몬그라스 향", "레몬그라스 향"),
        ("EWG 1등급 보습제", "ewg 1등급 보습제"),
        ("  사이즈 \t 감 ", "사이즈 감"),
        ("“2 in 1”.", "2 in 1"),
        ("(용기)!", "용기"),
        ("#아이립밤", "#아이립밤"),
        ("...", ""),
    ],
)
def test_terms_in_normal_form(given: str, normal: str) -> None:
    assert normalize_term(given) == normal


@pytest.mark.parametrize(
    ("given", "normal"),
    [
        ("제품 전체#일반", "제품 전체#일반"),
        ("제품  전체 # 일반", "제품 전체#일반"),
        ("패키지·구성품#편의성", "패키지/구성품#편의성"),
        ("패키지ㆍ구성품#편의성", "패키지/구성품#편의성"),
    ],
)
def test_refs_in_normal_form(given: str, normal: str) -> None:
    assert normalize_ref(given) == normal


@pytest.mark.parametrize(
    ("given", "normal"),
    [
        ("pos", "positive"),
        ("NEG", "negative"),
        ("neu", "neutral"),
        ("mixed", "mixed"),
        (None, "neutral"),
        ("?", "neutral"),
    ],
)
def test_polarities(given: str | None, normal: str) -> None:
    assert normalize_polarity(given) == normal


def test_decomposed_hangul_is_the_same_term() -> None:
    assert normalize_term(unicodedata.normalize("NFD", "레몬그라스 향")) == "레몬그라스 향"


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (
            {
                "aspect_ref": "본품#품질",
                "aspect_term": {"term": "향", "span": {"start": 0, "end": 1}},
                "polarity": "pos",
            },
            ("본품#품질", "향", "positive"),
        ),
        (
            {"aspect_ref": "본품#품질", "opinion_term": {"term": "향"}, "label": "negative"},
            ("본품#품질", "향", "negative"),
        ),
        ({"term": "본품#품질", "aspect_term": "향", "polarity": "neu"}, ("본품#품질", "향", "neutral")),
        (
            {"aspect_ref": "본품#품질", "aspect_term": "향", "is_implicit": True, "polarity": "pos"},
            ("본품#품질", "", "positive"),
        ),
    ],
)
def test_spellings_of_a_tuple(row: dict, expected: tuple) -> None:
    assert eval_tuple(TupleRow.model_validate(row)) == expected


def test_missing_gold_term_falls_back_to_the_ref_and_an_empty_one_stays_implicit() -> None:
    missing, empty = TupleRow(aspect_ref="본품#품질"), TupleRow(aspect_ref="본품#품질", aspect_term="")
    assert eval_tuple(missing, gold=True).term == "본품#품질"
    assert eval_tuple(empty, gold=True).term == ""
    assert eval_tuple(missing).term == ""


def test_pairs_of_section_4() -> None:
    gold = [
        t("제품 전체#일반", "아이립밤"),
        t("패키지/구성품#편의성", "사이즈"),
        t("브랜드#품질", "", "negative"),
        t("본품#일반", "대용량"),
    ]
    assert ref_pairs(gold) == {
        ("제품 전체#일반", "positive"),
        ("패키지/구성품#편의성", "positive"),
        ("브랜드#품질", "negative"),
        ("본품#일반", "positive"),
    }


def test_ref_match_of_section_4_3() -> None:
    # gold {전체#일반, 구성품#편의성, 브랜드#품질-, 본품#일반}, pred {전체#품질, 구성품#편의성}
    # TP = 1 (구성품#편의성), FP = 2 - 1 = 1, FN = 4 - 1 = 3; P = 1/2, R = 1/4, F1 = 2*(1/8)/(3/4) = 1/3
    gold = [t("제품 전체#일반"), t("패키지/구성품#편의성"), t("브랜드#품질", "", "negative"), t("본품#일반")]
    pred = [t("제품 전체#품질", "아이립밤"), t("패키지/구성품#편의성", "사이즈")]
    found = match("refpol", gold, pred, SPEC)
    assert found == (1, 1, 3)
    assert found.f1 == pytest.approx(1 / 3)


def test_empty_ref_does_not_count_under_refpol() -> None:
    assert match("refpol", [t("본품#일반")], [t("", "향")], SPEC) == (0, 0, 1)


def test_term_match_of_section_5_2() -> None:
    # 레몬그라스 향 and 레몬그라스향 are the same; a taxonomy ref in the place of the term is not
    gold = [t("본품#일반", "레몬그라스 향")]
    assert match("otepol", gold, [t("", "레몬그라스 향")], SPEC).tp == 1
    assert match("otepol", gold, [t("", "레몬그라스향")], SPEC).tp == 1
    assert match("otepol", gold, [t("", "레몬그라스향")], REFERENCE).tp == 0
    assert match("otepol", gold, [t("", "본품#일반")], SPEC) == (0, 1, 1)
    assert term_pairs([t("", "레몬그라스 향")], REFERENCE) == {("레몬그라스 향", "positive")}


def test_attributes_of_section_6() -> None:
    refs = ("제품 전체#일반", "본품#품질", "패키지/구성품#편의성")
    tuples = [t(r) for r in refs] + [t("브랜드#인지도", "", "negative"), t("브랜드"), t("브랜드#")]
    assert attr_pairs(tuples) == {
        ("일반", "positive"),
        ("품질", "positive"),
        ("편의성", "positive"),
        ("인지도", "negative"),
    }


def test_implicit_gold_of_section_7_is_a_multiset() -> None:
    # gold has ("", positive) twice; two positive predictions match one each: TP = 2, FP = 0, FN = 0
    gold = [t("제품 전체#품질"), t("본품#일반")]
    pred = [t("제품 전체#품질", "제품"), t("본품#일반", "본품")]
    assert match("otepol", gold, pred, SPEC) == (2, 0, 0)
    # as a set the pair counts once: TP = 1, FP = 2 - 1, FN = 1 - 1
    assert match("otepol", gold, pred, REFERENCE) == (1, 1, 0)


def test_implicit_gold_takes_only_predictions_that_no_exact_match_used() -> None:
    # 향+ is matched exactly; the implicit + finds no other positive prediction: TP = 1, FP = 0, FN = 1
    gold = [t("a#b", "향"), t("c#d", "")]
    assert match("otepol", gold, [t("", "향")], SPEC) == (1, 0, 1)
    # a free negative one does not help: TP = 1, FP = 1, FN = 1
    assert match("otepol", gold, [t("", "향"), t("", "색", "negative")], SPEC) == (1, 1, 1)


@pytest.mark.parametrize(
    ("counts", "f1"),
    [((0, 0, 0), 0.0), ((0, 3, 2), 0.0), ((2, 0, 0), 1.0), ((1, 1, 0), 2 / 3), ((2, 1, 3), 0.5)],
)
def test_f1_of_section_8(counts: tuple[int, int, int], f1: float) -> None:
    # (2, 1, 3): P = 2/3, R = 2/5, F1 = 2 * (4/15) / (16/15) = 1/2
    assert Match(*counts).f1 == pytest.approx(f1)


words = st.sampled_from(["향", "레몬 향", "레몬향", "사이즈", "", "A"])
tuples = st.builds(
    t, st.sampled_from(["a#b", "a#c", "d", "", "e·f#b"]), words, st.sampled_from(["positive", "negative", "neutral"])
)
samples = st.lists(tuples, max_size=6).map(lambda rows: list(dict.fromkeys(rows)))
policies = st.builds(MatchPolicy, st.sampled_from(["remove", "collapse"]), st.sampled_from(["multiset", "set"]))


@given(samples, samples, policies, st.sampled_from(KEYS))
def test_counts_are_sane_and_independent_of_order(gold, pred, policy, key) -> None:
    found = match(key, gold, pred, policy)
    assert min(found) >= 0
    assert 0 <= found.f1 <= 1
    assert match(key, gold[::-1], pred[::-1], policy) == found
    assert (found.f1 == 1) == (found.exact and found.tp > 0)


@given(samples, policies, st.sampled_from(KEYS))
def test_a_prediction_equal_to_explicit_gold_is_right(gold, policy, key) -> None:
    explicit = [g for g in gold if g.term]
    assert match(key, explicit, explicit, policy).exact


@given(samples)
def test_normal_forms_are_stable(rows) -> None:
    again = [TupleRow(aspect_ref=r.ref, aspect_term=r.term, polarity=r.polarity) for r in rows]
    assert eval_tuples(again) == rows


@given(st.text(max_size=30))
def test_normal_form_is_idempotent(text: str) -> None:
    assert normalize_term(normalize_term(text)) == normalize_term(text)
    assert normalize_ref(normalize_ref(text)) == normalize_ref(text)
