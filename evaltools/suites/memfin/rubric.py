"""M5, explainability: the rubric elements that a reply must have, and those that it has, by its words.

Source: memfin_metrics 3.5.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .lexicon import contains_any
from .schema import Turn


def rubric_columns(turn: Turn, word_lists: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """The M5 columns of a turn: which required elements the reply has, and its score 1 + 4 * hit rate."""
    elements = turn.tags.explainability_rubric_gt or ()
    required = list(dict.fromkeys(element for element in elements if element))
    present = rubric_hits(turn.reply, required, word_lists)
    is_eligible = turn.is_answered and bool(required)
    columns = {
        "eligible_m5": is_eligible,
        "rubric_required": required,
        "rubric_hit_items": present,
        "judge_score_1_5": None,
        "missed_elements": [element for element in required if element not in present],
    }
    if is_eligible:
        columns["judge_score_1_5"] = 1 + 4 * len(present) / len(required)
        columns["m5_elements"] = len(required)
        columns["m5_hits"] = len(present)
        columns["m5_score"] = columns["judge_score_1_5"]
    return columns


def rubric_hits(
    reply: str,
    required: Iterable[str],
    word_lists: Mapping[str, Sequence[str]],
) -> list[str]:
    """The required rubric elements that are present.

    An element is present where one of its words stands in the reply. An element without a word
    list is its own word.

    >>> rubric_hits("先看指标，再决定", ["信息依据", "边界声明"], {"信息依据": ["数据", "指标"]})
    ['信息依据']
    """
    present = []
    for element in required:
        words = word_lists.get(element, (element,))
        if contains_any(words, reply):
            present.append(element)
    return present
