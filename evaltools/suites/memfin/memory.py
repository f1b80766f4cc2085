"""M1, context continuity: the texts that memory keys ask for, and constraints that a reply goes against.

Source: memfin_metrics 3.1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .lexicon import Contradiction, contains_any
from .schema import Dialog, ProfileTruth, RawTurn, Recall, Turn

SOURCES = ("short_term", "long_term", "profile")

CONTEXT_LIMIT = 1_000
"""Characters of each memory that the units keep for display."""

_FIELD = re.compile(r"profile_gt\.(risk_level_gt|horizon_gt|liquidity_need_gt)")
_ITEM = re.compile(r"profile_gt\.(constraints_gt|preferences_gt)\[([0-9]+)\]")
_HISTORY = re.compile(r"history_turn_index:([0-9]+)")

# 3.15% is no 15%
_PERCENT = re.compile(r"(?<![0-9.])([0-9]+)\s*[%％]")


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


def memory_columns(
    dialog: Dialog,
    turn: Turn,
    history: History,
    rule: Contradiction,
    ignore_memory_keys: bool,
) -> dict[str, Any]:
    """The M1 columns of a turn: which required keys stand in which memory, and what the reply goes against."""
    raw_keys: list[str] = []
    if not ignore_memory_keys:
        raw_keys = list(turn.tags.memory_required_keys_gt or ())
    memory = memories(turn.recall)
    resolved_keys = []
    flags = []
    all_sources = []
    source_hits = dict.fromkeys(SOURCES, 0)
    for key in dict.fromkeys(raw_keys):
        resolved = resolve_key(key, dialog.profile_gt, history)
        sources: list[str] = []
        flag = None  # the key could not be resolved and takes no part
        if resolved.target_text:
            sources = hit_sources(resolved.target_text, memory)
            flag = int(bool(sources))
        for source in sources:
            source_hits[source] += 1
        resolved_keys.append(vars(resolved))
        flags.append(flag)
        all_sources.append(sources)

    constraints = dialog.profile_gt.constraints_gt if dialog.profile_gt else None
    broken = contradictions(turn.reply, constraints or (), rule)
    measured = [flag for flag in flags if flag is not None]
    is_eligible = turn.is_answered and bool(measured)
    columns = {
        "eligible_m1": is_eligible,
        "required_keys_raw": raw_keys,
        "resolved_keys": resolved_keys,
        "key_hit_flags": flags,
        "key_hit_sources": all_sources,
        "m1_source_hits": source_hits,
        "constraint_contradiction": int(bool(broken)),
        "contradicted_constraints": broken,
        "context": _context(memory),
    }
    if is_eligible:
        columns["m1_keys"] = len(measured)
        columns["m1_hits"] = sum(measured)
        columns["m1_strict"] = all(measured)
        columns["m1_contradiction"] = bool(broken)
        for source, n_hits in source_hits.items():
            columns[f"m1_{source}_hits"] = n_hits
    return columns


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


def _context(memory: Mapping[str, str]) -> str:
    """What the system remembered, one part a source; a long one is cut to its end and says so."""
    parts = []
    for source, text in memory.items():
        n_cut = len(text) - CONTEXT_LIMIT
        if n_cut > 0:
            text = f"({n_cut} characters before) … {text[-CONTEXT_LIMIT:]}"
        if text:
            parts.append(f"[{source}] {text}")
    return "\n\n".join(parts)


def contradictions(
    reply: str,
    constraints: Iterable[str],
    rule: Contradiction,
) -> list[str]:
    """The constraints of the user that the reply speaks against (memfin_metrics 3.1.1).

    最大回撤<N%: the reply speaks of drawdown (回撤) and names a whole percentage above N. Any other
    constraint: one of its words stands in the reply, and no warning does.

    >>> from evaltools.suites.memfin.lexicon import load_lexicon
    >>> rule = load_lexicon().contradiction
    >>> contradictions("回撤可能到15%，可以用杠杆", ["最大回撤<10%", "不使用杠杆"], rule)
    ['最大回撤<10%', '不使用杠杆']
    >>> contradictions("不建议加杠杆", ["不使用杠杆"], rule)
    []
    """
    broken = []
    for constraint in constraints:
        if _breaks_drawdown(reply, constraint, rule) or _breaks_words(reply, constraint, rule):
            broken.append(constraint)
    return broken


def _breaks_drawdown(
    reply: str,
    constraint: str,
    rule: Contradiction,
) -> bool:
    if rule.drawdown_word not in reply:
        return False
    limit = re.search(re.escape(rule.drawdown_constraint) + r"\s*([0-9]+)\s*[%％]", constraint)
    if limit is None:
        return False
    # as floats: int() does not read a number of thousands of digits
    highest = float(limit[1])
    return any(float(percentage) > highest for percentage in _PERCENT.findall(reply))


def _breaks_words(
    reply: str,
    constraint: str,
    rule: Contradiction,
) -> bool:
    words = rule.constraints.get(constraint, ())
    return contains_any(words, reply) and not contains_any(rule.warnings, reply)
