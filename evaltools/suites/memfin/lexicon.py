"""The word lists that the five measures match by. Their order counts: where several could match, the first wins."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

LEXICON: dict[str, Any] = json.loads(
    Path(__file__).with_name("lexicon.json").read_text(encoding="utf-8")
)


def contains_any(words: Iterable[str], text: str) -> bool:
    """Whether one of the words stands in the text.

    >>> contains_any(["波动", "回撤"], "净值有波动")
    True
    """
    return any(word in text for word in words)


def first_match(lists: Mapping[str, Sequence[str]], text: str) -> str | None:
    """The first name of which a word stands in the text; None where there is none.

    >>> first_match({"low": ["保守"], "high": ["激进"]}, "我比较激进")
    'high'
    """
    return next((name for name, words in lists.items() if contains_any(words, text)), None)
