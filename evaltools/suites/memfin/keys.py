"""M1: the text that a memory key asks for, and the memories in which this text stands.

Source: memfin_metrics 3.1.1.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from .schema import ProfileTruth, RawTurn, Recall

SOURCES = ("short_term", "long_term", "profile")

_FIELD = re.compile(r"profile_gt\.(risk_level_gt|horizon_gt|liquidity_need_gt)")
_ITEM = re.compile(r"profile_gt\.(constraints_gt|preferences_gt)\[([0-9]+)\]")
_HISTORY = re.compile(r"history_turn_index:([0-9]+)")


@dataclass(frozen=True)
class ResolvedKey:
    """A memory key with the text that it asks for.

    target_text: null where there is none; the key then takes no part.
    resolver: how the text was found: profile_field, constraints_gt, preferences_gt,
        history_user_turn or history_absolute_turn; else no_target (the dialogue lacks the text) or
        not_a_key.
    """

    key: str
    resolvable: bool
    target_text: str | None
    resolver: str


@dataclass(frozen=True)
class History:
    """The texts of `raw_turns`.

    user: the user's texts of the aligned user/assistant pairs. all: every text.
    """

    user: tuple[str, ...]
    all: tuple[str, ...]


def align(raw_turns: Sequence[RawTurn]) -> History:
    """Pair each user turn with the next assistant turn.

    Turns between the two are skipped. A trailing user turn is dropped.

    >>> roles = ["user", "assistant", "user", "user", "assistant"]
    >>> align([RawTurn(role=role, text=f"text {n}") for n, role in enumerate(roles)]).user
    ('text 0', 'text 2')
    """
    paired = []
    waiting: str | None = None
    for turn in raw_turns:
        if turn.role == "user" and waiting is None:
            waiting = turn.text or ""
        elif turn.role == "assistant" and waiting is not None:
            paired.append(waiting)
            waiting = None
    return History(
        user=tuple(paired),
        all=tuple(turn.text or "" for turn in raw_turns),
    )


def resolve_key(
    key: str,
    profile: ProfileTruth | None,
    history: History,
) -> ResolvedKey:
    """The text that a memory key asks for.

    `profile_gt.FIELD`, `profile_gt.LIST[i]` (i from 0) or `history_turn_index:n`: the n-th user
    turn (from 1) of the aligned pairs, else the n-th turn of all. An empty text is no target,
    since it would stand in every memory.

    >>> history = History(user=("想买基金",), all=("想买基金", "好的"))
    >>> resolve_key("history_turn_index:1", None, history).target_text
    '想买基金'
    >>> resolve_key("profile_gt.constraints_gt[2]", None, history).resolver
    'no_target'
    """
    field = _FIELD.fullmatch(key)
    item = _ITEM.fullmatch(key)
    turn = _HISTORY.fullmatch(key)
    if field:
        target = getattr(profile, field[1], None)
        resolver = "profile_field"
    elif item:
        target = _nth(getattr(profile, item[1], None), item[2], first=0)
        resolver = item[1]
    elif turn:
        target = _nth(history.user, turn[1], first=1)
        resolver = "history_user_turn"
        if not target:
            target = _nth(history.all, turn[1], first=1)
            resolver = "history_absolute_turn"
    else:
        return ResolvedKey(key, False, None, "not_a_key")
    if not target:
        return ResolvedKey(key, False, None, "no_target")
    return ResolvedKey(key, True, target, resolver)


def _nth(
    texts: Sequence[str] | None,
    digits: str,
    first: int,
) -> str | None:
    """The text with this number, counted from `first`; None where there is none."""
    # int() does not read thousands of digits; 18 of them are beyond every list already
    number = int(digits.lstrip("0")[:18] or 0)
    index = number - first
    if texts and 0 <= index < len(texts):
        return texts[index]
    return None


def memories(recall: Recall | None) -> dict[str, str]:
    """The text of each memory, in the order of SOURCES; recalled items are joined by newlines."""
    if recall is None:
        return dict.fromkeys(SOURCES, "")
    contents = [item.content or "" for item in recall.items or ()]
    return {
        "short_term": recall.short_term_context or "",
        "long_term": "\n".join(contents),
        "profile": recall.profile_context or "",
    }


def hit_sources(target: str, memory: dict[str, str]) -> list[str]:
    """All memories in which the text stands, word for word.

    >>> hit_sources("稳健", {"short_term": "我偏稳健", "long_term": "", "profile": "稳健型"})
    ['short_term', 'profile']
    """
    return [source for source, text in memory.items() if target in text]
