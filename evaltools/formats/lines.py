"""ASTE and TASD triplets, ASQP and ACOS quadruples: a sentence and its tuples on each line."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from .rows import POLARITIES, Sample, Unfit, chosen, literals, opinion, tokens
from .source import Records, Source

ASTE_POLARITIES = {
    "POS": "positive",
    "NEG": "negative",
    "NEU": "neutral",
}

ACOS_TUPLE = re.compile(
    r"(?P<start>-?\d{1,9}),(?P<end>-?\d{1,9}) (?P<ref>.+) (?P<sentiment>[012]) -?\d{1,9},-?\d{1,9}\s*"
)
ACOS_POLARITIES = ("negative", "neutral", "positive")


def aste(source: Source) -> Records:
    """sentence####[([aspect tokens], [opinion tokens], 'POS'), ...]: tuples of aspect, polarity."""
    return _read(source, "triplets", literals, _aste_opinion)


def asqp(source: Source) -> Records:
    """sentence####[['aspect', 'category', 'polarity', 'opinion'], ...]; the opinion's words are
    left out.

    Tuples of category, aspect and polarity; NULL is implicit.
    """
    return _read(source, "quadruples", literals, _asqp_opinion)


def tasd(source: Source) -> Records:
    """sentence####[['aspect', 'category', 'polarity'], ...]: ASQP without the opinion."""
    return _read(source, "triplets", literals, _tasd_opinion)


def acos(source: Source) -> Records:
    """The sentence, then a tab and `a0,a1 CATEGORY s o0,o1` for each tuple of category, aspect and
    polarity.

    Token spans are half open, -1,-1 is implicit.
    """
    return _read(source, "quadruples", _split_at_tabs, _acos_opinion)


def _read(
    source: Source,
    field: str,
    split: Callable[..., Any],
    opinion_of: Callable[..., dict[str, Any]],
) -> Records:
    """Samples of lines: `split(line, field)` gives the sentence and items.

    `opinion_of(sentence, item, field)` makes a tuple of an item.
    """

    def sample(
        number: int,
        line: str,
    ) -> Sample:
        text, items = split(line, field)
        opinions = []
        for index, item in enumerate(items):
            opinions.append(opinion_of(text, item, f"{field}.{index}"))
        return Sample(str(number), text, opinions)

    return source.rows(source.lines(), sample)


def _aste_opinion(
    text: str,
    triplet: Any,
    field: str,
) -> dict[str, Any]:
    match triplet:
        case ([_, *_] as aspect, [*_], sentiment):
            term, span = tokens(text, aspect, field)
            return opinion("", term, chosen(sentiment, ASTE_POLARITIES, field), span)
    raise Unfit(field, "expected ([aspect], [opinion], 'POS')", got=triplet)


def _asqp_opinion(
    text: str,
    quad: Any,
    field: str,
) -> dict[str, Any]:
    match quad:
        case [term, ref, sentiment, str()]:
            return _tasd_opinion(text, [term, ref, sentiment], field)
    raise Unfit(field, "expected ['aspect', 'category', 'polarity', 'opinion']", got=quad)


def _tasd_opinion(
    _: str,
    triplet: Any,
    field: str,
) -> dict[str, Any]:
    match triplet:
        case [str(term), str(ref), sentiment]:
            polarity = chosen(sentiment, POLARITIES, field)
            return opinion(ref, "" if term == "NULL" else term, polarity)
    raise Unfit(field, "expected ['aspect', 'category', 'polarity']", got=triplet)


def _split_at_tabs(
    line: str,
    _: str,
) -> tuple[str, list[str]]:
    text, *quads = line.split("\t")
    if not quads:
        raise Unfit("", "expected text, then a tab and quadruples", got=line)
    return text, [quad for quad in quads if quad.strip()]


def _acos_opinion(
    text: str,
    quad: str,
    field: str,
) -> dict[str, Any]:
    match = ACOS_TUPLE.fullmatch(quad)
    if match is None:
        raise Unfit(field, "expected 'a0,a1 CATEGORY s o0,o1' (s: 0, 1, 2)", got=quad)
    start, end = int(match["start"]), int(match["end"])
    ref = match["ref"]
    polarity = ACOS_POLARITIES[int(match["sentiment"])]
    if (start, end) == (-1, -1):
        return opinion(ref, "", polarity)
    if not start < end <= len(text):  # checked before a range of that length is made
        raise Unfit(field, "expected a half open span of tokens", got=[start, end])
    term, span = tokens(text, range(start, end), field)
    return opinion(ref, term, polarity, span)
