"""M1: what a memory key asks for, and in which of the system's memories that text stands.

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
    """A key with the text that it asks for; `target_text` is None where there is none to be found.

    `resolver` says how: profile_field, constraints_gt, preferences_gt, history_user_turn,
    history_absolute_turn; no_target (a key whose text the dialogue lacks) or not_a_key.
    """

    key: str
    resolvable: bool
    target_text: str | None
    resolver: str


@dataclass(frozen=True)
class History:
    """The script: `user` texts of the aligned user/assistant pairs, `all` texts, number of `unpaired` user turns."""

    user: tuple[str, ...]
    all: tuple[str, ...]
    unpaired: int


def align(raw_turns: Sequence[RawTurn]) -> History:
    """Pair each user turn with the next assistant turn.

    What stands between the two is skipped, a trailing user turn dropped.
    """
    paired: list[str] = []
    waiting: str | None = None
    users = 0
    for turn in raw_turns:
        if turn.role == "user":
            users += 1
            if waiting is None:
                waiting = turn.text or ""
        elif turn.role == "assistant" and waiting is not None:
            paired.append(waiting)
            waiting = None
    return History(tuple(paired), tuple(t.text or "" for t in raw_turns), users - len(paired))


def resolve_key(key: str, profile: ProfileTruth | None, history: History) -> ResolvedKey:
    """The text that a memory key asks for. An empty text is no target: it would stand in every memory."""
    target, resolver = None, "not_a_key"
    if m := _FIELD.fullmatch(key):
        target, resolver = getattr(profile, m[1], None), "profile_field"
    elif m := _ITEM.fullmatch(key):
        target, resolver = _nth(getattr(profile, m[1], None), m[2], 0), m[1]
    elif m := _HISTORY.fullmatch(key):
        target, resolver = _nth(history.user, m[1], 1), "history_user_turn"
        if not target:
            target, resolver = _nth(history.all, m[1], 1), "history_absolute_turn"
    if not target and resolver != "not_a_key":
        resolver = "no_target"
    return ResolvedKey(key, bool(target), target or None, resolver)


def _nth(texts: Sequence[str] | None, digits: str, first: int) -> str | None:
    """The text of that number, the texts being numbered from `first`; None where there is none."""
    # cut, as int() does not read thousands of digits: the number is beyond every list all the same
    place = int(digits.lstrip("0")[:18] or 0) - first
    return texts[place] if texts and 0 <= place < len(texts) else None


def memories(recall: Recall | None) -> dict[str, str]:
    """The text of each memory source, in the order of SOURCES."""
    recall = recall or Recall()
    return {
        "short_term": recall.short_term_context or "",
        "long_term": "\n".join(item.content or "" for item in recall.items or ()),
        "profile": recall.profile_context or "",
    }


def hit_sources(target: str, memory: dict[str, str]) -> list[str]:
    """All sources in which the text stands, word for word."""
    return [source for source, text in memory.items() if target in text]
