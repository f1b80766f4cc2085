"""M1: what a key asks for, and where it is found (memfin_metrics 3.1.1)."""

import pytest

from evaltools.suites.memfin.rules import continuity, resolve_key
from evaltools.suites.memfin.schema import Dialog, ProfileTruth, RawTurn, Turn
from tests.suites.memfin.memfin_traces import PROFILE

PROFILE_TRUTH = ProfileTruth.model_validate(PROFILE)


def script(*roles_and_texts: str) -> list[RawTurn]:
    """ "u:text" is a user turn, "a:text" an assistant turn, "s:text" one of a third role."""
    roles = {"u": "user", "a": "assistant", "s": "system"}
    return [RawTurn(role=roles[t[0]], text=t[2:]) for t in roles_and_texts]


def dialog(profile: ProfileTruth, *texts: str) -> Dialog:
    raw_turns = script(*texts)
    return Dialog(dialog_id="d", valid_dialog=True, profile_gt=profile, raw_turns=raw_turns)


TEXTS = ("u:一", "a:甲", "u:二", "a:乙", "u:三")


@pytest.mark.parametrize(
    ("key", "target", "resolver"),
    [
        ("profile_gt.risk_level_gt", "稳健", "profile_field"),
        ("profile_gt.constraints_gt[0]", "不使用杠杆", "constraints_gt"),
        ("profile_gt.preferences_gt[1]", "高等级信用债", "preferences_gt"),
        ("history_turn_index:1", "一", "history_user_turn"),
        ("history_turn_index:2", "二", "history_user_turn"),
        # two pairs only: the 3rd and 4th absolute turns stand in
        ("history_turn_index:3", "二", "history_absolute_turn"),
        ("history_turn_index:4", "乙", "history_absolute_turn"),
        ("history_turn_index:6", None, "no_target"),
        ("profile_gt.constraints_gt[2]", None, "no_target"),
        ("profile_gt.constraints_gt", None, "not_a_key"),
        ("profile_gt.age_gt", None, "not_a_key"),
        ("history_turn_index:two", None, "not_a_key"),
        ("", None, "not_a_key"),
    ],
)
def test_resolve(key: str, target: str | None, resolver: str) -> None:
    assert resolve_key(key, dialog(PROFILE_TRUTH, *TEXTS)) == {
        "key": key,
        "resolvable": target is not None,
        "target_text": target,
        "resolver": resolver,
    }


def test_an_empty_text_is_no_target() -> None:
    """It would be a substring of every memory."""
    empty = ProfileTruth(risk_level_gt="", constraints_gt=[""])
    assert not resolve_key("profile_gt.risk_level_gt", dialog(empty))["resolvable"]
    assert not resolve_key("profile_gt.constraints_gt[0]", dialog(empty))["resolvable"]
    assert not resolve_key("profile_gt.risk_level_gt", dialog(ProfileTruth()))["resolvable"]


def test_alignment() -> None:
    """A user turn pairs with the next assistant turn; what is between is skipped, a trailing user turn dropped."""
    texts = ("a:开场", "u:一", "s:提示", "u:插话", "a:甲", "a:补充", "u:二", "a:乙", "u:尾")
    assert dialog(ProfileTruth(), *texts).user_texts == ["一", "二"]


def test_sources() -> None:
    keys = [
        f"profile_gt.{name}" for name in ("risk_level_gt", "constraints_gt[0]", "preferences_gt[0]")
    ]
    recall = {
        "short_term_context": "用户：我偏稳健",
        "profile_context": "风险：稳健",
        "items": [{"content": "不使用"}, {"content": "杠杆"}],
    }
    turn = Turn(
        turn_pair_id=1,
        turn_status="ok",
        recall=recall,
        gt_turn_tags={"memory_required_keys_gt": keys},
    )
    truth = {"risk_level_gt": "稳健", "constraints_gt": ["不使用杠杆"], "preferences_gt": ["杠杆"]}
    columns, _ = continuity(Dialog(dialog_id="d", valid_dialog=True, profile_gt=truth), turn, False)
    # the recalled items are joined by newlines, so a text does not run on from one into the next
    assert columns["key_hit_sources"] == [["short_term", "profile"], [], ["long_term"]]
