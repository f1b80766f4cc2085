"""The protocol by hand: merging, conflict flags, votes, the arbiter's truth table, labels."""

from typing import Any

import pytest

from evaltools.suites.cr.inference.protocol import (
    Action,
    Actions,
    Candidate,
    Triplet,
    Triplets,
    Vote,
    arbitrate,
    conflicts,
    label,
    merge,
    votes,
)

REFS = ("본품#품질", "제품 전체#품질", "제품 전체#가격")
TEXT = "보습은 좋은데 향이 별로예요. SPF도 낮아요."


def triplet(
    term: str = "보습", ref: str | None = "본품#품질", polarity: str = "positive", **more: Any
) -> Triplet:
    fields: dict[str, Any] = {
        "aspect_term": term,
        "aspect_ref": ref,
        "polarity": polarity,
        "confidence": 0.8,
        **more,
    }
    return Triplet(**fields)


def candidate(
    name: str, ref: str = "본품#품질", term: str = "보습", polarity: str = "positive"
) -> Candidate:
    return {"tuple_id": name, "aspect_ref": ref, "aspect_term": term, "polarity": polarity}


def merged(**replies: list[Triplet]) -> tuple[list[Candidate], list[Any]]:
    refused: list[Any] = []
    by_lens = {lens: Triplets(triplets=triplets) for lens, triplets in replies.items()}
    return merge(by_lens, TEXT, REFS, refused), [tuple(one.values()) for one in refused]


def reviews(**said: list[Action]) -> dict[str, Actions]:
    return {actor: Actions(review_actions=actions) for actor, actions in said.items()}


def test_merging_joins_equal_tuples_and_keeps_where_they_came_from() -> None:
    found, _ = merged(
        P_NEG=[triplet(confidence=0.5), triplet("향", polarity="negative")],
        P_LIT=[triplet(confidence=0.9)],
    )
    names = ("tuple_id", "aspect_term", "polarity", "origin", "confidence")
    assert [tuple(c[name] for name in names) for c in found] == [
        ("t0", "보습", "positive", ["P_NEG", "P_LIT"], 0.9),
        ("t1", "향", "negative", ["P_NEG"], 0.8),
    ]
    assert [(c["span"]["start"], c["span"]["end"]) for c in found] == [
        (0, 2),
        (8, 9),
    ]  # found in the text: "보습은 좋은데 향"


def test_a_term_stands_in_the_text_as_the_text_writes_it() -> None:
    found, refused = merged(
        P_NEG=[triplet("spf"), triplet("보 습"), triplet("없는 말"), triplet("없는 말", None)]
    )
    assert [(c["aspect_term"], c["span"], c["flags"]) for c in found] == [
        ("SPF", {"start": 17, "end": 20}, ["invalid_language"]),
        ("보습", {"start": 0, "end": 2}, []),
        ("", None, []),
    ]
    assert refused == [("P_NEG", "없는 말", "neither a ref nor a term of the text")]
    assert len(merged(P_NEG=[triplet("", None)])[1]) == 1


def test_conflict_flags() -> None:
    found = conflicts(
        [
            candidate("t0"),
            candidate("t1", polarity="negative"),
            candidate("t2", ref="", term="향"),
            candidate("t3", ref="", term="향", polarity="negative"),
            candidate("t4", ref="제품 전체#품질"),
            candidate("t5", ref="제품 전체#가격", polarity="neutral"),
        ]
    )
    assert [tuple(conflict.values()) for conflict in found] == [
        ("ref_polarity_mismatch", "본품#품질", "", ["t0", "t1"]),
        ("term_polarity_mismatch", "", "향", ["t2", "t3"]),
        ("granularity_overlap_candidate", "제품 전체#품질", "", ["t0", "t4"]),
    ]
    assert conflicts([candidate("t0"), candidate("t1", ref="제품 전체#가격")]) == []


