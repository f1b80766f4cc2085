"""The rules of a rule file, ready to search with: its phrases are compiled.

Source: specification D15 and D16.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING

from .numerals import written
from .phrases import Phrases, compile_phrases, expand, near_end
from .text import any_of

if TYPE_CHECKING:
    from .rules import LetOff, PhraseSet, Rules


FOLLOWUP_TAG = "needs_followup"
"""The tag of a summary that must name what is still to be done."""


@dataclass(frozen=True)
class CompiledLetOff:
    """A `LetOff` of a rule file. `before` matches only at the end of what stands before a match."""

    reason: str
    before: Phrases
    after: Phrases
    unless: Phrases
    near: int


@dataclass(frozen=True)
class CompiledPhrases:
    """A `PhraseSet` of a rule file with the let-offs that it names."""

    phrases: Phrases
    needs: Phrases
    not_within: Phrases
    let_offs: tuple[CompiledLetOff, ...]


@dataclass(frozen=True)
class ValueWords:
    """Words that state a value: a fixed expression (보름: 15 days) or a condition word (면책).

    kind, base, value, support_only: as of an entity.
    """

    kind: str
    base: str
    value: str
    support_only: bool
    phrases: Phrases
    not_within: Phrases = ()


class CompiledRules:
    """A rule set ready to search with. Equal only to itself: there is one to a `Rules`.

    tags: the wordings of each tag, of the follow-up too. signs: the same with the words too weak to
    cover a tag alone, and without what it needs; of the follow-up the weak words alone, without let-offs.
    sure: the wordings of a follow-up where none is due.
    """

    def __init__(self, rules: Rules):
        words = _named_words(rules)

        def phrases(sources: Sequence[str]) -> Phrases:
            return compile_phrases(sources, rules.match, rules.particles, words)

        let_offs = {name: _let_off(rule, phrases) for name, rule in rules.let_offs.items()}

        def phrase_set(named: PhraseSet, sources: Sequence[str]) -> CompiledPhrases:
            return CompiledPhrases(
                phrases=phrases(sources),
                needs=phrases(named.needs),
                not_within=phrases(named.not_within),
                let_offs=tuple(let_offs[name] for name in named.let_off),
            )

        self.fold = rules.fold
        self.units = rules.units
        self.particle_words = any_of(rules.particles or ("의",))
        self.clause_ends = phrases(rules.clause_ends)
        self.told = phrases(rules.told)
        self.tags = {}
        self.signs = {}
        for tag, named in rules.tags.items():
            self.tags[tag] = phrase_set(named, named.phrases)
            weak = phrase_set(named, (*named.signs, *named.phrases))
            self.signs[tag] = replace(weak, needs=())
        followup = rules.followup
        self.tags[FOLLOWUP_TAG] = phrase_set(followup, followup.phrases)
        weak = phrase_set(followup, followup.signs)
        self.signs[FOLLOWUP_TAG] = replace(weak, let_offs=())
        self.sure = phrase_set(followup, followup.sure or followup.phrases)
        self.definitive = [phrase_set(named, named.phrases) for named in rules.definitive]
        self.tag_of_concept = {concept.name: concept.tag for concept in rules.concepts}
        self.value_words = _value_words(rules, phrases)


def _let_off(rule: LetOff, phrases: Callable[[Sequence[str]], Phrases]) -> CompiledLetOff:
    return CompiledLetOff(
        reason=rule.reason,
        before=near_end(phrases(rule.before), rule.near),
        after=phrases(rule.after),
        unless=phrases(rule.unless),
        near=rule.near,
    )


def _value_words(rules: Rules, phrases: Callable[[Sequence[str]], Phrases]) -> list[ValueWords]:
    """The fixed expressions and condition words of the rules, compiled by `phrases`."""
    words = []
    for expression in rules.expressions:
        value = written(Decimal(str(expression.value)))
        wording, not_within = phrases(expression.phrases), phrases(expression.not_within)
        stated = (expression.kind, expression.base, value, expression.support_only)
        words.append(ValueWords(*stated, wording, not_within))
    for concept in rules.concepts:
        not_within = phrases(concept.not_within)
        for sources, support_only in ((concept.words, False), (concept.support, True)):
            stated = (concept.kind, "", concept.name, support_only)
            words.append(ValueWords(*stated, phrases(sources), not_within))
    return words


def _named_words(rules: Rules) -> dict[str, str]:
    """The alternatives of each name, as a group; a name may use those before it."""
    words: dict[str, str] = {}
    for name, alternatives in rules.words.items():
        expanded = [expand(alternative, words) for alternative in alternatives]
        words[name] = "(" + "|".join(expanded) + ")"
    return words
