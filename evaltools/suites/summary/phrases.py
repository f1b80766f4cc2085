r"""The patterns of rule files: phrases that stretch over spelling and spacing, but never over the length of a text.

A flex pattern is text with these signs:
    blank    blanks of any number up to two or none; after Hangul also a particle (추가 확인: 추가로 확인, 추가확인);
             between Latin words also a hyphen (follow up: follow-up, followup)
    (a|b)    one of several; an empty one makes it optional
    …        up to 12 characters of the same sentence
    #        a number, in figures or in words
    *        the rest of a Latin word (exclu*: excluded, exclusion)
    _        blanks of any number up to two or none, and no particle
    < >      at the ends: the word begins or ends here. A Latin word always does.
    ^        behind a Hangul syllable without a final consonant: it may have one (하^: 하, 한, 할, 함, 합)
    \        the next character stands for itself
    {name}   the words of that name in the rule file
A pattern that begins with n't finds it at the end of a word. Hangul may stand inside a longer word, as
Korean compounds do (지급조건), unless < forbids it.
A pattern of mode "substring" is plain text, found wherever it stands.

Every pattern has a literal that must occur before its regular expression is tried, so that a text is
searched at the speed of `in`; and no repetition in it is unbounded, so that the time is linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from .numerals import ENGLISH, NATIVE
from .text import any_of

_LATIN = re.compile(r"[a-z0-9]")
_PART = re.compile(
    r"(?s)(?P<blank> )|(?P<final>.)\^|\\(?P<plain>.)|(?P<sign>[_…#*<>])|(?P<literal>(?:(?![ _(|)…#*<>\\]|.\^).)+|\\)"
)
_IN_WORDS = rf"(?<![가-힣])(?:{any_of(NATIVE)}|[일이삼사오육칠팔구십백천]{{2,6}})"
_SIGNS = {
    "…": r"[^.!?\n;]{0,12}?",
    "#": rf"(?:[0-9][0-9,.]{{0,15}}|{_IN_WORDS}|(?<![a-z])(?:{any_of(ENGLISH)})(?![a-z]))",
    "*": "[a-z]{0,20}",
    "_": r"\s{0,2}",
    "<": "(?<![0-9a-z가-힣])",
    ">": "",  # see _sequence: the particles in force may stand before the end
}

_FINALS = 28
"""Syllables that differ only in the final consonant follow each other in Unicode, the one without it first."""

Spans = list[tuple[int, int]]
Phrases = tuple[tuple[str, re.Pattern[str]], ...]
"""Compiled phrases: pairs (anchor, regex). A regex needs to be tried only on a text that its anchor occurs in;
one with several anchors, of which a text must have any, stands there several times."""


def find_all(phrases: Phrases, text: str) -> Spans:
    """Where any of the phrases matches: spans in order, those inside another one left out."""
    out: Spans = []
    tried = {regex for anchor, regex in phrases if anchor in text}
    for span in sorted(
        {m.span() for r in tried for m in r.finditer(text)}, key=lambda s: (s[0], -s[1])
    ):
        if not out or span[1] > out[-1][1]:
            out.append(span)
    return out


def search(phrases: Phrases, text: str) -> re.Match[str] | None:
    """The match that begins first."""
    tried = [regex for anchor, regex in phrases if anchor in text]
    return min(
        (m for regex in tried if (m := regex.search(text))), key=lambda m: m.start(), default=None
    )


def near_end(phrases: Phrases, reach: int) -> Phrases:
    """The phrases, to match only where at most `reach` characters follow."""
    end = rf"(?=[\s\S]{{0,{reach}}}\Z)"
    return tuple((anchor, re.compile(f"(?:{regex.pattern}){end}")) for anchor, regex in phrases)


def compile_phrases(sources: Iterable[str], mode: str, particles: Sequence[str]) -> Phrases:
    """ValueError, naming the phrase, for one that is not well formed."""
    return tuple(pair for s in sources for pair in _compile(s, mode, tuple(particles)))


def expand(source: str, words: Mapping[str, str]) -> str:
    """A phrase with the words of each {name} in it. ValueError for an unknown name."""

    def named(m: re.Match[str]) -> str:
        if m[1] not in words:
            raise ValueError(
                f"{source!r}: no words named {m[1]!r}; there are: {', '.join(words) or 'none'}"
            )
        return words[m[1]]

    return re.sub(r"\{([^{}]*)\}", named, source)


@cache
def _compile(source: str, mode: str, particles: tuple[str, ...]) -> Phrases:
    source = source.lower()
    if not source.strip():
        raise ValueError("an empty phrase")
    if mode == "substring":
        return ((source, re.compile(re.escape(source))),)
    regex, anchors, rest, _ = _sequence(source, 0, any_of(particles))
    if rest != len(source):
        raise ValueError(f"{source!r}: a ')' or '|' outside of a group")
    if not anchors:
        raise ValueError(
            f"{source!r}: needs a part that is always there (not only signs or optional groups)"
        )
    compiled = re.compile(regex)
    return tuple((anchor, compiled) for anchor in anchors)


def _sequence(s: str, at: int, particles: str) -> tuple[str, tuple[str, ...], int, str]:
    """(regex, anchors, end, last letter) of the pattern from `at` to its end or to the '|' or ')' that closes it."""
    out: list[str] = []
    candidates: list[tuple[str, ...]] = []
    last = ""  # the last letter so far decides what a blank may stretch over
    while at < len(s) and s[at] not in "|)":
        if s[at] == "(":
            regexes, found, ends = [], [], [last]
            while s[at] != ")":
                regex, anchors, at, end_letter = _sequence(s, at + 1, particles)
                regexes.append(regex)
                found.append(anchors)
                ends.append(end_letter)
                if at >= len(s):
                    raise ValueError(f"{s!r}: a '(' without its ')'")
            out.append("(?:" + "|".join(regexes) + ")")
            if all(found):
                candidates.append(tuple(a for anchors in found for a in anchors))
            last = next((e for e in reversed(ends) if e), "")
            at += 1
            continue
        part = _PART.match(s, at)
        assert part is not None and part.lastgroup is not None  # any character begins one
        before, text, at = s[at - 1 : at], part[part.lastgroup], part.end()
        match part.lastgroup:
            case "blank":
                latin = _is_latin(last) and _is_latin(s[at : at + 1])
                hangul = rf"(?:{particles})?" if "가" <= last <= "힣" else ""
                out.append(r"[\s-]{0,2}" if latin else rf"{hangul}\s{{0,2}}")
            case "final":
                if not "가" <= text <= "힣" or (ord(text) - ord("가")) % _FINALS:
                    raise ValueError(
                        f"{s!r}: ^ stands behind a Hangul syllable without a final consonant, not {text!r}"
                    )
                out.append(f"[{text}-{chr(ord(text) + _FINALS - 1)}]")
                last = text
            case "plain":
                out.append(re.escape(text))
                candidates.append((text,))
            case "sign":
                out.append(_SIGNS[text] or rf"(?=(?:{particles})?(?![0-9a-z가-힣]))")
            case _:
                after, beyond = s[at : at + 1], s[at + 1 : at + 2]
                # a Latin word is found whole; a blank in the pattern may be none in the text (follow up: followup)
                whole = (
                    _is_latin(text[0])
                    and not text.startswith("n't")
                    and not (before == " " and _is_latin(last))
                )
                out.append("(?<![0-9a-z])" * whole + re.escape(text))
                if (
                    _is_latin(text[-1])
                    and after != "*"
                    and not (after == " " and _is_latin(beyond))
                ):
                    out.append("(?![0-9a-z])")
                candidates.append((text,))
                last = text[-1]
    best = max(candidates, key=lambda c: (min(map(len, c)), -len(c)), default=())
    return "".join(out), best, at, last


def _is_latin(c: str) -> bool:
    return bool(_LATIN.match(c))
