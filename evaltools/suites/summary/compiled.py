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
    from .rules import Concept, Expression, LetOff, PhraseSet, Rules

Compile = Callable[[Sequence[str]], Phrases]


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
    """A rule set ready to search with. Equal only to itself: there is one to a `Rules`."""

    def __init__(self, rules: Rules):
        words = _named_words(rules)

        def phrases(sources: Sequence[str]) -> Phrases:
            return compile_phrases(sources, rules.match, rules.particles, words)

        self.fold = rules.fold
        self.units = rules.units
        self.particle_words = any_of(rules.particles or ("의",))
        self.clause_ends = phrases(rules.clause_ends)
        self.told = phrases(rules.told)
        let_offs = {}
        for name, rule in rules.let_offs.items():
            let_offs[name] = _let_off(rule, phrases)
        self.tags = {}
        self.signs = {}
        for tag, named in rules.tags.items():
            self.tags[tag] = _phrase_set(named, let_offs, phrases)
            weak = phrases((*named.signs, *named.phrases))
            self.signs[tag] = replace(
                self.tags[tag],
                phrases=weak,
                needs=(),
            )
        followup = rules.followup
        self.followup = _phrase_set(followup, let_offs, phrases)
        self.followup_signs = replace(
            self.followup,
            phrases=phrases(followup.signs),
            let_offs=(),
        )
        self.followup_sure = replace(
            self.followup,
            phrases=phrases(followup.sure or followup.phrases),
        )
        self.definitive = []
        for named in rules.definitive:
            self.definitive.append(_phrase_set(named, let_offs, phrases))
        self.tag_of_concept = {concept.name: concept.tag for concept in rules.concepts}
        self.value_words: list[ValueWords] = []
        for expression in rules.expressions:
            self.value_words.append(_expression(expression, phrases))
        for concept in rules.concepts:
            self.value_words.extend(_concept(concept, phrases))


def _named_words(rules: Rules) -> dict[str, str]:
    """The alternatives of each name, as a group; a name may use those before it."""
    words: dict[str, str] = {}
    for name, alternatives in rules.words.items():
        expanded = [expand(alternative, words) for alternative in alternatives]
        words[name] = "(" + "|".join(expanded) + ")"
    return words


def _let_off(rule: LetOff, phrases: Compile) -> CompiledLetOff:
    return CompiledLetOff(
        reason=rule.reason,
        before=near_end(phrases(rule.before), rule.near),
        after=phrases(rule.after),
        unless=phrases(rule.unless),
        near=rule.near,
    )


def _phrase_set(
    named: PhraseSet,
    let_offs: dict[str, CompiledLetOff],
    phrases: Compile,
) -> CompiledPhrases:
    return CompiledPhrases(
        phrases=phrases(named.phrases),
        needs=phrases(named.needs),
        not_within=phrases(named.not_within),
        let_offs=tuple(let_offs[name] for name in named.let_off),
    )


def _expression(expression: Expression, phrases: Compile) -> ValueWords:
    return ValueWords(
        kind=expression.kind,
        base=expression.base,
        value=written(Decimal(str(expression.value))),
        support_only=expression.support_only,
        phrases=phrases(expression.phrases),
    )


def _concept(concept: Concept, phrases: Compile) -> list[ValueWords]:
    """Its words, and what can only support it."""
    not_within = phrases(concept.not_within)
    words = []
    for sources, support_only in ((concept.words, False), (concept.support, True)):
        words.append(
            ValueWords(
                kind=concept.kind,
                base="",
                value=concept.name,
                support_only=support_only,
                phrases=phrases(sources),
                not_within=not_within,
            )
        )
    return words
