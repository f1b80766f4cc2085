"""The unit words of a rule set, as patterns around a number.

Source: specification D16; the units come from the rule file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from .compiled import CompiledRules
from .rules import Unit
from .text import NOTATION, any_of

AROUND: dict[str, str] = {}
for _name, _words in NOTATION["unit"].items():
    AROUND[_name] = "|".join(_words.split())
"""Words that stand around a number, as alternatives."""


class NamedUnit(NamedTuple):
    """A unit in a text: the word that names it, and where that ends."""

    unit: Unit
    word: str
    end: int


class UnitWords:
    """The unit words of a rule set.

    of_prefix: unit of each sign before a figure. of_kind: the first unit of each kind. prefix: a pattern
    of the signs; hangul: of the Korean words; after: of what may follow a unit; ends: of where no word
    goes on, but for a particle.
    """

    def __init__(self, rules: CompiledRules):
        patterns: dict[str, str] = {}
        self.of_word: dict[str, Unit] = {}
        self.of_prefix: dict[str, Unit] = {}
        for unit in rules.units:
            for word in unit.words:
                lower = word.lower()
                patterns[lower] = _word_pattern(lower, unit.not_before.get(word, ()))
                self.of_word[_spaced(word)] = unit
            for prefix in unit.before:
                self.of_prefix[prefix.lower()] = unit
        self.of_kind = {unit.kind: unit for unit in reversed(rules.units)}
        words = sorted(patterns, key=len, reverse=True)
        all_words = "|".join(patterns[word] for word in words)
        hangul_words = "|".join(patterns[word] for word in words if "가" <= word[0] <= "힣")
        signs = map(re.escape, self.of_prefix)
        self.prefix = any_of(signs) or "(?!)"
        self.hangul = f"(?:{hangul_words})"
        self.after = rf"(?:{rules.particle_words}|{AROUND['after']})"
        self.ends = re.compile(rf"(?![가-힣])|{self.after}")
        joint = r"여?(?:\s{0,2}|\s?\)\s?)|[\s-]?(?:\([0-9]{1,4}\)\s?)?"
        self._behind = re.compile(f"(?:{joint})(?P<unit>{all_words})")

    def behind(
        self,
        text: str,
        end: int,
    ) -> NamedUnit | None:
        """The unit behind a number that ends at `end`: 90일, 90 일, (90)일, thirty-day, thirty (30) days."""
        match = self._behind.match(text, end)
        if match is None:
            return None
        word = match["unit"]
        return NamedUnit(self.of_word[_spaced(word)], word, match.end())


def _spaced(word: str) -> str:
    """A unit word however it is joined: "business-day" is "business day"."""
    return re.sub(r"[\s-]+", " ", word.lower())


_POLITE_END = "(?!신데|신가요)"
"""What may follow a unit though it begins as a longer word does: 6회신데, but not 회신."""


def _word_pattern(word: str, not_before: Iterable[str]) -> str:
    """The pattern of a unit word; a Latin one ends at its last letter."""
    pattern = r"[\s-]".join(map(re.escape, word.split()))
    if word[-1].isascii() and word[-1].isalpha():
        pattern += "(?![a-z])"
    forbidden = "|".join(map(re.escape, not_before))
    if forbidden:
        pattern += f"(?!{_POLITE_END}(?:{forbidden}))"
    return pattern
