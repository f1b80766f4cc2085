r"""The patterns of rule files: phrases that stretch over spelling and spacing.

A flex pattern is text with these signs:
    blank    blanks of any number up to two or none; after Hangul also a particle (추가 확인: 추가로
             확인, 추가확인); between Latin words also a hyphen (follow up: follow-up, followup)
    (a|b)    one of several; an empty one makes it optional
    …        up to 12 characters of the same sentence; at most three in a phrase
    #        a number, in figures or in words
    *        the rest of a Latin word (exclu*: excluded, exclusion)
    _        blanks of any number up to two or none, and no particle
    < >      at the ends: the word begins or ends here. A Latin word always does.
    ^        behind a Hangul syllable without a final consonant: it may have one (하^: 하, 한, 할, 함)
    \        the next character stands for itself
    {name}   the words of that name in the rule file
A pattern that begins with n't finds it at the end of a word. Hangul may stand inside a longer word,
as Korean compounds do (지급조건), unless < forbids it. A pattern of mode "substring" is plain text,
found wherever it stands.

Every pattern has a literal (anchor) that must occur before its regular expression is tried, so that
a text is searched at the speed of `in`; no repetition in it is unbounded, so that the time is
linear.
"""

import re
from collections.abc import Mapping
from functools import cache
from itertools import chain

from ...core.files import Names
from .text import NATIVE, Match, any_of

Spans = list[tuple[int, int]]

# Compiled phrases: pairs (anchor, regular expression). One needs to be tried only on a text that its
# anchor occurs in; one with several anchors, of which a text must have any, stands there several times.
Compiled = tuple[tuple[str, str], ...]

# made when first tried: most of a thousand expressions, which take a second, meet none of their anchors
_regex = cache(re.compile)

# the next part of a pattern; any character begins one
_PART = re.compile(
    r"(?s)(?P<blank> )"
    r"|(?P<final>.)\^"
    r"|\\(?P<plain>.)"
    r"|(?P<sign>[_…#*<>(|)])"
    r"|(?P<literal>(?:(?![ _(|)…#*<>\\]|.\^).)+|\\)"
)

_NUMBER_IN_WORDS = rf"(?<![가-힣])(?:{any_of(NATIVE)}|[일이삼사오육칠팔구십백천]{{2,6}})"

_SIGNS = {
    "…": r"[^.!?\n;]{0,12}?",
    "#": (
        r"(?:[0-9][0-9,.]{0,15}"
        rf"|{_NUMBER_IN_WORDS})"
    ),
    "*": "[a-z]{0,20}",
    "_": r"\s{0,2}",
    "<": "(?<![0-9a-z가-힣])",
    "(": "(?:",
}

# Gaps (…) of a phrase. Every gap may end at 12 places, and all of them together are tried.
MOST_GAPS = 3

# Syllables that differ only in the final consonant follow each other in Unicode, the one without
# it first.
_FINALS = 28


def find_all(phrases: Compiled, text: str) -> Spans:
    """Where any of the phrases matches: spans in order, those inside another one left out."""
    regexes = {regex for anchor, regex in phrases if anchor in text}
    spans = {match.span() for regex in regexes for match in _regex(regex).finditer(text)}
    outermost = []
    last_end = -1
    for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        if end > last_end:
            outermost.append((start, end))
            last_end = end
    return outermost


def expand(source: str, words: Mapping[str, str]) -> str:
    """A phrase with the words of each {name} in it. ValueError for an unknown name.

    >>> expand("{ask} 필요", {"ask": "(확인|문의)"})
    '(확인|문의) 필요'
    """

    def named(match: Match) -> str:
        name = match[1]
        if name not in words:
            raise ValueError(f"no words named {name!r}; there are: {', '.join(words) or 'none'}")
        return words[name]

    return re.sub(r"\{([^{}]*)\}", named, source)


@cache
def compile_phrase(
    source: str,
    mode: str,
    particles: Names,
) -> Compiled:
    """A phrase without {name}, ready to search with; ValueError for one that is not well formed."""
    source = source.lower()
    if source.count("…") > MOST_GAPS:
        raise ValueError(f"at most {MOST_GAPS} of the sign …: each more takes 12 times as long")
    if mode == "substring":
        return ((source, re.escape(source)),)
    anchors = _anchors(source)
    if not anchors:
        raise ValueError("needs a part that is always there (not only signs or optional groups)")
    regex = _PART.sub(lambda part: _part(part, any_of(particles)), source)
    return tuple((anchor, regex) for anchor in anchors)


def _part(part: Match, particles: str) -> str:
    """The regular expression of a part of a pattern, which what stands around it decides too."""
    kind = part.lastgroup
    text = part[kind or 0]
    before, after = part.string[: part.start()], part.string[part.end() :]
    last = before.rstrip(" _…#*<>^")  # up to the last letter; none where an alternative begins
    last = "" if last.endswith("|") else last.rstrip("_…#*<>|)^\\")[-1:]
    if kind == "blank":
        if _is_latin(last) and _is_latin(after[:1]):
            return r"[\s-]{0,2}"
        return (rf"(?:{particles})?" if "가" <= last <= "힣" else "") + r"\s{0,2}"
    if kind == "final":
        if not "가" <= text <= "힣" or (ord(text) - ord("가")) % _FINALS:
            raise ValueError(
                f"^ stands behind a Hangul syllable without a final consonant, not {text!r}"
            )
        return f"[{text}-{chr(ord(text) + _FINALS - 1)}]"
    if text == ">":  # the particles in force may stand before the end of a word
        return rf"(?=(?:{particles})?(?![0-9a-z가-힣]))"
    if kind == "sign":
        return _SIGNS.get(text, text)
    regex = re.escape(text)
    if (
        kind == "literal"
    ):  # a Latin word is found whole; a blank beside it may be none in the text (followup)
        is_joined = before.endswith(" ") and _is_latin(last)
        if _is_latin(text[0]) and not text.startswith("n't") and not is_joined:
            regex = "(?<![0-9a-z])" + regex
        is_joined = after[:1] == " " and _is_latin(after[1:2])
        if _is_latin(text[-1]) and after[:1] != "*" and not is_joined:
            regex += "(?![0-9a-z])"
    return regex


def _anchors(source: str) -> Names:
    """Literals of which every match has one: those of a part that is always there, which say most.

    >>> _anchors("(a|bc (x|)) … de"), _anchors("(a|b) <")
    (('de',), ('a', 'b'))
    """
    known: dict[str, Names] = {}  # sign -> its literals, none if it may be empty

    def sign(literals: Names) -> str:
        known[chr(0xE000 + len(known))] = literals
        return f" {[*known][-1]} "

    def of_group(group: Match) -> str:
        alternatives = [*map(best, group[1].split("|"))]
        return sign(tuple(chain(*alternatives)) if all(alternatives) else ())

    def best(text: str) -> Names:
        parts = [known.get(part, (part,)) for part in re.split(r"[ _…#*<>]|.\^", text) if part]
        return max(
            filter(None, parts), key=lambda part: (min(map(len, part)), -len(part)), default=()
        )

    text, n_groups = re.sub(r"\\(.)", lambda plain: sign((plain[1],)), source), 1
    while n_groups:
        text, n_groups = re.subn(r"\(([^()]*)\)", of_group, text)
    if re.search("[(|)]", text):
        raise ValueError("a '(', ')' or '|' that is no part of a whole group")
    return best(text)


def _is_latin(character: str) -> bool:
    return "a" <= character <= "z" or "0" <= character <= "9"
