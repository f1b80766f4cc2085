"""The one word that says whether a result can be believed: the same on its page and in the gallery."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..core.check import LEVEL_WORDS, Level
from ..core.language import Message
from .tables import Kind


@dataclass(frozen=True)
class Trust:
    """What a reader may believe: a few words, and their colour."""

    words: Message
    kind: Kind


def trust(
    levels: Sequence[Level] | None,
    *,
    incomplete: bool = False,
    spoilt: bool = False,
) -> Trust:
    """Whether a result can be believed.

    `levels` are those of its checks that failed, None where nobody checked; `incomplete`: samples or records are
    missing; `spoilt`: its files are not as they were written. The worst is said: what is spoilt, then incomplete,
    then what cannot be measured, then cautions. Notes are no reason to doubt.

    >>> str(trust(["warning", "info"]).words), trust(["warning", "info"]).kind
    ('1 caution', 'warning')
    >>> str(trust(["info"]).words), str(trust(None).words)
    ('no caution', 'not checked')
    """
    if spoilt:
        return Trust(Message("not as it was written"), "error")
    if incomplete:
        return Trust(Message("incomplete"), "error")
    if levels is None:
        return Trust(Message("not checked"), "info")
    if "blocking" in levels:
        return Trust(Message(LEVEL_WORDS["blocking"].lower()), "error")
    cautions = list(levels).count("warning")
    if cautions == 1:
        return Trust(Message("1 caution"), "warning")
    if cautions:
        return Trust(Message("{n} cautions", {"n": cautions}), "warning")
    return Trust(Message("no caution"), "good")
