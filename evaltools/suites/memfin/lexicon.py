"""The word lists that the five measures match by: lexicon.json.

The order of the entries counts: where several could match, the first wins.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ...core.files import bytes_hash, dumps

FILE = Path(__file__).with_name("lexicon.json")

LEXICON: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))

IDENTITY = f"{LEXICON['name']}@{LEXICON['version']}/{bytes_hash(dumps(LEXICON).encode())[:12]}"
"""name@version/hash of the word lists: it goes into the policy and the signature."""


def contains_any(
    words: Iterable[str],
    text: str,
) -> bool:
    """Whether one of the words stands in the text.

    >>> contains_any(["波动", "回撤"], "净值有波动")
    True
    """
    return any(word in text for word in words)


def first_match(
    lists: dict[str, list[str]],
    text: str,
) -> str | None:
    """The first name of which a word stands in the text; None where there is none.

    >>> first_match({"low": ["保守"], "high": ["激进"]}, "我比较激进")
    'high'
    """
    for name, words in lists.items():
        if contains_any(words, text):
            return name
    return None
