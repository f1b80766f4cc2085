"""Text from data as a reader may see it: what cannot be seen, or reorders what can, is spelled out."""

from __future__ import annotations

import re
from collections.abc import Callable

# controls but for tab and line feed, invisible and bidirectional controls, lone surrogates, tags, noncharacters
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffc\ufffe\uffff"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def visible(text: str, mark: Callable[[str], str] = "[{}]".format) -> str:
    """`text` with every control, bidirectional or invisible character replaced by its code point.

    >>> visible("a\u202eb")
    'a[U+202E]b'
    """
    return _UNSEEN.sub(lambda m: mark(f"U+{ord(m[0]):04X}"), text.replace("\r\n", "\n"))
