"""M1, context continuity: the texts that memory keys ask for, and constraints that a reply goes against.

Source: memfin_metrics 3.1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from .replies import LEXICON, Found, contains_any
from .schema import Dialog, Recall, Turn

SOURCES = ("short_term", "long_term", "profile")

# characters of each memory that the units keep for display: its last ones
CONTEXT_LIMIT = 1_000

_FIELD = re.compile(r"profile_gt\.(risk_level_gt|horizon_gt|liquidity_need_gt)")
_ITEM = re.compile(r"profile_gt\.(constraints_gt|preferences_gt)\[([0-9]{1,9})\]")
_HISTORY = re.compile(r"history_turn_index:([0-9]{1,9})")

# 3.15% is no 15%
_PERCENT = re.compile(r"(?<![0-9.])([0-9]+)\s*[%％]")

_DRAWDOWN = re.compile(
    re.escape(LEXICON["contradiction"]["drawdown_constraint"]) + r"\s*([0-9]+)\s*[%％]"
)


def continuity(
    dialog: Dialog,
    turn: Turn,
    ignore_memory_keys: bool,
) -> Found:
    """M1: which required keys stand in which memory, and what the reply goes against."""
    raw_keys = [] if ignore_memory_keys else turn.gt_turn_tags.memory_required_keys_gt
    memory = memories(turn.recall)
    keys = [resolve_key(key, dialog) for key in dict.fromkeys(raw_keys)]
    sources = [hit_sources(key["target_text"], memory) for key in keys]
    # a key that could not be resolved takes no part
    measured = [bool(hits) for key, hits in zip(keys, sources) if key["resolvable"]]
    source_hits = {name: sum(name in hits for hits in sources) for name in SOURCES}
    broken = contradictions(turn.pred_assistant_text, dialog.profile_gt.constraints_gt)
    columns = {
        "required_keys_raw": raw_keys,
        "resolved_keys": keys,
        "key_hit_flags": [int(bool(h)) if k["resolvable"] else None for k, h in zip(keys, sources)],
        "key_hit_sources": sources,
        "m1_source_hits": source_hits,
        "constraint_contradiction": int(bool(broken)),
        "contradicted_constraints": broken,
        "context": _context(memory),
    }
    sums = {
        "keys": len(measured),
        "hits": sum(measured),
        "strict": all(measured),
        "contradiction": bool(broken),
        **{f"{name}_hits": n_hits for name, n_hits in source_hits.items()},
    }
    return columns, sums if measured else {}


def resolve_key(key: str, dialog: Dialog) -> dict[str, Any]:
    """A memory key with the text that it asks for: key, resolvable, target_text, resolver.

    `profile_gt.FIELD`, `profile_gt.LIST[i]` (i from 0) or `history_turn_index:n`: the n-th user turn (from 1) of the
    aligned pairs, else the n-th turn of all. `resolver` says how the text was found: profile_field, constraints_gt,
    preferences_gt, history_user_turn or history_absolute_turn; else no_target (the dialogue lacks the text) or
    not_a_key. An empty text is no target, since it would stand in every memory.

    >>> dialog = Dialog(dialog_id="d", valid_dialog=True, profile_gt={"horizon_gt": "2年以上"})
    >>> resolve_key("profile_gt.horizon_gt", dialog)["target_text"]
    '2年以上'
    >>> resolve_key("profile_gt.constraints_gt[2]", dialog)["resolver"]
    'no_target'
    """
    resolver, target = "not_a_key", ""
    if field := _FIELD.fullmatch(key):
        resolver, target = "profile_field", getattr(dialog.profile_gt, field[1])
    elif item := _ITEM.fullmatch(key):
        resolver, target = item[1], _nth(getattr(dialog.profile_gt, item[1]), int(item[2]))
    elif turn := _HISTORY.fullmatch(key):
        index = int(turn[1]) - 1
        resolver, target = "history_user_turn", _nth(dialog.user_texts, index)
        if not target:
            resolver = "history_absolute_turn"
            target = _nth([turn.text for turn in dialog.raw_turns], index)
    is_known = resolver != "not_a_key"
    return {
        "key": key,
        "resolvable": target != "",
        "target_text": target or None,
        "resolver": "no_target" if is_known and not target else resolver,
    }


def _nth(texts: Sequence[str], index: int) -> str:
    """The text at this index; "" where there is none."""
    return texts[index] if 0 <= index < len(texts) else ""


def memories(recall: Recall) -> dict[str, str]:
    """The text of each memory, in the order of SOURCES; recalled items are joined by newlines."""
    long_term = "\n".join(item.content for item in recall.items)
    return dict(zip(SOURCES, (recall.short_term_context, long_term, recall.profile_context)))


def hit_sources(target: str | None, memory: dict[str, str]) -> list[str]:
    """All memories in which the text stands, word for word; none for a key without a text.

    >>> hit_sources("稳健", {"short_term": "我偏稳健", "long_term": "", "profile": "稳健型"})
    ['short_term', 'profile']
    """
    return [source for source, text in memory.items() if target and target in text]


def _context(memory: dict[str, str]) -> str:
    """What the system remembered, one part a source; a long one is cut to its end and says so."""
    parts = []
    for source, text in memory.items():
        n_cut = len(text) - CONTEXT_LIMIT
        if n_cut > 0:
            text = f"({n_cut} characters before) … {text[-CONTEXT_LIMIT:]}"
        if text:
            parts.append(f"[{source}] {text}")
    return "\n\n".join(parts)


def contradictions(reply: str, constraints: Iterable[str]) -> list[str]:
    """The constraints of the user that the reply speaks against (memfin_metrics 3.1.1).

    最大回撤<N%: the reply speaks of drawdown (回撤) and names a whole percentage above N. Any other constraint: one of
    its words stands in the reply, and no warning does.

    >>> contradictions("回撤可能到15%，可以用杠杆", ["最大回撤<10%", "不使用杠杆"])
    ['最大回撤<10%', '不使用杠杆']
    >>> contradictions("不建议加杠杆", ["不使用杠杆"])
    []
    """
    rule = LEXICON["contradiction"]
    # as floats: int() does not read a number of thousands of digits
    highest = max(map(float, _PERCENT.findall(reply)), default=0.0)
    warns = contains_any(rule["warnings"], reply)
    broken = []
    for constraint in constraints:
        if limit := _DRAWDOWN.search(constraint):
            is_broken = rule["drawdown_word"] in reply and highest > float(limit[1])
        else:
            is_broken = not warns and contains_any(rule["constraints"].get(constraint, ()), reply)
        if is_broken:
            broken.append(constraint)
    return broken