TABLE = [
    # votes of A, B, C (action, reason; FLIP with its polarity) -> the arbiter's action and reason
    ([("KEEP", "x"), ("KEEP", "y"), ("DROP", "z")], ("KEEP", "x")),
    ([("DROP", "x"), ("KEEP", "y"), ("DROP", "z")], ("DROP", "x")),
    ([("FLIP", "x", "negative"), ("FLIP", "y", "negative"), ("KEEP", "z")], ("FLIP", "x")),
    (
        [("FLIP", "NEGATION_SCOPE", "negative"), ("FLIP", "y", "neutral"), ("KEEP", "z")],
        ("FLAG", "POLARITY_UNCERTAIN"),
    ),
    ([("FLAG", "x"), ("FLAG", "y"), ("KEEP", "z")], ("FLAG", "x")),
    (
        [("FLIP", "NEGATION_SCOPE", "negative"), ("DROP", "WEAK_EVIDENCE"), ("KEEP", "z")],
        ("FLIP", "NEGATION_SCOPE"),
    ),
    (
        [("KEEP", "z"), ("DROP", "y"), ("FLIP", "CONTRAST_CLAUSE", "neutral")],
        ("FLIP", "CONTRAST_CLAUSE"),
    ),
    (
        [("FLIP", "x", "negative"), ("DROP", "WEAK_EVIDENCE"), ("KEEP", "z")],
        ("DROP", "WEAK_EVIDENCE"),
    ),
    (
        [("FLIP", "x", "negative"), ("DROP", "REDUNDANT_UPPER_REF"), ("KEEP", "z")],
        ("DROP", "REDUNDANT_UPPER_REF"),
    ),
    ([("FLIP", "x", "negative"), ("DROP", "y"), ("KEEP", "z")], ("FLAG", "POLARITY_UNCERTAIN")),
    ([("FLAG", "x"), ("DROP", "WEAK_EVIDENCE"), ("KEEP", "z")], ("FLAG", "POLARITY_UNCERTAIN")),
    ([("DROP", "x"), ("KEEP", "y")], ("FLAG", "POLARITY_UNCERTAIN")),
    ([("DROP", "x"), ("DROP", "y")], ("DROP", "x")),
    ([("DROP", "x")], ("FLAG", "POLARITY_UNCERTAIN")),
    ([], None),
]


def vote(actor: str, kind: str, reason: str, polarity: str = "", target: str = "t0") -> Vote:
    fields = {
        "action_type": kind,
        "reason_code": reason,
        "new_value": {"polarity": polarity} if polarity else None,
    }
    return Vote(actor=actor, target_tuple_ids=[target], **fields)


def ballot(cast: list[Any]) -> list[Vote]:
    return [vote(actor, *one) for actor, one in zip("ABC", cast)]


@pytest.mark.parametrize(("cast", "expected"), TABLE)
def test_the_arbiters_truth_table(cast: list[Any], expected: tuple[str, str] | None) -> None:
    found = arbitrate({"t0": ballot(cast)}, [])
    assert [(d.action_type, d.reason_code) for d in found.values()] == (
        [expected] if expected else []
    )


def test_a_granularity_conflict_with_c_against_is_flagged() -> None:
    of_size = [{"conflict_type": "granularity_overlap_candidate", "tuple_ids": ["t0"]}]
    both = ballot([("DROP", "x"), ("DROP", "y"), ("KEEP", "z")])
    minority = arbitrate({"t0": both}, of_size)["t0"]
    assert minority == vote("A", "FLAG", "FACET_MINORITY_SIGNAL") and minority.settled
    assert arbitrate({"t1": both}, of_size)["t1"].action_type == "DROP"  # another candidate
    with_c = ballot([("KEEP", "x"), ("DROP", "y"), ("DROP", "z")])
    assert arbitrate({"t0": with_c}, of_size)["t0"].action_type == "DROP"
    undecided = arbitrate({"t0": ballot([("DROP", "x"), ("KEEP", "y")])}, of_size)["t0"]
    assert (undecided.reason_code, undecided.settled) == ("REDUNDANT_REF_UNCERTAIN", False)


def action(kind: str, *ids: str, reason: str = "WEAK_EVIDENCE", polarity: Any = None) -> Action:
    new = {"polarity": polarity} if polarity else None
    return Action(action_type=kind, target_tuple_ids=list(ids), reason_code=reason, new_value=new)


def test_votes_refuse_what_it_was_not_asked_for() -> None:
    refused: list[Any] = []
    two = [
        candidate("t0"),
        candidate("t1", polarity="negative"),
        candidate("t2", ref="제품 전체#가격"),
    ]
    said = [
        action("DROP", "t9"),
        action("DROP", "t2"),
        action("FLIP", "t0"),
        action("KEEP", "t0", reason="because"),
    ]
    said += [action("MERGE", "t0"), action("DROP", "t0"), action("FLIP", "t1", polarity="neutral")]
    assert votes(reviews(A=said, B=[]), two, conflicts(two), refused) == {
        "t0": [vote("A", "KEEP", "WEAK_EVIDENCE")],  # MERGE counts as KEEP; B's silence abstains
        "t1": [vote("A", "FLIP", "WEAK_EVIDENCE", "neutral", "t1")],
        "t2": [],
    }
    assert [one["what"] for one in refused] == [
        "DROP t9 WEAK_EVIDENCE",  # no such candidate
        "DROP t2 WEAK_EVIDENCE",  # not flagged
        "FLIP t0 WEAK_EVIDENCE",  # without a polarity
        "KEEP t0 because",  # none of the reasons
        "DROP t0 WEAK_EVIDENCE",  # a second word
    ]


@pytest.mark.parametrize(
    ("polarities", "expected"),
    [
        ([], "neutral"),
        (["positive"], "positive"),
        (["neutral", "neutral"], "neutral"),
        (["positive", "neutral"], "mixed"),
    ],
)
def test_label(polarities: list[str], expected: str) -> None:
    assert label([candidate(str(i), polarity=p) for i, p in enumerate(polarities)]) == expected
