"""Phrases of a rule set in a text, with what takes them back, and the tags that a summary covers.

    text --phrases--> matches --not_within--> matches --let-offs in the clause--> standing, let off
    sources --wordings of a tag, and its signs--> clauses that carry the tag
    summary --clauses with a sign--alike?-------> covered

A sign is a class of grammar or of plain words: a conditional ending, a negation, a period that is over. It stands
in many sentences, so that a clause with it must be like one of the sources that carries the tag.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...core.files import Fields
from .entities import ReadText, Texts
from .facts import STOP, Words, syllable_pairs
from .rules import PhraseSet, Rules
from .text import normalise

SENTENCE_END = re.compile(r"[!?\n;]|\.(?![0-9])")

# no let-off is looked for further away than this many characters
REACH = 160


# why a match that lacks what its tag needs is let off
ONLY_NAMED = "only names it"

# characters behind a wording in which a summary says that it was told
TOLD_WITHIN = 30

# characters around a match in which stands what its tag needs; a list may have it on its next line
NEEDED_WITHIN = 60

# evidence: `text`, and where it stands: `at` in the summary, `context` and `context_at` in a source
Place = Fields

# share of the words and figures of the shorter of two clauses that stand in both, if they say the same
ALIKE = 1 / 3

# clauses of a text that are compared
MOST_CLAUSES = 200

# A clause by its first wording of a tag, as evidence, and the pairs of syllables and the figures in it
Clause = tuple[Place, Words]


class Matches(NamedTuple):
    """The matches of a phrase set in order: `text`, and `at`, [start, end) in it.

    standing: those that count. let_off: those that are taken back, with the reason (`let_off`) and
    the words that do it (`by`). only_mentions: all that stands only says that the item was told.
    """

    standing: list[Fields]
    let_off: list[Fields]
    only_mentions: bool = False


def find_matches(
    named: PhraseSet,
    read: ReadText,
    rules: Rules,
) -> Matches:
    """The matches of a phrase set in a text."""
    text = read.norm
    standing, mentions, let_off = [], [], []
    for start, end in rules.find(named.phrases, text, named.not_within):
        match = {"text": read.raw[start:end], "at": [start, end]}
        taken_back = _let_off(named, text, start, end, rules)
        mention = rules.find(rules.told, text[end : end + TOLD_WITHIN])
        if taken_back:
            let_off.append(match | taken_back)
        elif not named.needs or rules.find(
            named.needs, around(text, (start, end), NEEDED_WITHIN), rules.names
        ):
            standing.append(match)
        elif mention and mention[0][0] == 0:
            mentions.append(match)
        else:
            let_off.append(match | {"let_off": ONLY_NAMED, "by": match["text"]})
    return Matches(standing or mentions, let_off, only_mentions=bool(mentions) and not standing)


def _let_off(
    named: PhraseSet,
    text: str,
    start: int,
    end: int,
    rules: Rules,
) -> dict[str, str]:
    """Why a match is taken back, and by what words near it in its clause; {} where it stands."""
    before = SENTENCE_END.split(text[max(0, start - REACH) : start])[-1]
    after = text[end : end + REACH]
    sentence_end = SENTENCE_END.search(after)
    if sentence_end:
        after = after[: sentence_end.end()]
    ends = rules.find(rules.clause_ends, after)
    limit = ends[0][0] if ends else len(after)
    blanks = len(after) - len(after.lstrip())
    for name in named.let_off:
        rule = rules.let_offs[name]
        near = [
            (after[first:last], after[:last])
            for first, last in rules.find(rule.after, after)[:1]
            if first <= min(rule.near + blanks, limit)
        ]
        near += [
            (before[first:last], before[first:])
            for first, last in rules.find(rule.before, before)[-1:]
            if last >= len(before) - rule.near
        ]
        for by, within in near:
            if not rules.find(rule.unless, within):
                return {"let_off": rule.reason, "by": by.strip()}
    return {}


def around(
    text: str,
    place: Sequence[int],
    shown: int = 40,
) -> str:
    """The sentence around a place [start, end), cut with … beyond `shown` characters on either side, not in a number.

    >>> around("A. The limit is 5 million won. B.", (16, 29))
    'The limit is 5 million won'
    >>> around("A. The limit is 5 million won. B.", (16, 29), shown=3)
    '…is 5 million won'
    >>> around("It pays 3,180,000 won at most", (18, 21), shown=4)
    '…3,180,000 won at …'
    """
    start, end = place
    first = max(0, start - REACH)
    before = SENTENCE_END.split(text[first:start])[-1].lstrip()
    after = SENTENCE_END.split(text[end : end + REACH], maxsplit=1)[0].rstrip()
    is_long = rf"(?s)\A(?=.{{{shown + 1}}})"
    rest = rf"{is_long}.*?((?:[0-9,.]+(?=[0-9,.]))?.{{{shown}}})\Z"
    before = re.sub(rest, r"…\1", before)
    after = re.sub(rf"{is_long}(.{{{shown}}}(?:(?<=[0-9,.])[0-9,.]+)?).*", r"\1…", after)
    return before + text[start:end] + after


def find_tag(
    tag: str,
    summary: ReadText,
    sources: Texts,
    rules: Rules,
) -> tuple[Matches, Place]:
    """Where a summary tells a tag, and the first place of the sources that name one that it leaves out."""
    matches = find_matches(rules.known_tags[tag], summary, rules)
    if matches.standing:
        return matches, {}
    named = _carriers(rules.known_tags[tag], sources, rules)
    all_named = named + _carriers(rules.signs[tag], sources, rules)
    standing = []
    for place, words in _clauses(summary, find_matches(rules.signs[tag], summary, rules)):
        for source, of in all_named:
            if len(words & of) >= max(1, ALIKE * min(len(words), len(of))):
                standing.append(source | place)
                break
    left_out = named[0][0] if named and not standing else {}
    return Matches(standing, matches.let_off), left_out


def weakly_said(
    summary: ReadText,
    sources: Texts,
    rules: Rules,
) -> dict[str, Place]:
    """Condition words of a summary (제외) that a source says in words of their tag (안 들어가요): key -> place."""
    places = {}
    tag_of = {words.value: words.tag for words in rules.values}
    for key, value in {entity.key: entity.value for entity in summary.entities}.items():
        tag = tag_of.get(value)
        if tag in rules.tags:
            for place, _ in _carriers(rules.signs[tag], sources, rules)[:1]:
                places[key] = place
    return places


def _carriers(
    named: PhraseSet,
    sources: Texts,
    rules: Rules,
) -> list[Clause]:
    """The clauses of the sources in which any of the phrases stands, with the place in its context."""
    carrying = [
        ({"text": match["text"], "context": number, "context_at": match["at"]}, words)
        for number, source in enumerate(sources)
        for match, words in _clauses(source, find_matches(named, source, rules))
    ]
    return carrying[:MOST_CLAUSES]


def _clauses(read: ReadText, matches: Matches) -> Iterator[Clause]:
    """The clauses of a text in which standing matches begin."""
    if not matches.standing:
        return
    ends = [0, *(match.end() for match in STOP.finditer(read.raw))]
    first: dict[int, Place] = {}
    for match in matches.standing:
        first.setdefault(bisect_right(ends, match["at"][0]), match)
    for number, place in [*first.items()][:MOST_CLAUSES]:
        start, end = ends[number - 1 : number + 1]
        figures = {entity.key for entity in read.entities if start <= entity.start < end}
        yield place, syllable_pairs(normalise(read.raw[start:end])) | figures
