"""Normal forms: the worked examples of seed cr_f1_metrics_examples."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaltools.suites.cr.schema import TupleRow
from evaltools.suites.cr.tuples import normalize_ref, normalize_term, read_tuple


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
def test_terms_in_read_tuple(given: str, normal: str) -> None:
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
def test_refs_in_read_tuple(given: str, normal: str) -> None:
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
    assert read_tuple(TupleRow(polarity=given)).polarity == normal


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
        (
            {"term": "본품#품질", "aspect_term": "향", "polarity": "neu"},
            ("본품#품질", "향", "neutral"),
        ),
        (
            {
                "aspect_ref": "본품#품질",
                "aspect_term": "향",
                "is_implicit": True,
                "polarity": "pos",
            },
            ("본품#품질", "", "positive"),
        ),
    ],
)
def test_spellings_of_a_tuple(row: dict, expected: tuple) -> None:
    assert read_tuple(TupleRow.model_validate(row)) == expected


def test_missing_gold_term_falls_back_to_the_ref_and_an_empty_one_stays_implicit() -> None:
    missing, empty = (
        TupleRow(aspect_ref="본품#품질"),
        TupleRow(aspect_ref="본품#품질", aspect_term=""),
    )
    assert read_tuple(missing, gold=True).term == "본품#품질"
    assert read_tuple(empty, gold=True).term == ""
    assert read_tuple(missing).term == ""


@given(st.text(max_size=30))
def test_normal_form_is_idempotent(text: str) -> None:
    assert normalize_term(normalize_term(text)) == normalize_term(text)
    assert normalize_ref(normalize_ref(text)) == normalize_ref(text)
