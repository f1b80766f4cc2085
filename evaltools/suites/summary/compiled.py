"""The rules of a rule file, ready to search with: its phrases are compiled.

Source: specification D15 and D16.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
    not_within: Phrases


class CompiledRules:
    """A rule set ready to search with. Equal only to itself: there is one to a `Rules`.

    tags: the wordings of each tag, of the follow-up too. signs: the same with the words too weak to
    cover a tag alone, and without what it needs; of the follow-up the weak words alone, without let-offs.
    sure: the wordings of a follow-up where none is due.
    """

    def __init__(self, rules: Rules):
        self.rules = rules
        self.fold = rules.fold
        self.units = rules.units
        self.words: dict[
            str, str
        ] = {}  # the alternatives of each name, which may use those before it
        for name, alternatives in rules.words.items():
            expanded = [expand(alternative, self.words) for alternative in alternatives]
            self.words[name] = "(" + "|".join(expanded) + ")"
        self.particle_words = any_of(rules.particles or ("의",))
        self.clause_ends = self._phrases(rules.clause_ends)
        self.told = self._phrases(rules.told)
        self.let_offs = {name: self._let_off(rule) for name, rule in rules.let_offs.items()}
        followup = rules.followup
        tags = rules.known_tags
        self.tags = {tag: self._set(named, named.phrases) for tag, named in tags.items()}
        self.signs = {
            tag: replace(self._set(named, (*named.signs, *named.phrases)), needs=())
            for tag, named in rules.tags.items()
        }
        self.signs[FOLLOWUP_TAG] = replace(self._set(followup, followup.signs), let_offs=())
        self.sure = self._set(followup, followup.sure or followup.phrases)
        self.definitive = [self._set(named, named.phrases) for named in rules.definitive]
        self.tag_of_concept = {concept.name: concept.tag for concept in rules.concepts}
        self.value_words = [*self._value_words()]

    def _phrases(self, sources: Sequence[str]) -> Phrases:
        return compile_phrases(sources, self.rules.match, self.rules.particles, self.words)

    def _let_off(self, rule: LetOff) -> CompiledLetOff:
        before, after, unless = map(self._phrases, (rule.before, rule.after, rule.unless))
        return CompiledLetOff(
            rule.reason,
            near_end(before, rule.near),
            after,
            unless,
            rule.near,
        )

    def _set(
        self,
        named: PhraseSet,
        sources: Sequence[str],
    ) -> CompiledPhrases:
        phrases, needs, not_within = map(self._phrases, (sources, named.needs, named.not_within))
        let_offs = tuple(self.let_offs[name] for name in named.let_off)
        return CompiledPhrases(phrases, needs, not_within, let_offs)

    def _value_words(self) -> Iterator[ValueWords]:
        """The fixed expressions and condition words."""
        for word in self.rules.expressions:
            value = written(Decimal(str(word.value)))
            phrases, not_within = self._phrases(word.phrases), self._phrases(word.not_within)
            yield ValueWords(
                word.kind,
                word.base,
                value,
                word.support_only,
                phrases,
                not_within,
            )
        for concept in self.rules.concepts:
            not_within = self._phrases(concept.not_within)
            for sources, support_only in ((concept.words, False), (concept.support, True)):
                stated = (concept.kind, "", concept.name, support_only)
                yield ValueWords(*stated, self._phrases(sources), not_within)
