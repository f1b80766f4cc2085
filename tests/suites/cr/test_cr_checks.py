"""When the checks of Conflict Review must appear, and when they must not."""

from pathlib import Path
from typing import Any

import pytest

import evaltools as et
from evaltools.report.study_sentences import outcomes
from tests.suites.checks import found

from . import cards


def scored(
    folder: Path,
    golds: list[list],
    finals: list[list],
    more: dict[int, dict] | None = None,
    **options: Any,
) -> et.Run:
    """A run of samples with these gold and final tuples, (ref, term) each; `more` is of some outputs by number."""
    outputs = [
        cards.output(str(i), final=[cards.tup(*t) for t in final], **(more or {}).get(i, {}))
        for i, final in enumerate(finals)
    ]
    gold = [cards.gold(str(i), *(cards.tup(*t) for t in tuples)) for i, tuples in enumerate(golds)]
    return et.evaluate("cr", cards.run(folder, outputs, gold), **options)


GOLD = [[("본품#품질", "향")]] * 12
FOREIGN = [[("향#냄새", "향")]] * 12


@pytest.mark.parametrize("protocol", ["cr_v2", "cr_v1"])
def test_refs_that_the_gold_does_not_know_take_the_headline_away(
    tmp_path: Path, protocol: str
) -> None:
    run = scored(tmp_path / "r", GOLD, FOREIGN, protocol=protocol)
    check = found(run, "ref-outside-gold")
    assert check.level == "blocking" and (check.n, check.of) == (0, 12)
    assert check.message.startswith("The predictions use 1 refs and the gold 1, none in common")
    assert check.message.endswith(" Rerun with --protocol cr_v1.") == (protocol == "cr_v2")
    assert {"tuple_f1_s2_refpol", "fix_rate_refpol", "tuple_f1_s2_attrpol"} <= run.blocked
    # the protocol's short names and its representatives are by ref under cr_v2 only
    assert ({"tuple_f1_s2", "fix_rate", "tuple_f1_s2_after_rep"} <= run.blocked) == (
        protocol == "cr_v2"
    )
    # what compares predictions with each other, or by term, stands
    assert not {"tuple_f1_s2_otepol", "polarity_conflict_rate_refpol", "n"} & run.blocked
    assert run.headline[:2] == ("tuple_f1_s2_otepol", "tuple_f1_s1_otepol")
    assert not set(run.headline) & run.blocked
    assert run.by("text_id", "fix_rate_refpol")["blocked"].eq("ref-outside-gold").all()
    assert run.primary == "tuple_f1_s2_otepol" and run.value(run.primary) == 1.0


def test_attributes_that_match_are_not_blocked(tmp_path: Path) -> None:
    run = scored(tmp_path / "r", GOLD, [[("제품#품질", "향")]] * 12)
    assert found(run, "ref-outside-gold") is not None
    assert "tuple_f1_s2_attrpol" not in run.blocked and "tuple_f1_s2_refpol" in run.blocked


@pytest.mark.parametrize(
    ("golds", "finals", "of"),
    [
        (GOLD, FOREIGN, 12),
        (GOLD, [[("", "향")]] * 12, 12),  # no ref at all
        (GOLD, [[]] * 12, None),  # who predicts nothing is wrong, not measured wrongly
        ([[]] * 12, FOREIGN, None),  # no gold to be outside of
        (GOLD, [[(" 본품 # 품질", "향")]] * 12, None),  # written in another way
        # one ref of the gold is enough: of another polarity, or of another sample
        (GOLD, [[("본품#품질", "향", "negative")], *FOREIGN[1:]], None),
        ([*GOLD[:11], [("향#냄새", "색")]], [*FOREIGN[:11], [("x#y", "향")]], None),
    ],
)
def test_when_refs_are_outside_the_gold(
    tmp_path: Path, golds: list, finals: list, of: int | None
) -> None:
    check = found(scored(tmp_path / "r", golds, finals), "ref-outside-gold")
    assert (check and (check.n, check.of)) == (of and (0, of))


def test_empty_predictions_bound_the_f1(tmp_path: Path) -> None:
    golds = GOLD[:10] * 2
    check = found(scored(tmp_path / "two", golds, [*golds[:18], [], []]), "empty-predictions")
    assert (check.n, check.of, check.level) == (2, 20, "warning")
    assert (
        check.message
        == "2 of 20 samples with gold and a reply have no predicted tuple, and their F1 is 0"
    )
    # nothing in the gold: nothing to predict
    none = scored(tmp_path / "no-gold", [*golds[:10], *[[]] * 10], [*golds[:10], *[[]] * 10])
    assert found(none, "empty-predictions") is None


def test_predicted_tuples_without_a_ref_are_counted(tmp_path: Path) -> None:
    golds = GOLD[:2]
    finals = [[("", "향"), ("본품#품질", "색")], [("본품#품질", "향")]]
    run = scored(tmp_path / "r", [*golds, []], [*finals, [("", "값")]])
    check = found(run, "invalid-refs")
    # the third sample has no gold: its tuples are not used
    assert (check.n, check.of, check.level) == (1, 3, "warning")
    assert run.value("invalid_ref_count") == 1 and run.value("N_pred_used") == 3
    assert found(scored(tmp_path / "none", golds, golds), "invalid-refs") is None


def test_parse_failures(tmp_path: Path) -> None:
    golds = GOLD[:3]
    run = scored(
        tmp_path / "r",
        golds,
        [golds[0], golds[1], []],
        {1: {"error": "timeout"}, 2: {"error": "timeout"}},
    )
    check = found(run, "parse-failures")
    assert (check.n, check.of, check.level) == (2, 3, "warning")
    assert check.message.startswith("for 2 of 3 samples")
    assert "scored with the tuples that are left" in check.message
    assert found(scored(tmp_path / "fine", golds, golds), "parse-failures") is None


def test_samples_of_other_gold_do_not_pair(tmp_path: Path) -> None:
    golds = [[("본품#품질", "향"), ("색#일반", "색")]] * 12
    other = scored(tmp_path / "b", GOLD[:3] + [gold[::-1] for gold in golds[3:]], GOLD)
    assert et.compare(scored(tmp_path / "a", golds, GOLD), other).frame["n_other_texts"].eq(3).all()


def test_a_run_without_any_reply_means_nothing(tmp_path: Path) -> None:
    failed = {number: {"error": "HTTP status 500"} for number in range(12)}
    nothing = scored(tmp_path / "nothing", GOLD, [[]] * 12, failed)
    check = found(nothing, "parse-failures")
    assert (check.n, check.of, check.level) == (12, 12, "blocking")
    for shown in (et.compare(nothing, scored(tmp_path / "fine", GOLD, GOLD)), nothing):
        first = "No headline metric can be judged: for 12 of 12 samples the runner could not"
        assert outcomes(shown)[0].startswith(first)
