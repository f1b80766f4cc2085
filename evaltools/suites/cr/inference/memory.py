"""Episodes: what was corrected in other samples, shown to the reviewers of later ones.

They hold no text and no gold.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

from ....core.files import bytes_hash
from .config import Text

SHOWN, LETTERS = 3, 800
"""Episodes and characters of memory that a prompt holds at most."""

SHORT, LONG = 30, 80
"""Characters up to which a text is short, and from which on it is long."""

STRUCTURE = ("negation", "contrast", "length")
"""The fields of an episode by which texts are compared."""

_SCRIPTS = {"ko": re.compile(r"[가-힣]"), "zh": re.compile(r"[一-鿿]")}
_NEGATION = re.compile(r"(?:^|\s)(?:안|못)\s|않|없|아니|\bnot\b|n't|不|没")
_CONTRAST = re.compile(r"지만|는데|그러나|하지만|반면|다만|\bbut\b|但|可是")


class Episode(BaseModel):
    """`stage1`, `final`: the polarities of each term; `corrected`: (action, reason) of what changed
    one.

    `source`: the hash of the sample, by which learning from what is evaluated is found out.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: str
    language: str
    negation: bool
    contrast: bool
    length: str
    conflicts: tuple[str, ...] = ()
    stage1: dict[str, list[str]] = {}
    final: dict[str, list[str]] = {}
    corrected: tuple[tuple[str, str], ...] = ()


def sample_hash(text: Text) -> str:
    """16 hex digits of the sha256 of a sample's id and text."""
    return bytes_hash(f"{text.id}\0{text.text}".encode())[:16]


def shape(text: str) -> dict[str, Any]:
    """Language and structure of a text, by which episodes are kept and found.

    >>> shape("The smell is not good.")
    {'language': 'en', 'length': 'short', 'negation': True, 'contrast': False}
    """
    found = (name for name, letters in _SCRIPTS.items() if letters.search(text))
    length = "medium"
    if len(text) <= SHORT:
        length = "short"
    elif len(text) >= LONG:
        length = "long"
    return {
        "language": next(found, "en"),
        "length": length,
        "negation": bool(_NEGATION.search(text)),
        "contrast": bool(_CONTRAST.search(text)),
    }


def retrieved(episodes: Sequence[Episode], text: str) -> list[Episode]:
    """The episodes of a text's language that share most of its structure.

    At most SHOWN, latest first.
    """
    text_shape = shape(text)

    def n_shared(episode: Episode) -> int:
        return sum(getattr(episode, name) == text_shape[name] for name in STRUCTURE)

    latest_first = reversed(episodes)
    similar = [e for e in latest_first if e.language == text_shape["language"] and n_shared(e)]
    return sorted(similar, key=n_shared, reverse=True)[:SHOWN]


def as_text(episodes: Iterable[Episode]) -> str:
    """What reviewers are shown: an episode a line, LETTERS at most, whole lines only."""
    text = ""
    for episode in episodes:
        line = json.dumps(episode.model_dump(exclude={"source"}), ensure_ascii=False)
        longer = f"{text}\n{line}" if text else line
        if len(longer) > LETTERS:
            break
        text = longer
    return text
