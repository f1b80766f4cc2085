"""Text from data as a reader may see it: escaped, isolated, folded where long, and with nothing hidden in it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import Any
from unicodedata import east_asian_width

from markupsafe import Markup, escape

from ..core.language import say

LONG = 600
"""Texts longer than this many characters are folded."""

PREVIEW = 160
"""Characters of a folded text that are shown."""

# characters from which on a cell of a table is wide, and up to which an id is not broken
WIDE, WORD = 60, 36

LONG_NAME = re.compile(r"[^\s“”]{49,}")
"""A name that would take lines of a title, or the head of a column."""

CLIP = 100_000
"""Characters of one field that are shown; the files beside the report hold it whole."""

# controls but for tab and line feed, invisible and bidirectional controls, lone surrogates, tags, noncharacters
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffc\ufffe\uffff"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


def visible(
    text: str,
    mark: Callable[[str], str] = "[{}]".format,
) -> str:
    """`text` with every control, bidirectional or invisible character replaced by its code point.

    >>> visible("a\u202eb")
    'a[U+202E]b'
    """
    return _UNSEEN.sub(lambda m: mark(f"U+{ord(m[0]):04X}"), text.replace("\r\n", "\n"))


def safe(
    value: Any,
    clip: int = CLIP,
) -> Markup:
    """Text from data as HTML: escaped, in a <bdi>, unseen characters marked; folded where long, and cut after `clip`."""
    text = str(value)
    if len(text) <= LONG:
        return Markup("<bdi>{}</bdi>").format(marked(text))
    note = say("{n:,} characters", n=len(text))
    if len(text) > clip:
        note += say(", the first {n:,} shown", n=clip)
    beginning = " ".join(text[:PREVIEW].split())
    return Markup(
        '<details class="et-long"><summary><bdi>{}</bdi>… <span class="et-muted">({})</span></summary>'
        '<div class="et-scroll" tabindex="0"><bdi>{}</bdi></div></details>'
    ).format(marked(beginning), note, marked(text[:clip]))


def marked(text: str) -> Markup:
    # escaping first leaves the marks below the only markup; no escape sequence holds an unseen character
    return Markup(visible(str(escape(text)), '<span class="et-ctl">{}</span>'.format))


def clipped(text: str, limit: int = 200) -> str:
    """Text from data, made visible and cut after so many letters.

    >>> clipped("a name that is long", 6)
    'a name…'
    """
    seen = visible(text[: limit + 1])
    return seen if len(seen) <= limit else seen[:limit] + "…"


def text_class(text: str) -> str:
    """The CSS class of a text cell: ids are not broken, long texts have a wide column."""
    if len(text) <= WORD and text.isascii() and " " not in text:
        return "et-id"
    return "et-wide" if len(text) > WIDE else ""


def short(text: str) -> str:
    """`text` with long names in it cut in their middle: the beginnings and the ends of names tell them apart.

    >>> short("with_a_name_that_is_longer_than_anybody_reads_at_a_glance_v2 is better")
    'with_a_name_that_is_…body_reads_at_a_glance_v2 is better'
    """
    return LONG_NAME.sub(lambda name: f"{name[0][:20]}…{name[0][-25:]}", text)


def anchor(
    prefix: str,
    name: Any,
) -> str:
    """An id for deep links, `metric-...` or `sample-...`; a name that had to be changed carries a hash of itself."""
    text = str(name)
    slug = re.sub(r"[^\w.-]+", "-", visible(text))[:80]
    if slug != text:
        slug += "-" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:6]
    return f"{prefix}-{slug}"


def width_of(text: str) -> int:
    """The columns that a text takes; a Han or Hangul character takes two.

    >>> width_of("지표 p")
    6
    """
    return len(text) + sum(east_asian_width(letter) in "WF" for letter in text)
